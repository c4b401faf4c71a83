#include "frontend/infer/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- constant operands become attributes */

static tg_status absorb_ints(tg_graph *graph, tg_node *node, tg_attr_key key, tg_diag *diag) {
  if (tg_infer_absorb(graph, node, 1, key, diag)) return TG_INVALID;
  tg_node_truncate_inputs(node, 1);
  return TG_OK;
}

static tg_status absorb_bound(tg_node *node, int input, tg_attr_key key, tg_diag *diag) {
  tg_value *operand = tg_in(node, input);
  if (!operand) return TG_OK;
  const char *name = tg_attr_get(key)->name;
  if (!tg_is_constant(operand)) return tg_fail(diag, TG_INVALID, "%s is not constant", name);
  if (!tg_dtype_is_float(operand->dtype) || tg_value_elements(operand) != 1)
    return tg_fail(diag, TG_INVALID, "%s is no scalar float", name);
  float bound = tg_load_f32(operand->data, operand->dtype, 0);
  if (isnan(bound)) return tg_fail(diag, TG_INVALID, "%s is no number", name);
  tg_attr_set_float(node, key, (double)bound);
  return TG_OK;
}

/* Before its operands are read, an infinite bound without one is not given: the largest number of the model's type. Floats of
 * 64 bits are rounded to FP32, and infinite beyond it. */
static void complete_bounds(tg_node *node) {
  static const tg_attr_key keys[] = {TG_ATTR_MIN, TG_ATTR_MAX};
  double most = tg_largest_float(tg_in(node, 0)->dtype);
  for (int i = 0; i < 2 && !tg_out(node)->dtype; i++)
    if (!tg_in(node, i + 1) && isinf(tg_attr_float(node, keys[i])))
      tg_attr_set_float(node, keys[i], i ? most : -most);
}

/* An exponent may have a type of its own: a constant one takes that of the base, if it can. */
static tg_status convert_exponent(tg_graph *graph, tg_node *node) {
  tg_value *base = tg_in(node, 0), *exponent = tg_in(node, 1);
  if (!tg_is_constant(exponent) || tg_value_elements(exponent) != 1 || !tg_dtype_is_float(base->dtype) ||
      exponent->dtype == base->dtype || tg_out(node)->dtype)
    return TG_OK;
  bool integer = tg_dtype_is_integer(exponent->dtype);
  if (!integer && !tg_dtype_is_float(exponent->dtype)) return TG_OK;
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(exponent, sizes);
  tg_value *converted =
      tg_graph_add_constant(graph, exponent->name, base->dtype, exponent->rank, sizes, NULL, false);
  tg_store_f32((void *)converted->data, base->dtype, 0,
               integer ? (float)tg_load_i64(exponent->data, exponent->dtype, 0)
                       : tg_load_f32(exponent->data, exponent->dtype, 0));
  tg_node_set_input(node, 1, converted);
  return TG_OK;
}

static tg_status check_approximation(const tg_node *node, tg_diag *diag) {
  const char *text = tg_attr_text(node, TG_ATTR_APPROXIMATE);
  if (!*text || !strcmp(text, "none") || !strcmp(text, "tanh")) return TG_OK;
  return tg_fail(diag, TG_INVALID, "approximate \"%s\" is neither none nor tanh", text);
}

static tg_status absorb_slice(tg_graph *graph, tg_node *node, tg_diag *diag) {
  static const tg_attr_key keys[] = {TG_ATTR_STARTS, TG_ATTR_ENDS, TG_ATTR_AXES, TG_ATTR_STEPS};
  for (int i = 0; i < 4; i++)
    if (tg_infer_absorb(graph, node, i + 1, keys[i], diag)) return TG_INVALID;
  tg_node_truncate_inputs(node, 1);
  return TG_OK;
}

static tg_status absorb_operands(tg_graph *graph, tg_node *node, tg_diag *diag) {
  if (tg_op_is(node->op, TG_IS_REDUCE))
    return node->input_count > 1 ? absorb_ints(graph, node, TG_ATTR_AXES, diag) : TG_OK;
  switch (node->op) {
  case TG_OP_RESHAPE:
  case TG_OP_EXPAND: return absorb_ints(graph, node, TG_ATTR_SHAPE, diag);
  case TG_OP_TILE: return absorb_ints(graph, node, TG_ATTR_REPEATS, diag);
  case TG_OP_SPLIT: return absorb_ints(graph, node, TG_ATTR_SPLIT, diag);
  case TG_OP_TRILU: return absorb_ints(graph, node, TG_ATTR_K, diag);
  case TG_OP_SLICE: return absorb_slice(graph, node, diag);
  case TG_OP_PAD: return tg_infer_absorb_pads(graph, node, diag);
  case TG_OP_RESIZE: return tg_infer_absorb_factors(graph, node, diag);
  case TG_OP_SQUEEZE:
  case TG_OP_UNSQUEEZE: return absorb_ints(graph, node, TG_ATTR_AXES, diag);
  case TG_OP_CLIP:
    complete_bounds(node);
    if (absorb_bound(node, 1, TG_ATTR_MIN, diag) || absorb_bound(node, 2, TG_ATTR_MAX, diag))
      return TG_INVALID;
    tg_node_truncate_inputs(node, 1);
    return TG_OK;
  case TG_OP_POW: return convert_exponent(graph, node);
  case TG_OP_GELU: return check_approximation(node, diag);
  case TG_OP_CELU:
    return tg_attr_float(node, TG_ATTR_ALPHA) > 0 ? TG_OK
                                                  : tg_fail(diag, TG_INVALID, "alpha is not positive");
  default: return TG_OK;
  }
}

/* --- shapes of what computes */

/* Before opset 7: operand 1 aligned at an axis of operand 0, or no broadcasting at all. */
static tg_status align_operand(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_value *a = tg_in(node, 0), *b = tg_in(node, 1);
  int64_t axis = tg_attr_int(node, TG_ATTR_BROADCAST_AXIS);
  if (axis == -2 && !tg_value_same_shape(a, b))
    return tg_fail(diag, TG_INVALID, "shapes differ without broadcast = 1");
  tg_attr_set_int(node, TG_ATTR_BROADCAST_AXIS, -1);
  if (axis < 0) return TG_OK;
  int64_t trailing = a->rank - axis - b->rank, axes[TG_MAX_RANK];
  if (trailing < 0) return tg_fail(diag, TG_INVALID, "axis %" PRId64 " leaves no room for operand 1", axis);
  if (!trailing) return TG_OK;
  for (int64_t i = 0; i < trailing; i++) axes[i] = b->rank + i;
  tg_node *unsqueeze = tg_graph_add_node(graph, TG_OP_UNSQUEEZE, node->name, &b, 1, node, -1);
  tg_attr_set_ints(graph, unsqueeze, TG_ATTR_AXES, axes, (int)trailing);
  tg_node_set_input(node, 1, tg_out(unsqueeze));
  return tg_node_infer(graph, unsqueeze, diag);
}

/* A slope broadcasts to the data, not the other way round. */
static tg_status check_fits_first(const tg_node *node, int rank, const int64_t *sizes, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  bool fits = rank == x->rank;
  for (int i = 0; fits && i < rank; i++) fits = sizes[i] == x->dims[i].size;
  return fits ? TG_OK : tg_fail(diag, TG_INVALID, "the slope does not broadcast to the data");
}

static tg_status infer_elementwise(tg_graph *graph, tg_node *node, tg_diag *diag) {
  if (tg_attr_find(node, TG_ATTR_BROADCAST_AXIS) && tg_attr_int(node, TG_ATTR_BROADCAST_AXIS) != -1 &&
      align_operand(graph, node, diag))
    return TG_INVALID;
  int rank = 0;
  int64_t sizes[TG_MAX_RANK], other[TG_MAX_RANK];
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    tg_value_sizes(x, other);
    if (!tg_broadcast(rank, sizes, x->rank, other, &rank, sizes))
      return tg_fail(diag, TG_INVALID, "shapes of its inputs do not broadcast (input %d is %s)", i,
                     tg_value_type_text(x, graph->arena));
  }
  if (node->op == TG_OP_PRELU && check_fits_first(node, rank, sizes, diag)) return TG_INVALID;
  return tg_infer_result(node, tg_infer_elementwise_dtype(node), rank, sizes, diag);
}

enum { MOST_PRODUCTS = 1 << 20 };

static tg_status infer_matmul(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *a = tg_in(node, 0), *b = tg_in(node, 1);
  if (!a->rank || !b->rank) return tg_fail(diag, TG_INVALID, "an operand is a scalar");
  int64_t partials = tg_attr_int(node, TG_ATTR_PARTIALS);
  if (partials < 1 || partials > TG_MOST_PARTIALS)
    return tg_fail(diag, TG_INVALID, "%lld partials, where 1 to %d are possible", (long long)partials,
                   TG_MOST_PARTIALS);
  int64_t reduce = tg_attr_int(node, TG_ATTR_REDUCE);
  if (reduce != TG_REDUCE_FP32 && reduce != TG_REDUCE_BF16SR)
    return tg_fail(diag, TG_INVALID, "there is no reduction number %lld", (long long)reduce);
  int64_t da[TG_MAX_RANK + 1] = {1}, db[TG_MAX_RANK + 1], sizes[TG_MAX_RANK + 2];
  bool row = a->rank == 1,
       column = b->rank == 1; /* as numpy: a vector is a row on the left, a column on the right */
  int ra = a->rank + row, rb = b->rank + column, rank;
  tg_value_sizes(a, da + row);
  tg_value_sizes(b, db);
  if (column) db[1] = 1;
  if (da[ra - 1] != db[rb - 2] || !tg_broadcast(ra - 2, da, rb - 2, db, &rank, sizes))
    return tg_fail(diag, TG_INVALID, "operands %s and %s do not fit", tg_value_type_text(a, graph->arena),
                   tg_value_type_text(b, graph->arena));
  double products = 1; /* the mapper has a list of them */
  for (int d = 0; d < rank; d++) products *= (double)sizes[d];
  if (products > MOST_PRODUCTS && rb > 2)
    return tg_fail(diag, TG_INVALID, "%.0f products of matrices are more than %d", products, MOST_PRODUCTS);
  if (!row) sizes[rank++] = da[ra - 2];
  if (!column) sizes[rank++] = db[rb - 1];
  return tg_infer_result(node, a->dtype, rank, sizes, diag);
}

static tg_status infer_blocked_attention(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *v = tg_in(node, 1);
  int64_t block = tg_attr_int(node, TG_ATTR_BLOCK), dx[TG_MAX_RANK], dv[TG_MAX_RANK], sizes[TG_MAX_RANK];
  if (block < 1 || block % TG_ATTENTION_BLOCKS_OF || block > TG_MOST_ATTENTION_BLOCK)
    return tg_fail(diag, TG_INVALID, "blocks of %lld columns, where multiples of %d up to %d are possible",
                   (long long)block, TG_ATTENTION_BLOCKS_OF, TG_MOST_ATTENTION_BLOCK);
  if (x->rank < 2 || v->rank < 2)
    return tg_fail(diag, TG_INVALID, "operands of rank %d and %d", x->rank, v->rank);
  int rank;
  tg_value_sizes(x, dx);
  tg_value_sizes(v, dv);
  if (dx[x->rank - 1] != dv[v->rank - 2] || !tg_broadcast(x->rank - 2, dx, v->rank - 2, dv, &rank, sizes))
    return tg_fail(diag, TG_INVALID, "operands %s and %s do not fit", tg_value_type_text(x, graph->arena),
                   tg_value_type_text(v, graph->arena));
  sizes[rank++] = dx[x->rank - 2];
  sizes[rank++] = tg_blocked_columns(dv[v->rank - 1], tg_attr_int(node, TG_ATTR_LOGSUM) != 0);
  return tg_infer_result(node, v->dtype, rank, sizes, diag);
}

static tg_status infer_gemm(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *a = tg_in(node, 0), *b = tg_in(node, 1), *c = tg_in(node, 2);
  if (a->rank != 2 || b->rank != 2)
    return tg_fail(diag, TG_INVALID, "operands of rank %d and %d", a->rank, b->rank);
  int ta = tg_attr_int(node, TG_ATTR_TRANS_A) != 0, tb = tg_attr_int(node, TG_ATTR_TRANS_B) != 0;
  int64_t sizes[2] = {a->dims[ta].size, b->dims[!tb].size}, dc[TG_MAX_RANK], joint[TG_MAX_RANK];
  if (a->dims[!ta].size != b->dims[tb].size)
    return tg_fail(diag, TG_INVALID, "operands %s and %s do not fit", tg_value_type_text(a, graph->arena),
                   tg_value_type_text(b, graph->arena));
  int rank;
  if (c) {
    tg_value_sizes(c, dc);
    bool fits = c->rank <= 2 && tg_broadcast(2, sizes, c->rank, dc, &rank, joint);
    if (!fits || joint[0] != sizes[0] || joint[1] != sizes[1])
      return tg_fail(diag, TG_INVALID, "C of type %s does not broadcast to the product",
                     tg_value_type_text(c, graph->arena));
  }
  return tg_infer_result(node, a->dtype, 2, sizes, diag);
}

static tg_status infer_reduce_partials(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  if (!x->rank) return tg_fail(diag, TG_INVALID, "a scalar has no partial sums");
  tg_value_sizes(x, sizes);
  return tg_infer_result(node, x->dtype, x->rank - 1, sizes + 1, diag);
}

static tg_status infer_like_input(tg_node *node, tg_dtype dtype, tg_diag *diag) {
  int64_t sizes[TG_MAX_RANK];
  const tg_value *x = tg_in(node, 0);
  tg_value_sizes(x, sizes);
  return tg_infer_result(node, dtype, x->rank, sizes, diag);
}

static tg_status infer_softmax(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (!x->rank) return tg_fail(diag, TG_INVALID, "a scalar has no axis");
  if (tg_infer_axis(node, x->rank, x->rank, diag)) return TG_INVALID;
  return infer_like_input(node, x->dtype, diag);
}

static tg_status infer_batch_normalization(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (x->rank < 2) return tg_fail(diag, TG_INVALID, "data of rank %d has no channels", x->rank);
  for (int i = 1; i < 5; i++)
    if (tg_in(node, i)->rank != 1 || tg_in(node, i)->dims[0].size != x->dims[1].size)
      return tg_fail(diag, TG_INVALID, "input %d does not have an element for each of %" PRId64 " channels",
                     i, x->dims[1].size);
  return infer_like_input(node, x->dtype, diag);
}

static tg_status infer_layer_normalization(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (!x->rank) return tg_fail(diag, TG_INVALID, "a scalar has no axis");
  if (tg_infer_axis(node, x->rank, x->rank, diag)) return TG_INVALID;
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  for (int i = 1; i < node->input_count; i++) {
    const tg_value *other = tg_in(node, i);
    if (!other) continue;
    bool fits = other->rank == x->rank - axis;
    for (int d = 0; fits && d < other->rank; d++) fits = other->dims[d].size == x->dims[axis + d].size;
    if (!fits)
      return tg_fail(diag, TG_INVALID, "input %d does not have the shape of the normalised dimensions", i);
  }
  return infer_like_input(node, x->dtype, diag);
}

/* --- one node, all nodes */

static tg_status infer_shape(tg_graph *graph, tg_node *node, tg_diag *diag) {
  if (tg_op_is(node->op, TG_IS_REDUCE)) return tg_infer_reduce(graph, node, diag);
  switch (node->op) {
  case TG_OP_MATMUL: return infer_matmul(graph, node, diag);
  case TG_OP_BLOCKED_ATTENTION: return infer_blocked_attention(graph, node, diag);
  case TG_OP_GEMM: return infer_gemm(graph, node, diag);
  case TG_OP_CONV: return tg_infer_conv(graph, node, diag);
  case TG_OP_CONV_TRANSPOSE: return tg_infer_conv_transpose(graph, node, diag);
  case TG_OP_CONV_INPUT_GRADIENT: return tg_infer_conv_input_gradient(graph, node, diag);
  case TG_OP_CONV_WEIGHT_GRADIENT: return tg_infer_conv_weight_gradient(graph, node, diag);
  case TG_OP_MAX_POOL_GRADIENT: return tg_infer_max_pool_gradient(graph, node, diag);
  case TG_OP_AVERAGE_POOL_GRADIENT: return tg_infer_average_pool_gradient(graph, node, diag);
  case TG_OP_WINDOW_GRADIENT: return tg_infer_window_gradient(graph, node, diag);
  case TG_OP_MAX_POOL_INDEX:
  case TG_OP_MAX_POOL:
  case TG_OP_AVERAGE_POOL: return tg_infer_pool(graph, node, diag);
  case TG_OP_GLOBAL_AVERAGE_POOL:
  case TG_OP_GLOBAL_MAX_POOL: return tg_infer_global_pool(graph, node, diag);
  case TG_OP_SOFTMAX:
  case TG_OP_LOG_SOFTMAX: return infer_softmax(node, diag);
  case TG_OP_BATCH_NORMALIZATION: return infer_batch_normalization(node, diag);
  case TG_OP_REDUCE_PARTIALS: return infer_reduce_partials(node, diag);
  case TG_OP_LAYER_NORMALIZATION: return infer_layer_normalization(node, diag);
  case TG_OP_RESHAPE: return tg_infer_reshape(graph, node, diag);
  case TG_OP_FLATTEN: return tg_infer_flatten(graph, node, diag);
  case TG_OP_SQUEEZE: return tg_infer_squeeze(graph, node, diag);
  case TG_OP_UNSQUEEZE: return tg_infer_unsqueeze(graph, node, diag);
  case TG_OP_TRANSPOSE: return tg_infer_transpose(graph, node, diag);
  case TG_OP_CONCAT: return tg_infer_concat(graph, node, diag);
  case TG_OP_SHAPE: return tg_infer_shape_of(graph, node, diag);
  case TG_OP_SIZE: return tg_infer_result(node, TG_I64, 0, NULL, diag);
  case TG_OP_CONSTANT_OF_SHAPE: return tg_infer_constant_of_shape(graph, node, diag);
  case TG_OP_RANGE: return tg_infer_range(graph, node, diag);
  case TG_OP_SPLIT: return tg_infer_split(graph, node, diag);
  case TG_OP_SLICE: return tg_infer_slice(graph, node, diag);
  case TG_OP_PAD: return tg_infer_pad(graph, node, diag);
  case TG_OP_EXPAND: return tg_infer_expand(graph, node, diag);
  case TG_OP_TILE: return tg_infer_tile(graph, node, diag);
  case TG_OP_RESIZE: return tg_infer_resize(node, diag);
  case TG_OP_DEPTH_TO_SPACE:
  case TG_OP_SPACE_TO_DEPTH: return tg_infer_blocks(node, diag);
  case TG_OP_TRILU: return tg_infer_trilu(graph, node, diag);
  case TG_OP_GATHER: return tg_infer_gather(graph, node, diag);
  case TG_OP_GATHER_ROWS: return tg_infer_gather_rows(graph, node, diag);
  case TG_OP_SCATTER_ROWS: return tg_infer_scatter_rows(graph, node, diag);
  case TG_OP_SCATTER_ADD: return tg_infer_scatter_add(graph, node, diag);
  case TG_OP_CAST: return infer_like_input(node, (tg_dtype)tg_attr_int(node, TG_ATTR_TO), diag);
  case TG_OP_IDENTITY:
  case TG_OP_DROPOUT: return infer_like_input(node, tg_in(node, 0)->dtype, diag);
  default: return infer_elementwise(graph, node, diag);
  }
}

const char *tg_infer_where(const tg_graph *graph, const tg_node *node) {
  const char *op = tg_op_get(node->op == TG_OP_MAX_POOL_PLACES ? TG_OP_MAX_POOL : node->op)->name;
  if (*node->name) return tg_arena_printf(graph->arena, "node \"%s\" (%s)", node->name, op);
  return tg_arena_printf(graph->arena, "node %" PRId64 " (%s)", node->id, op);
}

tg_status tg_node_infer(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_status status = absorb_operands(graph, node, diag);
  if (!status) status = tg_infer_check_dtypes(node, diag);
  if (!status) status = infer_shape(graph, node, diag);
  if (status) tg_diag_prefix(diag, "%s", tg_infer_where(graph, node));
  return status;
}
