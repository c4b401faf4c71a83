/* GatherElements as comparisons of the indices with 0, 1 .. V-1, and sums of what they choose, maxima of integers. */
#include "frontend/decompose/decompose.h"

#include <inttypes.h>

enum { EXACT = 1 << 24 /* positions are compared in FP32 */ };

/* Elements before the sum: those of the result, for each of the positions that they may be taken from. */
static tg_status check_size(const tg_value *x, const tg_value *indices, int axis, tg_diag *diag) {
  int64_t elements = x->dims[axis].size;
  if (elements > EXACT)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " positions are more than 2^24", elements);
  for (int d = 0; d < indices->rank; d++)
    if (__builtin_mul_overflow(elements, indices->dims[d].size, &elements) || elements > TG_MAX_ELEMENTS)
      return tg_fail(diag, TG_INVALID, "%" PRId64 " positions for each result are too many",
                     x->dims[axis].size);
  return elements ? TG_OK : tg_fail(diag, TG_INVALID, "an operand is empty");
}

tg_status tg_infer_gather_elements(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1);
  int64_t sizes[TG_MAX_RANK];
  if (!x->rank || x->rank != indices->rank || x->rank == TG_MAX_RANK)
    return tg_fail(diag, TG_INVALID, "data of rank %d and indices of rank %d are not supported", x->rank,
                   indices->rank);
  if (tg_infer_axis(node, x->rank, x->rank, diag)) return TG_INVALID;
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  for (int d = 0; d < x->rank; d++)
    if (d != axis && indices->dims[d].size > x->dims[d].size)
      return tg_fail(diag, TG_INVALID, "there are more indices than data along dimension %d", d);
  if (check_size(x, indices, axis, diag)) return TG_INVALID;
  tg_value_sizes(indices, sizes);
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}

/* With another dimension, of size 1, before `at`. */
static tg_value *stretched(tg_build *b, tg_value *x, int at) {
  int64_t sizes[TG_MAX_RANK];
  for (int d = 0; d <= x->rank; d++) sizes[d] = d < at ? x->dims[d].size : d > at ? x->dims[d - 1].size : 1;
  return tg_build_reshape(b, x, x->rank + 1, sizes);
}

static tg_value *positions(tg_build *b, int64_t count, int rank) {
  int64_t sizes[TG_MAX_RANK] = {count, 1, 1, 1, 1, 1, 1, 1};
  tg_value *value = tg_graph_add_constant(b->graph, "positions", TG_F32, rank, sizes, NULL, false);
  for (int64_t i = 0; i < count; i++) tg_store_f32((void *)value->data, TG_F32, (size_t)i, (float)i);
  return value;
}

/* Not above any integer of the type that the array holds; a sum of integers could be bounded by all of them alone. */
static double least(tg_dtype dtype) {
  switch (dtype) {
  case TG_I8: return INT8_MIN;
  case TG_I16: return INT16_MIN;
  case TG_I32:
  case TG_I64: return -EXACT;
  default: return 0;
  }
}

void tg_expand_gather_elements(tg_graph *graph, tg_node *node) {
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_arena_printf(graph->arena, "%s.part", tg_out(node)->name),
                .forward = -1,
                .keep_formats = true};
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), rank = tg_in(node, 0)->rank;
  bool whole = tg_dtype_is_integer(tg_in(node, 0)->dtype);
  tg_value *x = whole ? tg_in(node, 0) : tg_build_cast(&b, tg_in(node, 0), TG_F32),
           *i = tg_build_cast(&b, tg_in(node, 1), TG_F32);
  for (int d = 0; d < rank; d++)
    if (d != axis && i->dims[d].size < x->dims[d].size) x = tg_build_slice(&b, x, d, 0, i->dims[d].size, 1);
  int64_t count = x->dims[axis].size;
  tg_value *from_end = tg_build_with(&b, TG_OP_ADD, i, (double)count);
  i = tg_build_where(&b, tg_build_with(&b, TG_OP_LESS, i, 0), from_end, i);
  tg_value *chosen =
      tg_build_binary(&b, TG_OP_EQUAL, stretched(&b, i, axis), positions(&b, count, rank + 1 - axis));
  tg_value *each = tg_build_where(&b, chosen, stretched(&b, x, axis + 1),
                                  tg_build_number_like(&b, x, whole ? least(x->dtype) : 0));
  tg_value *one =
      whole ? tg_build_reduce(&b, TG_OP_REDUCE_MAX, each, 1u << axis) : tg_build_sum(&b, each, 1u << axis);
  tg_value *y = tg_build_reshape_like(&b, one, tg_out(node));
  tg_build_result(graph, tg_out(node), tg_build_cast(&b, y, tg_out(node)->dtype));
  tg_graph_remove_node(graph, node);
}
