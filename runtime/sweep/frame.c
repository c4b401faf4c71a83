#include "runtime/sweep/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Letters of 15 pixels on 640 can still be read where a page shows the picture 400 pixels wide: an image keeps its shape. */
enum {
  WIDTH = 640,
  HEIGHT = 540, /* of the plot; labels stand below */
  LETTERS = 15,
  LEFT = 62,
  RIGHT = 62,
  TOP = 56,
  BOTTOM = 62,
  LINE = 15,   /* between the labels' numbers at the plot's right */
  BELOW = 21,  /* between labels */
  LONGEST = 34 /* letters of a name */
};

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
  int height = HEIGHT + BELOW * labels + (labels ? BELOW / 2 : 0);
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
          "style=\"max-width: 100%%; height: auto\" font-family=\"sans-serif\" font-size=\"%d\">\n<title>",
          WIDTH, height, WIDTH, height, LETTERS);
  escaped(out, title, strlen(title));
  fprintf(out,
          "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
          "<text x=\"%d\" y=\"22\" font-size=\"1.2em\">",
          LEFT);
  escaped(out, title, 40);
  fprintf(out,
          "</text>\n<text x=\"%d\" y=\"45\" fill=\"#666\">%s</text>\n"
          "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%s</text>\n",
          LEFT, up, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, across);
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
  enum { COLUMN = WIDTH - RIGHT + 30, NAMES = 46 };
  qsort(labels, (size_t)count, sizeof *labels, by_height);
  spread(labels, count);
  for (int i = 0; i < count; i++) {
    const tg_frame_label *l = &labels[i];
    const char *colour = l->colour ? l->colour : "#000", *weight = l->bold ? " font-weight=\"bold\"" : "";
    int below = HEIGHT + BELOW * (i + 1) - BELOW / 2;
    fprintf(out,
            "<polyline fill=\"none\" stroke=\"#bbb\" points=\"%.1f,%.1f %d,%.1f %d,%.1f\"/>\n"
            "<text x=\"%d\" y=\"%.1f\" fill=\"%s\"%s>%d</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"%s\"%s>%d</text>\n"
            "<text x=\"%d\" y=\"%d\" fill=\"%s\"%s>",
            l->x + 5, l->y, COLUMN - 14, l->at, COLUMN - 4, l->at, COLUMN, l->at + 5, colour, weight, i + 1,
            NAMES - 10, below, colour, weight, i + 1, NAMES, below, colour, weight);
    escaped(out, l->name, LONGEST);
    fprintf(out, " <tspan fill=\"#666\" font-weight=\"normal\">%s</tspan></text>\n", l->value);
  }
}
