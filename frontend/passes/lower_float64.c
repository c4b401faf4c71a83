/* Float64 becomes FP32, in which the array computes (docs/numerics.md). What decides by such a number, where a rounding
 * would turn the answer over, is refused. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <assert.h>
#include <math.h>

static bool reads_float64(const tg_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) && tg_in(node, i)->dtype == TG_F64) return true;
  return false;
}

/* Is the result no continuous function of the operands? */
static bool decides(const tg_node *node) {
  switch (node->op) {
  case TG_OP_FLOOR:
  case TG_OP_CEIL:
  case TG_OP_ROUND:
  case TG_OP_SIGN: return true;
  case TG_OP_CAST: return !tg_dtype_is_float(tg_out(node)->dtype);
  default: return tg_op_is(node->op, TG_IS_COMPARE);
  }
}

static tg_status check_constant(const tg_node *node, const tg_value *value, tg_diag *diag) {
  int64_t count = value->elided ? 0 : tg_value_elements(value);
  for (int64_t i = 0; i < count; i++) {
    double x = ((const double *)value->data)[i];
    if (isfinite(x) && !isfinite((float)x))
      return tg_fail(diag, TG_INVALID, "node \"%s\" (%s): constant \"%s\" holds %g, which FP32 does not",
                     node->name, tg_op_get(node->op)->name, value->name, x);
  }
  return TG_OK;
}

static tg_status check(const tg_graph *graph, tg_diag *diag) {
  TG_FOR_NODES(graph, node) {
    if (!reads_float64(node)) continue;
    if (decides(node))
      return tg_fail(diag, TG_INVALID,
                     "node \"%s\" (%s): decides by numbers in f64, which the array rounds to FP32",
                     node->name, tg_op_get(node->op)->name);
    for (int i = 0; i < node->input_count; i++)
      if (tg_is_constant(tg_in(node, i)) && tg_in(node, i)->dtype == TG_F64 &&
          check_constant(node, tg_in(node, i), diag))
        return TG_INVALID;
  }
  return TG_OK;
}

static void convert_operands(tg_graph *graph, tg_node *node) {
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (tg_is_constant(x) && x->dtype == TG_F64)
      tg_node_set_input(node, i, tg_rewrite_numbers(graph, x, TG_F32));
  }
}

tg_status tg_lower_float64(tg_graph *graph, tg_diag *diag) {
  if (check(graph, diag)) return TG_INVALID;
  for (int i = 0; i < graph->input_count; i++)
    if (graph->inputs[i]->dtype == TG_F64) graph->inputs[i]->dtype = TG_F32;
  TG_FOR_NODES_SAFE(graph, node) {
    convert_operands(graph, node);
    for (int i = 0; i < node->output_count; i++)
      if (node->outputs[i]->dtype == TG_F64) node->outputs[i]->dtype = TG_F32;
    if (node->op != TG_OP_CAST || tg_attr_int(node, TG_ATTR_TO) != TG_F64) continue;
    tg_attr_set_int(node, TG_ATTR_TO, TG_F32);
    if (tg_in(node, 0)->dtype == TG_F32) tg_rewrite_replace(graph, node, tg_in(node, 0));
  }
  return TG_OK;
}

void tg_pass_lower_float64(tg_graph *graph) {
  tg_diag diag = {""};
  tg_status status = tg_lower_float64(graph, &diag);
  assert(!status);
  (void)status;
}
