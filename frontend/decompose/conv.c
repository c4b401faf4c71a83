/* Convolutions that the array does not run as they are: of volumes (volumes.c), and depthwise ones of several results a channel. */
#include "frontend/decompose/conv.h"

/* Results of a channel, of a convolution of one channel a group; 1: it is another. */
static int64_t results_of_a_channel(const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *w = tg_in(node, 1), *bias = tg_in(node, 2);
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP);
  if (bias && (bias->rank != 1 || bias->dims[0].size != w->dims[0].size)) return 1; /* which is refused */
  bool is = node->op == TG_OP_CONV && (x->rank == 3 || x->rank == 4) && w->rank == x->rank && group > 1 &&
            x->dims[1].size == group && w->dims[1].size == 1 && w->dims[0].size % group == 0;
  return is && w->dims[0].size > 0 ? w->dims[0].size / group : 1;
}

bool tg_multiplies_channels(const tg_node *node) {
  int64_t each = results_of_a_channel(node);
  return each > 1 && each <= TG_MOST_MULTIPLIED;
}

tg_node *tg_build_conv_like(tg_build *b, const tg_node *node, tg_value *const operands[3]) {
  static const tg_attr_key lists[] = {TG_ATTR_KERNEL_SHAPE, TG_ATTR_STRIDES, TG_ATTR_DILATIONS, TG_ATTR_PADS};
  tg_node *conv =
      tg_graph_add_node(b->graph, TG_OP_CONV, b->name, operands, operands[2] ? 3 : 2, b->before, -1);
  for (int i = 0; i < 4; i++) {
    int count;
    const int64_t *list = tg_attr_ints(node, lists[i], &count);
    if (count) tg_attr_set_ints(b->graph, conv, lists[i], list, count);
  }
  tg_attr_set_text(b->graph, conv, TG_ATTR_AUTO_PAD, tg_attr_text(node, TG_ATTR_AUTO_PAD));
  tg_attr_set_int(conv, TG_ATTR_GROUP, tg_attr_int(node, TG_ATTR_GROUP));
  return conv;
}

/* Every `each`-th row of x from number `first` on, [rows / each, ..]. */
static tg_value *rows_of(tg_build *b, tg_value *x, int64_t each, int64_t first) {
  int64_t apart[TG_MAX_RANK] = {x->dims[0].size / each, each}, sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  for (int d = 1; d < x->rank; d++) apart[1 + d] = sizes[d];
  sizes[0] /= each;
  tg_value *part = tg_build_slice(b, tg_build_reshape(b, x, x->rank + 1, apart), 1, first, first + 1, 1);
  return tg_build_reshape(b, part, x->rank, sizes);
}

/* A convolution for the first result of all channels, one for the second, ..; side by side again. */
static tg_status make_multiplied(tg_build *b, tg_node *node, tg_value **results) {
  tg_value *parts[TG_MOST_MULTIPLIED], *bias = tg_in(node, 2);
  int64_t each = results_of_a_channel(node), sizes[TG_MAX_RANK];
  for (int64_t i = 0; i < each; i++) {
    tg_value *operands[] = {tg_in(node, 0), rows_of(b, tg_in(node, 1), each, i),
                            bias ? rows_of(b, bias, each, i) : NULL};
    tg_value *y = tg_build_finish(b, tg_build_conv_like(b, node, operands));
    if (b->failed) return TG_OK;
    tg_value_sizes(y, sizes);
    parts[i] = tg_build_insert(b, y, 2);
  }
  sizes[1] *= each;
  tg_value *all = tg_build_concat(b, parts, (int)each, 2);
  results[0] = tg_build_cast(b, tg_build_reshape(b, all, tg_in(node, 0)->rank, sizes), tg_in(node, 0)->dtype);
  return TG_OK;
}

tg_status tg_make_conv(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  return tg_in(node, 0)->rank == 5 ? tg_make_conv_3d(b, node, results, diag)
                                   : make_multiplied(b, node, results);
}
