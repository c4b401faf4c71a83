/* A whole graph: types of all nodes in topological order, and what operators are made of. */
#include "frontend/decompose/decompose.h"

#include "frontend/reference.h"

#include <inttypes.h>

enum {
  SHAPE_ELEMENTS = 1024 /* integer tensors up to this size are taken for shape arithmetic and folded */
};

/* --- operators made of others */

static tg_composition *const compositions[TG_OP_COUNT] = {
#define TG_COMPOSITION(op, make) [TG_OP_##op] = tg_make_##make,
#include "frontend/decompose/compositions.def"
#undef TG_COMPOSITION
};

static const bool of_products[TG_OP_COUNT] = {
#define TG_COMPOSITION(op, make)
#define TG_COMPOSITION_OF_PRODUCTS(op, make) [TG_OP_##op] = true,
#include "frontend/decompose/compositions.def"
#undef TG_COMPOSITION
};

static bool is_composed(const tg_node *node) {
  if (compositions[node->op]) return tg_must_compose(node);
  return tg_op_is(node->op, TG_IS_EXPANDED | TG_IS_RECURRENT) || node->op == TG_OP_EINSUM;
}

static bool is_loss(tg_op op) {
  return op == TG_OP_SOFTMAX_CROSS_ENTROPY_LOSS || op == TG_OP_NEGATIVE_LOG_LIKELIHOOD_LOSS;
}

static tg_status infer_expanded(tg_node *node, tg_diag *diag) {
  if (tg_op_is(node->op, TG_IS_RECURRENT)) return tg_infer_recurrent(node, diag);
  switch (node->op) {
  case TG_OP_EINSUM: return tg_infer_einsum(node, diag);
  case TG_OP_GRADIENT: return tg_infer_gradient(node, diag);
  case TG_OP_GATHER_ELEMENTS: return tg_infer_gather_elements(node, diag);
  case TG_OP_INSTANCE_NORMALIZATION:
  case TG_OP_GROUP_NORMALIZATION: return tg_infer_grouped_normalization(node, diag);
  default:
    return tg_op_is(node->op, TG_IS_TRAINING) ? tg_infer_optimizer(node, diag) : tg_infer_loss(node, diag);
  }
}

/* What is compared with indices or labels: each number that they can be. */
static tg_status count_numbers(tg_graph *graph, const tg_node *node, tg_diag *diag) {
  bool gathers = node->op == TG_OP_GATHER_ELEMENTS;
  if (!gathers && !is_loss(node->op)) return TG_OK;
  int axis = gathers ? (int)tg_attr_int(node, TG_ATTR_AXIS) : 1;
  return tg_graph_count_made(graph, TG_F32, 1, &tg_in(node, 0)->dims[axis].size, diag);
}

static tg_status expand(tg_graph *graph, tg_node *node, tg_diag *diag) {
  if (tg_op_is(node->op, TG_IS_RECURRENT)) return tg_unroll_recurrent(graph, node), TG_OK;
  switch (node->op) {
  case TG_OP_EINSUM: tg_expand_einsum(graph, node); break;
  case TG_OP_GRADIENT: return tg_expand_gradient(graph, node, diag);
  case TG_OP_GATHER_ELEMENTS: tg_expand_gather_elements(graph, node); break;
  case TG_OP_INSTANCE_NORMALIZATION:
  case TG_OP_GROUP_NORMALIZATION: tg_expand_grouped_normalization(graph, node); break;
  default:
    if (tg_op_is(node->op, TG_IS_TRAINING))
      tg_expand_optimizer(graph, node);
    else
      tg_expand_loss(graph, node);
  }
  return TG_OK;
}

/* Results take the types that the model's operator gives them, which `make` builds or leaves to a Cast. */
static tg_status compose(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_diag inner = {""};
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_arena_printf(graph->arena, "%s.part", tg_out(node)->name),
                .forward = -1,
                .keep_formats = node->disable_graphamp || !of_products[node->op],
                .diag = &inner};
  tg_value *results[TG_MOST_RESULTS] = {NULL};
  tg_status status = compositions[node->op](&b, node, results, diag);
  if (!status && b.failed) status = tg_fail(diag, TG_INVALID, "%s", inner.message);
  if (status) return status;
  for (int i = 0; i < node->output_count; i++) {
    tg_value *old = node->outputs[i];
    if (!results[i] && (old->use_count || old->output_count))
      return tg_fail(diag, TG_INVALID, "its result %d is not supported", i);
    if (results[i] && results[i]->rank > TG_MAX_RANK)
      return tg_fail(diag, TG_INVALID, "rank %d is above %d", results[i]->rank, TG_MAX_RANK);
    if (results[i]) tg_build_result(graph, old, results[i]);
  }
  tg_graph_remove_node(graph, node);
  return TG_OK;
}

static tg_status check_room(const tg_graph *graph, tg_diag *diag) {
  if (graph->node_count <= TG_MOST_NODES) return TG_OK;
  return tg_fail(diag, TG_INVALID, "with what it is made of there are more than %d nodes", TG_MOST_NODES);
}

static tg_status decompose(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const char *where = tg_infer_where(graph, node);
  if (compositions[node->op]) {
    if (!compose(graph, node, diag) && !check_room(graph, diag)) return TG_OK;
    return tg_diag_prefix(diag, "%s", where), TG_INVALID;
  }
  tg_status status = tg_infer_check_dtypes(node, diag);
  if (!status) status = infer_expanded(node, diag);
  if (!status) status = count_numbers(graph, node, diag);
  if (status) return tg_diag_prefix(diag, "%s", where), TG_INVALID;
  if (expand(graph, node, diag)) return TG_INVALID;
  if (!check_room(graph, diag)) return TG_OK;
  return tg_diag_prefix(diag, "%s", where), TG_INVALID;
}

/* --- all nodes */

/* Models compute shapes from constants: what is integer, small and constant is folded at once, since the next
 * Reshape needs to know it; so are the few floats and bools that such a computation goes through. */
static bool is_small(const tg_value *result) {
  bool is_float = tg_dtype_is_float(result->dtype);
  return tg_value_elements(result) <= (is_float ? TG_MAX_RANK : SHAPE_ELEMENTS);
}

static bool is_shape_arithmetic(const tg_node *node) {
  if (tg_op_is(node->op, TG_IS_SEQUENCE)) return false;
  if (tg_op_is(node->op, TG_IS_GENERATES)) return true;
  if (tg_dtype_is_float(tg_out(node)->dtype) && tg_op_is(node->op, TG_IS_GEMM | TG_IS_INTERNAL)) return false;
  for (int i = 0; i < node->output_count; i++)
    if (!is_small(node->outputs[i])) return false;
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (!x) continue;
    if (!tg_is_constant(x) || x->elided || tg_value_elements(x) > SHAPE_ELEMENTS) return false;
    if (tg_dtype_is_float(x->dtype) && x->rank && x->initializer) return false;
  }
  return true;
}

static void fold_shape_arithmetic(tg_graph *graph, tg_node *node) {
  if (!is_shape_arithmetic(node)) return;
  int count = node->output_count;
  const void **inputs = TG_NEW_ARRAY(graph->arena, const void *, (size_t)node->input_count);
  tg_value **folded = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)count);
  void **data = TG_NEW_ARRAY(graph->arena, void *, (size_t)count);
  for (int i = 0; i < node->input_count; i++) inputs[i] = tg_in(node, i) ? tg_in(node, i)->data : NULL;
  for (int i = 0; i < count; i++) {
    const tg_value *result = node->outputs[i];
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(result, sizes);
    folded[i] = tg_graph_add_constant(graph, result->name, result->dtype, result->rank, sizes, NULL, false);
    data[i] = (void *)folded[i]->data;
  }
  tg_reference_node(node, inputs, data);
  for (int i = 0; i < count; i++) {
    tg_value *result = node->outputs[i];
    const char *name = result->name;
    tg_value_replace(graph, result, folded[i]);
    tg_value_rename(graph, result, tg_arena_printf(graph->arena, "%s.old", name));
    tg_value_rename(graph, folded[i], name);
  }
  tg_graph_remove_node(graph, node);
}

/* What was built of constants alone is constant. */
static void fold_between(tg_graph *graph, const tg_node *after, const tg_node *end) {
  for (tg_node *node = after ? after->next : graph->first, *next; node && node != end; node = next) {
    next = node->next;
    fold_shape_arithmetic(graph, node);
  }
}

static tg_status check_input(const tg_graph *graph, const tg_value *value, tg_diag *diag) {
  int64_t count = 1;
  if (value->rank < 0) return tg_fail(diag, TG_INVALID, "input \"%s\": its shape is not given", value->name);
  for (int i = 0; i < value->rank; i++) {
    int64_t size = value->dims[i].size;
    if (size < 0)
      return tg_fail(diag, TG_INVALID, "input \"%s\": dimension %d (%s) is not bound", value->name, i,
                     value->dims[i].symbol ? value->dims[i].symbol : "?");
    if (size && (__builtin_mul_overflow(count, size, &count) || count > TG_MAX_ELEMENTS))
      return tg_fail(diag, TG_INVALID, "input \"%s\": %s has more than %" PRId64 " elements", value->name,
                     tg_value_type_text(value, graph->arena), TG_MAX_ELEMENTS);
  }
  return TG_OK;
}

/* What exporters declare of a model with open sizes may be those of their example. */
static tg_status check_declared(const tg_graph *graph, int output, tg_diag *diag) {
  const tg_shape *declared = &graph->output_shapes[output];
  const tg_value *value = graph->outputs[output];
  bool fits = declared->rank < 0 || declared->rank == value->rank;
  for (int d = 0; fits && !graph->symbol_count && d < declared->rank; d++)
    fits = declared->sizes[d] < 0 || declared->sizes[d] == value->dims[d].size;
  if (fits) return TG_OK;
  const char *text = "";
  for (int d = 0; d < declared->rank; d++)
    text = tg_arena_printf(graph->arena, declared->sizes[d] < 0 ? "%s%s?" : "%s%s%" PRId64, text,
                           d ? "," : "", declared->sizes[d]);
  return tg_fail(diag, TG_INVALID, "output \"%s\" is declared as [%s] but computed as %s",
                 graph->output_names[output], text, tg_value_type_text(value, graph->arena));
}

static tg_status check_outputs(tg_graph *graph, tg_diag *diag) {
  for (int i = 0; i < graph->output_count; i++) {
    if (check_declared(graph, i, diag)) return TG_INVALID;
    tg_dtype found = graph->outputs[i]->dtype;
    if (!graph->output_dtypes[i]) graph->output_dtypes[i] = found;
    if (graph->output_dtypes[i] != found)
      return tg_fail(diag, TG_INVALID, "output \"%s\" is declared %s but computed as %s",
                     graph->output_names[i], tg_dtype_name(graph->output_dtypes[i]), tg_dtype_name(found));
  }
  return TG_OK;
}

static tg_status check_carries(const tg_graph *graph, tg_diag *diag) {
  for (size_t i = 0; i < graph->carry_count; i++) {
    const tg_value *in = graph->inputs[graph->carries[i].input],
                   *out = graph->outputs[graph->carries[i].output];
    if (in->dtype != out->dtype || !tg_value_same_shape(in, out))
      return tg_fail(diag, TG_INVALID, "output \"%s\", %s, does not carry into input \"%s\", %s",
                     graph->output_names[graph->carries[i].output], tg_value_type_text(out, graph->arena),
                     in->name, tg_value_type_text(in, graph->arena));
  }
  return TG_OK;
}

/* A pass makes constants of reductions of nothing. */
static tg_status count_reduced(tg_graph *graph, tg_diag *diag) {
  TG_FOR_NODES(graph, node) {
    int64_t sizes[TG_MAX_RANK];
    if (!tg_op_is(node->op, TG_IS_REDUCE) || tg_value_elements(tg_in(node, 0))) continue;
    const tg_value *y = tg_out(node);
    if (!y->use_count && !y->output_count) continue;
    tg_value_sizes(y, sizes);
    if (!tg_graph_count_made(graph, y->dtype, y->rank, sizes, diag)) continue;
    return tg_diag_prefix(diag, "%s", tg_infer_where(graph, node)), TG_INVALID;
  }
  return TG_OK;
}

tg_status tg_graph_infer(tg_graph *graph, tg_diag *diag) {
  for (int i = 0; i < graph->input_count; i++)
    if (check_input(graph, graph->inputs[i], diag)) return TG_INVALID;
  TG_FOR_NODES_SAFE(graph, node) {
    if (tg_check_no_sequence(graph, node, diag)) return TG_INVALID;
    if (tg_op_is(node->op, TG_IS_SEQUENCE)) {
      tg_node *before = node->previous;
      if (tg_expand_sequence(graph, node, diag)) return TG_INVALID;
      fold_between(graph, before, node_next);
    } else if (tg_op_is(node->op, TG_IS_CONTROL)) {
      tg_node *before = node->previous;
      bool attends = node->op == TG_OP_FLEX_ATTENTION;
      if (attends ? tg_expand_flex_attention(graph, node, diag) : tg_expand_control(graph, node, diag))
        return TG_INVALID;
      node_next = before ? before->next : graph->first;
    } else if (node->op == TG_OP_EINSUM &&
               (!tg_is_plain_einsum(node) || tg_dtype_is_integer(tg_in(node, 0)->dtype))) {
      tg_node *before = node->previous;
      const char *where = tg_infer_where(graph, node);
      if (tg_split_einsum(graph, node, diag)) return tg_diag_prefix(diag, "%s", where), TG_INVALID;
      node_next = before ? before->next : graph->first;
    } else if (is_composed(node)) {
      tg_node *before = node->previous;
      if (decompose(graph, node, diag)) return TG_INVALID;
      fold_between(graph, before, node_next);
    } else {
      if (tg_node_infer(graph, node, diag)) return TG_INVALID;
      fold_shape_arithmetic(graph, node);
    }
  }
  if (count_reduced(graph, diag) || tg_remove_sequences(graph, diag) || check_outputs(graph, diag))
    return TG_INVALID;
  return check_carries(graph, diag);
}
