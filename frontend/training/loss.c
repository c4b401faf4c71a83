#include "frontend/training/loss.h"

static const struct {
  bool classes;
  const char *origin; /* torch's name of the operator, for the policies */
} info[] = {
#define CLASSES                                    true
#define VALUES                                     false
#define TG_LOSS(id, name, labels, origin, formula) {labels, origin},
#include "frontend/training/losses.def"
#undef TG_LOSS
#undef CLASSES
#undef VALUES
};

tg_status tg_loss_labels(tg_loss loss, const tg_value *y, bool *out_classes, int *out_rank, tg_dim *out_dims,
                         tg_diag *diag) {
  bool classes = *out_classes = info[loss].classes;
  if (classes && y->rank < 2)
    return tg_fail(diag, TG_INVALID, "output \"%s\": loss %s needs classes along dimension 1, its rank is %d",
                   y->name, tg_loss_name(loss), y->rank);
  if (!tg_value_elements(y))
    return tg_fail(diag, TG_INVALID, "output \"%s\" is empty: it has no loss", y->name);
  *out_rank = 0;
  for (int i = 0; i < y->rank; i++)
    if (!classes || i != 1) out_dims[(*out_rank)++] = y->dims[i];
  return TG_OK;
}

/* --- parts
 * ------------------------------------------------------------------------------------------------------ */

static tg_value *sum_of_all(tg_build *b, tg_value *x) {
  int64_t one = 1;
  return tg_build_reshape(b, tg_build_sum(b, x, (1u << x->rank) - 1), 1, &one);
}

static tg_value *mean_of_all(tg_build *b, tg_value *x) {
  return tg_build_with(b, TG_OP_MUL, sum_of_all(b, x), 1 / (double)tg_value_elements(x));
}

/* [N, d..] to [N, 1, d..]. */
static tg_value *beside_classes(tg_build *b, tg_value *labels, const tg_value *y) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(y, sizes);
  sizes[1] = 1;
  return tg_build_reshape(b, labels, y->rank, sizes);
}

/* 1 where the class is the label, else 0: 1 - |label - class| above 0, exact for whole numbers. */
static tg_value *one_hot(tg_build *b, tg_value *labels, const tg_value *y) {
  int64_t sizes[TG_MAX_RANK] = {y->dims[1].size, 1, 1, 1, 1, 1, 1, 1};
  tg_value *classes = tg_graph_add_constant(b->graph, "classes", TG_F32, y->rank - 1, sizes, NULL, false);
  for (int64_t i = 0; i < sizes[0]; i++) tg_store_f32((void *)classes->data, TG_F32, (size_t)i, (float)i);
  tg_value *distance =
      tg_build_unary(b, TG_OP_ABS, tg_build_binary(b, TG_OP_SUB, beside_classes(b, labels, y), classes));
  return tg_build_unary(b, TG_OP_RELU, tg_build_from(b, TG_OP_SUB, 1, distance));
}

/* --- losses
 * ----------------------------------------------------------------------------------------------------- */

typedef struct loss_build {
  tg_build *b;
  tg_value *y, *labels;
  tg_value *value; /* of each element or row, to be averaged */
  tg_value *slope; /* of each element of y, before the mean and the scale */
} loss_build;

static void cross_entropy(loss_build *l) {
  tg_build *b = l->b;
  tg_value *p = tg_build_unary(b, TG_OP_SOFTMAX, l->y), *hot = one_hot(b, l->labels, l->y);
  tg_attr_set_int(p->producer, TG_ATTR_AXIS, 1);
  tg_value *picked = tg_build_sum(b, tg_build_binary(b, TG_OP_MUL, p, hot), 2);
  l->value = tg_build_unary(b, TG_OP_NEG, tg_build_unary(b, TG_OP_LOG, picked));
  b->forward = p->producer->id;
  l->slope = tg_build_binary(b, TG_OP_SUB, p, hot);
}

static void mse(loss_build *l) {
  tg_build *b = l->b;
  tg_value *difference = tg_build_binary(b, TG_OP_SUB, l->y, l->labels);
  l->value = tg_build_binary(b, TG_OP_MUL, difference, difference);
  b->forward = difference->producer->id;
  l->slope = tg_build_with(b, TG_OP_MUL, tg_build_binary(b, TG_OP_SUB, l->y, l->labels), 2);
}

static tg_value *mul(tg_build *b, tg_value *x, tg_value *y) { return tg_build_binary(b, TG_OP_MUL, x, y); }
static tg_value *sub(tg_build *b, tg_value *x, tg_value *y) { return tg_build_binary(b, TG_OP_SUB, x, y); }

static void nll(loss_build *l) {
  tg_build *b = l->b;
  tg_value *hot = one_hot(b, l->labels, l->y), *picked = mul(b, l->y, hot);
  l->value = tg_build_unary(b, TG_OP_NEG, tg_build_sum(b, picked, 2));
  b->forward = picked->producer->id;
  l->slope = tg_build_unary(b, TG_OP_NEG, hot);
}

static tg_value *bounded_log(tg_build *b, tg_value *x) {
  return tg_build_with(b, TG_OP_MAX, tg_build_unary(b, TG_OP_LOG, x), -100);
}

/* The slope's denominator is torch's, at least 1e-12. */
static void bce(loss_build *l) {
  tg_build *b = l->b;
  tg_value *y = l->y, *t = l->labels, *rest = tg_build_from(b, TG_OP_SUB, 1, y);
  tg_value *zero = mul(b, sub(b, t, tg_build_number(b, 1)), bounded_log(b, rest));
  l->value = sub(b, zero, mul(b, t, bounded_log(b, y)));
  tg_value *difference = sub(b, y, t);
  b->forward = difference->producer->id;
  l->slope = tg_build_binary(b, TG_OP_DIV, difference, tg_build_with(b, TG_OP_MAX, mul(b, rest, y), 1e-12));
}

static void bce_with_logits(loss_build *l) {
  tg_build *b = l->b;
  tg_value *y = l->y, *size = tg_build_unary(b, TG_OP_ABS, y);
  tg_value *tail =
      tg_build_with(b, TG_OP_ADD, tg_build_unary(b, TG_OP_EXP, tg_build_unary(b, TG_OP_NEG, size)), 1);
  tg_value *linear = sub(b, tg_build_unary(b, TG_OP_RELU, y), mul(b, y, l->labels));
  l->value = tg_build_binary(b, TG_OP_ADD, linear, tg_build_unary(b, TG_OP_LOG, tail));
  b->forward = size->producer->id;
  l->slope = sub(b, tg_build_unary(b, TG_OP_SIGMOID, y), l->labels);
}

void tg_loss_build(tg_build *b, tg_loss loss, tg_value *y, tg_value *labels, tg_value *scale,
                   tg_value **out_loss, tg_value **out_gradient) {
  static void (*const build[])(loss_build *) = {
      [TG_LOSS_CROSS_ENTROPY] = cross_entropy,     [TG_LOSS_NLL] = nll, [TG_LOSS_BCE] = bce,
      [TG_LOSS_BCE_WITH_LOGITS] = bce_with_logits, [TG_LOSS_MSE] = mse,
  };
  loss_build l = {.b = b, .y = y, .labels = labels};
  tg_build saved = *b;
  b->origin = info[loss].origin;
  b->name = "loss";
  build[loss](&l);
  tg_build backward = *b;
  backward.name = tg_arena_printf(b->graph->arena, "%s.grad", y->name);
  backward.keep_formats = false;
  tg_value *slope = tg_build_with(&backward, TG_OP_MUL, l.slope, 1 / (double)tg_value_elements(l.value));
  if (scale) slope = mul(&backward, slope, scale);
  slope->dtype = y->dtype;
  slope->producer->forward_operand = 0;
  b->forward = -1;
  *out_loss = mean_of_all(b, l.value);
  *out_gradient = slope;
  *b = saved;
}
