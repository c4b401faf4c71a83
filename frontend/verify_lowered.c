/* What the mapper may rely on (pipeline.h). */
#include "frontend/graph.h"

#include <inttypes.h>
#include <string.h>

/* The array computes in these; whatever else a model computes in is refused here, by name. */
static bool is_device_dtype(tg_dtype dtype) {
  return dtype == TG_F32 || dtype == TG_TF32 || dtype == TG_BF16 || dtype == TG_F16;
}

static const char *wrong_reduction(const tg_node *node) {
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  int rank = tg_in(node, 0)->rank;
  if (count != 1 || !tg_attr_int(node, TG_ATTR_KEEPDIMS)) return "it must reduce one dimension and keep it";
  if (axes[0] != 1 || !(rank == 2 || (rank == 3 && tg_attr_int(node, TG_ATTR_BLOCK) > 0)))
    return "it must reduce the rows of a matrix, or blocks of the middle of three dimensions";
  return NULL;
}

static const char *wrong_form(const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  switch (node->op) {
  case TG_OP_MATMUL: return x->rank < 2 || tg_in(node, 1)->rank < 2 ? "operands must be matrices" : NULL;
  case TG_OP_CONV:
  case TG_OP_CONV_INPUT_GRADIENT:
  case TG_OP_CONV_WEIGHT_GRADIENT:
  case TG_OP_MAX_POOL_INDEX:
  case TG_OP_WINDOW_GRADIENT:
  case TG_OP_MAX_POOL:
  case TG_OP_AVERAGE_POOL:
    return x->rank != 4 || !tg_attr_int(node, TG_ATTR_CHANNELS_LAST) ? "data must be channels-last" : NULL;
  case TG_OP_SOFTMAX:
  case TG_OP_LOG_SOFTMAX:
    return tg_attr_int(node, TG_ATTR_FLATTEN) || tg_attr_int(node, TG_ATTR_AXIS) != y->rank - 1
               ? "its axis must be the last"
               : NULL;
  case TG_OP_LAYER_NORMALIZATION:
    return tg_attr_int(node, TG_ATTR_AXIS) != y->rank - 1 ? "its axis must be the last" : NULL;
  case TG_OP_REDUCE_MOMENT:
    if (x->rank != 3) return "it must reduce blocks of the middle of three dimensions";
    return wrong_reduction(node);
  case TG_OP_REDUCE_SUM:
  case TG_OP_REDUCE_MAX:
  case TG_OP_REDUCE_MIN:
  case TG_OP_REDUCE_PROD: return wrong_reduction(node);
  case TG_OP_EXPAND: return x->rank != y->rank ? "data must have the result's rank" : NULL;
  case TG_OP_PAD:
    return strcmp(tg_attr_text(node, TG_ATTR_MODE), "constant") ? "its mode must be constant" : NULL;
  case TG_OP_MAX:
  case TG_OP_MIN: return node->input_count < 2 ? "it must have two inputs" : NULL;
  default: return NULL;
  }
}

static tg_status check_node(const tg_node *node, tg_diag *diag) {
  const char *op = tg_op_get(node->op)->name, *wrong = wrong_form(node);
  if (!tg_op_is(node->op, TG_IS_DEVICE))
    return tg_fail(diag, TG_INVALID, "node %" PRId64 " \"%s\" (%s) was not lowered", node->id, node->name,
                   op);
  if (wrong)
    return tg_fail(diag, TG_INVALID, "node %" PRId64 " \"%s\" (%s): %s", node->id, node->name, op, wrong);
  for (int i = -1; i < node->input_count; i++) {
    const tg_value *value = i < 0 ? tg_out(node) : tg_in(node, i);
    if (i == 0 && node->op == TG_OP_CAST && value->kind == TG_VALUE_INPUT &&
        tg_dtype_is_integer(value->dtype))
      continue; /* in memory it is the float already */
    if (value && !is_device_dtype(value->dtype))
      return tg_fail(diag, TG_INVALID,
                     "node \"%s\" (%s): tensor \"%s\" is %s, the array has f32, tf32, bf16 and f16",
                     node->name, op, value->name, tg_dtype_name(value->dtype));
  }
  return TG_OK;
}

tg_status tg_graph_verify_lowered(const tg_graph *graph, tg_diag *diag) {
  if (tg_graph_verify(graph, diag)) return TG_INVALID;
  TG_FOR_NODES(graph, node)
  if (check_node(node, diag)) return TG_INVALID;
  return TG_OK;
}
