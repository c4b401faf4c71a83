#include "frontend/decompose/resize.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_SIZE = 1 << 14 };

static const char *text_or(const tg_node *node, tg_attr_key key, const char *standard) {
  const char *text = tg_attr_text(node, key);
  return *text ? text : standard;
}

static bool is(const char *a, const char *b) { return !strcmp(a, b); }

/* --- places --- */

/* x / scale - less: of a scale that is given in FP32 operations, of which 3 / 0.6 is 5, as ONNX Runtime and PyTorch have it. */
static double unscaled(const tg_resize_axis *p, double x, double less) {
  if (!p->given) return x / p->scale - less;
  float quotient = (float)x / (float)p->scale;
  return (double)(quotient - (float)less);
}

double tg_resize_place(const tg_resize *r, const tg_resize_axis *p, int64_t i) {
  double width = p->scale * (double)p->from, x = (double)i, last = (double)(p->from - 1);
  if (fabs(width - (double)p->to) < 0x1p-40 * width)
    width = (double)p->to; /* of a scale that is their quotient */
  if (is(r->coordinates, "align_corners")) return width == 1 ? 0 : x * last / (width - 1);
  if (is(r->coordinates, "asymmetric")) return unscaled(p, x, 0);
  if (is(r->coordinates, "tf_half_pixel_for_nn")) return unscaled(p, x + 0.5, 0);
  if (tg_resize_crops(r))
    return p->roi[0] * last + (width == 1 ? (p->roi[1] - p->roi[0]) * last / 2
                                          : x * (p->roi[1] - p->roi[0]) * last / (width - 1));
  if (is(r->coordinates, "pytorch_half_pixel") && p->to == 1) return 0;
  if (is(r->coordinates, "half_pixel_symmetric")) /* from the middle of both, which so is exact */
    return unscaled(p, x + 0.5 - (double)p->to / 2, 0) + (double)p->from / 2 - 0.5;
  return unscaled(p, x + 0.5, 0.5);
}

static tg_status check_modes(const tg_resize *r, tg_diag *diag) {
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
static tg_status keep_ratio(const tg_node *node, tg_resize_axis *plans, const int *axes, int count,
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

/* One tg_resize_axis a dimension: sizes before and after, the scale that coordinates are mapped by, and the region that tf_crop_and_resize
 * reads. Scales decide sizes, rounded down, or sizes decide scales, keep_aspect_ratio_policy then both; dimensions that `axes`
 * does not name stay. */
static tg_status plan(const tg_resize *r, tg_resize_axis *plans, tg_diag *diag) {
  const tg_node *node = r->node;
  int axes[TG_MAX_RANK], count;
  const tg_value *x = tg_in(node, 0), *roi = node->input_count > 2 ? tg_in(node, 1) : NULL,
                 *scales = tg_in(node, node->input_count > 2 ? 2 : 1), *sizes = tg_in(node, 3);
  if (read_axes(node, x->rank, axes, &count, diag)) return TG_INVALID;
  if (scales && tg_is_constant(scales) && !tg_value_elements(scales)) scales = NULL;
  if (!is_list(scales ? scales : sizes, count))
    return tg_fail(diag, TG_INVALID, "neither scales nor sizes are constant, one for each of %d dimensions",
                   count);
  for (int d = 0; d < x->rank; d++)
    plans[d] = (tg_resize_axis){x->dims[d].size, x->dims[d].size, 1, false, {0, 1}};
  for (int i = 0; i < count; i++) {
    tg_resize_axis *p = &plans[axes[i]];
    if (scales) {
      p->scale = (double)tg_load_f32(scales->data, scales->dtype, (size_t)i);
      p->given = true;
      p->to = p->scale > 0 && p->scale < 1 << 20 ? (int64_t)((float)p->scale * (float)p->from) : 0;
    } else {
      p->to = tg_load_i64(sizes->data, sizes->dtype, (size_t)i);
      p->scale = (double)p->to / (double)p->from;
    }
    if (!tg_resize_crops(r)) continue;
    if (!is_list(roi, 2 * count)) return tg_fail(diag, TG_INVALID, "roi is not constant");
    for (int e = 0; e < 2; e++)
      p->roi[e] = (double)tg_load_f32(roi->data, roi->dtype, (size_t)i + (size_t)e * (size_t)count);
  }
  if (!scales && keep_ratio(node, plans, axes, count, diag)) return TG_INVALID;
  for (int i = 0; i < count; i++) {
    const tg_resize_axis *p = &plans[axes[i]];
    bool same = p->from == p->to;
    if (!(p->scale > 0 || (!p->from && !p->to)) || (p->to && !p->from) ||
        (!same && (p->from > MOST_SIZE || p->to > MOST_SIZE)))
      return tg_fail(diag, TG_INVALID, "dimension %d of %" PRId64 " to %" PRId64 " is not supported", axes[i],
                     p->from, p->to);
  }
  return TG_OK;
}

tg_status tg_resize_read(const tg_node *node, tg_resize *out, tg_resize_axis axes[TG_MAX_RANK],
                         tg_diag *diag) {
  *out = (tg_resize){.node = node,
                     .mode = text_or(node, TG_ATTR_MODE, "nearest"),
                     .coordinates = text_or(node, TG_ATTR_COORDINATE_MODE, "half_pixel"),
                     .nearest = text_or(node, TG_ATTR_NEAREST_MODE, "round_prefer_floor"),
                     .antialias = tg_attr_int(node, TG_ATTR_ANTIALIAS) != 0,
                     .exclude = tg_attr_int(node, TG_ATTR_EXCLUDE_OUTSIDE) != 0,
                     .cubic = tg_attr_float(node, TG_ATTR_CUBIC_COEFF_A)};
  return check_modes(out, diag) ? TG_INVALID : plan(out, axes, diag);
}
