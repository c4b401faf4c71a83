/* FlexAttention: two products and a softmax, with the node's bodies where they change scores and probabilities. */
#include "frontend/decompose/attention.h"
#include "frontend/decompose/decompose.h"

#include <inttypes.h>
#include <math.h>

/* What the softmax and the bodies compute in; TG_NONE: none that is known. */
static tg_dtype precision_of(const tg_node *node) {
  switch (tg_attr_int(node, TG_ATTR_SOFTMAX_PRECISION)) {
  case 0: return tg_in(node, 0)->dtype == TG_F64 ? TG_F64 : TG_F32;
  case 1: return TG_F32;
  case 10: return TG_F16;
  case 11: return TG_F64;
  case 16: return TG_BF16;
  default: return TG_NONE;
  }
}

static tg_status check(const tg_node *node, tg_diag *diag) {
  const tg_value *q = tg_in(node, 0), *k = tg_in(node, 1), *v = tg_in(node, 2);
  bool fits = q && k && v && q->rank == 4 && k->rank == 4 && v->rank == 4;
  for (int i = 0; fits && i < 3; i++) {
    const tg_value *x = tg_in(node, i);
    fits = tg_dtype_is_float(x->dtype) && x->dtype == q->dtype && tg_value_elements(x) > 0 &&
           x->dims[0].size == q->dims[0].size;
  }
  if (!fits || k->dims[1].size != v->dims[1].size || k->dims[2].size != v->dims[2].size ||
      q->dims[3].size != k->dims[3].size || q->dims[1].size % k->dims[1].size)
    return tg_fail(diag, TG_INVALID, "Q, K and V are no floats of four dimensions that fit each other");
  if (!precision_of(node))
    return tg_fail(diag, TG_INVALID, "softmax_precision = %" PRId64 " is not supported",
                   tg_attr_int(node, TG_ATTR_SOFTMAX_PRECISION));
  if (!isfinite(tg_attr_float(node, TG_ATTR_SCALE)))
    return tg_fail(diag, TG_INVALID, "its scale is not finite");
  return TG_OK;
}

/* The body `which` of x, if there is one; `at`, the operand that stands for x, moves on to that of the next body. */
static tg_status changed(tg_graph *graph, tg_node *node, int which, int *at, tg_value **x, tg_diag *diag) {
  const tg_graph *body = node->bodies[which];
  if (!body) return TG_OK;
  tg_value **inputs = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)body->input_count + 1);
  for (int i = 0; i < body->input_count; i++) inputs[i] = i ? tg_in(node, *at + i) : *x;
  *at += body->input_count;
  return tg_put_body(graph, body, node, inputs, x, diag);
}

/* Nodes behind a body, which has no types yet. */
static tg_value *later(tg_graph *graph, tg_node *node, tg_op op, tg_value *x, tg_value *y) {
  tg_value *operands[] = {x, y};
  tg_node *made = tg_graph_add_node(graph, op, node->name, operands, y ? 2 : 1, node, -1);
  if (op == TG_OP_SOFTMAX) tg_attr_set_int(made, TG_ATTR_AXIS, -1);
  if (op == TG_OP_CAST) tg_attr_set_int(made, TG_ATTR_TO, tg_in(node, 0)->dtype);
  made->disable_graphamp = node->disable_graphamp;
  return tg_out(made);
}

static tg_status expand(tg_graph *graph, tg_node *node, tg_diag *diag) {
  if (check(node, diag)) return TG_INVALID;
  tg_diag inner = {""};
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_arena_printf(graph->arena, "%s.part", tg_out(node)->name),
                .forward = -1,
                .keep_formats = node->disable_graphamp,
                .diag = &inner};
  tg_value *q = tg_in(node, 0), *k = tg_in(node, 1), *v = tg_in(node, 2);
  int64_t times_each = q->dims[1].size / k->dims[1].size;
  tg_score_factors by = tg_attention_factors(tg_attr_float(node, TG_ATTR_SCALE), q->dims[3].size);
  tg_dtype precision = precision_of(node);
  int at = 3;
  tg_value *keys = times(&b, tg_repeat_heads(&b, k, times_each), by.keys);
  tg_value *x = tg_build_matmul(&b, times(&b, q, by.queries), tg_build_swap(&b, keys));
  x = tg_build_cast(&b, x, precision);
  v = tg_build_cast(&b, tg_repeat_heads(&b, v, times_each), precision);
  if (b.failed) return tg_fail(diag, TG_INVALID, "%s", inner.message);
  if (changed(graph, node, 0, &at, &x, diag)) return TG_INVALID;
  x = later(graph, node, TG_OP_SOFTMAX, x, NULL);
  if (changed(graph, node, 1, &at, &x, diag)) return TG_INVALID;
  tg_value *y = later(graph, node, TG_OP_MATMUL, x, v);
  tg_build_result(graph, tg_out(node), later(graph, node, TG_OP_CAST, y, NULL));
  tg_graph_remove_node(graph, node);
  return TG_OK;
}

tg_status tg_expand_flex_attention(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const char *where = tg_infer_where(graph, node);
  tg_status status = expand(graph, node, diag);
  if (status) tg_diag_prefix(diag, "%s", where);
  return status;
}
