/* The random numbers of stochastic rounding (docs/numerics.md) under statistics.
 *
 * A statistic gives a p-value: the probability that numbers without any fault give one as extreme. A test
 * fails if one of its n p-values is below 1e-6 / n, so that a faultless hash fails it with a probability of
 * at most 1e-6. Seeds are fixed: what passes once passes always. The same statistics are put to two hashes
 * that are known to be poor, and must reject them. */
#include "sim/machine/numerics.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double false_alarm = 1e-6;

/* --- hashes */

typedef struct place {
  uint64_t seed;
  uint32_t step, node, tile;
} place;

typedef struct hash {
  const char *name;
  uint32_t (*draw)(const place *at, uint32_t row, uint32_t column); /* 16 bits */
} hash;

static uint32_t draw(const place *at, uint32_t row, uint32_t column) {
  uint32_t tile = tg_sr_tile_key(tg_sr_key(at->seed, at->step, at->node), at->tile);
  return tg_sr_r16(tg_sr_row_hash(tile, row), tg_sr_col_hash(tile, column));
}

/* Poor: too little mixing behind the sum of row and column. */
static uint32_t short_mix(uint32_t x) {
  x ^= x >> 16;
  x += x << 10;
  x ^= x >> 11;
  x += x << 3;
  x ^= x >> 17;
  return x + (x << 13);
}
static uint32_t draw_short(const place *at, uint32_t row, uint32_t column) {
  uint32_t tile = short_mix(tg_sr_key(at->seed, at->step, at->node) + at->tile);
  return short_mix(short_mix(tile + row) + short_mix((tile ^ 0x85ebca6bu) + column)) >> 16;
}

/* Poor: one xorshift of the element's number. */
static uint32_t draw_xorshift(const place *at, uint32_t row, uint32_t column) {
  uint32_t x = tg_sr_key(at->seed, at->step, at->node) ^ (row * 1024 + column + at->tile * 0x9e3779b9u);
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return x >> 16;
}

static const hash ours = {"the hash", draw}, short_one = {"the short hash", draw_short},
                  xorshift = {"xorshift", draw_xorshift};

/* --- p-values */

typedef struct tally {
  int count;
  double least;
  char what[96];
} tally;

static void record(tally *t, double p, const char *what, int number) {
  t->count++;
  if (t->count > 1 && p >= t->least) return;
  t->least = p;
  snprintf(t->what, sizeof t->what, "%s %d", what, number);
}

static bool passes(const tally *t) { return t->least * t->count >= false_alarm; }

static void expect_pass(const tally *t) {
  printf("%d statistics, least p-value %.2g: %s\n", t->count, t->least, t->what);
  if (!passes(t)) tg_test_fail(__FILE__, __LINE__, "%s has p = %.3g, of %d", t->what, t->least, t->count);
}

static double p_of_normal(double z) { return erfc(fabs(z) / sqrt(2)); }

/* Two-sided; Wilson and Hilferty's approximation. */
static double p_of_chi_square(double x, double freedom) {
  double a = 2 / (9 * freedom);
  return p_of_normal((cbrt(x / freedom) - (1 - a)) / sqrt(a));
}

/* Two-sided, of `hits` in n tries of probability q; the tail is summed. */
static double p_of_binomial(int64_t hits, int64_t n, double q) {
  int64_t direction = (double)hits >= (double)n * q ? 1 : -1;
  double tail = 0, term;
  for (int64_t k = hits; k >= 0 && k <= n; k += direction) {
    term = exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
               (double)k * log(q) + (double)(n - k) * log1p(-q));
    tail += term;
    if (term < tail * 1e-9) break;
  }
  return tail < 0.5 ? 2 * tail : 1;
}

/* --- grids */

enum { SIDE = 1024 };

/* Rows and columns from `row` and `column` on, as they lie in tensors of several shapes. */
typedef struct window {
  place at;
  uint32_t row, column;
} window;

static const window windows[] = {
    {{1, 0, 0, 0}, 0, 0},
    {{1, 1, 0, 0}, 0, 0},
    {{1, 0, 9, 3}, 0, 65536},
    {{7, 3, 9, 3}, 1000000, 0},
    {{1ull << 40, 12, 77, 1}, 4096, 30720},
    {{0, 0xffffffffu, 5, 0xffff}, 0x7ffffe00u, 0xfffffe00u},
};
enum { WINDOWS = sizeof windows / sizeof *windows };

static uint16_t grid[SIDE][SIDE];

static void fill(const hash *h, const window *w) {
  for (uint32_t i = 0; i < SIDE; i++)
    for (uint32_t j = 0; j < SIDE; j++) grid[i][j] = (uint16_t)h->draw(&w->at, w->row + i, w->column + j);
}

/* As a number in (-1, 1), times 65536; its variance is a third. */
static int32_t centred(uint16_t r) { return 2 * (int32_t)r + 1 - 65536; }
static const double variance = 65536.0 * 65536 / 3;

/* Correlation of the grid with itself `down` rows and `right` columns further. */
static double correlation(int down, int right) {
  int64_t sum = 0, pairs = 0;
  for (int i = 0; i + down < SIDE; i++)
    for (int j = right < 0 ? -right : 0; j < SIDE && j + right < SIDE; j++, pairs++)
      sum += (int64_t)centred(grid[i][j]) * centred(grid[i + down][j + right]);
  return (double)sum / variance / sqrt((double)pairs);
}

static void lag_statistics(tally *t) {
  for (int lag = 1; lag <= 512; lag = lag < 16 ? lag + 1 : 2 * lag) {
    record(t, p_of_normal(correlation(0, lag)), "columns apart", lag);
    record(t, p_of_normal(correlation(lag, 0)), "rows apart", lag);
    record(t, p_of_normal(correlation(lag, lag)), "apart on a diagonal", lag);
    record(t, p_of_normal(correlation(lag, -lag)), "apart on the other diagonal", lag);
  }
}

/* How often each bit changes from one row, or column, to the next. */
static void flip_statistics(tally *t) {
  for (int bit = 0; bit < 16; bit++) {
    int rows = 0, columns = 0, n = (SIDE - 1) * SIDE;
    for (int i = 0; i + 1 < SIDE; i++)
      for (int j = 0; j < SIDE; j++) {
        rows += (grid[i][j] ^ grid[i + 1][j]) >> bit & 1;
        columns += (grid[j][i] ^ grid[j][i + 1]) >> bit & 1;
      }
    record(t, p_of_normal((2 * rows - n) / sqrt(n)), "down a row, bit", bit);
    record(t, p_of_normal((2 * columns - n) / sqrt(n)), "along a row, bit", bit);
  }
}

static double chi_square(const int *cells, int count, double expected) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += (cells[i] - expected) * (cells[i] - expected) / expected;
  return sum;
}

/* All 16 bits, and each group of four. */
static void uniformity_statistics(tally *t) {
  static int cells[65536];
  const double n = (double)SIDE * SIDE;
  memset(cells, 0, sizeof cells);
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) cells[grid[i][j]]++;
  record(t, p_of_chi_square(chi_square(cells, 65536, n / 65536), 65535), "bits", 16);
  for (int group = 0; group < 16; group += 4) {
    int nibbles[16] = {0};
    for (int i = 0; i < 65536; i++) nibbles[i >> group & 15] += cells[i];
    record(t, p_of_chi_square(chi_square(nibbles, 16, n / 16), 15), "four bits from bit", group);
  }
  int low[256] = {0};
  for (int i = 0; i < 65536; i++) low[i & 255] += cells[i];
  record(t, p_of_chi_square(chi_square(low, 256, n / 256), 255), "low bits", 8);
}

/* Sums of 1024 numbers of a row, or column: their variance, over that of independent numbers, is near 1. */
static void sum_statistics(tally *t, double *out_worst) {
  double rows = 0, columns = 0;
  for (int i = 0; i < SIDE; i++) {
    int64_t row = 0, column = 0;
    for (int j = 0; j < SIDE; j++) row += centred(grid[i][j]), column += centred(grid[j][i]);
    rows += (double)row * (double)row / variance / SIDE;
    columns += (double)column * (double)column / variance / SIDE;
  }
  record(t, p_of_chi_square(rows, SIDE), "sums of rows", SIDE);
  record(t, p_of_chi_square(columns, SIDE), "sums of columns", SIDE);
  *out_worst = fmax(*out_worst, fmax(fabs(rows / SIDE - 1), fabs(columns / SIDE - 1)));
}

/* Every two of 256 rows, and of 256 columns. */
static void pair_statistics(tally *t) {
  enum { LINES = 256 };
  for (int a = 0; a < LINES; a++)
    for (int b = 0; b < a; b++) {
      int64_t rows = 0, columns = 0;
      for (int j = 0; j < SIDE; j++) {
        rows += (int64_t)centred(grid[a][j]) * centred(grid[b][j]);
        columns += (int64_t)centred(grid[j][a]) * centred(grid[j][b]);
      }
      record(t, p_of_normal((double)rows / variance / sqrt(SIDE)), "two rows, of which one is", a);
      record(t, p_of_normal((double)columns / variance / sqrt(SIDE)), "two columns, of which one is", a);
    }
}

/* --- tests */

TG_TEST(stochastic_rounding, unbiased_at_fixed_fractions) {
  static const uint32_t fractions[] = {1,     2,     3,     16,    255,   256,   4096,  13107, 21845,
                                       32767, 32768, 32769, 43690, 61440, 65279, 65520, 65534, 65535};
  static const uint32_t numbers[] = {0x3f800000u, 0xc2d70000u, 0x00010000u}; /* 1, -107.5, subnormal */
  tally t = {0};
  for (int w = 0; w < WINDOWS; w++) {
    fill(&ours, &windows[w]);
    for (size_t f = 0; f < sizeof fractions / sizeof *fractions; f++) {
      uint32_t x = numbers[f % 3] | fractions[f];
      int64_t away = 0;
      bool neighbours = true;
      for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
          uint32_t up = tg_bf16_stochastic(x, grid[i][j]) - (x >> 16);
          neighbours = neighbours && up <= 1;
          away += up;
        }
      EXPECT(neighbours);
      record(&t, p_of_binomial(away, (int64_t)SIDE * SIDE, fractions[f] / 65536.0), "65536ths",
             (int)fractions[f]);
    }
  }
  expect_pass(&t);
}

TG_TEST(stochastic_rounding, what_is_exact_or_special_stays) {
  static const struct {
    uint32_t from;
    uint16_t to;
  } cases[] = {{0, 0},
               {0x80000000u, 0x8000},
               {0x3f800000u, 0x3f80},
               {0x7f800000u, 0x7f80},
               {0xff800000u, 0xff80},
               {0x7f800001u, 0x7fc0},
               {0xffc12345u, 0x7fc0},
               {0x7f7f0000u, 0x7f7f}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (uint32_t r = 0; r < 65536; r += 0xff) EXPECT_BITS(tg_bf16_stochastic(cases[i].from, r), cases[i].to);
  EXPECT_BITS(tg_bf16_stochastic(0x7f7fffffu, 0), 0x7f7f); /* the largest may round to infinity */
  EXPECT_BITS(tg_bf16_stochastic(0x7f7fffffu, 1), 0x7f80);
  EXPECT_BITS(tg_bf16_stochastic(0xff7fffffu, 0xffff), 0xff80);
}

TG_TEST(stochastic_rounding, all_bits_and_low_bits_are_uniform) {
  tally t = {0};
  for (int w = 0; w < WINDOWS; w++) {
    fill(&ours, &windows[w]);
    uniformity_statistics(&t);
  }
  expect_pass(&t);
}

TG_TEST(stochastic_rounding, no_correlation_across_rows_and_columns) {
  tally t = {0};
  for (int w = 0; w < WINDOWS; w++) {
    fill(&ours, &windows[w]);
    lag_statistics(&t);
    flip_statistics(&t);
  }
  expect_pass(&t);
}

TG_TEST(stochastic_rounding, no_two_rows_or_columns_are_alike) {
  tally t = {0};
  for (int w = 0; w < 2; w++) {
    fill(&ours, &windows[w]);
    pair_statistics(&t);
  }
  expect_pass(&t);
}

TG_TEST(stochastic_rounding, sums_have_the_variance_of_independent_numbers) {
  tally t = {0};
  double worst = 0;
  for (int w = 0; w < WINDOWS; w++) {
    fill(&ours, &windows[w]);
    sum_statistics(&t, &worst);
  }
  printf("variance ratios within 1 +- %.3f\n", worst);
  expect_pass(&t);
}

/* Draws along one coordinate while the others stay. */
typedef enum axis { STEPS, NODES, TILES, SEEDS, HIGH_SEEDS, AXES } axis;

static void draw_along(axis along, uint32_t row, uint32_t column, int32_t *out, int count) {
  for (int i = 0; i < count; i++) {
    place at = {.seed = 1, .step = 0, .node = 5, .tile = 0};
    switch (along) {
    case STEPS: at.step = (uint32_t)i; break;
    case NODES: at.node = (uint32_t)i; break;
    case TILES: at.tile = (uint32_t)i; break;
    case SEEDS: at.seed = (uint32_t)i; break;
    default: at.seed = (uint64_t)i << 32;
    }
    out[i] = centred((uint16_t)draw(&at, row, column));
  }
}

TG_TEST(stochastic_rounding, no_correlation_across_steps_nodes_tiles_and_seeds) {
  static const char *const names[] = {"steps apart", "nodes apart", "tiles apart", "seeds apart",
                                      "high seeds apart"};
  enum { COUNT = 1 << 18, PLACES = 4 };
  static int32_t x[COUNT];
  tally t = {0};
  for (int along = 0; along < AXES; along++)
    for (uint32_t p = 0; p < PLACES; p++) {
      draw_along((axis)along, 3 * p, 77 * p * p, x, COUNT);
      int64_t mean = 0;
      for (int i = 0; i < COUNT; i++) mean += x[i];
      record(&t, p_of_normal((double)mean / sqrt(variance * COUNT)), names[along], 0);
      for (int lag = 1; lag <= 65536; lag = lag < 16 ? lag + 1 : 2 * lag) {
        int64_t sum = 0;
        for (int i = 0; i + lag < COUNT; i++) sum += (int64_t)x[i] * x[i + lag];
        record(&t, p_of_normal((double)sum / variance / sqrt(COUNT - lag)), names[along], lag);
      }
    }
  expect_pass(&t);
}

/* A whole grid against the grid of the next step, node, tile or seed. */
TG_TEST(stochastic_rounding, grids_of_neighbouring_steps_nodes_tiles_and_seeds_are_unlike) {
  static uint16_t before[SIDE][SIDE];
  window changed[AXES];
  for (int along = 0; along < AXES; along++) changed[along] = windows[2];
  changed[STEPS].at.step++;
  changed[NODES].at.node++;
  changed[TILES].at.tile++;
  changed[SEEDS].at.seed++;
  changed[HIGH_SEEDS].at.seed += 1ull << 32;
  tally t = {0};
  fill(&ours, &windows[2]);
  memcpy(before, grid, sizeof before);
  for (int along = 0; along < AXES; along++) {
    fill(&ours, &changed[along]);
    for (int right = 0; right < 8; right++) {
      int64_t sum = 0;
      for (int i = 0; i < SIDE; i++)
        for (int j = 0; j + right < SIDE; j++)
          sum += (int64_t)centred(before[i][j]) * centred(grid[i][j + right]);
      record(&t, p_of_normal((double)sum / variance / sqrt(SIDE * (SIDE - right))), "coordinate", along);
    }
  }
  expect_pass(&t);
}

/* What the statistics are worth: they reject hashes that are known to be poor. */
TG_TEST(stochastic_rounding, poor_hashes_are_rejected) {
  tally short_uniform = {0}, xorshift_sums = {0}, xorshift_lags = {0};
  double worst = 0;
  for (int w = 0; w < WINDOWS; w++) {
    fill(&short_one, &windows[w]);
    uniformity_statistics(&short_uniform);
    fill(&xorshift, &windows[w]);
    sum_statistics(&xorshift_sums, &worst);
    lag_statistics(&xorshift_lags);
  }
  EXPECT(!passes(&short_uniform));
  EXPECT(!passes(&xorshift_sums));
  EXPECT(!passes(&xorshift_lags));
}
