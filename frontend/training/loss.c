#include "frontend/training/loss.h"

#include "frontend/training/loss_terms.h"

enum { MOST_PAIRS = 1 << 28 };

typedef enum label_kind { OF_VALUES, OF_CLASSES, OF_LISTS, OF_NOTHING } label_kind;

static const struct {
  label_kind labels;
  const char *origin; /* torch's name of the operator, for the policies */
} info[] = {
#define CLASSES                                    OF_CLASSES
#define VALUES                                     OF_VALUES
#define LISTS                                      OF_LISTS
#define NOTHING                                    OF_NOTHING
#define TG_LOSS(id, name, labels, origin, formula) {labels, origin},
#include "frontend/training/losses.def"
#undef TG_LOSS
#undef CLASSES
#undef VALUES
#undef LISTS
#undef NOTHING
};

bool tg_loss_has_labels(tg_loss loss) { return info[loss].labels != OF_NOTHING; }
bool tg_loss_lists_classes(tg_loss loss) { return info[loss].labels == OF_LISTS; }

tg_status tg_loss_labels(tg_loss loss, const tg_value *y, bool *out_classes, int *out_rank, tg_dim *out_dims,
                         tg_diag *diag) {
  bool classes = *out_classes = info[loss].labels == OF_CLASSES;
  if (classes && y->rank < 2)
    return tg_fail(diag, TG_INVALID, "output \"%s\": loss %s needs classes along dimension 1, its rank is %d",
                   y->name, tg_loss_name(loss), y->rank);
  bool margin = loss == TG_LOSS_MULTI_MARGIN || info[loss].labels == OF_LISTS;
  if (margin && y->rank != 2)
    return tg_fail(diag, TG_INVALID, "output \"%s\": loss %s needs rows of classes, its rank is %d", y->name,
                   tg_loss_name(loss), y->rank);
  if (!tg_value_elements(y))
    return tg_fail(diag, TG_INVALID, "output \"%s\" is empty: it has no loss", y->name);
  double pairs = info[loss].labels == OF_LISTS ? (double)tg_value_elements(y) * (double)y->dims[1].size : 0;
  if (pairs > MOST_PAIRS)
    return tg_fail(diag, TG_INVALID, "output \"%s\": loss %s of %.0f pairs of classes is too large", y->name,
                   tg_loss_name(loss), pairs);
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

/* 1 for rows that count, 0 for those that are to be ignored. */
static tg_value *counted(tg_build *b, const tg_training_options *options, tg_value *labels,
                         const tg_value *value) {
  tg_value *ignored =
      tg_build_with(b, TG_OP_EQUAL, tg_build_reshape_like(b, labels, value), options->ignore_index);
  return tg_build_where(b, ignored, tg_build_number(b, 0), tg_build_number(b, 1));
}

/* The mean of l->value, and the gradient that l->slope is of each term of it, over the rows that count. */
static void weigh(tg_loss_terms *l, const tg_training_options *options, tg_build *backward,
                  tg_value **out_loss, tg_value **out_gradient) {
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
  *out_gradient =
      tg_build_binary(backward, TG_OP_MUL, l->slope, tg_build_binary(backward, TG_OP_DIV, rows, count));
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
  if (options->loss == TG_LOSS_MODEL) {
    of_model(b, y, scale, out_loss, out_gradient);
    return;
  }
  tg_loss_terms l = {.b = b, .beta = options->loss_beta, .y = y, .labels = labels};
  tg_build saved = *b;
  b->origin = info[options->loss].origin;
  b->name = "loss";
  tg_loss_build_terms(options->loss, &l);
  tg_build backward = *b;
  backward.name = tg_arena_printf(b->graph->arena, "%s.grad", y->name);
  backward.keep_formats = false;
  b->forward = -1;
  weigh(&l, options, &backward, out_loss, out_gradient);
  if (scale) *out_gradient = tg_build_binary(&backward, TG_OP_MUL, *out_gradient, scale);
  (*out_gradient)->dtype = y->dtype;
  (*out_gradient)->producer->forward_operand = l.operand;
  *b = saved;
}
