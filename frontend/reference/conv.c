/* Conv and its gradients: each result element is one chain of fused multiply-adds from +0. */
#include "frontend/reference/layout.h"

#include <math.h>
#include <stdlib.h>

/* A convolution, whichever of its tensors is the result. */
typedef struct conv {
  const float *x, *w, *dy;
  tg_layout image, weights, result; /* of x or dX, w or dW, y or dY */
  int64_t in_of_group, out_of_group;
  tg_window_steps steps;
} conv;

static conv conv_of(const tg_node *node, const tg_value *x, const tg_value *w, const tg_value *y) {
  bool last = tg_is_channels_last(node);
  conv c = {.image = tg_layout_of(x, false, last),
            .weights = tg_layout_of(w, true, last),
            .result = tg_layout_of(y, false, last),
            .steps = tg_window_steps_of(node, x->rank)};
  c.in_of_group = c.weights.size[1];
  c.out_of_group = c.weights.size[0] / tg_attr_int(node, TG_ATTR_GROUP);
  return c;
}

/* +0 outside. */
static float pixel(const float *data, const tg_layout *l, int64_t n, int64_t channel, int64_t h, int64_t w) {
  bool inside = h >= 0 && h < l->size[2] && w >= 0 && w < l->size[3];
  return inside ? data[tg_layout_at(l, n, channel, h, w)] : 0.0f;
}

/* k in the order kh, kw, input channel. */
static float conv_element(const conv *c, int64_t n, int64_t out, int64_t oh, int64_t ow) {
  int64_t group = out / c->out_of_group;
  float acc = 0;
  for (int64_t kh = 0; kh < c->weights.size[2]; kh++)
    for (int64_t kw = 0; kw < c->weights.size[3]; kw++)
      for (int64_t i = 0; i < c->in_of_group; i++) {
        int64_t h = oh * c->steps.stride[0] - c->steps.pad[0] + kh * c->steps.dilation[0];
        int64_t w = ow * c->steps.stride[1] - c->steps.pad[1] + kw * c->steps.dilation[1];
        float x = pixel(c->x, &c->image, n, group * c->in_of_group + i, h, w);
        acc = fmaf(x, c->w[tg_layout_at(&c->weights, out, i, kh, kw)], acc);
      }
  return acc;
}

/* The window whose position k lies at image coordinate i; false where none begins there. */
static bool window_at(const conv *c, int d, int64_t i, int64_t k, int64_t *out) {
  int64_t from = i + c->steps.pad[d] - k * c->steps.dilation[d];
  *out = from / c->steps.stride[d];
  return from % c->steps.stride[d] == 0;
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
                   c->w[tg_layout_at(&c->weights, o, in % c->in_of_group, kh, kw)], acc);
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
        int64_t h = oh * c->steps.stride[0] - c->steps.pad[0] + kh * c->steps.dilation[0];
        int64_t w = ow * c->steps.stride[1] - c->steps.pad[1] + kw * c->steps.dilation[1];
        acc = fmaf(pixel(c->x, &c->image, n, channel, h, w), c->dy[tg_layout_at(&c->result, n, out, oh, ow)],
                   acc);
      }
  return acc;
}

typedef float element_of(const conv *c, int64_t a, int64_t b, int64_t y, int64_t x);

/* All elements of a tensor of layout `l`; channel `b` has a bias. */
static void store_all(const tg_node *node, const conv *c, const tg_layout *l, element_of *element,
                      const void *bias, void *output) {
  tg_dtype dtype = tg_out(node)->dtype;
  for (int64_t a = 0; a < l->size[0]; a++)
    for (int64_t b = 0; b < l->size[1]; b++)
      for (int64_t y = 0; y < l->size[2]; y++)
        for (int64_t x = 0; x < l->size[3]; x++) {
          float value = element(c, a, b, y, x);
          if (bias) value += tg_load_f32(bias, tg_in(node, 2)->dtype, (size_t)b);
          tg_store_f32(output, dtype, (size_t)tg_layout_at(l, a, b, y, x), value);
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
