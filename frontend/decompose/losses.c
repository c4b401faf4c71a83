/* SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss as comparisons of the labels with 0, 1 .. C-1, and
 * sums. Precision policies, gradients and the array see only that. */
#include "frontend/build/labels.h"
#include "frontend/decompose/decompose.h"

#include <inttypes.h>
#include <string.h>

enum { EXACT = 1 << 24 /* labels are compared in FP32 */ };

typedef enum reduction { OF_EACH, TO_SUM, TO_MEAN, UNKNOWN } reduction;

static reduction reduction_of(const tg_node *node) {
  static const char *const names[] = {"none", "sum", "mean"};
  const char *text = tg_attr_text(node, TG_ATTR_REDUCTION);
  if (!*text) return TO_MEAN;
  int i = 0;
  while (i < UNKNOWN && strcmp(text, names[i])) i++;
  return (reduction)i;
}

static bool is_given(int64_t ignore_index) { return ignore_index != INT32_MIN; }

static tg_status check(const tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *labels = tg_in(node, 1), *weights = tg_in(node, 2);
  int64_t ignored = tg_attr_int(node, TG_ATTR_IGNORE_INDEX);
  if (x->rank < 2) return tg_fail(diag, TG_INVALID, "scores of rank %d have no classes", x->rank);
  bool fits = labels->rank == x->rank - 1;
  for (int d = 0; fits && d < labels->rank; d++) fits = labels->dims[d].size == x->dims[d + (d > 0)].size;
  if (!fits) return tg_fail(diag, TG_INVALID, "labels do not have the scores' shape without the classes");
  if (weights && (weights->rank != 1 || weights->dims[0].size != x->dims[1].size))
    return tg_fail(diag, TG_INVALID, "there is not one weight for each of %" PRId64 " classes",
                   x->dims[1].size);
  if (x->dims[1].size > EXACT)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " classes are more than 2^24", x->dims[1].size);
  if (!tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "the scores are empty");
  if (reduction_of(node) == UNKNOWN)
    return tg_fail(diag, TG_INVALID, "reduction \"%s\" is not known", tg_attr_text(node, TG_ATTR_REDUCTION));
  if (is_given(ignored) && (ignored < -EXACT || ignored > EXACT))
    return tg_fail(diag, TG_INVALID, "ignore_index %" PRId64 " is not within 2^24", ignored);
  return TG_OK;
}

tg_status tg_infer_loss(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *labels = tg_in(node, 1);
  int64_t sizes[TG_MAX_RANK];
  if (check(node, diag)) return TG_INVALID;
  tg_value_sizes(labels, sizes);
  int rank = reduction_of(node) == OF_EACH ? labels->rank : 0;
  if (tg_infer_result(node, x->dtype, rank, sizes, diag)) return TG_INVALID;
  if (node->output_count < 2) return TG_OK;
  tg_value_sizes(x, sizes);
  return tg_infer_result_at(node, 1, x->dtype, x->rank, sizes, diag);
}

/* --- what it is made of */

static tg_value *log_softmax(tg_build *b, tg_value *x) {
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_LOG_SOFTMAX, b->name, &x, 1, b->before, -1);
  tg_attr_set_int(node, TG_ATTR_AXIS, 1);
  return tg_build_finish(b, node);
}

/* -log softmax(x)[label], or -x[label] of logarithms x: [N, 1, ..]. */
static tg_value *terms_of(tg_build *b, tg_node *node, tg_value *x, tg_value *labels) {
  if (node->op == TG_OP_SOFTMAX_CROSS_ENTROPY_LOSS) {
    tg_value *log_p = node->outputs[1];
    if (!log_p->use_count && !log_p->output_count) {
      tg_value *sum = tg_build_reduce(b, TG_OP_REDUCE_LOG_SUM_EXP, x, 1u << 1);
      return tg_build_binary(b, TG_OP_SUB, sum, tg_build_picked(b, labels, x));
    }
    x = log_softmax(b, x);
    tg_build_result(b->graph, log_p, tg_build_cast(b, x, tg_in(node, 0)->dtype));
  }
  return tg_build_unary(b, TG_OP_NEG, tg_build_picked(b, labels, x));
}

/* Weights of classes are no parameters, though they may be initializers. */
static tg_value *class_weights(tg_build *b, tg_value *weights, int rank) {
  int64_t sizes[TG_MAX_RANK] = {weights->dims[0].size, 1, 1, 1, 1, 1, 1, 1};
  if (tg_is_constant(weights))
    weights = tg_graph_add_constant(b->graph, weights->name, weights->dtype, 1, sizes, weights->data, true);
  return tg_build_reshape(b, tg_build_cast(b, weights, TG_F32), rank, sizes);
}

/* What each term counts, of its shape; NULL: each counts 1. Terms that do not count become 0, whatever they
 * were. */
static tg_value *weights_of(tg_build *b, const tg_node *node, const tg_value *x, tg_value *labels,
                            tg_value **terms) {
  tg_value *weights = NULL, *zero = tg_build_number(b, 0);
  if (tg_in(node, 2)) {
    tg_value *each = class_weights(b, tg_in(node, 2), x->rank - 1);
    weights = tg_build_sum(b, tg_build_where(b, tg_build_is_label(b, labels, x), each, zero), 1u << 1);
  }
  int64_t ignored = tg_attr_int(node, TG_ATTR_IGNORE_INDEX);
  if (!is_given(ignored)) return weights;
  tg_value *is_ignored =
      tg_build_with(b, TG_OP_EQUAL, tg_build_reshape_like(b, labels, *terms), (double)ignored);
  *terms = tg_build_where(b, is_ignored, zero, *terms);
  return tg_build_where(b, is_ignored, zero, weights ? weights : tg_build_number(b, 1));
}

static tg_value *total(tg_build *b, tg_value *x) {
  return tg_build_reshape(b, tg_build_sum(b, x, (1u << x->rank) - 1), 0, NULL);
}

static tg_value *reduced(tg_build *b, reduction how, tg_value *terms, tg_value *weights,
                         const tg_value *labels) {
  if (weights) terms = tg_build_binary(b, TG_OP_MUL, terms, weights);
  if (how == OF_EACH) return tg_build_reshape_like(b, terms, labels);
  tg_value *sum = total(b, terms);
  if (how == TO_SUM) return sum;
  if (weights) return tg_build_binary(b, TG_OP_DIV, sum, total(b, weights));
  return tg_build_with(b, TG_OP_MUL, sum, 1 / (double)tg_value_elements(terms));
}

void tg_expand_loss(tg_graph *graph, tg_node *node) {
  bool softmax = node->op == TG_OP_SOFTMAX_CROSS_ENTROPY_LOSS;
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_arena_printf(graph->arena, "%s.part", tg_out(node)->name),
                .forward = -1,
                .origin = softmax ? "cross_entropy_loss" : "nll_loss",
                .keep_formats = true};
  tg_value *x = tg_build_cast(&b, tg_in(node, 0), TG_F32),
           *labels = tg_build_cast(&b, tg_in(node, 1), TG_F32);
  tg_value *terms = terms_of(&b, node, x, labels);
  tg_value *weights = weights_of(&b, node, x, labels, &terms);
  tg_value *y = reduced(&b, reduction_of(node), terms, weights, tg_in(node, 1));
  tg_build_result(graph, tg_out(node), tg_build_cast(&b, y, tg_out(node)->dtype));
  tg_graph_remove_node(graph, node);
}
