/* Moments of a batch, as lowered (docs/numerics.md), against double precision: of data that are hard, at
 * least as good as two passes over all of it, the mean first and then the squared distances from it. */
#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 16 };

static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return ((double)(*state >> 33) + 0.5) / (double)(1u << 31);
}

static double normal(uint64_t *state) {
  return sqrt(-2 * log(uniform(state))) * cos(6.283185307179586 * uniform(state));
}

typedef struct data {
  const char *name;
  int64_t rows;
  double (*element)(uint64_t *state, int64_t row, int64_t rows);
  double tolerance; /* of the sum of squares, relative, where two passes are better */
} data;

static double ordinary(uint64_t *state, int64_t row, int64_t rows) {
  (void)row, (void)rows;
  return 0.5 + normal(state);
}
static double far_off(uint64_t *state, int64_t row, int64_t rows) {
  (void)row, (void)rows;
  return 1000 + 1e-2 * normal(state);
}
static double drifting(uint64_t *state, int64_t row, int64_t rows) {
  return 1000 * (double)row / (double)rows + 1e-1 * normal(state);
}
static double long_tails(uint64_t *state, int64_t row, int64_t rows) {
  (void)row, (void)rows;
  return tan(3.14159265358979 * (uniform(state) - 0.5));
}
static double lognormal(uint64_t *state, int64_t row, int64_t rows) {
  (void)row, (void)rows;
  return exp(3 * normal(state));
}
/* Where distances are from one of four that lies far off, a block's sums cancel most. */
static double outlier(uint64_t *state, int64_t row, int64_t rows) {
  (void)rows;
  return normal(state) + (row ? 0 : 1e6);
}
static double outliers(uint64_t *state, int64_t row, int64_t rows) {
  (void)rows;
  return normal(state) + (row < 4 ? 1e6 : 0);
}

static const data sets[] = {
    {"ordinary", 4096, ordinary, 1e-6},     {"ordinary_ragged", 5003, ordinary, 1e-6},
    {"far_off", 4096, far_off, 0},          {"far_off_ragged", 5003, far_off, 5e-4},
    {"far_off_few", 50, far_off, 0},        {"drifting", 4096, drifting, 1e-6},
    {"long_tails", 4096, long_tails, 1e-6}, {"lognormal", 5003, lognormal, 1e-6},
    {"outlier", 4096, outlier, 5e-6},       {"outliers", 4096, outliers, 2e-5},
};

#define MOMENTS                                                                                              \
  "graph \"g\"\ninput %%x: f32[%lld,16]\n%%s = ReduceMoment(%%x) axes=[0] order=1 @0\n"                      \
  "%%q = ReduceMoment(%%x) axes=[0] order=2 @1\noutput \"s\" %%s: f32\noutput \"q\" %%q: f32\n"
#define TWO_PASSES                                                                                           \
  "graph \"g\"\ninput %%x: f32[%lld,16]\nconst %%share: f32[] = [%.9g]\n"                                    \
  "%%s = ReduceSum(%%x) axes=[0] @0\n%%m = Mul(%%s, %%share) @1\n%%d = Sub(%%x, %%m) @2\n"                   \
  "%%t = Mul(%%d, %%d) @3\n%%q = ReduceSum(%%t) axes=[0] @4\noutput \"s\" %%s: f32\noutput \"q\" %%q: f32\n"

static bool run(const char *text, const float *x, float *sum, float *squares) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  bool good = !tg_graph_parse(&arena, text, &graph, &diag) && !tg_frontend_lower(graph, &options, &diag);
  if (good)
    tg_reference_run(graph, (const void *const[]){x}, (void *const[]){sum, squares});
  else
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  tg_arena_release(&arena);
  return good;
}

/* Largest errors of a channel: of the mean in deviations, of the sum of squares as a share of it. */
typedef struct errors {
  double mean, squares;
} errors;

static errors errors_of(const float *x, int64_t rows, const float *sum, const float *squares) {
  errors worst = {0, 0};
  for (int c = 0; c < CHANNELS; c++) {
    double mean = 0, exact = 0;
    for (int64_t i = 0; i < rows; i++) mean += (double)x[i * CHANNELS + c] / (double)rows;
    for (int64_t i = 0; i < rows; i++) exact += pow((double)x[i * CHANNELS + c] - mean, 2);
    double deviation = sqrt(exact / (double)rows);
    worst.mean = fmax(worst.mean, fabs((double)sum[c] / (double)rows - mean) / deviation);
    worst.squares = fmax(worst.squares, fabs((double)squares[c] - exact) / exact);
  }
  return worst;
}

static void check(const void *user) {
  const data *d = user;
  char text[1024];
  float sum[CHANNELS], squares[CHANNELS], *x = malloc(sizeof *x * (size_t)(d->rows * CHANNELS));
  uint64_t state = 7;
  for (int64_t i = 0; i < d->rows; i++)
    for (int c = 0; c < CHANNELS; c++) x[i * CHANNELS + c] = (float)d->element(&state, i, d->rows);
  snprintf(text, sizeof text, MOMENTS, (long long)d->rows);
  if (run(text, x, sum, squares)) {
    errors got = errors_of(x, d->rows, sum, squares);
    snprintf(text, sizeof text, TWO_PASSES, (long long)d->rows, (double)(1 / (float)d->rows));
    run(text, x, sum, squares);
    errors two = errors_of(x, d->rows, sum, squares);
    printf("mean %.2g deviations (two passes %.2g), squares %.2g of them (%.2g)\n", got.mean, two.mean,
           got.squares, two.squares);
    EXPECT(got.mean <= fmax(two.mean, 1e-6));
    EXPECT(got.squares <= fmax(two.squares, d->tolerance));
  }
  free(x);
}

TG_TEST(moments, of_equal_elements_are_exact) {
  enum { ROWS = 300 };
  static float x[ROWS * CHANNELS];
  float sum[CHANNELS], squares[CHANNELS];
  char text[512];
  for (int i = 0; i < ROWS * CHANNELS; i++) x[i] = 3;
  snprintf(text, sizeof text, MOMENTS, (long long)ROWS);
  if (!run(text, x, sum, squares)) return;
  for (int c = 0; c < CHANNELS; c++) {
    EXPECT_EQ(sum[c], 900);
    EXPECT_EQ(squares[c], 0);
  }
}

__attribute__((constructor)) static void register_sets(void) {
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    tg_test_register_row("moments", sets[i].name, __FILE__, __LINE__, check, &sets[i]);
}
