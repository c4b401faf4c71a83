/* Comparisons, bools, and choice by them. A bool that a pass has made a float is true unless it is 0. */
#include "frontend/reference/internal.h"

#include <string.h>

/* Element of operand `input` that element `linear` of the result is computed from. */
typedef struct element {
  const void *data;
  tg_dtype dtype;
  size_t index;
} element;

static element operand(const tg_node *node, const void *const *inputs, int input, int64_t linear) {
  const tg_value *x = tg_in(node, input);
  return (element){inputs[input], x->dtype, tg_reference_operand_index(x, tg_out(node), linear)};
}

static bool truth(element e) {
  return tg_dtype_is_float(e.dtype) ? tg_load_f32(e.data, e.dtype, e.index) != 0
                                    : tg_load_i64(e.data, e.dtype, e.index) != 0;
}

#define COMPARE(a, b)                                                                                        \
  (op == TG_OP_EQUAL           ? (a) == (b)                                                                  \
   : op == TG_OP_LESS          ? (a) < (b)                                                                   \
   : op == TG_OP_LESS_OR_EQUAL ? (a) <= (b)                                                                  \
   : op == TG_OP_GREATER       ? (a) > (b)                                                                   \
                               : (a) >= (b))
static bool compare(tg_op op, element a, element b) {
  if (a.dtype == TG_F64 && b.dtype == TG_F64) {
    double x = ((const double *)a.data)[a.index], y = ((const double *)b.data)[b.index];
    return COMPARE(x, y);
  }
  if (tg_dtype_is_float(a.dtype)) {
    float x = tg_load_f32(a.data, a.dtype, a.index), y = tg_load_f32(b.data, b.dtype, b.index);
    return COMPARE(x, y);
  }
  int64_t x = tg_load_i64(a.data, a.dtype, a.index), y = tg_load_i64(b.data, b.dtype, b.index);
  if (a.dtype == TG_U64) return COMPARE((uint64_t)x, (uint64_t)y);
  return COMPARE(x, y);
}
#undef COMPARE

static bool decide(const tg_node *node, const void *const *inputs, int64_t linear) {
  element a = operand(node, inputs, 0, linear);
  if (node->op == TG_OP_NOT) return !truth(a);
  element b = operand(node, inputs, 1, linear);
  switch (node->op) {
  case TG_OP_AND: return truth(a) && truth(b);
  case TG_OP_OR: return truth(a) || truth(b);
  case TG_OP_XOR: return truth(a) != truth(b);
  default: return compare(node->op, a, b);
  }
}

/* Bits stay where the format does. */
static void choose(const tg_node *node, const void *const *inputs, void *output, int64_t linear) {
  const tg_value *y = tg_out(node);
  element e = operand(node, inputs, truth(operand(node, inputs, 0, linear)) ? 1 : 2, linear);
  size_t size = tg_dtype_size(y->dtype), at = (size_t)linear;
  if (e.dtype == y->dtype)
    memcpy((char *)output + at * size, (const char *)e.data + e.index * size, size);
  else
    tg_store_f32(output, y->dtype, at, tg_load_f32(e.data, e.dtype, e.index));
}

void tg_reference_logic(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  int64_t count = tg_value_elements(y);
  for (int64_t e = 0; e < count; e++)
    if (node->op == TG_OP_WHERE)
      choose(node, inputs, output, e);
    else
      tg_store_f32(output, y->dtype, (size_t)e, decide(node, inputs, e));
}
