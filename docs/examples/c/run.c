/* Compiles a model for the array `edge` under two policies, runs both on the cycle-exact engine, and says what
 * narrow products gain and cost.
 *
 *   cc run.c $(pkg-config --cflags --libs tegula) -o run && ./run model.onnx */
#include <runtime/tegula.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called before each section; false would end the run. */
static bool show(void *user, uint32_t section, uint32_t count) {
  if (section == 0) fprintf(stderr, "%s: %u sections\n", (const char *)user, count);
  return true;
}

/* The session is the caller's, to close. NULL: `diag` says why. */
static tg_session *run(const char *path, const char *preset, tg_diag *diag) {
  tg_compile_options options = {.size = sizeof options, .arch = "edge", .preset = preset, .seed = 1};
  tg_session_run_options engine = {
      .size = sizeof engine, .engine = "systemc", .progress = show, .progress_user = (void *)preset};
  tg_session *session = NULL;
  if (tg_session_load(path, &session, diag)) return NULL;
  if (tg_session_compile(session, &options, diag)) {
    tg_session_close(session);
    return NULL;
  }
  tg_session_random_inputs(session, 1);
  if (tg_session_run(session, &engine, diag)) {
    tg_session_close(session);
    return NULL;
  }
  return session;
}

int main(int argc, char **argv) {
  tg_diag diag = {""};
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.onnx\n", argv[0]);
    return 2;
  }
  tg_session *fp32 = run(argv[1], "mp0", &diag), *mixed = fp32 ? run(argv[1], "mp1", &diag) : NULL;
  if (!mixed) {
    fprintf(stderr, "%s\n", diag.message);
    tg_session_close(fp32);
    return 2;
  }
  const tg_tensor_info *output = tg_session_output(fp32, 0);
  const float *exact = tg_session_output_data(fp32, 0), *rounded = tg_session_output_data(mixed, 0);
  double worst = 0;
  for (int64_t i = 0; i < output->count; i++)
    worst = fmax(worst, fabs((double)exact[i] - (double)rounded[i]));
  printf("%s: %llu cycles in FP32, %llu with BF16 products; \"%s\" differs by at most %.3g\n", argv[1],
         (unsigned long long)tg_session_cycles(fp32), (unsigned long long)tg_session_cycles(mixed),
         output->name, worst);
  tg_session_close(fp32);
  tg_session_close(mixed);
  return 0;
}
