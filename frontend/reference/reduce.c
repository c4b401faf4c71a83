/* Pooling, softmax, normalisation: sums in double, rounded once. */
#include "frontend/reference/internal.h"

#include <math.h>
#include <stdlib.h>

/* Running maximum (NaN stays) or sum of a window. */
typedef struct reduction {
  bool takes_maximum;
  float maximum;
  double sum;
  int64_t count;
} reduction;

static void add_element(reduction *r, float x) {
  if (isnan(x) || isnan(r->maximum))
    r->maximum = NAN;
  else if (x > r->maximum || (x == r->maximum && !signbit(x)))
    r->maximum = x;
  r->sum += (double)x;
  r->count++;
}

static float finish(const reduction *r) {
  return r->takes_maximum ? r->maximum : (float)(r->sum / (double)r->count);
}

/* Spatial geometry with one dimension as two, the first of unit height. */
typedef struct pool {
  const float *x;
  int64_t channels, height, width, xs_n, xs_c, xs_h, xs_w;
  int64_t kernel[2], stride[2], dilation[2], begin[2], end[2];
  bool counts_padding, takes_maximum;
} pool;

/* With count_include_pad the divisor counts the elements of data and padding, but not what ceil_mode adds
 * beyond. */
static float pool_element(const pool *p, int64_t n, int64_t c, int64_t oh, int64_t ow) {
  reduction r = {p->takes_maximum, -INFINITY, 0, 0};
  int64_t counted = 0;
  for (int64_t kh = 0; kh < p->kernel[0]; kh++)
    for (int64_t kw = 0; kw < p->kernel[1]; kw++) {
      int64_t h = oh * p->stride[0] - p->begin[0] + kh * p->dilation[0];
      int64_t w = ow * p->stride[1] - p->begin[1] + kw * p->dilation[1];
      if (h < p->height + p->end[0] && w < p->width + p->end[1]) counted++;
      if (h < 0 || h >= p->height || w < 0 || w >= p->width) continue;
      add_element(&r, p->x[n * p->xs_n + c * p->xs_c + h * p->xs_h + w * p->xs_w]);
    }
  if (p->counts_padding) r.count = counted;
  return finish(&r);
}

static void read_pool(const tg_node *node, pool *p) {
  const tg_value *x = tg_in(node, 0);
  bool last = tg_attr_int(node, TG_ATTR_CHANNELS_LAST), flat = x->rank == 3;
  int channel = last ? x->rank - 1 : 1, first = last ? 1 : 2, w = flat ? first : first + 1;
  p->channels = x->dims[channel].size;
  p->height = flat ? 1 : x->dims[first].size;
  p->width = x->dims[w].size;
  p->xs_n = tg_value_elements_between(x, 1, x->rank);
  p->xs_c = tg_value_elements_between(x, channel + 1, x->rank);
  p->xs_h = flat ? 0 : tg_value_elements_between(x, first + 1, x->rank);
  p->xs_w = tg_value_elements_between(x, w + 1, x->rank);
  int rank = x->rank - 2;
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL);
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  const int64_t *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  for (int i = 0; i < 2; i++) {
    bool unit = flat && !i;
    p->kernel[i] = unit ? 1 : kernel[i - flat];
    p->stride[i] = unit ? 1 : strides[i - flat];
    p->dilation[i] = unit ? 1 : dilations[i - flat];
    p->begin[i] = unit ? 0 : pads[i - flat];
    p->end[i] = unit ? 0 : pads[rank + i - flat];
  }
}

void tg_reference_pool(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  float *x = tg_reference_widen(tg_in(node, 0), inputs[0]);
  pool p = {.x = x, .takes_maximum = node->op == TG_OP_MAX_POOL};
  p.counts_padding = !p.takes_maximum && tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD);
  read_pool(node, &p);
  bool last = tg_attr_int(node, TG_ATTR_CHANNELS_LAST), flat = y->rank == 3;
  int first = last ? 1 : 2;
  int64_t batches = y->dims[0].size, rows = flat ? 1 : y->dims[first].size,
          columns = y->dims[first + !flat].size;
  for (int64_t n = 0; n < batches; n++)
    for (int64_t c = 0; c < p.channels; c++)
      for (int64_t oh = 0; oh < rows; oh++)
        for (int64_t ow = 0; ow < columns; ow++) {
          int64_t at = last ? ((n * rows + oh) * columns + ow) * p.channels + c
                            : ((n * p.channels + c) * rows + oh) * columns + ow;
          tg_store_f32(output, y->dtype, (size_t)at, pool_element(&p, n, c, oh, ow));
        }
  free(x);
}

void tg_reference_global_pool(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  int64_t planes = tg_value_elements_between(x, 0, 2), plane = tg_value_elements_between(x, 2, x->rank);
  for (int64_t p = 0; p < planes; p++) {
    reduction r = {node->op == TG_OP_GLOBAL_MAX_POOL, -INFINITY, 0, 0};
    for (int64_t i = 0; i < plane; i++)
      add_element(&r, tg_load_f32(inputs[0], x->dtype, (size_t)(p * plane + i)));
    tg_store_f32(output, y->dtype, (size_t)p, finish(&r));
  }
}

/* One row of `count` elements, `step` apart. */
static void softmax_row(const tg_node *node, const float *x, int64_t count, int64_t step, void *output,
                        int64_t first) {
  reduction r = {true, -INFINITY, 0, 0};
  for (int64_t i = 0; i < count; i++) add_element(&r, x[i * step]);
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += exp((double)x[i * step] - (double)r.maximum);
  for (int64_t i = 0; i < count; i++) {
    double below = (double)x[i * step] - (double)r.maximum;
    double value = node->op == TG_OP_LOG_SOFTMAX ? below - log(sum) : exp(below) / sum;
    tg_store_f32(output, tg_out(node)->dtype, (size_t)(first + i * step), (float)value);
  }
}

void tg_reference_softmax(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *value = tg_in(node, 0);
  float *x = tg_reference_widen(value, inputs[0]);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  int end = tg_attr_int(node, TG_ATTR_FLATTEN) ? value->rank : axis + 1;
  int64_t outer = tg_value_elements_between(value, 0, axis),
          count = tg_value_elements_between(value, axis, end);
  int64_t inner = tg_value_elements_between(value, end, value->rank);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++) {
      int64_t first = o * count * inner + i;
      softmax_row(node, x + first, count, inner, output, first);
    }
  free(x);
}

/* Mean and biased variance of channel c over the batch. */
static void batch_statistics(const tg_value *x, const void *data, int64_t c, double *mean, double *variance) {
  int64_t channels = x->dims[1].size, plane = tg_value_elements_between(x, 2, x->rank),
          count = x->dims[0].size * plane;
  double sum = 0, squares = 0;
  for (int64_t pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < count; i++) {
      double value =
          (double)tg_load_f32(data, x->dtype, (size_t)((i / plane * channels + c) * plane + i % plane));
      if (pass)
        squares += (value - *mean) * (value - *mean);
      else
        sum += value;
    }
    *mean = sum / (double)count;
  }
  *variance = squares / (double)count;
}

void tg_reference_batch_normalization(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  int64_t channels = x->dims[1].size, plane = tg_value_elements_between(x, 2, x->rank);
  double epsilon = tg_attr_float(node, TG_ATTR_EPSILON);
  for (int64_t c = 0; c < channels && tg_value_elements(x); c++) {
    double scale = (double)tg_load_f32(inputs[1], tg_in(node, 1)->dtype, (size_t)c);
    double bias = (double)tg_load_f32(inputs[2], tg_in(node, 2)->dtype, (size_t)c);
    double mean = (double)tg_load_f32(inputs[3], tg_in(node, 3)->dtype, (size_t)c);
    double variance = (double)tg_load_f32(inputs[4], tg_in(node, 4)->dtype, (size_t)c);
    if (tg_attr_int(node, TG_ATTR_TRAINING_MODE)) batch_statistics(x, inputs[0], c, &mean, &variance);
    for (int64_t i = 0; i < x->dims[0].size * plane; i++) {
      size_t at = (size_t)((i / plane * channels + c) * plane + i % plane);
      double value = (double)tg_load_f32(inputs[0], x->dtype, at);
      tg_store_f32(output, y->dtype, at, (float)((value - mean) / sqrt(variance + epsilon) * scale + bias));
    }
  }
}

/* In FP32 also where the machine rounds to BF16: its random numbers are the run's. */
void tg_reference_reduce_partials(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  int64_t partials = x->dims[0].size, elements = tg_value_elements(y);
  for (int64_t e = 0; e < elements; e++) {
    float sum = 0;
    for (int64_t i = 0; i < partials; i++)
      sum += tg_load_f32(inputs[0], x->dtype, (size_t)(i * elements + e));
    tg_store_f32(output, y->dtype, (size_t)e, sum);
  }
}

void tg_reference_layer_normalization(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *value = tg_in(node, 0), *y = tg_out(node), *bias = tg_in(node, 2);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  int64_t rows = tg_value_elements_between(value, 0, axis),
          count = tg_value_elements_between(value, axis, value->rank);
  double epsilon = tg_attr_float(node, TG_ATTR_EPSILON);
  float *x = tg_reference_widen(value, inputs[0]);
  for (int64_t r = 0; r < rows; r++) {
    const float *row = x + r * count;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < count; i++) mean += (double)row[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
      variance += ((double)row[i] - mean) * ((double)row[i] - mean) / (double)count;
    for (int64_t i = 0; i < count; i++) {
      double scale = (double)tg_load_f32(inputs[1], tg_in(node, 1)->dtype, (size_t)i),
             shift = bias ? (double)tg_load_f32(inputs[2], bias->dtype, (size_t)i) : 0;
      tg_store_f32(output, y->dtype, (size_t)(r * count + i),
                   (float)(((double)row[i] - mean) / sqrt(variance + epsilon) * scale + shift));
    }
  }
  free(x);
}
