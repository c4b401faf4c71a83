#include "frontend/training/loss.h"

#include "frontend/build/labels.h"

enum { CLASS_AXIS = 1 << 1 };

typedef enum label_kind { OF_VALUES, OF_CLASSES, OF_NOTHING } label_kind;

static const struct {
  label_kind labels;
  const char *origin; /* torch's name of the operator, for the policies */
} info[] = {
#define CLASSES                                    OF_CLASSES
#define VALUES                                     OF_VALUES
#define NOTHING                                    OF_NOTHING
#define TG_LOSS(id, name, labels, origin, formula) {labels, origin},
#include "frontend/training/losses.def"
#undef TG_LOSS
#undef CLASSES
#undef VALUES
#undef NOTHING
};

bool tg_loss_has_labels(tg_loss loss) { return info[loss].labels != OF_NOTHING; }

tg_status tg_loss_labels(tg_loss loss, const tg_value *y, bool *out_classes, int *out_rank, tg_dim *out_dims,
                         tg_diag *diag) {
  bool classes = *out_classes = info[loss].labels == OF_CLASSES;
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

/* --- parts */

static tg_value *sum_of_all(tg_build *b, tg_value *x) {
  int64_t one = 1;
  return tg_build_reshape(b, tg_build_sum(b, x, (1u << x->rank) - 1), 1, &one);
}

static tg_value *mean_of_all(tg_build *b, tg_value *x) {
  return tg_build_with(b, TG_OP_MUL, sum_of_all(b, x), 1 / (double)tg_value_elements(x));
}

/* --- losses */

typedef struct loss_build {
  tg_build *b;
  tg_value *y, *labels;
  tg_value *value; /* of each element or row, to be averaged */
  tg_value *slope; /* of each element of y, before the mean and the scale; its nodes follow b->forward, */
  int operand;     /* whose operand y is */
} loss_build;

/* Without a tensor of probabilities or of ones: log(sum(exp y)) - y[label], and exp(y - log(sum(exp y))) less
 * one at the label, each in one pass over y. */
static void cross_entropy(loss_build *l) {
  tg_build *b = l->b;
  tg_value *sum = tg_build_reduce(b, TG_OP_REDUCE_LOG_SUM_EXP, l->y, CLASS_AXIS);
  l->value = tg_build_binary(b, TG_OP_SUB, sum, tg_build_picked(b, l->labels, l->y));
  b->forward = sum->producer->id;
  tg_value *p = tg_build_unary(b, TG_OP_EXP, tg_build_binary(b, TG_OP_SUB, l->y, sum));
  tg_value *hot =
      tg_build_where(b, tg_build_is_label(b, l->labels, l->y), tg_build_number(b, 1), tg_build_number(b, 0));
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
  tg_value *zero = tg_build_number(b, 0),
           *y = tg_build_where(b, tg_build_is_label(b, l->labels, l->y), l->y, zero);
  l->value = tg_build_unary(b, TG_OP_NEG, tg_build_sum(b, y, CLASS_AXIS));
  b->forward = y->producer->id;
  l->operand = 1;
  l->slope = tg_build_where(b, tg_build_is_label(b, l->labels, l->y), tg_build_number(b, -1), zero);
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

/* 1 for rows that count, 0 for those that are to be ignored. */
static tg_value *counted(tg_build *b, const tg_training_options *options, tg_value *labels,
                         const tg_value *value) {
  tg_value *ignored =
      tg_build_with(b, TG_OP_EQUAL, tg_build_reshape_like(b, labels, value), options->ignore_index);
  return tg_build_where(b, ignored, tg_build_number(b, 0), tg_build_number(b, 1));
}

/* The mean of l->value, and the gradient that l->slope is of each term of it, over the rows that count. */
static void weigh(loss_build *l, const tg_training_options *options, tg_build *backward, tg_value **out_loss,
                  tg_value **out_gradient) {
  tg_build *b = l->b;
  if (!options->ignore || info[options->loss].labels != OF_CLASSES) {
    *out_loss = mean_of_all(b, l->value);
    *out_gradient = tg_build_with(backward, TG_OP_MUL, l->slope, 1 / (double)tg_value_elements(l->value));
    return;
  }
  tg_value *rows = counted(b, options, l->labels, l->value), *count = sum_of_all(b, rows);
  tg_value *loss =
      tg_build_where(b, tg_build_with(b, TG_OP_GREATER, rows, 0), l->value, tg_build_number(b, 0));
  *out_loss = tg_build_binary(b, TG_OP_DIV, sum_of_all(b, loss), count);
  *out_gradient = mul(backward, l->slope, tg_build_binary(backward, TG_OP_DIV, rows, count));
}

/* The output is the loss. */
static void of_model(tg_build *b, tg_value *y, tg_value *scale, tg_value **out_loss,
                     tg_value **out_gradient) {
  int64_t one = 1;
  tg_build parts = *b;
  parts.name = "loss";
  *out_loss = tg_build_reshape(&parts, tg_build_cast(&parts, y, TG_F32), 1, &one);
  parts.name = tg_arena_printf(b->graph->arena, "%s.grad", y->name);
  tg_value *gradient = scale ? scale : tg_build_number(&parts, 1);
  *out_gradient = tg_build_cast(&parts, tg_build_reshape_like(&parts, gradient, y), y->dtype);
}

void tg_loss_build(tg_build *b, const tg_training_options *options, tg_value *y, tg_value *labels,
                   tg_value *scale, tg_value **out_loss, tg_value **out_gradient) {
  static void (*const build[])(loss_build *) = {
      [TG_LOSS_CROSS_ENTROPY] = cross_entropy,     [TG_LOSS_NLL] = nll, [TG_LOSS_BCE] = bce,
      [TG_LOSS_BCE_WITH_LOGITS] = bce_with_logits, [TG_LOSS_MSE] = mse,
  };
  if (options->loss == TG_LOSS_MODEL) {
    of_model(b, y, scale, out_loss, out_gradient);
    return;
  }
  loss_build l = {.b = b, .y = y, .labels = labels};
  tg_build saved = *b;
  b->origin = info[options->loss].origin;
  b->name = "loss";
  build[options->loss](&l);
  tg_build backward = *b;
  backward.name = tg_arena_printf(b->graph->arena, "%s.grad", y->name);
  backward.keep_formats = false;
  b->forward = -1;
  weigh(&l, options, &backward, out_loss, out_gradient);
  if (scale) *out_gradient = mul(&backward, *out_gradient, scale);
  (*out_gradient)->dtype = y->dtype;
  (*out_gradient)->producer->forward_operand = l.operand;
  *b = saved;
}
