/* What must be known before the array runs. */
#include "frontend/infer.h"

/* DECIDES: a constant is needed. CHOOSES: a constant is better, of integers and bools: conditions of If and Loop, which
 * may depend on data. */
enum { DECIDES = 1, CHOOSES = 2 };

static void mark(const tg_graph *graph, unsigned char *marks);

/* What is marked inside a body is so outside, too: its inputs are the node's last operands. */
static void mark_bodies(const tg_node *node, unsigned char *marks) {
  int end = node->input_count;
  for (int k = 1; k >= 0; k--) {
    const tg_graph *body = node->bodies[k];
    if (!body) continue;
    unsigned char *inner = TG_NEW_ARRAY(body->arena, unsigned char, (size_t)body->value_count + 1);
    mark(body, inner);
    int own = body->input_count < end ? body->input_count : end;
    for (int i = 0; i < own; i++) {
      const tg_value *operand = tg_in(node, end - own + i);
      if (operand) marks[operand->index] |= inner[body->inputs[body->input_count - own + i]->index];
    }
    end -= own;
  }
}

/* Operands that must be constant, and all that they are computed from: but for what only shapes tell. */
static void mark(const tg_graph *graph, unsigned char *marks) {
  for (const tg_node *node = graph->last; node; node = node->previous) {
    unsigned operands = tg_op_deciding_operands(node->op);
    unsigned char any = 0, own = node->op == TG_OP_IF ? CHOOSES : DECIDES;
    for (int i = 0; i < node->output_count; i++) any |= marks[node->outputs[i]->index];
    if (node->op == TG_OP_SHAPE || node->op == TG_OP_SIZE) continue;
    mark_bodies(node, marks);
    for (int i = 0; i < node->input_count; i++)
      if (tg_in(node, i))
        marks[tg_in(node, i)->index] |= any | ((i < 32 ? operands >> i & 1 : operands >> 31 & 1) ? own : 0);
    if (node->op == TG_OP_ROI_ALIGN && !tg_attr_int(node, TG_ATTR_SAMPLING_RATIO) && tg_in(node, 1))
      marks[tg_in(node, 1)->index] |= DECIDES;
    if (node->op == TG_OP_LOOP && tg_in(node, 1)) marks[tg_in(node, 1)->index] |= CHOOSES;
  }
}

void tg_graph_deciding_inputs(const tg_graph *graph, bool *out_decides) {
  unsigned char *marks = TG_NEW_ARRAY(graph->arena, unsigned char, (size_t)graph->value_count + 1);
  mark(graph, marks);
  for (int i = 0; i < graph->input_count; i++) {
    unsigned char found = marks[graph->inputs[i]->index];
    out_decides[i] = found & DECIDES || (found & CHOOSES && !tg_dtype_is_float(graph->inputs[i]->dtype));
  }
}
