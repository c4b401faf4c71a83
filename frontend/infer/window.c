/* Shapes of convolution and pooling. */
#include "frontend/infer/window.h"
#include "frontend/base/math.h"

#include <inttypes.h>
#include <string.h>

#define MAX_EXTENT                                                                                           \
  ((int64_t)1 << 24) /* of stride, dilation, padding and output_shape each: products stay in 64 bits */

tg_status tg_window_read_extents(const tg_node *node, tg_attr_key key, int rank, int64_t initial,
                                 int64_t fewest, int64_t *out, tg_diag *diag) {
  int count;
  const int64_t *given = tg_attr_ints(node, key, &count);
  const char *name = tg_attr_get(key)->name;
  if (count && count != rank) return tg_fail(diag, TG_INVALID, "%s has %d values for %d", name, count, rank);
  for (int i = 0; i < rank; i++) {
    out[i] = count ? given[i] : initial;
    if (out[i] < fewest || out[i] > MAX_EXTENT)
      return tg_fail(diag, TG_INVALID, "%s has value %" PRId64, name, out[i]);
  }
  return TG_OK;
}

tg_status tg_window_check_pads(const tg_window_shape *w, tg_diag *diag) {
  for (int i = 0; i < w->rank; i++)
    if (w->begin[i] > MAX_EXTENT || w->end[i] > MAX_EXTENT)
      return tg_fail(diag, TG_INVALID,
                     "pads of dimension %d are %" PRId64 " and %" PRId64 ", at most %" PRId64
                     " are supported",
                     i, w->begin[i], w->end[i], MAX_EXTENT);
  return TG_OK;
}

tg_status tg_window_read(const tg_node *node, tg_window_shape *w, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (x->rank < 3 || x->rank > 2 + TG_MAX_SPATIAL)
    return tg_fail(diag, TG_INVALID, "data of rank %d is not supported, only 3 and 4 are", x->rank);
  return tg_window_read_any(node, w, diag);
}

tg_status tg_window_read_any(const tg_node *node, tg_window_shape *w, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (x->rank < 3 || x->rank > 2 + TG_MAX_EXTENTS)
    return tg_fail(diag, TG_INVALID, "data of rank %d is not supported, only 3 to 5 are", x->rank);
  w->rank = x->rank - 2;
  w->first = tg_attr_find(node, TG_ATTR_CHANNELS_LAST) && tg_attr_int(node, TG_ATTR_CHANNELS_LAST) ? 1 : 2;
  for (int i = 0; i < w->rank; i++) w->in[i] = x->dims[w->first + i].size;
  int64_t pads[2 * TG_MAX_EXTENTS];
  if (tg_window_read_extents(node, TG_ATTR_STRIDES, w->rank, 1, 1, w->stride, diag) ||
      tg_window_read_extents(node, TG_ATTR_DILATIONS, w->rank, 1, 1, w->dilation, diag) ||
      tg_window_read_extents(node, TG_ATTR_PADS, 2 * w->rank, 0, 0, pads, diag))
    return TG_INVALID;
  for (int i = 0; i < w->rank; i++) {
    w->begin[i] = pads[i];
    w->end[i] = pads[w->rank + i];
  }
  return TG_OK;
}

static tg_status resolve_auto_pad(const tg_node *node, tg_window_shape *w, tg_diag *diag) {
  const char *mode = tg_attr_text(node, TG_ATTR_AUTO_PAD);
  bool upper = !strcmp(mode, "SAME_UPPER"), lower = !strcmp(mode, "SAME_LOWER"),
       valid = !strcmp(mode, "VALID");
  if (!*mode || !strcmp(mode, "NOTSET")) return TG_OK;
  if (!upper && !lower && !valid) return tg_fail(diag, TG_INVALID, "auto_pad \"%s\" is not supported", mode);
  for (int i = 0; i < w->rank; i++) {
    int64_t out = tg_div_up(w->in[i], w->stride[i]);
    int64_t total = valid ? 0 : (out - 1) * w->stride[i] + tg_window_extent(w, i) - w->in[i];
    if (total < 0) total = 0;
    w->begin[i] = upper ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
  }
  return tg_window_check_pads(w, diag);
}

tg_status tg_window_place(tg_window_shape *w, bool ceil_mode, tg_diag *diag) {
  for (int i = 0; i < w->rank; i++) {
    int64_t span = w->in[i] + w->begin[i] + w->end[i] - tg_window_extent(w, i);
    if (ceil_mode) span += w->stride[i] - 1; /* the last window may end outside */
    if (span < 0)
      return tg_fail(diag, TG_INVALID,
                     "a window of %" PRId64 " does not fit into %" PRId64 " padded by %" PRId64,
                     tg_window_extent(w, i), w->in[i], w->begin[i] + w->end[i]);
    w->out[i] = span / w->stride[i] + 1;
    /* A window of ceil_mode must begin inside the data or the padding before it. */
    if (ceil_mode && (w->out[i] - 1) * w->stride[i] >= w->in[i] + w->begin[i]) w->out[i]--;
  }
  return TG_OK;
}

void tg_window_write(tg_graph *graph, tg_node *node, const tg_window_shape *w) {
  int64_t pads[2 * TG_MAX_EXTENTS];
  for (int i = 0; i < w->rank; i++) {
    pads[i] = w->begin[i];
    pads[w->rank + i] = w->end[i];
  }
  tg_attr_set_ints(graph, node, TG_ATTR_KERNEL_SHAPE, w->kernel, w->rank);
  tg_attr_set_ints(graph, node, TG_ATTR_STRIDES, w->stride, w->rank);
  tg_attr_set_ints(graph, node, TG_ATTR_DILATIONS, w->dilation, w->rank);
  tg_attr_set_ints(graph, node, TG_ATTR_PADS, pads, 2 * w->rank);
  if (tg_attr_find(node, TG_ATTR_AUTO_PAD)) tg_attr_set_text(graph, node, TG_ATTR_AUTO_PAD, "");
}

tg_status tg_window_result(tg_node *node, const tg_window_shape *w, const int64_t *extents, int64_t channels,
                           tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  sizes[0] = x->dims[0].size;
  sizes[tg_window_channels(w)] = channels;
  for (int i = 0; i < w->rank; i++) sizes[w->first + i] = extents[i];
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}

tg_status tg_window_check_groups(const tg_node *node, int64_t in, int64_t in_of_group, int64_t out,
                                 int64_t biased, tg_diag *diag) {
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP), channels;
  if (group < 1) return tg_fail(diag, TG_INVALID, "group is %" PRId64, group);
  if (__builtin_mul_overflow(group, in_of_group, &channels) || channels != in || out % group)
    return tg_fail(diag, TG_INVALID,
                   "weights of %" PRId64 " x %" PRId64 " channels in %" PRId64 " groups do not fit %" PRId64
                   " channels",
                   out, in_of_group, group, in);
  bool depthwise = node->op == TG_OP_CONV && in == group && out == group;
  if (group > TG_MOST_GROUPS && !depthwise)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " groups are more than %d", group, TG_MOST_GROUPS);
  const tg_value *bias = tg_in(node, 2);
  if (bias && (bias->rank != 1 || bias->dims[0].size != biased))
    return tg_fail(diag, TG_INVALID, "the bias does not have %" PRId64 " elements", biased);
  return TG_OK;
}

tg_status tg_window_read_kernel(const tg_node *node, const tg_value *weights, tg_window_shape *w,
                                tg_diag *diag) {
  int count;
  int64_t given[TG_MAX_EXTENTS];
  if (weights->rank != w->rank + 2)
    return tg_fail(diag, TG_INVALID, "weights of rank %d for data of rank %d", weights->rank, w->rank + 2);
  if (tg_window_read_extents(node, TG_ATTR_KERNEL_SHAPE, w->rank, 1, 1, given, diag)) return TG_INVALID;
  tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &count);
  for (int i = 0; i < w->rank; i++) {
    w->kernel[i] = weights->dims[w->first == 1 ? i : i + 2].size;
    if (w->kernel[i] < 1 || w->kernel[i] > MAX_EXTENT || (count && given[i] != w->kernel[i]))
      return tg_fail(diag, TG_INVALID, "kernel_shape does not fit weights of %" PRId64 " in dimension %d",
                     w->kernel[i], i);
  }
  return TG_OK;
}

tg_status tg_infer_conv(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_window_shape w;
  if (tg_window_read(node, &w, diag)) return TG_INVALID;
  const tg_value *x = tg_in(node, 0), *weights = tg_in(node, 1);
  if (tg_window_read_kernel(node, weights, &w, diag)) return TG_INVALID;
  bool last = w.first == 1;
  int64_t out = weights->dims[last ? w.rank + 1 : 0].size,
          in_of_group = weights->dims[last ? w.rank : 1].size;
  int64_t in = x->dims[tg_window_channels(&w)].size;
  if (!in) return tg_fail(diag, TG_INVALID, "its data has no channels");
  if (tg_window_check_groups(node, in, in_of_group, out, out, diag) || resolve_auto_pad(node, &w, diag) ||
      tg_window_place(&w, false, diag))
    return TG_INVALID;
  tg_window_write(graph, node, &w);
  return tg_window_result(node, &w, w.out, out, diag);
}

/* Every window must hold an element of the data: the maximum of none is no number, nor is their mean. */
static tg_status check_no_empty_window(const tg_window_shape *w, tg_diag *diag) {
  for (int i = 0; i < w->rank; i++) {
    bool skips = w->begin[i] > 0 && w->dilation[i] > 1 && w->in[i] < w->dilation[i];
    if (w->begin[i] >= tg_window_extent(w, i) || w->end[i] >= tg_window_extent(w, i) || w->in[i] < 1 || skips)
      return tg_fail(diag, TG_INVALID, "a window would hold padding only");
  }
  return TG_OK;
}

tg_status tg_window_place_pool(const tg_node *node, tg_window_shape *w, tg_diag *diag) {
  int count;
  tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &count);
  if (!count) return tg_fail(diag, TG_INVALID, "kernel_shape is missing");
  if (tg_window_read_extents(node, TG_ATTR_KERNEL_SHAPE, w->rank, 1, 1, w->kernel, diag) ||
      (tg_attr_find(node, TG_ATTR_AUTO_PAD) && resolve_auto_pad(node, w, diag)) ||
      tg_window_place(w, tg_attr_int(node, TG_ATTR_CEIL_MODE), diag))
    return TG_INVALID;
  return check_no_empty_window(w, diag);
}

tg_status tg_infer_pool(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_window_shape w;
  if (tg_window_read(node, &w, diag) || tg_window_place_pool(node, &w, diag)) return TG_INVALID;
  tg_window_write(graph, node, &w);
  if (node->op == TG_OP_MAX_POOL_INDEX && !tg_out(node)->dtype) tg_out(node)->dtype = TG_F32;
  return tg_window_result(node, &w, w.out, tg_in(node, 0)->dims[tg_window_channels(&w)].size, diag);
}

tg_status tg_infer_global_pool(tg_graph *graph, tg_node *node, tg_diag *diag) {
  (void)graph;
  const tg_value *x = tg_in(node, 0);
  if (x->rank < 3) return tg_fail(diag, TG_INVALID, "data of rank %d has no spatial dimensions", x->rank);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  for (int i = 2; i < x->rank; i++) {
    if (!sizes[i]) return tg_fail(diag, TG_INVALID, "dimension %d is empty", i);
    sizes[i] = 1;
  }
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}
