/* A picture of points over two axes as SVG. Numbers at its right, which never lie on each other, lead to labels below it: so it
 * is narrow, and can be read as an image 400 pixels wide. */
#ifndef TEGULA_RUNTIME_SWEEP_FRAME_H
#define TEGULA_RUNTIME_SWEEP_FRAME_H

#include <stdbool.h>
#include <stdio.h>

/* Of what lies at (x, y), in pixels. */
typedef struct tg_frame_label {
  double x, y;
  const char *name;   /* as long as it is: it is cut */
  const char *value;  /* in grey behind it */
  const char *colour; /* of the name; NULL: black */
  bool bold;
  double at; /* where its number is: tg_frame_labels */
} tg_frame_label;

enum { TG_FRAME_MOST_LABELS = 28 };

void tg_frame_begin(FILE *out, const char *title, const char *across, const char *up, int labels);
void tg_frame_end(FILE *out);
/* Pixels of a share, from 0 to 1, of the width, from the left, and of the height, from below. */
double tg_frame_x(double share);
double tg_frame_y(double share);
void tg_frame_tick_x(FILE *out, double share, const char *text);
void tg_frame_tick_y(FILE *out, double share, const char *text);
/* At most TG_FRAME_MOST_LABELS, numbered in the order of heights, each with a line to its point; sorts them. Everything else of the
 * picture is written before. */
void tg_frame_labels(FILE *out, tg_frame_label *labels, int count);

#endif
