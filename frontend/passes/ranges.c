/* Bounds of what a node computes, from those of its operands (integers.h). */
#include "frontend/passes/integers.h"

#include <float.h>
#include <math.h>

tg_range tg_range_joined(tg_range a, tg_range b) {
  return (tg_range){fmin(a.low, b.low), fmax(a.high, b.high), a.guarded || b.guarded};
}

static tg_range spanned(double a, double b, double c, double d, bool guarded) {
  return (tg_range){fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d)), guarded};
}

tg_range tg_range_combined(tg_op op, tg_range a, tg_range b) {
  bool guarded = a.guarded || b.guarded;
  switch (op) {
  case TG_OP_SUB: return (tg_range){a.low - b.high, a.high - b.low, guarded};
  case TG_OP_MUL: return spanned(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high, guarded);
  case TG_OP_MAX: return (tg_range){fmax(a.low, b.low), fmax(a.high, b.high), guarded};
  case TG_OP_MIN: return (tg_range){fmin(a.low, b.low), fmin(a.high, b.high), guarded};
  default: return (tg_range){a.low + b.low, a.high + b.high, guarded};
  }
}

static double reduced_count(const tg_node *node) {
  int64_t results = tg_value_elements(tg_out(node));
  return results ? (double)(tg_value_elements(tg_in(node, 0)) / results) : 0;
}

tg_range tg_range_reduced(const tg_node *node, tg_range x) {
  double count = reduced_count(node), most = fmax(fmax(fabs(x.low), fabs(x.high)), 1);
  switch (node->op) {
  case TG_OP_REDUCE_SUM: return spanned(x.low * count, x.high * count, 0, 0, x.guarded);
  case TG_OP_REDUCE_PROD: return (tg_range){-pow(most, count), pow(most, count), x.guarded};
  default: return x;
  }
}

tg_range tg_range_of_operands(const tg_node *node, const tg_range *ranges) {
  int first = node->op == TG_OP_WHERE, index = tg_op_index_operand(node->op);
  tg_range range = ranges[tg_in(node, first)->index];
  for (int i = first + 1; i < node->input_count; i++)
    if (i != index && tg_in(node, i))
      range = tg_op_is(node->op, TG_IS_MOVE) || node->op == TG_OP_WHERE
                  ? tg_range_joined(range, ranges[tg_in(node, i)->index])
                  : tg_range_combined(node->op, range, ranges[tg_in(node, i)->index]);
  if (node->op == TG_OP_PAD) {
    double value = tg_attr_float(node, TG_ATTR_VALUE);
    range = tg_range_joined(range, (tg_range){fmin(value, 0), fmax(value, 0), false});
  }
  return range;
}

/* --- floats --- */

static const tg_range everything = {-INFINITY, INFINITY, false};

tg_range tg_range_of_given_floats(const tg_value *value) {
  enum { MOST = 4096 }; /* weights are in no integer's way */
  int64_t count = tg_value_elements(value);
  if (value->kind != TG_VALUE_CONSTANT || value->elided || count > MOST) return everything;
  tg_range range = {0, 0, false};
  for (int64_t i = 0; i < count; i++) {
    float x = tg_load_f32(value->data, value->dtype, (size_t)i);
    if (isnan(x)) return everything;
    range = i ? tg_range_joined(range, (tg_range){x, x, false}) : (tg_range){x, x, false};
  }
  return range;
}

/* By more than any format or function here rounds. */
static tg_range rounded(tg_range range) {
  return (tg_range){range.low - fabs(range.low) / 64, range.high + fabs(range.high) / 64, range.guarded};
}

static tg_range clipped(const tg_node *clip, tg_range x) {
  double low = tg_attr_float(clip, TG_ATTR_MIN), high = tg_attr_float(clip, TG_ATTR_MAX);
  return rounded((tg_range){fmin(fmax(x.low, low), high), fmin(fmax(x.high, low), high), x.guarded});
}

/* Ends that a format does not hold are infinite, and so is what is no number, as of 0 times infinity. */
static tg_range opened(const tg_node *node, tg_range range) {
  double most = tg_out(node)->dtype == TG_F16 ? 0x1p15 : FLT_MAX / 2;
  return (tg_range){range.low >= -most ? range.low : -INFINITY, range.high <= most ? range.high : INFINITY,
                    false};
}

static bool is_finite(tg_range range) { return isfinite(range.low) && isfinite(range.high); }

static tg_range product(const tg_node *node, const tg_range *ranges) {
  for (int i = 0; i < node->input_count; i++)
    if (!is_finite(ranges[tg_in(node, i)->index])) return everything;
  return rounded(tg_range_of_operands(node, ranges));
}

/* What is known of the operators that lead to integers: quantities that are clipped, scaled, rounded, chosen. */
static tg_range bounded(const tg_node *node, const tg_range *ranges) {
  enum { MOST_SUMMED = 1 << 16 }; /* beyond, roundings add up */
  tg_range x = ranges[tg_in(node, 0)->index];
  switch (node->op) {
  case TG_OP_CAST: return rounded(x);
  case TG_OP_CLIP: return clipped(node, x);
  case TG_OP_SIGMOID:
  case TG_OP_HARD_SIGMOID:
  case TG_OP_SOFTMAX: return (tg_range){-0.125, 1.125, x.guarded};
  case TG_OP_TANH:
  case TG_OP_ERF:
  case TG_OP_SIGN: return (tg_range){-1.125, 1.125, x.guarded};
  case TG_OP_RELU: return (tg_range){fmax(x.low, 0), fmax(x.high, 0), x.guarded};
  case TG_OP_NEG: return (tg_range){-x.high, -x.low, x.guarded};
  case TG_OP_ABS: return (tg_range){0, fmax(fabs(x.low), fabs(x.high)), x.guarded};
  case TG_OP_FLOOR:
  case TG_OP_CEIL:
  case TG_OP_ROUND: return (tg_range){x.low - 1, x.high + 1, x.guarded};
  case TG_OP_ADD:
  case TG_OP_SUM:
  case TG_OP_SUB:
  case TG_OP_MAX:
  case TG_OP_MIN: return rounded(tg_range_of_operands(node, ranges));
  case TG_OP_MUL: return product(node, ranges);
  case TG_OP_WHERE: return tg_range_of_operands(node, ranges);
  case TG_OP_REDUCE_SUM:
    return reduced_count(node) <= MOST_SUMMED ? rounded(tg_range_reduced(node, x)) : everything;
  case TG_OP_REDUCE_MAX:
  case TG_OP_REDUCE_MIN: return reduced_count(node) > 0 ? x : everything;
  default: return tg_op_is(node->op, TG_IS_MOVE) ? tg_range_of_operands(node, ranges) : everything;
  }
}

bool tg_range_is_nan_test(const tg_node *node) {
  if (node->op != TG_OP_EQUAL || tg_in(node, 0) != tg_in(node, 1) || tg_out(node)->output_count) return false;
  for (const tg_use *use = tg_out(node)->uses; use; use = use->next)
    if (use->node->op != TG_OP_WHERE || use->input != 0) return false;
  return true;
}

/* Is operand `i` chosen only where it is no NaN? */
static bool is_tested(const tg_node *node, int i) {
  const tg_node *test = node->op == TG_OP_WHERE && i == 1 ? tg_in(node, 0)->producer : NULL;
  return test && tg_range_is_nan_test(test) && tg_in(test, 0) == tg_in(node, 1);
}

tg_range tg_range_of_floats(const tg_node *node, const tg_range *ranges) {
  tg_range range = node->input_count && tg_in(node, 0) ? bounded(node, ranges) : everything;
  range = opened(node, range);
  for (int i = 0; i < node->input_count; i++)
    range.guarded |= tg_in(node, i) && ranges[tg_in(node, i)->index].guarded && !is_tested(node, i);
  return range;
}
