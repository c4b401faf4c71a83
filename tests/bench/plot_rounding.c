/* Draws docs/rounding.svg: a running sum of many small values under FP32, BF16 rounded to nearest, and BF16
 * rounded stochastically with the machine's hash. Writes SVG to stdout; with --csv the numbers. */
#include "sim/machine/numerics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TERMS = 100000, SEEDS = 5, POINTS_A_DECADE = 40, MOST_POINTS = 5 * POINTS_A_DECADE + 1 };
enum { NEAREST = SEEDS, SINGLE = SEEDS + 1, LINES = SEEDS + 2 }; /* the first are stochastic */

typedef struct figure {
  int count, terms[MOST_POINTS];
  double ratio[LINES][MOST_POINTS]; /* to the exact sum */
} figure;

static float bf16(float x) { return tg_bits_f32(tg_bf16_to_f32(tg_bf16_from_f32(tg_f32_bits(x)))); }

/* The sum of `term` number `index`, reduced one by one. */
static float add_stochastically(float sum, float term, uint32_t key, uint32_t index) {
  uint32_t tile = tg_sr_tile_key(key, index);
  uint32_t r = tg_sr_r16(tg_sr_row_hash(tile, 0), tg_sr_col_hash(tile, 0));
  return tg_bits_f32(tg_bf16_to_f32(tg_bf16_stochastic(tg_f32_bits(sum + term), r)));
}

static void compute(figure *f) {
  const float term = bf16(0.001f);
  float sums[LINES] = {0};
  int next = 0;
  for (int i = 0; i < TERMS; i++) {
    for (int seed = 0; seed < SEEDS; seed++)
      sums[seed] = add_stochastically(sums[seed], term, tg_sr_key((uint64_t)seed + 1, 0, 0), (uint32_t)i);
    sums[NEAREST] = bf16(sums[NEAREST] + term);
    sums[SINGLE] += term;
    if (i + 1 < (int)lround(pow(10, (double)next / POINTS_A_DECADE))) continue;
    for (int line = 0; line < LINES; line++)
      f->ratio[line][f->count] = (double)sums[line] / ((double)term * (i + 1));
    f->terms[f->count++] = i + 1;
    while (lround(pow(10, (double)next / POINTS_A_DECADE)) <= i + 1) next++;
  }
}

static double across(int terms) { return 70 + 560 * log10(terms) / 5; }
static double down(double ratio) { return 290 - 240 * ratio / 1.2; }

static void axes(void) {
  static const char *const powers[] = {"1", "10", "100", "1 000", "10 000", "100 000"};
  printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 350\" width=\"760\" height=\"350\" "
         "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#2b2b2b\">\n"
         "<title>A running sum of many small values in FP32 and BF16</title>\n"
         "<rect width=\"760\" height=\"350\" rx=\"10\" fill=\"#faf7f2\"/>\n");
  for (int decade = 0, terms = 1; decade <= 5; decade++, terms *= 10)
    printf("<path d=\"M%.1f 50V290\" stroke=\"#ddd6cb\"/><text x=\"%.1f\" y=\"308\" "
           "text-anchor=\"middle\">%s</text>\n",
           across(terms), across(terms), powers[decade]);
  for (int tick = 0; tick <= 6; tick++)
    printf("<path d=\"M70 %.1fH630\" stroke=\"#ddd6cb\"/><text x=\"62\" y=\"%.1f\" "
           "text-anchor=\"end\">%.1f</text>\n",
           down(0.2 * tick), down(0.2 * tick) + 4, 0.2 * tick);
  printf("<text x=\"350\" y=\"332\" text-anchor=\"middle\">terms of 0.001 added one by one</text>\n"
         "<text x=\"70\" y=\"34\">running sum / exact sum</text>\n");
}

static void curve(const figure *f, int line, const char *colour, double width) {
  printf("<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" d=\"", colour, width);
  for (int i = 0; i < f->count; i++)
    printf("%c%.1f %.1f", i ? 'L' : 'M', across(f->terms[i]), down(f->ratio[line][i]));
  printf("\"/>\n");
}

static void label(const char *text, const char *colour, double y) {
  printf("<text x=\"638\" y=\"%.1f\" fill=\"%s\">%s</text>\n", y, colour, text);
}

static void draw(const figure *f) {
  static const char stochastic[] = "#e08a1e", nearest[] = "#c0392b", single[] = "#1f4e79";
  axes();
  for (int seed = 0; seed < SEEDS; seed++) curve(f, seed, stochastic, 1);
  curve(f, NEAREST, nearest, 2);
  curve(f, SINGLE, single, 2);
  label("FP32", single, down(1) + 4);
  label("BF16, stochastic,", stochastic, down(1) - 26);
  label("5 seeds", stochastic, down(1) - 11);
  label("BF16, nearest", nearest, down(f->ratio[NEAREST][f->count - 1]) + 4);
  printf("</svg>\n");
}

static void list(const figure *f) {
  printf("terms,fp32,bf16_nearest");
  for (int seed = 1; seed <= SEEDS; seed++) printf(",bf16_stochastic_seed_%d", seed);
  for (int i = 0; i < f->count; i++) {
    printf("\n%d,%.6f,%.6f", f->terms[i], f->ratio[SINGLE][i], f->ratio[NEAREST][i]);
    for (int seed = 0; seed < SEEDS; seed++) printf(",%.6f", f->ratio[seed][i]);
  }
  putchar('\n');
}

int main(int argc, char **argv) {
  static figure f;
  compute(&f);
  if (argc == 2 && !strcmp(argv[1], "--csv"))
    list(&f);
  else
    draw(&f);
  return 0;
}
