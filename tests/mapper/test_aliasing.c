/* Carried outputs: three runs on one memory against the frontend's evaluator, bit for bit; the copies that a
 * program makes at its end; memory that an update in place does not take. */
#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 3, MOST = 8 };

static const struct example {
  const char *name;
  int copies; /* kernels that only move new values to where they stay */
  const char *text;
} examples[] = {
    {"counts in place", 0,
     "input %n: f32[7,5]\nconst %one: f32[1] = [1]\n%m = Add(%n, %one) @0\noutput \"m\" %m: f32 -> %n\n"},
    {"what runs before may read the old values", 0,
     "input %n: f32[7,5]\nconst %k: f32[1] = [3]\n%o = Mul(%n, %k) @0\n%m = Add(%n, %o) @1\n"
     "output \"o\" %o: f32\noutput \"m\" %m: f32 -> %n\n"},
    {"an update waits for a later reader", 0,
     "input %n: f32[7,5]\nconst %k: f32[1] = [3]\n%m = Add(%n, %k) @0\n%o = Mul(%n, %k) @1\n"
     "output \"m\" %m: f32 -> %n\noutput \"o\" %o: f32\n"},
    {"not for one that needs the new values", 1,
     "input %n: f32[5,5]\nconst %k: f32[1] = [3]\n%m = Add(%n, %k) @0\n%s = MatMul(%m, %m) @1\n"
     "%o = MatMul(%n, %s) @2\noutput \"m\" %m: f32 -> %n\noutput \"o\" %o: f32\n"},
    {"kernels that become one update both", 0,
     "input %n: f32[7,5]\nconst %k: f32[1] = [3]\n%m = Add(%n, %k) @0\n%s = Neg(%m) @1\n%o = Mul(%n, %s) @2\n"
     "output \"m\" %m: f32 -> %n\noutput \"o\" %o: f32\n"},
    {"a pool reads what lies around", 1,
     "input %n: f32[1,1,7,5]\n%m = MaxPool(%n) kernel_shape=[3,3] pads=[1,1,1,1] @0\n"
     "output \"m\" %m: f32 -> %n\n"},
    {"a transpose, too", 1,
     "input %n: f32[5,5]\n%t = Transpose(%n) perm=[1,0] @0\noutput \"m\" %t: f32 -> %n\n"},
    {"a product updates behind its sum", 0,
     "input %a: f32[9,6]\ninput %b: f32[6,11]\ninput %w: f32[9,11]\n%g = MatMul(%a, %b) @0\n%m = Sub(%w, "
     "%g) @1\n"
     "output \"m\" %m: f32 -> %w\n"},
    {"not its own operand", 1,
     "input %w: f32[6,6]\nconst %b: f32[6,6] = seeded(3, 0.2)\n%g = MatMul(%w, %b) @0\n%m = Sub(%w, %g) "
     "@1\n"
     "output \"m\" %m: f32 -> %w\n"},
    {"products of one input before the update of it", 0,
     "input %x: f32[4,9]\ninput %w: f32[9,9]\n%xt = Transpose(%x) perm=[1,0] @0\n%g = MatMul(%xt, %x) @1\n"
     "%m = Sub(%w, %g) @2\n%y = MatMul(%x, %w) @3\noutput \"y\" %y: f32\noutput \"m\" %m: f32 -> %w\n"},
    {"unchanged", 0, "input %n: f32[3]\noutput \"m\" %n: f32 -> %n\n"},
    {"a delay line", 2,
     "input %x: f32[3]\ninput %a: f32[3]\ninput %b: f32[3]\noutput \"y\" %b: f32\n"
     "output \"a2\" %x: f32 -> %a\noutput \"b2\" %a: f32 -> %b\n"},
    {"two from one", 1,
     "input %a: f32[3]\ninput %b: f32[3]\n%s = Add(%a, %b) @0\noutput \"a2\" %s: f32 -> %a\n"
     "output \"b2\" %s: f32 -> %b\n"},
    {"also an output of its own", 1,
     "input %a: f32[3]\n%s = Add(%a, %a) @0\noutput \"s\" %s: f32\noutput \"a2\" %s: f32 -> %a\n"},
    {"the optimizer's state and the parameter", 0,
     "input %g: f32[8,3]\ninput %v: f32[8,3]\ninput %w: f32[8,3]\nconst %mu: f32[1] = [0.5]\n"
     "%s = Mul(%v, %mu) @0\n%v2 = Add(%s, %g) @1\n%w2 = Sub(%w, %v2) @2\n"
     "output \"v2\" %v2: f32 -> %v\noutput \"w2\" %w2: f32 -> %w\n"},
    {"an update of a single element", 0,
     "input %g: f32[1]\ninput %m: f32[1]\ninput %v: f32[1]\ninput %w: f32[1]\ninput %lr: f32[1]\n"
     "input %c: f32[1]\nconst %b: f32[1] = [0.5]\n%m1 = Mul(%m, %b) @0\n%g1 = Mul(%g, %b) @1\n"
     "%m2 = Add(%m1, %g1) @2\n%gg = Mul(%g, %g) @3\n%v1 = Mul(%v, %b) @4\n%v2 = Add(%v1, %gg) @5\n"
     "%d = Mul(%v2, %c) @6\n%u = Mul(%m2, %lr) @7\n%q = Sub(%u, %d) @8\n%w2 = Sub(%w, %q) @9\n"
     "output \"m2\" %m2: f32 -> %m\noutput \"v2\" %v2: f32 -> %v\noutput \"w2\" %w2: f32 -> %w\n"},
    {"a concatenation writes in parts", 0,
     "input %a: f32[3,4]\ninput %x: f32[3,2]\n%h = Mul(%x, %x) @0\n%c = Concat(%h, %h) axis=1 @1\n"
     "%s = Add(%c, %a) @2\n%d = Concat(%x, %h) axis=1 @3\noutput \"s\" %s: f32\noutput \"a2\" %d: f32 -> "
     "%a\n"},
};

typedef struct run_of {
  tg_arena arena;
  mapped m;
  void *inputs[MOST], *outputs[MOST];
} run_of;

static size_t bytes_of(const tg_value *value) {
  return (size_t)tg_value_elements(value) * tg_dtype_size(value->dtype);
}

static void make_values(run_of *r) {
  for (int i = 0; i < r->m.graph->input_count; i++) {
    const tg_value *value = r->m.graph->inputs[i];
    r->inputs[i] = tg_arena_alloc(&r->arena, bytes_of(value) + 1, 1);
    tg_seeded_fill(r->inputs[i], value->dtype, tg_value_elements(value), (uint64_t)i + 1, 2.0f);
  }
  for (int o = 0; o < r->m.graph->output_count; o++)
    r->outputs[o] = tg_arena_alloc(&r->arena, bytes_of(r->m.graph->outputs[o]) + 1, 1);
}

static void carry_values(run_of *r) {
  for (size_t c = 0; c < r->m.graph->carry_count; c++) {
    int input = r->m.graph->carries[c].input;
    memcpy(r->inputs[input], r->outputs[r->m.graph->carries[c].output], bytes_of(r->m.graph->inputs[input]));
  }
}

/* Tensor of an output: a carried one is where its input is, the others are in order. */
static const tg_dram_tensor *tensor_of(const run_of *r, int output) {
  int before = 0;
  for (int o = 0; o <= output; o++) {
    int input = -1;
    for (size_t c = 0; c < r->m.graph->carry_count; c++)
      if (r->m.graph->carries[c].output == o) input = r->m.graph->carries[c].input;
    if (o == output && input >= 0) return &r->m.program->tensors[input];
    before += input < 0;
  }
  for (uint32_t t = 0; t < r->m.program->tensor_count; t++)
    if (r->m.program->tensors[t].role == TG_ROLE_OUTPUT && --before == 0) return &r->m.program->tensors[t];
  return NULL;
}

static void compare(const run_of *r, const tg_dram *dram, const char *name, int run) {
  for (int o = 0; o < r->m.graph->output_count; o++) {
    const tg_dram_tensor *tensor = tensor_of(r, o);
    ASSERT(tensor != NULL);
    if (memcmp(dram->bytes + tensor->address, r->outputs[o], tensor->bytes))
      tg_test_fail(__FILE__, __LINE__, "%s: output %s differs after run %d", name,
                   r->m.graph->output_names[o], run);
  }
}

static void check_runs(run_of *r, const tg_engine *engine, const char *name) {
  tg_diag diag = {""};
  tg_dram *dram = NULL;
  void *state = NULL;
  tg_run_options options = {.threads = 1};
  tg_status status = tg_dram_create(r->m.program, &dram, &diag);
  if (!status) status = engine->open(r->m.program, &options, &state, &diag);
  for (int i = 0; !status && i < r->m.graph->input_count; i++) {
    const tg_dram_tensor *tensor = &r->m.program->tensors[i];
    EXPECT_STR(tensor->name, r->m.graph->inputs[i]->name);
    memcpy(dram->bytes + tensor->address, r->inputs[i], tensor->bytes);
  }
  for (int run = 1; run <= RUNS && !status; run++) {
    tg_run_result result = {0};
    status = engine->run(state, dram, &options, &result, &diag);
    tg_run_result_release(&result);
    if (status) break;
    tg_reference_run(r->m.graph, (const void *const *)r->inputs, r->outputs);
    compare(r, dram, name, run);
    carry_values(r);
  }
  if (status) tg_test_fail(__FILE__, __LINE__, "%s: %s", name, diag.message);
  if (state) engine->close(state);
  tg_dram_destroy(dram);
}

static int count_copies(const tg_program *program) {
  int copies = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++)
    copies += !strncmp(program->invocations[i].name, "Copy ", 5);
  return copies;
}

static tg_status map_step(run_of *r, const char *text, const char *arch, tg_diag *diag) {
  *r = (run_of){0};
  run_case what = {
      .text = tg_arena_printf(&r->arena, "graph \"g\"\n%s", text), .arch = arch, .map = {.seed = 1}};
  return map_text(&what, &r->m, &r->arena, diag);
}

static void release(run_of *r) {
  release_mapped(&r->m);
  tg_arena_release(&r->arena);
}

static void check_example(const void *row) {
  const struct example *e = row;
  static const char *const archs[] = {"tiny", "edge"};
  const tg_engine *engines[] = {
      &tg_engine_functional,
#ifdef TEGULA_WITH_SYSTEMC
      &tg_engine_systemc,
#endif
  };
  for (size_t a = 0; a < 2; a++)
    for (size_t n = 0; n < sizeof engines / sizeof *engines; n++) {
      run_of r;
      tg_diag diag = {""};
      tg_status status = map_step(&r, e->text, archs[a], &diag);
      if (status) {
        tg_test_fail(__FILE__, __LINE__, "%s: %s", e->name, diag.message);
        release(&r);
        return;
      }
      make_values(&r);
      check_runs(&r, engines[n], e->name);
      int extra = 0; /* plain outputs that rename an input are copied, too */
      for (int o = 0; o < r.m.graph->output_count; o++)
        extra += tensor_of(&r, o)->role == TG_ROLE_OUTPUT && r.m.graph->outputs[o]->kind == TG_VALUE_INPUT;
      EXPECT_EQ(count_copies(r.m.program), e->copies + extra);
      release(&r);
    }
}

__attribute__((constructor)) static void register_examples(void) {
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    char label[128];
    snprintf(label, sizeof label, "%s", examples[i].name);
    for (char *c = label; *c; c++)
      if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'))) *c = '_';
    tg_test_register_row("aliasing", label, __FILE__, __LINE__, check_example, &examples[i]);
  }
}

TG_TEST(aliasing, state_is_in_memory_once) {
  run_of r;
  tg_diag diag = {""};
  ASSERT(!map_step(&r, examples[0].text, "tiny", &diag));
  EXPECT_EQ(r.m.program->dram_bytes, (7 * 5 * 4 + 63) / 64 * 64);
  EXPECT_EQ(r.m.program->tensor_count, 1);
  EXPECT_STR(tg_role_name(r.m.program->tensors[0].role), "state");
  release(&r);
}

TG_TEST(aliasing, inputs_that_exchange_values_are_refused) {
  run_of r;
  tg_diag diag = {""};
  EXPECT_EQ(map_step(&r,
                     "input %a: f32[3]\ninput %b: f32[3]\noutput \"a2\" %b: f32 -> %a\n"
                     "output \"b2\" %a: f32 -> %b\n",
                     "tiny", &diag),
            TG_INVALID);
  EXPECT_HAS(diag.message, "\"b\"");
  release(&r);
}

TG_TEST(aliasing, survives_the_program_file) {
  run_of r;
  tg_diag diag = {""};
  tg_program *again = NULL;
  char path[512];
  ASSERT(!map_step(&r, examples[9].text, "tiny", &diag));
  snprintf(path, sizeof path, "%s/step.tgb", tg_test_dir());
  EXPECT_EQ(tg_program_write(r.m.program, path, &diag), TG_OK);
  EXPECT_EQ(tg_program_read(path, &again, &diag), TG_OK);
  char *wanted = tg_program_print(r.m.program), *got = again ? tg_program_print(again) : NULL;
  EXPECT_STR(got, wanted);
  EXPECT_HAS(wanted, "tensor state fp32");
  free(wanted);
  free(got);
  tg_program_destroy(again);
  release(&r);
}
