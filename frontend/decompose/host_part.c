#include "frontend/host_part.h"

#include "frontend/infer.h"
#include "frontend/infer/internal.h"
#include "frontend/reference.h"

#include <inttypes.h>
#include <string.h>

/* --- which nodes --- */

/* The node of the model in which inference ends because values decide the size of its result; NULL: it does not end there. */
static tg_node *find_undecided(tg_graph *model) {
  tg_diag ignored = {""};
  tg_arena scratch = {0};
  tg_graph *probe = tg_graph_clone(model, &scratch);
  probe->undecided = -1;
  tg_graph_bind_rest(probe, 1);
  int64_t id = tg_graph_infer(probe, &ignored) ? probe->undecided : -1;
  tg_arena_release(&scratch);
  if (id < 0) return NULL;
  TG_FOR_NODES(model, node)
  if (node->id == id) return node;
  return NULL;
}

/* The node and all that reads it, by node->outputs[0]->index. */
static void mark_behind(const tg_graph *model, const tg_node *first, bool *behind) {
  TG_FOR_NODES(model, node) {
    bool reads = node == first;
    for (int i = 0; i < node->input_count; i++)
      reads |= tg_in(node, i) && tg_in(node, i)->producer && behind[tg_out(tg_in(node, i)->producer)->index];
    behind[tg_out(node)->index] |= reads;
  }
}

static bool is_behind(const bool *behind, const tg_value *value) {
  return value->producer && behind[tg_out(value->producer)->index];
}

/* --- two graphs --- */

static void remove_unread(tg_graph *graph) {
  for (tg_node *node = graph->last, *previous; node; node = previous) {
    previous = node->previous;
    bool used = false;
    for (int i = 0; i < node->output_count; i++)
      used |= node->outputs[i]->use_count || node->outputs[i]->output_count;
    if (!used) tg_graph_remove_node(graph, node);
  }
}

static int find_output(const tg_graph *graph, const tg_value *value) {
  for (int i = 0; i < graph->output_count; i++)
    if (graph->outputs[i] == value) return i;
  return -1;
}

static void add_output_of(tg_graph *to, const tg_graph *model, int output, tg_value *value) {
  tg_graph_add_output(to, value, model->output_names[output], model->output_dtypes[output]);
  to->output_shapes[to->output_count - 1] = model->output_shapes[output];
}

static bool has_output(const tg_graph *graph, const char *name) {
  for (int i = 0; i < graph->output_count; i++)
    if (!strcmp(graph->output_names[i], name)) return true;
  return false;
}

/* Outputs are found by name: that of no other one, here or in the model. */
static const char *name_of_output(const tg_graph *model, const tg_graph *array, const char *value) {
  const char *name = tg_arena_printf(model->arena, "%s.host", value);
  while (has_output(model, name) || has_output(array, name))
    name = tg_arena_printf(model->arena, "%s.host", name);
  return name;
}

/* In `part`, a copy of the model, values that the array computes become inputs: their sources are new outputs of `array`, another
 * copy. */
static void connect(const tg_graph *model, const bool *behind, tg_graph *array, tg_host_part *part) {
  tg_graph *host = part->graph;
  part->sources = TG_NEW_ARRAY(model->arena, int, (size_t)model->value_count + 1);
  host->input_count = 0;
  for (int i = 0; i < model->value_count; i++) {
    const tg_value *value = model->values[i];
    bool read = false;
    for (const tg_use *use = value->uses; use; use = use->next) read |= behind[tg_out(use->node)->index];
    if (!read || tg_is_constant(value) || is_behind(behind, value)) continue;
    tg_value *mine = array->values[i], *theirs = host->values[i];
    int output = find_output(array, mine);
    if (output < 0) {
      output = array->output_count;
      tg_graph_add_output(array, mine, name_of_output(model, array, value->name), TG_NONE);
    }
    tg_value *input =
        tg_graph_add_input(host, tg_arena_printf(model->arena, "%s.array", value->name), TG_NONE, -1, NULL);
    tg_value_replace(host, theirs, input);
    part->sources[host->input_count - 1] = output;
  }
}

static void split(tg_graph *model, const bool *behind, tg_graph **out_array, tg_host_part *part) {
  tg_graph *array = tg_graph_clone(model, model->arena), *host = tg_graph_clone(model, model->arena);
  part->graph = host;
  part->output_count = model->output_count;
  part->outputs = TG_NEW_ARRAY(model->arena, int, (size_t)model->output_count + 1);
  tg_graph_forget_outputs(array);
  tg_graph_forget_outputs(host);
  for (int i = 0; i < model->output_count; i++) {
    const tg_value *value = model->outputs[i];
    bool here = is_behind(behind, value);
    tg_graph *to = here ? host : array;
    add_output_of(to, model, i, to->values[value->index]);
    part->outputs[i] = here ? -to->output_count : to->output_count - 1;
  }
  connect(model, behind, array, part);
  remove_unread(array);
  remove_unread(host);
  *out_array = array;
}

static bool may_be_undecided(const tg_graph *model) {
  TG_FOR_NODES(model, node)
  if (node->op == TG_OP_NON_ZERO || node->op == TG_OP_UNIQUE || node->op == TG_OP_COMPRESS ||
      node->op == TG_OP_NON_MAX_SUPPRESSION)
    return true;
  return false;
}

void tg_cut_host_part(tg_graph *model, tg_graph **out_array, tg_host_part *out_part) {
  enum { MOST_ROOTS = 64 };
  *out_array = model;
  *out_part = (tg_host_part){0};
  if (!may_be_undecided(model)) return;
  bool *behind = TG_NEW_ARRAY(model->arena, bool, (size_t)model->value_count + 1);
  tg_graph *array = model;
  for (int roots = 0; roots < MOST_ROOTS; roots++) {
    const tg_node *found = find_undecided(array), *root = NULL;
    if (!found) break;
    TG_FOR_NODES(model, node)
    if (node->id == found->id) root = node;
    if (!out_part->where) out_part->where = tg_infer_where(model, root);
    mark_behind(model, root, behind);
    split(model, behind, &array, out_part);
  }
  if (array == model) return;
  TG_FOR_NODES(model, node) out_part->nodes += behind[tg_out(node)->index];
  *out_array = array;
}

/* --- the run --- */

static tg_status check_cost(const tg_graph *graph, const char *where, tg_diag *diag) {
  const double most = 0x1p32;
  double cost = 0;
  TG_FOR_NODES(graph, node) cost += (double)tg_reference_cost(node);
  if (cost <= most) return TG_OK;
  return tg_fail(diag, TG_INVALID,
                 "%s: what follows it on the host takes %.0f operations, at most %.0f are possible", where,
                 cost, most);
}

tg_status tg_run_host_part(const tg_host_part *part, tg_arena *arena, const tg_host_tensor *inputs,
                           tg_host_tensor *out, tg_diag *diag) {
  tg_graph *graph = tg_graph_clone(part->graph, arena);
  int count = graph->input_count;
  for (int i = 0; i < count; i++) {
    tg_value_set_type(graph->inputs[0], inputs[i].dtype, inputs[i].rank, inputs[i].dims);
    tg_graph_fix_input(graph, 0, inputs[i].data);
  }
  if (tg_graph_infer(graph, diag) || check_cost(graph, part->where, diag)) return TG_INVALID;
  void **data = TG_NEW_ARRAY(arena, void *, (size_t)graph->output_count + 1);
  for (int i = 0; i < graph->output_count; i++) {
    const tg_value *value = graph->outputs[i];
    out[i] = (tg_host_tensor){.dtype = value->dtype, .rank = value->rank};
    tg_value_sizes(value, out[i].dims);
    out[i].data = data[i] =
        tg_arena_alloc(arena, (size_t)tg_value_elements(value) + 1, tg_dtype_size(value->dtype));
  }
  tg_reference_run(graph, NULL, data);
  return TG_OK;
}
