#include "runtime/cpu_reference/plan.h"

/* The same elements in the same order: no copy. */
static bool plan_alias(tg_cpu_reference *plan, const tg_node *node) {
  tg_cpu_share(plan, tg_out(node), tg_in(node, 0));
  return true;
}

static bool plan_transpose(tg_cpu_reference *plan, const tg_node *node) {
  const tg_value *in = tg_in(node, 0), *out = tg_out(node);
  if (in->rank < 2) return plan_alias(plan, node);
  const int64_t *perm = tg_attr_ints(node, TG_ATTR_PERM, NULL);
  int goes_to[TG_MAX_RANK];
  for (int i = 0; i < in->rank; i++) goes_to[perm[i]] = i;
  dnnl_memory_desc_t plain = tg_cpu_desc(plan, in, 0), from, to = tg_cpu_desc(plan, out, 0);
  if (dnnl_memory_desc_permute_axes(&from, &plain, goes_to)) return false;
  return tg_cpu_reorder(plan, &from, tg_cpu_data(plan, in), &to, tg_cpu_data(plan, out), false);
}

static bool plan_concat(tg_cpu_reference *plan, const tg_node *node) {
  const tg_value *out = tg_out(node);
  int count = node->input_count;
  if (count == 1) return plan_alias(plan, node);
  dnnl_memory_desc_t *sources = TG_NEW_ARRAY(&plan->arena, dnnl_memory_desc_t, (size_t)count);
  for (int i = 0; i < count; i++) sources[i] = tg_cpu_desc(plan, tg_in(node, i), 0);
  dnnl_memory_desc_t result = tg_cpu_desc(plan, out, 0);
  dnnl_primitive_desc_t description;
  if (dnnl_concat_primitive_desc_create(&description, &result, count, (int)tg_attr_int(node, TG_ATTR_AXIS),
                                        sources, NULL, plan->engine))
    return false;
  tg_cpu_arg *args = TG_NEW_ARRAY(&plan->arena, tg_cpu_arg, (size_t)count + 1);
  for (int i = 0; i < count; i++)
    args[i] = (tg_cpu_arg){DNNL_ARG_MULTIPLE_SRC + i,
                           tg_cpu_memory(plan, &sources[i], tg_cpu_data(plan, tg_in(node, i)))};
  args[count] = (tg_cpu_arg){DNNL_ARG_DST, tg_cpu_memory(plan, &result, tg_cpu_data(plan, out))};
  return tg_cpu_append(plan, description, args, count + 1);
}

bool tg_cpu_plan_move(tg_cpu_reference *plan, const tg_node *node) {
  switch (node->op) {
  case TG_OP_RESHAPE:
  case TG_OP_FLATTEN:
  case TG_OP_SQUEEZE:
  case TG_OP_UNSQUEEZE:
  case TG_OP_IDENTITY:
  case TG_OP_DROPOUT:
  case TG_OP_CAST: return plan_alias(plan, node); /* casts: the caller saw that both sides are floats */
  case TG_OP_TRANSPOSE: return plan_transpose(plan, node);
  case TG_OP_CONCAT: return plan_concat(plan, node);
  default: return false;
  }
}
