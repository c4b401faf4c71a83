/* Moves by known amounts: the middle of data, data around data, and blocks put side by side again. */
#include "frontend/decompose/compose.h"
#include "frontend/infer/window.h"

#include <inttypes.h>
#include <string.h>

/* --- CenterCropPad --- */

/* What is odd is cropped, or padded, one more at the end. */
tg_status tg_make_center_crop_pad(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y = x;
  int64_t shape[TG_MAX_RANK], pads[2 * TG_MAX_RANK] = {0};
  bool seen[TG_MAX_RANK] = {false};
  int given, count = tg_compose_ints(tg_in(node, 1), TG_MAX_RANK, shape);
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &given);
  if (count < 0 || count != (given ? given : x->rank))
    return tg_fail(diag, TG_INVALID, "shape is not constant, one number for each axis");
  for (int i = 0; i < count; i++) {
    int64_t axis = given ? axes[i] : i;
    if (axis < -x->rank || axis >= x->rank)
      return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", axis, x->rank);
    if (axis < 0) axis += x->rank;
    int64_t size = x->dims[axis].size, more = shape[i] - size;
    if (seen[axis] || shape[i] < 0 || shape[i] > TG_MAX_ELEMENTS)
      return tg_fail(diag, TG_INVALID, "axis %" PRId64 " of size %" PRId64 " is not supported", axis,
                     shape[i]);
    seen[axis] = true;
    if (more < 0) y = tg_build_slice(b, y, (int)axis, -more / 2, -more / 2 + shape[i], 1);
    if (more <= 0) continue;
    pads[axis] = more / 2;
    pads[x->rank + axis] = more - more / 2;
  }
  y = tg_build_pad(b, y, pads);
  results[0] = y == x ? tg_build_unary(b, TG_OP_IDENTITY, x) : y;
  return TG_OK;
}

/* --- Pad that goes round --- */

/* Dimension `axis` continued `begin` before and `end` behind by itself. */
static tg_value *wrapped(tg_build *b, tg_value *x, int axis, int64_t begin, int64_t end, tg_diag *diag) {
  enum { MOST_PARTS = 1024 };
  int64_t size = x->dims[axis].size, left = size + begin + end, at = size ? (size - begin % size) % size : 0;
  int count = 0;
  if (!begin && !end) return x;
  if (!size || left / size + 2 > MOST_PARTS) {
    tg_fail(diag, TG_INVALID, "mode \"wrap\" cannot pad %" PRId64 " elements so far", size);
    return NULL;
  }
  tg_value **parts = TG_NEW_ARRAY(b->graph->arena, tg_value *, (size_t)(left / size) + 2);
  while (left) {
    int64_t stop = left < size - at ? at + left : size;
    parts[count++] = at || stop < size ? tg_build_slice(b, x, axis, at, stop, 1) : x;
    left -= stop - at;
    at = 0;
  }
  return count > 1 ? tg_build_concat(b, parts, count, axis) : parts[0];
}

tg_status tg_make_wrap(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  int count;
  if (tg_infer_absorb_pads(b->graph, node, diag)) return TG_INVALID;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, &count);
  tg_value *x = tg_in(node, 0), *y = x;
  if (count != 2 * x->rank) return tg_fail(diag, TG_INVALID, "%d pads for rank %d", count, x->rank);
  for (int d = 0; d < x->rank; d++) {
    int64_t begin = pads[d], end = pads[x->rank + d];
    if (begin < 0 || end < 0 || begin > TG_MAX_ELEMENTS || end > TG_MAX_ELEMENTS)
      return tg_fail(diag, TG_INVALID, "mode \"wrap\" with pads %" PRId64 " and %" PRId64 " is not supported",
                     begin, end);
    y = wrapped(b, y, d, begin, end, diag);
    if (!y) return TG_INVALID;
    if (b->failed) return TG_OK;
  }
  results[0] = y == x ? tg_build_unary(b, TG_OP_IDENTITY, x) : y;
  return TG_OK;
}

/* --- Col2Im --- */

typedef struct blocks {
  int dims;
  int64_t image[TG_MAX_EXTENTS], block[TG_MAX_EXTENTS], dilation[TG_MAX_EXTENTS], stride[TG_MAX_EXTENTS];
  int64_t pads[2 * TG_MAX_EXTENTS], count[TG_MAX_EXTENTS]; /* blocks along each dimension */
  int64_t each, all;                                       /* elements of a block, blocks */
} blocks;

static tg_status read_blocks(const tg_node *node, blocks *s, tg_diag *diag) {
  enum { MOST_EACH = 1024 };
  const tg_value *x = tg_in(node, 0);
  s->dims = tg_compose_ints(tg_in(node, 1), TG_MAX_EXTENTS, s->image);
  if (s->dims < 1 || tg_compose_ints(tg_in(node, 2), TG_MAX_EXTENTS, s->block) != s->dims)
    return tg_fail(diag, TG_INVALID, "image_shape and block_shape are not constant, of one to three numbers");
  if (x->rank != 3 || !tg_dtype_is_float(x->dtype) || !tg_value_elements(x))
    return tg_fail(diag, TG_INVALID, "data of rank %d and type %s is not supported", x->rank,
                   tg_dtype_name(x->dtype));
  if (tg_window_read_extents(node, TG_ATTR_DILATIONS, s->dims, 1, 1, s->dilation, diag) ||
      tg_window_read_extents(node, TG_ATTR_STRIDES, s->dims, 1, 1, s->stride, diag) ||
      tg_window_read_extents(node, TG_ATTR_PADS, 2 * s->dims, 0, 0, s->pads, diag))
    return TG_INVALID;
  s->each = s->all = 1;
  for (int i = 0; i < s->dims; i++) {
    if (s->image[i] < 1 || s->image[i] > 1 << 24 || s->block[i] < 1 || s->block[i] > MOST_EACH)
      return tg_fail(diag, TG_INVALID, "blocks of %" PRId64 " in %" PRId64 " are not supported", s->block[i],
                     s->image[i]);
    int64_t span = s->image[i] + s->pads[i] + s->pads[s->dims + i] - (s->block[i] - 1) * s->dilation[i] - 1;
    if (span < 0) return tg_fail(diag, TG_INVALID, "a block does not fit into the image");
    s->count[i] = span / s->stride[i] + 1;
    s->each *= s->block[i];
    if (s->each > MOST_EACH || __builtin_mul_overflow(s->all, s->count[i], &s->all))
      return tg_fail(diag, TG_INVALID, "blocks of more than %d elements are not supported", MOST_EACH);
  }
  if (x->dims[1].size % s->each || x->dims[2].size != s->all)
    return tg_fail(diag, TG_INVALID, "data %s does not hold %" PRId64 " blocks of %" PRId64 " elements",
                   "of this shape", s->all, s->each);
  return TG_OK;
}

/* x [N, C, count..] with stride - 1 zeros behind each element but the last of each dimension, `before` zeros before
 * them, in an image of `sizes`; what is outside is cropped. */
static tg_value *placed(tg_build *b, tg_value *x, const blocks *s, const int64_t *before) {
  int64_t pads[2 * TG_MAX_RANK] = {0}, sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  for (int i = 0; i < s->dims; i++) {
    if (s->stride[i] == 1 || s->count[i] == 1) continue;
    int at = 2 + i; /* [.., count, 1, ..] to [.., count, stride, ..] to [.., count stride, ..] */
    int64_t behind[2 * TG_MAX_RANK] = {0};
    x = tg_build_insert(b, x, at + 1);
    behind[x->rank + at + 1] = s->stride[i] - 1;
    x = tg_build_pad(b, x, behind);
    sizes[at] *= s->stride[i];
    x = tg_build_reshape(b, x, 2 + s->dims, sizes);
  }
  for (int i = 0; i < s->dims; i++) {
    pads[2 + i] = before[i];
    pads[2 + s->dims + 2 + i] = s->image[i] - before[i] - sizes[2 + i];
  }
  return tg_build_pad(b, x, pads);
}

/* Position by position of the block: the elements of all blocks there, where they belong, added. */
tg_status tg_make_col2im(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  blocks s = {0};
  tg_value *x = tg_in(node, 0), *sum = NULL;
  if (read_blocks(node, &s, diag)) return TG_INVALID;
  int64_t n = x->dims[0].size, c = x->dims[1].size / s.each, split[] = {n, c, s.each, s.all},
          sizes[TG_MAX_RANK] = {n, c};
  double image = (double)n * (double)c, spread = image;
  for (int i = 0; i < s.dims; i++) {
    sizes[2 + i] = s.count[i];
    spread *= (double)s.count[i] * (double)(s.count[i] == 1 ? 1 : s.stride[i]);
    image *= (double)(s.image[i] + s.pads[i] + s.pads[s.dims + i]);
  }
  if (tg_compose_bounded(image, diag) || tg_compose_bounded(spread, diag)) return TG_INVALID;
  tg_value *y = tg_build_reshape(b, f32(b, x), 4, split);
  for (int64_t k = 0; k < s.each; k++) {
    int64_t rest = k, before[TG_MAX_EXTENTS];
    for (int i = s.dims - 1; i >= 0; i--) {
      before[i] = rest % s.block[i] * s.dilation[i] - s.pads[i];
      rest /= s.block[i];
    }
    tg_value *one = tg_build_reshape(b, tg_build_slice(b, y, 2, k, k + 1, 1), 2 + s.dims, sizes);
    if (b->failed) return TG_OK;
    one = placed(b, one, &s, before);
    sum = sum ? add(b, sum, one) : one;
  }
  results[0] = tg_build_cast(b, sum, x->dtype);
  return TG_OK;
}
