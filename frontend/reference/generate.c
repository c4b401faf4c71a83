/* What is known without data: shapes, filled tensors, ranges. */
#include "frontend/reference/internal.h"

static void shape(const tg_node *node, void *output) {
  const tg_value *x = tg_in(node, 0);
  int64_t start = tg_attr_int(node, TG_ATTR_START), end = tg_attr_int(node, TG_ATTR_END);
  for (int64_t d = start; d < end; d++) tg_store_i64(output, TG_I64, (size_t)(d - start), x->dims[d].size);
}

static void filled(const tg_node *node, void *output) {
  const tg_value *y = tg_out(node);
  double value = tg_attr_float(node, TG_ATTR_VALUE);
  int64_t count = tg_value_elements(y);
  for (int64_t i = 0; i < count; i++)
    if (tg_dtype_is_float(y->dtype) || y->dtype == TG_BOOL)
      tg_store_f32(output, y->dtype, (size_t)i, (float)value);
    else
      tg_store_i64(output, y->dtype, (size_t)i, (int64_t)value);
}

static void range(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *start = tg_in(node, 0), *delta = tg_in(node, 2), *y = tg_out(node);
  int64_t count = tg_value_elements(y);
  for (int64_t i = 0; i < count; i++)
    if (tg_dtype_is_integer(y->dtype))
      tg_store_i64(output, y->dtype, (size_t)i,
                   tg_load_i64(inputs[0], start->dtype, 0) + i * tg_load_i64(inputs[2], delta->dtype, 0));
    else
      tg_store_f32(output, y->dtype, (size_t)i,
                   (float)((double)tg_load_f32(inputs[0], start->dtype, 0) +
                           (double)i * (double)tg_load_f32(inputs[2], delta->dtype, 0)));
}

void tg_reference_generate(const tg_node *node, const void *const *inputs, void *output) {
  switch (node->op) {
  case TG_OP_SHAPE: shape(node, output); break;
  case TG_OP_SIZE: tg_store_i64(output, TG_I64, 0, tg_value_elements(tg_in(node, 0))); break;
  case TG_OP_CONSTANT_OF_SHAPE: filled(node, output); break;
  default: range(node, inputs, output); break;
  }
}
