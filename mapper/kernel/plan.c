/* A compilation before it has kernels. */
#include "mapper/kernel/kernel.h"
#include "mapper/kernel/memo.h"

/* Integers that arrive with a run lie in memory as the floats that the graph makes of them. */
bool tg_reads_integers(const tg_node *node) {
  return node->op == TG_OP_CAST && tg_in(node, 0)->kind == TG_VALUE_INPUT &&
         tg_dtype_is_integer(tg_in(node, 0)->dtype) && tg_out(node)->dtype == TG_F32;
}

/* What renames shares the place of what it renames; outputs of the graph claim that of the value that they
 * are, the first one of several. */
static void share_places(tg_compile *c) {
  const tg_graph *graph = c->graph;
  for (int i = 0; i < graph->value_count; i++) c->places[i].tensor = -1;
  TG_FOR_NODES(graph, node)
  if (node->op == TG_OP_RESHAPE || tg_reads_integers(node))
    c->places[tg_out(node)->index].root = tg_owner(c, tg_in(node, 0));
  for (int i = 0; i < graph->output_count; i++) {
    const tg_value *root = tg_owner(c, graph->outputs[i]);
    if (root->kind == TG_VALUE_RESULT && c->places[root->index].tensor == -1)
      c->places[root->index].tensor = -2 - i; /* memory/dram.c makes the tensor */
  }
}

void tg_compile_begin(tg_compile *c, const tg_graph *graph, const tg_params *params,
                      const tg_map_options *options, tg_arena *arena, tg_diag *diag) {
  *c = (tg_compile){.graph = graph, .options = *options, .arena = arena, .diag = diag};
  if (!c->options.k_tile) c->options.k_tile = 128;
  c->program = tg_program_create(params);
  c->m = &c->program->params;
  c->program->seed = options->seed;
  c->program->model = tg_arena_strdup(&c->program->arena, graph->name ? graph->name : "");
  c->places = TG_NEW_ARRAY(arena, tg_place, (size_t)graph->value_count + 1);
  c->tilings = tg_memo_new(arena);
  c->rehearsals = tg_memo_new(arena);
  c->stored = TG_NEW_ARRAY(arena, bool, (size_t)graph->value_count + 1);
  c->carried_into = TG_NEW_ARRAY(arena, int, (size_t)graph->output_count + 1);
  for (int i = 0; i < graph->output_count; i++) c->carried_into[i] = -1;
  for (size_t i = 0; i < graph->carry_count; i++)
    c->carried_into[graph->carries[i].output] = graph->carries[i].input;
  share_places(c);
}
