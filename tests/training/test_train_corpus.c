/* `tegula train` on the array against runs recorded from PyTorch in FP32: losses of every step, gradients of
 * the first, parameters after ten steps and after all, accuracy on the rows that were not trained on.
 *
 * Tolerances: both sides round each operation to FP32, in other orders. A dot product of K terms is off by
 * some K^(1/2) 2^-24 of its terms' sum, so a gradient, a chain of a few of them, by some 1e-6 of its tensor's
 * largest element: 2e-5 of the value plus 2e-6 of the largest. Ten steps add errors of ten: 1e-4 and 1e-5.
 * Over hundreds of steps a difference grows or shrinks with the curvature of the loss, and ReLU flips where a
 * sum is about zero: 1e-3 of the largest, and losses within 1e-3 of their mean. Elements that Adam moves by
 * lr m / sqrt(v) of gradients near zero may differ by the whole step: its parameters get ten times that. */
#include "tests/harness.h"
#include "tests/training/support.h"

#include <math.h>
#include <stdlib.h>

typedef struct run_case {
  const char *folder, *options;
  const char *parameters[6];
  int64_t trained_rows;
  double adam, accuracy;
} run_case;

static const run_case cases[] = {
    {"iris_softmax_sgd", "--lr 0.1", {"weight", "bias"}, 120, 1, 0.9},
    {"digits_mlp_sgd", "--lr 0.1", {"0.weight", "0.bias", "2.weight", "2.bias"}, 1437, 1, 0.9222222},
    {"digits_cnn_sgd",
     "--lr 0.1",
     {"c1.weight", "c1.bias", "c2.weight", "c2.bias", "fc.weight", "fc.bias"},
     1437,
     1,
     0.9305556},
    {"bcancer_mlp_adam",
     "--lr 0.002 --optimizer adam --loss bce_with_logits",
     {"0.weight", "0.bias", "2.weight", "2.bias"},
     455,
     10,
     0.9649123},
};

static void compare(const char *what, const char *name, const float *got, const float *want, int64_t count,
                    double relative, double absolute) {
  double largest = 0, worst = 0;
  if (!got || !want) return;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)want[i]));
  for (int64_t i = 0; i < count; i++)
    worst = fmax(worst, fabs((double)got[i] - (double)want[i]) /
                            (relative * fabs((double)want[i]) + absolute * largest));
  if (!(worst <= 1))
    tg_test_fail(__FILE__, __LINE__, "%s of %s is off by %.3g of what is allowed", what, name, worst);
}

static const outcome *train(tg_arena *arena, const run_case *c, const char *more) {
  return tegula("train %s --data %s --labels %s --order %s %s %s", recorded(arena, c->folder, "model.onnx"),
                recorded(arena, c->folder, "x.npy"), recorded(arena, c->folder, "y.npy"),
                recorded(arena, c->folder, "order.npy"), c->options, more);
}

static void compare_arrays(tg_arena *arena, const run_case *c, const char *what, const char *folder,
                           bool of_model, double relative, double absolute) {
  for (int p = 0; p < 6 && c->parameters[p]; p++) {
    int64_t count, wanted;
    const char *file = tg_arena_printf(arena, "%s/%s.npy", folder, c->parameters[p]);
    float *want = read_floats(arena, recorded(arena, c->folder, file), &wanted);
    float *got = of_model ? read_constant(arena, here(arena, "out.onnx"), c->parameters[p], &count)
                          : read_floats(arena, here(arena, file), &count);
    EXPECT_EQ(count, wanted);
    if (count == wanted) compare(what, c->parameters[p], got, want, count, relative, absolute);
  }
}

/* The rows beyond those that were trained on. */
static void write_rest(tg_arena *arena, const run_case *c) {
  int64_t values, labels;
  float *x = read_floats(arena, recorded(arena, c->folder, "x.npy"), &values);
  float *y = read_floats(arena, recorded(arena, c->folder, "y.npy"), &labels);
  if (!x || !y) return;
  int64_t width = values / labels, rest = labels - c->trained_rows;
  write_npy("rest_x.npy", TG_F32, 2, (int64_t[]){rest, width}, x + c->trained_rows * width);
  write_npy("rest_y.npy", TG_F32, 1, &rest, y + c->trained_rows);
}

static void check_accuracy(const char *report, double wanted) {
  json_t *all = json_loads(report, 0, NULL);
  json_t *accuracy = json_object_get(json_object_get(all, "evaluation"), "accuracy");
  EXPECT(json_is_real(accuracy) && fabs(json_real_value(accuracy) - wanted) <= 0.01);
  json_decref(all);
}

static void check_case(const void *row) {
  const run_case *c = row;
  tg_arena arena = {0};
  const outcome *o = train(&arena, c, "--steps 10 --save out.onnx --save-grads grads0 -q");
  EXPECT_STR(o->err, "");
  ASSERT(o->status == 0);
  compare_arrays(&arena, c, "gradient", "grads0", false, 2e-5, 2e-6);
  compare_arrays(&arena, c, "value after ten steps", "after10", true, 1e-4 * c->adam, 1e-5 * c->adam);

  write_rest(&arena, c);
  o = train(&arena, c,
            "--save out.onnx --losses losses.npy --eval-data rest_x.npy --eval-labels rest_y.npy --json");
  EXPECT_STR(o->err, "");
  ASSERT(o->status == 0);
  compare_arrays(&arena, c, "final value", "final", true, 1e-3 * c->adam, 1e-3 * c->adam);
  int64_t steps, wanted;
  float *losses = read_floats(&arena, here(&arena, "losses.npy"), &steps);
  float *want = read_floats(&arena, recorded(&arena, c->folder, "losses.npy"), &wanted);
  EXPECT_EQ(steps, wanted);
  if (steps == wanted) compare("loss", "every step", losses, want, steps, 1e-3, 1e-3);
  check_accuracy(o->out, c->accuracy);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("train_corpus", cases[i].folder, __FILE__, __LINE__, check_case, &cases[i]);
}

/* MNIST's images are not recorded with its run: without them, only what does not depend on them. */
TG_TEST(train_corpus, mnist_model_trains) {
  tg_arena arena = {0};
  const char *model = recorded(&arena, "mnist_mlp_sgd", "model.onnx");
  make_digits();
  const outcome *o = tegula(
      "train %s --data digits_x.npy --labels digits_y.npy --lr 0.1 --batch 32 --shuffle 1 --steps 120 --json",
      model);
  EXPECT_STR(o->err, "");
  ASSERT(o->status == 0);
  json_t *all = json_loads(o->out, 0, NULL), *loss = json_object_get(all, "loss");
  EXPECT(json_number_value(json_object_get(loss, "first")) > 2);
  EXPECT(json_number_value(json_object_get(loss, "mean_last_20")) < 0.5);
  json_decref(all);
  tg_arena_release(&arena);
}
