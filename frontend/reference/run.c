#include "frontend/reference/layout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void evaluate(const tg_node *node, const tg_reference_draw *draw, const void *const *inputs,
                     void *const *outputs) {
  void *y = outputs[0];
  if (tg_op_is(node->op, TG_IS_REDUCE)) {
    tg_reference_reduction(node, inputs, y);
    return;
  }
  if (tg_op_is(node->op, TG_IS_GENERATES)) {
    tg_reference_generate(node, inputs, y);
    return;
  }
  switch (node->op) {
  case TG_OP_MATMUL: tg_reference_matmul(node, draw, inputs, y); break;
  case TG_OP_GEMM: tg_reference_gemm(node, inputs, y); break;
  case TG_OP_REDUCE_PARTIALS: tg_reference_reduce_partials(node, inputs, y); break;
  case TG_OP_CONV: tg_reference_conv(node, inputs, y); break;
  case TG_OP_CONV_TRANSPOSE:
  case TG_OP_CONV_INPUT_GRADIENT: tg_reference_conv_input_gradient(node, inputs, y); break;
  case TG_OP_CONV_WEIGHT_GRADIENT: tg_reference_conv_weight_gradient(node, inputs, y); break;
  case TG_OP_MAX_POOL_INDEX: tg_reference_max_pool_index(node, inputs, y); break;
  case TG_OP_MAX_POOL_GRADIENT:
  case TG_OP_AVERAGE_POOL_GRADIENT:
  case TG_OP_WINDOW_GRADIENT: tg_reference_pool_gradient(node, inputs, y); break;
  case TG_OP_MAX_POOL:
  case TG_OP_AVERAGE_POOL: tg_reference_pool(node, inputs, y); break;
  case TG_OP_GLOBAL_AVERAGE_POOL:
  case TG_OP_GLOBAL_MAX_POOL: tg_reference_global_pool(node, inputs, y); break;
  case TG_OP_SOFTMAX:
  case TG_OP_LOG_SOFTMAX: tg_reference_softmax(node, inputs, y); break;
  case TG_OP_BLOCKED_ATTENTION: tg_reference_blocked_attention(node, inputs, y); break;
  case TG_OP_LAYER_NORMALIZATION: tg_reference_layer_normalization(node, inputs, y); break;
  case TG_OP_BATCH_NORMALIZATION: tg_reference_batch_normalization(node, inputs, y); break;
  case TG_OP_RESHAPE:
  case TG_OP_FLATTEN:
  case TG_OP_SQUEEZE:
  case TG_OP_UNSQUEEZE:
  case TG_OP_IDENTITY:
  case TG_OP_DROPOUT: tg_reference_copy(node, inputs, y); break;
  case TG_OP_TRANSPOSE: tg_reference_transpose(node, inputs, y); break;
  case TG_OP_CONCAT: tg_reference_concat(node, inputs, y); break;
  case TG_OP_SPLIT: tg_reference_split(node, inputs, outputs); break;
  case TG_OP_SLICE:
  case TG_OP_PAD:
  case TG_OP_EXPAND:
  case TG_OP_TILE:
  case TG_OP_RESIZE: tg_reference_by_axis(node, inputs, y); break;
  case TG_OP_DEPTH_TO_SPACE:
  case TG_OP_SPACE_TO_DEPTH: tg_reference_blocks(node, inputs, y); break;
  case TG_OP_TRILU: tg_reference_trilu(node, inputs, y); break;
  case TG_OP_GATHER:
  case TG_OP_GATHER_ROWS: tg_reference_gather(node, inputs, y); break;
  case TG_OP_SCATTER_ROWS: tg_reference_scatter_rows(node, inputs, y); break;
  case TG_OP_SCATTER_ADD: tg_reference_scatter_add(node, inputs, y); break;
  case TG_OP_CAST:
    if (tg_is_stochastic_cast(node))
      tg_reference_stochastic_cast(node, draw, inputs, y);
    else
      tg_reference_cast(node, inputs, y);
    break;
  default: assert(tg_op_is(node->op, TG_IS_ELEMENTWISE)); tg_reference_elementwise(node, inputs, y);
  }
}

/* Of results without elements the sizes may be any number, which loops over rows would count to. */
static bool computes_nothing(const tg_node *node) {
  for (int i = 0; i < node->output_count; i++)
    if (tg_value_elements(node->outputs[i])) return false;
  return true;
}

void tg_reference_node(const tg_node *node, const void *const *inputs, void *const *outputs) {
  if (computes_nothing(node)) return;
  evaluate(node, &(tg_reference_draw){0}, inputs, outputs);
}

static int64_t window_elements(const tg_node *node) {
  int64_t product = 1;
  int count;
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &count);
  for (int i = 0; i < count; i++) product *= kernel[i];
  return product;
}

/* Multiply-adds of an element of a convolution or of one of its gradients. */
static int64_t conv_cost(const tg_node *node) {
  const tg_value *w = tg_in(node, 1);
  bool last = tg_is_channels_last(node);
  if (node->op == TG_OP_CONV_WEIGHT_GRADIENT) /* w is dY */
    return tg_value_elements_between(w, 0, 1) * tg_value_elements_between(w, last ? 1 : 2, w->rank - last);
  if (node->op == TG_OP_CONV) return window_elements(node) * w->dims[last ? w->rank - 2 : 1].size;
  return window_elements(node) * (w->dims[last ? w->rank - 1 : 0].size / tg_attr_int(node, TG_ATTR_GROUP));
}

int64_t tg_reference_cost(const tg_node *node) {
  int64_t each = 1, cost;
  const tg_value *a = tg_in(node, 0);
  if (node->op == TG_OP_MATMUL || node->op == TG_OP_BLOCKED_ATTENTION)
    each = a->dims[a->rank - 1].size;
  else if (node->op == TG_OP_GEMM)
    each = a->dims[!tg_attr_int(node, TG_ATTR_TRANS_A)].size;
  else if (node->op == TG_OP_REDUCE_PARTIALS)
    each = a->dims[0].size;
  else if (tg_op_is(node->op, TG_IS_GEMM))
    each = conv_cost(node);
  else if (tg_op_is(node->op, TG_IS_WINDOW))
    each = window_elements(node);
  else if (tg_op_is(node->op, TG_IS_REDUCE))
    return tg_value_elements(a);
  else if (tg_op_is(node->op, TG_IS_POOL))
    each = tg_value_elements_between(a, 2, a->rank);
  if (__builtin_mul_overflow(each, tg_value_elements(tg_out(node)), &cost)) return INT64_MAX;
  return cost;
}

/* --- whole graphs */

/* Tensors by value->index; results are freed after their last use. */
typedef struct run {
  const tg_graph *graph;
  const tg_reference_draw *draw;
  const void **data;
  int *uses_left;
} run;

static size_t bytes_of(const tg_value *value) {
  return (size_t)tg_value_elements(value) * tg_dtype_size(value->dtype);
}

static void drop_operand(run *r, const tg_value *value) {
  if (!value || --r->uses_left[value->index] > 0 || value->kind != TG_VALUE_RESULT) return;
  free((void *)r->data[value->index]);
  r->data[value->index] = NULL;
}

static void run_node(run *r, const tg_node *node) {
  const void **inputs = tg_reference_scratch((size_t)node->input_count, sizeof *inputs);
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i)) inputs[i] = r->data[tg_in(node, i)->index];
  void **outputs = tg_reference_scratch((size_t)node->output_count, sizeof *outputs);
  for (int i = 0; i < node->output_count; i++)
    outputs[i] = tg_reference_scratch(bytes_of(node->outputs[i]), 1);
  evaluate(node, r->draw, inputs, outputs);
  for (int i = 0; i < node->input_count; i++) drop_operand(r, tg_in(node, i));
  for (int i = 0; i < node->output_count; i++) {
    bool used = r->uses_left[node->outputs[i]->index] > 0;
    r->data[node->outputs[i]->index] = used ? outputs[i] : NULL;
    if (!used) free(outputs[i]);
  }
  free(outputs);
  free(inputs);
}

void tg_reference_run(const tg_graph *graph, const void *const *inputs, void *const *outputs) {
  tg_reference_run_drawing(graph, &(tg_reference_draw){0}, inputs, outputs);
}

void tg_reference_run_drawing(const tg_graph *graph, const tg_reference_draw *draw, const void *const *inputs,
                              void *const *outputs) {
  run r = {graph, draw, tg_reference_scratch((size_t)graph->value_count, sizeof *r.data),
           tg_reference_scratch((size_t)graph->value_count, sizeof *r.uses_left)};
  for (int i = 0; i < graph->value_count; i++) {
    r.data[i] = graph->values[i]->data;
    r.uses_left[i] = graph->values[i]->use_count + graph->values[i]->output_count;
  }
  for (int i = 0; i < graph->input_count; i++) r.data[graph->inputs[i]->index] = inputs[i];
  TG_FOR_NODES(graph, node) run_node(&r, node);
  for (int i = 0; i < graph->output_count; i++)
    memcpy(outputs[i], r.data[graph->outputs[i]->index], bytes_of(graph->outputs[i]));
  for (int i = 0; i < graph->output_count; i++) drop_operand(&r, graph->outputs[i]);
  free(r.data);
  free(r.uses_left);
}
