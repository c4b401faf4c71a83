#include "frontend/builder.h"

#include "frontend/base/guard.h"
#include "frontend/infer.h"

struct tg_builder {
  tg_graph *graph;
  int disabled; /* depth of disable_graphamp regions */
  tg_diag error;
};

tg_builder *tg_builder_create(tg_arena *arena, const char *name) {
  tg_builder *b = TG_NEW(arena, tg_builder);
  b->graph = tg_graph_create(arena, name);
  return b;
}

tg_graph *tg_builder_graph(tg_builder *b) { return b->graph; }

tg_status tg_builder_guarded(tg_status (*build)(void *user, tg_diag *diag), void *user, tg_diag *diag) {
  TG_GUARDED(diag, build(user, diag));
}

static tg_status finish(tg_builder *b, tg_graph **out_graph, tg_diag *diag) {
  if (b->error.message[0]) return tg_fail(diag, TG_INVALID, "%s", b->error.message);
  if (b->disabled) return tg_fail(diag, TG_INVALID, "a disable_graphamp region was not ended");
  if (!b->graph->output_count) return tg_fail(diag, TG_INVALID, "the graph has no output");
  bool open = false;
  for (int i = 0; i < b->graph->symbol_count; i++) open |= b->graph->symbols[i].size < 0;
  if (tg_graph_verify(b->graph, diag) || (!open && tg_graph_infer(b->graph, diag))) return TG_INVALID;
  *out_graph = b->graph;
  return TG_OK;
}

tg_status tg_builder_finish(tg_builder *b, tg_graph **out_graph, tg_diag *diag) {
  *out_graph = NULL;
  TG_GUARDED(diag, finish(b, out_graph, diag));
}

/* --- values */

static bool check_sizes(tg_builder *b, const char *name, tg_dtype dtype, int rank, const int64_t *sizes) {
  int64_t count = 1;
  if (rank < 0 || rank > TG_MAX_RANK || dtype <= TG_NONE || dtype >= TG_DTYPE_COUNT) {
    tg_fail(&b->error, TG_INVALID, "tensor \"%s\": its type is not supported", name);
    return false;
  }
  bool ok = true;
  for (int i = 0; ok && i < rank; i++)
    ok = sizes[i] >= 0 && !(sizes[i] && __builtin_mul_overflow(count, sizes[i], &count)) &&
         count <= TG_MAX_ELEMENTS;
  if (!ok) tg_fail(&b->error, TG_INVALID, "tensor \"%s\": a negative size, or more than 2^34 elements", name);
  return ok;
}

tg_value *tg_builder_open_input(tg_builder *b, const char *name, tg_dtype dtype, int rank,
                                const tg_dim *dims) {
  int64_t sizes[TG_MAX_RANK];
  for (int i = 0; i < rank && i < TG_MAX_RANK; i++) sizes[i] = dims[i].symbol ? 1 : dims[i].size;
  if (!check_sizes(b, name, dtype, rank, sizes)) return NULL;
  return tg_graph_add_input(b->graph, name, dtype, rank, dims);
}

tg_value *tg_builder_input(tg_builder *b, const char *name, tg_dtype dtype, int rank, const int64_t *sizes) {
  tg_dim dims[TG_MAX_RANK];
  for (int i = 0; i < rank && i < TG_MAX_RANK; i++) dims[i] = (tg_dim){sizes[i], NULL};
  return tg_builder_open_input(b, name, dtype, rank, dims);
}

tg_value *tg_builder_constant(tg_builder *b, const char *name, tg_dtype dtype, int rank, const int64_t *sizes,
                              const void *data) {
  if (!check_sizes(b, name, dtype, rank, sizes)) return NULL;
  tg_value *value = tg_graph_add_constant(b->graph, name, dtype, rank, sizes, data, false);
  value->initializer = true;
  b->graph->held += tg_value_elements(value) * (int64_t)tg_dtype_size(dtype);
  return value;
}

tg_value *tg_builder_seeded(tg_builder *b, const char *name, tg_dtype dtype, int rank, const int64_t *sizes,
                            uint64_t seed, float scale) {
  if (!check_sizes(b, name, dtype, rank, sizes)) return NULL;
  tg_value *value = tg_graph_add_seeded(b->graph, name, dtype, rank, sizes, seed, scale);
  value->initializer = true;
  b->graph->held += tg_value_elements(value) * (int64_t)tg_dtype_size(dtype);
  return value;
}

tg_value *tg_builder_scalar(tg_builder *b, const char *name, tg_dtype dtype, double value) {
  return check_sizes(b, name, dtype, 0, NULL) ? tg_graph_add_scalar(b->graph, name, dtype, value) : NULL;
}

static bool is_ours(const tg_builder *b, const tg_value *value) {
  return value && value->index < b->graph->value_count && b->graph->values[value->index] == value;
}

void tg_builder_output(tg_builder *b, const char *name, tg_value *value) {
  if (is_ours(b, value))
    tg_graph_add_output(b->graph, value, name, TG_NONE);
  else
    tg_fail(&b->error, TG_INVALID, "output \"%s\" is no value of this graph", name);
}

void tg_builder_begin_disable_graphamp(tg_builder *b) { b->disabled++; }

void tg_builder_end_disable_graphamp(tg_builder *b) {
  if (b->disabled)
    b->disabled--;
  else
    tg_fail(&b->error, TG_INVALID, "a disable_graphamp region ends that was not begun");
}

/* --- operators */

tg_value *tg_builder_op(tg_builder *b, tg_op op, const char *name, tg_value *const *inputs, int count) {
  const tg_op_info *info = tg_op_get(op);
  bool ok = count >= info->fewest_inputs && count <= info->most_inputs;
  for (int i = 0; ok && i < count; i++) {
    bool optional = i >= info->fewest_inputs && info->most_inputs != TG_ANY_COUNT;
    ok = (optional && !inputs[i]) || is_ours(b, inputs[i]);
  }
  if (!ok) {
    tg_fail(&b->error, TG_INVALID, "node \"%s\" (%s): an operand is missing", name ? name : "", info->name);
    return NULL;
  }
  tg_node *node = tg_graph_add_node(b->graph, op, name, inputs, count, NULL, -1);
  node->disable_graphamp = b->disabled > 0;
  return tg_out(node);
}

tg_value *tg_builder_unary(tg_builder *b, tg_op op, const char *name, tg_value *x) {
  return tg_builder_op(b, op, name, &x, 1);
}

tg_value *tg_builder_binary(tg_builder *b, tg_op op, const char *name, tg_value *x, tg_value *y) {
  return tg_builder_op(b, op, name, (tg_value *[]){x, y}, 2);
}

tg_value *tg_builder_matmul(tg_builder *b, const char *name, tg_value *x, tg_value *y) {
  return tg_builder_binary(b, TG_OP_MATMUL, name, x, y);
}

tg_value *tg_builder_linear(tg_builder *b, const char *name, tg_value *x, tg_value *weights, tg_value *bias) {
  tg_value *y = tg_builder_op(b, TG_OP_GEMM, name, (tg_value *[]){x, weights, bias}, bias ? 3 : 2);
  if (y) tg_attr_set_int(y->producer, TG_ATTR_TRANS_B, 1);
  return y;
}

static void set_pair(tg_builder *b, tg_value *y, tg_attr_key key, int value) {
  tg_attr_set_ints(b->graph, y->producer, key, (int64_t[]){value, value}, 2);
}

static void set_window(tg_builder *b, tg_value *y, tg_window w) {
  set_pair(b, y, TG_ATTR_STRIDES, w.stride ? w.stride : 1);
  set_pair(b, y, TG_ATTR_DILATIONS, w.dilation ? w.dilation : 1);
  tg_attr_set_ints(b->graph, y->producer, TG_ATTR_PADS,
                   (int64_t[]){w.padding, w.padding, w.padding, w.padding}, 4);
}

tg_value *tg_builder_conv(tg_builder *b, const char *name, tg_value *x, tg_value *weights, tg_value *bias,
                          tg_window window) {
  tg_value *y = tg_builder_op(b, TG_OP_CONV, name, (tg_value *[]){x, weights, bias}, bias ? 3 : 2);
  if (!y) return NULL;
  set_window(b, y, window);
  tg_attr_set_int(y->producer, TG_ATTR_GROUP, window.group ? window.group : 1);
  return y;
}

tg_value *tg_builder_conv_input_gradient(tg_builder *b, const char *name, tg_value *dy, tg_value *weights,
                                         tg_window window, const int64_t extents[2]) {
  tg_value *dx = tg_builder_binary(b, TG_OP_CONV_INPUT_GRADIENT, name, dy, weights);
  if (!dx) return NULL;
  set_window(b, dx, window);
  tg_attr_set_ints(b->graph, dx->producer, TG_ATTR_OUTPUT_SHAPE, extents, 2);
  tg_attr_set_int(dx->producer, TG_ATTR_GROUP, window.group ? window.group : 1);
  return dx;
}

tg_value *tg_builder_conv_weight_gradient(tg_builder *b, const char *name, tg_value *x, tg_value *dy,
                                          tg_window window) {
  tg_value *dw = tg_builder_binary(b, TG_OP_CONV_WEIGHT_GRADIENT, name, x, dy);
  if (!dw) return NULL;
  set_window(b, dw, window);
  set_pair(b, dw, TG_ATTR_KERNEL_SHAPE, window.kernel ? window.kernel : 1);
  tg_attr_set_int(dw->producer, TG_ATTR_GROUP, window.group ? window.group : 1);
  return dw;
}

tg_value *tg_builder_pool(tg_builder *b, tg_op op, const char *name, tg_value *x, tg_window window) {
  tg_value *y = tg_builder_unary(b, op, name, x);
  if (!y) return NULL;
  set_window(b, y, window);
  set_pair(b, y, TG_ATTR_KERNEL_SHAPE, window.kernel ? window.kernel : 1);
  return y;
}

tg_value *tg_builder_max_pool_gradient(tg_builder *b, const char *name, tg_value *x, tg_value *dy,
                                       tg_window window) {
  tg_value *dx = tg_builder_binary(b, TG_OP_MAX_POOL_GRADIENT, name, x, dy);
  if (!dx) return NULL;
  set_window(b, dx, window);
  set_pair(b, dx, TG_ATTR_KERNEL_SHAPE, window.kernel ? window.kernel : 1);
  return dx;
}

tg_value *tg_builder_average_pool_gradient(tg_builder *b, const char *name, tg_value *dy, tg_window window,
                                           const int64_t extents[2]) {
  tg_value *dx = tg_builder_unary(b, TG_OP_AVERAGE_POOL_GRADIENT, name, dy);
  if (!dx) return NULL;
  set_window(b, dx, window);
  set_pair(b, dx, TG_ATTR_KERNEL_SHAPE, window.kernel ? window.kernel : 1);
  tg_attr_set_ints(b->graph, dx->producer, TG_ATTR_OUTPUT_SHAPE, extents, 2);
  return dx;
}

tg_value *tg_builder_batch_normalization(tg_builder *b, const char *name, tg_value *const inputs[5],
                                         double epsilon) {
  tg_value *y = tg_builder_op(b, TG_OP_BATCH_NORMALIZATION, name, inputs, 5);
  if (y) tg_attr_set_float(y->producer, TG_ATTR_EPSILON, epsilon);
  return y;
}

tg_value *tg_builder_layer_normalization(tg_builder *b, const char *name, tg_value *x, tg_value *scale,
                                         tg_value *bias, int axis, double epsilon) {
  tg_value *y =
      tg_builder_op(b, TG_OP_LAYER_NORMALIZATION, name, (tg_value *[]){x, scale, bias}, bias ? 3 : 2);
  if (y) tg_attr_set_int(y->producer, TG_ATTR_AXIS, axis);
  if (y) tg_attr_set_float(y->producer, TG_ATTR_EPSILON, epsilon);
  return y;
}

tg_value *tg_builder_softmax(tg_builder *b, const char *name, tg_value *x, int axis) {
  tg_value *y = tg_builder_unary(b, TG_OP_SOFTMAX, name, x);
  if (y) tg_attr_set_int(y->producer, TG_ATTR_AXIS, axis);
  return y;
}

tg_value *tg_builder_reshape(tg_builder *b, const char *name, tg_value *x, int rank, const int64_t *sizes) {
  tg_value *y = tg_builder_unary(b, TG_OP_RESHAPE, name, x);
  if (y) tg_attr_set_ints(b->graph, y->producer, TG_ATTR_SHAPE, sizes, rank);
  return y;
}

tg_value *tg_builder_transpose(tg_builder *b, const char *name, tg_value *x, int rank, const int64_t *perm) {
  tg_value *y = tg_builder_unary(b, TG_OP_TRANSPOSE, name, x);
  if (y) tg_attr_set_ints(b->graph, y->producer, TG_ATTR_PERM, perm, rank);
  return y;
}

tg_value *tg_builder_concat(tg_builder *b, const char *name, tg_value *const *inputs, int count, int axis) {
  tg_value *y = tg_builder_op(b, TG_OP_CONCAT, name, inputs, count);
  if (y) tg_attr_set_int(y->producer, TG_ATTR_AXIS, axis);
  return y;
}

tg_value *tg_builder_cast(tg_builder *b, const char *name, tg_value *x, tg_dtype dtype) {
  tg_value *y = tg_builder_unary(b, TG_OP_CAST, name, x);
  if (y) tg_attr_set_int(y->producer, TG_ATTR_TO, dtype);
  return y;
}
