/* MatMul, Gemm, Conv: each result element is one chain of fused multiply-adds from +0, k ascending; of a
 * MatMul with partials the sum of several. */
#include "frontend/reference/internal.h"

#include <math.h>
#include <stdlib.h>

/* sum over k of a[k * a_step] * b[k * b_step] */
static float chain(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k_count) {
  float acc = 0;
  for (int64_t k = 0; k < k_count; k++) acc = fmaf(a[k * a_step], b[k * b_step], acc);
  return acc;
}

/* The sum of the chains of `partials` parts of K, as tg_partial_length cuts it. */
static float sum_of_chains(const float *a, const float *b, int64_t b_step, int64_t k_count,
                           int64_t partials) {
  if (partials == 1) return chain(a, 1, b, b_step, k_count);
  int64_t length = tg_partial_length(k_count, partials);
  float sum = 0;
  for (int64_t k = 0; k < k_count; k += length)
    sum += chain(a + k, 1, b + k * b_step, b_step, k_count - k < length ? k_count - k : length);
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

void tg_reference_matmul(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *a = tg_in(node, 0), *b = tg_in(node, 1), *y = tg_out(node);
  float *wa = tg_reference_widen(a, inputs[0]), *wb = tg_reference_widen(b, inputs[1]);
  int64_t k_count = a->dims[a->rank - 1].size;
  int64_t m_count = a->rank > 1 ? a->dims[a->rank - 2].size : 1,
          n_count = b->rank > 1 ? b->dims[b->rank - 1].size : 1;
  int64_t partials = tg_attr_int(node, TG_ATTR_PARTIALS);
  int batches = y->rank - (a->rank > 1) - (b->rank > 1);
  int64_t batch_count = tg_value_elements_between(y, 0, batches);
  size_t at = 0;
  for (int64_t batch = 0; batch < batch_count; batch++) {
    const float *ma = wa + batch_offset(a, y, batches, batch) * m_count * k_count;
    const float *mb = wb + batch_offset(b, y, batches, batch) * k_count * n_count;
    for (int64_t m = 0; m < m_count; m++)
      for (int64_t n = 0; n < n_count; n++)
        tg_store_f32(output, y->dtype, at++,
                     sum_of_chains(ma + m * k_count, mb + n, n_count, k_count, partials));
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
      if (c) value += beta * element_of_c(c, wc, m, n);
      tg_store_f32(output, y->dtype, (size_t)(m * n_count + n), value);
    }
  free(wa);
  free(wb);
  free(wc);
}

/* A convolution with both layouts as strides: data [n][c][h][w], weights [out][in][kh][kw]. One spatial
 * dimension is two with a unit height. */
typedef struct conv {
  const float *x, *w;
  int64_t xs[4], ws[4];
  int64_t height, width, in_of_group, out_of_group, kh, kw;
  int64_t stride[2], dilation[2], pad[2];
} conv;

static float conv_element(const conv *c, int64_t n, int64_t out, int64_t oh, int64_t ow) {
  int64_t group = out / c->out_of_group;
  float acc = 0;
  for (int64_t kh = 0; kh < c->kh; kh++)
    for (int64_t kw = 0; kw < c->kw; kw++)
      for (int64_t i = 0; i < c->in_of_group; i++) {
        int64_t h = oh * c->stride[0] - c->pad[0] + kh * c->dilation[0];
        int64_t w = ow * c->stride[1] - c->pad[1] + kw * c->dilation[1];
        bool inside = h >= 0 && h < c->height && w >= 0 && w < c->width;
        int64_t channel = group * c->in_of_group + i;
        float x = inside ? c->x[n * c->xs[0] + channel * c->xs[1] + h * c->xs[2] + w * c->xs[3]] : 0.0f;
        acc = fmaf(x, c->w[out * c->ws[0] + i * c->ws[1] + kh * c->ws[2] + kw * c->ws[3]], acc);
      }
  return acc;
}

static void read_conv(const tg_node *node, conv *c) {
  const tg_value *x = tg_in(node, 0), *w = tg_in(node, 1);
  bool last = tg_attr_int(node, TG_ATTR_CHANNELS_LAST), flat = x->rank == 3;
  int64_t dx[4], dw[4]; /* in the order n c h w, out in kh kw */
  static const int nhwc[] = {0, 3, 1, 2}, kkio[] = {3, 2, 0, 1}, plain[] = {0, 1, 2, 3};
  static const int nwc[] = {0, 2, -1, 1}, kio[] = {2, 1, -1, 0}, line[] = {0, 1, -1, 2};
  const int *px = flat ? (last ? nwc : line) : last ? nhwc : plain;
  const int *pw = flat ? (last ? kio : line) : last ? kkio : plain;
  for (int i = 0; i < 4; i++) {
    dx[i] = px[i] < 0 ? 1 : x->dims[px[i]].size;
    dw[i] = pw[i] < 0 ? 1 : w->dims[pw[i]].size;
    c->xs[i] = px[i] < 0 ? 0 : tg_value_elements_between(x, px[i] + 1, x->rank);
    c->ws[i] = pw[i] < 0 ? 0 : tg_value_elements_between(w, pw[i] + 1, w->rank);
  }
  c->height = dx[2], c->width = dx[3], c->kh = dw[2], c->kw = dw[3], c->in_of_group = dw[1];
  c->out_of_group = dw[0] / tg_attr_int(node, TG_ATTR_GROUP);
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  const int64_t *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  for (int i = 0; i < 2; i++) {
    bool unit = flat && !i;
    c->stride[i] = unit ? 1 : strides[i - flat];
    c->dilation[i] = unit ? 1 : dilations[i - flat];
    c->pad[i] = unit ? 0 : pads[i - flat];
  }
}

void tg_reference_conv(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *bias = tg_in(node, 2), *y = tg_out(node);
  float *x = tg_reference_widen(tg_in(node, 0), inputs[0]),
        *w = tg_reference_widen(tg_in(node, 1), inputs[1]);
  conv c = {.x = x, .w = w};
  read_conv(node, &c);
  bool last = tg_attr_int(node, TG_ATTR_CHANNELS_LAST), flat = y->rank == 3;
  int64_t batches = y->dims[0].size, outs = y->dims[last ? y->rank - 1 : 1].size;
  int first = last ? 1 : 2;
  int64_t rows = flat ? 1 : y->dims[first].size, columns = y->dims[first + !flat].size;
  for (int64_t n = 0; n < batches; n++)
    for (int64_t o = 0; o < outs; o++)
      for (int64_t oh = 0; oh < rows; oh++)
        for (int64_t ow = 0; ow < columns; ow++) {
          float value = conv_element(&c, n, o, oh, ow);
          if (bias) value += tg_load_f32(inputs[2], bias->dtype, (size_t)o);
          int64_t at = last ? ((n * rows + oh) * columns + ow) * outs + o
                            : ((n * outs + o) * rows + oh) * columns + ow;
          tg_store_f32(output, y->dtype, (size_t)at, value);
        }
  free(x);
  free(w);
}
