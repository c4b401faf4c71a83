/* Speed-up over error as SVG. Errors are on a logarithmic axis; exact results stand at its left end. */
#include "runtime/sweep/sweep.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 860, HEIGHT = 520, LEFT = 70, RIGHT = 170, TOP = 50, BOTTOM = 60, MOST_POINTS = 64 };

typedef struct point {
  double x, y; /* log10 of the error, -INFINITY if exact; speed-up */
  const char *policy, *accumulation;
  bool front;
} point;

typedef struct plot {
  FILE *out;
  point points[MOST_POINTS];
  int count;
  int low, high; /* decades shown */
  double top;    /* speed-up at the top */
} plot;

static void collect(plot *p, const json_t *rows) {
  size_t i;
  json_t *row;
  p->low = 0, p->high = -30, p->top = 1;
  json_array_foreach(rows, i, row) {
    double error = tg_sweep_error(row), speed = json_number_value(json_object_get(row, "speedup_over_mp0"));
    if (isnan(error) || !(speed > 0) || p->count == MOST_POINTS) continue;
    point *at = &p->points[p->count++];
    *at = (point){log10(error), speed, json_string_value(json_object_get(row, "policy")),
                  json_string_value(json_object_get(row, "tiling_accum")),
                  json_is_true(json_object_get(row, "pareto"))};
    if (p->top < speed) p->top = speed;
    if (isinf(at->x)) continue;
    if (p->low > (int)floor(at->x)) p->low = (int)floor(at->x);
    if (p->high < (int)ceil(at->x)) p->high = (int)ceil(at->x);
  }
  if (p->high <= p->low) p->high = p->low + 1;
  p->low -= 1; /* where exact results stand */
  p->top = ceil(p->top * 1.05 * 2) / 2;
}

static double across(const plot *p, double decade) {
  double x = isinf(decade) ? p->low : decade;
  return LEFT + (x - p->low) / (p->high - p->low) * (WIDTH - LEFT - RIGHT);
}
static double up(const plot *p, double speed) {
  return HEIGHT - BOTTOM - speed / p->top * (HEIGHT - TOP - BOTTOM);
}

static void axes(const plot *p, const char *title) {
  fprintf(p->out, "<text x=\"%d\" y=\"28\" font-size=\"16\">", LEFT);
  for (const char *c = title; *c; c++)
    fputs(*c == '<' ? "&lt;" : *c == '&' ? "&amp;" : (char[]){*c, 0}, p->out);
  fprintf(p->out, "</text>\n");
  for (int d = p->low; d <= p->high; d++) {
    double x = across(p, d);
    fprintf(p->out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>\n", x, TOP, x,
            HEIGHT - BOTTOM);
    if (d == p->low)
      fprintf(p->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">exact</text>\n", x,
              HEIGHT - BOTTOM + 18);
    else
      fprintf(p->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">1e%d</text>\n", x,
              HEIGHT - BOTTOM + 18, d);
  }
  double step = p->top > 3 ? 1 : 0.5;
  for (int i = 0; i * step <= p->top; i++) {
    double s = i * step;
    fprintf(p->out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, up(p, s),
            WIDTH - RIGHT, up(p, s));
    fprintf(p->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 8, up(p, s) + 4, s);
  }
  fprintf(p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">rms error against FP32</text>\n",
          (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16);
  fprintf(p->out,
          "<text x=\"20\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 20 %d)\">speed-up over "
          "mp0</text>\n",
          HEIGHT / 2, HEIGHT / 2);
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

/* Labels of points that lie on each other would hide each other: each takes a line of its own. */
static void marks(const plot *p) {
  double last_x = -1, last_y = -1;
  for (int i = 0; i < p->count; i++) {
    const point *at = &p->points[i];
    double x = across(p, at->x), y = up(p, at->y), label = y + 4;
    if (fabs(x - last_x) < 90 && fabs(label - last_y) < 12) label = last_y + 12;
    last_x = x, last_y = label;
    bool rounded = at->accumulation[0] == 'b';
    fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"#b5482a\"/>\n", x, y,
            rounded ? "#fff" : "#b5482a");
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\">%s%s</text>\n", x + 8, label, at->policy,
            rounded ? ", bf16sr" : "");
  }
}

void tg_sweep_write_svg(const json_t *rows, const char *title, FILE *out) {
  plot p = {.out = out};
  collect(&p, rows);
  qsort(p.points, (size_t)p.count, sizeof *p.points, by_place);
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
          "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          WIDTH, HEIGHT);
  axes(&p, title);
  front(&p);
  marks(&p);
  fputs("</svg>\n", out);
}
