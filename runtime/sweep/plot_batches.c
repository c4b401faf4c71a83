/* Samples a second over the batch as SVG; batches are on a logarithmic axis. */
#include "frontend/base/text_stream.h"
#include "runtime/sweep/frame.h"
#include "runtime/sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
  double batch, rate; /* the largest */
} range;

static double number(const json_t *row, const char *key) {
  return json_number_value(json_object_get(row, key));
}
static const char *text(const json_t *row, const char *key) {
  return json_string_value(json_object_get(row, key));
}

static range range_of(const json_t *rows) {
  size_t i;
  json_t *row;
  range r = {1, 0};
  json_array_foreach((json_t *)(uintptr_t)rows, i, row) {
    r.batch = fmax(r.batch, number(row, "batch"));
    r.rate = fmax(r.rate, number(row, "samples_per_second"));
  }
  r.batch = exp2(fmax(1, ceil(log2(r.batch))));
  r.rate = r.rate > 0 ? r.rate * 1.05 : 1;
  return r;
}

static double share_of(const range *r, double batch) { return log2(batch) / log2(r->batch); }
static double across(const range *r, const json_t *row) {
  return tg_frame_x(share_of(r, number(row, "batch")));
}
static double up(const range *r, const json_t *row) {
  return tg_frame_y(number(row, "samples_per_second") / r->rate);
}

/* 1, 2 or 5 of a power of ten, at most eight times to the top. */
static double step_of(double top) {
  static const double steps[] = {1, 2, 5, 10};
  double power = pow(10, floor(log10(top / 8)));
  int i = 0;
  while (steps[i] * power * 8 < top && i < 3) i++;
  return steps[i] * power;
}

static const char *si(tg_arena *arena, double value) {
  static const struct {
    double from;
    const char *name;
  } units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, ""}};
  int u = 0;
  while (value < units[u].from) u++;
  return tg_arena_printf(arena, "%.3g%s", value / (units[u].from > 0 ? units[u].from : 1), units[u].name);
}

static void axes(const range *r, tg_arena *arena, FILE *out) {
  double step = step_of(r->rate);
  int powers = (int)log2(r->batch), every = (powers + 9) / 10; /* at most ten of them */
  for (int b = 0; b <= powers; b += every)
    tg_frame_tick_x(out, share_of(r, exp2(b)), tg_arena_printf(arena, "%.0f", exp2(b)));
  for (int i = 0; i * step <= r->rate; i++) tg_frame_tick_y(out, i * step / r->rate, si(arena, i * step));
}

static bool same_line(const json_t *left, const json_t *right) {
  return !strcmp(text(left, "policy"), text(right, "policy")) &&
         !strcmp(text(left, "tiling_accum"), text(right, "tiling_accum")) &&
         json_equal(json_object_get(left, "array"), json_object_get(right, "array"));
}

static const char *colour_of(int line) {
  static const char *const colours[] = {"#b5482a", "#2457a6", "#1f6f4a", "#7a3d96", "#8a6d00", "#00707a"};
  return colours[line % (int)(sizeof colours / sizeof *colours)];
}

static tg_frame_label label_of(const range *r, const json_t *row, int line, bool several, tg_arena *arena) {
  const char *array = several ? text(row, "array") : NULL;
  const json_t *beyond = json_object_get(row, "beyond");
  return (tg_frame_label){
      .x = across(r, row),
      .y = up(r, row),
      .colour = colour_of(line),
      .name = tg_arena_printf(arena, "%s%s%s%s", array ? array : "", array ? ": " : "", text(row, "policy"),
                              text(row, "tiling_accum")[0] == 'b' ? " bf16sr" : ""),
      .value = tg_arena_printf(arena, "%s/s at %.0f%s", si(arena, number(row, "samples_per_second")),
                               number(row, "batch"), beyond ? ", the most" : "")};
}

/* Rows `first` to `end` - 1, of one line; dashes, since lines may lie on each other. */
static void draw(const range *r, const json_t *rows, size_t first, size_t end, int line, FILE *out) {
  static const char *const dashes[] = {"none", "9 5", "3 4"};
  const char *stroke = colour_of(line);
  fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" points=\"",
          stroke, dashes[line % (int)(sizeof dashes / sizeof *dashes)]);
  for (size_t i = first; i < end; i++)
    fprintf(out, "%.1f,%.1f ", across(r, json_array_get(rows, i)), up(r, json_array_get(rows, i)));
  fputs("\"/>\n", out);
  for (size_t i = first; i < end; i++) {
    const json_t *row = json_array_get(rows, i);
    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"%s\"/>\n", across(r, row),
            up(r, row), json_object_get(row, "beyond") ? "#fff" : stroke, stroke);
  }
}

void tg_sweep_write_batches_svg(const json_t *rows, const char *title, FILE *out) {
  tg_arena arena = {0};
  tg_text_stream drawn;
  FILE *lines_out = tg_text_begin(&drawn);
  tg_frame_label labels[TG_FRAME_MOST_LABELS];
  size_t count = json_array_size(rows), end;
  int lines = 0, labelled = 0;
  bool several = tg_sweep_has_arrays(rows);
  range r = range_of(rows);
  for (size_t i = 0; i < count; i = end) {
    size_t good = i;
    for (end = i; end < count && same_line(json_array_get(rows, i), json_array_get(rows, end)); end++) {
    }
    while (good < end && !text(json_array_get(rows, good), "refused")) good++;
    if (good == i) continue;
    draw(&r, rows, i, good, lines, lines_out);
    if (labelled < TG_FRAME_MOST_LABELS)
      labels[labelled++] = label_of(&r, json_array_get(rows, good - 1), lines, several, &arena);
    lines++;
  }
  tg_frame_begin(out, title, "batch", "samples a second", labelled);
  axes(&r, &arena, out);
  fputs(tg_text_end_on(&drawn, &arena), out);
  tg_frame_labels(out, labels, labelled);
  tg_frame_end(out);
  tg_arena_release(&arena);
}
