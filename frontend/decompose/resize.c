/* Resize in any mode, a dimension at a time: each element of the result is a sum of neighbours along the dimension, a product with a
 * matrix of their weights; or, in mode nearest, one of them. */
#include "frontend/base/math.h"
#include "frontend/decompose/compose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZE = 1 << 14 };

typedef struct axis_plan {
  int64_t from, to; /* sizes */
  double scale;
  bool given;    /* the scale, in FP32: else it is the quotient of sizes */
  double roi[2]; /* of tf_crop_and_resize */
} axis_plan;

typedef struct resize {
  const tg_node *node;
  const char *mode, *coordinates, *nearest;
  bool antialias, exclude;
  double cubic;
} resize;

static const char *text_or(const tg_node *node, tg_attr_key key, const char *standard) {
  const char *text = tg_attr_text(node, key);
  return *text ? text : standard;
}

static bool is(const char *a, const char *b) { return !strcmp(a, b); }

static bool crops(const resize *r) { return is(r->coordinates, "tf_crop_and_resize"); }

/* x / scale - less: of a scale that is given in FP32 operations, of which 3 / 0.6 is 5, as ONNX Runtime and PyTorch have it. */
static double unscaled(const axis_plan *p, double x, double less) {
  if (!p->given) return x / p->scale - less;
  float quotient = (float)x / (float)p->scale;
  return (double)(quotient - (float)less);
}

/* Where element i of the result lies among the elements of the data. */
static double source(const resize *r, const axis_plan *p, int64_t i) {
  double width = p->scale * (double)p->from, x = (double)i, last = (double)(p->from - 1);
  if (is(r->coordinates, "align_corners")) return width == 1 ? 0 : x * last / (width - 1);
  if (is(r->coordinates, "asymmetric")) return unscaled(p, x, 0);
  if (is(r->coordinates, "tf_half_pixel_for_nn")) return unscaled(p, x + 0.5, 0);
  if (crops(r))
    return p->roi[0] * last + (width == 1 ? (p->roi[1] - p->roi[0]) * last / 2
                                          : x * (p->roi[1] - p->roi[0]) * last / (width - 1));
  if (is(r->coordinates, "pytorch_half_pixel") && p->to == 1) return 0;
  if (is(r->coordinates, "half_pixel_symmetric")) /* from the middle of both, which so is exact */
    return unscaled(p, x + 0.5 - (double)p->to / 2, 0) + (double)p->from / 2 - 0.5;
  return unscaled(p, x + 0.5, 0.5);
}

static tg_status check_modes(const resize *r, tg_diag *diag) {
  static const char *const known[] = {"half_pixel",           "align_corners",      "asymmetric",
                                      "half_pixel_symmetric", "pytorch_half_pixel", "tf_crop_and_resize",
                                      "tf_half_pixel_for_nn"};
  bool found = false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) found |= is(r->coordinates, known[i]);
  if (!found)
    return tg_fail(diag, TG_INVALID, "coordinate_transformation_mode \"%s\" is not known", r->coordinates);
  if (!is(r->mode, "nearest") && !is(r->mode, "linear") && !is(r->mode, "cubic"))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" is not known", r->mode);
  if (is(r->mode, "nearest") && !is(r->nearest, "floor") && !is(r->nearest, "ceil") &&
      !is(r->nearest, "round_prefer_floor") && !is(r->nearest, "round_prefer_ceil"))
    return tg_fail(diag, TG_INVALID, "nearest_mode \"%s\" is not known", r->nearest);
  return TG_OK;
}

/* --- sizes --- */

static tg_status read_axes(const tg_node *node, int rank, int *out_axes, int *out_count, tg_diag *diag) {
  int count;
  const int64_t *given = tg_attr_ints(node, TG_ATTR_AXES, &count);
  *out_count = count ? count : rank;
  for (int i = 0; i < *out_count; i++) {
    int64_t axis = count ? given[i] : i;
    if (count > rank || axis < -rank || axis >= rank)
      return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", axis, rank);
    out_axes[i] = (int)(axis < 0 ? axis + rank : axis);
  }
  return TG_OK;
}

static bool is_list(const tg_value *value, int count) {
  return tg_is_constant(value) && value->rank == 1 && value->dims[0].size == count;
}

/* The same scale for all axes: the smallest or largest that sizes ask for. */
static tg_status keep_ratio(const tg_node *node, axis_plan *plans, const int *axes, int count,
                            tg_diag *diag) {
  const char *policy = text_or(node, TG_ATTR_KEEP_ASPECT_RATIO_POLICY, "stretch");
  if (is(policy, "stretch")) return TG_OK;
  bool smallest = is(policy, "not_larger");
  if (!smallest && !is(policy, "not_smaller"))
    return tg_fail(diag, TG_INVALID, "keep_aspect_ratio_policy \"%s\" is not known", policy);
  double scale = plans[axes[0]].scale;
  for (int i = 1; i < count; i++) {
    double other = plans[axes[i]].scale;
    scale = smallest ? fmin(scale, other) : fmax(scale, other);
  }
  for (int i = 0; i < count; i++) {
    plans[axes[i]].scale = scale;
    plans[axes[i]].to = (int64_t)floor(scale * (double)plans[axes[i]].from + 0.5);
  }
  return TG_OK;
}

/* One axis_plan a dimension: sizes before and after, the scale that coordinates are mapped by, and the region that tf_crop_and_resize
 * reads. Scales decide sizes, rounded down, or sizes decide scales, keep_aspect_ratio_policy then both; dimensions that `axes`
 * does not name stay. */
static tg_status plan(const resize *r, axis_plan *plans, int *axes, int *count, tg_diag *diag) {
  const tg_node *node = r->node;
  const tg_value *x = tg_in(node, 0), *roi = node->input_count > 2 ? tg_in(node, 1) : NULL,
                 *scales = tg_in(node, node->input_count > 2 ? 2 : 1), *sizes = tg_in(node, 3);
  if (read_axes(node, x->rank, axes, count, diag)) return TG_INVALID;
  if (scales && tg_is_constant(scales) && !tg_value_elements(scales)) scales = NULL;
  if (!is_list(scales ? scales : sizes, *count))
    return tg_fail(diag, TG_INVALID, "neither scales nor sizes are constant, one for each of %d dimensions",
                   *count);
  for (int d = 0; d < x->rank; d++)
    plans[d] = (axis_plan){x->dims[d].size, x->dims[d].size, 1, false, {0, 1}};
  for (int i = 0; i < *count; i++) {
    axis_plan *p = &plans[axes[i]];
    if (scales) {
      p->scale = (double)tg_load_f32(scales->data, scales->dtype, (size_t)i);
      p->given = true;
      p->to = p->scale > 0 && p->scale < 1 << 20 ? (int64_t)((float)p->scale * (float)p->from) : 0;
    } else {
      p->to = tg_load_i64(sizes->data, sizes->dtype, (size_t)i);
      p->scale = (double)p->to / (double)p->from;
    }
    if (!crops(r)) continue;
    if (!is_list(roi, 2 * *count)) return tg_fail(diag, TG_INVALID, "roi is not constant");
    for (int e = 0; e < 2; e++)
      p->roi[e] = (double)tg_load_f32(roi->data, roi->dtype, (size_t)i + (size_t)e * (size_t)*count);
  }
  if (!scales && keep_ratio(node, plans, axes, *count, diag)) return TG_INVALID;
  for (int i = 0; i < *count; i++) {
    const axis_plan *p = &plans[axes[i]];
    bool same = p->from == p->to;
    if (!(p->scale > 0 || (!p->from && !p->to)) || (p->to && !p->from) ||
        (!same && (p->from > MOST_SIZE || p->to > MOST_SIZE)))
      return tg_fail(diag, TG_INVALID, "dimension %d of %" PRId64 " to %" PRId64 " is not supported", axes[i],
                     p->from, p->to);
  }
  return TG_OK;
}

/* --- weights --- */

static double cubic(double a, double x) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static int64_t nearest(const resize *r, double x) {
  return (int64_t)(is(r->nearest, "floor")               ? floor(x)
                   : is(r->nearest, "ceil")              ? ceil(x)
                   : is(r->nearest, "round_prefer_ceil") ? floor(x + 0.5)
                                                         : ceil(x - 0.5));
}

/* Column i of a matrix [from, to]: weights of the neighbours of x, which is beyond `first` by at most 1. */
static void weigh(const resize *r, const axis_plan *p, double x, float *column) {
  bool linear = is(r->mode, "linear");
  double narrow = r->antialias ? fmin(p->scale, 1) : 1, first = ceil(x) - 1, ratio = x - first, sum = 0;
  int64_t begin = (int64_t)floor((linear ? -1 : -2) / narrow) + 1, end = 2 - begin;
  if (linear) end = begin + 2 - 2 * begin;
  for (int pass = 0; pass < 2; pass++)
    for (int64_t k = begin; k < end; k++) {
      double distance = ((double)k - ratio) * narrow;
      double weight = linear ? fmax(1 - fabs(distance), 0) : cubic(r->cubic, distance);
      int64_t at = (int64_t)first + k;
      if (r->exclude && (at < 0 || at >= p->from)) continue;
      if (pass)
        column[tg_clamp(at, 0, p->from - 1) * p->to] +=
            (float)(r->antialias || r->exclude ? weight / sum : weight);
      else
        sum += weight;
    }
}

static tg_value *chosen(tg_build *b, const resize *r, const axis_plan *p, tg_value *x, int axis) {
  tg_value *indices = tg_build_made(b, TG_I64, 1, &p->to);
  if (b->failed) return indices;
  for (int64_t i = 0; i < p->to; i++)
    ((int64_t *)indices->data)[i] = tg_clamp(nearest(r, source(r, p, i)), 0, p->from - 1);
  tg_value *operands[] = {x, indices};
  tg_node *gather = tg_graph_add_node(b->graph, TG_OP_GATHER, b->name, operands, 2, b->before, -1);
  tg_attr_set_int(gather, TG_ATTR_AXIS, axis);
  return tg_build_finish(b, gather);
}

/* The one element that there is. */
static tg_value *repeated(tg_build *b, const axis_plan *p, tg_value *x, int axis) {
  int64_t sizes[TG_MAX_RANK];
  if (b->failed) return x;
  tg_value_sizes(x, sizes);
  sizes[axis] = p->to;
  return tg_build_expand(b, x, x->rank, sizes);
}

static tg_value *weighed(tg_build *b, const resize *r, const axis_plan *p, tg_value *x, int axis) {
  tg_value *weights = tg_build_made(b, TG_F32, 2, (int64_t[]){p->from, p->to});
  if (b->failed) return weights;
  for (int64_t i = 0; i < p->to; i++) weigh(r, p, source(r, p, i), (float *)weights->data + i);
  tg_value *rows = tg_build_move(b, x, axis, x->rank - 1);
  return tg_build_move(b, tg_build_matmul(b, f32(b, rows), weights), x->rank - 1, axis);
}

/* What lies outside of the data where it is cropped. */
static tg_value *extrapolated(tg_build *b, const resize *r, const axis_plan *p, tg_value *y, int axis) {
  int64_t sizes[TG_MAX_RANK];
  bool any = false;
  for (int d = 0; d < y->rank; d++) sizes[d] = d == axis ? p->to : 1;
  tg_value *outside = tg_build_made(b, TG_BOOL, y->rank, sizes);
  if (b->failed) return outside;
  for (int64_t i = 0; i < p->to; i++) {
    double x = source(r, p, i);
    any |= ((uint8_t *)outside->data)[i] = x < 0 || x > (double)(p->from - 1);
  }
  tg_value *value =
      tg_graph_add_scalar(b->graph, "number", y->dtype, tg_attr_float(r->node, TG_ATTR_EXTRAPOLATION_VALUE));
  return any ? tg_build_cast(b, tg_build_where(b, outside, value, y), y->dtype) : y;
}

static tg_value *of_nothing(tg_build *b, const tg_value *x, const axis_plan *plans) {
  int64_t sizes[TG_MAX_RANK];
  for (int d = 0; d < x->rank; d++) sizes[d] = plans[d].to;
  return tg_build_made(b, x->dtype, x->rank, sizes);
}

tg_status tg_make_resize(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  resize r = {.node = node,
              .mode = text_or(node, TG_ATTR_MODE, "nearest"),
              .coordinates = text_or(node, TG_ATTR_COORDINATE_MODE, "half_pixel"),
              .nearest = text_or(node, TG_ATTR_NEAREST_MODE, "round_prefer_floor"),
              .antialias = tg_attr_int(node, TG_ATTR_ANTIALIAS) != 0,
              .exclude = tg_attr_int(node, TG_ATTR_EXCLUDE_OUTSIDE) != 0,
              .cubic = tg_attr_float(node, TG_ATTR_CUBIC_COEFF_A)};
  tg_value *x = tg_in(node, 0), *y = x;
  axis_plan plans[TG_MAX_RANK];
  int axes[TG_MAX_RANK], count;
  bool picks = is(r.mode, "nearest");
  if (check_modes(&r, diag) || plan(&r, plans, axes, &count, diag)) return TG_INVALID;
  if (!picks && !tg_dtype_is_float(x->dtype))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" of %s is not supported", r.mode, tg_dtype_name(x->dtype));
  double elements = 1;
  for (int d = 0; d < x->rank; d++) elements *= (double)plans[d].to;
  if (tg_compose_bounded(elements, diag)) return TG_INVALID;
  if (!elements) {
    results[0] = of_nothing(b, x, plans);
    return TG_OK;
  }
  for (int i = 0; i < count; i++) {
    const axis_plan *p = &plans[axes[i]];
    if (p->from == p->to && p->scale == 1 && !crops(&r)) continue;
    if (picks || (p->from == 1 && is(r.mode, "linear"))) /* there is nothing between one element and itself */
      y = p->from == 1 ? repeated(b, p, y, axes[i]) : chosen(b, &r, p, y, axes[i]);
    else
      y = weighed(b, &r, p, y, axes[i]);
    if (crops(&r)) y = extrapolated(b, &r, p, y, axes[i]);
  }
  results[0] = y == x ? tg_build_unary(b, TG_OP_IDENTITY, x) : tg_build_cast(b, y, x->dtype);
  return TG_OK;
}
