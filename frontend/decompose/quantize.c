/* Quantized tensors: integers of at most 16 bits as whole numbers in FP32, which is exact while sums stay below 2^24. */
#include "frontend/decompose/quantize.h"

#include "frontend/decompose/narrow.h"

#include <inttypes.h>
#include <math.h>

/* The numbers of a type of at most 16 bits. */
static bool range_of(tg_dtype dtype, double *low, double *high) {
  if (!tg_dtype_is_integer(dtype) || tg_dtype_size(dtype) > 2) return false;
  double span = ldexp(1, tg_dtype_bits(dtype));
  bool is_signed = tg_dtype_is_signed(dtype);
  *low = is_signed ? -span / 2 : 0;
  *high = is_signed ? span / 2 - 1 : span - 1;
  return true;
}

/* A scale or zero point as it lies beside x: one for all, for each position of the axis, or for each block of
 * positions. */
static tg_value *beside(tg_build *b, tg_value *value, const tg_value *x, int axis, int64_t block) {
  if (tg_value_elements(value) == 1 && value->rank <= 1) return tg_build_reshape(b, value, 0, NULL);
  int64_t sizes[TG_MAX_RANK];
  if (value->rank == 1) {
    for (int d = 0; d < x->rank; d++) sizes[d] = d == axis ? value->dims[0].size : 1;
    return tg_build_reshape(b, value, x->rank, sizes);
  }
  int64_t wide[TG_MAX_RANK + 1];
  for (int d = 0; d <= x->rank; d++)
    wide[d] = d <= axis ? value->dims[d].size : d == axis + 1 ? block : value->dims[d - 1].size;
  tg_value_sizes(value, sizes);
  sizes[axis] *= block;
  tg_value *y = tg_build_reshape(
      b, tg_build_expand(b, tg_build_insert(b, value, axis + 1), x->rank + 1, wide), x->rank, sizes);
  return sizes[axis] > x->dims[axis].size ? tg_build_slice(b, y, axis, 0, x->dims[axis].size, 1) : y;
}

static tg_status check_beside(const tg_node *node, const tg_value *value, const tg_value *x, int *axis,
                              int64_t *block, tg_diag *diag) {
  *axis = 0;
  *block = tg_attr_int(node, TG_ATTR_BLOCK_SIZE);
  if (tg_value_elements(value) == 1 && value->rank <= 1) return TG_OK;
  if (tg_compose_axis(node, x->rank, axis, diag)) return TG_INVALID;
  bool fits = value->rank == 1 ? value->dims[0].size == x->dims[*axis].size
                               : value->rank == x->rank && x->rank < TG_MAX_RANK;
  for (int d = 0; fits && value->rank > 1 && d < x->rank; d++)
    if (d != *axis) fits = value->dims[d].size == x->dims[d].size;
  if (fits && value->rank > 1) {
    int64_t size = x->dims[*axis].size, blocks = value->dims[*axis].size;
    fits = *block > 0 ? blocks == (size + *block - 1) / *block : blocks > 0 && size % blocks == 0;
    if (fits && !*block) *block = size / blocks;
  }
  return fits ? TG_OK : tg_fail(diag, TG_INVALID, "the scale does not fit axis %d", *axis);
}

static tg_status check_pair(const tg_value *scale, const tg_value *zero, tg_diag *diag) {
  if (!(tg_dtype_is_float(scale->dtype) || scale->dtype == TG_F8E8M0) || !tg_value_elements(scale))
    return tg_fail(diag, TG_INVALID, "the scale is empty or no float");
  if (zero && !tg_value_same_shape(zero, scale) &&
      (tg_value_elements(zero) != 1 || tg_value_elements(scale) != 1))
    return tg_fail(diag, TG_INVALID, "the zero point does not have the scale's shape");
  return TG_OK;
}

tg_value *tg_quantized(tg_build *b, tg_value *x, tg_value *zero, tg_dtype dtype) {
  double low, high;
  range_of(dtype, &low, &high);
  tg_value *y = tg_build_unary(b, TG_OP_ROUND, x);
  if (zero) y = add(b, y, f32(b, zero));
  y = with(b, TG_OP_MAX, y, low);
  return tg_build_cast(b, with(b, TG_OP_MIN, y, high), dtype);
}

tg_status tg_make_quantize(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *scale = tg_in(node, 1), *zero = tg_in(node, 2);
  int64_t asked = tg_attr_int(node, TG_ATTR_OUTPUT_DTYPE), block;
  tg_dtype dtype = zero ? zero->dtype : asked ? tg_dtype_from_onnx(asked) : TG_U8;
  double low, high;
  int axis;
  if (check_pair(scale, zero, diag) || check_beside(node, scale, x, &axis, &block, diag)) return TG_INVALID;
  bool narrow = tg_dtype_is_narrow(dtype) && dtype != TG_F8E8M0;
  if ((!narrow && !range_of(dtype, &low, &high)) || (zero && asked && tg_dtype_from_onnx(asked) != dtype))
    return tg_fail(diag, TG_INVALID, "only results of at most 16 bits are supported");
  if (!tg_dtype_is_float(x->dtype)) return tg_fail(diag, TG_INVALID, "its data are no floats");
  tg_value *y = tg_exact_quotient(b, f32(b, x), f32(b, beside(b, scale, x, axis, block)));
  if (narrow) { /* whose zero point is 0 */
    if (zero) y = add(b, y, f32(b, beside(b, zero, x, axis, block)));
    results[0] = tg_converted(b, y, dtype, tg_attr_int(node, TG_ATTR_SATURATE) != 0, TG_ROUND_UP);
    return TG_OK;
  }
  results[0] = tg_quantized(b, y, zero ? beside(b, zero, x, axis, block) : NULL, dtype);
  return TG_OK;
}

tg_status tg_make_dequantize(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *scale = tg_in(node, 1), *zero = tg_in(node, 2);
  int64_t asked = tg_attr_int(node, TG_ATTR_OUTPUT_DTYPE), block;
  tg_dtype dtype = asked ? tg_dtype_from_onnx(asked) : scale->dtype;
  int axis;
  if (check_pair(scale, zero, diag) || check_beside(node, scale, x, &axis, &block, diag)) return TG_INVALID;
  bool numbers = tg_dtype_is_integer(x->dtype) || tg_dtype_is_narrow(x->dtype);
  if (!numbers || (zero && zero->dtype != x->dtype) || !tg_dtype_is_float(dtype))
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
  tg_value *y = f32(b, x);
  if (zero) y = sub(b, y, f32(b, beside(b, zero, x, axis, block)));
  results[0] = tg_build_cast(b, mul(b, y, f32(b, beside(b, scale, x, axis, block))), dtype);
  return TG_OK;
}

/* What a scale of 0, of nothing but zeros, is taken for: ONNX divides 0 by 0. */
static tg_value *divisor_of(tg_build *b, tg_value *scale) {
  return tg_build_where(b, with(b, TG_OP_EQUAL, scale, 0), tg_build_number(b, 1), scale);
}

void tg_dynamic_range(tg_build *b, tg_value *x, tg_value **out_scale, tg_value **out_zero) {
  unsigned all = (1u << x->rank) - 1;
  tg_value *high = x->rank ? tg_build_reshape(b, tg_build_reduce(b, TG_OP_REDUCE_MAX, x, all), 0, NULL) : x,
           *low = x->rank ? tg_build_reshape(b, tg_build_reduce(b, TG_OP_REDUCE_MIN, x, all), 0, NULL) : x;
  high = with(b, TG_OP_MAX, high, 0);
  low = with(b, TG_OP_MIN, low, 0);
  tg_value *scale = tg_exact_quotient(b, sub(b, high, low), tg_build_number(b, 255));
  *out_scale =
      tg_build_where(b, with(b, TG_OP_EQUAL, scale, 0), tg_build_number(b, 1), scale); /* all zeros */
  tg_value *zero = tg_exact_quotient(b, tg_build_unary(b, TG_OP_NEG, low), divisor_of(b, *out_scale));
  *out_zero = tg_quantized(b, zero, NULL, TG_U8);
}

tg_value *tg_dynamically_quantized(tg_build *b, tg_value *x, tg_value *scale, tg_value *zero) {
  return tg_quantized(b, tg_exact_quotient(b, x, divisor_of(b, scale)), zero, TG_U8);
}

tg_status tg_make_dynamic_quantize(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  if (x->dtype != TG_F32 || !tg_value_elements(x))
    return tg_fail(diag, TG_INVALID, "its data is empty or not FP32");
  tg_dynamic_range(b, x, &results[1], &results[2]);
  results[0] = tg_dynamically_quantized(b, x, results[1], results[2]);
  return TG_OK;
}

/* --- products --- */

/* What the elements less the zero point, of 8 bits, can be at most in magnitude. */
static double magnitude(const tg_value *x, const tg_value *zero) {
  double low = 0, high = 0, most = 0;
  if (!range_of(x->dtype, &low, &high) || tg_dtype_size(x->dtype) != 1) return INFINITY;
  if (!zero) return fmax(-low, high);
  if (!tg_is_constant(zero) || zero->elided) return high - low;
  for (int64_t i = 0; i < tg_value_elements(zero); i++) {
    double z = (double)tg_load_i64(zero->data, zero->dtype, (size_t)i);
    most = fmax(most, fmax(z - low, high - z));
  }
  return most;
}

/* Sums of products of x and the terms' weights in parts that are exact, of a multiple of `step` terms; 0: there are
 * none. */
static int exact_parts(const tg_value *x, const tg_value *zero, const tg_terms *terms, int64_t step,
                       int64_t *ends, tg_diag *diag) {
  int parts = tg_exact_parts(terms, step, magnitude(x, zero), magnitude(terms->weights, terms->zero), ends);
  if (!parts)
    tg_fail(diag, TG_INVALID,
            "sums of %" PRId64 " products of %s and %s may pass 2^24: they would not be exact", terms->count,
            tg_dtype_name(x->dtype), tg_dtype_name(terms->weights->dtype));
  return parts;
}

/* Along which dimension a zero point of several elements counts. */
static tg_value *less_zero(tg_build *b, tg_value *x, tg_value *zero, int axis) {
  tg_value *y = f32(b, x);
  return zero ? sub(b, y, f32(b, beside(b, zero, x, axis, 0))) : y;
}

static tg_status check_zero(const tg_value *zero, const tg_value *x, int axis, tg_diag *diag) {
  if (!zero || (zero->rank <= 1 && tg_value_elements(zero) == 1)) return TG_OK;
  if (zero->rank == 1 && axis >= 0 && axis < x->rank && zero->dims[0].size == x->dims[axis].size)
    return TG_OK;
  return tg_fail(diag, TG_INVALID, "a zero point or scale does not fit");
}

static tg_value *exact_matmul(tg_build *b, tg_value *a, tg_value *w) {
  tg_value *y = tg_build_matmul(b, a, w);
  if (y->producer && y->producer->op == TG_OP_MATMUL)
    tg_attr_set_int(y->producer, TG_ATTR_ACCUMULATION, TG_ACCUMULATE_FP32);
  return y;
}

tg_value *tg_integer_product(tg_build *b, const tg_integer_pair *p, int *out_parts, tg_diag *diag) {
  int64_t ends[TG_MOST_PARTS];
  int last = p->x->rank - 1, rows = p->w->rank > 1 ? p->w->rank - 2 : 0;
  tg_terms terms = {p->w, p->zero_w, tg_value_elements_between(p->w, 0, rows), p->w->dims[rows].size,
                    tg_value_elements_between(p->w, rows + 1, p->w->rank)};
  if (check_zero(p->zero_x, p->x, last - 1, diag) || check_zero(p->zero_w, p->w, p->w->rank - 1, diag))
    return NULL;
  int count = *out_parts = exact_parts(p->x, p->zero_x, &terms, 1, ends, diag);
  tg_value *a = less_zero(b, p->x, p->zero_x, last - 1), *w = less_zero(b, p->w, p->zero_w, p->w->rank - 1),
           *parts[TG_MOST_PARTS];
  if (count <= 1) return count ? exact_matmul(b, a, w) : NULL;
  for (int i = 0; i < count; i++) {
    int64_t from = i ? ends[i - 1] : 0;
    parts[i] = exact_matmul(b, tg_build_slice(b, a, last, from, ends[i], 1),
                            tg_build_slice(b, w, rows, from, ends[i], 1));
  }
  return tg_exact_sum(b, parts, count);
}

/* The sum as integers, NaN where several parts pass 2^24. Who reads it as floats gets what their conversion would round. */
static tg_value *whole(tg_build *b, const tg_node *node, tg_value *sum, int count) {
  const tg_value *y = tg_out(node);
  for (tg_use *use = y->uses, *next; use; use = next) {
    next = use->next;
    bool to_float =
        use->node->op == TG_OP_CAST && tg_dtype_is_float((tg_dtype)tg_attr_int(use->node, TG_ATTR_TO));
    if (to_float) tg_node_set_input(use->node, use->input, sum);
  }
  tg_value *integers = tg_build_cast(b, sum, TG_I32);
  return count > 1 ? plus(b, integers, 0) : integers; /* a sum is held below 2^24 (integers.h) */
}

tg_status tg_make_matmul_integer(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_integer_pair p = {tg_in(node, 0), tg_in(node, 1), tg_in(node, 2), tg_in(node, 3)};
  if (!p.x->rank || !p.w->rank) return tg_fail(diag, TG_INVALID, "an operand is a scalar");
  int parts;
  tg_value *sum = tg_integer_product(b, &p, &parts, diag);
  if (!sum) return TG_INVALID;
  results[0] = whole(b, node, sum, parts);
  return TG_OK;
}

static tg_value *convolution(tg_build *b, const tg_node *like, tg_value *x, tg_value *w) {
  static const tg_attr_key lists[] = {TG_ATTR_KERNEL_SHAPE, TG_ATTR_STRIDES, TG_ATTR_DILATIONS, TG_ATTR_PADS};
  tg_value *operands[] = {x, w};
  tg_node *conv = tg_graph_add_node(b->graph, TG_OP_CONV, b->name, operands, 2, b->before, -1);
  for (int i = 0; i < 4; i++) {
    int count;
    const int64_t *list = tg_attr_ints(like, lists[i], &count);
    if (count) tg_attr_set_ints(b->graph, conv, lists[i], list, count);
  }
  tg_attr_set_text(b->graph, conv, TG_ATTR_AUTO_PAD, tg_attr_text(like, TG_ATTR_AUTO_PAD));
  tg_attr_set_int(conv, TG_ATTR_GROUP, tg_attr_int(like, TG_ATTR_GROUP));
  return tg_build_finish(b, conv);
}

/* Channels [from, to) of each group of x. */
static tg_value *of_groups(tg_build *b, tg_value *x, int64_t groups, int64_t channels, int64_t from,
                           int64_t to) {
  if (groups == 1) return tg_build_slice(b, x, 1, from, to, 1);
  if (from == 0 && to == channels) return x;
  int64_t split[TG_MAX_RANK + 1] = {x->dims[0].size, groups, channels},
                              joined[TG_MAX_RANK] = {x->dims[0].size, groups * (to - from)};
  for (int d = 2; d < x->rank; d++) split[d + 1] = joined[d] = x->dims[d].size;
  tg_value *part = tg_build_slice(b, tg_build_reshape(b, x, x->rank + 1, split), 2, from, to, 1);
  return tg_build_reshape(b, part, x->rank, joined);
}

/* The convolution in FP32, as a sum of *out_count parts, by channels, that is rounded once; NULL: it is refused. */
static tg_value *exact_convolution(tg_build *b, const tg_node *node, const tg_integer_pair *p, int *out_count,
                                   tg_diag *diag) {
  int64_t ends[TG_MOST_PARTS];
  if (p->x->rank < 3 || p->w->rank != p->x->rank) {
    tg_fail(diag, TG_INVALID, "data of rank %d and weights of rank %d", p->x->rank, p->w->rank);
    return NULL;
  }
  if (check_zero(p->zero_x, p->x, -1, diag) || check_zero(p->zero_w, p->w, 0, diag)) return NULL;
  int64_t step = tg_value_elements_between(p->w, 2, p->w->rank), channels = p->w->dims[1].size;
  tg_terms terms = {p->w, p->zero_w, p->w->dims[0].size, channels * step, 1};
  int64_t groups = tg_attr_int(node, TG_ATTR_GROUP);
  bool whole = groups < 1 || !step || p->x->rank + 1 > TG_MAX_RANK || p->x->dims[1].size % groups ||
               p->x->dims[1].size / groups != channels;
  int count = *out_count = exact_parts(p->x, p->zero_x, &terms, whole ? terms.count : step, ends, diag);
  tg_value *x = less_zero(b, p->x, p->zero_x, 0), *w = less_zero(b, p->w, p->zero_w, 0),
           *parts[TG_MOST_PARTS];
  if (count <= 1) return count ? convolution(b, node, x, w) : NULL;
  for (int i = 0; i < count; i++) {
    int64_t from = i ? ends[i - 1] / step : 0, to = ends[i] / step;
    parts[i] = convolution(b, node, of_groups(b, x, groups, channels, from, to),
                           tg_build_slice(b, w, 1, from, to, 1));
  }
  return tg_exact_sum(b, parts, count);
}

tg_status tg_make_conv_integer(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_integer_pair p = {tg_in(node, 0), tg_in(node, 1), tg_in(node, 2), tg_in(node, 3)};
  int parts;
  tg_value *sum = exact_convolution(b, node, &p, &parts, diag);
  if (!sum) return TG_INVALID;
  results[0] = whole(b, node, sum, parts);
  return TG_OK;
}

/* Operands 0 to 7: two tensors, each with scale and zero point, and scale and zero point of the result. */
static tg_value *rescaled(tg_build *b, const tg_node *node, tg_value *sum, int a_axis, int w_axis) {
  tg_value *scale = mul(b, f32(b, beside(b, tg_in(node, 1), sum, a_axis, 0)),
                        f32(b, beside(b, tg_in(node, 4), sum, w_axis, 0)));
  tg_value *y = mul(b, sum, divided(b, scale, f32(b, tg_build_reshape(b, tg_in(node, 6), 0, NULL))));
  return tg_quantized(b, y, tg_build_reshape(b, tg_in(node, 7), 0, NULL), tg_in(node, 7)->dtype);
}

static tg_status check_result(const tg_node *node, tg_diag *diag) {
  double low, high;
  if (tg_value_elements(tg_in(node, 6)) != 1 || tg_value_elements(tg_in(node, 7)) != 1)
    return tg_fail(diag, TG_INVALID, "the result has several scales or zero points");
  if (!range_of(tg_in(node, 7)->dtype, &low, &high))
    return tg_fail(diag, TG_INVALID, "its result does not have 8 bits");
  return TG_OK;
}

tg_status tg_make_qlinear_matmul(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *a = tg_in(node, 0), *w = tg_in(node, 3);
  if (a->rank < 2 || w->rank < 2) return tg_fail(diag, TG_INVALID, "an operand is no matrix");
  if (check_result(node, diag) || check_zero(tg_in(node, 1), a, a->rank - 2, diag) ||
      check_zero(tg_in(node, 4), w, w->rank - 1, diag))
    return TG_INVALID;
  tg_integer_pair p = {a, w, tg_in(node, 2), tg_in(node, 5)};
  int parts;
  tg_value *sum = tg_integer_product(b, &p, &parts, diag);
  if (!sum) return TG_INVALID;
  results[0] = rescaled(b, node, sum, sum->rank - 2, sum->rank - 1);
  return TG_OK;
}

tg_status tg_make_qlinear_conv(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 3), *bias = tg_in(node, 8);
  if (check_result(node, diag) || check_zero(tg_in(node, 1), x, -1, diag) ||
      check_zero(tg_in(node, 4), w, 0, diag))
    return TG_INVALID;
  if (bias && (bias->rank != 1 || bias->dims[0].size != w->dims[0].size || bias->dtype != TG_I32))
    return tg_fail(diag, TG_INVALID, "the bias does not fit");
  tg_integer_pair p = {x, w, tg_in(node, 2), tg_in(node, 5)};
  int parts;
  tg_value *sum = exact_convolution(b, node, &p, &parts, diag);
  if (!sum) return TG_INVALID;
  if (bias) sum = add(b, sum, f32(b, beside(b, bias, sum, 1, 0)));
  results[0] = rescaled(b, node, sum, 1, 1);
  return TG_OK;
}
