/* Sweeps a model over precision policies, and compares the fastest of those asked for with FP32, output by output and
 * section by section. The sweep shows how far it is, and ends after a minute.
 *
 *   cc choose.c $(pkg-config --cflags --libs tegula) -o choose && ./choose model.onnx */
#include <runtime/tegula.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* `what` names a row as it begins, and is NULL before each section of its run. */
static bool show(void *user, size_t row, size_t count, const char *what) {
  if (what) fprintf(stderr, "row %zu of %zu: %s\n", row + 1, count, what);
  return time(NULL) < *(const time_t *)user;
}

static tg_status run(const char *path, const char *preset, tg_session **out_session, tg_diag *diag) {
  tg_compile_options options = {.size = sizeof options, .arch = "tiny", .preset = preset, .seed = 1};
  tg_session_run_options engine = {.size = sizeof engine, .profile = true};
  tg_status status = tg_session_load(path, out_session, diag);
  if (!status) status = tg_session_compile(*out_session, &options, diag);
  if (!status) tg_session_random_inputs(*out_session, 1);
  return status ? status : tg_session_run(*out_session, &engine, diag);
}

int main(int argc, char **argv) {
  static const char *const policies[] = {"mp0", "mp1"};
  time_t end = time(NULL) + 60;
  tg_compile_options array = {.size = sizeof array, .arch = "tiny", .seed = 1};
  tg_session_sweep_options sweep = {.size = sizeof sweep,
                                    .compile = &array,
                                    .policies = policies,
                                    .policy_count = 2,
                                    .progress = show,
                                    .progress_user = &end};
  tg_session *fp32 = NULL, *mixed = NULL;
  tg_diag diag = {""};
  char *table = NULL, *difference = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.onnx\n", argv[0]);
    return 2;
  }
  tg_status status = run(argv[1], "mp0", &fp32, &diag);
  if (!status) status = tg_session_sweep(fp32, &sweep, &table, &diag);
  if (!status) status = run(argv[1], "mp1", &mixed, &diag);
  if (!status) status = tg_session_compare(fp32, mixed, &difference, &diag);
  if (table) puts(table);
  if (difference) puts(difference);
  if (status) fprintf(stderr, "%s\n", diag.message);
  free(table);
  free(difference);
  tg_session_close(fp32);
  tg_session_close(mixed);
  return (int)status;
}
