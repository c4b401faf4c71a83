/* Element types: what operators take, and what elementwise ones give. */
#include "frontend/infer/internal.h"

/* Beside floats: what shapes are computed with. */
static bool computes_integers(tg_op op) {
  switch (op) {
  case TG_OP_NEG:
  case TG_OP_ABS:
  case TG_OP_SIGN:
  case TG_OP_MAX:
  case TG_OP_MIN:
  case TG_OP_SUM:
  case TG_OP_WHERE:
  case TG_OP_RANGE:
  case TG_OP_REDUCE_SUM:
  case TG_OP_REDUCE_PROD:
  case TG_OP_REDUCE_MAX:
  case TG_OP_REDUCE_MIN: return true;
  default:
    return tg_op_is(op, TG_IS_BINARY) && !tg_op_is(op, TG_IS_LOGIC) && op != TG_OP_POW && op != TG_OP_PRELU;
  }
}

static bool takes_any_type(tg_op op) {
  return tg_op_is(op, TG_IS_MOVE | TG_IS_GENERATES) || op == TG_OP_CAST || op == TG_OP_GATHER_ELEMENTS;
}

/* While a result's dtype is open the model is as its author wrote it; later lowering may have made floats of
 * its bools. */
static bool takes_type(const tg_node *node, int input, tg_dtype dtype) {
  bool open = !tg_out(node)->dtype;
  if (tg_op_is(node->op, TG_IS_RECURRENT) && input == 4) return dtype == TG_I32; /* sequence_lens */
  if (input == tg_op_index_operand(node->op)) return tg_dtype_is_integer(dtype);
  if (tg_op_is(node->op, TG_IS_LOGIC) || (node->op == TG_OP_WHERE && !input))
    return dtype == TG_BOOL || (!open && tg_dtype_is_float(dtype));
  if (dtype == TG_BOOL) return takes_any_type(node->op) || node->op == TG_OP_EQUAL || node->op == TG_OP_WHERE;
  return takes_any_type(node->op) || tg_dtype_is_float(dtype) ||
         (computes_integers(node->op) && tg_dtype_is_integer(dtype));
}

/* Operands must agree in the model. Later the precision pass may mix float formats: every operand is widened
 * exactly. */
tg_status tg_infer_check_dtypes(const tg_node *node, tg_diag *diag) {
  int typed = node->op == TG_OP_WHERE; /* the first that has the result's type */
  tg_dtype first = tg_in(node, typed)->dtype;
  bool alone = node->op == TG_OP_CAST || node->op == TG_OP_BLOCKED_ATTENTION ||
               node->op == TG_OP_BATCH_NORMALIZATION || node->op == TG_OP_LAYER_NORMALIZATION;
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (!x) continue;
    if (!takes_type(node, i, x->dtype))
      return tg_fail(diag, TG_INVALID, "input %d has element type %s, which is not supported here", i,
                     tg_dtype_name(x->dtype));
    if (tg_op_is(node->op, TG_IS_RECURRENT) && i == 4) continue;
    if (alone || i < typed || i == tg_op_index_operand(node->op)) continue;
    bool mix = tg_out(node)->dtype && !tg_op_is(node->op, TG_IS_MOVE) && tg_dtype_is_float(first) &&
               tg_dtype_is_float(x->dtype);
    if (x->dtype != first && !mix)
      return tg_fail(diag, TG_INVALID, "inputs have element types %s and %s", tg_dtype_name(first),
                     tg_dtype_name(x->dtype));
  }
  return TG_OK;
}

tg_dtype tg_infer_elementwise_dtype(const tg_node *node) {
  if (tg_op_is(node->op, TG_IS_COMPARE | TG_IS_LOGIC)) return TG_BOOL;
  return tg_in(node, node->op == TG_OP_WHERE)->dtype;
}
