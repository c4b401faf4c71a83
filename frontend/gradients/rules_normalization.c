/* Gradients of softmax and the normalisations. */
#include "frontend/build/centred.h"
#include "frontend/gradients/rules.h"

#include <string.h>

/* The dimensions that a softmax runs over. */
static unsigned softmax_axes(const tg_node *node) {
  unsigned axis = 1u << tg_attr_int(node, TG_ATTR_AXIS);
  unsigned all = (1u << tg_out(node)->rank) - 1;
  return tg_attr_int(node, TG_ATTR_FLATTEN) ? all & ~(axis - 1) : axis;
}

void tg_gradient_softmax(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node), *sum = tg_build_sum(&w->build, tg_mul(w, dy, y), softmax_axes(node));
  tg_backward_give(w, 0, tg_mul(w, y, tg_sub(w, dy, sum)));
}

void tg_gradient_log_softmax(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *sum = tg_build_sum(&w->build, dy, softmax_axes(node));
  tg_backward_give(w, 0, tg_sub(w, dy, tg_mul(w, tg_unary(w, TG_OP_EXP, tg_out(node)), sum)));
}

/* --- normalisations */

static double elements_over(const tg_value *x, unsigned axes) {
  double count = 1;
  for (int i = 0; i < x->rank; i++)
    if (axes >> i & 1) count *= (double)x->dims[i].size;
  return count;
}

static tg_value *mean_over(tg_backward *w, tg_value *x, unsigned axes) {
  double count = elements_over(x, axes);
  return tg_scaled(w, tg_build_sum(&w->build, x, axes), 1 / count);
}

/* 1 / sqrt(variance + epsilon) */
static tg_value *inverse_deviation(tg_backward *w, tg_value *variance, double epsilon) {
  return tg_unary(w, TG_OP_RECIPROCAL, tg_unary(w, TG_OP_SQRT, tg_plus(w, variance, epsilon)));
}

/* r (h - mean h - Z mean(h Z)) */
static tg_value *centred(tg_backward *w, tg_value *h, tg_value *z, tg_value *r, unsigned axes) {
  tg_value *first = mean_over(w, h, axes), *second = mean_over(w, tg_mul(w, h, z), axes);
  return tg_mul(w, r, tg_sub(w, tg_sub(w, h, first), tg_mul(w, z, second)));
}

void tg_gradient_layer_normalization(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0), *scale = tg_in(node, 1);
  unsigned axes = ((1u << x->rank) - 1) & ~((1u << tg_attr_int(node, TG_ATTR_AXIS)) - 1);
  tg_value *d = tg_sub(w, x, mean_over(w, x, axes));
  tg_value *r =
      inverse_deviation(w, mean_over(w, tg_mul(w, d, d), axes), tg_attr_float(node, TG_ATTR_EPSILON));
  tg_value *z = tg_mul(w, d, r);
  if (tg_backward_wants(w, 0)) tg_backward_give(w, 0, centred(w, tg_mul(w, dy, scale), z, r, axes));
  if (tg_backward_wants(w, 1)) tg_backward_give(w, 1, tg_mul(w, dy, z));
  tg_backward_give(w, 2, dy);
}

/* As batch_statistics.c made it. */
static bool is_of_batch(const tg_value *statistic) {
  const char *origin = statistic->producer ? statistic->producer->origin : NULL;
  return origin && !strcmp(origin, "batch_norm");
}

static bool is_wanted(const tg_backward *w, const tg_value *value) {
  return value->index < w->value_count && w->wanted[value->index];
}

/* Mean and variance are those of the batch (batch_statistics.c), and depend on X; or given. Of each
 * element as little as goes without taking its distance from the mean apart: factors are those of
 * channels. */
void tg_gradient_batch_normalization(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0);
  unsigned axes = ((1u << x->rank) - 1) & ~2u;
  int64_t sizes[TG_MAX_RANK] = {x->dims[1].size, 1, 1, 1, 1, 1, 1, 1};
  tg_value *statistic[3];
  static const int operand[] = {1, 3, 4};
  for (int i = 0; i < 3; i++)
    statistic[i] = tg_build_reshape(&w->build, tg_in(node, operand[i]), x->rank - 1, sizes);
  tg_value *r = inverse_deviation(w, statistic[2], tg_attr_float(node, TG_ATTR_EPSILON));
  tg_value *d = tg_sub(w, x, statistic[1]);
  double share = 1 / elements_over(x, axes);
  tg_value *sum = tg_build_sum(&w->build, dy, axes),
           *product = tg_mul(w, tg_build_sum(&w->build, tg_mul(w, dy, d), axes), r);
  tg_value *flat_sum = tg_build_reshape(&w->build, sum, 1, sizes);
  tg_value *flat_product = tg_build_reshape(&w->build, product, 1, sizes);
  bool frozen = !is_of_batch(tg_in(node, 3)) && !is_of_batch(tg_in(node, 4));
  if (frozen && (is_wanted(w, tg_in(node, 3)) || is_wanted(w, tg_in(node, 4))))
    w->refusal = "statistics that are given have no gradient";
  if (frozen) {
    tg_backward_give(w, 0, tg_mul(w, tg_mul(w, statistic[0], r), dy));
  } else if (tg_backward_wants(w, 0)) {
    tg_value *slope = tg_mul(w, r, tg_scaled(w, product, share));
    tg_value *pull = tg_add(w, tg_scaled(w, sum, share), tg_mul(w, d, slope));
    tg_value *dx = tg_mul(w, tg_mul(w, statistic[0], r), tg_sub(w, dy, pull));
    tg_centred_note(&w->build, dx, axes);
    tg_backward_give(w, 0, dx);
  }
  tg_backward_give(w, 1, flat_product);
  tg_backward_give(w, 2, flat_sum);
}
