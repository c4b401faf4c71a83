/* MaxRoiPool: the largest element of each part of regions. */
#include "frontend/decompose/compose.h"
#include "frontend/decompose/exact.h"

#include <inttypes.h>
#include <math.h>

/* Rounded to nearest, of two the one that is farther from 0. */
static tg_value *rounded_away(tg_build *b, tg_value *x) {
  tg_value *size = tg_build_unary(b, TG_OP_ABS, x), *low = tg_build_unary(b, TG_OP_FLOOR, size);
  tg_value *up = with(b, TG_OP_GREATER_OR_EQUAL, sub(b, size, low), 0.5);
  tg_value *nearest = tg_build_where(b, up, plus(b, low, 1), low);
  return tg_build_where(b, with(b, TG_OP_LESS, x, 0), tg_build_unary(b, TG_OP_NEG, nearest), nearest);
}

/* The parts of each region along a dimension, [regions, count]: their first element and the one behind their last. */
typedef struct parts {
  tg_value *begin, *end;
  int64_t count, size; /* of the dimension */
} parts;

/* rois [regions, 5]: image, x1, y1, x2, y2. All in FP32 steps, as ONNX Runtime has it. */
static parts parts_along(tg_build *b, tg_value *rois, double scale, int d, int64_t count, int64_t size) {
  tg_value *ends[2];
  for (int e = 0; e < 2; e++)
    ends[e] = rounded_away(b, times(b, tg_build_slice(b, rois, 1, 2 * e + 2 - d, 2 * e + 3 - d, 1), scale));
  tg_value *extent = with(b, TG_OP_MAX, plus(b, sub(b, ends[1], ends[0]), 1), 1);
  tg_value *part = tg_exact_quotient(b, extent, tg_build_number(b, (double)count));
  tg_value *at = tg_build_positions(b, extent, count, 1, 2);
  return (parts){.begin = add(b, tg_build_unary(b, TG_OP_FLOOR, mul(b, at, part)), ends[0]),
                 .end = add(b, tg_build_unary(b, TG_OP_CEIL, mul(b, plus(b, at, 1), part)), ends[0]),
                 .count = count,
                 .size = size};
}

/* x [regions, c, size, n] to [regions, c, count, n]: maxima of the parts, -infinity of none. */
static tg_value *largest_of(tg_build *b, tg_value *x, const parts *p) {
  tg_value *at = tg_build_positions(b, p->begin, p->size, 2, 3);
  tg_value *in =
      both(b, tg_build_binary(b, TG_OP_GREATER_OR_EQUAL, at, tg_build_insert(b, p->begin, 2)),
           tg_build_binary(b, TG_OP_LESS, at, tg_build_insert(b, p->end, 2))); /* [regions, count, size] */
  in = tg_build_insert(b, tg_build_insert(b, in, 1), 4);
  tg_value *each = tg_build_where(b, in, tg_build_insert(b, x, 2), tg_build_number(b, -INFINITY));
  return tg_build_drop(b, tg_build_reduce(b, TG_OP_REDUCE_MAX, each, 1u << 3), 3);
}

/* Which parts have no element of the image: [regions, count]. */
static tg_value *are_empty(tg_build *b, const parts *p) {
  return tg_build_binary(b, TG_OP_LESS_OR_EQUAL, tg_build_clip(b, p->end, 0, (double)p->size),
                         tg_build_clip(b, p->begin, 0, (double)p->size));
}

/* X [n, c, h, w], rois [r, 5] to [r, c, pooled_shape]; 0 where a part has no element. */
tg_status tg_make_max_roi_pool(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  enum { MOST = 1 << 12 };
  tg_value *x = tg_in(node, 0), *rois = tg_in(node, 1);
  double scale = tg_attr_float(node, TG_ATTR_SPATIAL_SCALE);
  int given;
  const int64_t *out = tg_attr_ints(node, TG_ATTR_POOLED_SHAPE, &given);
  if (given != 2 || out[0] < 1 || out[1] < 1 || out[0] > MOST || out[1] > MOST)
    return tg_fail(diag, TG_INVALID, "pooled_shape is not two numbers from 1 to %d", MOST);
  if (x->rank != 4 || rois->rank != 2 || rois->dims[1].size != 5 || !tg_dtype_is_float(x->dtype) ||
      !tg_dtype_is_float(rois->dtype) || !tg_value_elements(x) || !tg_value_elements(rois))
    return tg_fail(diag, TG_INVALID, "data and rois do not fit");
  int64_t count = rois->dims[0].size, h = x->dims[2].size, w = x->dims[3].size;
  double planes = (double)count * (double)x->dims[1].size * (double)h * (double)out[1];
  if (tg_compose_bounded(planes * fmax((double)w, (double)out[0]), diag)) return TG_INVALID;
  tg_value *numbers = f32(b, rois);
  tg_value *image = tg_build_cast(b, tg_build_drop(b, tg_build_slice(b, numbers, 1, 0, 1, 1), 1), TG_I64);
  parts rows = parts_along(b, numbers, scale, 0, out[0], h),
        columns = parts_along(b, numbers, scale, 1, out[1], w);
  tg_value *y = tg_build_binary(b, TG_OP_GATHER, f32(b, x), image);
  y = tg_build_swap(b, largest_of(b, tg_build_swap(b, y), &columns));
  y = largest_of(b, y, &rows);
  tg_value *no_row = tg_build_insert(b, tg_build_insert(b, are_empty(b, &rows), 1), 3),
           *no_column = tg_build_insert(b, tg_build_insert(b, are_empty(b, &columns), 1), 1);
  tg_value *empty = tg_build_binary(b, TG_OP_OR, no_row, no_column);
  results[0] = tg_build_cast(b, tg_build_where(b, empty, tg_build_number(b, 0), y), x->dtype);
  return TG_OK;
}
