/* `tegula train` as a user runs it: what it refuses, what it writes, what it reports. */
#include "frontend/onnx/onnx.h"
#include "frontend/text.h"
#include "tests/harness.h"
#include "tests/training/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DIGITS "train mlp.onnx --data digits_x.npy --labels digits_y.npy "

static void extra_files(void) {
  make_digits();
  int64_t two[] = {2, 16}, order[32];
  for (int i = 0; i < 32; i++) order[i] = i == 21 ? 160 : i;
  write_npy("bad_order.npy", TG_I64, 2, two, order);
  order[21] = 3;
  write_npy("order.npy", TG_I64, 2, two, order);
  float label[160] = {0};
  int64_t rows = 160, few = 40;
  label[77] = 10;
  write_npy("bad_y.npy", TG_F32, 1, &rows, label);
  label[77] = 0;
  write_npy("few_y.npy", TG_F32, 1, &few, label);
  write_npy("narrow_x.npy", TG_F32, 1, &rows, label);
}

/* Losses of four steps of the digits' network, whose model and options are these. */
static float *losses_of(tg_arena *arena, const char *arguments) {
  int64_t count;
  const outcome *o = tegula("train %s --batch 16 --steps 4 --lr 0.1 --losses four.npy -q", arguments);
  EXPECT_STR(o->err, "");
  float *losses = o->status ? NULL : read_floats(arena, here(arena, "four.npy"), &count);
  if (losses) EXPECT_EQ(count, 4);
  return losses && count == 4 ? losses : NULL;
}

static void expect_same_losses(tg_arena *arena, const char *a, const char *b) {
  const float *first = losses_of(arena, a), *second = losses_of(arena, b);
  EXPECT(first && second);
  for (int i = 0; first && second && i < 4; i++) EXPECT(fabsf(first[i] - second[i]) < 1e-6f);
}

#define NETWORK                                                                                              \
  "const %w1: f32[784,24] = seeded(1, 0.06)\nconst %b1: f32[24] = seeded(2, 0.06)\n"                         \
  "const %w2: f32[24,10] = seeded(3, 0.3)\nconst %b2: f32[10] = seeded(4, 0.3)\n"                            \
  "%h = Gemm(%x, %w1, %b1) @0\n%r = Relu(%h) @1\n%y = Gemm(%r, %w2, %b2) @2\n"

static void write_network(tg_arena *arena, const char *file, const char *text) {
  tg_diag diag = {""};
  tg_graph *graph;
  make_digits();
  EXPECT(!tg_graph_parse(arena, text, &graph, &diag) && !tg_onnx_write(here(arena, file), graph, &diag));
  EXPECT_STR(diag.message, "");
}

TG_TEST(train, classes_may_come_last) {
  tg_arena arena = {0};
  write_network(&arena, "last.onnx",
                "graph \"last\"\ninput %x: f32[16,784]\n" NETWORK
                "%z = Reshape(%y) shape=[16,1,10] @3\noutput \"z\" %z: f32\n");
  expect_same_losses(&arena, "last.onnx --data digits_x.npy --labels digits_y.npy --classes-last",
                     "mlp.onnx --data digits_x.npy --labels digits_y.npy");
  tg_arena_release(&arena);
}

#define NORMED(form)                                                                                         \
  "graph \"normed\"\ninput %x: f32[16,784]\nconst %w1: f32[784,4] = seeded(1, 0.06)\n"                       \
  "const %s: f32[4] = seeded(2, 1)\nconst %b: f32[4] = seeded(3, 1)\nconst %m: f32[4] = seeded(4, 0.1)\n"    \
  "const %v: f32[4] = [1, 2, 0.5, 3]\nconst %w2: f32[4,10] = seeded(5, 0.3)\n%h = MatMul(%x, %w1) @0\n"      \
  "%n = BatchNormalization(%h, %s, %b, %m, %v)" form " @1\n%y = MatMul(%n, %w2) @2\noutput \"y\" %y: f32\n"

/* Exported for training or not, trained it runs as in inference. */
TG_TEST(train, models_in_training_form_run_when_they_are_trained) {
  tg_arena arena = {0};
  static const char *const forms[] = {NORMED(""), NORMED(" training_mode=1")};
  float *results[2] = {NULL};
  int64_t count = 0;
  for (int i = 0; i < 2; i++) {
    write_network(&arena, "form.onnx", forms[i]);
    EXPECT(losses_of(&arena, "form.onnx --data digits_x.npy --labels digits_y.npy --save trained.onnx"));
    const outcome *o =
        tegula("run trained.onnx --inference --engine functional --random-inputs 3 --output-dir out");
    EXPECT_EQ(o->status, 0);
    EXPECT_EQ(strstr(o->err, "1 BatchNormalization or Dropout node in training form") != NULL, i == 1);
    results[i] = read_floats(&arena, here(&arena, "out/y.npy"), &count);
  }
  EXPECT(count == 160 && results[0] && results[1] && !memcmp(results[0], results[1], 160 * sizeof(float)));
  tg_arena_release(&arena);
}

#define ROWS_BY(scale)                                                                                       \
  "graph \"rows\"\ninput %x: f32[16,784]\nconst %k: f32[] = [" scale "]\nconst %one: i64[] = [1]\n"          \
  "const %t: f32[4,10] = seeded(1, 0.3)\n%m = ReduceMax(%x) axes=[1] @0\n%s = Mul(%m, %k) @1\n"              \
  "%f = Floor(%s) @2\n%i = Cast(%f) to=i64 @3\n%r = Add(%i, %one) @4\n%e = Gather(%t, %r) @5\n"              \
  "%y = Reshape(%e) shape=[16,10] @6\noutput \"y\" %y: f32\n"

/* Rows by integers of floats: 2 of all digits, which are as bright as can be; the loss says where one is not exact. */
TG_TEST(train, rows_may_be_chosen_by_integers_of_floats) {
  tg_arena arena = {0};
  write_network(&arena, "rows.onnx", ROWS_BY("1"));
  EXPECT(losses_of(&arena, "rows.onnx --data digits_x.npy --labels digits_y.npy"));
  write_network(&arena, "far.onnx", ROWS_BY("1e9"));
  const outcome *o = tegula("train far.onnx --data digits_x.npy --labels digits_y.npy --steps 1");
  EXPECT_EQ(o->status, 1);
  EXPECT_HAS(o->err, "the loss is nan");
  tg_arena_release(&arena);
}

/* A model that ends in the loss itself, labels an input of it: the same steps as with the loss beside it. */
TG_TEST(train, a_loss_may_stand_in_the_model) {
  tg_arena arena = {0};
  write_network(&arena, "inside.onnx",
                "graph \"inside\"\ninput %x: f32[16,784]\ninput %t: i64[16]\n" NETWORK
                "%l, %p = SoftmaxCrossEntropyLoss(%y, %t) @3\n"
                "output \"scores\" %y: f32\noutput \"loss\" %l: f32\n");
  expect_same_losses(&arena, "inside.onnx --data x=digits_x.npy --labels digits_y.npy",
                     "mlp.onnx --data digits_x.npy --labels digits_y.npy");
  static const struct {
    const char *more, *says;
  } cases[] = {
      {"--data x=digits_x.npy", "input \"t\" of the model has no --data"},
      {"--data x=digits_x.npy --data t=digits_y.npy --labels digits_y.npy", "whose inputs all have --data"},
      {"--data x=digits_x.npy --labels digits_y.npy --loss model --loss-output scores", "is no loss"},
      {"--data x=digits_x.npy --labels digits_y.npy --eval-data x.npy --eval-labels y.npy",
       "stands in the model"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const outcome *o = tegula("train inside.onnx %s", cases[i].more);
    EXPECT_EQ(o->status, 2);
    EXPECT_HAS(o->err, cases[i].says);
  }
  tg_arena_release(&arena);
}

TG_TEST(train, refusals_are_one_line_before_anything_runs) {
  static const struct {
    const char *line, *says;
  } cases[] = {
      {"train", "needs MODEL.onnx"},
      {"train no.onnx --data digits_x.npy", "no.onnx"},
      {"train mlp.onnx", "needs --data"},
      {"train mlp.onnx --data digits_x.npy", "needs --labels"},
      {"train mlp.onnx --data no.npy --labels digits_y.npy", "no.npy"},
      {"train mlp.onnx --data digits_x.npy --labels bad_y.npy", "bad_y.npy: row 77 has label 10"},
      {"train mlp.onnx --data digits_x.npy --labels few_y.npy", "few_y.npy 40"},
      {"train mlp.onnx --data narrow_x.npy --labels digits_y.npy", "narrow_x.npy: a row has 1 elements"},
      {DIGITS "--order bad_order.npy", "bad_order.npy: step 1 takes row 160; there are 160"},
      {DIGITS "--order order.npy --shuffle 1", "two orders"},
      {DIGITS "--order order.npy --batch 8", "16 rows"},
      {DIGITS "--order order.npy --steps 3", "--order has 2 steps"},
      {DIGITS "--order digits_x.npy", "no array of integers"},
      {DIGITS "--batch 161", "--batch 161"},
      {DIGITS "--batch 32 --data-parallel 5", "--data-parallel 5 does not divide"},
      {DIGITS "--betas 0.9", "--betas"},
      {DIGITS "--betas 0.9,1", "--betas"},
      {DIGITS "--loss-scale big", "--loss-scale"},
      {DIGITS "--ignore-index x", "--ignore-index: \"x\" is no integer"},
      {DIGITS "--ignore-index -9223372036854775808", "is no integer of at most 2^24"},
      {DIGITS "--ignore-index 3 --loss mse", "the labels of loss mse are no classes"},
      {DIGITS "--loss-beta 2 --loss l1", "--loss-beta: loss l1 has none"},
      {DIGITS "--loss-beta 0 --loss huber", "--loss-beta: 0 is not above 0"},
      {DIGITS "--loss-beta 1e-40 --loss smooth_l1", "--loss-beta: 1e-40 is below 1.17549e-38"},
      {DIGITS "--loss ctc", "ctc"},
      {DIGITS "--classes-last --loss mse", "--classes-last: the labels of loss mse are no classes"},
      {"train mlp.onnx --data digits_x.npy --labels bad_y.npy --ignore-index 9", "row 77 has label 10"},
      {DIGITS "--frozen '('", "--frozen"},
      {DIGITS "--trained '('", "--trained"},
      {DIGITS "--frozen '.'", "mlp.onnx"},
      {DIGITS "--loss-output z", "z"},
      {DIGITS "--resume", "--resume needs --checkpoint"},
      {DIGITS "--eval-data digits_x.npy", "need each other"},
      {DIGITS "--report r.txt", "r.txt"},
      {DIGITS "--data x=digits_x.npy", "--data is given twice for input \"x\""},
      {DIGITS "--engine rtl --arch edge", "build"}, /* it has no RTL, or none of this size */
      {DIGITS "--steps 2000000000 --save no/dir.onnx", "no/dir.onnx"},
      {DIGITS "--steps 2000000000 --losses no/dir.npy", "no/dir.npy"},
      {DIGITS "--steps 2000000000 --report no/dir.html", "no/dir.html"},
      {DIGITS "--steps 2000000000 --checkpoint no/dir", "no/dir"},
      {DIGITS "--save-grads mlp.onnx", "mlp.onnx: is no folder"},
  };
  extra_files();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const outcome *o = tegula("%s", cases[i].line);
    const char *newline = strchr(o->err, '\n');
    if (o->status != 2 || *o->out || !newline || newline[1] || !strstr(o->err, cases[i].says))
      tg_test_fail(__FILE__, __LINE__, "%s: exit %d, says %s", cases[i].line, o->status, o->err);
  }
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The host's formula and the array's, which is compared with PyTorch's elsewhere. */
TG_TEST(train, losses_of_evaluation_are_those_of_training) {
  enum { ROWS = 160, CLASSES = 10, SIZE = ROWS * CLASSES };
  static const char *const of_values[] = {
      "mse",    "l1",          "smooth_l1 --loss-beta 0.3", "huber --loss-beta 0.3",
      "kl_div", "poisson_nll", "bce_with_logits",
  };
  static const char *const others[] = {"soft_margin --labels signs.npy --eval-labels signs.npy",
                                       "hinge_embedding --labels signs.npy --eval-labels signs.npy",
                                       "multilabel_margin --labels lists.npy --eval-labels lists.npy",
                                       "multi_margin --labels digits_y.npy --eval-labels digits_y.npy"};
  enum { OF_VALUES = sizeof of_values / sizeof *of_values, OTHERS = sizeof others / sizeof *others };
  static float values[SIZE], signs[SIZE], lists[SIZE];
  const int64_t dims[] = {ROWS, CLASSES};
  make_digits();
  for (int i = 0; i < SIZE; i++) {
    values[i] = (float)(i * 37 % 101) / 101;
    signs[i] = i * 37 % 101 < 50 ? -1 : 1;
    lists[i] = i % CLASSES == (i / CLASSES) % 7 ? -1 : (float)((i * 7 + i / CLASSES) % CLASSES);
    if (i % CLASSES == 2 && lists[i] >= 0) lists[i] = lists[i - 1]; /* a class twice counts twice */
  }
  write_npy("values.npy", TG_F32, 2, dims, values);
  write_npy("signs.npy", TG_F32, 2, dims, signs);
  write_npy("lists.npy", TG_F32, 2, dims, lists);
  for (int i = 0; i < OF_VALUES + OTHERS; i++) {
    bool value = i < OF_VALUES;
    const outcome *o = tegula(
        "train mlp.onnx --data digits_x.npy --eval-data digits_x.npy --batch 160 --steps 1 --lr 1e-30 --json "
        "--loss %s %s",
        value ? of_values[i] : others[i - OF_VALUES],
        value ? "--labels values.npy --eval-labels values.npy" : "");
    EXPECT_STR(o->err, "");
    json_t *all = json_loads(o->out, 0, NULL);
    double trained = number(json_object_get(all, "loss"), "first"),
           measured = number(json_object_get(all, "evaluation"), "loss");
    if (!(fabs(trained - measured) <= 1e-5 * fabs(measured)))
      tg_test_fail(__FILE__, __LINE__, "loss %d: %g, evaluated %g", i, trained, measured);
    json_decref(all);
  }
}

/* As torch's xlogy, which takes log(t) of any t but 0; the line tells that it is none. */
TG_TEST(train, kl_div_of_targets_below_0_is_no_number) {
  enum { ROWS = 160, CLASSES = 10, SIZE = ROWS * CLASSES };
  static float values[SIZE];
  make_digits();
  for (int sign = 0; sign < 2; sign++) {
    values[7] = sign ? -0.5f : 0;
    write_npy("targets.npy", TG_F32, 2, (const int64_t[]){ROWS, CLASSES}, values);
    const outcome *o =
        tegula("train mlp.onnx --data digits_x.npy --labels targets.npy --eval-data digits_x.npy "
               "--eval-labels targets.npy --batch 160 --steps 1 --lr 1e-30 --loss kl_div --json");
    json_t *all = json_loads(o->out, 0, NULL);
    EXPECT(json_is_number(json_object_get(json_object_get(all, "loss"), "first")) == !sign);
    EXPECT(json_is_number(json_object_get(json_object_get(all, "evaluation"), "loss")) == !sign);
    json_decref(all);
  }
}

TG_TEST(train, learns_the_digits_of_the_demo) {
  tg_arena arena = {0};
  make_digits();
  const outcome *o = tegula(
      DIGITS "--optimizer adam --lr 0.003 --batch 32 --shuffle 7 --steps 100 --save out.onnx "
             "--losses l.npy --csv l.csv --plot l.svg --report r.json --report r.html --save-grads g --json "
             "--eval-data digits_x.npy --eval-labels digits_y.npy");
  EXPECT_STR(o->err, "");
  ASSERT(o->status == 0);
  json_t *all = json_loads(o->out, 0, NULL), *loss = json_object_get(all, "loss");
  EXPECT_EQ(number(all, "steps"), 100);
  EXPECT_EQ(number(all, "samples"), 32);
  EXPECT_EQ(number(all, "skipped_steps"), 0);
  EXPECT(number(loss, "first") > 2.2 && number(loss, "mean_last_20") < 0.3);
  EXPECT(number(json_object_get(all, "evaluation"), "accuracy") > 0.95);
  EXPECT(number(all, "cycles") > 1000);
  EXPECT_STR(json_string_value(json_object_get(all, "cycles_from")), "systemc");
  EXPECT_STR(json_string_value(json_object_get(all, "engine")), "functional");
  EXPECT(number(all, "samples_per_second") > 0 && number(all, "peak_device_bytes") > 0);
  json_t *section = json_array_get(json_object_get(all, "sections"), 0);
  EXPECT(json_is_string(json_object_get(section, "bound_by")));
  json_decref(all);
  int64_t count;
  float *losses = read_floats(&arena, here(&arena, "l.npy"), &count);
  EXPECT_EQ(count, 100);
  EXPECT(losses && losses[0] > 2.2f && losses[99] < 0.5f);
  float *grads = read_floats(&arena, here(&arena, "g/b2.npy"), &count);
  EXPECT_EQ(count, 10);
  EXPECT(grads && fabsf(grads[0]) > 1e-6f);
  size_t size;
  EXPECT_HAS(read_bytes(&arena, here(&arena, "l.csv"), &size),
             "step,loss,learning_rate,loss_scale,skipped\n0,2.");
  EXPECT_HAS(read_bytes(&arena, here(&arena, "l.svg"), &size), "<polyline");
  EXPECT_HAS(read_bytes(&arena, here(&arena, "r.json"), &size), "\"evaluation\"");
  EXPECT_HAS(read_bytes(&arena, here(&arena, "r.html"), &size), "\"evaluation\"");
  EXPECT_EQ(tegula("run out.onnx --batch 2 --engine functional --no-cpu-reference -q")->status, 0);
  tg_arena_release(&arena);
}

TG_TEST(train, a_loss_that_is_no_number_is_warned_of_once) {
  make_digits();
  const outcome *o = tegula(DIGITS "--lr 1e30 --steps 6 --batch 16");
  const char *err = o->err;
  EXPECT_EQ(o->status, 1);
  EXPECT(strstr(err, "the training diverged") != NULL);
  EXPECT_HAS(o->out, "of 5 steps is no finite number, first that of step 1");
  const char *first = strstr(err, "warning: the loss of step");
  EXPECT(first != NULL);
  EXPECT(first && !strstr(first + 1, "warning: the loss of step"));
  o = tegula(DIGITS "--lr 0.1 --steps 2 --batch 16");
  EXPECT(!strstr(o->err, "warning") && !strstr(o->out, "not finite"));
  EXPECT_HAS(tegula(DIGITS "--lr 0.1 --steps 2 --batch 16 --json")->out, "\"not_finite\"");
}

TG_TEST(train, frozen_parameters_stay) {
  tg_arena arena = {0};
  make_digits();
  EXPECT_EQ(tegula(DIGITS "--lr 0.1 --steps 3 --frozen '^w1$' --frozen '^b1$' --save frozen.onnx -q")->status,
            0);
  static const char *const names[] = {"w1", "b1", "w2", "b2"};
  for (int i = 0; i < 4; i++) {
    int64_t count;
    float *before = read_constant(&arena, here(&arena, "mlp.onnx"), names[i], &count);
    float *after = read_constant(&arena, here(&arena, "frozen.onnx"), names[i], &count);
    ASSERT(before && after);
    EXPECT_EQ(!memcmp(before, after, (size_t)count * sizeof *before), i < 2);
  }
  tg_arena_release(&arena);
}

#define SHARED                                                                                               \
  "graph \"shared\"\ninput %x: f32[16,784]\nconst %w1: f32[784,2] = seeded(1, 0.06)\n"                       \
  "const %a: f32[2,3] = [1, 2, 3, 4, 5, 6]\nconst %b: f32[3,2] = [1, 4, 2, 5, 3, 6]\n"                       \
  "const %s: f32[2,2] = [1, 2, 2, 1]\nconst %t: f32[2,2] = [1, 2, 2, 1]\n"                                   \
  "const %w2: f32[2,10] = seeded(5, 0.3)\n%h = MatMul(%x, %w1) @0\n%k = MatMul(%h, %a) @1\n"                 \
  "%l = Tanh(%k) @2\n%m = MatMul(%l, %b) @3\n%n = MatMul(%m, %s) @4\n%o = Tanh(%n) @5\n"                     \
  "%p = MatMul(%o, %t) @6\n%y = MatMul(%p, %w2) @7\noutput \"y\" %y: f32\n"

/* Transposed copies are one parameter; matrices that are their own transpose are not taken for such. */
TG_TEST(train, transposes_of_a_shared_weight_stay_its_transposes) {
  tg_arena arena = {0};
  float *values[4];
  write_network(&arena, "shared.onnx", SHARED);
  EXPECT(losses_of(&arena, "shared.onnx --data digits_x.npy --labels digits_y.npy --save shared_t.onnx"));
  static const char *const names[] = {"a", "b", "s", "t"};
  for (int i = 0; i < 4; i++) {
    int64_t count;
    ASSERT(values[i] = read_constant(&arena, here(&arena, "shared_t.onnx"), names[i], &count));
  }
  EXPECT(values[0][1] != 2);
  for (int i = 0; i < 6; i++) EXPECT_EQ(values[0][i], values[1][i % 3 * 2 + i / 3]);
  EXPECT(memcmp(values[2], values[3], 4 * sizeof(float)) != 0);
  tg_arena_release(&arena);
}

static void expect_same(const char *a, const char *b, bool same) {
  tg_arena arena = {0};
  size_t size_a = 0, size_b = 0;
  void *x = read_bytes(&arena, here(&arena, a), &size_a), *y = read_bytes(&arena, here(&arena, b), &size_b);
  bool equal = x && y && size_a == size_b && !memcmp(x, y, size_a);
  if (!x || !y || equal != same)
    tg_test_fail(__FILE__, __LINE__, "%s and %s: %s", a, b, equal ? "equal" : "differ");
  tg_arena_release(&arena);
}

/* One step as a program: all engines of the build, every bit and cycle. The trained bits do not depend on the
 * engine either. */
TG_TEST(train, engines_agree) {
  make_digits();
  EXPECT_EQ(tegula(DIGITS "--arch tiny --steps 1 --batch 4 -o step.tgb -q")->status, 0);
  const outcome *o = tegula("verify step.tgb --engines available");
  EXPECT_STR(o->err, "");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(tegula("inspect step.tgb")->out, "state");
  EXPECT_EQ(tegula(DIGITS "--arch tiny --steps 3 --batch 4 --lr 0.1 --save f.onnx -q")->status, 0);
  EXPECT_EQ(
      tegula(DIGITS "--arch tiny --steps 3 --batch 4 --lr 0.1 --engine systemc --save s.onnx -q")->status, 0);
  expect_same("f.onnx", "s.onnx", true);
}

TG_TEST(train, checkpoints_hold_under_their_options_only) {
  make_digits();
  EXPECT_EQ(shell("rm -rf ck"), 0);
  EXPECT_EQ(tegula(DIGITS "--steps 4 --batch 16 --checkpoint ck -q")->status, 0);
  static const struct {
    const char *more, *says;
  } cases[] = {
      {"--lr 0.5", "--lr 0.01"},
      {"--batch 8", "--batch"},
      {"--batch 16 --optimizer adam", "--optimizer sgd"},
      {"--batch 16 --graphamp-preset mp1", "--graphamp-preset"},
      {"--batch 16 --steps 3", "--steps 3"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const outcome *o = tegula(DIGITS "--steps 6 --checkpoint ck --resume %s", cases[i].more);
    if (strstr(cases[i].more, "--steps")) o = tegula(DIGITS "--checkpoint ck --resume %s", cases[i].more);
    EXPECT_EQ(o->status, 2);
    EXPECT_HAS(o->err, cases[i].says);
  }
  EXPECT_EQ(tegula(DIGITS "--steps 9 --batch 16 --save whole.onnx -q")->status, 0);
  EXPECT_EQ(tegula(DIGITS "--steps 9 --batch 16 --checkpoint ck --resume --save on.onnx -q")->status, 0);
  expect_same("whole.onnx", "on.onnx", true);
  EXPECT_EQ(shell("printf x >> ck/checkpoint"), 0);
  EXPECT_HAS(tegula(DIGITS "--steps 9 --batch 16 --checkpoint ck --resume")->err, "damaged");
}

/* Pixels so large that scaled gradients overflow: the steps are skipped whole. */
TG_TEST(train, overflowing_steps_are_skipped) {
  tg_arena arena = {0};
  int64_t count;
  make_digits();
  float *pixels = read_floats(&arena, here(&arena, "digits_x.npy"), &count);
  for (int64_t i = 0; pixels && i < count; i++) pixels[i] *= 1e20f;
  write_npy("large_x.npy", TG_F32, 2, (int64_t[]){count / 784, 784}, pixels);
  const outcome *o = tegula("train mlp.onnx --data large_x.npy --labels digits_y.npy --optimizer adam "
                            "--loss-scale dynamic --steps 3 --save same.onnx --csv skipped.csv --json");
  EXPECT_STR(o->err, "");
  json_t *all = json_loads(o->out, 0, NULL);
  EXPECT_EQ(number(all, "skipped_steps"), 0); /* 1e20 times 65536 is no infinity yet */
  json_decref(all);
  o = tegula("train mlp.onnx --data large_x.npy --labels digits_y.npy --optimizer adam "
             "--loss-scale 1e25 --steps 3 --save same.onnx --csv skipped.csv --json");
  all = json_loads(o->out, 0, NULL);
  EXPECT_EQ(number(all, "skipped_steps"), 3);
  json_decref(all);
  float *before = read_constant(&arena, here(&arena, "mlp.onnx"), "w2", &count),
        *after = read_constant(&arena, here(&arena, "same.onnx"), "w2", &count);
  EXPECT(before && after && !memcmp(before, after, (size_t)count * sizeof *before));
  size_t size;
  EXPECT_HAS(read_bytes(&arena, here(&arena, "skipped.csv"), &size), ",1\n2,");
  tg_arena_release(&arena);
}

/* FP16 products with the scale that PyTorch begins with: at most a few steps overflow. */
TG_TEST(train, fp16_learns_under_a_loss_scale) {
  make_digits();
  const outcome *o = tegula(DIGITS "--amp autocast --amp-dtype fp16 --loss-scale dynamic --lr 0.1 --steps 60 "
                                   "--shuffle 2 --json");
  EXPECT_STR(o->err, "");
  ASSERT(o->status == 0);
  json_t *all = json_loads(o->out, 0, NULL);
  EXPECT(number(all, "loss_scale") <= 65536 && number(all, "loss_scale") >= 256);
  EXPECT(number(json_object_get(all, "loss"), "mean_last_20") < 1);
  json_decref(all);
}

static double relative_of(const json_t *results, const char *tensor) {
  const json_t *row;
  size_t i;
  json_array_foreach(results, i, row) {
    if (!strcmp(json_string_value(json_object_get(row, "tensor")), tensor)) {
      EXPECT(json_is_true(json_object_get(row, "backward")));
      return number(row, "relative");
    }
  }
  return -1;
}

/* What is told of a gradient's error is how far the array's gradients are apart under the two policies. */
TG_TEST(train, numerics_of_a_step_are_those_of_its_gradients) {
  static const char *const weights[] = {"w1", "w2"};
  tg_arena arena = {0};
  make_digits();
  EXPECT_EQ(tegula(DIGITS "--batch 8 --steps 1 --lr 0 --save-grads exact -q")->status, 0);
  const outcome *o = tegula(DIGITS "--batch 8 --steps 1 --lr 0 --graphamp-preset mp1 "
                                   "--save-grads narrow --numerics --bound 1e-4 --report n.json");
  EXPECT_STR(o->err, "");
  EXPECT_HAS(o->out, "errors against FP32 by operator");
  EXPECT_HAS(o->out, "first beyond 0.0001: ");
  json_t *report = json_load_file(here(&arena, "n.json"), 0, NULL),
         *results = json_object_get(json_object_get(report, "numerics"), "results");
  for (int w = 0; w < 2; w++) {
    int64_t count = 0, same = 0;
    const float *r = read_floats(&arena, here(&arena, tg_arena_printf(&arena, "exact/%s.npy", weights[w])),
                                 &count),
                *y = read_floats(&arena, here(&arena, tg_arena_printf(&arena, "narrow/%s.npy", weights[w])),
                                 &same);
    ASSERT(r && y && count == same);
    double error = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
      error += pow((double)y[i] - (double)r[i], 2);
      size += pow((double)r[i], 2);
    }
    double told = relative_of(results, tg_arena_printf(&arena, "%s.grad", weights[w])),
           is = sqrt(error / size);
    EXPECT(is > 1e-4);
    EXPECT(fabs(told - is) < 0.02 * is);
  }
  /* of several policies, the rows of each are those of it alone */
  EXPECT_EQ(tegula(DIGITS "--batch 8 --steps 1 --lr 0 -q --policy mp1")->status, 2);
  EXPECT_EQ(
      tegula(DIGITS "--batch 8 --steps 1 --lr 0 -q --numerics --policy mp4 --policy mp1 --report p.json")
          ->status,
      0);
  json_t *both = json_load_file(here(&arena, "p.json"), 0, NULL), *row, *mine = json_array();
  size_t k;
  json_array_foreach(json_object_get(json_object_get(both, "numerics"), "results"), k, row) {
    bool chosen = !strcmp(json_string_value(json_object_get(row, "policy")), "mp1");
    json_object_del(row, "policy");
    if (chosen) json_array_append(mine, row);
  }
  EXPECT(json_equal(mine, results) && k > json_array_size(mine));
  json_decref(mine);
  json_decref(both);
  json_decref(report);
  tg_arena_release(&arena);
}

/* torch.cuda.amp.GradScaler(8, 4, 0.25, 2): scales of the steps by its documented rule. */
TG_TEST(train, a_loss_scale_follows_its_options) {
  make_digits();
  tg_arena arena = {0};
  size_t size;
  const outcome *o =
      tegula(DIGITS "--init-scale 8 --growth-factor 4 --growth-interval 2 --steps 6 --csv grown.csv -q");
  EXPECT_EQ(o->status, 0);
  static const int wanted[] = {8, 8, 32, 32, 128, 128};
  const char *line = read_bytes(&arena, here(&arena, "grown.csv"), &size);
  for (int i = 0; i < 6 && line; i++) {
    double scale = 0;
    line = strchr(line, '\n');
    if (line) EXPECT(sscanf(++line, "%*d,%*[^,],%*[^,],%lf", &scale) == 1 && scale == wanted[i]);
  }
  o = tegula(DIGITS "--amp autocast --amp-dtype fp16 --init-scale 1e30 --backoff-factor 0.25 --steps 2 "
                    "--json"); /* gradients overflow */
  EXPECT_EQ(o->status, 1);
  json_t *all = json_loads(o->out, 0, NULL);
  double scale = number(all, "loss_scale");
  EXPECT(scale > 0.99e30 / 16 && scale < 1.01e30 / 16);
  json_decref(all);
  EXPECT_HAS(tegula(DIGITS "--loss-scale 4 --growth-factor 3")->err, "--growth-factor is of a dynamic");
  EXPECT_HAS(tegula(DIGITS "--backoff-factor 1")->err, "below 1");
  tg_arena_release(&arena);
}

TG_TEST(train, every_policy_learns) {
  static const char *const policies[] = {
      "--graphamp-preset mp1",
      "--graphamp-preset mp2",
      "--graphamp-preset mp3",
      "--graphamp-preset mp4",
      "--graphamp-preset mp4 --param-rounding sr",
      "--graphamp-preset mp4 --fp32-params",
      "--graphamp-preset default --bf16-optimizer",
      "--amp hmp",
      "--amp autocast",
      "--amp autocast --amp-dtype fp16 --loss-scale dynamic",
      "--amp raf",
      "--matmul-precision high",
      "--graphamp-preset mp1 --weight-grad-reduce bf16sr",
  };
  make_digits();
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    const outcome *o =
        tegula(DIGITS "%s --optimizer momentum --lr 0.05 --shuffle 1 --steps 40 --json", policies[i]);
    json_t *all = json_loads(o->out, 0, NULL);
    double last = number(json_object_get(all, "loss"), "mean_last_20");
    if (o->status || !(last < 1))
      tg_test_fail(__FILE__, __LINE__, "%s: exit %d, loss %g, says %s", policies[i], o->status, last, o->err);
    json_decref(all);
  }
}
