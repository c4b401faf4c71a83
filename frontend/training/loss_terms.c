/* The terms of each loss, and their slopes. */
#include "frontend/training/loss_terms.h"

#include "frontend/build/labels.h"

static tg_value *mul(tg_build *b, tg_value *x, tg_value *y) { return tg_build_binary(b, TG_OP_MUL, x, y); }
static tg_value *sub(tg_build *b, tg_value *x, tg_value *y) { return tg_build_binary(b, TG_OP_SUB, x, y); }
static tg_value *with(tg_build *b, tg_op op, tg_value *x, double number) {
  return tg_build_with(b, op, x, number);
}
static tg_value *times(tg_build *b, tg_value *x, double factor) {
  return factor == 1 ? x : tg_build_with(b, TG_OP_MUL, x, factor);
}
static tg_value *number(tg_build *b, double value) { return tg_build_number(b, value); }

/* Without a tensor of probabilities or of ones: log(sum(exp y)) - y[label], and exp(y - log(sum(exp y))) less
 * one at the label, each in one pass over y. */
static void cross_entropy(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *sum = tg_build_reduce(b, TG_OP_REDUCE_LOG_SUM_EXP, l->y, TG_CLASS_AXIS);
  l->value = tg_build_binary(b, TG_OP_SUB, sum, tg_build_picked(b, l->labels, l->y));
  b->forward = sum->producer->id;
  tg_value *p = tg_build_unary(b, TG_OP_EXP, tg_build_binary(b, TG_OP_SUB, l->y, sum));
  tg_value *hot =
      tg_build_where(b, tg_build_is_label(b, l->labels, l->y), tg_build_number(b, 1), tg_build_number(b, 0));
  l->slope = tg_build_binary(b, TG_OP_SUB, p, hot);
}

static void mse(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *difference = tg_build_binary(b, TG_OP_SUB, l->y, l->labels);
  l->value = tg_build_binary(b, TG_OP_MUL, difference, difference);
  b->forward = difference->producer->id;
  l->slope = tg_build_with(b, TG_OP_MUL, tg_build_binary(b, TG_OP_SUB, l->y, l->labels), 2);
}

static void nll(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *zero = tg_build_number(b, 0),
           *y = tg_build_where(b, tg_build_is_label(b, l->labels, l->y), l->y, zero);
  l->value = tg_build_unary(b, TG_OP_NEG, tg_build_sum(b, y, TG_CLASS_AXIS));
  b->forward = y->producer->id;
  l->operand = 1;
  l->slope = tg_build_where(b, tg_build_is_label(b, l->labels, l->y), tg_build_number(b, -1), zero);
}

static tg_value *bounded_log(tg_build *b, tg_value *x) {
  return tg_build_with(b, TG_OP_MAX, tg_build_unary(b, TG_OP_LOG, x), -100);
}

/* The slope's denominator is torch's, at least 1e-12. */
static void bce(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *y = l->y, *t = l->labels, *rest = tg_build_from(b, TG_OP_SUB, 1, y);
  tg_value *zero = mul(b, sub(b, t, tg_build_number(b, 1)), bounded_log(b, rest));
  l->value = sub(b, zero, mul(b, t, bounded_log(b, y)));
  tg_value *difference = sub(b, y, t);
  b->forward = difference->producer->id;
  l->slope = tg_build_binary(b, TG_OP_DIV, difference, tg_build_with(b, TG_OP_MAX, mul(b, rest, y), 1e-12));
}

static void bce_with_logits(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *y = l->y, *size = tg_build_unary(b, TG_OP_ABS, y);
  tg_value *tail =
      tg_build_with(b, TG_OP_ADD, tg_build_unary(b, TG_OP_EXP, tg_build_unary(b, TG_OP_NEG, size)), 1);
  tg_value *linear = sub(b, tg_build_unary(b, TG_OP_RELU, y), mul(b, y, l->labels));
  l->value = tg_build_binary(b, TG_OP_ADD, linear, tg_build_unary(b, TG_OP_LOG, tail));
  b->forward = size->producer->id;
  l->slope = sub(b, tg_build_unary(b, TG_OP_SIGMOID, y), l->labels);
}

/* --- distances */

static void l1(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *difference = sub(b, l->y, l->labels);
  l->value = tg_build_unary(b, TG_OP_ABS, difference);
  b->forward = difference->producer->id;
  l->slope = tg_build_unary(b, TG_OP_SIGN, sub(b, l->y, l->labels));
}

/* With d = y - t held to +-beta: d (y - t - d / 2), quadratic within and linear beyond. Huber's; smooth L1 is that by beta. */
static void bounded(tg_loss_terms *l, double factor) {
  tg_build *b = l->b;
  tg_value *difference = sub(b, l->y, l->labels),
           *held = with(b, TG_OP_MAX, with(b, TG_OP_MIN, difference, l->beta), -l->beta);
  l->value = times(b, mul(b, held, sub(b, difference, times(b, held, 0.5))), factor);
  b->forward = difference->producer->id;
  held = with(b, TG_OP_MAX, with(b, TG_OP_MIN, sub(b, l->y, l->labels), l->beta), -l->beta);
  l->slope = times(b, held, factor);
}

static void huber(tg_loss_terms *l) { bounded(l, 1); }
static void smooth_l1(tg_loss_terms *l) { bounded(l, 1 / l->beta); }

/* --- distributions */

/* t log t is 0 where t is, and NaN below. */
static void kl_div(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *one = number(b, 1), *zero = number(b, 0), *t = l->labels, *none = with(b, TG_OP_EQUAL, t, 0);
  tg_value *own = mul(b, t, tg_build_unary(b, TG_OP_LOG, tg_build_where(b, none, one, t)));
  tg_value *cross = mul(b, t, l->y);
  l->value = sub(b, tg_build_where(b, none, zero, own), cross);
  b->forward = cross->producer->id;
  l->operand = 1;
  l->slope = tg_build_unary(b, TG_OP_NEG, t);
}

static void poisson_nll(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *rate = tg_build_unary(b, TG_OP_EXP, l->y);
  l->value = sub(b, rate, mul(b, l->y, l->labels));
  b->forward = rate->producer->id;
  l->slope = sub(b, tg_build_unary(b, TG_OP_EXP, l->y), l->labels);
}

/* --- margins */

/* log(1 + exp(-u)), u = t y, without overflow; its slope is -t sigmoid(-u). */
static void soft_margin(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *u = mul(b, l->y, l->labels), *size = tg_build_unary(b, TG_OP_ABS, u);
  tg_value *tail = tg_build_unary(b, TG_OP_EXP, tg_build_unary(b, TG_OP_NEG, size));
  tg_value *log = tg_build_unary(b, TG_OP_LOG, with(b, TG_OP_ADD, tail, 1));
  l->value =
      tg_build_binary(b, TG_OP_ADD, tg_build_unary(b, TG_OP_RELU, tg_build_unary(b, TG_OP_NEG, u)), log);
  b->forward = u->producer->id;
  tg_value *negative = tg_build_unary(b, TG_OP_NEG, l->labels);
  l->slope = mul(b, negative, tg_build_unary(b, TG_OP_SIGMOID, mul(b, l->y, negative)));
}

/* A label that is neither 1 nor -1 has both parts, as in PyTorch. */
static void hinge_embedding(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *zero = number(b, 0), *one = number(b, 1), *rest = tg_build_from(b, TG_OP_SUB, 1, l->y);
  tg_value *near = with(b, TG_OP_EQUAL, l->labels, -1), *far = with(b, TG_OP_EQUAL, l->labels, 1);
  tg_value *margin = tg_build_where(b, far, zero, tg_build_unary(b, TG_OP_RELU, rest));
  l->value = tg_build_binary(b, TG_OP_ADD, margin, tg_build_where(b, near, zero, l->y));
  b->forward = rest->producer->id;
  l->operand = 1;
  tg_value *within = tg_build_where(b, with(b, TG_OP_LESS_OR_EQUAL, l->y, 1), one, zero);
  l->slope = sub(b, tg_build_where(b, near, zero, one), tg_build_where(b, far, zero, within));
}

/* Of each class but the label's max(0, 1 - y[label] + y[class]), over their number C. */
static void multi_margin(tg_loss_terms *l) {
  tg_build *b = l->b;
  tg_value *zero = number(b, 0), *one = number(b, 1), *hot = tg_build_is_label(b, l->labels, l->y);
  double share = 1 / (double)l->y->dims[1].size;
  tg_value *rest = tg_build_from(b, TG_OP_SUB, 1, tg_build_picked(b, l->labels, l->y));
  tg_value *distance = tg_build_binary(b, TG_OP_ADD, rest, l->y);
  tg_value *terms = tg_build_where(b, hot, zero, tg_build_unary(b, TG_OP_RELU, distance));
  l->value = times(b, tg_build_sum(b, terms, TG_CLASS_AXIS), share);
  b->forward = distance->producer->id;
  tg_value *counts = tg_build_where(b, with(b, TG_OP_GREATER, terms, 0), one, zero);
  tg_value *pulled = tg_build_unary(b, TG_OP_NEG, tg_build_sum(b, counts, TG_CLASS_AXIS));
  l->slope = times(b, tg_build_where(b, hot, pulled, counts), share);
}

/* Labels [N,C] list a row's classes up to the first that is below 0: [N,C], how often is it one of them? */
static tg_value *times_listed(tg_build *b, tg_value *labels, int64_t rows, int64_t classes) {
  int64_t list[] = {rows, classes, 1}, line[] = {1, 1, classes}, matrix[] = {rows, classes};
  tg_value *numbers = tg_graph_add_constant(b->graph, "classes", TG_F32, 1, &classes, NULL, false);
  for (int64_t i = 0; i < classes; i++) tg_store_f32((void *)numbers->data, TG_F32, (size_t)i, (float)i);
  tg_value *places = tg_build_reshape(b, numbers, 2, (int64_t[]){1, classes});
  tg_value *end = tg_build_where(b, with(b, TG_OP_LESS, labels, 0), places, number(b, (double)classes));
  end = tg_build_reduce(b, TG_OP_REDUCE_MIN, end, TG_CLASS_AXIS);
  tg_value *given = tg_build_where(b, tg_build_binary(b, TG_OP_LESS, places, end), labels, number(b, -1));
  tg_value *hit = tg_build_binary(b, TG_OP_EQUAL, tg_build_reshape(b, given, 3, list),
                                  tg_build_reshape(b, numbers, 3, line));
  tg_value *ones = tg_build_where(b, hit, number(b, 1), number(b, 0));
  return tg_build_reshape(b, tg_build_sum(b, ones, 1u << 1), 2, matrix);
}

/* Of each class that the row lists, as often as it does, and each other one max(0, 1 - y[class] + y[other]), over their
 * number C. */
static void multilabel_margin(tg_loss_terms *l) {
  tg_build *b = l->b;
  int64_t n = l->y->dims[0].size, c = l->y->dims[1].size, own[] = {n, c, 1}, other[] = {n, 1, c},
          matrix[] = {n, c};
  tg_value *zero = number(b, 0), *one = number(b, 1), *yes = times_listed(b, l->labels, n, c);
  tg_value *no = tg_build_where(b, with(b, TG_OP_GREATER, yes, 0), zero, one);
  tg_value *pairs = mul(b, tg_build_reshape(b, yes, 3, own), tg_build_reshape(b, no, 3, other));
  tg_value *rest = tg_build_from(b, TG_OP_SUB, 1, tg_build_reshape(b, l->y, 3, own));
  tg_value *distance = tg_build_binary(b, TG_OP_ADD, rest, tg_build_reshape(b, l->y, 3, other));
  tg_value *terms = mul(b, pairs, tg_build_unary(b, TG_OP_RELU, distance));
  tg_value *sum = tg_build_reshape(b, tg_build_sum(b, terms, 1u << 1 | 1u << 2), 1, &n);
  l->value = times(b, sum, 1 / (double)c);
  b->forward = distance->producer->id;
  tg_value *counts = tg_build_where(b, with(b, TG_OP_GREATER, terms, 0), pairs, zero);
  tg_value *pushed = tg_build_reshape(b, tg_build_sum(b, counts, 1u << 1), 2, matrix);
  tg_value *pulled = tg_build_reshape(b, tg_build_sum(b, counts, 1u << 2), 2, matrix);
  l->slope = times(b, sub(b, pushed, pulled), 1 / (double)c);
}

void tg_loss_build_terms(tg_loss loss, tg_loss_terms *l) {
  static void (*const build[])(tg_loss_terms *) = {
      [TG_LOSS_CROSS_ENTROPY] = cross_entropy,
      [TG_LOSS_NLL] = nll,
      [TG_LOSS_BCE] = bce,
      [TG_LOSS_BCE_WITH_LOGITS] = bce_with_logits,
      [TG_LOSS_MSE] = mse,
      [TG_LOSS_L1] = l1,
      [TG_LOSS_SMOOTH_L1] = smooth_l1,
      [TG_LOSS_HUBER] = huber,
      [TG_LOSS_KL_DIV] = kl_div,
      [TG_LOSS_POISSON_NLL] = poisson_nll,
      [TG_LOSS_SOFT_MARGIN] = soft_margin,
      [TG_LOSS_HINGE_EMBEDDING] = hinge_embedding,
      [TG_LOSS_MULTI_MARGIN] = multi_margin,
      [TG_LOSS_MULTILABEL_MARGIN] = multilabel_margin,
  };
  build[loss](l);
}
