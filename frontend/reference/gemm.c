/* MatMul, Gemm: each result element is one chain of fused multiply-adds from +0, k ascending; of a
 * MatMul with partials the sum of several. */
#include "frontend/reference/internal.h"

#include "frontend/base/float_formats.h"
#include "frontend/base/stochastic.h"

#include <math.h>
#include <stdlib.h>

/* sum over k of a[k * a_step] * b[k * b_step] */
static float chain(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k_count) {
  float acc = 0;
  for (int64_t k = 0; k < k_count; k++) acc = fmaf(a[k * a_step], b[k * b_step], acc);
  return acc;
}

/* How a MatMul adds partial products. */
typedef struct summing {
  int64_t partials;
  bool rounds;
  uint32_t key;
} summing;

static summing summing_of(const tg_node *node, const tg_reference_draw *draw) {
  return (summing){tg_attr_int(node, TG_ATTR_PARTIALS), tg_rounds_sums(node),
                   tg_sr_key(draw->seed, draw->step, (uint32_t)node->id)};
}

/* s_i: the number drawn belongs to reduction index i, row 0, and the element's index as column. */
static float rounded_sum(const summing *how, float sum, int64_t i, int64_t element) {
  uint32_t tile = tg_sr_tile_key(how->key, (uint32_t)i);
  uint32_t r = tg_sr_r16(tg_sr_row_hash(tile, 0), tg_sr_col_hash(tile, (uint32_t)element));
  return tg_bits_f32(tg_bf16_to_f32(tg_bf16_stochastic(tg_f32_bits(sum), r)));
}

/* The sum of the chains of the parts of K, as tg_partial_length cuts it. */
static float sum_of_chains(const summing *how, const float *a, const float *b, int64_t b_step,
                           int64_t k_count, int64_t element) {
  if (how->partials == 1) return chain(a, 1, b, b_step, k_count);
  int64_t length = tg_partial_length(k_count, how->partials);
  float sum = 0;
  for (int64_t i = 0; i * length < k_count; i++) {
    int64_t k = i * length, count = k_count - k < length ? k_count - k : length;
    sum += chain(a + k, 1, b + k * b_step, b_step, count);
    if (how->rounds) sum = rounded_sum(how, sum, i, element);
  }
  return sum;
}

/* Offset in matrices of the operand that batch index `batch` of the result reads, with broadcasting. */
static int64_t batch_offset(const tg_value *operand, const tg_value *result, int result_batches,
                            int64_t batch) {
  int64_t offset = 0, step = 1;
  int batches = operand->rank > 2 ? operand->rank - 2 : 0;
  for (int i = 1; i <= batches; i++) {
    int64_t size = operand->dims[batches - i].size, whole = result->dims[result_batches - i].size;
    offset += (size == 1 ? 0 : batch % whole) * step;
    step *= size;
    batch /= whole;
  }
  return offset;
}

void tg_reference_matmul(const tg_node *node, const tg_reference_draw *draw, const void *const *inputs,
                         void *output) {
  const tg_value *a = tg_in(node, 0), *b = tg_in(node, 1), *y = tg_out(node);
  float *wa = tg_reference_widen(a, inputs[0]), *wb = tg_reference_widen(b, inputs[1]);
  int64_t k_count = a->dims[a->rank - 1].size;
  int64_t m_count = a->rank > 1 ? a->dims[a->rank - 2].size : 1,
          n_count = b->rank > 1 ? b->dims[b->rank - 1].size : 1;
  summing how = summing_of(node, draw);
  int batches = y->rank - (a->rank > 1) - (b->rank > 1);
  int64_t batch_count = tg_value_elements_between(y, 0, batches);
  size_t at = 0;
  for (int64_t batch = 0; batch < batch_count; batch++) {
    const float *ma = wa + batch_offset(a, y, batches, batch) * m_count * k_count;
    const float *mb = wb + batch_offset(b, y, batches, batch) * k_count * n_count;
    for (int64_t m = 0; m < m_count; m++)
      for (int64_t n = 0; n < n_count; n++, at++)
        tg_store_f32(output, y->dtype, at,
                     sum_of_chains(&how, ma + m * k_count, mb + n, n_count, k_count, (int64_t)at));
  }
  free(wa);
  free(wb);
}

/* C broadcast to [M, N]. */
static float element_of_c(const tg_value *c, const float *wc, int64_t m, int64_t n) {
  int64_t columns = c->rank ? c->dims[c->rank - 1].size : 1, rows = c->rank > 1 ? c->dims[0].size : 1;
  return wc[(rows == 1 ? 0 : m) * columns + (columns == 1 ? 0 : n)];
}

void tg_reference_gemm(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *a = tg_in(node, 0), *b = tg_in(node, 1), *c = tg_in(node, 2), *y = tg_out(node);
  float *wa = tg_reference_widen(a, inputs[0]), *wb = tg_reference_widen(b, inputs[1]);
  float *wc = c ? tg_reference_widen(c, inputs[2]) : NULL;
  bool ta = tg_attr_int(node, TG_ATTR_TRANS_A), tb = tg_attr_int(node, TG_ATTR_TRANS_B);
  float alpha = (float)tg_attr_float(node, TG_ATTR_ALPHA), beta = (float)tg_attr_float(node, TG_ATTR_BETA);
  int64_t m_count = y->dims[0].size, n_count = y->dims[1].size, k_count = a->dims[ta ? 0 : 1].size;
  for (int64_t m = 0; m < m_count; m++)
    for (int64_t n = 0; n < n_count; n++) {
      float product = chain(ta ? wa + m : wa + m * k_count, ta ? m_count : 1, tb ? wb + n * k_count : wb + n,
                            tb ? 1 : n_count, k_count);
      float value = alpha * product;
      if (c && beta != 0) value += beta * element_of_c(c, wc, m, n);
      tg_store_f32(output, y->dtype, (size_t)(m * n_count + n), value);
    }
  free(wa);
  free(wb);
  free(wc);
}
