/* Losses of every step against those recorded from PyTorch (record.py), on our own data: every optimizer,
 * clipping and schedules on one small network; networks of several kinds in the form in which PyTorch exports
 * them.
 *
 * Both sides are FP32 and differ in the order of sums only: a loss, the mean of 16 logarithms of sums of ten,
 * is off by some 1e-7 of about 2; parameters drift apart by as much a step. 24 steps stay below 1e-5.
 *
 * A wrong program agrees with itself on all engines, and where a product has one block in one pass few are
 * wrong: models whose products have many (WRITTEN) are held to PyTorch's FP32 losses under policies, too,
 * with a tolerance relative to the loss. */
#include "tests/harness.h"
#include "tests/training/support.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 24 };

static const struct recording {
  const char *name, *options;
  bool exported;       /* the model is a file of models/ */
  const char *written; /* the model that is written in models/, or NULL */
  float tolerance;     /* of written ones, relative; otherwise 1e-5 */
  float losses[STEPS]; /* 0 behind the last */
} recordings[] = {
#define RECORDED(name, options, ...)                                                                         \
  {#name, "--data digits_x.npy --labels digits_y.npy --batch 16 " options, false, NULL, 0, {__VA_ARGS__}},
#define EXPORTED(name, options, ...) {#name, options, true, NULL, 0, {__VA_ARGS__}},
#define WRITTEN(name, model, tolerance, options, ...)                                                        \
  {#name, options, false, #model, tolerance, {__VA_ARGS__}},
#include "tests/training/recorded.def"
#undef RECORDED
#undef EXPORTED
#undef WRITTEN
};

static const char *model_of(tg_arena *arena, const struct recording *r) {
  if (r->written) return make_model(arena, r->written);
  if (!r->exported) return "mlp.onnx";
  char *root = realpath("tests/training/models", NULL);
  const char *path = tg_arena_printf(arena, "%s/%s.onnx", root ? root : ".", r->name);
  free(root);
  return path;
}

static void check_losses(const struct recording *r, const float *losses, int steps) {
  for (int i = 0; i < steps; i++)
    if (!(fabsf(losses[i] - r->losses[i]) <= (r->written ? r->tolerance * r->losses[i] : 1e-5f))) {
      tg_test_fail(__FILE__, __LINE__, "loss of step %d is %.9g, PyTorch's %.9g", i, (double)losses[i],
                   (double)r->losses[i]);
      return;
    }
}

static void check_recording(const void *row) {
  const struct recording *r = row;
  tg_arena arena = {0};
  int64_t count;
  int steps = 0;
  while (steps < STEPS && r->losses[steps] != 0) steps++;
  make_digits();
  make_table();
  make_image();
  make_words();
  const outcome *o =
      tegula("train %s %s --steps %d --losses recorded.npy -q", model_of(&arena, r), r->options, steps);
  EXPECT_STR(o->err, "");
  ASSERT(o->status == 0);
  float *losses = read_floats(&arena, here(&arena, "recorded.npy"), &count);
  EXPECT_EQ(count, steps);
  if (losses && count == steps) check_losses(r, losses, steps);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_recordings(void) {
  for (size_t i = 0; i < sizeof recordings / sizeof *recordings; i++)
    tg_test_register_row("train_recorded", recordings[i].name, __FILE__, __LINE__, check_recording,
                         &recordings[i]);
}
