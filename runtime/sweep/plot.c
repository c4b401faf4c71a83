/* Speed-up, or energy saved, over error as SVG. Errors are on a logarithmic axis; exact results stand at its left end. */
#include "runtime/sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  WIDTH = 980,
  HEIGHT = 560,
  LEFT = 70,
  RIGHT = 330,
  TOP = 50,
  BOTTOM = 60,
  MOST_POINTS = 1024,
  LINE = 15
};

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

static double across(const plot *p, double decade) {
  double x = isinf(decade) ? p->low : decade;
  return LEFT + (x - p->low) / (p->high - p->low) * (WIDTH - LEFT - RIGHT);
}
static double up(const plot *p, double speed) {
  return HEIGHT - BOTTOM - speed / p->top * (HEIGHT - TOP - BOTTOM);
}

static void escaped(FILE *out, const char *text) {
  for (; *text; text++) fputs(*text == '<' ? "&lt;" : *text == '&' ? "&amp;" : (char[]){*text, 0}, out);
}

static void axes(const plot *p, const char *title) {
  fprintf(p->out, "<text x=\"%d\" y=\"28\" font-size=\"16\">", LEFT);
  escaped(p->out, title);
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
          "<text x=\"20\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 20 %d)\">%s</text>\n",
          HEIGHT / 2, HEIGHT / 2, p->energy ? "energy of mp0 over its own" : "speed-up over mp0");
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

/* A label at the right, for all points of one place. */
typedef struct label {
  double x, y, at;  /* of the points, and the line's own height */
  int first, count; /* of the points */
  bool front;
} label;

static int by_height(const void *left, const void *right) {
  const label *a = left, *b = right;
  return a->y != b->y ? (a->y > b->y) - (a->y < b->y) : (a->x < b->x) - (a->x > b->x);
}

/* Points, in order of places, that lie on each other share a label. */
static int gather(const plot *p, label *labels, bool front_only) {
  int count = 0;
  for (int i = 0; i < p->count; i++) {
    double x = across(p, p->points[i].x), y = up(p, p->points[i].y);
    label *last = count ? &labels[count - 1] : NULL;
    if (front_only && !p->points[i].front) continue;
    if (last && last->first + last->count == i && fabs(last->x - x) < 2 && fabs(last->y - y) < 2) {
      last->count++;
      last->front |= p->points[i].front;
    } else
      labels[count++] = (label){.x = x, .y = y, .first = i, .count = 1, .front = p->points[i].front};
  }
  return count;
}

/* Down from the top, no two in one line; then up from the bottom where they passed it. */
static void spread(label *labels, int count) {
  qsort(labels, (size_t)count, sizeof *labels, by_height);
  double free = TOP;
  for (int i = 0; i < count; i++) free = (labels[i].at = labels[i].y > free ? labels[i].y : free) + LINE;
  free = HEIGHT - BOTTOM;
  for (int i = count - 1; i >= 0; i--)
    free = (labels[i].at = labels[i].at < free ? labels[i].at : free) - LINE;
}

static void write_label(const plot *p, const label *l) {
  enum { COLUMN = WIDTH - RIGHT + 24, LONGEST = 44 };
  size_t used = 0;
  fprintf(p->out, "<polyline fill=\"none\" stroke=\"#bbb\" points=\"%.1f,%.1f %d,%.1f %d,%.1f\"/>\n",
          l->x + 5, l->y, COLUMN - 14, l->at, COLUMN - 4, l->at);
  fprintf(p->out, "<text x=\"%d\" y=\"%.1f\" font-size=\"11\"%s>", COLUMN, l->at + 4,
          l->front ? " font-weight=\"bold\"" : "");
  for (int i = 0; i < l->count; i++) {
    const point *at = &p->points[l->first + i];
    const char *accumulation = at->accumulation[0] == 'b' ? " bf16sr" : "";
    size_t length = strlen(at->policy) + strlen(accumulation) + (at->array ? strlen(at->array) + 2 : 0) + 2;
    if (i && used + length > LONGEST) {
      fprintf(p->out, ", %d more", l->count - i);
      break;
    }
    used += length;
    if (i) fputs(", ", p->out);
    if (at->array) escaped(p->out, at->array), fputs(": ", p->out);
    fprintf(p->out, "%s%s", at->policy, accumulation);
  }
  fputs("</text>\n", p->out);
}

static void marks(const plot *p) {
  enum { MOST_LABELS = (HEIGHT - TOP - BOTTOM) / LINE };
  label *labels = calloc((size_t)p->count + 1, sizeof *labels);
  if (!labels) tg_die("out of memory");
  int count = gather(p, labels, false);
  if (count > MOST_LABELS) count = gather(p, labels, true); /* the front's are what one looks for */
  if (count > MOST_LABELS) count = MOST_LABELS;
  spread(labels, count);
  for (int i = 0; i < count; i++) write_label(p, &labels[i]);
  for (int i = 0; i < p->count; i++)
    fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"#b5482a\"/>\n",
            across(p, p->points[i].x), up(p, p->points[i].y),
            p->points[i].accumulation[0] == 'b' ? "#fff" : "#b5482a");
  free(labels);
}

void tg_sweep_write_svg(const json_t *rows, const char *title, bool energy, FILE *out) {
  plot p = {.out = out, .energy = energy};
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
