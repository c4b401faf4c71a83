/* `tegula tune`: the search against all assignments of small made-up problems, and the command on models. */
#include "frontend/builder.h"
#include "frontend/onnx/onnx.h"
#include "runtime/npy.h"
#include "runtime/tune/search.h"
#include "tests/command.h"
#include "tests/harness.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the search */

enum { OPS = 6, CANDIDATES = 4 };

/* Cycles and squared errors that add up; neighbours on the same candidate save more together. */
typedef struct made_up {
  double saved[OPS][CANDIDATES], added[OPS][CANDIDATES], together;
  int impossible_op, impossible_candidate; /* -1: none */
  int calls, measured;
  int last[OPS];
} made_up;

static uint32_t random_state;
static double drawn(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return (double)(random_state >> 8) / (1 << 24);
}

static made_up draw(uint32_t seed, double together) {
  made_up m = {.together = together, .impossible_op = -1};
  random_state = seed;
  for (int op = 0; op < OPS; op++)
    for (int c = 1; c < CANDIDATES; c++) {
      m.saved[op][c] = floor(1000 * drawn() * c) - 100;
      m.added[op][c] = 1e-6 * pow(10, 3 * drawn()) * c;
    }
  return m;
}

static double cycles_of(const made_up *m, const int *assignment) {
  double cycles = 20000;
  for (int op = 0; op < OPS; op++) {
    cycles -= m->saved[op][assignment[op]];
    if (op && assignment[op] && assignment[op] == assignment[op - 1]) cycles -= m->together;
  }
  return cycles;
}

static double error_of(const made_up *m, const int *assignment) {
  double squares = 1e-8;
  for (int op = 0; op < OPS; op++) squares += m->added[op][assignment[op]];
  return sqrt(squares);
}

static bool possible(const made_up *m, const int *assignment) {
  return m->impossible_op < 0 || assignment[m->impossible_op] != m->impossible_candidate;
}

static tg_status evaluate(void *user, const int *assignment, uint64_t below, const char *what,
                          tg_tune_point *out, tg_diag *diag) {
  made_up *m = user;
  (void)diag;
  EXPECT(what && *what);
  m->calls++;
  *out = (tg_tune_point){.error = NAN};
  if (!possible(m, assignment)) return TG_OK;
  *out = (tg_tune_point){.ran = true, .cycles = (uint64_t)cycles_of(m, assignment), .error = NAN};
  if (out->cycles >= below) return TG_OK;
  m->measured++;
  out->error = error_of(m, assignment);
  return TG_OK;
}

static double fewest_cycles(const made_up *m, double max_error) {
  double fewest = INFINITY;
  for (int i = 0, all = (int)pow(CANDIDATES, OPS); i < all; i++) {
    int assignment[OPS], rest = i;
    for (int op = 0; op < OPS; op++, rest /= CANDIDATES) assignment[op] = rest % CANDIDATES;
    if (possible(m, assignment) && error_of(m, assignment) <= max_error)
      fewest = fmin(fewest, cycles_of(m, assignment));
  }
  return fewest;
}

static tg_tune_problem made_up_problem(double max_error, int max_runs) {
  static const char *labels[CANDIDATES] = {"model", "a", "b", "c"};
  static tg_tune_operator operators[OPS];
  static const int all_b[OPS] = {2, 2, 2, 2, 2, 2}, all_c[OPS] = {3, 3, 3, 3, 3, 3};
  static const tg_tune_start starts[] = {{"all b", all_b}, {"all c", all_c}};
  for (int op = 0; op < OPS; op++)
    operators[op] = (tg_tune_operator){
        .name = "op", .weight = op, .candidates = CANDIDATES, .alone = CANDIDATES - 1, .labels = labels};
  return (tg_tune_problem){.operator_count = OPS,
                           .start_count = 2,
                           .operators = operators,
                           .starts = starts,
                           .max_error = max_error,
                           .squares = true,
                           .max_runs = max_runs,
                           .evaluate = evaluate};
}

static tg_status search(tg_arena *arena, made_up *m, double max_error, int max_runs, tg_tune_result *result,
                        tg_diag *diag) {
  tg_tune_problem problem = made_up_problem(max_error, max_runs);
  problem.user = m;
  return tg_tune_search(arena, &problem, result, diag);
}

/* What was foreseen, and whether it was then asked for. */
typedef struct foreseeing {
  made_up m;
  struct {
    int assignment[OPS];
    uint64_t below;
  } next[400];
  int next_count, batches, found, alone;
} foreseeing;

static tg_status foresee(void *user, const int *const *assignments, int count, uint64_t below,
                         tg_diag *diag) {
  foreseeing *f = user;
  (void)diag;
  EXPECT(count > 0 && count <= 400);
  f->batches++;
  f->next_count = count;
  for (int i = 0; i < count && i < 400; i++) {
    memcpy(f->next[i].assignment, assignments[i], sizeof f->next[i].assignment);
    f->next[i].below = below;
  }
  return TG_OK;
}

static tg_status evaluate_foreseen(void *user, const int *assignment, uint64_t below, const char *what,
                                   tg_tune_point *out, tg_diag *diag) {
  foreseeing *f = user;
  bool known = false;
  for (int i = 0; i < f->next_count; i++)
    known |=
        f->next[i].below == below && !memcmp(f->next[i].assignment, assignment, sizeof f->next[i].assignment);
  f->found += known;
  if (strstr(what, "alone")) f->alone += !known;
  return evaluate(&f->m, assignment, below, what, out, diag);
}

/* Runs that are foreseen change nothing but when they are made; all that does not depend on a run before is. */
TG_TEST(tune, search_foresees_what_it_runs) {
  for (uint32_t seed = 1; seed <= 20; seed++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_tune_result plain, r;
    made_up m = draw(seed, 150);
    foreseeing f = {.m = m};
    int runs = seed % 2 ? 1000 : 15;
    ASSERT(!search(&arena, &m, 5e-3, runs, &plain, &diag));
    tg_tune_problem problem = made_up_problem(5e-3, runs);
    problem.evaluate = evaluate_foreseen;
    problem.foresee = foresee;
    problem.user = &f;
    ASSERT(!tg_tune_search(&arena, &problem, &r, &diag));
    EXPECT(r.runs == plain.runs && r.best.cycles == plain.best.cycles && r.complete == plain.complete);
    EXPECT(!memcmp(r.choice, plain.choice, OPS * sizeof *r.choice));
    EXPECT(f.alone == 0 && f.batches >= 2 && f.found >= (runs == 15 ? 10 : 2 + OPS * (CANDIDATES - 1)));
    tg_arena_release(&arena);
  }
}

/* Of 200 problems: what is reported was run, keeps the error, and is close to the best of all 4096
 * assignments. */
TG_TEST(tune, search_comes_close_to_the_best_of_all) {
  double worst = 0, sum = 0;
  enum { PROBLEMS = 200 };
  for (uint32_t seed = 1; seed <= PROBLEMS; seed++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_tune_result r;
    made_up m = draw(seed, seed % 2 ? 0 : 150);
    double max_error = 1e-3 * pow(30, drawn());
    ASSERT(!search(&arena, &m, max_error, 1000, &r, &diag));
    EXPECT(r.met && r.complete && r.runs == m.calls);
    EXPECT(r.best.error == error_of(&m, r.choice) && r.best.error <= max_error);
    EXPECT(r.best.cycles == (uint64_t)cycles_of(&m, r.choice) && r.best.cycles <= r.base.cycles);
    double base = 20000, fewest = fewest_cycles(&m, max_error);
    double lost = (base - fewest) > 0 ? ((double)r.best.cycles - fewest) / (base - fewest) : 0;
    EXPECT(lost >= 0);
    worst = fmax(worst, lost);
    sum += lost;
    tg_arena_release(&arena);
  }
  if (getenv("TEGULA_SHOW"))
    printf("lost of what can be saved: %g on average, %g at worst\n", sum / PROBLEMS, worst);
  EXPECT(sum / PROBLEMS < 0.03 && worst < 0.35);
}

TG_TEST(tune, search_keeps_to_its_runs) {
  for (int max_runs = 1; max_runs < 40; max_runs++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_tune_result r;
    made_up m = draw(7, 150);
    ASSERT(!search(&arena, &m, 0.01, max_runs, &r, &diag));
    EXPECT(m.calls <= max_runs && r.runs == m.calls && r.met && !r.complete);
    EXPECT(r.best.error <= 0.01 && r.best.error == error_of(&m, r.choice));
    tg_arena_release(&arena);
  }
}

TG_TEST(tune, search_ends_where_the_model_itself_misses) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_tune_result r;
  made_up m = draw(3, 0);
  ASSERT(!search(&arena, &m, 1e-9, 1000, &r, &diag));
  EXPECT(!r.met && r.base.error > 1e-9);
  EXPECT_EQ(m.calls, 3); /* itself, and the starts */
  tg_arena_release(&arena);
}

TG_TEST(tune, search_does_without_what_cannot_run) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_tune_result r;
  made_up m = draw(11, 150);
  for (int c = 1; c < CANDIDATES; c++) m.added[2][c] = 0; /* it would be taken */
  m.saved[2][3] = 9000;
  m.impossible_op = 2;
  m.impossible_candidate = 3;
  ASSERT(!search(&arena, &m, 0.02, 1000, &r, &diag));
  EXPECT(r.met && r.choice[2] != 3 && r.choice[2] != 0);
  EXPECT(!r.alone[2][3].ran);
  tg_arena_release(&arena);
}

/* --- the command */

static json_t *tegula_json(const char *arguments) {
  const outcome *o = tegula("%s", arguments);
  EXPECT_STR(o->err, "");
  EXPECT_EQ(o->status, 0);
  return json_loads(o->out, 0, NULL);
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  EXPECT(json_is_number(value));
  return json_number_value(value);
}

static const json_t *named(const json_t *rows, const char *key, const char *name) {
  size_t i;
  json_t *row;
  json_array_foreach(rows, i, row) {
    const char *value = json_string_value(json_object_get(row, key));
    if (value && !strcmp(value, name)) return row;
  }
  return NULL;
}

static double rms_of(const json_t *report, const char *output) {
  return number(json_object_get(json_object_get(report, "error_vs_fp32"), output), "rms");
}

/* What is reported is what the rules give, on the engine with time and values. */
TG_TEST(tune, rules_replay_what_was_found) {
  EXPECT_EQ(tegula("zoo lenet -o lenet.onnx")->status, 0);
  json_t *tuned = tegula_json("tune lenet.onnx --max-error 0.0007 -o rules --json"),
         *plain = tegula_json("run lenet.onnx --no-cpu-reference --json"),
         *replayed = tegula_json("run lenet.onnx --cast-rules rules --no-cpu-reference --json");
  const json_t *best = json_object_get(tuned, "tuned"), *mp0 = json_object_get(tuned, "mp0");
  EXPECT(json_is_true(json_object_get(tuned, "met")));
  EXPECT(number(best, "error") <= 0.0007 && number(best, "cycles") < number(mp0, "cycles"));
  EXPECT(number(mp0, "cycles") == number(plain, "cycles"));
  EXPECT(number(best, "cycles") == number(replayed, "cycles"));
  EXPECT(number(best, "error") == rms_of(replayed, "scores"));
  EXPECT(fabs(number(best, "speedup_over_mp0") - number(mp0, "cycles") / number(best, "cycles")) < 1e-12);
  EXPECT(json_array_size(json_object_get(tuned, "operators")) == 11); /* all but the reshape */
  json_decref(tuned);
  json_decref(plain);
  json_decref(replayed);
}

/* The presets in the table are the presets, and whatever meets the target is no faster than what was
 * found. */
TG_TEST(tune, presets_are_compared_as_they_are) {
  EXPECT_EQ(tegula("zoo mlp -o mlp.onnx")->status, 0);
  json_t *tuned = tegula_json("tune mlp.onnx --max-error 0.0007 --json"),
         *swept = tegula_json("sweep mlp.onnx --tiling-accum fp32 --json");
  static const char *const presets[] = {"mp1", "mp2", "mp3", "mp4"};
  const json_t *compared = json_object_get(tuned, "compared"), *best = json_object_get(tuned, "tuned");
  for (int i = 0; i < 4; i++) {
    const json_t *row = named(compared, "name", presets[i]),
                 *same = named(json_object_get(swept, "rows"), "policy", presets[i]);
    ASSERT(row && same);
    EXPECT(number(row, "cycles") == number(same, "cycles"));
    EXPECT(number(row, "error") == rms_of(same, "probabilities"));
    EXPECT(json_is_true(json_object_get(row, "met")) == (number(row, "error") <= 0.0007));
    if (number(row, "error") <= 0.0007) EXPECT(number(best, "cycles") <= number(row, "cycles"));
  }
  json_decref(tuned);
  json_decref(swept);
}

TG_TEST(tune, a_tighter_target_costs_cycles) {
  EXPECT_EQ(tegula("zoo lenet -o lenet.onnx")->status, 0);
  double cycles = 0;
  static const char *const errors[] = {"1e-3", "1e-4"};
  for (int i = 0; i < 2; i++) {
    char line[200];
    snprintf(line, sizeof line, "tune lenet.onnx --max-error %s --json", errors[i]);
    json_t *tuned = tegula_json(line);
    EXPECT(number(json_object_get(tuned, "tuned"), "cycles") > cycles);
    EXPECT(number(json_object_get(tuned, "tuned"), "error") <= strtod(errors[i], NULL));
    cycles = number(json_object_get(tuned, "tuned"), "cycles");
    json_decref(tuned);
  }
}

TG_TEST(tune, metrics_formats_and_runs) {
  EXPECT_EQ(tegula("zoo gemm --m 40 --n 64 --k 48 -o gemm.onnx")->status, 0);
  json_t *r = tegula_json("tune gemm.onnx --metric max --max-error 1 --formats tf32 --json");
  const json_t *op = json_array_get(json_object_get(r, "operators"), 0);
  EXPECT_STR(json_string_value(json_object_get(op, "format")), "tf32");
  EXPECT_EQ(json_array_size(json_object_get(r, "compared")), 1); /* the presets need bf16 */
  json_decref(r);
  r = tegula_json("tune gemm.onnx --metric cosine --max-error 1e-4 --json");
  EXPECT(number(json_object_get(r, "tuned"), "error") <= 1e-4);
  EXPECT(number(json_object_get(r, "tuned"), "error") > 0);
  json_decref(r);
  r = tegula_json("tune gemm.onnx --max-error 1 --max-runs 3 --json");
  EXPECT_EQ((int)number(r, "runs"), 3);
  EXPECT(json_is_false(json_object_get(r, "complete")));
  json_decref(r);
  const outcome *o = tegula("tune gemm.onnx --max-error 1 --arch tiny -o tiny.rules");
  EXPECT_HAS(o->out, "rms error at most 1: met after");
  EXPECT_HAS(o->out, "MatMul");
}

static void write_labels(const char *name, int count, float first) {
  float labels[16] = {0};
  int64_t dims[1] = {count};
  char path[512];
  labels[0] = first;
  snprintf(path, sizeof path, "%s/%s", tg_test_dir(), name);
  EXPECT(!tg_npy_write(path, TG_F32, 1, dims, labels, NULL));
}

/* The right labels are those that FP32 finds; then one of four is made wrong. */
TG_TEST(tune, task_counts_wrong_labels) {
  EXPECT_EQ(tegula("zoo gemm --m 4 --n 10 --k 64 -o scores.onnx")->status, 0);
  EXPECT_EQ(tegula("run scores.onnx --no-cpu-reference -q --output-dir out")->status, 0);
  char path[512];
  snprintf(path, sizeof path, "%s/out/C.npy", tg_test_dir());
  tg_arena arena = {0};
  tg_npy scores;
  ASSERT(!tg_npy_read(&arena, path, &scores, NULL));
  const float *c = scores.data;
  float labels[4];
  for (int row = 0; row < 4; row++) {
    int top = 0;
    for (int i = 1; i < 10; i++)
      if (c[row * 10 + i] > c[row * 10 + top]) top = i;
    labels[row] = (float)top;
  }
  for (int wrong = 0; wrong < 2; wrong++) {
    if (wrong) labels[0] = labels[0] > 0 ? 0 : 1;
    snprintf(path, sizeof path, "%s/labels.npy", tg_test_dir());
    EXPECT(!tg_npy_write(path, TG_F32, 1, (int64_t[]){4}, labels, NULL));
    json_t *r = tegula_json("tune scores.onnx --metric task --labels labels.npy --max-error 0.3 --json");
    EXPECT(number(json_object_get(r, "mp0"), "error") == 0.25 * wrong);
    json_decref(r);
  }
  EXPECT_EQ(tegula("tune scores.onnx --metric task --labels labels.npy --max-error 0.2")->status, 1);
  tg_arena_release(&arena);
}

/* y = a + b, and nothing else. */
static void sum_model(void) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  char path[512];
  tg_builder *b = tg_builder_create(&arena, "sum");
  tg_value *x = tg_builder_input(b, "a", TG_F32, 2, (int64_t[]){64, 64}),
           *y = tg_builder_input(b, "b", TG_F32, 2, (int64_t[]){64, 64});
  tg_builder_output(b, "y", tg_builder_binary(b, TG_OP_ADD, "sum", x, y));
  snprintf(path, sizeof path, "%s/sum.onnx", tg_test_dir());
  if (tg_builder_finish(b, &graph, &diag) || tg_onnx_write(path, graph, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  tg_arena_release(&arena);
}

TG_TEST(tune, a_model_without_products_says_so) {
  sum_model();
  const outcome *o = tegula("tune sum.onnx --max-error 0.1");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "no matrix product or convolution");
}

TG_TEST(tune, refusals_are_one_line_and_leave_no_file) {
  EXPECT_EQ(tegula("zoo gemm --m 12 --n 8 --k 20 -o gemm.onnx")->status, 0);
  EXPECT_EQ(tegula("compile gemm.onnx --arch tiny -o gemm.tgb -q")->status, 0);
  EXPECT_EQ(tegula("zoo mlp -o mlp.onnx")->status, 0);
  write_labels("few.npy", 3, 0);
  write_labels("high.npy", 12, 8);
  static const struct {
    const char *line, *says;
    int status;
  } cases[] = {
      {"tune --max-error 1", "MODEL.onnx", 2},
      {"tune gemm.onnx -o x", "needs --max-error", 2},
      {"tune gemm.onnx -o x --max-error little", "\"little\" is no number", 2},
      {"tune gemm.onnx -o x --max-error nan", "\"nan\" is no number", 2},
      {"tune gemm.onnx -o x --max-error=-1", "below zero", 2},
      {"tune gemm.onnx -o x --max-error 1 --metric task", "needs --labels", 2},
      {"tune gemm.onnx -o x --max-error 1 --labels few.npy", "of --metric task only", 2},
      {"tune gemm.onnx -o x --max-error 1 --metric task --labels few.npy",
       "few.npy: holds 3 labels, output \"C\" has 12 rows of 8 scores", 2},
      {"tune gemm.onnx -o x --max-error 1 --metric task --labels high.npy",
       "high.npy: label 0 is 8, output \"C\" has classes 0 to 7", 2},
      {"tune gemm.onnx -o x --max-error 1 --formats bf16,int8", "\"int8\"", 2},
      {"tune gemm.onnx -o x --max-error 1 --graphamp-preset mp1", "--graphamp-preset", 2},
      {"tune gemm.tgb -o x --max-error 1", "compiled program", 2},
      {"tune mlp.onnx -o x --max-error 1e-30", "no assignment meets --max-error 1e-30: in the model's own",
       1},
      {"tune gemm.onnx -o x --max-error 1 --max-cycles 100", "cycle limit", 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const outcome *o = tegula("%s", cases[i].line);
    EXPECT_EQ(o->status, cases[i].status);
    EXPECT_HAS(o->err, cases[i].says);
    const char *newline = strchr(o->err, '\n');
    EXPECT(newline && !newline[1]);
    EXPECT(shell("test -s x"));
  }
}
