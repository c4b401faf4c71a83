/* Softmax of rows times a matrix, by blocks of columns (docs/numerics.md): the maximum, the sum and the result so far
 * are rescaled as the maximum grows (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et
 * al., "FlashAttention", 2022). */
#include "frontend/base/math.h"
#include "frontend/reference/internal.h"
#include "frontend/reference/layout.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { PARTIALS = 32 };

/* In the format of the product's operands. */
static float rounded(tg_dtype dtype, float value) {
  uint32_t cell;
  tg_store_f32(&cell, dtype, 0, value);
  return tg_load_f32(&cell, dtype, 0);
}

typedef struct row {
  float maximum, sum;
  float *weights, *result; /* of a block; of all columns of V */
} row;

/* Element i into partial i mod 32, ascending; then partials 16, 8, 4, 2, 1 apart. */
static float row_sum(const float *x, int64_t count) {
  float partial[PARTIALS] = {0};
  for (int64_t i = 0; i < count; i++) partial[i % PARTIALS] += x[i];
  for (int apart = PARTIALS / 2; apart; apart /= 2)
    for (int i = 0; i < apart; i++) partial[i] += partial[i + apart];
  return partial[0];
}

/* `count` columns of scores x and as many rows of V, from v on. */
static void add_block(row *r, const float *x, int64_t count, const float *v, int64_t width, tg_dtype format) {
  float maximum = r->maximum;
  for (int64_t j = 0; j < count; j++) maximum = tg_reference_maximum(maximum, x[j]);
  for (int64_t j = 0; j < count; j++) r->weights[j] = (float)exp((double)(x[j] - maximum));
  float rescaled = (float)exp((double)(r->maximum - maximum));
  r->sum = fmaf(r->sum, rescaled, row_sum(r->weights, count));
  r->maximum = maximum;
  for (int64_t j = 0; j < count; j++) r->weights[j] = rounded(format, r->weights[j]);
  for (int64_t d = 0; d < width; d++) {
    float chain = 0;
    for (int64_t j = 0; j < count; j++) chain = fmaf(r->weights[j], v[j * width + d], chain);
    r->result[d] = fmaf(r->result[d], rescaled, chain);
  }
}

/* The element of `value`, of so many to each of the result's products, with which product number `index` begins. */
static int64_t first_of(const tg_value *value, const tg_value *y, int64_t index) {
  int64_t offset = 0, step = tg_value_elements_between(value, value->rank - 2, value->rank);
  for (int d = y->rank - 3; d >= 0; d--) {
    int own = d - (y->rank - value->rank);
    int64_t digit = index % y->dims[d].size;
    index /= y->dims[d].size;
    if (own < 0) continue;
    if (value->dims[own].size > 1) offset += digit * step;
    step *= value->dims[own].size;
  }
  return offset;
}

void tg_reference_blocked_attention(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0), *v = tg_in(node, 1), *y = tg_out(node);
  float *wx = tg_reference_widen(x, inputs[0]), *wv = tg_reference_widen(v, inputs[1]);
  int64_t rows = x->dims[x->rank - 2].size, columns = x->dims[x->rank - 1].size,
          width = v->dims[v->rank - 1].size, block = tg_attr_int(node, TG_ATTR_BLOCK),
          products = tg_value_elements_between(y, 0, y->rank - 2), wide = y->dims[y->rank - 1].size;
  row r = {.weights = tg_reference_scratch((size_t)block, sizeof(float)),
           .result = tg_reference_scratch((size_t)width + 1, sizeof(float))};
  for (int64_t p = 0; p < products; p++)
    for (int64_t m = 0; m < rows; m++) {
      const float *mx = wx + first_of(x, y, p) + m * columns, *mv = wv + first_of(v, y, p);
      r.maximum = -FLT_MAX;
      r.sum = 0;
      for (int64_t d = 0; d < width; d++) r.result[d] = 0;
      for (int64_t j = 0; j < columns; j += block)
        add_block(&r, mx + j, columns - j < block ? columns - j : block, mv + j * width, width, v->dtype);
      for (int64_t d = 0; d < wide; d++)
        tg_store_f32(output, y->dtype, (size_t)((p * rows + m) * wide + d),
                     d < width ? r.result[d] * (1 / r.sum) : r.maximum + (float)log((double)r.sum));
    }
  free(r.weights);
  free(r.result);
  free(wx);
  free(wv);
}
