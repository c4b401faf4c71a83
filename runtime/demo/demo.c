/* The demonstration: a digit classifier with real weights reads real digits on the array.
 *
 *   demo FOLDER [OUT]     FOLDER holds digits.onnx, digits.npy, labels.npy; pages go to OUT, which is made
 *
 * Prints predictions beside labels, the accuracy in FP32 and in mp1, the agreement of all three engines on
 * `tiny`, and the throughput report against the host's CPU; writes that report as a page, and a picture of accuracy
 * against throughput over precision policies. */
#include "frontend/base/output_file.h"
#include "runtime/npy.h"
#include "runtime/numerics/numerics.h"
#include "runtime/report/report.h"
#include "runtime/session/verify.h"
#include "runtime/sweep/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 20 };

typedef struct demo {
  const char *folder, *out; /* out: NULL: nothing is written */
  tg_arena arena;
  tg_npy digits, labels; /* u8 [N,1,28,28], any integers [N] */
  float *pixels;
  tg_diag diag;
} demo;

static const char *file(demo *d, const char *name) {
  return tg_arena_printf(&d->arena, "%s/%s", d->folder, name);
}

static tg_status read_digits(demo *d) {
  tg_status status = tg_npy_read(&d->arena, file(d, "digits.npy"), &d->digits, &d->diag);
  if (!status) status = tg_npy_read(&d->arena, file(d, "labels.npy"), &d->labels, &d->diag);
  if (status) return status;
  if (d->digits.rank != 4 || d->digits.dims[0] != d->labels.count)
    return tg_fail(&d->diag, TG_INVALID, "digits and labels do not match");
  d->pixels = TG_NEW_ARRAY(&d->arena, float, (size_t)d->digits.count);
  for (int64_t i = 0; i < d->digits.count; i++)
    d->pixels[i] = tg_load_f32(d->digits.data, d->digits.dtype, (size_t)i);
  return TG_OK;
}

/* A session compiled with the first `batch` digits as input. */
static tg_status open_with(demo *d, const tg_compile_options *options, int64_t batch, tg_session **out) {
  tg_session *session = NULL;
  tg_status status = tg_session_load(file(d, "digits.onnx"), &session, &d->diag);
  if (!status) status = tg_session_bind_batch(session, batch, &d->diag);
  if (!status) status = tg_session_compile(session, options, &d->diag);
  int64_t dims[4];
  memcpy(dims, d->digits.dims, sizeof dims);
  dims[0] = batch;
  if (!status)
    status = tg_session_set_input(session, tg_session_input(session, 0)->name, 4, dims, d->pixels, &d->diag);
  if (status)
    tg_session_close(session);
  else
    *out = session;
  return status;
}

static tg_status open_session(demo *d, const char *arch, const char *preset, int64_t batch,
                              tg_session **out) {
  tg_compile_options options = {.arch = arch, .preset = preset};
  return open_with(d, &options, batch, out);
}

static int best_class(const float *scores, int64_t classes) {
  int best = 0;
  for (int c = 1; c < classes; c++)
    if (scores[c] > scores[best]) best = c;
  return best;
}

/* Prints the first predictions if `show`; returns how many are right. */
static int64_t count_right(const demo *d, const tg_session *session, bool show) {
  const tg_tensor_info *out = tg_session_output(session, 0);
  const float *scores = tg_session_output_data(session, 0);
  int64_t classes = out->dims[1], right = 0;
  int predicted[SHOWN] = {0};
  for (int64_t i = 0; i < d->labels.count; i++) {
    int best = best_class(scores + i * classes, classes);
    if (i < SHOWN) predicted[i] = best;
    right += best == tg_load_i64(d->labels.data, d->labels.dtype, (size_t)i);
  }
  if (!show) return right;
  printf("  label     ");
  for (int i = 0; i < SHOWN; i++)
    printf(" %lld", (long long)tg_load_i64(d->labels.data, d->labels.dtype, (size_t)i));
  printf("\n  predicted ");
  for (int i = 0; i < SHOWN; i++) printf(" %d", predicted[i]);
  printf("\n");
  return right;
}

static void draw_digit(const demo *d, int index) {
  static const char shades[] = " .:+#@";
  const float *pixels = d->pixels + (size_t)index * 784;
  for (int y = 2; y < 26; y += 2) {
    printf("    ");
    for (int x = 0; x < 28; x++)
      putchar(shades[(int)((pixels[y * 28 + x] + pixels[(y + 1) * 28 + x]) / 2 * 5 / 255.0f + 0.5f)]);
    putchar('\n');
  }
}

/* Of a run that is watched, which takes longer, and with errors by operator. */
static tg_status write_page(demo *d, tg_session *session) {
  tg_session_run_options run = {.engine = "systemc", .profile = true};
  const char *path = tg_arena_printf(&d->arena, "%s/report.html", d->out);
  tg_status status = tg_session_run(session, &run, &d->diag);
  if (!status) status = tg_session_measure_cpu(session, true, (int)sysconf(_SC_NPROCESSORS_ONLN), &d->diag);
  if (!status) status = tg_numerics(session, TG_NUMERICS_BOUND, &session->numerics, &d->diag);
  return status ? status : tg_session_write_report(session, path, &d->diag);
}

/* All digits on `edge`, cycle by cycle with values, in one precision. */
static tg_status classify(demo *d, const char *preset, bool report) {
  tg_session *session;
  tg_session_run_options run = {.engine = "systemc"};
  tg_status status = open_session(d, "edge", preset, d->digits.dims[0], &session);
  if (status) return status;
  status = tg_session_run(session, &run, &d->diag);
  if (!status) {
    int64_t right = count_right(d, session, !report);
    printf("  accuracy in %s: %lld of %lld = %.1f %%\n",
           strcmp(preset, "mp0") ? "mp1 (BF16 products)" : "FP32", (long long)right,
           (long long)d->labels.count, 100.0 * (double)right / (double)d->labels.count);
    if (report) status = tg_session_measure_cpu(session, true, (int)sysconf(_SC_NPROCESSORS_ONLN), &d->diag);
    if (report && !status) {
      json_t *json = tg_report(session);
      printf("\nThroughput of %lld digits on `edge`, mp1, against this CPU\n", (long long)d->labels.count);
      tg_report_print(json, true, stdout);
      json_decref(json);
    }
    if (report && d->out && !status) status = write_page(d, session);
  }
  tg_session_close(session);
  return status;
}

/* One digit on `tiny` on all engines that this build has: RTL may be left out of it. */
static tg_status agree(demo *d, const char *preset) {
  tg_session *session;
  json_t *result = NULL;
  tg_verify_options options = {.engines = "available"};
  tg_status status = open_session(d, "tiny", preset, 1, &session);
  if (status) return status;
  status = tg_verify(session, &options, &result, &d->diag);
  if (!status) {
    json_t *engines = json_object_get(result, "engines"),
           *rtl = json_object_get(json_object_get(engines, "rtl"), "cycles");
    long long cycles = json_integer_value(json_object_get(json_object_get(engines, "systemc"), "cycles"));
    if (rtl)
      printf("  %s: functional, SystemC and RTL give the same bits; SystemC %lld cycles, RTL %lld cycles\n",
             preset, cycles, (long long)json_integer_value(rtl));
    else
      printf("  %s: functional and SystemC give the same bits; %lld cycles; this build has no RTL\n", preset,
             cycles);
  }
  json_decref(result);
  tg_session_close(session);
  return status;
}

/* The first digits under some policies, as a picture. */
static tg_status draw_sweep(demo *d) {
  enum { DIGITS = 40 };
  static const char *const names[] = {"mp0", "high", "medium", "mp1", "mp4", "autocast-cuda-fp16"};
  json_t *rows = json_array();
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < sizeof names / sizeof *names; i++) {
    const tg_sweep_policy *policy = tg_sweep_policies;
    tg_session *session = NULL;
    while (strcmp(policy->name, names[i]) != 0) policy++;
    status = open_with(d, &policy->precision, DIGITS, &session);
    if (!status) status = tg_session_run(session, NULL, &d->diag);
    if (!status) status = tg_session_measure_cpu(session, false, 1, &d->diag);
    if (!status) json_array_append_new(rows, tg_sweep_row(session, policy->name, "fp32"));
    tg_session_close(session);
  }
  if (!status) {
    tg_sweep_finish(rows, json_array_get(rows, 0));
    tg_output_file picture;
    status = tg_output_open(tg_arena_printf(&d->arena, "%s/sweep.svg", d->out), &picture, &d->diag);
    if (!status) tg_sweep_write_svg(rows, "handwritten digits on `edge`", false, picture.stream);
    if (!status) status = tg_output_commit(&picture, &d->diag);
  }
  json_decref(rows);
  return status;
}

static tg_status write_pages(demo *d) {
  tg_status status = draw_sweep(d);
  if (status) return status;
  printf("\nTo look at\n"
         "  %s/report.html   this report as a page: roofline, timeline, tiles, errors by operator\n"
         "  %s/sweep.svg     throughput against error of six precision policies\n"
         "To try next\n"
         "  build/tegula run %s/digits.onnx --batch 160 --advise\n"
         "  build/tegula numerics %s/digits.onnx --batch 16 --graphamp-preset mp4\n"
         "  build/tegula sweep %s/digits.onnx --batch 16 --arch tiny --arch edge --plot sweep.svg\n",
         d->out, d->out, d->folder, d->folder, d->folder);
  return TG_OK;
}

static tg_status run_demo(demo *d) {
  tg_status status = read_digits(d);
  if (!status && d->out && mkdir(d->out, 0777) && errno != EEXIST)
    status = tg_fail(&d->diag, TG_INVALID, "%s: cannot be made: %s", d->out, strerror(errno));
  if (status) return status;
  printf("A convolutional digit classifier, trained weights, %lld handwritten digits it has not seen. The "
         "first:\n",
         (long long)d->labels.count);
  draw_digit(d, 0);
  printf("\nOn the array `edge` (4 x 4 tiles, SystemC engine with values)\n");
  status = classify(d, "mp0", false);
  if (!status)
    printf("\nOne digit on the array `tiny` (2 x 2 tiles), all engines of this build, every instruction's "
           "start and "
           "end compared\n");
  if (!status) status = agree(d, "mp0");
  if (!status) status = agree(d, "mp1");
  if (!status) printf("\nOn the array `edge` once more\n");
  if (!status) status = classify(d, "mp1", true);
  if (!status && d->out) status = write_pages(d);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: demo FOLDER [OUT]\n");
    return TG_INVALID;
  }
  demo d = {.folder = argv[1], .out = argv[2]};
  tg_status status = run_demo(&d);
  if (status) fprintf(stderr, "demo: %s\n", d.diag.message);
  tg_arena_release(&d.arena);
  return status;
}
