/* The losses of a run as .npy, CSV, and a curve in SVG. */
#include "frontend/base/math.h"
#include "frontend/base/output_file.h"
#include "runtime/training/run.h"

#include <inttypes.h>
#include <math.h>

enum {
  WIDTH = 640, /* with letters of 15 pixels, as in runtime/sweep/frame.c */
  HEIGHT = 400,
  LEFT = 90,
  RIGHT = 30,
  TOP = 50,
  BOTTOM = 56,
  TICKS = 5,
  MOST_POINTS = 2000
};

tg_status tg_run_write_losses(const tg_training_run *run, const char *path, tg_diag *diag) {
  tg_arena arena = {0};
  float *losses = TG_NEW_ARRAY(&arena, float, (size_t)run->done + 1);
  for (int64_t i = 0; i < run->done; i++) losses[i] = run->records[i].loss;
  tg_status status = tg_npy_write(path, TG_F32, 1, &run->done, losses, diag);
  tg_arena_release(&arena);
  return status;
}

tg_status tg_run_write_csv(const tg_training_run *run, const char *path, tg_diag *diag) {
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag);
  if (status) return status;
  fputs("step,loss,learning_rate,loss_scale,skipped\n", file.stream);
  for (int64_t i = 0; i < run->done; i++) {
    const tg_step_record *r = &run->records[i];
    fprintf(file.stream, "%" PRId64 ",%.9g,%.9g,%.9g,%u\n", i, (double)r->loss,
            tg_schedule_lr(&run->schedule, (uint64_t)i), (double)r->scale, r->skipped);
  }
  return tg_output_commit(&file, diag);
}

typedef struct plot {
  FILE *out;
  const tg_training_run *run;
  double low, high; /* of the losses */
} plot;

static double across(const plot *p, double step) {
  double last = p->run->done > 1 ? (double)p->run->done - 1 : 1;
  return LEFT + step / last * (WIDTH - LEFT - RIGHT);
}
static double up(const plot *p, double loss) {
  return HEIGHT - BOTTOM - (loss - p->low) / (p->high - p->low) * (HEIGHT - TOP - BOTTOM);
}

static void find_range(plot *p) {
  p->low = INFINITY, p->high = -INFINITY;
  for (int64_t i = 0; i < p->run->done; i++) {
    double loss = (double)p->run->records[i].loss;
    if (!isfinite(loss)) continue;
    p->low = fmin(p->low, loss);
    p->high = fmax(p->high, loss);
  }
  if (p->low > 0) p->low = 0;
  if (!(p->high > p->low)) p->low = 0, p->high = 1;
}

static void draw_axes(const plot *p) {
  for (int i = 0; i <= TICKS; i++) {
    double loss = p->low + (p->high - p->low) * i / TICKS, y = up(p, loss);
    fprintf(p->out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, y,
            WIDTH - RIGHT, y);
    fprintf(p->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n", LEFT - 8, y + 4, loss);
    double step = round((double)(p->run->done - 1) * i / TICKS);
    fprintf(p->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", across(p, step),
            HEIGHT - BOTTOM + 20, step);
  }
  fprintf(p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n", (LEFT + WIDTH - RIGHT) / 2,
          HEIGHT - 12);
}

/* Every step; of long runs the mean of as many neighbours as fit a point. A gap where there is no number. */
static void draw_curve(const plot *p) {
  int64_t each = tg_div_up(p->run->done, MOST_POINTS);
  bool open = false;
  for (int64_t i = 0; i < p->run->done; i += each) {
    int64_t end = i + each < p->run->done ? i + each : p->run->done;
    double loss = tg_run_mean_loss(p->run, i, end);
    if (!isfinite(loss)) {
      if (open) fputs("\"/>\n", p->out);
      open = false;
      continue;
    }
    if (!open) fputs("<polyline fill=\"none\" stroke=\"#b5482a\" points=\"", p->out);
    open = true;
    fprintf(p->out, "%.1f,%.1f ", across(p, (double)(i + end - 1) / 2), up(p, loss));
  }
  if (open) fputs("\"/>\n", p->out);
}

tg_status tg_run_write_svg(const tg_training_run *run, const char *path, tg_diag *diag) {
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag);
  if (status) return status;
  plot p = {.out = file.stream, .run = run};
  find_range(&p);
  fprintf(p.out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
          "style=\"max-width: 100%%; height: auto\" font-family=\"sans-serif\" font-size=\"15\">\n<rect "
          "width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
          "<text x=\"%d\" y=\"28\" font-size=\"18\">%s, loss before each step</text>\n",
          WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, json_string_value(json_object_get(run->options, "--loss")));
  draw_axes(&p);
  draw_curve(&p);
  fputs("</svg>\n", p.out);
  return tg_output_commit(&file, diag);
}
