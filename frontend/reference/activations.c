/* Activation functions and roundings to integers: in double precision, rounded once, but where single
 * operations define them. */
#include "frontend/reference/internal.h"

#include <math.h>

static double alpha_of(const tg_node *node) { return (double)(float)tg_attr_float(node, TG_ATTR_ALPHA); }

/* alpha (exp(x / scale) - 1) below zero. */
static float exponential(float x, double factor, double alpha, double scale) {
  double value = (double)x;
  if (x < 0) value = alpha * expm1(value / scale);
  return (float)(factor * value);
}

static float hard_sigmoid(float x, float alpha, float beta) {
  return tg_reference_minimum(tg_reference_maximum(fmaf(x, alpha, beta), 0.0f), 1.0f);
}

static double softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))); }

/* x tanh(log(1 + e^x)) with n / (n + 2), n = e^x (e^x + 2): nothing cancels far below zero. */
static float mish(float a) {
  double x = (double)a, e = exp(x), n = e * (e + 2);
  if (isinf(a)) return a > 0 ? a : -0.0f;
  return (float)(x > 20 ? x : x * (n / (n + 2)));
}

static float sign(float x) { return isnan(x) ? x : (float)((x > 0) - (x < 0)); }

float tg_reference_activation(const tg_node *node, float x, float slope) {
  switch (node->op) {
  case TG_OP_SIGN: return sign(x);
  case TG_OP_FLOOR: return floorf(x);
  case TG_OP_CEIL: return ceilf(x);
  case TG_OP_ROUND: return nearbyintf(x);
  case TG_OP_HARD_SIGMOID:
    return hard_sigmoid(x, (float)tg_attr_float(node, TG_ATTR_ALPHA),
                        (float)tg_attr_float(node, TG_ATTR_BETA));
  case TG_OP_HARD_SWISH: return x * hard_sigmoid(x, 1.0f / 6, 0.5f);
  case TG_OP_ELU: return exponential(x, 1, alpha_of(node), 1);
  case TG_OP_SELU:
    return exponential(x, (double)(float)tg_attr_float(node, TG_ATTR_GAMMA), alpha_of(node), 1);
  case TG_OP_CELU: return exponential(x, 1, alpha_of(node), alpha_of(node));
  case TG_OP_SOFTPLUS: return isnan(x) ? x : (float)softplus((double)x);
  case TG_OP_SOFTSIGN: return x / (1 + fabsf(x));
  case TG_OP_MISH: return mish(x);
  case TG_OP_PRELU: return x < 0 ? slope * x : x;
  case TG_OP_THRESHOLDED_RELU: return x > (float)tg_attr_float(node, TG_ATTR_ALPHA) ? x : 0.0f;
  default: return NAN;
  }
}
