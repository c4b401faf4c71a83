/* Which values may be in the lower format because all that read them take it so: needs travel from consumers
 * to producers, through the operators that only pass on what they get. */
#include "frontend/precision/policy.h"

/* Does the node take its operand in the lower format, as far as the table alone tells? */
static bool takes_lower(const tg_cast_pass *p, const tg_use *use) {
  const tg_node *node = use->node;
  if (node->forward >= 0) return true; /* it follows a node that was asked */
  if (node->disable_graphamp) return p->written[use->value->index] == p->lower;
  if (node->op == TG_OP_CAST)
    return tg_is_plain_cast(node) && (tg_dtype)tg_attr_int(node, TG_ATTR_TO) == p->lower;
  const tg_graphamp_row *row = tg_graphamp_find(p->options->preset, node);
  tg_need need = tg_op_is(node->op, TG_IS_GEMM) && use->input > 1 ? row->others : row->operands;
  if (need == TG_NEED_UPSTREAM) return p->wants_lower[tg_out(node)->index];
  return need == TG_NEED_LOWER;
}

static bool all_take_lower(const tg_cast_pass *p, const tg_value *value) {
  for (int i = 0; value->output_count && i < p->graph->output_count; i++)
    if (p->graph->outputs[i] == value && p->graph->output_dtypes[i] != p->lower) return false;
  for (const tg_use *use = value->uses; use; use = use->next)
    if (!takes_lower(p, use)) return false;
  return value->use_count || value->output_count;
}

void tg_find_upstream(tg_cast_pass *p) {
  if (p->options->family != TG_FAMILY_GRAPHAMP || p->options->preset != TG_PRESET_MP2) return;
  p->wants_lower = TG_NEW_ARRAY(&p->scratch, bool, (size_t)p->value_count);
  for (const tg_node *node = p->graph->last; node; node = node->previous)
    for (int i = 0; i < node->output_count; i++)
      if (tg_dtype_is_float(node->outputs[i]->dtype))
        p->wants_lower[node->outputs[i]->index] = all_take_lower(p, node->outputs[i]);
}
