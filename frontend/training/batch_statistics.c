#include "frontend/training/batch_statistics.h"

#include "frontend/build/build.h"

typedef struct collector {
  tg_graph *graph;
  tg_statistic *statistics;
  size_t count, capacity;
  tg_diag *diag;
} collector;

static tg_status check(const tg_node *node, int64_t n, tg_diag *diag) {
  for (int i = 3; i < 5; i++)
    if (!tg_is_constant(tg_in(node, i)))
      return tg_fail(diag, TG_INVALID,
                     "node \"%s\" (BatchNormalization): running statistic \"%s\" is not constant", node->name,
                     tg_in(node, i)->name);
  if (n > 1) return TG_OK;
  return tg_fail(
      diag, TG_INVALID,
      "node \"%s\" (BatchNormalization): one element a channel has no variance: take a larger batch",
      node->name);
}

/* A moment of x over all but the channels, divided by their n elements, as [1, C, 1, ..]. */
static tg_value *moment(tg_build *b, tg_value *x, int order, int64_t n) {
  tg_value *sum = tg_build_reduce(b, TG_OP_REDUCE_MOMENT, x, ((1u << x->rank) - 1) & ~2u);
  tg_attr_set_int(sum->producer, TG_ATTR_ORDER, order);
  return tg_build_with(b, TG_OP_MUL, sum, 1 / (double)n);
}

static int64_t elements_of_channel(const tg_node *node) {
  const tg_value *x = tg_in(node, 0);
  return x->dims[1].size ? tg_value_elements(x) / x->dims[1].size : 0;
}

/* f32[C]: mean and biased variance of the batch. */
static void statistics_of(tg_graph *graph, tg_node *node, int64_t n, tg_value *out_of_batch[2]) {
  tg_value *x = tg_in(node, 0);
  int64_t channels = x->dims[1].size;
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_in(node, 3)->name,
                .forward = -1,
                .origin = "batch_norm",
                .keep_formats = true};
  out_of_batch[0] = moment(&b, x, 1, n);
  b.name = tg_in(node, 4)->name;
  out_of_batch[1] = moment(&b, x, 2, n);
  for (int i = 0; i < 2; i++) out_of_batch[i] = tg_build_reshape(&b, out_of_batch[i], 1, &channels);
}

static tg_status normalize_by_batch(collector *c, tg_node *node) {
  int64_t n = elements_of_channel(node);
  tg_value *of_batch[2];
  if (check(node, n, c->diag)) return TG_INVALID;
  statistics_of(c->graph, node, n, of_batch);
  for (int i = 0; i < 2; i++) {
    tg_statistic statistic = {.running = tg_in(node, 3 + i),
                              .of_batch = of_batch[i],
                              .momentum = tg_attr_float(node, TG_ATTR_MOMENTUM),
                              .factor = i ? (double)n / (double)(n - 1) : 1};
    tg_node_set_input(node, 3 + i, statistic.of_batch);
    TG_PUSH(c->graph->arena, c->statistics, c->count, c->capacity, statistic);
  }
  return TG_OK;
}

tg_status tg_batch_statistics(tg_graph *graph, tg_statistic **out_statistics, size_t *out_count,
                              tg_diag *diag) {
  collector c = {.graph = graph, .diag = diag};
  TG_FOR_NODES(graph, node)
  if (node->op == TG_OP_BATCH_NORMALIZATION && normalize_by_batch(&c, node)) return TG_INVALID;
  *out_statistics = c.statistics;
  *out_count = c.count;
  return TG_OK;
}

tg_status tg_normalize_by_batch(tg_graph *graph, tg_diag *diag) {
  TG_FOR_NODES(graph, node) {
    if (node->op != TG_OP_BATCH_NORMALIZATION || !tg_attr_int(node, TG_ATTR_TRAINING_MODE)) continue;
    int64_t n = elements_of_channel(node);
    tg_value *of_batch[2];
    if (!n)
      return tg_fail(diag, TG_INVALID,
                     "node \"%s\" (BatchNormalization): an empty batch has no statistics (training_mode = 1)",
                     node->name);
    statistics_of(graph, node, n, of_batch);
    for (int i = 0; i < 2; i++) tg_node_set_input(node, 3 + i, of_batch[i]);
    tg_attr_set_int(node, TG_ATTR_TRAINING_MODE, 0);
  }
  return TG_OK;
}

int tg_stop_dropout(tg_graph *graph) {
  int count = 0;
  TG_FOR_NODES(graph, node) {
    if (node->op != TG_OP_DROPOUT) continue;
    count += tg_attr_float(node, TG_ATTR_RATIO) > 0;
    tg_attr_set_float(node, TG_ATTR_RATIO, 0);
  }
  return count;
}

int tg_make_inference(tg_graph *graph) {
  int count = tg_stop_dropout(graph);
  TG_FOR_NODES(graph, node) {
    if (node->op != TG_OP_BATCH_NORMALIZATION) continue;
    count += tg_attr_int(node, TG_ATTR_TRAINING_MODE) != 0;
    tg_attr_set_int(node, TG_ATTR_TRAINING_MODE, 0);
  }
  return count;
}
