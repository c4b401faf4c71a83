/* What must be known before the array runs. */
#include "frontend/infer.h"

/* Operands that must be constant, and all that they are computed from: but for what only shapes tell. */
void tg_graph_deciding_inputs(const tg_graph *graph, bool *out_decides) {
  bool *decides = TG_NEW_ARRAY(graph->arena, bool, (size_t)graph->value_count + 1);
  for (const tg_node *node = graph->last; node; node = node->previous) {
    unsigned operands = tg_op_deciding_operands(node->op);
    bool any = false;
    for (int i = 0; i < node->output_count; i++) any |= decides[node->outputs[i]->index];
    if (node->op == TG_OP_SHAPE || node->op == TG_OP_SIZE) continue;
    for (int i = 0; i < node->input_count; i++)
      if (tg_in(node, i) && (any || (i < 32 ? operands >> i & 1 : operands >> 31 & 1)))
        decides[tg_in(node, i)->index] = true;
  }
  for (int i = 0; i < graph->input_count; i++) out_decides[i] = decides[graph->inputs[i]->index];
}
