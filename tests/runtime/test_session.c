/* The public interface: models compiled, given inputs and run. */
#include "frontend/builder.h"
#include "frontend/onnx/onnx.h"
#include "frontend/text.h"
#include "runtime/session/session.h"
#include "tests/harness.h"
#include "tests/runtime/session_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TG_TEST(session, every_model_of_the_zoo_runs_and_equals_the_cpu) {
  for (const tg_zoo_entry *entry = tg_zoo; entry->name; entry++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_session *session;
    const char *path = zoo_file(&arena, entry->name,
                                &(tg_zoo_options){.m = 20,
                                                  .n = 30,
                                                  .k = 40,
                                                  .seq = 6,
                                                  .hidden = 12,
                                                  .heads = 3,
                                                  .size = 33,
                                                  .vocabulary = 43,
                                                  .layers = 2,
                                                  .seed = 3});
    ASSERT(!tg_session_load(path, &session, &diag));
    ASSERT(!tg_session_compile(session, &tiny, &diag));
    tg_session_random_inputs(session, 1);
    ASSERT(!tg_session_run(session, &(tg_session_run_options){.engine = "functional"}, &diag));
    ASSERT(!tg_session_measure_cpu(session, false, 1, &diag));
    bool narrow = strstr(entry->name, "region") != NULL; /* a part of it is bf16 as written */
    EXPECT(session->errors && session->errors[0].cosine > (narrow ? 0.99999 : 0.999999) &&
           session->errors[0].max_abs < (narrow ? 0.5 : 1e-4));
    tg_session_close(session);
    tg_arena_release(&arena);
  }
}

TG_TEST(session, runs_use_the_memory_of_the_run_before) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena);
  float a[45] = {1}, golden[63] = {0};
  size_t used = 0;
  ASSERT(session);
  tg_session_random_inputs(session, 1);
  for (int i = 0; i < 4; i++) {
    const tg_tensor_info *input = tg_session_input(session, 0), *output = tg_session_output(session, 0);
    EXPECT(!tg_session_set_input(session, input->name, input->rank, input->dims, a, &diag));
    EXPECT(!tg_session_run(session, &(tg_session_run_options){.engine = "functional"}, &diag));
    EXPECT(!tg_session_measure_cpu(session, false, 1, &diag));
    EXPECT(!tg_session_compare_golden(session, output->name, output->rank, output->dims, golden, &diag));
    if (i) EXPECT_EQ(session->arena.used, used);
    used = session->arena.used;
  }
  tg_session_close(session);
  tg_arena_release(&arena);
}

typedef struct heard {
  int asked, lines;
  bool warned;
} heard;

static const char *only_the_first_in_fp16(void *user, const char *node, const char *op, int operand_count,
                                          const char *const *dtypes) {
  heard *h = user;
  h->asked++;
  EXPECT(operand_count >= 1 && !strcmp(dtypes[0], h->asked == 2 ? "f16" : "f32"));
  return !strcmp(node, "fc1") && !strcmp(op, "Gemm") ? "fp16 -> fp16" : "fp32";
}

static void hear(void *user, bool warning, const char *line) {
  heard *h = user;
  h->lines++;
  h->warned |= warning;
  EXPECT(!strchr(line, '\n'));
}

TG_TEST(session, a_callback_decides_and_a_log_tells) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session;
  heard h = {0};
  ASSERT(!tg_session_load(zoo_file(&arena, "mlp", &(tg_zoo_options){.seed = 3}), &session, &diag));
  tg_compile_options options = tiny;
  options.cast_callback = only_the_first_in_fp16;
  options.cast_user = &h;
  options.log = hear;
  options.log_user = &h;
  options.verbose = true;
  EXPECT_EQ(tg_session_compile(session, &options, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  EXPECT_EQ(h.asked, 6);
  EXPECT(h.lines >= 6 && !h.warned);
  EXPECT_STR(session->lowered->first->rule ? session->lowered->first->rule : "", "callback: fp16 -> fp16");
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(session, the_product_is_the_product) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena);
  float a[9 * 5], b[5 * 7];
  for (int i = 0; i < 45; i++) a[i] = (float)(i % 11 - 5);
  for (int i = 0; i < 35; i++) b[i] = (float)(i % 7 - 3);
  ASSERT(!tg_session_set_input(session, "A", 2, (int64_t[]){9, 5}, a, &diag));
  ASSERT(!tg_session_set_input(session, "B", 2, (int64_t[]){5, 7}, b, &diag));
  ASSERT(!tg_session_run(session, &(tg_session_run_options){0}, &diag));
  const float *c = tg_session_output_data(session, 0);
  for (int m = 0; m < 9; m++)
    for (int n = 0; n < 7; n++) {
      float sum = 0; /* small integers: exact in any order */
      for (int k = 0; k < 5; k++) sum += a[m * 5 + k] * b[k * 7 + n];
      EXPECT(c[m * 7 + n] == sum);
    }
  EXPECT(tg_session_cycles(session) > 0);
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(session, a_saved_program_runs_alike) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena), *again;
  const char *path = tg_arena_printf(&arena, "%s/gemm.tgb", tg_test_dir());
  ASSERT(!tg_session_save(session, path, &diag));
  ASSERT(!tg_session_load(path, &again, &diag));
  EXPECT(tg_session_is_compiled(again));
  EXPECT_EQ(tg_session_compile(again, &tiny, &diag), TG_INVALID);
  tg_session *both[] = {session, again};
  for (int i = 0; i < 2; i++) {
    tg_diag none = {""};
    tg_session_random_inputs(both[i], 5);
    ASSERT(!tg_session_run(both[i], &(tg_session_run_options){0}, &none));
  }
  EXPECT_EQ(tg_session_cycles(session), tg_session_cycles(again));
  EXPECT(!memcmp(tg_session_output_data(session, 0), tg_session_output_data(again, 0), 63 * sizeof(float)));
  tg_session_close(session);
  tg_session_close(again);
  tg_arena_release(&arena);
}

TG_TEST(session, wrong_inputs_and_engines_are_refused) {
  static const struct {
    const char *name, *says;
    int rank;
    int64_t dims[2];
  } cases[] = {{"A", "shape [9,5], given is [5,9]", 2, {5, 9}},
               {"A", "given is [45]", 1, {45, 0}},
               {"Q", "no input \"Q\"", 2, {9, 5}}};
  tg_arena arena = {0};
  tg_session *session = small_gemm(&arena);
  float values[45] = {0};
  for (int i = 0; i < 3; i++) {
    tg_diag diag = {""};
    EXPECT_EQ(tg_session_set_input(session, cases[i].name, cases[i].rank, cases[i].dims, values, &diag),
              TG_INVALID);
    EXPECT_HAS(diag.message, cases[i].says);
  }
  tg_diag unset = {""}, engine = {""}, limit = {""};
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){0}, &unset), TG_INVALID);
  EXPECT_HAS(unset.message, "input \"A\" has no values");
  tg_session_random_inputs(session, 1);
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){.engine = "abacus"}, &engine), TG_INVALID);
  EXPECT_HAS(engine.message, "abacus");
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){.max_cycles = 3}, &limit), TG_FAULT);
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(session, open_sizes_follow_batch_symbol_and_input) {
  tg_arena arena = {0};
  const char *path = zoo_file(&arena, "mlp", &(tg_zoo_options){.seed = 1});
  for (int way = 0; way < 4; way++) {
    tg_diag diag = {""};
    tg_session *session;
    ASSERT(!tg_session_load(path, &session, &diag));
    if (way == 1) EXPECT_EQ(tg_session_bind_batch(session, 5, &diag), TG_OK);
    if (way == 2) EXPECT_EQ(tg_session_bind_dim(session, "N", 5, &diag), TG_OK);
    if (way == 3) EXPECT_EQ(tg_session_bind_shape(session, "x", 2, (int64_t[]){5, 784}, &diag), TG_OK);
    ASSERT(!tg_session_compile(session, &tiny, &diag));
    EXPECT_EQ(tg_session_input(session, 0)->dims[0], way ? 5 : 1);
    EXPECT_EQ(tg_session_output(session, 0)->dims[0], way ? 5 : 1);
    tg_session_close(session);
  }
  tg_arena_release(&arena);
}

/* y[n] = table[ids[n]], the table 0 1, 2 3, .. */
static tg_session *lookup(tg_arena *arena) {
  tg_builder *b = tg_builder_create(arena, "lookup");
  tg_graph *graph;
  tg_diag diag = {""};
  tg_session *session;
  float table[10];
  const char *path = tg_arena_printf(arena, "%s/lookup.onnx", tg_test_dir());
  for (int i = 0; i < 10; i++) table[i] = (float)i;
  tg_value *rows = tg_builder_constant(b, "table", TG_F32, 2, (int64_t[]){5, 2}, table);
  tg_value *ids = tg_builder_input(b, "ids", TG_I64, 1, (int64_t[]){3});
  tg_builder_output(b, "y", tg_builder_binary(b, TG_OP_GATHER, "lookup", rows, ids));
  if (tg_builder_finish(b, &graph, &diag) || tg_onnx_write(path, graph, &diag) ||
      tg_session_load(path, &session, &diag) || tg_session_compile(session, &tiny, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    abort();
  }
  return session;
}

TG_TEST(session, row_numbers_select_rows_and_are_checked) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = lookup(&arena);
  EXPECT(tg_session_input(session, 0)->integer);
  EXPECT_EQ(tg_session_input(session, 0)->rows, 5);
  EXPECT_EQ(tg_session_set_input(session, "ids", 1, (int64_t[]){3}, (float[]){0, 5, 1}, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "input \"ids\": element 1 is 5, outside [-5, 5)");
  diag.message[0] = 0;
  EXPECT_EQ(tg_session_set_input(session, "ids", 1, (int64_t[]){3}, (float[]){0, 0, -6}, &diag), TG_INVALID);
  diag.message[0] = 0;
  EXPECT_EQ(tg_session_set_input(session, "ids", 1, (int64_t[]){3}, (float[]){0, 0.5f, 1}, &diag),
            TG_INVALID);
  EXPECT_STR(diag.message, "input \"ids\": element 1 is 0.5, not a whole number");
  ASSERT(!tg_session_set_input(session, "ids", 1, (int64_t[]){3}, (float[]){4, -5, -1}, &diag));
  ASSERT(!tg_session_run(session, &(tg_session_run_options){.engine = "systemc"}, &diag));
  const float *y = tg_session_output_data(session, 0), want[] = {8, 9, 0, 1, 8, 9};
  for (int i = 0; i < 6; i++) EXPECT(y[i] == want[i]);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* --- integers */

static tg_session *model_of_text(tg_arena *arena, const char *name, const char *text) {
  tg_graph *graph = NULL;
  tg_session *session = NULL;
  tg_diag diag = {""};
  const char *path = tg_arena_printf(arena, "%s/%s.onnx", tg_test_dir(), name);
  if (tg_graph_parse(arena, text, &graph, &diag) || tg_onnx_write(path, graph, &diag) ||
      tg_session_load(path, &session, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    abort();
  }
  return session;
}

static tg_session *of_text(tg_arena *arena, const char *name, const char *text) {
  tg_diag diag = {""};
  tg_session *session = model_of_text(arena, name, text);
  if (tg_session_compile(session, &tiny, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    abort();
  }
  return session;
}

static void check_elements(tg_session *session) {
  tg_diag diag = {""};
  tg_session_random_inputs(session, 1);
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){.engine = "functional"}, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(tg_session_output_count(session) == 4);
  static const tg_dtype dtypes[] = {TG_I64, TG_BOOL, TG_I16, TG_F64};
  for (int i = 0; i < 4; i++) EXPECT_EQ(tg_session_output(session, i)->dtype, dtypes[i]);
  const int64_t *large = tg_session_output_elements(session, 0);
  EXPECT(large && large[0] == 9007199254740993 && large[1] == -3);
  const uint8_t *truth = tg_session_output_elements(session, 1);
  EXPECT(truth && truth[0] == 1 && truth[1] == 0);
  const int16_t *small = tg_session_output_elements(session, 2);
  const float *values = tg_session_output_data(session, 2);
  for (int e = 0; e < 6; e++) EXPECT((float)small[e] == values[e] && values[e] == truncf(values[e]));
  const double *wide = tg_session_output_elements(session, 3);
  EXPECT(wide && wide[0] == 0.1);
}

TG_TEST(session, outputs_have_the_types_of_the_model_exactly) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *again = NULL,
             *session =
                 of_text(&arena, "types",
                         "graph \"g\"\ninput %x: f32[6]\nconst %c: i64[2] = [9007199254740993, -3]\n"
                         "const %b: bool[2] = [1, 0]\nconst %d: f64[1] = [0.1]\nconst %k: f32[] = [9]\n"
                         "%y = Identity(%c) @0\n%z = Identity(%b) @1\n%m = Mul(%x, %k) @2\n"
                         "%i = Cast(%m) to=i16 @3\n%w = Identity(%d) @4\n"
                         "output \"y\" %y: i64\noutput \"z\" %z: bool\noutput \"i\" %i: i16\n"
                         "output \"w\" %w: f64\n");
  check_elements(session);
  const char *path = tg_arena_printf(&arena, "%s/types.tgb", tg_test_dir());
  EXPECT_EQ(tg_session_save(session, path, &diag), TG_OK);
  ASSERT(!tg_session_load(path, &again, &diag));
  check_elements(again);
  tg_session_close(again);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* What is computed of an input bounds it; what is computed of floats is looked at when it is there. */
TG_TEST(session, integers_that_are_not_exact_are_refused) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  static const int64_t dims[] = {2};
  static const tg_session_run_options functional = {.engine = "functional"};
  tg_session *session = of_text(&arena, "bound",
                                "graph \"g\"\ninput %i: i64[2]\ninput %x: f32[2]\n"
                                "const %k: i64[] = [100000]\n%j = Cast(%x) to=i64 @0\n%a = Mul(%i, %k) @1\n"
                                "%b = Mul(%j, %k) @2\noutput \"a\" %a: i64\noutput \"b\" %b: i64\n");
  EXPECT_EQ(tg_session_set_input(session, "i", 1, dims, (float[]){160, 200}, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "input \"i\": element 1 is 200, outside [-"));
  EXPECT_EQ(tg_session_set_input(session, "i", 1, dims, (float[]){160, -160}, &diag), TG_OK);
  EXPECT_EQ(tg_session_set_input(session, "x", 1, dims, (float[]){160.9f, -2.5f}, &diag), TG_OK);
  EXPECT_EQ(tg_session_run(session, &functional, &diag), TG_OK);
  const int64_t *b = tg_session_output_elements(session, 1);
  EXPECT(b && b[0] == 16000000 && b[1] == -200000);
  EXPECT_EQ(tg_session_set_input(session, "x", 1, dims, (float[]){1, 200.5f}, &diag), TG_OK);
  diag = (tg_diag){""};
  EXPECT_EQ(tg_session_run(session, &functional, &diag), TG_INVALID);
  EXPECT_STR(diag.message,
             "output \"b\": element 1 is an integer that passes what the array computes exactly");
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* Of each format in which an output of floats may be, and of a program from a file. */
TG_TEST(session, floats_of_integers_that_are_not_exact_are_refused) {
  static const char *const formats[] = {"f32", "f64", "f16", "bf16", "f8e4m3fn", "f8e5m2", "f4e2m1"};
  static const tg_session_run_options functional = {.engine = "functional"};
  static const int64_t dims[] = {2};
  tg_arena arena = {0};
  tg_diag diag = {""};
  for (size_t i = 0; i < 2 * (sizeof formats / sizeof *formats); i++) {
    const char *format = formats[i / 2], *path = tg_arena_printf(&arena, "%s/%s.tgb", tg_test_dir(), format);
    tg_session *session;
    if (i % 2) {
      ASSERT(!tg_session_load(path, &session, &diag));
    } else {
      const char *text = "graph \"g\"\ninput %%x: f32[2]\n%%i = Cast(%%x) to=i32 @0\n%%s = Mul(%%i, %%i) @1\n"
                         "%%f = Cast(%%s) to=f32 @2\n%%y = Cast(%%f) to=%s @3\noutput \"y\" %%y: %s\n";
      session = of_text(&arena, format, tg_arena_printf(&arena, text, format, format));
      ASSERT(!tg_session_save(session, path, &diag));
    }
    EXPECT_EQ(tg_session_set_input(session, "x", 1, dims, (float[]){2, -1}, &diag), TG_OK);
    EXPECT_EQ(tg_session_run(session, &functional, &diag), TG_OK);
    EXPECT(tg_session_output_data(session, 0) && tg_session_output_data(session, 0)[0] == 4);
    EXPECT_EQ(tg_session_set_input(session, "x", 1, dims, (float[]){2, 1e5f}, &diag), TG_OK);
    EXPECT_EQ(tg_session_run(session, &functional, &diag), TG_INVALID);
    EXPECT(strstr(diag.message, "computed of an integer that passes what the array computes exactly"));
    tg_session_close(session);
  }
  tg_arena_release(&arena);
}

/* Integers of 64 bits come in and go out as they are, or not at all. */
TG_TEST(session, elements_in_their_type) {
  enum { WIDE = (1 << 24) + 1 };
  tg_arena arena = {0};
  static const int64_t dims[] = {2}, more[] = {3}, i[] = {INT64_MAX / 3, -WIDE},
                       other[] = {INT64_MAX / 3 + 1, -WIDE};
  const char *text =
      "graph \"g\"\ninput %i: i64[2]\ninput %x: f32[2]\nconst %k: i64[] = [2]\n%a = Mul(%i, %k) @0\n"
      "%b = Neg(%x) @1\noutput \"a\" %a: i64\noutput \"b\" %b: f32\n";
  static const tg_session_run_options functional = {.engine = "functional"};
  for (int constant = 0; constant < 2; constant++) {
    tg_diag diag = {""};
    tg_session *session = model_of_text(&arena, "wide", text);
    if (constant) {
      EXPECT_EQ(tg_session_bind_constant(session, "i", 1, more, TG_I64, i, &diag), TG_INVALID);
      EXPECT_EQ(tg_session_bind_constant(session, "n", 1, dims, TG_I64, i, &diag), TG_INVALID);
      EXPECT_EQ(tg_session_bind_constant(session, "i", 9, dims, TG_I64, i, &diag), TG_INVALID);
      EXPECT_EQ(tg_session_bind_constant(session, "i", 1, dims, TG_NONE, i, &diag), TG_INVALID);
      ASSERT(!tg_session_bind_constant(session, "i", 1, dims, TG_I64, i, &diag));
    }
    ASSERT(!tg_session_compile(session, &tiny, &diag));
    EXPECT_EQ(tg_session_set_elements(session, "i", 1, dims, TG_I64, i, &diag),
              constant ? TG_OK : TG_INVALID);
    EXPECT_EQ(tg_session_set_elements(session, "i", 1, dims, TG_I64, other, &diag),
              TG_INVALID); /* one float for both */
    EXPECT_EQ(tg_session_set_elements(session, "i", 1, dims, TG_DTYPE_COUNT, i, &diag), TG_INVALID);
    EXPECT_EQ(tg_session_set_elements(session, "x", 1, dims, TG_I64, i, &diag), TG_INVALID);
    EXPECT(strstr(diag.message, "input \"x\": element 0 is an integer that FP32 does not hold"));
    EXPECT_EQ(tg_session_set_elements(session, "x", 1, dims, TG_F64, (double[]){1, 1e300}, &diag),
              TG_INVALID);
    ASSERT(!tg_session_set_elements(session, "x", 1, dims, TG_F64, (double[]){0.5, -3}, &diag));
    if (!constant)
      ASSERT(!tg_session_set_elements(session, "i", 1, dims, TG_I64, (int64_t[]){-5, 70000}, &diag));
    ASSERT(!tg_session_run(session, &functional, &diag));
    const int64_t *a = tg_session_output_elements(session, 0);
    const float *b = tg_session_output_data(session, 1);
    EXPECT(a[0] == (constant ? 2 * i[0] : -10) && a[1] == (constant ? 2 * i[1] : 140000));
    EXPECT(b[0] == -0.5f && b[1] == 3);
    tg_session_close(session);
  }
  tg_arena_release(&arena);
}

/* --- misuse */
