#include "runtime/sweep/frame.h"

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
  LINE = 16,   /* between labels */
  LONGEST = 34 /* letters of a name */
};

/* Of a window 400 pixels wide: the plot at 3/5 of its size, with letters that are larger by as much, and labels below. */
static const double narrow = 0.56;
enum { NARROW_LEFT = 12, NARROW_LINE = 20 };

double tg_frame_x(double share) { return LEFT + share * (WIDTH - LEFT - RIGHT); }
double tg_frame_y(double share) { return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM); }

/* UTF-8 as XML has it, at most so many bytes of it. */
static void escaped(FILE *out, const char *text, size_t most) {
  size_t length = strlen(text), end = length;
  if (length > most)
    for (end = most - 2; end && ((unsigned char)text[end] & 0xc0) == 0x80; end--) {
    }
  for (size_t i = 0; i < end; i++)
    if (text[i] == '<')
      fputs("&lt;", out);
    else if (text[i] == '&')
      fputs("&amp;", out);
    else
      fputc((unsigned char)text[i] < ' ' ? '?' : text[i], out);
  if (end < length) fputs("..", out);
}

void tg_frame_begin(FILE *out, const char *title, const char *across, const char *up, int labels) {
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
          "font-size=\"12\">\n<title>",
          WIDTH, HEIGHT);
  escaped(out, title, strlen(title));
  fprintf(out,
          "</title>\n<style>\n@media (max-width: %dpx) and (orientation: portrait) {\n"
          "  svg { width: 400px; height: %.0fpx }\n  .plot { transform: translate(%dpx, 4px) scale(%g); "
          "font-size: 18px }\n"
          "  .line { display: none }\n"
          "  .label { transform: translate(14px, calc(%.0fpx + var(--at) * %dpx)); font-size: 13px "
          "}\n}\n</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<g class=\"plot\">\n",
          WIDTH - 1, HEIGHT * narrow + NARROW_LINE * (labels + 1), NARROW_LEFT, narrow,
          HEIGHT * narrow + NARROW_LINE, NARROW_LINE);
  fprintf(out, "<text x=\"%d\" y=\"20\" font-size=\"1.35em\">", LEFT);
  escaped(out, title, 40);
  fprintf(out,
          "</text>\n<text x=\"%d\" y=\"42\" fill=\"#666\">%s</text>\n"
          "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%s</text>\n",
          LEFT, up, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, across);
}

void tg_frame_end(FILE *out) { fputs("</svg>\n", out); }

static void grid(FILE *out, double x1, double y1, double x2, double y2) {
  fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
}

void tg_frame_tick_x(FILE *out, double share, const char *text) {
  double x = tg_frame_x(share);
  grid(out, x, TOP, x, HEIGHT - BOTTOM);
  fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, HEIGHT - BOTTOM + 20, text);
}

void tg_frame_tick_y(FILE *out, double share, const char *text) {
  double y = tg_frame_y(share);
  grid(out, LEFT, y, WIDTH - RIGHT, y);
  fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8, y + 4, text);
}

static int by_height(const void *left, const void *right) {
  const tg_frame_label *a = left, *b = right;
  return a->y != b->y ? (a->y > b->y) - (a->y < b->y) : (a->x < b->x) - (a->x > b->x);
}

/* Down from the top, no two in one line; then up from the bottom where they passed it. */
static void spread(tg_frame_label *labels, int count) {
  double free = TOP;
  for (int i = 0; i < count; i++) free = (labels[i].at = fmax(labels[i].y, free)) + LINE;
  free = HEIGHT - BOTTOM;
  for (int i = count - 1; i >= 0; i--) free = (labels[i].at = fmin(labels[i].at, free)) - LINE;
}

void tg_frame_labels(FILE *out, tg_frame_label *labels, int count) {
  enum { COLUMN = WIDTH - RIGHT + 24 };
  fputs("</g>\n", out);
  qsort(labels, (size_t)count, sizeof *labels, by_height);
  spread(labels, count);
  for (int i = 0; i < count; i++) {
    const tg_frame_label *l = &labels[i];
    fprintf(out,
            "<polyline class=\"line\" fill=\"none\" stroke=\"#bbb\" points=\"%.1f,%.1f %d,%.1f %d,%.1f\"/>\n"
            "<g class=\"label\" transform=\"translate(%d %.1f)\" style=\"--at: %d\"><text fill=\"%s\"%s>",
            l->x + 5, l->y, COLUMN - 14, l->at, COLUMN - 4, l->at, COLUMN, l->at + 4, i,
            l->colour ? l->colour : "#000", l->bold ? " font-weight=\"bold\"" : "");
    escaped(out, l->name, LONGEST);
    fprintf(out, " <tspan fill=\"#666\" font-weight=\"normal\">%s</tspan></text></g>\n", l->value);
  }
}
