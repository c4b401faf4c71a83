/* What a legal graph is. */
#include "frontend/graph.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct verifier {
  const tg_graph *graph;
  bool *defined; /* by value->index: available to the node being looked at */
  tg_diag *diag;
} verifier;

static tg_status illegal(const verifier *v, const tg_node *node, const char *what) {
  return tg_fail(v->diag, TG_INVALID, "illegal graph: node %" PRId64 " \"%s\" (%s): %s", node->id, node->name,
                 tg_op_get(node->op)->name, what);
}

static tg_status check_value(const verifier *v, const tg_value *value) {
  const char *wrong = NULL;
  if (value->index < 0 || value->index >= v->graph->value_count || v->graph->values[value->index] != value)
    wrong = "does not belong to the graph";
  else if (tg_graph_find_value(v->graph, value->name) != value)
    wrong = "does not own its name";
  else if ((value->kind == TG_VALUE_CONSTANT) != (value->data != NULL))
    wrong = "has data if and only if it is no constant";
  else if (value->kind == TG_VALUE_CONSTANT && !tg_value_is_known(value))
    wrong = "is a constant of unknown type";
  else if (value->rank > TG_MAX_RANK)
    wrong = "has too high a rank";
  if (wrong) return tg_fail(v->diag, TG_INVALID, "illegal graph: value \"%s\" %s", value->name, wrong);
  return TG_OK;
}

static tg_status check_uses(const verifier *v, const tg_value *value) {
  int count = 0, outputs = 0;
  for (const tg_use *use = value->uses; use; use = use->next, count++)
    if (use->value != value || tg_in(use->node, use->input) != value ||
        (use->next && use->next->previous != use))
      return tg_fail(v->diag, TG_INVALID, "illegal graph: value \"%s\" has a broken use list", value->name);
  for (int i = 0; value->output_count && i < v->graph->output_count; i++)
    outputs += v->graph->outputs[i] == value;
  if (count != value->use_count || outputs != value->output_count)
    return tg_fail(v->diag, TG_INVALID, "illegal graph: value \"%s\" miscounts its uses", value->name);
  return TG_OK;
}

static tg_status check_inputs(const verifier *v, const tg_node *node) {
  const tg_op_info *info = tg_op_get(node->op);
  if (node->input_count < info->fewest_inputs || node->input_count > info->most_inputs)
    return illegal(v, node, "wrong number of inputs");
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (node->inputs[i].node != node || node->inputs[i].input != i)
      return illegal(v, node, "an input is not its own");
    if (!x && (i < info->fewest_inputs || info->most_inputs == TG_ANY_COUNT))
      return illegal(v, node, "a needed input is absent");
    if (x && (check_value(v, x) || !v->defined[x->index]))
      return illegal(v, node, "an input is not defined before it");
  }
  return TG_OK;
}

static tg_status check_results(const verifier *v, const tg_node *node) {
  int wanted = tg_op_get(node->op)->outputs;
  if (wanted == TG_ANY_COUNT ? node->output_count < 1 : node->output_count != wanted)
    return illegal(v, node, "wrong number of results");
  for (int i = 0; i < node->output_count; i++) {
    const tg_value *y = node->outputs[i];
    if (check_value(v, y)) return TG_INVALID;
    if (y->kind != TG_VALUE_RESULT || y->producer != node || y->producer_output != i || v->defined[y->index])
      return illegal(v, node, "a result is not its own");
    v->defined[y->index] = true;
  }
  return TG_OK;
}

/* What every operator asks of types that are known; the shapes themselves are infer's. */
static tg_status check_types(const verifier *v, const tg_node *node) {
  const tg_value *y = tg_out(node);
  if (!y->dtype || y->rank < 0) return TG_OK;
  if (!tg_value_is_known(y)) return illegal(v, node, "the result's type is half known");
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) && !tg_value_is_known(tg_in(node, i)))
      return illegal(v, node, "an input's type is not known");
  const tg_value *x = tg_in(node, 0);
  if (node->op == TG_OP_CAST && (tg_dtype)tg_attr_int(node, TG_ATTR_TO) != y->dtype)
    return illegal(v, node, "the result is not what it casts to");
  if (tg_is_stochastic_cast(node) && (y->dtype != TG_BF16 || !tg_dtype_is_float(x->dtype)))
    return illegal(v, node, "only floats are rounded stochastically, and only to bf16");
  if (tg_op_is(node->op, TG_IS_MOVE) && x->dtype != y->dtype)
    return illegal(v, node, "a move changes the element type");
  if (tg_op_is(node->op, TG_IS_GEMM) && (tg_in(node, 1)->dtype != x->dtype || !tg_dtype_is_float(y->dtype)))
    return illegal(v, node, "the operands do not share a float format");
  bool same_count = node->op == TG_OP_RESHAPE || node->op == TG_OP_TRANSPOSE || node->op == TG_OP_CAST ||
                    tg_op_is(node->op, TG_IS_UNARY);
  if (same_count && tg_value_elements(x) != tg_value_elements(y)) return illegal(v, node, "the sizes differ");
  return TG_OK;
}

static tg_status verify(const verifier *v, int *out_nodes) {
  const tg_graph *graph = v->graph;
  for (int i = 0; i < graph->value_count; i++) {
    const tg_value *value = graph->values[i];
    if (value->kind == TG_VALUE_RESULT && !value->producer) continue; /* dead until the next compaction */
    if (check_value(v, value) || check_uses(v, value)) return TG_INVALID;
    v->defined[i] = value->kind != TG_VALUE_RESULT;
  }
  *out_nodes = 0;
  for (const tg_node *node = graph->first; node; node = node->next) {
    if (node->next ? node->next->previous != node : graph->last != node)
      return illegal(v, node, "the list is broken");
    if (node->id < 0 || node->id >= graph->next_id) return illegal(v, node, "the id was never given out");
    if (check_inputs(v, node) || check_results(v, node) || check_types(v, node)) return TG_INVALID;
    ++*out_nodes;
  }
  for (int i = 0; i < graph->output_count; i++)
    if (!v->defined[graph->outputs[i]->index])
      return tg_fail(v->diag, TG_INVALID, "illegal graph: output \"%s\" is not computed",
                     graph->output_names[i]);
  return TG_OK;
}

static tg_status check_carries(const verifier *v) {
  const tg_graph *graph = v->graph;
  for (size_t i = 0; i < graph->carry_count; i++) {
    const tg_carry *carry = &graph->carries[i];
    const tg_value *in = graph->inputs[carry->input], *out = graph->outputs[carry->output];
    bool twice = false;
    for (size_t j = 0; j < i; j++)
      twice |= graph->carries[j].input == carry->input || graph->carries[j].output == carry->output;
    if (twice || (in->dtype && out->dtype && in->dtype != out->dtype) ||
        (tg_value_is_known(in) && tg_value_is_known(out) && !tg_value_same_shape(in, out)))
      return tg_fail(v->diag, TG_INVALID, "illegal graph: output \"%s\" does not carry into input \"%s\"",
                     graph->output_names[carry->output], in->name);
  }
  return TG_OK;
}

tg_status tg_graph_verify(const tg_graph *graph, tg_diag *diag) {
  verifier v = {graph, calloc((size_t)graph->value_count + 1, sizeof(bool)), diag};
  if (!v.defined) tg_die("out of memory");
  int nodes = 0;
  tg_status status = verify(&v, &nodes);
  if (!status) status = check_carries(&v);
  if (!status && nodes != graph->node_count)
    status = tg_fail(diag, TG_INVALID, "illegal graph: it miscounts its nodes");
  free(v.defined);
  return status;
}
