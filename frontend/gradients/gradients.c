#include "frontend/gradients/gradients.h"

#include "frontend/gradients/rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ALL      ~0u
#define FIRST(n) ((1u << (n)) - 1)
static const tg_gradient_info table[TG_OP_COUNT] = {
#define TG_GRADIENT(op, operands, rule, formula) [TG_OP_##op] = {tg_gradient_##rule, operands, formula},
#include "frontend/gradients/gradients.def"
#undef TG_GRADIENT
};
#undef ALL
#undef FIRST

const tg_gradient_info *tg_gradient_get(tg_op op) { return &table[op]; }

/* --- what depends on what */

/* Operators without a gradient count with all their operands, so that the walk comes upon them and says
 * so. */
static unsigned operands_of(const tg_node *node) {
  return table[node->op].rule ? table[node->op].operands : ~0u;
}

static bool is_differentiable(const tg_node *node, int input) {
  const tg_value *x = tg_in(node, input);
  return x && tg_dtype_is_float(x->dtype) && (input >= 32 || operands_of(node) >> input & 1);
}

static bool has_float_result(const tg_node *node) { return tg_dtype_is_float(tg_out(node)->dtype); }

void tg_backward_reach(const tg_graph *graph, const tg_value *y, bool *out_reached) {
  memset(out_reached, 0, (size_t)graph->value_count * sizeof *out_reached);
  out_reached[y->index] = true;
  for (const tg_node *node = graph->last; node; node = node->previous) {
    bool reached = false;
    for (int i = 0; i < node->output_count; i++) reached |= out_reached[node->outputs[i]->index];
    for (int i = 0; reached && has_float_result(node) && i < node->input_count; i++)
      if (is_differentiable(node, i)) out_reached[tg_in(node, i)->index] = true;
  }
}

static void find_wanted(tg_backward *w, const tg_node *first, const tg_node *last, const bool *is_parameter) {
  for (int i = 0; i < w->value_count; i++) w->wanted[i] = is_parameter[i];
  for (const tg_node *node = first; node; node = node->next) {
    bool any = false;
    for (int i = 0; has_float_result(node) && i < node->input_count; i++)
      any |= is_differentiable(node, i) && w->wanted[tg_in(node, i)->index];
    for (int i = 0; i < node->output_count; i++) w->wanted[node->outputs[i]->index] = any;
    if (node == last) break;
  }
}

/* --- the walk */

static tg_status refuse(const tg_node *node, const char *why, tg_diag *diag) {
  const char *op = tg_op_get(node->op)->name;
  if (*node->name) return tg_fail(diag, TG_INVALID, "node \"%s\" (%s): %s", node->name, op, why);
  return tg_fail(diag, TG_INVALID, "node %" PRId64 " (%s), which computes \"%s\": %s", node->id, op,
                 tg_out(node)->name, why);
}

static tg_status step_back(tg_backward *w, const tg_node *node) {
  bool reached = false, wanted = false;
  w->node = node;
  w->operands = operands_of(node);
  for (int i = 0; i < node->output_count; i++) reached |= w->gradient[node->outputs[i]->index] != NULL;
  for (int i = 0; i < node->input_count; i++) wanted |= tg_backward_is_wanted(w, i);
  if (!reached || !wanted) return TG_OK;
  if (!table[node->op].rule) return refuse(node, "the operator has no gradient", w->diag);
  w->build.forward = node->id;
  w->build.origin = node->origin;
  w->build.keep_formats = node->disable_graphamp;
  for (int i = node->input_count - 1; i >= 0; i--)
    tg_backward_wants(w, i); /* the first one's name to begin with */
  table[node->op].rule(w, node, w->gradient[tg_out(node)->index]);
  return w->refusal ? refuse(node, w->refusal, w->diag) : TG_OK;
}

tg_status tg_backward_run(tg_graph *graph, const bool *is_parameter, int value_count, tg_node *last,
                          tg_node *before, tg_value *y, tg_value *dy, int partials, tg_reduction reduction,
                          tg_value **out_gradients, tg_diag *diag) {
  tg_backward w = {.build = {.graph = graph, .before = before, .forward = -1},
                   .gradient = out_gradients,
                   .wanted = calloc((size_t)value_count + 1, sizeof(bool)),
                   .value_count = value_count,
                   .partials = partials,
                   .reduction = reduction,
                   .diag = diag};
  if (!w.wanted) tg_die("out of memory");
  find_wanted(&w, graph->first, last, is_parameter);
  memset(out_gradients, 0, (size_t)value_count * sizeof *out_gradients);
  out_gradients[y->index] = dy;
  tg_status status = TG_OK;
  for (tg_node *node = last; node && !status; node = node->previous) status = step_back(&w, node);
  free(w.wanted);
  return status;
}
