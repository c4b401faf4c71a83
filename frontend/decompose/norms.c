/* Normalisations of rows and channels. Statistics are FP32. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>

static tg_status check(const tg_value *x, tg_diag *diag) {
  if (!tg_dtype_is_float(x->dtype))
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
  if (!x->rank || !tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "a scalar or empty operand");
  return TG_OK;
}

static unsigned axes_from(int axis, int rank) { return (1u << rank) - (1u << axis); }

static tg_value *mean(tg_build *b, tg_value *x, unsigned axes) {
  return tg_build_reduce(b, TG_OP_REDUCE_MEAN, x, axes);
}

static tg_value *inverse_root(tg_build *b, tg_value *variance, double epsilon) {
  return tg_build_unary(b, TG_OP_RECIPROCAL, tg_build_unary(b, TG_OP_SQRT, plus(b, variance, epsilon)));
}

static tg_status check_fits(const tg_value *other, const tg_value *x, int from, const char *what,
                            tg_diag *diag) {
  bool fits = other->rank <= x->rank && tg_dtype_is_float(other->dtype);
  for (int d = 1; fits && d <= other->rank; d++) {
    int64_t size = other->dims[other->rank - d].size;
    fits = size == 1 || (x->rank - d >= from && size == x->dims[x->rank - d].size);
  }
  return fits ? TG_OK : tg_fail(diag, TG_INVALID, "its %s does not fit the normalised dimensions", what);
}

tg_status tg_make_rms_normalization(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *scale = tg_in(node, 1);
  int axis;
  if (check(x, diag) || tg_compose_axis(node, x->rank, &axis, diag) || check_fits(scale, x, 0, "scale", diag))
    return TG_INVALID;
  tg_value *wide = f32(b, x);
  tg_value *r = inverse_root(b, mean(b, mul(b, wide, wide), axes_from(axis, x->rank)),
                             tg_attr_float(node, TG_ATTR_EPSILON));
  tg_value *y = tg_build_cast(b, mul(b, wide, r), x->dtype);
  results[0] = tg_build_cast(b, mul(b, y, scale), scale->dtype);
  return TG_OK;
}

tg_status tg_make_layer_statistics(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *scale = tg_in(node, 1), *bias = tg_in(node, 2);
  int axis;
  if (check(x, diag) || tg_compose_axis(node, x->rank, &axis, diag) ||
      check_fits(scale, x, axis, "scale", diag) || (bias && check_fits(bias, x, axis, "bias", diag)))
    return TG_INVALID;
  unsigned axes = axes_from(axis, x->rank);
  tg_value *wide = f32(b, x);
  results[1] = mean(b, wide, axes);
  tg_value *rest = sub(b, wide, results[1]);
  results[2] = inverse_root(b, mean(b, mul(b, rest, rest), axes), tg_attr_float(node, TG_ATTR_EPSILON));
  tg_value *y = mul(b, mul(b, rest, results[2]), scale);
  results[0] = tg_build_cast(b, bias ? add(b, y, bias) : y, x->dtype);
  return TG_OK;
}

/* The running statistic `i` of the operands and that of the batch, [1, C, 1, ..], by the momentum: [C]. */
static tg_value *moved(tg_build *b, const tg_node *node, int i, tg_value *of_batch) {
  tg_value *running = tg_in(node, i);
  double momentum = tg_attr_float(node, TG_ATTR_MOMENTUM);
  tg_value *now = tg_build_reshape_like(b, of_batch, running);
  return tg_build_cast(b, add(b, times(b, f32(b, running), momentum), times(b, now, 1 - momentum)),
                       running->dtype);
}

tg_status tg_make_batch_statistics(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *operands[5];
  if (check(x, diag)) return TG_INVALID;
  if (!tg_attr_int(node, TG_ATTR_TRAINING_MODE))
    return tg_fail(diag, TG_INVALID, "running statistics are results with training_mode = 1 alone");
  for (int i = 0; i < 5; i++) {
    operands[i] = tg_in(node, i);
    bool fits = !i || (operands[i]->rank == 1 && x->rank > 1 &&
                       operands[i]->dims[0].size == x->dims[1].size && tg_dtype_is_float(operands[i]->dtype));
    if (!fits) return tg_fail(diag, TG_INVALID, "operand %d does not have one number for each channel", i);
  }
  unsigned axes = axes_from(0, x->rank) & ~2u;
  tg_value *wide = f32(b, x), *centre = mean(b, wide, axes), *rest = sub(b, wide, centre);
  results[1] = moved(b, node, 3, centre);
  results[2] = moved(b, node, 4, mean(b, mul(b, rest, rest), axes));
  tg_node *batch =
      tg_graph_add_node(b->graph, TG_OP_BATCH_NORMALIZATION, b->name, operands, 5, b->before, -1);
  tg_attr_set_float(batch, TG_ATTR_EPSILON, tg_attr_float(node, TG_ATTR_EPSILON));
  tg_attr_set_float(batch, TG_ATTR_MOMENTUM, tg_attr_float(node, TG_ATTR_MOMENTUM));
  tg_attr_set_int(batch, TG_ATTR_TRAINING_MODE, 1);
  results[0] = tg_build_cast(b, tg_build_finish(b, batch), x->dtype);
  return TG_OK;
}

tg_status tg_make_lp_normalization(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  int axis;
  int64_t p = tg_attr_int(node, TG_ATTR_P);
  if (check(x, diag) || tg_compose_axis(node, x->rank, &axis, diag)) return TG_INVALID;
  if (p != 1 && p != 2) return tg_fail(diag, TG_INVALID, "p = %" PRId64 " is neither 1 nor 2", p);
  tg_value *norm = tg_build_reduce(b, p == 1 ? TG_OP_REDUCE_L1 : TG_OP_REDUCE_L2, f32(b, x), 1u << axis);
  tg_value *none = with(b, TG_OP_EQUAL, norm, 0);
  norm = tg_build_where(b, none, tg_build_number(b, 1), norm);
  results[0] = tg_build_cast(b, divided(b, f32(b, x), norm), x->dtype);
  return TG_OK;
}

tg_status tg_make_mean_variance(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  if (check(x, diag)) return TG_INVALID;
  int count;
  const int64_t standard[] = {0, 2, 3}, *given = tg_attr_ints(node, TG_ATTR_AXES, &count),
                *list = count ? given : standard;
  unsigned axes = 0;
  for (int i = 0; i < (count ? count : 3); i++) {
    if (list[i] < -x->rank || list[i] >= x->rank)
      return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", list[i], x->rank);
    axes |= 1u << (list[i] < 0 ? list[i] + x->rank : list[i]);
  }
  tg_value *wide = f32(b, x), *rest = sub(b, wide, mean(b, wide, axes));
  tg_value *deviation = tg_build_unary(b, TG_OP_SQRT, mean(b, mul(b, rest, rest), axes));
  results[0] = tg_build_cast(b, divided(b, rest, plus(b, deviation, 1e-9)), x->dtype);
  return TG_OK;
}

/* Sums over neighbouring channels are those of the squares, moved by as many channels as a neighbour is away. */
tg_status tg_make_lrn(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  int64_t size = tg_attr_int(node, TG_ATTR_SIZE), pads[2 * TG_MAX_RANK] = {0};
  if (check(x, diag)) return TG_INVALID;
  if (x->rank < 2 || size < 1 || size > 64)
    return tg_fail(diag, TG_INVALID, "size %" PRId64 " of data of rank %d is not supported", size, x->rank);
  tg_value *wide = f32(b, x), *square = mul(b, wide, wide), *sum = NULL;
  pads[1] = (size - 1) / 2;
  pads[x->rank + 1] = size - 1 - pads[1];
  tg_value *framed = tg_build_pad(b, square, pads);
  for (int64_t i = 0; i < size; i++) {
    tg_value *part = tg_build_slice(b, framed, 1, i, i + x->dims[1].size, 1);
    sum = sum ? add(b, sum, part) : part;
  }
  tg_value *scale = plus(b, times(b, sum, tg_attr_float(node, TG_ATTR_ALPHA) / (double)size),
                         tg_attr_float(node, TG_ATTR_BIAS));
  tg_value *power = with(b, TG_OP_POW, scale, tg_attr_float(node, TG_ATTR_BETA));
  results[0] = tg_build_cast(b, divided(b, wide, power), x->dtype);
  return TG_OK;
}
