/* Operators on the bits of integers, as steps in FP32 that are exact. */
#include "frontend/decompose/compose.h"
#include "frontend/infer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { EXACT_BITS = 24 };

static tg_value *if_true(tg_build *b, tg_value *condition, double number) {
  return tg_build_where(b, condition, tg_build_number(b, number), tg_build_number(b, 0));
}

static tg_value *at_least(tg_build *b, tg_value *x, double number) {
  return with(b, TG_OP_GREATER_OR_EQUAL, x, number);
}

/* In FP32; what is computed of a run's integers is held below 2^24 by the sum (integers.h). NaN, which stands for what
 * is not, is taken for 0 here: or_inexact puts it back. */
static tg_value *exactly(tg_build *b, tg_value *x) {
  tg_value *number = f32(b, plus(b, x, 0));
  if (tg_is_constant(x)) return number;
  return tg_build_where(b, tg_build_binary(b, TG_OP_EQUAL, number, number), number, tg_build_number(b, 0));
}

/* Of `bits`, the result; where an operand is NaN, which stands for what is not exact (integers.h), so is the result. */
static tg_value *or_inexact(tg_build *b, const tg_node *node, tg_value *bits) {
  tg_value *result = tg_build_cast(b, bits, tg_in(node, 0)->dtype);
  for (int i = 0; i < 2; i++) {
    if (tg_is_constant(tg_in(node, i))) continue;
    tg_value *x = plus(b, tg_in(node, i), 0), *number = f32(b, x);
    result = tg_build_where(b, tg_build_binary(b, TG_OP_EQUAL, number, number), result, x);
  }
  return result;
}

/* --- of constants, in 64 bits --- */

static bool is_known(const tg_value *x) { return tg_is_constant(x) && !x->elided; }

static int64_t position_in(const tg_value *x, int64_t index, int rank, const int64_t *sizes) {
  int64_t at = 0, stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    int64_t place = index % sizes[d];
    int own = d - (rank - x->rank);
    index /= sizes[d];
    if (own < 0) continue;
    at += x->dims[own].size == 1 ? 0 : place * stride;
    stride *= x->dims[own].size;
  }
  return at;
}

static uint64_t combined(const tg_node *node, uint64_t x, uint64_t y, int bits) {
  bool left = node->op == TG_OP_BIT_SHIFT && !strcmp(tg_attr_text(node, TG_ATTR_DIRECTION), "LEFT");
  switch (node->op) {
  case TG_OP_BITWISE_AND: return x & y;
  case TG_OP_BITWISE_OR: return x | y;
  case TG_OP_BITWISE_XOR: return x ^ y;
  default: return y >= (uint64_t)bits ? 0 : left ? x << y : x >> y;
  }
}

/* The result of two constants; NULL: one is none, or they do not broadcast, which who computes them refuses. */
static tg_value *of_constants(tg_build *b, const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *y = tg_in(node, 1);
  int64_t left[TG_MAX_RANK], right[TG_MAX_RANK], sizes[TG_MAX_RANK];
  int rank;
  if (!is_known(x) || !is_known(y)) return NULL;
  tg_value_sizes(x, left);
  tg_value_sizes(y, right);
  if (!tg_broadcast(x->rank, left, y->rank, right, &rank, sizes)) return NULL;
  tg_value *made = tg_build_made(b, x->dtype, rank, sizes);
  if (b->failed) return made;
  for (int64_t i = 0; i < tg_value_elements(made); i++) {
    uint64_t p = (uint64_t)tg_load_i64(x->data, x->dtype, (size_t)position_in(x, i, rank, sizes)),
             q = (uint64_t)tg_load_i64(y->data, y->dtype, (size_t)position_in(y, i, rank, sizes));
    tg_store_i64((void *)made->data, x->dtype, (size_t)i,
                 (int64_t)combined(node, p, q, tg_dtype_bits(x->dtype)));
  }
  return made;
}

/* --- of what a run computes --- */

/* What a run computes the integers pass looks after; a constant's sum with 0 is one, too, and is rounded. */
static tg_status check_constant(const tg_value *x, tg_diag *diag) {
  int64_t count = tg_is_constant(x) ? tg_value_elements(x) : 0;
  if (count && x->elided) return tg_fail(diag, TG_INVALID, "a constant operand has no values");
  for (int64_t i = 0; i < count; i++) {
    int64_t number = tg_load_i64(x->data, x->dtype, (size_t)i);
    if (number <= -(1 << EXACT_BITS) || number >= 1 << EXACT_BITS)
      return tg_fail(diag, TG_INVALID, "a constant holds %" PRId64 ", whose bits FP32 does not hold", number);
  }
  return TG_OK;
}

static tg_status check_constants(const tg_node *node, tg_diag *diag) {
  tg_status status = check_constant(tg_in(node, 0), diag);
  return status ? status : check_constant(tg_in(node, 1), diag);
}

/* --- shifts --- */

/* x 2^y, a bit of y at a time: powers of two keep all digits. */
tg_status tg_make_bit_shift(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_dtype dtype = tg_in(node, 0)->dtype;
  const char *direction = tg_attr_text(node, TG_ATTR_DIRECTION);
  bool left = !strcmp(direction, "LEFT");
  int bits = tg_dtype_bits(dtype);
  if (!left && strcmp(direction, "RIGHT"))
    return tg_fail(diag, TG_INVALID, "direction \"%s\" is neither LEFT nor RIGHT", direction);
  if (dtype != tg_in(node, 1)->dtype || tg_dtype_is_signed(dtype) || !tg_dtype_is_integer(dtype))
    return tg_fail(diag, TG_INVALID, "element types %s and %s are not supported, only unsigned integers are",
                   tg_dtype_name(dtype), tg_dtype_name(tg_in(node, 1)->dtype));
  if ((results[0] = of_constants(b, node))) return TG_OK;
  if (check_constants(node, diag)) return TG_INVALID;
  tg_value *x = exactly(b, tg_in(node, 0)), *y = exactly(b, tg_in(node, 1)), *rest = y;
  for (int step = 32; step; step /= 2) {
    tg_value *has = at_least(b, rest, step);
    x = mul(b, x,
            tg_build_where(b, has, tg_build_number(b, ldexp(1, left ? step : -step)), tg_build_number(b, 1)));
    rest = sub(b, rest, if_true(b, has, step));
  }
  if (left) /* modulo 2^bits */
    x = sub(b, x, times(b, tg_build_unary(b, TG_OP_FLOOR, times(b, x, ldexp(1, -bits))), ldexp(1, bits)));
  else
    x = tg_build_unary(b, TG_OP_FLOOR, x);
  x = tg_build_where(b, at_least(b, y, bits), tg_build_number(b, 0), x);
  results[0] = or_inexact(b, node, x);
  return TG_OK;
}

/* --- bits of two numbers --- */

/* An integer as a sign, worth -2^bits, and its lower bits. */
typedef struct digits {
  tg_value *negative; /* NULL: the type has no sign */
  tg_value *rest;
} digits;

static digits digits_of(tg_build *b, tg_value *x, int bits) {
  bool is_signed = tg_dtype_is_signed(x->dtype);
  tg_value *wide = exactly(b, x);
  if (!is_signed) return (digits){NULL, wide};
  tg_value *negative = with(b, TG_OP_LESS, wide, 0);
  return (digits){negative, add(b, wide, if_true(b, negative, ldexp(1, bits)))};
}

static tg_value *next_bit(tg_build *b, tg_value **rest, int bit) {
  tg_value *has = at_least(b, *rest, ldexp(1, bit));
  *rest = sub(b, *rest, if_true(b, has, ldexp(1, bit)));
  return has;
}

static int bits_below_sign(tg_dtype dtype) {
  int bits = tg_dtype_bits(dtype) - (tg_dtype_is_signed(dtype) ? 1 : 0);
  return bits < EXACT_BITS ? bits : EXACT_BITS;
}

tg_status tg_make_bitwise(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_op op = node->op == TG_OP_BITWISE_AND ? TG_OP_AND : node->op == TG_OP_BITWISE_OR ? TG_OP_OR : TG_OP_XOR;
  tg_dtype dtype = tg_in(node, 0)->dtype;
  if (dtype != tg_in(node, 1)->dtype || !tg_dtype_is_integer(dtype))
    return tg_fail(diag, TG_INVALID, "element types %s and %s are not supported, only integers are",
                   tg_dtype_name(dtype), tg_dtype_name(tg_in(node, 1)->dtype));
  if ((results[0] = of_constants(b, node))) return TG_OK;
  if (check_constants(node, diag)) return TG_INVALID;
  int bits = bits_below_sign(dtype);
  digits x = digits_of(b, tg_in(node, 0), bits), y = digits_of(b, tg_in(node, 1), bits);
  tg_value *sum =
      x.negative ? if_true(b, tg_build_binary(b, op, x.negative, y.negative), -ldexp(1, bits)) : NULL;
  for (int bit = bits - 1; bit >= 0; bit--) {
    tg_value *left = next_bit(b, &x.rest, bit), *right = next_bit(b, &y.rest, bit);
    tg_value *one = if_true(b, tg_build_binary(b, op, left, right), ldexp(1, bit));
    sum = sum ? add(b, sum, one) : one;
  }
  results[0] = or_inexact(b, node, sum);
  return TG_OK;
}

tg_status tg_make_bitwise_not(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  bool is_signed = tg_dtype_is_signed(x->dtype);
  if (tg_dtype_is_integer(x->dtype) && is_known(x)) {
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(x, sizes);
    results[0] = tg_build_made(b, x->dtype, x->rank, sizes);
    if (b->failed) return TG_OK;
    for (size_t i = 0; i < (size_t)tg_value_elements(x); i++)
      tg_store_i64((void *)results[0]->data, x->dtype, i, ~tg_load_i64(x->data, x->dtype, i));
    return TG_OK;
  }
  if (!tg_dtype_is_integer(x->dtype) || (!is_signed && tg_dtype_size(x->dtype) > 2))
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
  double most = is_signed ? -1 : ldexp(1, tg_dtype_bits(x->dtype)) - 1;
  results[0] = sub(b, tg_build_number_like(b, x, most), x);
  return TG_OK;
}

/* Integers of one size are each other's Cast; bits of floats are none that the array has, but of constants. */
tg_status tg_make_bit_cast(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  tg_dtype to = tg_dtype_from_onnx(tg_attr_int(node, TG_ATTR_TO));
  bool counts = tg_dtype_is_integer(to) && (tg_dtype_is_integer(x->dtype) || x->dtype == TG_BOOL);
  if (to == x->dtype) return results[0] = tg_build_unary(b, TG_OP_IDENTITY, x), TG_OK;
  if (is_known(x) && to && to != TG_BOOL && x->dtype != TG_BOOL &&
      tg_dtype_bits(to) == tg_dtype_bits(x->dtype)) {
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(x, sizes);
    results[0] = tg_build_constant(b, to, x->rank, sizes, x->data);
    return TG_OK;
  }
  if (!counts || tg_dtype_bits(to) != tg_dtype_bits(x->dtype))
    return tg_fail(diag, TG_INVALID,
                   "the bits of %s as those of %s are not supported, only of integers of one size",
                   tg_dtype_name(x->dtype), tg_dtype_name(to));
  results[0] = tg_build_cast(b, x, to);
  return TG_OK;
}
