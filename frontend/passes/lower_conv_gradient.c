/* The weight gradient of a convolution to one channel: dW[c] is the sum over all positions p of X[p, c]
 * dY[p]. As a product it has one column, in which the matrix unit has next to nothing to do and waits for
 * each block of dY all the same; as a sum over positions it takes what loading X takes, and whatever loads X
 * anyway may compute it. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/reductions.h"

/* Of fewer positions, the passes of a sum take longer than the product. */
enum { FEWEST_POSITIONS = 4096 };

static bool all_are(const int64_t *values, int count, int64_t wanted) {
  for (int i = 0; i < count; i++)
    if (values[i] != wanted) return false;
  return true;
}

static bool is_pointwise(const tg_node *node) {
  return tg_attr_int(node, TG_ATTR_GROUP) == 1 &&
         all_are(tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL), 2, 1) &&
         all_are(tg_attr_ints(node, TG_ATTR_STRIDES, NULL), 2, 1) &&
         all_are(tg_attr_ints(node, TG_ATTR_PADS, NULL), 4, 0);
}

/* A product loads an operand by any strides, and rounds it to TF32 on the way. */
static bool is_stored_so(const tg_value *operand) {
  while (operand->producer && (operand->producer->op == TG_OP_CAST || operand->producer->op == TG_OP_RESHAPE))
    operand = tg_in(operand->producer, 0);
  return !operand->producer || operand->producer->op != TG_OP_TRANSPOSE;
}

static bool is_a_sum(const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *dy = tg_in(node, 1);
  return node->op == TG_OP_CONV_WEIGHT_GRADIENT && tg_attr_int(node, TG_ATTR_CHANNELS_LAST) &&
         dy->dims[3].size == 1 && tg_value_elements(dy) >= FEWEST_POSITIONS && x->dims[3].size > 1 &&
         is_pointwise(node) && x->dtype != TG_TF32 && is_stored_so(x);
}

void tg_pass_lower_conv_gradient(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (!is_a_sum(node)) continue;
    tg_value *x = tg_in(node, 0), *dy = tg_in(node, 1), *y = tg_out(node);
    int64_t dims[] = {1, tg_value_elements(dy), x->dims[3].size}, sizes[TG_MAX_RANK];
    tg_value_sizes(y, sizes);
    tg_value *products = tg_reduce_step(graph, node, TG_OP_MUL, x, dy, node);
    tg_attr_set_int(products->producer, TG_ATTR_OF_PRODUCT, 1);
    tg_value *sum = tg_reduce_columns(graph, node, TG_OP_REDUCE_SUM, products, dims);
    sum->dtype = y->dtype;
    sum->producer->id = node->id;
    tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, sum, y->rank, sizes, node));
  }
}
