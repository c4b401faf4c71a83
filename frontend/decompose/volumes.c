/* Windows over three spatial dimensions, as windows over two. */
#include "frontend/base/math.h"
#include "frontend/decompose/compose.h"
#include "frontend/decompose/conv.h"
#include "frontend/infer/window.h"

#include <inttypes.h>
#include <string.h>

enum { SPATIAL = 3 };

typedef struct volume {
  int64_t in[SPATIAL], kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL], begin[SPATIAL], end[SPATIAL];
} volume;

static tg_status read_list(const tg_node *node, tg_attr_key key, int count, int64_t initial, int64_t fewest,
                           int64_t *out, tg_diag *diag) {
  enum { MOST = 1 << 24 };
  int given;
  const int64_t *list = tg_attr_ints(node, key, &given);
  if (given && given != count)
    return tg_fail(diag, TG_INVALID, "%s has %d values for %d", tg_attr_get(key)->name, given, count);
  for (int i = 0; i < count; i++) {
    out[i] = given ? list[i] : initial;
    if (out[i] < fewest || out[i] > MOST)
      return tg_fail(diag, TG_INVALID, "%s has value %" PRId64, tg_attr_get(key)->name, out[i]);
  }
  return TG_OK;
}

static tg_status resolve_auto_pad(const tg_node *node, volume *v, tg_diag *diag) {
  const char *mode = tg_attr_text(node, TG_ATTR_AUTO_PAD);
  if (!*mode || !strcmp(mode, "NOTSET")) return TG_OK;
  bool upper = !strcmp(mode, "SAME_UPPER"), valid = !strcmp(mode, "VALID");
  if (!upper && !valid && strcmp(mode, "SAME_LOWER"))
    return tg_fail(diag, TG_INVALID, "auto_pad \"%s\" is not supported", mode);
  for (int i = 0; i < SPATIAL; i++) {
    int64_t out = tg_div_up(v->in[i], v->stride[i]);
    int64_t total = (out - 1) * v->stride[i] + (v->kernel[i] - 1) * v->dilation[i] + 1 - v->in[i];
    if (valid || total < 0) total = 0;
    v->begin[i] = upper ? total / 2 : total - total / 2;
    v->end[i] = total - v->begin[i];
  }
  return TG_OK;
}

/* kernel of the weights, or, without, of the attribute. */
static tg_status read_volume(const tg_node *node, const tg_value *weights, volume *v, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t pads[2 * SPATIAL], given[SPATIAL];
  int count;
  if (!tg_dtype_is_float(x->dtype) || (weights && weights->dtype != x->dtype))
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
  if (weights && weights->rank != SPATIAL + 2)
    return tg_fail(diag, TG_INVALID, "weights of rank %d for data of rank 5", weights->rank);
  if (!tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "its data is empty");
  tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &count);
  if (!weights && !count) return tg_fail(diag, TG_INVALID, "kernel_shape is missing");
  if (read_list(node, TG_ATTR_KERNEL_SHAPE, SPATIAL, 1, 1, given, diag) ||
      read_list(node, TG_ATTR_STRIDES, SPATIAL, 1, 1, v->stride, diag) ||
      read_list(node, TG_ATTR_DILATIONS, SPATIAL, 1, 1, v->dilation, diag) ||
      read_list(node, TG_ATTR_PADS, 2 * SPATIAL, 0, 0, pads, diag))
    return TG_INVALID;
  for (int i = 0; i < SPATIAL; i++) {
    v->in[i] = x->dims[2 + i].size;
    v->kernel[i] = weights ? weights->dims[2 + i].size : given[i];
    v->begin[i] = pads[i];
    v->end[i] = pads[SPATIAL + i];
    if (v->kernel[i] < 1 || (weights && count && given[i] != v->kernel[i]))
      return tg_fail(diag, TG_INVALID, "kernel_shape does not fit weights of %" PRId64, v->kernel[i]);
  }
  return TG_OK;
}

/* The two dimensions from `first` on as the window of `node`. */
static void set_window(tg_build *b, tg_node *node, const volume *v, int first, int count) {
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pads[4] = {0};
  for (int i = 0; i < count; i++) {
    kernel[i] = v->kernel[first + i];
    stride[i] = v->stride[first + i];
    dilation[i] = v->dilation[first + i];
    pads[i] = v->begin[first + i];
    pads[2 + i] = v->end[first + i];
  }
  tg_attr_set_ints(b->graph, node, TG_ATTR_KERNEL_SHAPE, kernel, 2);
  tg_attr_set_ints(b->graph, node, TG_ATTR_STRIDES, stride, 2);
  tg_attr_set_ints(b->graph, node, TG_ATTR_DILATIONS, dilation, 2);
  tg_attr_set_ints(b->graph, node, TG_ATTR_PADS, pads, 4);
}

/* --- planes: a volume is so many images --- */

/* [N,C,D,H,W] as [N D, C, H, W]. */
static tg_value *as_planes(tg_build *b, tg_value *x) {
  if (b->failed) return x;
  int64_t sizes[] = {x->dims[0].size * x->dims[2].size, x->dims[1].size, x->dims[3].size, x->dims[4].size};
  return tg_build_reshape(b, tg_build_transpose(b, x, (int64_t[]){0, 2, 1, 3, 4}), 4, sizes);
}

/* [N D, C, H, W] back to [N,C,D,H,W]. */
static tg_value *as_volume(tg_build *b, tg_value *y, int64_t n, int64_t depth) {
  if (b->failed) return y;
  int64_t sizes[] = {n, depth, y->dims[1].size, y->dims[2].size, y->dims[3].size};
  return tg_build_transpose(b, tg_build_reshape(b, y, 5, sizes), (int64_t[]){0, 2, 1, 3, 4});
}

/* --- pools: over height and width, then over depth --- */

static tg_value *pooled(tg_build *b, const tg_node *from, tg_value *x, const volume *v, int first,
                        int count) {
  tg_node *node = tg_graph_add_node(b->graph, from->op, b->name, &x, 1, b->before, -1);
  set_window(b, node, v, first, count);
  tg_attr_set_int(node, TG_ATTR_CEIL_MODE, tg_attr_int(from, TG_ATTR_CEIL_MODE));
  if (from->op == TG_OP_AVERAGE_POOL)
    tg_attr_set_int(node, TG_ATTR_COUNT_INCLUDE_PAD, tg_attr_int(from, TG_ATTR_COUNT_INCLUDE_PAD));
  return tg_build_finish(b, node);
}

/* Maxima and means of boxes are those of their lines, since a box holds the padding of each of its lines alike. */
tg_status tg_make_pool_3d(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  volume v;
  const tg_value *x = tg_in(node, 0);
  if (read_volume(node, NULL, &v, diag) || resolve_auto_pad(node, &v, diag)) return TG_INVALID;
  int64_t n = x->dims[0].size, c = x->dims[1].size;
  tg_value *y = as_volume(b, pooled(b, node, as_planes(b, f32(b, tg_in(node, 0))), &v, 1, 2), n, v.in[0]);
  if (b->failed) return TG_OK;
  int64_t h = y->dims[3].size, w = y->dims[4].size, lines[] = {n, c, v.in[0], h * w};
  y = pooled(b, node, tg_build_reshape(b, y, 4, lines), &v, 0, 1);
  if (b->failed) return TG_OK;
  int64_t sizes[] = {n, c, y->dims[2].size, h, w};
  results[0] = tg_build_cast(b, tg_build_reshape(b, y, 5, sizes), x->dtype);
  return TG_OK;
}

/* --- convolutions: the depth of the kernel becomes channels --- */

/* x [N,C,D,H,W], padded in its depth: `count` planes from each `offset` [i] on, by `step`, as images whose channels are those of
 * all these planes, one plane behind the other: [N count, offsets C, H, W]. Of several groups each has its own channels together. */
static tg_value *columns(tg_build *b, tg_value *x, const int64_t *offsets, int64_t kernel, int64_t count,
                         int64_t step, int64_t groups) {
  tg_value **parts = TG_NEW_ARRAY(b->graph->arena, tg_value *, (size_t)kernel);
  int64_t n = x->dims[0].size, c = x->dims[1].size, h = x->dims[3].size, w = x->dims[4].size,
          apart[] = {n, groups, c / groups, count, h, w}, together[] = {n, c * kernel, count, h, w};
  for (int64_t k = 0; k < kernel && !b->failed; k++) {
    parts[k] = tg_build_slice(b, x, 2, offsets[k], offsets[k] + (count - 1) * step + 1, step);
    if (groups > 1 && !b->failed) parts[k] = tg_build_reshape(b, parts[k], 6, apart);
  }
  if (b->failed) return x;
  tg_value *all = kernel > 1 ? tg_build_concat(b, parts, (int)kernel, groups > 1 ? 2 : 1) : parts[0];
  if (b->failed) return x;
  return as_planes(b, groups > 1 ? tg_build_reshape(b, all, 5, together) : all);
}

static tg_status check_kernel(int64_t kernel, tg_diag *diag) {
  enum { MOST = 256 };
  return kernel <= MOST
             ? TG_OK
             : tg_fail(diag, TG_INVALID, "a kernel of depth %" PRId64 " is above %d", kernel, MOST);
}

/* A channel a group: the sum of the planes' own convolutions with each plane of the kernel. x is padded in its depth. */
static tg_value *of_each_channel(tg_build *b, tg_node *node, const volume *v, tg_value *x, int64_t depth) {
  tg_value *w = tg_in(node, 1), *sum = NULL;
  int64_t n = x->dims[0].size, c = x->dims[1].size, all = x->dims[2].size, whole = v->stride[0] == 1;
  x = tg_build_transpose(b, x, (int64_t[]){0, 2, 1, 3, 4}); /* planes */
  for (int64_t k = 0; k < v->kernel[0] && !b->failed; k++) {
    int64_t first = k * v->dilation[0], end = first + (depth - 1) * v->stride[0] + 1,
            weights[] = {c, 1, v->kernel[1], v->kernel[2]};
    tg_value *read = whole ? x : tg_build_slice(b, x, 1, first, end, v->stride[0]);
    if (b->failed) return x;
    int64_t planes[] = {n * read->dims[1].size, c, x->dims[3].size, x->dims[4].size};
    tg_value *operands[] = {tg_build_reshape(b, read, 4, planes),
                            tg_build_reshape(b, tg_build_slice(b, w, 2, k, k + 1, 1), 4, weights),
                            k ? NULL : tg_in(node, 2)};
    tg_node *conv =
        tg_graph_add_node(b->graph, TG_OP_CONV, b->name, operands, operands[2] ? 3 : 2, b->before, -1);
    set_window(b, conv, v, 1, 2);
    tg_attr_set_int(conv, TG_ATTR_GROUP, c);
    tg_value *y = tg_build_finish(b, conv);
    if (b->failed) return x;
    int64_t sizes[] = {n, whole ? all : depth, c, y->dims[2].size, y->dims[3].size};
    y = tg_build_reshape(b, y, 5, sizes);
    if (whole) y = tg_build_slice(b, y, 1, first, end, 1);
    sum = sum && !b->failed ? add(b, sum, y) : y;
  }
  return b->failed ? x : tg_build_transpose(b, sum, (int64_t[]){0, 2, 1, 3, 4});
}

/* Does the window leave height and width alone? */
static bool is_of_depth(const volume *v) {
  bool plain = true;
  for (int d = 1; d < SPATIAL; d++) plain &= v->kernel[d] * v->stride[d] == 1 && v->begin[d] + v->end[d] == 0;
  return plain;
}

/* Along the depth alone: the elements of a plane are pixels side by side. */
static tg_value *of_depth(tg_build *b, tg_node *node, const volume *v, int64_t depth) {
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1);
  int64_t height = v->in[1], width = v->in[2],
          image[] = {x->dims[0].size, x->dims[1].size, v->in[0], height * width},
          weights[] = {w->dims[0].size, w->dims[1].size, v->kernel[0], 1},
          sizes[] = {image[0], weights[0], depth, height, width};
  tg_value *operands[] = {tg_build_reshape(b, x, 4, image), tg_build_reshape(b, w, 4, weights),
                          tg_in(node, 2)};
  tg_node *conv =
      tg_graph_add_node(b->graph, TG_OP_CONV, b->name, operands, operands[2] ? 3 : 2, b->before, -1);
  set_window(b, conv, v, 0, 1);
  tg_attr_set_int(conv, TG_ATTR_GROUP, tg_attr_int(node, TG_ATTR_GROUP));
  return tg_build_reshape(b, tg_build_finish(b, conv), 5, sizes);
}

tg_status tg_make_conv_3d(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  volume v;
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1);
  if (read_volume(node, w, &v, diag) || resolve_auto_pad(node, &v, diag) || check_kernel(v.kernel[0], diag))
    return TG_INVALID;
  int64_t span = v.in[0] + v.begin[0] + v.end[0] - (v.kernel[0] - 1) * v.dilation[0] - 1;
  if (span < 0) return tg_fail(diag, TG_INVALID, "its window does not fit into the data");
  int64_t depth = span / v.stride[0] + 1, offsets[256], pads[10] = {0};
  if (is_of_depth(&v)) {
    results[0] = tg_build_cast(b, of_depth(b, node, &v, depth), x->dtype);
    return TG_OK;
  }
  pads[2] = v.begin[0];
  pads[7] = v.end[0];
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP);
  if (group < 1 || x->dims[1].size % group || w->dims[1].size != x->dims[1].size / group)
    return tg_fail(diag, TG_INVALID, "its weights do not fit the data");
  if (group > 1 && group == x->dims[1].size && group == w->dims[0].size && w->dims[1].size == 1) {
    results[0] = tg_build_cast(b, of_each_channel(b, node, &v, tg_build_pad(b, x, pads), depth), x->dtype);
    return TG_OK;
  }
  for (int64_t k = 0; k < v.kernel[0]; k++) offsets[k] = k * v.dilation[0];
  tg_value *planes = columns(b, tg_build_pad(b, x, pads), offsets, v.kernel[0], depth, v.stride[0], group);
  int64_t sizes[] = {w->dims[0].size, w->dims[1].size * v.kernel[0], v.kernel[1], v.kernel[2]};
  tg_value *weights = tg_build_reshape(b, tg_build_transpose(b, w, (int64_t[]){0, 2, 1, 3, 4}), 4, sizes);
  tg_value *operands[] = {planes, weights, tg_in(node, 2)};
  tg_node *conv =
      tg_graph_add_node(b->graph, TG_OP_CONV, b->name, operands, operands[2] ? 3 : 2, b->before, -1);
  set_window(b, conv, &v, 1, 2);
  tg_attr_set_int(conv, TG_ATTR_GROUP, group);
  results[0] = tg_build_cast(b, as_volume(b, tg_build_finish(b, conv), x->dims[0].size, depth), x->dtype);
  return TG_OK;
}

/* ---- transposed convolutions ---- */

/* x with stride - 1 zeros behind each plane but the last. */
static tg_value *spread(tg_build *b, tg_value *x, int64_t stride) {
  if (stride == 1) return x;
  int64_t pads[12] = {0}, sizes[TG_MAX_RANK], whole[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  memcpy(whole, sizes, sizeof sizes);
  whole[2] *= stride;
  pads[9] = stride - 1;
  tg_value *wide = tg_build_reshape(b, tg_build_pad(b, tg_build_insert(b, x, 3), pads), 5, whole);
  return tg_build_slice(b, wide, 2, 0, (sizes[2] - 1) * stride + 1, 1);
}

/* A transposed convolution of volumes, whose windows in height and width are the node's. */
typedef struct transposed {
  tg_node *node;
  volume v;
  int64_t more[SPATIAL]; /* output_padding */
  int64_t depth;         /* of the result */
} transposed;

/* Planes of the kernel from `first` on by `step`, as weights of images of so many planes' channels: [C count, M, kh, kw]. */
static tg_value *planes_of_weights(tg_build *b, const transposed *t, int64_t first, int64_t count,
                                   int64_t step) {
  tg_value *w = tg_build_slice(b, tg_in(t->node, 1), 2, first, first + (count - 1) * step + 1, step);
  if (b->failed) return w;
  int64_t groups = tg_attr_int(t->node, TG_ATTR_GROUP), c = w->dims[0].size, m = w->dims[1].size,
          kh = t->v.kernel[1], kw = t->v.kernel[2], apart[] = {groups, c / groups, m, count, kh, kw},
          sizes[] = {c * count, m, kh, kw};
  return tg_build_reshape(
      b, tg_build_transpose(b, tg_build_reshape(b, w, 6, apart), (int64_t[]){0, 3, 1, 2, 4, 5}), 4, sizes);
}

/* `count` planes of the result, of columns of as many. */
static tg_value *planes_of_result(tg_build *b, const transposed *t, tg_value *columns, tg_value *weights,
                                  int64_t count) {
  tg_value *operands[] = {columns, weights, tg_in(t->node, 2)};
  tg_node *conv = tg_graph_add_node(b->graph, TG_OP_CONV_TRANSPOSE, b->name, operands, operands[2] ? 3 : 2,
                                    b->before, -1);
  set_window(b, conv, &t->v, 1, 2);
  tg_attr_set_ints(b->graph, conv, TG_ATTR_OUTPUT_PADDING, t->more + 1, 2);
  tg_attr_set_int(conv, TG_ATTR_GROUP, tg_attr_int(t->node, TG_ATTR_GROUP));
  return as_volume(b, tg_build_finish(b, conv), tg_in(t->node, 0)->dims[0].size, count);
}

/* In its depth a convolution of what is spread, with the kernel reversed. */
static tg_value *of_spread(tg_build *b, const transposed *t) {
  const volume *v = &t->v;
  tg_value *x = tg_in(t->node, 0);
  int64_t reach = (v->kernel[0] - 1) * v->dilation[0], offsets[256], pads[10] = {0};
  pads[2] = reach - v->begin[0];
  pads[7] = reach - v->end[0] + t->more[0];
  for (int64_t k = 0; k < v->kernel[0]; k++) offsets[k] = reach - k * v->dilation[0];
  tg_value *planes = columns(b, tg_build_pad(b, spread(b, x, v->stride[0]), pads), offsets, v->kernel[0],
                             t->depth, 1, tg_attr_int(t->node, TG_ATTR_GROUP));
  return planes_of_result(b, t, planes, planes_of_weights(b, t, 0, v->kernel[0], 1), t->depth);
}

enum { MOST_PHASES = 8 };

/* Planes of the result whose remainder modulo the stride is the same are a convolution with every stride-th plane of the kernel;
 * such phases are stored between each other. */
static tg_value *of_phases(tg_build *b, const transposed *t) {
  const volume *v = &t->v;
  int64_t stride = v->stride[0], count = tg_div_up(t->depth, stride), most = tg_div_up(v->kernel[0], stride),
          pads[10] = {0}, last = (stride - 1 + v->begin[0]) / stride + count - 1;
  tg_value *parts[MOST_PHASES];
  pads[2] = most - 1;
  pads[7] = tg_max(last - v->in[0] + 1, 0);
  tg_value *x = tg_build_pad(b, tg_in(t->node, 0), pads);
  for (int64_t o = 0; o < stride && !b->failed; o++) {
    int64_t plane = (o + v->begin[0]) % stride, taps = tg_div_up(v->kernel[0] - plane, stride), offsets[256];
    for (int64_t k = 0; k < taps; k++) offsets[k] = most - 1 + (o + v->begin[0]) / stride - k;
    tg_value *planes = columns(b, x, offsets, taps, count, 1, tg_attr_int(t->node, TG_ATTR_GROUP));
    tg_value *y = planes_of_result(b, t, planes, planes_of_weights(b, t, plane, taps, stride), count);
    if (!b->failed) parts[o] = tg_build_insert(b, y, 3);
  }
  if (b->failed) return x;
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(parts[0], sizes);
  int64_t whole[] = {sizes[0], sizes[1], count * stride, sizes[4], sizes[5]};
  tg_value *y = tg_build_reshape(b, tg_build_concat(b, parts, (int)stride, 3), 5, whole);
  return count * stride > t->depth && !b->failed ? tg_build_slice(b, y, 2, 0, t->depth, 1) : y;
}

tg_status tg_make_conv_transpose_3d(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  transposed t = {.node = node};
  volume *v = &t.v;
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1);
  tg_window_shape window;
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP);
  if (read_volume(node, w, v, diag) || check_kernel(v->kernel[0], diag) ||
      tg_window_read_any(node, &window, diag) ||
      tg_window_place_transposed(b->graph, node, &window, t.more, diag))
    return TG_INVALID;
  memcpy(v->begin, window.begin, sizeof v->begin);
  memcpy(v->end, window.end, sizeof v->end);
  t.depth = (v->in[0] - 1) * v->stride[0] + (v->kernel[0] - 1) * v->dilation[0] + 1 - v->begin[0] -
            v->end[0] + t.more[0];
  if (t.depth < 1 || w->dims[0].size != x->dims[1].size || group < 1 || x->dims[1].size % group)
    return tg_fail(diag, TG_INVALID, "its weights do not fit the data");
  bool phases = v->stride[0] > 1 && v->stride[0] <= MOST_PHASES && v->stride[0] <= v->kernel[0] &&
                v->dilation[0] == 1 && v->begin[0] >= 0;
  results[0] = tg_build_cast(b, phases ? of_phases(b, &t) : of_spread(b, &t), x->dtype);
  return TG_OK;
}
