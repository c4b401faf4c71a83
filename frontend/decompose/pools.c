/* Pools beside the maximum and the mean of floats: with positions, of integers, norms; and what takes positions back. */
#include "frontend/decompose/compose.h"
#include "frontend/infer/window.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static tg_status check_data(const tg_value *x, bool integers, tg_diag *diag) {
  bool fits = tg_dtype_is_float(x->dtype) ||
              (integers && tg_dtype_is_integer(x->dtype) && tg_dtype_size(x->dtype) == 1);
  if (!fits)
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
  return tg_value_elements(x) ? TG_OK : tg_fail(diag, TG_INVALID, "its data is empty");
}

/* What a window reaches beyond the data and its padding, as windows of ceil_mode do. */
static int64_t beyond(const tg_window_shape *w, int i) {
  int64_t reach = (w->out[i] - 1) * w->stride[i] + tg_window_extent(w, i) - w->in[i] - w->begin[i];
  return reach > w->end[i] ? reach : w->end[i];
}

static tg_value *padded(tg_build *b, tg_value *x, const tg_window_shape *w, double fill) {
  int64_t pads[2 * TG_MAX_RANK] = {0};
  bool any = false;
  for (int i = 0; i < w->rank; i++) {
    pads[2 + i] = w->begin[i];
    pads[x->rank + 2 + i] = beyond(w, i);
    any |= pads[2 + i] || pads[x->rank + 2 + i];
  }
  if (!any) return x;
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_PAD, b->name, &x, 1, b->before, -1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_PADS, pads, 2 * x->rank);
  tg_attr_set_float(node, TG_ATTR_VALUE, fill);
  return tg_build_finish(b, node);
}

/* --- MaxPool with positions --- */

/* Position `k` of the kernel, row by row, as coordinates. */
static void coordinates(const tg_window_shape *w, int64_t k, int64_t *at) {
  for (int i = w->rank - 1; i >= 0; i--) {
    at[i] = k % w->kernel[i];
    k /= w->kernel[i];
  }
}

/* What all windows have at one position of the kernel: of `x`, padded. */
static tg_value *tap(tg_build *b, tg_value *x, const tg_window_shape *w, const int64_t *at) {
  int64_t starts[TG_MAX_EXTENTS], ends[TG_MAX_EXTENTS], axes[TG_MAX_EXTENTS];
  for (int i = 0; i < w->rank; i++) {
    starts[i] = at[i] * w->dilation[i];
    ends[i] = starts[i] + (w->out[i] - 1) * w->stride[i] + 1;
    axes[i] = 2 + i;
  }
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_SLICE, b->name, &x, 1, b->before, -1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_STARTS, starts, w->rank);
  tg_attr_set_ints(b->graph, node, TG_ATTR_ENDS, ends, w->rank);
  tg_attr_set_ints(b->graph, node, TG_ATTR_AXES, axes, w->rank);
  tg_attr_set_ints(b->graph, node, TG_ATTR_STEPS, w->stride, w->rank);
  return tg_build_finish(b, node);
}

/* The positions in the data of what tap() gives, [1, 1, out..]: row by row, or column by column. In the padding that
 * of the nearest element, which no window without it begins with. */
static tg_value *places_of(tg_build *b, const tg_window_shape *w, const int64_t *at, bool columns) {
  int64_t sizes[TG_MAX_RANK] = {1, 1}, count = 1;
  for (int i = 0; i < w->rank; i++) count *= sizes[2 + i] = w->out[i];
  tg_value *made = tg_build_made(b, TG_I64, w->rank + 2, sizes);
  if (b->failed) return made;
  for (int64_t e = 0; e < count; e++) {
    int64_t rest = e, place[TG_MAX_EXTENTS], number = 0;
    for (int i = w->rank - 1; i >= 0; i--) {
      int64_t p = rest % w->out[i] * w->stride[i] + at[i] * w->dilation[i] - w->begin[i];
      rest /= w->out[i];
      while (p < 0) p += w->dilation[i];
      place[i] = p < w->in[i] ? p : w->in[i] - 1;
    }
    for (int i = 0; i < w->rank; i++) {
      int d = columns ? w->rank - 1 - i : i;
      number = number * w->in[d] + place[d];
    }
    tg_store_i64((void *)made->data, TG_I64, (size_t)e, number);
  }
  return made;
}

/* The first maximum of each window and its position among all elements; the last NaN, as PyTorch has it. */
tg_status tg_make_max_pool_places(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  enum { MOST = 1024, MOST_PLACES = 1 << 22 };
  tg_window_shape w;
  tg_value *x = tg_in(node, 0);
  bool columns = tg_attr_int(node, TG_ATTR_STORAGE_ORDER) != 0;
  if (check_data(x, true, diag) || tg_window_read_any(node, &w, diag) || tg_window_place_pool(node, &w, diag))
    return TG_INVALID;
  int64_t kernel = 1, plane = 1, out = 1, at[TG_MAX_EXTENTS] = {0};
  for (int i = 0; i < w.rank; i++) {
    plane *= w.in[i];
    if (__builtin_mul_overflow(kernel, w.kernel[i], &kernel) || kernel > MOST)
      return tg_fail(diag, TG_INVALID, "a window of more than %d elements is not supported", MOST);
    out *= w.out[i];
  }
  if (tg_value_elements(x) >= 1 << 24)
    return tg_fail(diag, TG_INVALID, "positions from 2^24 on are not supported");
  if ((double)kernel * (double)out > MOST_PLACES) /* places_of() has all of them */
    return tg_fail(diag, TG_INVALID, "its windows have %.0f positions, more than %d",
                   (double)kernel * (double)out, MOST_PLACES);
  tg_value *wide = padded(b, f32(b, x), &w, -INFINITY);
  tg_value *best = tap(b, wide, &w, at), *place = places_of(b, &w, at, columns);
  for (int64_t k = 1; k < kernel; k++) {
    coordinates(&w, k, at);
    tg_value *next = tap(b, wide, &w, at);
    tg_value *above = tg_build_binary(b, TG_OP_GREATER, next, best);
    if (tg_dtype_is_float(x->dtype))
      above = tg_build_binary(b, TG_OP_OR, above, not(b, tg_build_binary(b, TG_OP_EQUAL, next, next)));
    best = tg_build_where(b, above, next, best);
    place = tg_build_where(b, above, places_of(b, &w, at, columns), place);
  }
  int64_t n = x->dims[0].size, c = x->dims[1].size, sizes[TG_MAX_RANK] = {n, c, 1, 1, 1};
  tg_value *first = tg_build_reshape(b, tg_build_positions(b, place, n * c, 0, 1), x->rank, sizes);
  results[0] = tg_build_cast(b, best, x->dtype);
  results[1] = add(b, place, times(b, first, (double)plane));
  return TG_OK;
}

/* --- pools of FP32 without padding, of 1 to 3 dimensions --- */

static tg_status pooled(tg_build *b, tg_op op, tg_value *x, const tg_window_shape *w, tg_value **out,
                        tg_diag *diag) {
  tg_node *node = tg_graph_add_node(b->graph, op, b->name, &x, 1, b->before, -1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_KERNEL_SHAPE, w->kernel, w->rank);
  tg_attr_set_ints(b->graph, node, TG_ATTR_STRIDES, w->stride, w->rank);
  tg_attr_set_ints(b->graph, node, TG_ATTR_DILATIONS, w->dilation, w->rank);
  if (w->rank < TG_MAX_EXTENTS) return *out = tg_build_finish(b, node), TG_OK;
  tg_status status = tg_make_pool_3d(b, node, out, diag);
  tg_graph_remove_node(b->graph, node);
  return status;
}

tg_status tg_make_pool(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_window_shape w;
  tg_value *x = tg_in(node, 0), *y;
  if (tg_dtype_is_float(x->dtype)) return tg_make_pool_3d(b, node, results, diag);
  if (check_data(x, node->op == TG_OP_MAX_POOL, diag) || tg_window_read_any(node, &w, diag) ||
      tg_window_place_pool(node, &w, diag) ||
      pooled(b, TG_OP_MAX_POOL, padded(b, f32(b, x), &w, -INFINITY), &w, &y, diag))
    return TG_INVALID;
  results[0] = tg_build_cast(b, y, x->dtype);
  return TG_OK;
}

/* --- LpPool, GlobalLpPool --- */

static tg_status read_order(const tg_node *node, double *p, tg_diag *diag) {
  *p = (double)tg_attr_int(node, TG_ATTR_P);
  return *p >= 1 ? TG_OK : tg_fail(diag, TG_INVALID, "p = %g is below 1", *p);
}

static tg_value *powers(tg_build *b, tg_value *x, double p) {
  if (p == 2) return mul(b, x, x);
  x = tg_build_unary(b, TG_OP_ABS, x);
  return p == 1 ? x : with(b, TG_OP_POW, x, p);
}

/* Its slope is 0 at 0, as in PyTorch: what is chosen there is a constant. */
static tg_value *root(tg_build *b, tg_value *x, double p) {
  if (p == 1) return x;
  tg_value *zero = tg_build_number_like(b, x, 0), *none = tg_build_binary(b, TG_OP_EQUAL, x, zero);
  x = tg_build_where(b, none, tg_build_number_like(b, x, 1), x);
  x = p == 2 ? tg_build_unary(b, TG_OP_SQRT, x) : with(b, TG_OP_POW, x, 1 / p);
  return tg_build_where(b, none, zero, x);
}

/* The sum over a window is its mean times its size. */
tg_status tg_make_lp_pool(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_window_shape w;
  tg_value *x = tg_in(node, 0), *y;
  double p, size = 1;
  if (check_data(x, false, diag) || read_order(node, &p, diag) || tg_window_read_any(node, &w, diag) ||
      tg_window_place_pool(node, &w, diag))
    return TG_INVALID;
  for (int i = 0; i < w.rank; i++) size *= (double)w.kernel[i];
  if (pooled(b, TG_OP_AVERAGE_POOL, padded(b, powers(b, f32(b, x), p), &w, 0), &w, &y, diag))
    return TG_INVALID;
  results[0] = tg_build_cast(b, root(b, times(b, y, size), p), x->dtype);
  return TG_OK;
}

tg_status tg_make_global_lp_pool(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  double p;
  if (check_data(x, false, diag) || read_order(node, &p, diag)) return TG_INVALID;
  if (x->rank < 3) return tg_fail(diag, TG_INVALID, "data of rank %d has no spatial dimensions", x->rank);
  tg_value *sum = tg_build_reduce(b, TG_OP_REDUCE_SUM, powers(b, f32(b, x), p), (1u << x->rank) - (1u << 2));
  results[0] = tg_build_cast(b, root(b, sum, p), x->dtype);
  return TG_OK;
}

/* --- MaxUnpool --- */

/* Each plane is scattered by itself: a position outside of its plane goes nowhere. */
static tg_status scattered(tg_build *b, tg_value *x, tg_value *places, int64_t out, tg_value **y,
                           tg_diag *diag) {
  int64_t planes = x->dims[0].size * x->dims[1].size,
          list[] = {planes, tg_value_elements_between(x, 2, x->rank)}, wide[] = {planes, out};
  if ((double)planes * (double)out >= 1 << 24)
    return tg_fail(diag, TG_INVALID, "positions from 2^24 on are not supported");
  tg_value *at = tg_build_reshape(b, places, 2, list);
  at = sub(b, at, times(b, tg_build_positions(b, at, planes, 0, 2), (double)out));
  at = tg_build_where(b, with(b, TG_OP_LESS, at, 0), tg_build_number_like(b, at, (double)out), at);
  tg_value *operands[] = {tg_build_made(b, TG_F32, 2, wide), at, tg_build_reshape(b, f32(b, x), 2, list)};
  if (b->failed) return TG_OK;
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_SCATTER_ELEMENTS, b->name, operands, 3, b->before, -1);
  tg_attr_set_int(node, TG_ATTR_AXIS, 1);
  tg_status status = tg_make_scatter_elements(b, node, y, diag);
  tg_graph_remove_node(b->graph, node);
  return status;
}

/* The spatial extents before the pool, as its windows tell: out[0 .. rank of x - 2). */
static tg_status unpooled(const tg_node *node, int64_t *out, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t kernel[TG_MAX_EXTENTS], stride[TG_MAX_EXTENTS], pads[2 * TG_MAX_EXTENTS], all = 1;
  int dims = x->rank - 2, given;
  if (dims < 1 || dims > TG_MAX_EXTENTS)
    return tg_fail(diag, TG_INVALID, "data of rank %d is not supported, only 3 to 5 are", x->rank);
  tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &given);
  if (!given) return tg_fail(diag, TG_INVALID, "kernel_shape is missing");
  if (tg_window_read_extents(node, TG_ATTR_KERNEL_SHAPE, dims, 1, 1, kernel, diag) ||
      tg_window_read_extents(node, TG_ATTR_STRIDES, dims, 1, 1, stride, diag) ||
      tg_window_read_extents(node, TG_ATTR_PADS, 2 * dims, 0, 0, pads, diag))
    return TG_INVALID;
  for (int i = 0; i < dims; i++) {
    int64_t size = x->dims[2 + i].size;
    out[i] = size > 1 << 24 ? 0 : (size - 1) * stride[i] - pads[i] - pads[dims + i] + kernel[i];
    if (out[i] < 1 || out[i] > 1 << 24 || (all *= out[i]) > 1 << 24)
      return tg_fail(diag, TG_INVALID, "its result is empty or too large");
  }
  return TG_OK;
}

/* Positions count in the shape that the windows tell; in a larger output_shape the result stands in the corner. */
tg_status tg_make_max_unpool(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *places = tg_in(node, 1), *y = NULL;
  int64_t sizes[TG_MAX_RANK], wanted[TG_MAX_RANK], pads[2 * TG_MAX_RANK] = {0}, out = 1;
  tg_value_sizes(x, sizes);
  if (check_data(x, false, diag) || unpooled(node, sizes + 2, diag)) return TG_INVALID;
  if (!tg_value_same_shape(x, places) || !tg_dtype_is_integer(places->dtype))
    return tg_fail(diag, TG_INVALID, "its indices do not fit the data");
  for (int d = 2; d < x->rank; d++) out *= sizes[d];
  if (scattered(b, x, places, out, &y, diag)) return TG_INVALID;
  if (b->failed) return TG_OK;
  y = tg_build_reshape(b, y, x->rank, sizes);
  if (tg_in(node, 2)) {
    if (tg_compose_ints(tg_in(node, 2), TG_MAX_RANK, wanted) != x->rank)
      return tg_fail(diag, TG_INVALID, "output_shape is not constant, one number for each dimension");
    for (int d = 0; d < x->rank; d++) {
      pads[x->rank + d] = wanted[d] - sizes[d];
      if (wanted[d] < sizes[d] || wanted[d] > 1 << 24 || (d < 2 && wanted[d] != sizes[d]))
        return tg_fail(diag, TG_INVALID, "output_shape has %" PRId64 " for a dimension of %" PRId64,
                       wanted[d], sizes[d]);
    }
    y = tg_build_pad(b, y, pads);
  }
  results[0] = tg_build_cast(b, y, x->dtype);
  return TG_OK;
}
