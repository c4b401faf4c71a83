/* Elementwise operators of a few steps. */
#include "frontend/decompose/exact.h"

#include <math.h>

static tg_status check_floats(const tg_value *x, tg_diag *diag) {
  if (tg_dtype_is_float(x->dtype)) return TG_OK;
  return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
}

tg_status tg_make_is_nan(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  if (check_floats(x, diag)) return TG_INVALID;
  results[0] = not(b, tg_build_binary(b, TG_OP_EQUAL, x, x));
  return TG_OK;
}

tg_status tg_make_is_inf(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  bool low = tg_attr_int(node, TG_ATTR_DETECT_NEGATIVE) != 0,
       high = tg_attr_int(node, TG_ATTR_DETECT_POSITIVE) != 0;
  if (check_floats(x, diag)) return TG_INVALID;
  x = f32(b, x);
  if (low && high) x = tg_build_unary(b, TG_OP_ABS, x);
  results[0] = with(b, TG_OP_EQUAL, x, high ? INFINITY : -INFINITY);
  if (!low && !high) results[0] = both(b, results[0], not(b, results[0]));
  return TG_OK;
}

/* a - trunc(a / b) b, and b more where signs differ, if the remainder takes the sign of b. |quotient b| <= |a|: as a
 * node of its own the quotient's product would be bounded by what a and b could be alone. */
tg_status tg_make_mod(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y = tg_in(node, 1);
  if (x->dtype == y->dtype && tg_dtype_is_float(x->dtype) && tg_attr_int(node, TG_ATTR_FMOD)) {
    if (x->dtype == TG_F64)
      return tg_fail(diag, TG_INVALID, "decides by numbers in f64, which the array rounds to FP32");
    results[0] = tg_build_cast(b, tg_exact_remainder(b, f32(b, x), f32(b, y)), x->dtype);
    return TG_OK;
  }
  if (x->dtype != y->dtype || !tg_dtype_is_integer(x->dtype))
    return tg_fail(diag, TG_INVALID,
                   "element types %s and %s are not supported, only integers and, with fmod, floats are",
                   tg_dtype_name(x->dtype), tg_dtype_name(y->dtype));
  tg_value *left = tg_build_binary(b, TG_OP_REMAINDER, x, y);
  results[0] = left;
  if (tg_attr_int(node, TG_ATTR_FMOD)) return TG_OK;
  tg_value *differ = tg_build_binary(b, TG_OP_XOR, with(b, TG_OP_LESS, left, 0), with(b, TG_OP_LESS, y, 0));
  tg_value *exact = with(b, TG_OP_EQUAL, left, 0);
  results[0] = tg_build_where(b, both(b, differ, not(b, exact)), add(b, left, y), left);
  return TG_OK;
}

/* The bound that Clip has where none is given; NULL: none. */
static tg_value *largest(tg_build *b, const tg_value *x, bool negative) {
  if (!tg_dtype_is_float(x->dtype) || x->dtype == TG_F64) return NULL;
  double most = tg_largest_float(x->dtype);
  return tg_build_number_like(b, x, negative ? -most : most);
}

/* Bounds of integers, or such as arrive with a run. */
tg_status tg_make_clip(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y = x;
  for (int i = 1; i < 3; i++) {
    tg_value *bound = tg_in(node, i) ? tg_in(node, i) : largest(b, x, i == 1);
    if (!bound) continue;
    if (bound->dtype != x->dtype || x->dtype == TG_BOOL || tg_value_elements(bound) != 1)
      return tg_fail(diag, TG_INVALID, "%s is no single number of the data's type", i == 1 ? "min" : "max");
    y = tg_build_binary(b, i == 1 ? TG_OP_MAX : TG_OP_MIN, y, tg_build_reshape(b, bound, 0, NULL));
  }
  results[0] = y == x ? tg_build_unary(b, TG_OP_IDENTITY, x) : tg_build_cast(b, y, x->dtype);
  return TG_OK;
}

/* Of integers. */
/* Of integers. */
tg_status tg_make_prelu(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *slope = tg_in(node, 1);
  if (x->dtype == TG_BOOL || slope->dtype != x->dtype)
    return tg_fail(diag, TG_INVALID, "element types %s and %s are not supported here",
                   tg_dtype_name(x->dtype), tg_dtype_name(slope->dtype));
  tg_value *sloped = mul(b, x, slope);
  if (!b->failed && !tg_value_same_shape(sloped, x))
    return tg_fail(diag, TG_INVALID, "its slope does not fit into the data's shape");
  results[0] = tg_build_where(b, with(b, TG_OP_LESS, x, 0), sloped, x);
  return TG_OK;
}

tg_status tg_make_relu(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  if (x->dtype == TG_BOOL) return tg_fail(diag, TG_INVALID, "element type bool is not supported here");
  results[0] = with(b, TG_OP_MAX, x, 0);
  return TG_OK;
}

tg_status tg_make_shrink(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  double bias = tg_attr_float(node, TG_ATTR_BIAS), lambd = tg_attr_float(node, TG_ATTR_LAMBD);
  if (check_floats(x, diag)) return TG_INVALID;
  tg_value *y = tg_build_where(b, with(b, TG_OP_GREATER, x, lambd), plus(b, x, -bias), tg_build_number(b, 0));
  y = tg_build_where(b, with(b, TG_OP_LESS, x, -lambd), plus(b, x, bias), y);
  results[0] = tg_build_cast(b, y, x->dtype);
  return TG_OK;
}

static tg_value *swish(tg_build *b, tg_value *x, double alpha) {
  tg_value *scaled = alpha == 1 ? x : times(b, x, alpha);
  return tg_build_cast(b, mul(b, x, tg_build_unary(b, TG_OP_SIGMOID, scaled)), x->dtype);
}

tg_status tg_make_swish(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  if (check_floats(x, diag)) return TG_INVALID;
  results[0] = swish(b, x, tg_attr_float(node, TG_ATTR_ALPHA));
  return TG_OK;
}

tg_status tg_make_swiglu(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y = tg_in(node, 1);
  if (check_floats(x, diag)) return TG_INVALID;
  if (x->dtype != y->dtype || !tg_value_same_shape(x, y))
    return tg_fail(diag, TG_INVALID, "A and B differ in shape or type");
  results[0] = tg_build_cast(b, mul(b, swish(b, x, tg_attr_float(node, TG_ATTR_ALPHA)), y), x->dtype);
  return TG_OK;
}
