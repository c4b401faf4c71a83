/* The weight gradient of a depthwise convolution: dW[k, c] is the sum over all results p of dY[p, c] times what lies at position k of
 * p's window. As products these are one of a single column for each channel; as sums over pixels, of vectors of channels, each
 * takes what loading X and dY takes. */
#include "frontend/base/math.h"
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/reductions.h"

enum { MOST_POSITIONS = 64 }; /* of the kernel: each is a sum of its own */

/* Of fewer channels than positions a product of a column for each channel is a smaller number of sections. */
static bool is_depthwise(const tg_node *node) {
  if (node->op != TG_OP_CONV_WEIGHT_GRADIENT || !tg_attr_int(node, TG_ATTR_CHANNELS_LAST)) return false;
  const tg_value *x = tg_in(node, 0), *dy = tg_in(node, 1), *dw = tg_out(node);
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP), positions = dw->dims[0].size * dw->dims[1].size;
  return group > positions && group == x->dims[3].size && group == dy->dims[3].size &&
         tg_value_elements(dy) > 0 && positions <= MOST_POSITIONS && x->dtype != TG_TF32;
}

/* The image in its padding, as far as windows reach. */
static tg_value *framed(tg_graph *graph, tg_node *node) {
  const int64_t *own = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  int64_t pads[8] = {0, own[0], own[1], 0, 0, own[2], own[3], 0};
  tg_value *x = tg_in(node, 0);
  if (!own[0] && !own[1] && !own[2] && !own[3]) return x;
  tg_node *pad = tg_graph_add_node(graph, TG_OP_PAD, node->name, &x, 1, node, -1);
  tg_attr_set_ints(graph, pad, TG_ATTR_PADS, pads, 8);
  tg_rewrite_infer(graph, pad);
  return tg_out(pad);
}

/* The sum over all results of dY times what lies at a position of their windows: [1, 1, channels]. */
static tg_value *sum_at(tg_graph *graph, tg_node *node, tg_value *image, int64_t row, int64_t column) {
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL);
  tg_value *x = image, *dy = tg_in(node, 1);
  int64_t dims[] = {1, tg_value_elements_between(dy, 0, 3), dy->dims[3].size}, k[] = {row, column};
  for (int d = 0; d < 2; d++)
    x = tg_rewrite_slice(graph, x, 1 + d, k[d] * dilations[d], dy->dims[1 + d].size, strides[d], node);
  tg_value *products = tg_reduce_step(graph, node, TG_OP_MUL, x, dy, node);
  tg_attr_set_int(products->producer, TG_ATTR_OF_PRODUCT, 1);
  tg_value *sum = tg_reduce_columns(graph, node, TG_OP_REDUCE_SUM, products, dims);
  sum->dtype = tg_out(node)->dtype;
  return sum;
}

static void lower_depthwise(tg_graph *graph, tg_node *node) {
  tg_value *dw = tg_out(node), *image = framed(graph, node), *parts[MOST_POSITIONS];
  int64_t sizes[TG_MAX_RANK], columns = dw->dims[1].size, count = dw->dims[0].size * columns;
  tg_value_sizes(dw, sizes);
  for (int64_t k = 0; k < count; k++) parts[k] = sum_at(graph, node, image, k / columns, k % columns);
  tg_value *all = count > 1 ? tg_rewrite_concat(graph, node->name, parts, (int)count, 1, node) : parts[0];
  tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, all, dw->rank, sizes, node));
}

void tg_pass_lower_depthwise_gradient(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (is_depthwise(node)) lower_depthwise(graph, node);
}
