/* Backward follows forward: a node that computes a gradient has no rule of its own. It computes in what its
 * forward node computes in, and its result has the dtype in which the operand whose gradient it is arrived
 * there: the gradient of a cast is a cast. */
#include "frontend/precision/policy.h"

void tg_forward_record(tg_cast_pass *p, const tg_node *node, const tg_dtype *arrived) {
  tg_forward_formats *formats = &p->forward[node->id];
  formats->computes = TG_NONE;
  int principal = tg_op_is(node->op, TG_IS_GEMM) ? 1 : node->input_count;
  for (int i = 0; i < node->input_count && i < principal; i++) {
    const tg_value *x = tg_in(node, i);
    if (x && tg_dtype_is_float(x->dtype) && !tg_is_number(x))
      formats->computes = tg_widest(formats->computes, x->dtype);
  }
  formats->arrived = arrived;
  formats->operands = node->input_count;
  formats->product = tg_op_is(node->op, TG_IS_GEMM);
}

/* The steps of a product's gradient that are no products (sums of a bias, factors) keep what they get. */
static bool casts_operands(const tg_forward_formats *formats, const tg_node *node) {
  if (node->forward_operand == TG_SUM_OF_GRADIENTS) return false;
  return formats->computes && (!formats->product || tg_op_is(node->op, TG_IS_GEMM));
}

bool tg_forward_decide(const tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  if (node->forward < 0 || node->forward >= p->forward_count || !p->forward[node->forward].arrived)
    return false;
  const tg_forward_formats *formats = &p->forward[node->forward];
  int principal = tg_op_is(node->op, TG_IS_GEMM) ? 2 : node->input_count;
  for (int i = 0; i < node->input_count && i < principal && casts_operands(formats, node); i++) {
    const tg_value *x = tg_in(node, i);
    if (x && tg_dtype_is_float(x->dtype) && !tg_is_number(x)) verdict->operands[i] = formats->computes;
  }
  int operand = node->forward_operand;
  if (operand >= 0 && operand < formats->operands && tg_dtype_is_float(formats->arrived[operand]))
    verdict->result = formats->arrived[operand];
  else if (tg_op_is(node->op, TG_IS_GEMM))
    verdict->result = TG_F32; /* partial sums, not yet a gradient */
  for (int i = 0; i < node->input_count && tg_op_is(node->op, TG_IS_MOVE) && verdict->result; i++)
    if (tg_in(node, i) && tg_dtype_is_float(tg_in(node, i)->dtype))
      verdict->operands[i] = verdict->result; /* a move converts nothing */
  verdict->rule = "backward: follows its forward";
  verdict->source = "docs/precision.md";
  return true;
}
