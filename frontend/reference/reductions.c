/* Reductions over any axes. Where the array has an order of its own (docs/numerics.md), over the last
 * dimension alone and over blocks, it is followed step by step in fp32; elsewhere sums are in double and
 * rounded once. */
#include "frontend/base/math.h"
#include "frontend/reference/internal.h"

#include <math.h>
#include <stdlib.h>

enum { PARTIALS = 32 };
typedef enum order { IN_DOUBLE, BY_PARTIALS, ASCENDING } order;

static float combine(tg_op op, float a, float b) {
  switch (op) {
  case TG_OP_REDUCE_MAX: return tg_reference_maximum(a, b);
  case TG_OP_REDUCE_MIN: return tg_reference_minimum(a, b);
  case TG_OP_REDUCE_PROD: return a * b;
  default: return a + b;
  }
}

static float identity_of(tg_op op) {
  switch (op) {
  case TG_OP_REDUCE_MAX: return -INFINITY;
  case TG_OP_REDUCE_MIN: return INFINITY;
  case TG_OP_REDUCE_PROD: return 1;
  default: return 0;
  }
}

static float ascending(tg_op op, const float *x, int64_t count) {
  float result = identity_of(op);
  for (int64_t i = 0; i < count; i++) result = combine(op, result, x[i]);
  return result;
}

/* Element i into partial i mod 32, ascending; then partials 16, 8, 4, 2, 1 apart. */
static float by_partials(tg_op op, const float *x, int64_t count) {
  float partial[PARTIALS];
  for (int i = 0; i < PARTIALS; i++) partial[i] = identity_of(op);
  for (int64_t i = 0; i < count; i++) partial[i % PARTIALS] = combine(op, partial[i % PARTIALS], x[i]);
  for (int apart = PARTIALS / 2; apart; apart /= 2)
    for (int i = 0; i < apart; i++) partial[i] = combine(op, partial[i], partial[i + apart]);
  return partial[0];
}

static double sum_of(tg_op op, const float *x, int64_t count, double shift) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    double v = (double)x[i];
    bool square = op == TG_OP_REDUCE_L2 || op == TG_OP_REDUCE_SUM_SQUARE;
    sum += square                           ? v * v
           : op == TG_OP_REDUCE_L1          ? fabs(v)
           : op == TG_OP_REDUCE_LOG_SUM_EXP ? exp(v - shift)
                                            : v;
  }
  return sum;
}

static float in_double(tg_op op, const float *x, int64_t count) {
  double product = 1;
  switch (op) {
  case TG_OP_REDUCE_MAX:
  case TG_OP_REDUCE_MIN: return ascending(op, x, count);
  case TG_OP_REDUCE_PROD:
    for (int64_t i = 0; i < count; i++) product *= (double)x[i];
    return (float)product;
  case TG_OP_REDUCE_MEAN: return (float)(sum_of(op, x, count, 0) / (double)count);
  case TG_OP_REDUCE_L2: return (float)sqrt(sum_of(op, x, count, 0));
  case TG_OP_REDUCE_LOG_SUM: return (float)log(sum_of(op, x, count, 0));
  case TG_OP_REDUCE_LOG_SUM_EXP: {
    double top = (double)ascending(TG_OP_REDUCE_MAX, x, count), shift = isinf(top) ? 0 : top;
    return (float)(shift + log(sum_of(op, x, count, shift)));
  }
  default: return (float)sum_of(op, x, count, 0);
  }
}

/* Sum, or sum of squared distances from the mean, from distances to the mean of the first four, two or
 * one. */
static float moment_of_block(int64_t order, const float *x, int64_t count) {
  float pivot = count % 4 == 0   ? ((x[0] + x[1]) + (x[2] + x[3])) * 0.25f
                : count % 2 == 0 ? (x[0] + x[1]) * 0.5f
                                 : x[0];
  float sum = 0, squares = 0, number = (float)count;
  for (int64_t i = 0; i < count; i++) {
    float distance = x[i] - pivot;
    sum += distance;
    squares = fmaf(distance, distance, squares);
  }
  return order == 1 ? fmaf(pivot, number, sum) : fmaf(sum, sum * (-1 / number), squares);
}

static float moment_in_double(int64_t order, const float *x, int64_t count) {
  double sum = sum_of(TG_OP_REDUCE_SUM, x, count, 0), mean = sum / (double)count, squares = 0;
  for (int64_t i = 0; i < count; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
  return (float)(order == 1 ? sum : squares);
}

static float moment(const tg_node *node, order by, const float *x, int64_t count) {
  int64_t order = tg_attr_int(node, TG_ATTR_ORDER);
  return by == ASCENDING ? moment_of_block(order, x, count) : moment_in_double(order, x, count);
}

static int64_t combine_integers(tg_op op, tg_dtype dtype, int64_t a, int64_t b) {
  bool above = dtype == TG_U64 ? (uint64_t)a > (uint64_t)b : a > b;
  switch (op) {
  case TG_OP_REDUCE_MAX: return above ? a : b;
  case TG_OP_REDUCE_MIN: return above ? b : a;
  case TG_OP_REDUCE_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
  default: return (int64_t)((uint64_t)a + (uint64_t)b);
  }
}

/* How the operand is walked: for each dimension its size, its step, and how many of it a result takes. */
typedef struct walk {
  int rank;
  int64_t size[TG_MAX_RANK], step[TG_MAX_RANK], span[TG_MAX_RANK];
} walk;

static walk walk_of(const tg_node *node) {
  const tg_value *x = tg_in(node, 0);
  const tg_attr *block = tg_attr_find(node, TG_ATTR_BLOCK);
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  walk w = {.rank = x->rank};
  for (int d = 0; d < x->rank; d++) {
    w.size[d] = x->dims[d].size;
    w.step[d] = tg_value_elements_between(x, d + 1, x->rank);
    w.span[d] = 1;
  }
  for (int i = 0; i < count; i++) w.span[axes[i]] = block && block->i ? block->i : w.size[axes[i]];
  return w;
}

/* Offsets of the elements of result `linear` (in the shape that keeps its dimensions), ascending. */
static int64_t gather(const walk *w, int64_t linear, int64_t *offsets) {
  int64_t begin[TG_MAX_RANK], extent[TG_MAX_RANK], count = 1;
  for (int d = w->rank - 1; d >= 0; d--) {
    int64_t blocks = w->span[d] ? tg_div_up(w->size[d], w->span[d]) : 1;
    begin[d] = linear % blocks * w->span[d];
    linear /= blocks;
    extent[d] = w->size[d] - begin[d] < w->span[d] ? w->size[d] - begin[d] : w->span[d];
    count *= extent[d];
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, at = 0;
    for (int d = w->rank - 1; d >= 0; d--) {
      at += (begin[d] + rest % extent[d]) * w->step[d];
      rest /= extent[d];
    }
    offsets[i] = at;
  }
  return count;
}

static order order_of(const tg_node *node) {
  const tg_attr *block = tg_attr_find(node, TG_ATTR_BLOCK);
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  if (!block) return IN_DOUBLE; /* the array has no such operator */
  int rank = tg_in(node, 0)->rank;
  if (block->i) return rank == 2 ? BY_PARTIALS : ASCENDING; /* parts of rows; blocks of the middle */
  return count == 1 && axes[0] == rank - 1 ? BY_PARTIALS : IN_DOUBLE;
}

static void reduce_integers(const tg_node *node, const void *input, const int64_t *offsets, int64_t count,
                            void *output, int64_t at) {
  const tg_value *x = tg_in(node, 0);
  int64_t result = node->op == TG_OP_REDUCE_PROD;
  for (int64_t i = 0; i < count; i++) {
    int64_t value = tg_load_i64(input, x->dtype, (size_t)offsets[i]);
    bool first = !i && (node->op == TG_OP_REDUCE_MAX || node->op == TG_OP_REDUCE_MIN);
    result = first ? value : combine_integers(node->op, x->dtype, result, value);
  }
  tg_store_i64(output, tg_out(node)->dtype, (size_t)at, result);
}

void tg_reference_reduction(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  walk w = walk_of(node);
  order order = order_of(node);
  size_t most = (size_t)tg_value_elements(x) + 1;
  int64_t *offsets = malloc(most * sizeof *offsets), results = tg_value_elements(y);
  float *values = malloc(most * sizeof *values);
  if (!offsets || !values) tg_die("out of memory");
  for (int64_t e = 0; e < results; e++) {
    int64_t count = gather(&w, e, offsets);
    if (tg_dtype_is_integer(x->dtype)) {
      reduce_integers(node, inputs[0], offsets, count, output, e);
      continue;
    }
    for (int64_t i = 0; i < count; i++) values[i] = tg_load_f32(inputs[0], x->dtype, (size_t)offsets[i]);
    float result = node->op == TG_OP_REDUCE_MOMENT ? moment(node, order, values, count)
                   : order == BY_PARTIALS          ? by_partials(node->op, values, count)
                   : order == ASCENDING            ? ascending(node->op, values, count)
                                                   : in_double(node->op, values, count);
    tg_store_f32(output, y->dtype, (size_t)e, result);
  }
  free(offsets);
  free(values);
}
