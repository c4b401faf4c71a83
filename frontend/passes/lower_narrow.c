/* Floats of 8 and 4 bits become their numbers in FP32, exactly: what is converted to such a type has been rounded to it
 * (decompose/narrow.c). */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

static bool is_narrow(const tg_value *value) { return value && tg_dtype_is_narrow(value->dtype); }

void tg_pass_lower_narrow(tg_graph *graph) {
  for (int i = 0; i < graph->input_count; i++)
    if (is_narrow(graph->inputs[i])) graph->inputs[i]->dtype = TG_F32;
  TG_FOR_NODES_SAFE(graph, node) {
    for (int i = 0; i < node->input_count; i++)
      if (tg_is_constant(tg_in(node, i)) && is_narrow(tg_in(node, i)))
        tg_node_set_input(node, i, tg_rewrite_numbers(graph, tg_in(node, i), TG_F32));
    for (int i = 0; i < node->output_count; i++)
      if (is_narrow(node->outputs[i])) node->outputs[i]->dtype = TG_F32;
    if (node->op != TG_OP_CAST || !tg_dtype_is_narrow((tg_dtype)tg_attr_int(node, TG_ATTR_TO))) continue;
    tg_attr_set_int(node, TG_ATTR_TO, TG_F32);
    if (tg_in(node, 0)->dtype == TG_F32) tg_rewrite_replace(graph, node, tg_in(node, 0));
  }
}
