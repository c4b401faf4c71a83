/* The graph itself, its text form, the builder, element types. */
#include "frontend/builder.h"
#include "frontend/infer.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

TG_TEST(graph, replacing_a_value_moves_uses_and_outputs) {
  tg_arena arena = {0};
  tg_graph *g = tg_graph_create(&arena, "g");
  tg_value *x = tg_graph_add_input(g, "x", TG_F32, 0, NULL), *y = tg_graph_add_input(g, "x", TG_F32, 0, NULL);
  EXPECT_STR(y->name, "x_1");
  tg_value *pair[] = {x, x};
  tg_node *add = tg_graph_add_node(g, TG_OP_ADD, "", pair, 2, NULL, -1);
  tg_graph_add_output(g, x, "out", TG_NONE);
  EXPECT_EQ(x->use_count, 2);
  tg_value_replace(g, x, y);
  EXPECT_EQ(x->use_count, 0);
  EXPECT_EQ(y->use_count, 2);
  EXPECT(g->outputs[0] == y && tg_in(add, 0) == y && tg_in(add, 1) == y);
  tg_diag diag = {""};
  EXPECT_EQ(tg_graph_verify(g, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  tg_arena_release(&arena);
}

TG_TEST(graph, a_use_before_its_definition_is_illegal) {
  tg_arena arena = {0};
  tg_graph *g = tg_graph_create(&arena, "g");
  tg_value *x = tg_graph_add_input(g, "x", TG_F32, 0, NULL);
  tg_node *a = tg_graph_add_node(g, TG_OP_RELU, "a", &x, 1, NULL, -1);
  tg_node *b = tg_graph_add_node(g, TG_OP_RELU, "b", a->outputs, 1, NULL, -1);
  tg_graph_move_node(g, b, a);
  tg_diag diag = {""};
  EXPECT_EQ(tg_graph_verify(g, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "not defined before it");
  tg_arena_release(&arena);
}

TG_TEST(graph, symbols_bind_once_and_by_name) {
  tg_arena arena = {0};
  tg_graph *g = tg_graph_create(&arena, "g");
  tg_dim dims[] = {{-1, "N"}, {3, NULL}, {-1, "N"}};
  tg_value *x = tg_graph_add_input(g, "x", TG_F32, 3, dims);
  EXPECT_STR(tg_value_type_text(x, &arena), "f32[N,3,N]");
  EXPECT_EQ(tg_graph_bind_symbol(g, "M", 4, NULL), TG_INVALID);
  EXPECT_EQ(tg_graph_bind_symbol(g, "N", -4, NULL), TG_INVALID);
  EXPECT_EQ(tg_graph_bind_symbol(g, "N", 4, NULL), TG_OK);
  EXPECT_EQ(tg_graph_bind_symbol(g, "N", 5, NULL), TG_INVALID);
  tg_graph_bind_rest(g, 1);
  EXPECT_EQ(tg_value_elements(x), 48);
  tg_arena_release(&arena);
}

TG_TEST(graph, a_fixed_input_takes_the_memory_of_its_data) {
  enum { COUNT = 1 << 20 };
  tg_arena arena = {0};
  tg_graph *g = tg_graph_create(&arena, "g");
  const tg_dim dims[] = {{COUNT, NULL}};
  tg_value *x = tg_graph_add_input(g, "x", TG_F32, 1, dims);
  float *data = calloc(COUNT, sizeof *data);
  data[COUNT - 1] = 7;
  size_t before = arena.used;
  tg_graph_fix_input(g, 0, data);
  free(data);
  EXPECT(arena.used - before < 2 * COUNT * sizeof *data);
  EXPECT_EQ(((const float *)x->data)[COUNT - 1], 7);
  EXPECT_EQ(g->input_count, 0);
  tg_arena_release(&arena);
}

static tg_graph *small_model(tg_arena *arena) {
  tg_builder *b = tg_builder_create(arena, "mlp");
  tg_value *x = tg_builder_input(b, "x", TG_F32, 2, (int64_t[]){2, 4});
  tg_value *w = tg_builder_seeded(b, "w \"1\"\n", TG_F32, 2, (int64_t[]){3, 4}, 7, 0.5f);
  tg_value *h = tg_builder_linear(b, "fc1", x, w, NULL);
  tg_builder_begin_disable_graphamp(b);
  tg_value *r = tg_builder_unary(b, TG_OP_RELU, "relu", h);
  tg_builder_end_disable_graphamp(b);
  tg_builder_output(b, "y", tg_builder_softmax(b, "prob", r, -1));
  tg_graph *graph = NULL;
  tg_diag diag = {""};
  EXPECT_EQ(tg_builder_finish(b, &graph, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  return graph;
}

TG_TEST(builder, builds_a_typed_graph) {
  tg_arena arena = {0};
  tg_graph *g = small_model(&arena);
  ASSERT(g);
  EXPECT_STR(tg_graph_print(g, &arena),
             "graph \"mlp\" next=3\n"
             "input %x: f32[2,4]\n"
             "const %\"w \\x221\\x22\\x0a\": f32[3,4] = seeded(7, 0.5)\n"
             "%fc1: f32[2,3] = Gemm(%x, %\"w \\x221\\x22\\x0a\") transB=1 @0 \"fc1\"\n"
             "%relu: f32[2,3] = Relu(%fc1) @1 \"relu\" disable_graphamp\n"
             "%prob: f32[2,3] = Softmax(%relu) axis=1 @2 \"prob\"\n"
             "output \"y\" %prob: f32\n");
  tg_arena_release(&arena);
}

TG_TEST(builder, remembers_the_first_misuse) {
  tg_arena arena = {0};
  tg_builder *b = tg_builder_create(&arena, "g");
  tg_value *none = tg_builder_input(b, "huge", TG_F32, 2, (int64_t[]){1ll << 40, 1ll << 40});
  EXPECT(!none);
  tg_builder_output(b, "y", tg_builder_unary(b, TG_OP_RELU, "r", none));
  tg_graph *graph;
  tg_diag diag = {""};
  EXPECT_EQ(tg_builder_finish(b, &graph, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "huge");
  tg_arena_release(&arena);
}

static tg_status build_too_much(void *user, tg_diag *diag) {
  tg_builder *b = tg_builder_create(user, "g");
  if (!b) return tg_fail(diag, TG_MISMATCH, "no builder");
  tg_arena_alloc(user, SIZE_MAX / 2, 1); /* as a constant of that size would */
  return TG_OK;
}

static tg_status build_none(void *user, tg_diag *diag) {
  return tg_fail(diag, TG_MISMATCH, "%s", (char *)user);
}

TG_TEST(builder, memory_that_ends_is_a_status) {
#if defined(__SANITIZE_ADDRESS__)
  SKIP("address sanitizers end a program that asks for so much");
#endif
  tg_arena arena = {0};
  tg_diag diag = {""};
  EXPECT_EQ(tg_builder_guarded(build_too_much, &arena, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "out of memory"));
  tg_arena_release(&arena);
  diag.message[0] = 0;
  EXPECT_EQ(tg_builder_guarded(build_none, "what it says", &diag), TG_MISMATCH);
  EXPECT_STR(diag.message, "what it says");
}

TG_TEST(graph, a_clone_is_equal_and_apart) {
  tg_arena arena = {0}, other = {0};
  tg_graph *g = small_model(&arena);
  const char *before = tg_graph_print(g, &arena);
  tg_graph *copy = tg_graph_clone(g, &other);
  EXPECT_STR(tg_graph_print(copy, &other), before);
  tg_diag diag = {""};
  EXPECT_EQ(tg_graph_verify(copy, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  tg_attr_set_int(copy->last, TG_ATTR_AXIS, 0);
  tg_value_rename(copy, copy->inputs[0], "z");
  EXPECT_STR(tg_graph_print(g, &arena), before);
  tg_arena_release(&other);
  tg_arena_release(&arena);
}

TG_TEST(text, constants_keep_every_bit) {
  tg_arena arena = {0};
  const char *text =
      "graph \"g\" next=0\n"
      "const %a: f32[5] = [0.100000001, -0, inf, 0x7fc00001, 1.40129846e-45]\n"
      "const %b: bf16[2] = [0.5, 0xffc1]\n"
      "const %c: i64[2] = [-9223372036854775808, 9223372036854775807]\n"
      "const %d: u8[70] = splat(255)\n"
      "const %e: f64[1] = [0.10000000000000001]\n"
      "const %f: f32[100] = hashed(0x0123456789abcdef)\n"
      "output \"a\" %a: f32\noutput \"b\" %b: bf16\noutput \"c\" %c: i64\noutput \"d\" %d: u8\n"
      "output \"e\" %e: f64\noutput \"f\" %f: f32\n";
  tg_graph *g;
  tg_diag diag = {""};
  EXPECT_EQ(tg_graph_parse(&arena, text, &g, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(g);
  EXPECT_STR(tg_graph_print(g, &arena), text);
  EXPECT_BITS(((const uint32_t *)g->values[0]->data)[3], 0x7fc00001);
  tg_arena_release(&arena);
}

TG_TEST(text, nodes_without_a_number_have_the_next) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *g;
  const char *text = "graph \"g\" next=3\ninput %x: f32[2]\n%y = Relu(%x)\n%z = Relu(%y) @1\n%u = Relu(%z)\n"
                     "output \"u\" %u: f32\n";
  EXPECT_EQ(tg_graph_parse(&arena, text, &g, &diag), TG_OK);
  ASSERT(g);
  EXPECT_EQ(g->first->id, 3);
  EXPECT_EQ(g->first->next->id, 1);
  EXPECT_EQ(g->last->id, 4);
  EXPECT_EQ(g->next_id, 5);
  tg_arena_release(&arena);
}

TG_TEST(text, keeps_what_a_training_step_needs) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *g;
  const char *text = "graph \"step\" next=3\n"
                     "input %x: f32[2]\n"
                     "input %w: f32[2]\n"
                     "%y: f32[2] = Mul(%x, %w) @0\n"
                     "%d: f32[2] = Mul(%x, %x) @1 forward=0:1\n"
                     "%w.next: f32[2] = Sub(%w, %d) @2 disable_graphamp\n"
                     "output \"y\" %y: f32\n"
                     "output \"w\" %w.next: f32 -> %w\n";
  EXPECT_EQ(tg_graph_parse(&arena, text, &g, &diag), TG_OK);
  EXPECT_EQ(tg_graph_verify(g, &diag), TG_OK);
  tg_graph *copy = tg_graph_clone(g, &arena);
  EXPECT_EQ(copy->carry_count, 1);
  EXPECT_EQ(copy->carries[0].input, 1);
  EXPECT_EQ(copy->carries[0].output, 1);
  EXPECT_EQ(copy->first->forward, -1);
  EXPECT_EQ(copy->first->next->forward, 0);
  EXPECT_EQ(copy->first->next->forward_operand, 1);
  EXPECT_STR(tg_graph_print(copy, &arena), text);
  tg_graph_add_carry(copy, 1, 0);
  EXPECT_EQ(tg_graph_verify(copy, &diag), TG_INVALID);
  tg_arena_release(&arena);
}

TG_TEST(text, every_type_comes_back) {
  static const char *const shapes[] = {"[?]", "[]", "[0]", "[2,3]", "[-1,4]", "[n,7]", "[\"2n\"]"};
  for (int d = 0; d < TG_DTYPE_COUNT; d++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      tg_arena arena = {0};
      tg_diag diag = {""};
      tg_graph *g;
      const char *text =
          tg_arena_printf(&arena, "graph \"g\" next=0\ninput %%x: %s%s\noutput \"x\" %%x: %s\n",
                          tg_dtype_name((tg_dtype)d), shapes[s], tg_dtype_name((tg_dtype)d));
      if (tg_graph_parse(&arena, text, &g, &diag))
        tg_test_fail(__FILE__, __LINE__, "%s: %s", text, diag.message);
      else
        EXPECT_STR(tg_graph_print(g, &arena), text);
      tg_arena_release(&arena);
    }
}

TG_TEST(text, refuses_what_is_no_graph) {
  static const char *const wrong[] = {
      "nonsense",
      "graph \"g\"\ninput %x: f33[2]",
      "graph \"g\"\ninput %x: f32[2,",
      "graph \"g\"\ninput %x: f32[1,1,1,1,1,1,1,1,1]",
      "graph \"g\"\ninput %x: f32[99999999999,99999999999]",
      "graph \"g\"\ninput %x: f32[2]\ninput %x: f32[2]",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(%x) @0\noutput \"y\" %y: f32 -> %y",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(%x) @0 forward=1:-3",
      "graph \"g\"\n%y = Relu(%x)",
      "graph \"g\"\ninput %x: f32[2]\n%y = Rely(%x)",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(%x) axis=1",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(%x",
      "graph \"g\"\nconst %x: f32[2] = [1]",
      "graph \"g\"\noutput \"x\\x",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(%x) @9223372036854775807",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(%x) @99999999999999999999",
      "graph \"g\" next=9223372036854775807\ninput %x: f32[2]\n%y = Relu(%x)",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(%x) @1048576",
      "graph \"g\" next=1048576\ninput %x: f32[2]\n%y = Relu(%x)",
      "graph \"g\"\ninput %x: f32[n=-5]",
      "graph \"g\"\ninput %x: f32[-2]",
      "graph \"g\"\nconst %x: f32[-1] = []",
      "graph \"g\"\nconst %x: none[2] = [1, 2]",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu()",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(_)",
      "graph \"g\"\ninput %x: f32[2]\n%y = Relu(%x, %x)",
      "graph \"g\"\ninput %x: f32[2]\noutput \"x\" %x: f33",
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tg_arena arena = {0};
    tg_graph *g;
    tg_diag diag = {""};
    if (tg_graph_parse(&arena, wrong[i], &g, &diag) != TG_INVALID || !diag.message[0])
      tg_test_fail(__FILE__, __LINE__, "accepted: %s", wrong[i]);
    tg_arena_release(&arena);
  }
}

TG_TEST(dtype, bf16_rounds_like_the_recorded_vectors) {
  tg_arena arena = {0};
  char *text = read_text(&arena, recorded_path(&arena, "precision/bf16_rne_vectors.csv"), NULL);
  ASSERT(text);
  int rows = 0;
  for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    unsigned in, out;
    if (sscanf(line, "0x%x,0x%x", &in, &out) != 2 && sscanf(line, "%x,%x", &in, &out) != 2) continue;
    float value;
    memcpy(&value, &in, sizeof value);
    if (isnan(value)) continue;
    rows++;
    EXPECT_BITS(tg_f32_to_bf16(value), out);
  }
  EXPECT(rows > 10);
  tg_arena_release(&arena);
}

/* _Float16 of the compiler is the oracle: every half, and fp32 values around every rounding boundary. */
TG_TEST(dtype, f16_agrees_with_the_compiler) {
  for (uint32_t h = 0; h < 0x10000; h++) {
    _Float16 half;
    uint16_t bits = (uint16_t)h;
    memcpy(&half, &bits, sizeof half);
    float wide = (float)half;
    if (isnan(wide)) continue;
    EXPECT(tg_f32_from_f16(bits) == wide);
    EXPECT_BITS(tg_f32_to_f16(wide), bits);
    uint32_t word;
    memcpy(&word, &wide, sizeof word);
    for (int step = -2; step <= 2; step++) {
      uint32_t near = word + (uint32_t)(step * 0x800);
      float value;
      memcpy(&value, &near, sizeof value);
      if (isnan(value)) continue;
      _Float16 want = (_Float16)value;
      uint16_t want_bits;
      memcpy(&want_bits, &want, sizeof want_bits);
      EXPECT_BITS(tg_f32_to_f16(value), want_bits);
    }
  }
}

TG_TEST(dtype, floats_become_integers_toward_zero) {
  int8_t small;
  tg_store_f32(&small, TG_I8, 0, 300.5f); /* narrow types wrap */
  EXPECT_EQ(small, 44);
  tg_store_f32(&small, TG_I8, 0, -129.9f);
  EXPECT_EQ(small, 127);
  tg_store_f32(&small, TG_I8, 0, -1.9f);
  EXPECT_EQ(small, -1);
  tg_store_f32(&small, TG_I8, 0, NAN);
  EXPECT_EQ(small, 0);
  int32_t word;
  tg_store_f32(&word, TG_I32, 0, -INFINITY); /* wide ones end */
  EXPECT_EQ(word, INT32_MIN);
  uint64_t wide;
  tg_store_f64(&wide, TG_U64, 0, 0x1.8p63);
  EXPECT(wide == 0xc000000000000000u);
  tg_store_i64(&small, TG_I8, 0, 200); /* so do integers */
  EXPECT_EQ(small, -56);
  float big = 1e30f;
  EXPECT(tg_load_i64(&big, TG_F32, 0) == INT64_MAX);
}

TG_TEST(seeded, is_uniform_and_repeatable) {
  enum { N = 1 << 16 };
  static float a[N], b[N];
  tg_seeded_fill(a, TG_F32, N, 3, 2);
  tg_seeded_fill(b, TG_F32, N, 3, 2);
  EXPECT(!memcmp(a, b, sizeof a));
  double sum = 0, square = 0;
  for (int i = 0; i < N; i++) {
    EXPECT(a[i] >= -2 && a[i] < 2);
    sum += (double)a[i];
    square += (double)a[i] * (double)a[i];
  }
  EXPECT(fabs(sum / N) < 0.03);
  EXPECT(fabs(square / N - 4.0 / 3) < 0.03);
}
