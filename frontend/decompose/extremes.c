/* Reductions of bools, integers and nothing. */
#include "frontend/decompose/compose.h"

#include <math.h>

/* Nothing's maximum is the least that the type holds, its minimum the greatest. */
static tg_value *of_nothing(tg_build *b, const tg_value *like, tg_dtype dtype, bool maximum) {
  static const int64_t least[TG_DTYPE_COUNT] =
      {[TG_I8] = INT8_MIN, [TG_I16] = INT16_MIN, [TG_I32] = INT32_MIN, [TG_I64] = INT64_MIN},
                       greatest[TG_DTYPE_COUNT] = {
                           [TG_BOOL] = 1,         [TG_I8] = INT8_MAX,    [TG_U8] = UINT8_MAX,
                           [TG_I16] = INT16_MAX,  [TG_U16] = UINT16_MAX, [TG_I32] = INT32_MAX,
                           [TG_U32] = UINT32_MAX, [TG_I64] = INT64_MAX,  [TG_U64] = -1};
  int64_t sizes[TG_MAX_RANK], count = tg_value_elements(like);
  tg_value_sizes(like, sizes);
  tg_value *made = tg_build_made(b, dtype, like->rank, sizes);
  if (b->failed) return made;
  for (int64_t i = 0; i < count; i++)
    if (tg_dtype_is_float(dtype))
      tg_store_f32((void *)made->data, dtype, (size_t)i, maximum ? -INFINITY : INFINITY);
    else
      tg_store_i64((void *)made->data, dtype, (size_t)i, maximum ? least[dtype] : greatest[dtype]);
  return made;
}

/* The reduction `op` of x over the axes of `node`. */
static tg_value *reduced(tg_build *b, tg_node *node, tg_op op, tg_value *x) {
  tg_value *operands[] = {x, tg_in(node, 1)};
  tg_node *reduce = tg_graph_add_node(b->graph, op, b->name, operands, node->input_count, b->before, -1);
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  tg_attr_set_ints(b->graph, reduce, TG_ATTR_AXES, axes, count);
  tg_attr_set_int(reduce, TG_ATTR_KEEPDIMS, tg_attr_int(node, TG_ATTR_KEEPDIMS));
  tg_attr_set_int(reduce, TG_ATTR_NOOP_WITH_EMPTY_AXES, tg_attr_int(node, TG_ATTR_NOOP_WITH_EMPTY_AXES));
  return tg_build_finish(b, reduce);
}

tg_status tg_make_extreme(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  (void)diag;
  tg_value *x = tg_in(node, 0);
  bool empty = !tg_value_elements(x), maximum = node->op == TG_OP_REDUCE_MAX;
  tg_value *y = reduced(b, node, empty ? TG_OP_REDUCE_SUM : node->op, f32(b, x));
  if (b->failed) return TG_OK;
  results[0] = empty ? of_nothing(b, y, x->dtype, maximum) : tg_build_cast(b, y, x->dtype);
  return TG_OK;
}

/* Of integers; a mean is rounded towards zero, as a Cast to its type would round it. */
tg_status tg_make_whole_reduction(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  if (node->op == TG_OP_REDUCE_L1) x = tg_build_unary(b, TG_OP_ABS, x);
  if (node->op == TG_OP_REDUCE_SUM_SQUARE) x = mul(b, x, x);
  tg_value *y = reduced(b, node, TG_OP_REDUCE_SUM, x);
  if (b->failed) return TG_OK;
  if (node->op == TG_OP_REDUCE_MEAN) {
    if (!tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "its data is empty");
    y = with(b, TG_OP_DIV, y, (double)(tg_value_elements(x) / tg_value_elements(y)));
  }
  results[0] = y;
  return TG_OK;
}
