/* Conv and its gradients: each result element is one chain of fused multiply-adds from +0. */
#include "frontend/reference/internal.h"

#include <math.h>
#include <stdlib.h>

/* A tensor with its layout as strides, of data in the order n c h w, of weights out in kh kw. One spatial
 * dimension is two, the first of extent 1. */
typedef struct layout {
  int64_t size[4], stride[4];
} layout;

/* Dimension of the tensor for each of the four, -1: there is none. */
static layout layout_of(const tg_value *value, bool weights, bool channels_last) {
  static const int orders[2][2][2][4] = {
      {{{0, 1, 2, 3}, {0, 3, 1, 2}}, {{0, 1, -1, 2}, {0, 2, -1, 1}}},  /* data */
      {{{0, 1, 2, 3}, {3, 2, 0, 1}}, {{0, 1, -1, 2}, {2, 1, -1, 0}}}}; /* weights */
  const int *order = orders[weights][value->rank == 3][channels_last];
  layout l;
  for (int i = 0; i < 4; i++) {
    l.size[i] = order[i] < 0 ? 1 : value->dims[order[i]].size;
    l.stride[i] = order[i] < 0 ? 0 : tg_value_elements_between(value, order[i] + 1, value->rank);
  }
  return l;
}

static int64_t at(const layout *l, int64_t a, int64_t b, int64_t c, int64_t d) {
  return a * l->stride[0] + b * l->stride[1] + c * l->stride[2] + d * l->stride[3];
}

/* A convolution, whichever of its tensors is the result. */
typedef struct conv {
  const float *x, *w, *dy;
  layout image, weights, result; /* of x or dX, w or dW, y or dY */
  int64_t in_of_group, out_of_group;
  int64_t stride[2], dilation[2], pad[2];
} conv;

static conv conv_of(const tg_node *node, const tg_value *x, const tg_value *w, const tg_value *y) {
  bool last = tg_attr_find(node, TG_ATTR_CHANNELS_LAST) && tg_attr_int(node, TG_ATTR_CHANNELS_LAST);
  conv c = {.image = layout_of(x, false, last),
            .weights = layout_of(w, true, last),
            .result = layout_of(y, false, last)};
  c.in_of_group = c.weights.size[1];
  c.out_of_group = c.weights.size[0] / tg_attr_int(node, TG_ATTR_GROUP);
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  bool flat = x->rank == 3;
  for (int i = 0; i < 2; i++) {
    bool unit = flat && !i;
    c.stride[i] = unit ? 1 : strides[i - flat];
    c.dilation[i] = unit ? 1 : dilations[i - flat];
    c.pad[i] = unit ? 0 : pads[i - flat];
  }
  return c;
}

/* +0 outside. */
static float pixel(const float *data, const layout *l, int64_t n, int64_t channel, int64_t h, int64_t w) {
  bool inside = h >= 0 && h < l->size[2] && w >= 0 && w < l->size[3];
  return inside ? data[at(l, n, channel, h, w)] : 0.0f;
}

/* k in the order kh, kw, input channel. */
static float conv_element(const conv *c, int64_t n, int64_t out, int64_t oh, int64_t ow) {
  int64_t group = out / c->out_of_group;
  float acc = 0;
  for (int64_t kh = 0; kh < c->weights.size[2]; kh++)
    for (int64_t kw = 0; kw < c->weights.size[3]; kw++)
      for (int64_t i = 0; i < c->in_of_group; i++) {
        int64_t h = oh * c->stride[0] - c->pad[0] + kh * c->dilation[0];
        int64_t w = ow * c->stride[1] - c->pad[1] + kw * c->dilation[1];
        float x = pixel(c->x, &c->image, n, group * c->in_of_group + i, h, w);
        acc = fmaf(x, c->w[at(&c->weights, out, i, kh, kw)], acc);
      }
  return acc;
}

/* The window whose position k lies at image coordinate i; false where none begins there. */
static bool window_at(const conv *c, int d, int64_t i, int64_t k, int64_t *out) {
  int64_t from = i + c->pad[d] - k * c->dilation[d];
  *out = from / c->stride[d];
  return from % c->stride[d] == 0;
}

/* Windows in ascending order, so kernel positions in descending order, then output channels. Of the positions
 * at which windows can begin, those where none does count as padding: +0. */
static float input_gradient_element(const conv *c, int64_t n, int64_t in, int64_t h, int64_t w) {
  int64_t group = in / c->in_of_group, oh, ow;
  float acc = 0;
  for (int64_t kh = c->weights.size[2] - 1; kh >= 0; kh--)
    for (int64_t kw = c->weights.size[3] - 1; kw >= 0; kw--) {
      if (!window_at(c, 0, h, kh, &oh) || !window_at(c, 1, w, kw, &ow)) continue;
      for (int64_t o = group * c->out_of_group; o < (group + 1) * c->out_of_group; o++)
        acc = fmaf(pixel(c->dy, &c->result, n, o, oh, ow),
                   c->w[at(&c->weights, o, in % c->in_of_group, kh, kw)], acc);
    }
  return acc;
}

/* Pixels in the order n, oh, ow. */
static float weight_gradient_element(const conv *c, int64_t out, int64_t in, int64_t kh, int64_t kw) {
  int64_t channel = out / c->out_of_group * c->in_of_group + in;
  float acc = 0;
  for (int64_t n = 0; n < c->image.size[0]; n++)
    for (int64_t oh = 0; oh < c->result.size[2]; oh++)
      for (int64_t ow = 0; ow < c->result.size[3]; ow++) {
        int64_t h = oh * c->stride[0] - c->pad[0] + kh * c->dilation[0];
        int64_t w = ow * c->stride[1] - c->pad[1] + kw * c->dilation[1];
        acc = fmaf(pixel(c->x, &c->image, n, channel, h, w), c->dy[at(&c->result, n, out, oh, ow)], acc);
      }
  return acc;
}

typedef float element_of(const conv *c, int64_t a, int64_t b, int64_t y, int64_t x);

/* All elements of a tensor of layout `l`; channel `b` has a bias. */
static void store_all(const tg_node *node, const conv *c, const layout *l, element_of *element,
                      const void *bias, void *output) {
  tg_dtype dtype = tg_out(node)->dtype;
  for (int64_t a = 0; a < l->size[0]; a++)
    for (int64_t b = 0; b < l->size[1]; b++)
      for (int64_t y = 0; y < l->size[2]; y++)
        for (int64_t x = 0; x < l->size[3]; x++) {
          float value = element(c, a, b, y, x);
          if (bias) value += tg_load_f32(bias, tg_in(node, 2)->dtype, (size_t)b);
          tg_store_f32(output, dtype, (size_t)at(l, a, b, y, x), value);
        }
}

void tg_reference_conv(const tg_node *node, const void *const *inputs, void *output) {
  float *x = tg_reference_widen(tg_in(node, 0), inputs[0]),
        *w = tg_reference_widen(tg_in(node, 1), inputs[1]);
  conv c = conv_of(node, tg_in(node, 0), tg_in(node, 1), tg_out(node));
  c.x = x;
  c.w = w;
  store_all(node, &c, &c.result, conv_element, tg_in(node, 2) ? inputs[2] : NULL, output);
  free(x);
  free(w);
}

void tg_reference_conv_input_gradient(const tg_node *node, const void *const *inputs, void *output) {
  float *dy = tg_reference_widen(tg_in(node, 0), inputs[0]),
        *w = tg_reference_widen(tg_in(node, 1), inputs[1]);
  conv c = conv_of(node, tg_out(node), tg_in(node, 1), tg_in(node, 0));
  c.dy = dy;
  c.w = w;
  store_all(node, &c, &c.image, input_gradient_element, tg_in(node, 2) ? inputs[2] : NULL, output);
  free(dy);
  free(w);
}

void tg_reference_conv_weight_gradient(const tg_node *node, const void *const *inputs, void *output) {
  float *x = tg_reference_widen(tg_in(node, 0), inputs[0]),
        *dy = tg_reference_widen(tg_in(node, 1), inputs[1]);
  conv c = conv_of(node, tg_in(node, 0), tg_out(node), tg_in(node, 1));
  c.x = x;
  c.dy = dy;
  store_all(node, &c, &c.weights, weight_gradient_element, NULL, output);
  free(x);
  free(dy);
}
