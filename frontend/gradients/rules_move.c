/* Gradients of moves are moves, and sums over what was repeated. */
#include "frontend/gradients/rules.h"

#include "frontend/build/rewrite.h"

#include <string.h>

void tg_gradient_reshape(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_build_reshape_like(&w->build, dy, tg_in(node, 0)));
}

void tg_gradient_transpose(tg_backward *w, const tg_node *node, tg_value *dy) {
  int64_t back[TG_MAX_RANK];
  tg_perm_invert(tg_attr_ints(node, TG_ATTR_PERM, NULL), dy->rank, back);
  tg_backward_give(w, 0, tg_build_transpose(&w->build, dy, back));
}

void tg_gradient_identity(tg_backward *w, const tg_node *node, tg_value *dy) {
  (void)node;
  tg_backward_give(w, 0, dy);
}

void tg_gradient_cast(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_build_cast(&w->build, dy, tg_in(node, 0)->dtype));
}

/* --- joining and cutting */

void tg_gradient_concat(tg_backward *w, const tg_node *node, tg_value *dy) {
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  int64_t start = 0;
  for (int i = 0; i < node->input_count; i++) {
    int64_t size = tg_in(node, i)->dims[axis].size;
    if (tg_backward_wants(w, i) && size)
      tg_backward_give(w, i, tg_build_slice(&w->build, dy, axis, start, start + size, 1));
    start += size;
  }
}

static tg_value *zeros_like(tg_backward *w, const tg_value *value) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(value, sizes);
  return tg_graph_add_constant(w->build.graph, "zeros", value->dtype, value->rank, sizes, NULL, false);
}

void tg_gradient_split(tg_backward *w, const tg_node *node, tg_value *dy) {
  (void)dy;
  tg_value **parts = TG_NEW_ARRAY(w->build.graph->arena, tg_value *, (size_t)node->output_count);
  for (int i = 0; i < node->output_count; i++) {
    tg_value *part = tg_backward_of(w, i);
    parts[i] = part ? part : zeros_like(w, node->outputs[i]);
  }
  tg_backward_give(
      w, 0, tg_build_concat(&w->build, parts, node->output_count, (int)tg_attr_int(node, TG_ATTR_AXIS)));
}

/* Dimension `axis` of x as rows of `around` with zeros behind each element: n elements become n * step. */
static tg_value *spread(tg_backward *w, tg_value *x, int axis, int64_t step) {
  int64_t sizes[TG_MAX_RANK], pads[8] = {0};
  int64_t cut[] = {tg_value_elements_between(x, 0, axis), x->dims[axis].size, 1,
                   tg_value_elements_between(x, axis + 1, x->rank)};
  pads[4 + 2] = step - 1;
  tg_value_sizes(x, sizes);
  sizes[axis] *= step;
  tg_value *wide = tg_build_pad(&w->build, tg_build_reshape(&w->build, x, 4, cut), pads);
  return tg_build_reshape(&w->build, wide, x->rank, sizes);
}

/* Backwards slices are turned round first, then elements are put `step` apart, then the ends are filled
 * up. */
void tg_gradient_slice(tg_backward *w, const tg_node *node, tg_value *dy) {
  const int64_t *starts = tg_attr_ints(node, TG_ATTR_STARTS, NULL),
                *steps = tg_attr_ints(node, TG_ATTR_STEPS, NULL);
  const tg_value *x = tg_in(node, 0);
  int64_t pads[2 * TG_MAX_RANK];
  tg_value *g = dy;
  if (!tg_value_elements(dy)) {
    tg_backward_give(w, 0, zeros_like(w, x));
    return;
  }
  for (int d = 0; d < x->rank; d++) {
    int64_t count = dy->dims[d].size, step = steps[d] < 0 ? -steps[d] : steps[d];
    int64_t first = steps[d] < 0 ? starts[d] - (count - 1) * step : starts[d];
    if (steps[d] < 0) g = tg_build_slice(&w->build, g, d, count - 1, -count - 1, -1);
    if (step > 1) g = spread(w, g, d, step);
    pads[d] = first;
    pads[x->rank + d] = x->dims[d].size - first - g->dims[d].size;
  }
  tg_backward_give(w, 0, tg_build_pad(&w->build, g, pads));
}

/* g between zeros: from position `at` of `size` along the axis on. */
static tg_value *moved(tg_backward *w, tg_value *g, int axis, int64_t at, int64_t size) {
  int64_t pads[2 * TG_MAX_RANK] = {0};
  pads[axis] = at;
  pads[g->rank + axis] = size - at - g->dims[axis].size;
  return tg_build_pad(&w->build, g, pads);
}

/* The gradient of what the `count` positions of a frame from `start` on were copied from: the neighbours of
 * the edge, the last first; or the edge alone. */
static tg_value *copied(tg_backward *w, tg_value *g, int axis, int64_t start, int64_t count, int64_t size,
                        bool before, bool reflects) {
  tg_value *part = tg_build_slice(&w->build, g, axis, start, start + count, 1);
  if (!reflects)
    return moved(w, tg_build_sum(&w->build, part, 1u << axis), axis, before ? 0 : size - 1, size);
  part = tg_build_slice(&w->build, part, axis, count - 1, -count - 1, -1);
  return moved(w, part, axis, before ? 1 : size - 1 - count, size);
}

/* A frame of copies along one dimension, of `size` elements without it. */
static tg_value *without_frame(tg_backward *w, tg_value *g, int axis, int64_t before, int64_t after,
                               int64_t size, bool reflects) {
  tg_value *sum = tg_build_slice(&w->build, g, axis, before, before + size, 1);
  if (before) sum = tg_add(w, sum, copied(w, g, axis, 0, before, size, true, reflects));
  if (after) sum = tg_add(w, sum, copied(w, g, axis, before + size, after, size, false, reflects));
  return sum;
}

void tg_gradient_pad(tg_backward *w, const tg_node *node, tg_value *dy) {
  int count, rank = dy->rank;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, &count);
  const char *mode = tg_attr_text(node, TG_ATTR_MODE);
  int64_t back[2 * TG_MAX_RANK];
  tg_value *g = dy;
  for (int i = 0; i < count; i++) back[i] = -pads[i];
  if (!strcmp(mode, "constant")) {
    tg_backward_give(w, 0, tg_build_pad(&w->build, dy, back));
    return;
  }
  for (int d = 0; d < rank; d++)
    if (pads[d] || pads[rank + d])
      g = without_frame(w, g, d, pads[d], pads[rank + d], tg_in(node, 0)->dims[d].size,
                        !strcmp(mode, "reflect"));
  tg_backward_give(w, 0, g);
}

/* --- repeating */

/* Sums dimension `axis`, of `count` elements each of which stands `times` times: side by side, or as a row
 * again and again. */
static tg_value *sum_of_repetitions(tg_backward *w, tg_value *x, int axis, int64_t times, bool side_by_side) {
  int64_t sizes[TG_MAX_RANK], count = x->dims[axis].size / times;
  int64_t cut[] = {tg_value_elements_between(x, 0, axis), side_by_side ? count : times,
                   side_by_side ? times : count, tg_value_elements_between(x, axis + 1, x->rank)};
  tg_value_sizes(x, sizes);
  sizes[axis] = count;
  tg_value *parts = tg_build_reshape(&w->build, x, 4, cut);
  return tg_build_reshape(&w->build, tg_build_sum(&w->build, parts, side_by_side ? 4 : 2), x->rank, sizes);
}

static void give_sums(tg_backward *w, const tg_node *node, tg_value *dy, tg_attr_key key, bool side_by_side) {
  const int64_t *times = tg_attr_ints(node, key, NULL);
  tg_value *g = dy;
  for (int d = 0; d < tg_in(node, 0)->rank; d++)
    if (times[d] > 1) g = sum_of_repetitions(w, g, d, times[d], side_by_side);
  tg_backward_give(w, 0, g);
}

void tg_gradient_tile(tg_backward *w, const tg_node *node, tg_value *dy) {
  give_sums(w, node, dy, TG_ATTR_REPEATS, false);
}

void tg_gradient_resize(tg_backward *w, const tg_node *node, tg_value *dy) {
  give_sums(w, node, dy, TG_ATTR_FACTORS, true);
}

/* --- blocks of images */

/* [N, C, H b, W b] to [N, C b b, H, W], with the block first (DCR) or the channel (CRD) in the new
 * channels. */
void tg_gradient_depth_to_space(tg_backward *w, const tg_node *node, tg_value *dy) {
  static const int64_t crd[] = {0, 1, 3, 5, 2, 4}, dcr[] = {0, 3, 5, 1, 2, 4};
  int64_t b = tg_attr_int(node, TG_ATTR_BLOCKSIZE);
  const tg_value *x = tg_in(node, 0);
  int64_t cut[] = {x->dims[0].size, dy->dims[1].size, x->dims[2].size, b, x->dims[3].size, b};
  bool channel_first = !strcmp(tg_attr_text(node, TG_ATTR_MODE), "CRD");
  tg_value *blocks =
      tg_build_transpose(&w->build, tg_build_reshape(&w->build, dy, 6, cut), channel_first ? crd : dcr);
  tg_backward_give(w, 0, tg_build_reshape_like(&w->build, blocks, x));
}

/* SpaceToDepth puts the block first in its channels. */
void tg_gradient_space_to_depth(tg_backward *w, const tg_node *node, tg_value *dy) {
  static const int64_t back[] = {0, 3, 4, 1, 5, 2};
  int64_t b = tg_attr_int(node, TG_ATTR_BLOCKSIZE);
  const tg_value *x = tg_in(node, 0);
  int64_t cut[] = {x->dims[0].size, b, b, x->dims[1].size, dy->dims[2].size, dy->dims[3].size};
  tg_value *blocks = tg_build_transpose(&w->build, tg_build_reshape(&w->build, dy, 6, cut), back);
  tg_backward_give(w, 0, tg_build_reshape_like(&w->build, blocks, x));
}

/* --- gathering */

/* ScatterAdd works on the first dimension: the gathered one is brought there and back. */
void tg_gradient_gather(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), taken = indices->rank, rank = 0;
  int64_t front[TG_MAX_RANK], perm[TG_MAX_RANK], back[TG_MAX_RANK], sizes[TG_MAX_RANK];
  for (int d = 0; d < taken; d++) front[rank++] = axis + d;
  for (int d = 0; d < axis; d++) front[rank++] = d;
  for (int d = axis + taken; d < dy->rank; d++) front[rank++] = d;
  perm[0] = axis;
  for (int d = 0, at = 1; d < x->rank; d++)
    if (d != axis) perm[at++] = d;
  for (int d = 0; d < x->rank; d++) sizes[d] = x->dims[perm[d]].size;
  tg_value *zeros = tg_graph_add_constant(w->build.graph, "zeros", x->dtype, x->rank, sizes, NULL, false);
  tg_value *operands[] = {zeros, indices, tg_build_transpose(&w->build, dy, front)};
  tg_value *sum = tg_build_op(&w->build, TG_OP_SCATTER_ADD, operands, 3);
  tg_perm_invert(perm, x->rank, back);
  tg_backward_give(w, 0, tg_build_transpose(&w->build, sum, back));
}

void tg_gradient_scatter_add(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *operands[] = {dy, tg_in(node, 1)};
  tg_backward_give(w, 0, dy);
  if (tg_backward_wants(w, 2)) tg_backward_give(w, 2, tg_build_op(&w->build, TG_OP_GATHER, operands, 2));
}
