/* Operators of the domain com.microsoft, as ONNX Runtime's optimizer fuses them. */
#include "frontend/decompose/compose.h"

static tg_status check_floats(const tg_node *node, tg_diag *diag) {
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (x && !tg_dtype_is_float(x->dtype))
      return tg_fail(diag, TG_INVALID, "input %d has element type %s, which is not supported here", i,
                     tg_dtype_name(x->dtype));
  }
  return TG_OK;
}

tg_status tg_make_fused_matmul(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1);
  double alpha = tg_attr_float(node, TG_ATTR_ALPHA);
  if (check_floats(node, diag)) return TG_INVALID;
  if (x->rank < 2 || w->rank < 2) return tg_fail(diag, TG_INVALID, "an operand is no matrix");
  if (tg_attr_int(node, TG_ATTR_TRANS_A)) x = tg_build_swap(b, x);
  if (tg_attr_int(node, TG_ATTR_TRANS_B)) w = tg_build_swap(b, w);
  tg_value *y = tg_build_matmul(b, x, w);
  results[0] = tg_build_cast(b, alpha == 1 ? y : times(b, y, alpha), tg_in(node, 0)->dtype);
  return TG_OK;
}

tg_status tg_make_fused_gelu(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y;
  if (check_floats(node, diag)) return TG_INVALID;
  if (node->op == TG_OP_QUICK_GELU) {
    y = mul(b, x, tg_build_unary(b, TG_OP_SIGMOID, times(b, x, tg_attr_float(node, TG_ATTR_ALPHA))));
  } else {
    tg_value *sum = tg_in(node, 1) ? add(b, x, tg_in(node, 1)) : x;
    tg_node *gelu = tg_graph_add_node(b->graph, TG_OP_GELU, b->name, &sum, 1, b->before, -1);
    tg_attr_set_text(b->graph, gelu, TG_ATTR_APPROXIMATE, node->op == TG_OP_FAST_GELU ? "tanh" : "none");
    y = tg_build_finish(b, gelu);
  }
  results[0] = tg_build_cast(b, y, x->dtype);
  return TG_OK;
}

/* The sum goes on in the type of the data, as where it is an operator of its own. */
tg_status tg_make_skip_normalization(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  bool simplified = node->op == TG_OP_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
  tg_value *x = tg_in(node, 0), *scale = tg_in(node, 2), *shift = simplified ? NULL : tg_in(node, 3),
           *bias = tg_in(node, simplified ? 3 : 4), *sum;
  tg_value *rows[] = {scale, shift, bias};
  if (check_floats(node, diag)) return TG_INVALID;
  if (!x->rank || !tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "its data is a scalar or empty");
  for (int i = 0; i < 3; i++)
    if (rows[i] && (rows[i]->rank != 1 || rows[i]->dims[0].size != x->dims[x->rank - 1].size))
      return tg_fail(diag, TG_INVALID, "scale, shift and bias do not have the size of the last dimension");
  sum = add(b, x, tg_in(node, 1));
  if (bias) sum = add(b, sum, bias);
  if (!b->failed && !tg_value_same_shape(sum, x)) return tg_fail(diag, TG_INVALID, "the skip does not fit");
  unsigned last = 1u << (x->rank - 1);
  tg_value *rest = sum;
  if (!simplified) {
    results[1] = tg_build_reduce(b, TG_OP_REDUCE_MEAN, sum, last);
    rest = sub(b, sum, results[1]);
  }
  tg_value *variance = tg_build_reduce(b, TG_OP_REDUCE_MEAN, mul(b, rest, rest), last);
  tg_value *root = tg_build_unary(b, TG_OP_SQRT, plus(b, variance, tg_attr_float(node, TG_ATTR_EPSILON)));
  results[2] = tg_build_unary(b, TG_OP_RECIPROCAL, root);
  tg_value *y = mul(b, mul(b, rest, results[2]), scale);
  results[0] = tg_build_cast(b, shift ? add(b, y, shift) : y, x->dtype);
  results[3] = tg_build_cast(b, sum, x->dtype);
  return TG_OK;
}
