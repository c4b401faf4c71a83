/* Speed-up, or energy saved, over error as SVG. Errors are on a logarithmic axis; exact results stand at its left end. */
#include "runtime/sweep/frame.h"
#include "runtime/sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 1024 };

typedef struct point {
  double x, y;                               /* log10 of the error, -INFINITY if exact; gain over mp0 */
  const char *policy, *accumulation, *array; /* array: NULL where all are of one */
  bool front;
} point;

typedef struct plot {
  FILE *out;
  bool energy; /* the gain is in energy, else in speed */
  point points[MOST_POINTS];
  int count;
  int low, high; /* decades shown */
  double top;    /* gain at the top */
} plot;

static void collect(plot *p, const json_t *rows) {
  size_t i;
  json_t *row;
  bool several = tg_sweep_has_arrays(rows);
  p->low = 0, p->high = -30, p->top = 1;
  json_array_foreach(rows, i, row) {
    double error = tg_sweep_error(row),
           gain = json_number_value(json_object_get(row, p->energy ? "saving_over_mp0" : "speedup_over_mp0"));
    if (isnan(error) || !(gain > 0) || p->count == MOST_POINTS) continue;
    point *at = &p->points[p->count++];
    *at = (point){log10(error),
                  gain,
                  json_string_value(json_object_get(row, "policy")),
                  json_string_value(json_object_get(row, "tiling_accum")),
                  several ? json_string_value(json_object_get(row, "array")) : NULL,
                  json_is_true(json_object_get(row, p->energy ? "pareto_energy" : "pareto"))};
    if (p->top < gain) p->top = gain;
    if (isinf(at->x)) continue;
    if (p->low > (int)floor(at->x)) p->low = (int)floor(at->x);
    if (p->high < (int)ceil(at->x)) p->high = (int)ceil(at->x);
  }
  if (p->high <= p->low) p->high = p->low + 1;
  p->low -= 1; /* where exact results stand */
  p->top = ceil(p->top * 1.05 * 2) / 2;
}

static double share_of(const plot *p, double decade) {
  double x = isinf(decade) ? p->low : decade;
  return (x - p->low) / (p->high - p->low);
}
static double across(const plot *p, double decade) { return tg_frame_x(share_of(p, decade)); }
static double up(const plot *p, double speed) { return tg_frame_y(speed / p->top); }

static void axes(const plot *p) {
  char text[24];
  for (int d = p->low; d <= p->high; d++) {
    snprintf(text, sizeof text, "1e%d", d);
    tg_frame_tick_x(p->out, share_of(p, d), d == p->low ? "exact" : text);
  }
  double step = p->top > 10 ? ceil(p->top / 10) : p->top > 3 ? 1 : 0.5;
  for (int i = 0; i * step <= p->top; i++) {
    snprintf(text, sizeof text, "%g", i * step);
    tg_frame_tick_y(p->out, i * step / p->top, text);
  }
}

static int by_place(const void *left, const void *right) {
  const point *a = left, *b = right;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  return a->y < b->y ? -1 : a->y > b->y;
}

static void front(const plot *p) {
  fputs("<polyline fill=\"none\" stroke=\"#b5482a\" points=\"", p->out);
  for (int i = 0; i < p->count; i++)
    if (p->points[i].front) fprintf(p->out, "%.1f,%.1f ", across(p, p->points[i].x), up(p, p->points[i].y));
  fputs("\"/>\n", p->out);
}

/* The points, in order of places, that lie on the first of them. */
static int points_at(const plot *p, int first) {
  double x = across(p, p->points[first].x), y = up(p, p->points[first].y);
  int end = first + 1;
  while (end < p->count && fabs(across(p, p->points[end].x) - x) < 2 && fabs(up(p, p->points[end].y) - y) < 2)
    end++;
  return end - first;
}

static const char *name_of(tg_arena *arena, const point *at) {
  return tg_arena_printf(arena, "%s%s%s%s", at->array ? at->array : "", at->array ? ": " : "", at->policy,
                         at->accumulation[0] == 'b' ? " bf16sr" : "");
}

/* Of points at one place: the names of as many as have room. */
static tg_frame_label label_of(const plot *p, int first, int count, tg_arena *arena) {
  enum { ROOM = 30 };
  const point *at = &p->points[first];
  tg_frame_label label = {.x = across(p, at->x), .y = up(p, at->y), .name = name_of(arena, at)};
  for (int i = 0; i < count; i++) label.bold |= at[i].front;
  for (int i = 1; i < count; i++) {
    const char *longer = tg_arena_printf(arena, "%s, %s", label.name, name_of(arena, &at[i]));
    bool fits = strlen(longer) <= ROOM;
    label.name = fits ? longer : tg_arena_printf(arena, "%s, %d more", label.name, count - i);
    if (!fits) break;
  }
  label.value = isinf(at->x) ? tg_arena_printf(arena, "%.3g, exact", at->y)
                             : tg_arena_printf(arena, "%.3g, error %.1e", at->y, pow(10, at->x));
  return label;
}

static int gather(const plot *p, bool front_only, tg_frame_label *labels, tg_arena *arena) {
  int count = 0;
  for (int i = 0, here; i < p->count; i += here) {
    here = points_at(p, i);
    tg_frame_label label = label_of(p, i, here, arena);
    if (label.bold || !front_only) labels[count++] = label;
  }
  return count;
}

static void marks(const plot *p) {
  for (int i = 0; i < p->count; i++)
    fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"#b5482a\"/>\n",
            across(p, p->points[i].x), up(p, p->points[i].y),
            p->points[i].accumulation[0] == 'b' ? "#fff" : "#b5482a");
}

void tg_sweep_write_svg(const json_t *rows, const char *title, bool energy, FILE *out) {
  tg_arena arena = {0};
  plot p = {.out = out, .energy = energy};
  collect(&p, rows);
  qsort(p.points, (size_t)p.count, sizeof *p.points, by_place);
  tg_frame_label *labels = TG_NEW_ARRAY(&arena, tg_frame_label, (size_t)p.count + 1);
  int count = gather(&p, false, labels, &arena);
  if (count > TG_FRAME_MOST_LABELS)
    count = gather(&p, true, labels, &arena); /* the front's are what one looks for */
  if (count > TG_FRAME_MOST_LABELS) count = TG_FRAME_MOST_LABELS;
  tg_frame_begin(out, title, "rms error against FP32",
                 energy ? "energy of mp0 over its own" : "speed-up over mp0", count);
  axes(&p);
  front(&p);
  marks(&p);
  tg_frame_labels(out, labels, count);
  tg_frame_end(out);
  tg_arena_release(&arena);
}
