/* Operands that are broadcast to the shape of a result (NumPy's rule: trailing dimensions match, or are 1). */
#include "frontend/reference/internal.h"

static tg_broadcast_walk walk_of(const tg_value *operand, const tg_value *result, const void *data) {
  tg_broadcast_walk walk = {.data = data, .dtype = operand->dtype, .rank = 1, .size = {1}};
  int64_t stride = 1, strides[TG_MAX_RANK] = {0}, behind = 0;
  int top = 0;
  for (int i = 1; i <= result->rank; i++) {
    int64_t whole = result->dims[result->rank - i].size,
            own = i <= operand->rank ? operand->dims[operand->rank - i].size : 1;
    int64_t here = own == 1 ? 0 : stride;
    stride *= own;
    if (whole == 1) continue;
    if (walk.size[top] == 1) {
      walk.size[top] = whole;
      strides[top] = here;
    } else if (here == walk.size[top] * strides[top]) {
      walk.size[top] *= whole;
    } else {
      walk.size[++top] = whole;
      strides[top] = here;
    }
  }
  walk.rank = top + 1;
  for (int d = 0; d < walk.rank; d++) {
    walk.left[d] = walk.size[d];
    walk.step[d] = strides[d] - behind;
    behind += (walk.size[d] - 1) * strides[d];
  }
  return walk;
}

tg_broadcast_walk *tg_broadcast_walks(const tg_node *node, const void *const *inputs) {
  tg_broadcast_walk *walks = tg_reference_scratch((size_t)node->input_count, sizeof *walks);
  for (int i = 0; i < node->input_count; i++) walks[i] = walk_of(tg_in(node, i), tg_out(node), inputs[i]);
  return walks;
}
