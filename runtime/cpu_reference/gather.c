/* Rows by their numbers, copied and added as a CPU's library does, one row after the other: what the array
 * makes of a Gather, a product perhaps, is no measure of a CPU. */
#include "runtime/cpu_reference/plan.h"

#include <string.h>

/* Number `i` of the indices, negative ones counted from the end; -1: outside, where rows read as zeros. They
 * are whole numbers in the plan's format. In BF16, which is only timed, they are rounded to it. */
static int64_t row_number(const tg_cpu_reference *plan, const tg_value *indices, const void *data, int64_t i,
                          int64_t size) {
  tg_dtype dtype = tg_cpu_dtype(plan, indices);
  double number = tg_dtype_is_float(dtype) ? (double)tg_load_f32(data, dtype, (size_t)i)
                                           : (double)tg_load_i64(data, dtype, (size_t)i);
  if (number < 0) number += (double)size;
  return number >= 0 && number < (double)size ? (int64_t)number : -1;
}

static void gather(const tg_cpu_reference *plan, const tg_cpu_step *step) {
  const tg_value *x = tg_in(step->node, 0), *indices = tg_in(step->node, 1);
  int axis = (int)tg_attr_int(step->node, TG_ATTR_AXIS);
  int64_t outer = tg_value_elements_between(x, 0, axis), size = x->dims[axis].size,
          count = tg_value_elements(indices);
  size_t row = (size_t)tg_value_elements_between(x, axis + 1, x->rank) * tg_dtype_size(tg_cpu_dtype(plan, x));
#pragma omp parallel for if (outer * count * (int64_t)row > 1 << 16)
  for (int64_t r = 0; r < outer * count; r++) {
    int64_t from = row_number(plan, indices, step->inputs[1], r % count, size);
    char *to = (char *)step->outputs[0] + (size_t)r * row;
    if (from < 0)
      memset(to, 0, row);
    else
      memcpy(to, (const char *)step->inputs[0] + (size_t)(r / count * size + from) * row, row);
  }
}

/* X, plus the sums of its rows of updates in their order. */
static void scatter_add(const tg_cpu_reference *plan, const tg_cpu_step *step) {
  const tg_value *x = tg_in(step->node, 0), *indices = tg_in(step->node, 1), *updates = tg_in(step->node, 2);
  tg_dtype dtype = tg_cpu_dtype(plan, x), of_updates = tg_cpu_dtype(plan, updates);
  int64_t size = x->dims[0].size, count = tg_value_elements(indices),
          row = tg_value_elements_between(x, 1, x->rank);
  float *sum = step->scratch;
  memset(sum, 0, (size_t)tg_value_elements(x) * sizeof *sum);
  for (int64_t i = 0; i < count; i++) {
    int64_t to = row_number(plan, indices, step->inputs[1], i, size);
    for (int64_t e = 0; to >= 0 && e < row; e++)
      sum[to * row + e] += tg_load_f32(step->inputs[2], of_updates, (size_t)(i * row + e));
  }
  for (int64_t e = 0; e < tg_value_elements(x); e++)
    tg_store_f32(step->outputs[0], tg_cpu_dtype(plan, tg_out(step->node)), (size_t)e,
                 tg_load_f32(step->inputs[0], dtype, (size_t)e) + sum[e]);
}

bool tg_cpu_plan_gather(tg_cpu_reference *plan, const tg_node *node) {
  if (node->op != TG_OP_GATHER && node->op != TG_OP_SCATTER_ADD) return false;
  tg_cpu_step step = {.node = node, .run = node->op == TG_OP_GATHER ? gather : scatter_add};
  step.inputs = TG_NEW_ARRAY(&plan->arena, const void *, (size_t)node->input_count);
  step.outputs = TG_NEW_ARRAY(&plan->arena, void *, 1);
  for (int i = 0; i < node->input_count; i++) step.inputs[i] = tg_cpu_data(plan, tg_in(node, i));
  step.outputs[0] = tg_cpu_data(plan, tg_out(node));
  if (node->op == TG_OP_SCATTER_ADD)
    step.scratch = tg_cpu_scratch(plan, (size_t)tg_value_elements(tg_in(node, 0)) * sizeof(float));
  TG_PUSH(&plan->arena, plan->steps, plan->step_count, plan->step_capacity, step);
  return true;
}
