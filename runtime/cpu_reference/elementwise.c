#include "runtime/cpu_reference/plan.h"

static bool plan_unary(tg_cpu_reference *plan, const tg_node *node, const tg_cpu_eltwise *eltwise) {
  const tg_value *in = tg_in(node, 0), *out = tg_out(node);
  void *source = tg_cpu_data(plan, in);
  dnnl_memory_desc_t desc = tg_cpu_desc(plan, in, 0);
  dnnl_eltwise_desc_t op;
  dnnl_primitive_desc_t description;
  if (dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, eltwise->alg, &desc, eltwise->alpha,
                                     eltwise->beta) ||
      !tg_cpu_describe(plan, &op, NULL, &description))
    return false;
  if (tg_cpu_is_last_use(plan, in) && tg_value_same_shape(in, out)) tg_cpu_share(plan, out, in);
  tg_cpu_arg args[] = {{DNNL_ARG_SRC, tg_cpu_memory(plan, &desc, source)},
                       {DNNL_ARG_DST, tg_cpu_memory(plan, &desc, tg_cpu_data(plan, out))}};
  return tg_cpu_append(plan, description, args, 2);
}

/* result = first (op) second, `first` of the result's shape or already in its storage. */
static bool append_binary(tg_cpu_reference *plan, dnnl_alg_kind_t alg, const tg_value *out,
                          const dnnl_memory_desc_t *first, void *first_data, const tg_value *second) {
  dnnl_memory_desc_t result = tg_cpu_desc(plan, out, 0), other = tg_cpu_desc(plan, second, out->rank);
  dnnl_binary_desc_t op;
  dnnl_primitive_desc_t description;
  if (dnnl_binary_desc_init(&op, alg, first, &other, &result) ||
      !tg_cpu_describe(plan, &op, NULL, &description))
    return false;
  tg_cpu_arg args[] = {{DNNL_ARG_SRC_0, tg_cpu_memory(plan, first, first_data)},
                       {DNNL_ARG_SRC_1, tg_cpu_memory(plan, &other, tg_cpu_data(plan, second))},
                       {DNNL_ARG_DST, tg_cpu_memory(plan, &result, tg_cpu_data(plan, out))}};
  return tg_cpu_append(plan, description, args, 3);
}

/* oneDNN broadcasts the second operand only. */
static bool plan_binary(tg_cpu_reference *plan, const tg_node *node, dnnl_alg_kind_t alg) {
  const tg_value *out = tg_out(node);
  int first = 0;
  while (first < node->input_count && !tg_value_same_shape(tg_in(node, first), out)) first++;
  if (first == node->input_count || node->input_count < 2) return false;
  if (first && !tg_op_is(node->op, TG_IS_COMMUTES)) return false;
  size_t steps_before = plan->step_count;
  dnnl_memory_desc_t desc = tg_cpu_desc(plan, tg_in(node, first), 0);
  void *data = tg_cpu_data(plan, tg_in(node, first));
  for (int i = 0; i < node->input_count; i++) {
    if (i == first) continue;
    if (!append_binary(plan, alg, out, &desc, data, tg_in(node, i))) {
      plan->step_count = steps_before;
      return false;
    }
    data = tg_cpu_data(plan, out);
  }
  return true;
}

static bool plan_softmax(tg_cpu_reference *plan, const tg_node *node) {
  const tg_value *in = tg_in(node, 0), *out = tg_out(node);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  dnnl_memory_desc_t desc = tg_cpu_desc(plan, in, 0);
  if (tg_attr_int(node, TG_ATTR_FLATTEN)) {
    dnnl_dims_t rows = {tg_value_elements_between(in, 0, axis),
                        tg_value_elements_between(in, axis, in->rank)};
    if (dnnl_memory_desc_init_by_tag(&desc, 2, rows, desc.data_type, dnnl_ab)) return false;
    axis = 1;
  }
  dnnl_softmax_v2_desc_t op;
  dnnl_primitive_desc_t description;
  if (dnnl_softmax_v2_forward_desc_init(&op, dnnl_forward_inference, dnnl_softmax_accurate, &desc, &desc,
                                        axis) ||
      !tg_cpu_describe(plan, &op, NULL, &description))
    return false;
  tg_cpu_arg args[] = {{DNNL_ARG_SRC, tg_cpu_memory(plan, &desc, tg_cpu_data(plan, in))},
                       {DNNL_ARG_DST, tg_cpu_memory(plan, &desc, tg_cpu_data(plan, out))}};
  return tg_cpu_append(plan, description, args, 2);
}

bool tg_cpu_plan_elementwise(tg_cpu_reference *plan, const tg_node *node) {
  tg_cpu_eltwise eltwise;
  dnnl_alg_kind_t alg;
  if (node->op == TG_OP_SOFTMAX) return plan_softmax(plan, node);
  if (tg_cpu_eltwise_of(node, &eltwise)) return plan_unary(plan, node, &eltwise);
  return tg_cpu_binary_of(node->op, &alg) && plan_binary(plan, node, alg);
}
