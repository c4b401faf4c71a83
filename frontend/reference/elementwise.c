#include "frontend/reference/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By erfc, which keeps the relative error small where x is far below zero; the limit there is -0. */
static float gelu(float a, bool by_tanh) {
  double x = (double)a;
  if (isinf(a)) return a > 0 ? a : -0.0f;
  if (by_tanh) return (float)(x / (1 + exp(-2 * 0.79788456080286536 * (x + 0.044715 * x * x * x))));
  return (float)(0.5 * x * erfc(-x * 0.70710678118654752));
}

static float gelu_derivative(float a) {
  double x = (double)a, density = 0.39894228040143268 * exp(-0.5 * x * x);
  return (float)(0.5 * erfc(-x * 0.70710678118654752) + (density > 0 ? x * density : 0));
}

static float apply(const tg_node *node, float a, float b) {
  switch (node->op) {
  case TG_OP_ADD:
  case TG_OP_SUM:
  case TG_OP_MEAN: return a + b;
  case TG_OP_SUB: return a - b;
  case TG_OP_MUL: return a * b;
  case TG_OP_DIV: return a / b;
  case TG_OP_MAX: return tg_reference_maximum(a, b);
  case TG_OP_MIN: return tg_reference_minimum(a, b);
  case TG_OP_RELU: return tg_reference_maximum(a, 0.0f);
  case TG_OP_SIGMOID: return (float)(1 / (1 + exp(-(double)a)));
  case TG_OP_TANH: return (float)tanh((double)a);
  case TG_OP_EXP: return (float)exp((double)a);
  case TG_OP_SQRT: return sqrtf(a);
  case TG_OP_LOG: return (float)log((double)a);
  case TG_OP_ERF: return (float)erf((double)a);
  case TG_OP_GELU: return gelu(a, !strcmp(tg_attr_text(node, TG_ATTR_APPROXIMATE), "tanh"));
  case TG_OP_GELU_DERIVATIVE: return gelu_derivative(a);
  case TG_OP_RECIPROCAL: return 1 / a;
  case TG_OP_POW: return (float)pow((double)a, (double)b);
  case TG_OP_LEAKY_RELU: return a < 0 ? (float)tg_attr_float(node, TG_ATTR_ALPHA) * a : a;
  case TG_OP_CLIP:
    return tg_reference_minimum(tg_reference_maximum(a, (float)tg_attr_float(node, TG_ATTR_MIN)),
                                (float)tg_attr_float(node, TG_ATTR_MAX));
  case TG_OP_NEG: return -a;
  case TG_OP_ABS: return fabsf(a);
  default: return tg_reference_activation(node, a, b);
  }
}

/* What shapes are computed with; of other operators FP32 has the last word, also for float64. */
static bool apply_double(tg_op op, double a, double b, double *out) {
  switch (op) {
  case TG_OP_ADD:
  case TG_OP_SUM: *out = a + b; return true;
  case TG_OP_SUB: *out = a - b; return true;
  case TG_OP_MUL: *out = a * b; return true;
  case TG_OP_DIV: *out = a / b; return true;
  case TG_OP_MAX: *out = isnan(a) || a > b ? a : b; return true;
  case TG_OP_MIN: *out = isnan(a) || a < b ? a : b; return true;
  case TG_OP_POW: *out = pow(a, b); return true;
  case TG_OP_NEG: *out = -a; return true;
  case TG_OP_ABS: *out = fabs(a); return true;
  case TG_OP_SQRT: *out = sqrt(a); return true;
  case TG_OP_RECIPROCAL: *out = 1 / a; return true;
  case TG_OP_FLOOR: *out = floor(a); return true;
  case TG_OP_CEIL: *out = ceil(a); return true;
  case TG_OP_ROUND: *out = nearbyint(a); return true;
  default: return false;
  }
}

/* The element that a walk stands at; it goes on to the next. */
static double next_double(tg_broadcast_walk *walk) {
  size_t at = walk->at;
  tg_broadcast_step(walk);
  return ((const double *)walk->data)[at];
}

static int64_t next_integer(tg_broadcast_walk *walk) {
  size_t at = walk->at;
  tg_broadcast_step(walk);
  return tg_load_i64(walk->data, walk->dtype, at);
}

static float next_float(tg_broadcast_walk *walk) {
  size_t at = walk->at;
  tg_broadcast_step(walk);
  return tg_load_f32(walk->data, walk->dtype, at);
}

/* False: not an operator of doubles. */
static bool doubles(const tg_node *node, const void *const *inputs, double *output) {
  const tg_value *y = tg_out(node);
  int64_t count = tg_value_elements(y);
  double ignored;
  if (!apply_double(node->op, 0, 0, &ignored)) return false;
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i)->dtype != TG_F64) return false;
  tg_broadcast_walk *walks = tg_broadcast_walks(node, inputs);
  for (int64_t e = 0; e < count; e++) {
    double value = next_double(&walks[0]);
    if (node->input_count == 1 && tg_op_is(node->op, TG_IS_UNARY)) apply_double(node->op, value, 0, &value);
    for (int i = 1; i < node->input_count; i++) apply_double(node->op, value, next_double(&walks[i]), &value);
    output[e] = value;
  }
  free(walks);
  return true;
}

/* Where the sign of two's complement matters. */
static uint64_t apply_unsigned(tg_op op, uint64_t a, uint64_t b) {
  switch (op) {
  case TG_OP_DIV: return b ? a / b : 0;
  case TG_OP_REMAINDER: return b ? a % b : 0;
  case TG_OP_MAX: return a > b ? a : b;
  case TG_OP_MIN: return a < b ? a : b;
  case TG_OP_SIGN: return a > 0;
  default: return a;
  }
}

/* Shape arithmetic: two's complement, division by zero gives 0. */
static int64_t apply_integer(tg_op op, tg_dtype dtype, int64_t a, int64_t b) {
  if (dtype == TG_U64 &&
      (op == TG_OP_DIV || op == TG_OP_REMAINDER || op == TG_OP_MAX || op == TG_OP_MIN || op == TG_OP_SIGN))
    return (int64_t)apply_unsigned(op, (uint64_t)a, (uint64_t)b);
  switch (op) {
  case TG_OP_ADD:
  case TG_OP_SUM: return (int64_t)((uint64_t)a + (uint64_t)b);
  case TG_OP_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
  case TG_OP_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
  case TG_OP_DIV: return !b ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
  case TG_OP_REMAINDER: return !b || b == -1 ? 0 : a % b;
  case TG_OP_MAX: return a > b ? a : b;
  case TG_OP_MIN: return a < b ? a : b;
  case TG_OP_NEG: return (int64_t)(0 - (uint64_t)a);
  case TG_OP_ABS: return a < 0 && dtype != TG_U64 ? (int64_t)(0 - (uint64_t)a) : a;
  case TG_OP_SIGN: return (a > 0) - (a < 0);
  default: return 0;
  }
}

static void integers(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  int64_t count = tg_value_elements(y);
  tg_broadcast_walk *walks = tg_broadcast_walks(node, inputs);
  for (int64_t e = 0; e < count; e++) {
    int64_t value = next_integer(&walks[0]);
    if (node->input_count == 1)
      value = tg_op_is(node->op, TG_IS_UNARY) ? apply_integer(node->op, y->dtype, value, 0) : value;
    for (int i = 1; i < node->input_count; i++)
      value = apply_integer(node->op, y->dtype, value, next_integer(&walks[i]));
    tg_store_i64(output, y->dtype, (size_t)e, value);
  }
  free(walks);
}

/* Negate and abs are bit operations: they keep the payload of a NaN. */
static void change_sign(const tg_node *node, const void *input, void *output) {
  size_t count = (size_t)tg_value_elements(tg_out(node)), size = tg_dtype_size(tg_out(node)->dtype);
  unsigned char *bytes = output;
  if (count) memcpy(output, input, count * size);
  for (size_t i = 0; i < count; i++) {
    unsigned char *top =
        &bytes[i * size + size - 1]; /* little-endian: the sign is the highest bit of the last byte */
    *top = node->op == TG_OP_NEG ? *top ^ 0x80 : *top & 0x7f;
  }
}

void tg_reference_elementwise(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  if (tg_op_is(node->op, TG_IS_COMPARE | TG_IS_LOGIC) || node->op == TG_OP_WHERE) {
    tg_reference_logic(node, inputs, output);
    return;
  }
  if (tg_dtype_is_integer(y->dtype)) {
    integers(node, inputs, output);
    return;
  }
  if ((node->op == TG_OP_NEG || node->op == TG_OP_ABS) && tg_in(node, 0)->dtype == y->dtype) {
    change_sign(node, inputs[0], output);
    return;
  }
  if (y->dtype == TG_F64 && doubles(node, inputs, output)) return;
  int64_t count = tg_value_elements(y);
  bool unary = tg_op_is(node->op, TG_IS_UNARY);
  tg_broadcast_walk *walks = tg_broadcast_walks(node, inputs);
  for (int64_t e = 0; e < count; e++) {
    float value = next_float(&walks[0]);
    if (unary) value = apply(node, value, 0);
    for (int i = 1; i < node->input_count; i++) value = apply(node, value, next_float(&walks[i]));
    if (node->op == TG_OP_MEAN) value *= 1.0f / (float)node->input_count;
    tg_store_f32(output, y->dtype, (size_t)e, value);
  }
  free(walks);
}
