/* Moves that are others by another name: Split is Slices, what repeats is an Expand between Reshapes, a frame
 * that continues the data is a Concat. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <string.h>

/* --- Split */

static void lower_split(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  int64_t start = 0;
  for (int i = 0; i < node->output_count; i++) {
    tg_value *y = node->outputs[i];
    int64_t size = y->dims[axis].size;
    if (y->use_count || y->output_count) {
      tg_value *piece = tg_rewrite_slice(graph, x, axis, start, size, 1, node);
      tg_value_replace(graph, y, piece);
      if (piece != x) {
        piece->producer->name = node->name;
        piece->producer->rule = node->rule;
      }
    }
    start += size;
  }
  tg_graph_remove_node(graph, node);
}

/* --- DepthToSpace, SpaceToDepth */

static void lower_blocks(tg_graph *graph, tg_node *node) {
  /* [N, b, b, C, H, W] (CRD: [N, C, b, b, H, W]) against [N, C, H, b, W, b] */
  static const int64_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3}, back[] = {0, 3, 5, 1, 2, 4};
  bool to_space = node->op == TG_OP_DEPTH_TO_SPACE;
  bool is_crd = to_space && !strcmp(tg_attr_text(node, TG_ATTR_MODE), "CRD");
  const tg_value *space = to_space ? tg_out(node) : tg_in(node, 0);
  int64_t b = tg_attr_int(node, TG_ATTR_BLOCKSIZE), sizes[TG_MAX_RANK];
  int64_t n = space->dims[0].size, c = space->dims[1].size, h = space->dims[2].size / b,
          w = space->dims[3].size / b;
  int64_t deep[6] = {n, is_crd ? c : b, b, is_crd ? b : c, h, w}, wide[6] = {n, c, h, b, w, b};
  tg_value_sizes(tg_out(node), sizes);
  tg_value *x = tg_rewrite_reshape(graph, tg_in(node, 0), 6, to_space ? deep : wide, node);
  x = tg_rewrite_transpose(graph, x, !to_space ? back : is_crd ? crd : dcr, node);
  tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, x, 4, sizes, node));
}

void tg_pass_lower_pieces(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op == TG_OP_SPLIT)
      lower_split(graph, node);
    else if (node->op == TG_OP_DEPTH_TO_SPACE || node->op == TG_OP_SPACE_TO_DEPTH)
      lower_blocks(graph, node);
  }
}

/* --- Tile, Resize: dimension d becomes [factor, d], or [d, factor] where elements repeat in place */

/* Repeats dimensions of x before `*axis`, which becomes the first that was done: as many as fit in
 * TG_MAX_RANK with their factors, the others joined in front and behind. */
static tg_value *repeat_some(tg_graph *graph, tg_value *x, const int64_t *factors, bool in_place, int *axis,
                             tg_node *before) {
  int64_t apart[TG_MAX_RANK], wide[TG_MAX_RANK], joined[TG_MAX_RANK];
  int at = TG_MAX_RANK, rank = x->rank, d = *axis;
  tg_value_sizes(x, joined);
  if (d < rank) at--, apart[at] = wide[at] = tg_value_elements_between(x, d, rank);
  for (; d > 0 && at >= 3; d--) {
    int64_t size = x->dims[d - 1].size, factor = factors[d - 1];
    if (factor != 1 && in_place) at--, apart[at] = 1, wide[at] = factor;
    at--, apart[at] = wide[at] = size;
    if (factor != 1 && !in_place) at--, apart[at] = 1, wide[at] = factor;
    joined[d - 1] = size * factor;
  }
  if (d > 0) at--, apart[at] = wide[at] = tg_value_elements_between(x, 0, d);
  *axis = d;
  int apart_rank = TG_MAX_RANK - at;
  tg_value *y = tg_rewrite_reshape(graph, x, apart_rank, apart + at, before);
  return tg_rewrite_reshape(graph, tg_rewrite_expand(graph, y, apart_rank, wide + at, before), rank, joined,
                            before);
}

static void lower_repeat(tg_graph *graph, tg_node *node) {
  bool in_place = node->op == TG_OP_RESIZE;
  const int64_t *factors = tg_attr_ints(node, in_place ? TG_ATTR_FACTORS : TG_ATTR_REPEATS, NULL);
  tg_value *x = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(tg_out(node), sizes);
  if (!tg_value_elements(x)) { /* factors of nothing are any numbers */
    tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, x, x->rank, sizes, node));
    return;
  }
  for (int axis = x->rank; axis > 0;) x = repeat_some(graph, x, factors, in_place, &axis, node);
  tg_rewrite_replace(graph, node, x);
}

/* --- Pad with edge or reflect */

/* What stands before (or behind) dimension `axis`: `count` elements. */
static tg_value *frame(tg_graph *graph, tg_value *x, int axis, int64_t count, bool behind, bool reflect,
                       tg_node *before) {
  int64_t size = x->dims[axis].size, sizes[TG_MAX_RANK];
  if (reflect) return tg_rewrite_slice(graph, x, axis, behind ? size - 2 : count, count, -1, before);
  tg_value_sizes(x, sizes);
  sizes[axis] = count;
  return tg_rewrite_expand(graph, tg_rewrite_slice(graph, x, axis, behind ? size - 1 : 0, 1, 1, before),
                           x->rank, sizes, before);
}

static void lower_pad(tg_graph *graph, tg_node *node) {
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  bool reflect = !strcmp(tg_attr_text(node, TG_ATTR_MODE), "reflect");
  tg_value *x = tg_in(node, 0);
  int rank = x->rank;
  for (int d = 0; d < rank; d++) {
    tg_value *parts[3];
    int count = 0;
    if (pads[d]) parts[count++] = frame(graph, x, d, pads[d], false, reflect, node);
    parts[count++] = x;
    if (pads[rank + d]) parts[count++] = frame(graph, x, d, pads[rank + d], true, reflect, node);
    x = tg_rewrite_concat(graph, x->name, parts, count, d, node);
  }
  tg_rewrite_replace(graph, node, x);
}

/* --- Pad with a number: crops are a Slice, and a Pad frames two dimensions at most */

static tg_value *crop(tg_graph *graph, tg_value *x, const int64_t *pads, tg_node *before) {
  for (int d = 0, rank = x->rank; d < rank; d++) {
    int64_t begin = pads[d] < 0 ? -pads[d] : 0, end = pads[rank + d] < 0 ? -pads[rank + d] : 0;
    x = tg_rewrite_slice(graph, x, d, begin, x->dims[d].size - begin - end, 1, before);
  }
  return x;
}

/* The next two dimensions from `*axis` down that have a frame. */
static tg_value *frame_two(tg_graph *graph, tg_value *x, const tg_node *pad, int *axis, tg_node *before) {
  int64_t pads[2 * TG_MAX_RANK] = {0};
  const int64_t *all = tg_attr_ints(pad, TG_ATTR_PADS, NULL);
  int rank = x->rank, count = 0;
  for (; *axis > 0 && count < 2; --*axis) {
    int d = *axis - 1;
    pads[d] = all[d] > 0 ? all[d] : 0;
    pads[rank + d] = all[rank + d] > 0 ? all[rank + d] : 0;
    count += pads[d] || pads[rank + d];
  }
  if (!count) return x;
  tg_node *node = tg_graph_add_node(graph, TG_OP_PAD, pad->name, &x, 1, before, -1);
  tg_attr_set_ints(graph, node, TG_ATTR_PADS, pads, 2 * rank);
  tg_attr_set_float(node, TG_ATTR_VALUE, tg_attr_float(pad, TG_ATTR_VALUE));
  tg_rewrite_infer(graph, node);
  return tg_out(node);
}

static void lower_constant_pad(tg_graph *graph, tg_node *node) {
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  int rank = tg_out(node)->rank, framed = 0;
  bool crops = false;
  for (int d = 0; d < rank; d++) {
    framed += pads[d] > 0 || pads[rank + d] > 0;
    crops |= pads[d] < 0 || pads[rank + d] < 0;
  }
  if (framed <= 2 && !crops) return;
  tg_value *x = crop(graph, tg_in(node, 0), pads, node);
  for (int axis = rank; axis > 0;) x = frame_two(graph, x, node, &axis, node);
  tg_rewrite_replace(graph, node, x);
}

/* --- Expand of a tensor of lower rank */

static void raise_rank(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0);
  int rank = tg_out(node)->rank, more = rank - x->rank;
  int64_t sizes[TG_MAX_RANK];
  if (!more) return;
  for (int d = 0; d < rank; d++) sizes[d] = d < more ? 1 : x->dims[d - more].size;
  tg_node_set_input(node, 0, tg_rewrite_reshape(graph, x, rank, sizes, node));
}

void tg_pass_lower_repeats(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op == TG_OP_TILE || node->op == TG_OP_RESIZE)
      lower_repeat(graph, node);
    else if (node->op == TG_OP_PAD && strcmp(tg_attr_text(node, TG_ATTR_MODE), "constant"))
      lower_pad(graph, node);
    else if (node->op == TG_OP_PAD)
      lower_constant_pad(graph, node);
    else if (node->op == TG_OP_EXPAND)
      raise_rank(graph, node);
  }
  tg_pass_remove_identity(graph);
}
