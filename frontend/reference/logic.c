/* Comparisons, bools, and choice by them. A bool that a pass has made a float is true unless it is 0. */
#include "frontend/reference/internal.h"

#include <stdlib.h>
#include <string.h>

static bool truth(const tg_broadcast_walk *e) {
  return tg_dtype_is_float(e->dtype) ? tg_load_f32(e->data, e->dtype, e->at) != 0
                                     : tg_load_i64(e->data, e->dtype, e->at) != 0;
}

#define COMPARE(a, b)                                                                                        \
  (op == TG_OP_EQUAL           ? (a) == (b)                                                                  \
   : op == TG_OP_LESS          ? (a) < (b)                                                                   \
   : op == TG_OP_LESS_OR_EQUAL ? (a) <= (b)                                                                  \
   : op == TG_OP_GREATER       ? (a) > (b)                                                                   \
                               : (a) >= (b))
static bool compare(tg_op op, const tg_broadcast_walk *a, const tg_broadcast_walk *b) {
  if (a->dtype == TG_F64 && b->dtype == TG_F64) {
    double x = ((const double *)a->data)[a->at], y = ((const double *)b->data)[b->at];
    return COMPARE(x, y);
  }
  if (tg_dtype_is_float(a->dtype)) {
    float x = tg_load_f32(a->data, a->dtype, a->at), y = tg_load_f32(b->data, b->dtype, b->at);
    return COMPARE(x, y);
  }
  int64_t x = tg_load_i64(a->data, a->dtype, a->at), y = tg_load_i64(b->data, b->dtype, b->at);
  if (a->dtype == TG_U64) return COMPARE((uint64_t)x, (uint64_t)y);
  return COMPARE(x, y);
}
#undef COMPARE

static bool decide(tg_op op, const tg_broadcast_walk *a, const tg_broadcast_walk *b) {
  switch (op) {
  case TG_OP_NOT: return !truth(a);
  case TG_OP_AND: return truth(a) && truth(b);
  case TG_OP_OR: return truth(a) || truth(b);
  case TG_OP_XOR: return truth(a) != truth(b);
  default: return compare(op, a, b);
  }
}

/* Bits stay where the format does. */
static void choose(const tg_broadcast_walk *e, tg_dtype dtype, void *output, size_t at) {
  size_t size = tg_dtype_size(dtype);
  if (e->dtype == dtype)
    memcpy((char *)output + at * size, (const char *)e->data + e->at * size, size);
  else
    tg_store_f32(output, dtype, at, tg_load_f32(e->data, e->dtype, e->at));
}

void tg_reference_logic(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  int64_t count = tg_value_elements(y);
  tg_broadcast_walk *walks = tg_broadcast_walks(node, inputs);
  for (int64_t e = 0; e < count; e++) {
    if (node->op == TG_OP_WHERE)
      choose(&walks[truth(&walks[0]) ? 1 : 2], y->dtype, output, (size_t)e);
    else
      tg_store_f32(output, y->dtype, (size_t)e, decide(node->op, &walks[0], &walks[node->input_count - 1]));
    for (int i = 0; i < node->input_count; i++) tg_broadcast_step(&walks[i]);
  }
  free(walks);
}
