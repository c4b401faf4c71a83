/* Shapes of what runs windows backwards: gradients of convolution and pooling, and ConvTranspose. */
#include "frontend/infer/window.h"

#include <inttypes.h>
#include <string.h>

/* Channels of weights: of dY (they are the first dimension, or channels-last the last) and of dX in a
 * group. */
static int64_t result_channels(const tg_window_shape *w, const tg_value *weights) {
  return weights->dims[w->first == 1 ? w->rank + 1 : 0].size;
}
static int64_t group_channels(const tg_window_shape *w, const tg_value *weights) {
  return weights->dims[w->first == 1 ? w->rank : 1].size;
}

static tg_status check_channels(const tg_node *node, const tg_window_shape *w, int64_t *out_channels,
                                tg_diag *diag) {
  const tg_value *dy = tg_in(node, 0), *weights = tg_in(node, 1);
  int64_t of_group = group_channels(w, weights), group = tg_attr_int(node, TG_ATTR_GROUP),
          given = dy->dims[tg_window_channels(w)].size;
  if (group < 1 || __builtin_mul_overflow(group, of_group, out_channels))
    return tg_fail(diag, TG_INVALID, "group is %" PRId64, group);
  if (given != result_channels(w, weights))
    return tg_fail(diag, TG_INVALID, "weights of %" PRId64 " channels do not fit %" PRId64 " channels",
                   result_channels(w, weights), given);
  return tg_window_check_groups(node, *out_channels, of_group, given, *out_channels, diag);
}

/* Elements from the first that a window reads to the last, if `windows` follow each other without padding. */
static tg_status span_of(const tg_window_shape *w, int i, int64_t windows, int64_t *out, tg_diag *diag) {
  if (windows < 1) return tg_fail(diag, TG_INVALID, "dimension %d is empty", w->first + i);
  if (__builtin_mul_overflow(windows - 1, w->stride[i], out) || *out > TG_MAX_ELEMENTS)
    return tg_fail(diag, TG_INVALID, "the result has more than %" PRId64 " elements", TG_MAX_ELEMENTS);
  *out += tg_window_extent(w, i);
  return TG_OK;
}

tg_status tg_infer_conv_input_gradient(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_window_shape w;
  int count;
  int64_t channels;
  if (tg_window_read(node, &w, diag) || tg_window_read_kernel(node, tg_in(node, 1), &w, diag) ||
      tg_window_read_extents(node, TG_ATTR_OUTPUT_SHAPE, w.rank, 0, 1, w.out, diag) ||
      check_channels(node, &w, &channels, diag))
    return TG_INVALID;
  tg_attr_ints(node, TG_ATTR_OUTPUT_SHAPE, &count);
  if (!count) return tg_fail(diag, TG_INVALID, "output_shape is missing");
  for (int i = 0; i < w.rank; i++) { /* behind the last window there may be what no window reads */
    int64_t span;
    if (span_of(&w, i, w.in[i], &span, diag)) return TG_INVALID;
    if (span - w.begin[i] - w.end[i] > w.out[i])
      return tg_fail(diag, TG_INVALID, "%" PRId64 " windows do not fit into %" PRId64 " elements", w.in[i],
                     w.out[i]);
  }
  tg_window_write(graph, node, &w);
  return tg_window_result(node, &w, w.out, channels, diag);
}

/* ONNX: of a given output_shape, or of SAME, the padding follows, its larger half first but for SAME_UPPER.
 * What a given shape has beyond the last window joins `added`. */
static tg_status pad_to_shape(const tg_node *node, tg_window_shape *w, int64_t *added, tg_diag *diag) {
  const char *mode = tg_attr_text(node, TG_ATTR_AUTO_PAD);
  bool upper = !strcmp(mode, "SAME_UPPER"), same = upper || !strcmp(mode, "SAME_LOWER");
  if (*mode && !same && strcmp(mode, "NOTSET") && strcmp(mode, "VALID"))
    return tg_fail(diag, TG_INVALID, "auto_pad \"%s\" is not supported", mode);
  int given;
  tg_attr_ints(node, TG_ATTR_OUTPUT_SHAPE, &given);
  for (int i = 0; i < w->rank; i++) {
    if (!strcmp(mode, "VALID")) w->begin[i] = w->end[i] = 0;
    int64_t whole;
    if (span_of(w, i, w->in[i], &whole, diag)) return TG_INVALID;
    whole += added[i];
    if (given || same) {
      int64_t total = whole - (given ? w->out[i] : w->in[i] * w->stride[i]);
      if (given && total <= -w->stride[i])
        return tg_fail(diag, TG_INVALID, "output_shape has value %" PRId64 ", the windows end at %" PRId64,
                       w->out[i], whole);
      if (given && total < 0) added[i] -= total, whole -= total;
      if (total < 0) total = 0;
      w->begin[i] = upper ? total / 2 : total - total / 2;
      w->end[i] = total - w->begin[i];
    }
    w->out[i] = whole - w->begin[i] - w->end[i];
    if (w->out[i] < 1) return tg_fail(diag, TG_INVALID, "padding leaves nothing of the result");
    if (w->out[i] > 1 << 24)
      return tg_fail(diag, TG_INVALID,
                     "dimension %d of its result has %" PRId64 " elements, at most 2^24 are supported", i,
                     w->out[i]);
  }
  return tg_window_check_pads(w, diag);
}

/* Some exporters give output_shape with batch and channels; both forms mean the spatial sizes. */
static void drop_leading_shape(tg_graph *graph, tg_node *node, int rank) {
  int count;
  const int64_t *given = tg_attr_ints(node, TG_ATTR_OUTPUT_SHAPE, &count);
  if (count == rank + 2) tg_attr_set_ints(graph, node, TG_ATTR_OUTPUT_SHAPE, given + 2, rank);
}

tg_status tg_window_place_transposed(tg_graph *graph, tg_node *node, tg_window_shape *w, int64_t *out_added,
                                     tg_diag *diag) {
  drop_leading_shape(graph, node, w->rank);
  if (tg_window_read_kernel(node, tg_in(node, 1), w, diag) ||
      tg_window_read_extents(node, TG_ATTR_OUTPUT_SHAPE, w->rank, 1, 1, w->out, diag) ||
      tg_window_read_extents(node, TG_ATTR_OUTPUT_PADDING, w->rank, 0, 0, out_added, diag))
    return TG_INVALID;
  for (int i = 0; i < w->rank; i++)
    if (out_added[i] >= w->stride[i] && out_added[i] >= w->dilation[i])
      return tg_fail(diag, TG_INVALID, "output_padding %" PRId64 " is not below stride or dilation",
                     out_added[i]);
  return pad_to_shape(node, w, out_added, diag);
}

tg_status tg_infer_conv_transpose(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_window_shape w;
  int64_t channels, added[TG_MAX_SPATIAL];
  if (tg_window_read(node, &w, diag) || tg_window_place_transposed(graph, node, &w, added, diag) ||
      check_channels(node, &w, &channels, diag))
    return TG_INVALID;
  tg_window_write(graph, node, &w);
  tg_attr_set_ints(graph, node, TG_ATTR_OUTPUT_PADDING, added, w.rank);
  tg_attr_set_ints(graph, node, TG_ATTR_OUTPUT_SHAPE, NULL, 0); /* the pads say it now */
  return tg_window_result(node, &w, w.out, channels, diag);
}

tg_status tg_infer_conv_weight_gradient(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_window_shape w;
  int count;
  const tg_value *x = tg_in(node, 0), *dy = tg_in(node, 1);
  if (tg_window_read(node, &w, diag) ||
      tg_window_read_extents(node, TG_ATTR_KERNEL_SHAPE, w.rank, 1, 1, w.kernel, diag) ||
      tg_window_place(&w, false, diag))
    return TG_INVALID;
  tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &count);
  if (!count) return tg_fail(diag, TG_INVALID, "kernel_shape is missing");
  bool fits = dy->rank == x->rank && dy->dims[0].size == x->dims[0].size;
  for (int i = 0; i < w.rank && fits; i++) fits = dy->dims[w.first + i].size == w.out[i];
  if (!fits)
    return tg_fail(diag, TG_INVALID, "the gradient %s is not that of windows over %s",
                   tg_value_type_text(dy, graph->arena), tg_value_type_text(x, graph->arena));
  int at = tg_window_channels(&w);
  int64_t in = x->dims[at].size, out = dy->dims[at].size, group = tg_attr_int(node, TG_ATTR_GROUP);
  if (group < 1 || in % group || out % group)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " and %" PRId64 " channels in %" PRId64 " groups", in, out,
                   group);
  tg_window_write(graph, node, &w);
  int64_t sizes[TG_MAX_SPATIAL + 2];
  bool last = w.first == 1;
  sizes[last ? w.rank : 1] = in / group;
  sizes[last ? w.rank + 1 : 0] = out;
  for (int i = 0; i < w.rank; i++) sizes[last ? i : i + 2] = w.kernel[i];
  return tg_infer_result(node, x->dtype, w.rank + 2, sizes, diag);
}

/* Is `dy` a gradient of the windows' results, with the batch and channels of input 0? */
static tg_status check_gradient(const tg_graph *graph, const tg_node *node, const tg_window_shape *w,
                                const tg_value *dy, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int at = tg_window_channels(w);
  bool fits =
      dy->rank == x->rank && dy->dims[0].size == x->dims[0].size && dy->dims[at].size == x->dims[at].size;
  for (int i = 0; i < w->rank && fits; i++) fits = dy->dims[w->first + i].size == w->out[i];
  if (fits) return TG_OK;
  return tg_fail(diag, TG_INVALID, "the gradient %s is not that of these windows",
                 tg_value_type_text(dy, graph->arena));
}

tg_status tg_infer_max_pool_gradient(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_window_shape w;
  const tg_value *x = tg_in(node, 0);
  if (tg_window_read(node, &w, diag) || tg_window_place_pool(node, &w, diag) ||
      check_gradient(graph, node, &w, tg_in(node, 1), diag))
    return TG_INVALID;
  tg_window_write(graph, node, &w);
  return tg_window_result(node, &w, w.in, x->dims[tg_window_channels(&w)].size, diag);
}

/* `in` from output_shape. */
static tg_status read_input_shape(const tg_node *node, tg_window_shape *w, tg_diag *diag) {
  int count;
  if (tg_window_read(node, w, diag) ||
      tg_window_read_extents(node, TG_ATTR_OUTPUT_SHAPE, w->rank, 0, 1, w->in, diag))
    return TG_INVALID;
  tg_attr_ints(node, TG_ATTR_OUTPUT_SHAPE, &count);
  return count ? TG_OK : tg_fail(diag, TG_INVALID, "output_shape is missing");
}

tg_status tg_infer_average_pool_gradient(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_window_shape w;
  const tg_value *dy = tg_in(node, 0);
  if (read_input_shape(node, &w, diag) || tg_window_place_pool(node, &w, diag) ||
      check_gradient(graph, node, &w, dy, diag))
    return TG_INVALID;
  tg_window_write(graph, node, &w);
  return tg_window_result(node, &w, w.in, dy->dims[tg_window_channels(&w)].size, diag);
}

tg_status tg_infer_window_gradient(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_window_shape w;
  const tg_value *dy = tg_in(node, 0), *index = tg_in(node, 1);
  if (read_input_shape(node, &w, diag) ||
      tg_window_read_extents(node, TG_ATTR_KERNEL_SHAPE, w.rank, 1, 1, w.kernel, diag))
    return TG_INVALID;
  if (index && !tg_value_same_shape(dy, index))
    return tg_fail(diag, TG_INVALID, "gradient %s and positions %s do not fit",
                   tg_value_type_text(dy, graph->arena), tg_value_type_text(index, graph->arena));
  tg_window_write(graph, node, &w);
  return tg_window_result(node, &w, w.in, dy->dims[tg_window_channels(&w)].size, diag);
}
