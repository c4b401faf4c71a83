/* Shapes of operators that repeat or regroup elements: Expand, Tile, Resize, DepthToSpace, SpaceToDepth,
 * Trilu. */
#include "frontend/infer/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

tg_status tg_infer_expand(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int count, rank;
  const int64_t *shape = tg_attr_ints(node, TG_ATTR_SHAPE, &count);
  int64_t own[TG_MAX_RANK], sizes[TG_MAX_RANK];
  if (count > TG_MAX_RANK) return tg_fail(diag, TG_INVALID, "rank %d is above %d", count, TG_MAX_RANK);
  for (int i = 0; i < count; i++)
    if (shape[i] < 0) return tg_fail(diag, TG_INVALID, "shape has size %" PRId64, shape[i]);
  tg_value_sizes(x, own);
  if (!tg_broadcast(x->rank, own, count, shape, &rank, sizes))
    return tg_fail(diag, TG_INVALID, "%s does not broadcast to shape", tg_value_type_text(x, graph->arena));
  tg_attr_set_ints(graph, node, TG_ATTR_SHAPE, sizes, rank);
  return tg_infer_result(node, x->dtype, rank, sizes, diag);
}

/* The input's sizes times a list of factors. */
static tg_status infer_multiple(tg_node *node, tg_attr_key key, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int count;
  const int64_t *factors = tg_attr_ints(node, key, &count);
  int64_t sizes[TG_MAX_RANK];
  if (count != x->rank)
    return tg_fail(diag, TG_INVALID, "%d %s for rank %d", count, tg_attr_get(key)->name, x->rank);
  for (int d = 0; d < x->rank; d++)
    if (factors[d] < 0 || __builtin_mul_overflow(x->dims[d].size, factors[d], &sizes[d]))
      return tg_fail(diag, TG_INVALID, "%s of dimension %d is %" PRId64, tg_attr_get(key)->name, d,
                     factors[d]);
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}

tg_status tg_infer_tile(tg_graph *graph, tg_node *node, tg_diag *diag) {
  (void)graph;
  return infer_multiple(node, TG_ATTR_REPEATS, diag);
}

/* --- Resize by whole factors */

static const char *coordinate_mode(const tg_node *node) {
  const char *text = tg_attr_text(node, TG_ATTR_COORDINATE_MODE);
  return *text ? text : "half_pixel";
}

static const char *nearest_mode(const tg_node *node) {
  const char *text = tg_attr_text(node, TG_ATTR_NEAREST_MODE);
  return *text ? text : "round_prefer_floor";
}

/* Where ONNX's formulas take element i of `size * factor` from; NaN: a mode that is not known. */
static double nearest_source(const tg_node *node, int64_t i, int64_t size, int64_t factor) {
  const char *coordinates = coordinate_mode(node), *mode = nearest_mode(node);
  double x = NAN;
  if (!strcmp(coordinates, "asymmetric")) x = (double)i / (double)factor;
  if (!strcmp(coordinates, "half_pixel")) x = ((double)i + 0.5) / (double)factor - 0.5;
  if (!strcmp(coordinates, "pytorch_half_pixel"))
    x = size * factor > 1 ? ((double)i + 0.5) / (double)factor - 0.5 : 0.0;
  double nearest = !strcmp(mode, "floor")                ? floor(x)
                   : !strcmp(mode, "ceil")               ? ceil(x)
                   : !strcmp(mode, "round_prefer_ceil")  ? floor(x + 0.5)
                   : !strcmp(mode, "round_prefer_floor") ? ceil(x - 0.5)
                                                         : NAN;
  return nearest < 0 ? 0 : nearest > (double)(size - 1) ? (double)(size - 1) : nearest;
}

/* Are the elements repeated in place, as they are by most modes? Their pattern has the factor's period. */
static tg_status check_pattern(const tg_node *node, int64_t size, int64_t factor, tg_diag *diag) {
  for (int64_t i = 0; i < 2 * factor && i < size * factor; i++)
    if (!(nearest_source(node, i, size, factor) == (double)(i / factor)))
      return tg_fail(diag, TG_INVALID,
                     "coordinate_transformation_mode \"%s\" with nearest_mode \"%s\" is not supported",
                     coordinate_mode(node), nearest_mode(node));
  return TG_OK;
}

/* Factor of dimension d by the operand that has them or sizes; -1: it is none. */
static int64_t read_factor(const tg_value *x, const tg_value *scales, const tg_value *sizes, int d) {
  if (scales) {
    double scale = (double)tg_load_f32(scales->data, scales->dtype, (size_t)d);
    return scale >= 1 && scale <= 1 << 20 && scale == floor(scale) ? (int64_t)scale : -1;
  }
  int64_t size = x->dims[d].size, wanted = tg_load_i64(sizes->data, sizes->dtype, (size_t)d);
  return size > 0 && wanted >= size && wanted % size == 0 && wanted / size <= 1 << 20 ? wanted / size : -1;
}

/* Scales have been an operand since opset 9 (Resize 11: the third, sizes the fourth). */
tg_status tg_infer_absorb_factors(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *scales = tg_in(node, node->input_count > 2 ? 2 : 1),
                 *sizes = tg_in(node, 3);
  if (node->input_count < 2) return TG_OK;
  if (scales && tg_is_constant(scales) && !tg_value_elements(scales)) scales = NULL;
  const tg_value *given = scales ? scales : sizes;
  if (!given || !tg_is_constant(given))
    return tg_fail(diag, TG_INVALID, "neither scales nor sizes are constant");
  if (given->rank != 1 || given->dims[0].size != x->rank ||
      !(scales ? tg_dtype_is_float(given->dtype) : tg_dtype_is_integer(given->dtype)))
    return tg_fail(diag, TG_INVALID, "%s do not fit data of rank %d", scales ? "scales" : "sizes", x->rank);
  int64_t factors[TG_MAX_RANK];
  for (int d = 0; d < x->rank; d++) {
    factors[d] = read_factor(x, scales, scales ? NULL : sizes, d);
    if (factors[d] < 0)
      return tg_fail(diag, TG_INVALID,
                     "dimension %d is not enlarged by a whole factor, which is not supported", d);
  }
  tg_attr_set_ints(graph, node, TG_ATTR_FACTORS, factors, x->rank);
  tg_node_truncate_inputs(node, 1);
  return TG_OK;
}

bool tg_infer_repeats(const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *scales = tg_in(node, node->input_count > 2 ? 2 : 1),
                 *sizes = tg_in(node, 3);
  const char *mode = tg_attr_text(node, TG_ATTR_MODE);
  tg_diag ignored;
  if (node->input_count < 2) return true;
  if (*mode && strcmp(mode, "nearest")) return false;
  if (scales && tg_is_constant(scales) && !tg_value_elements(scales)) scales = NULL;
  const tg_value *given = scales ? scales : sizes;
  if (!tg_is_constant(given) || given->rank != 1 || given->dims[0].size != x->rank || x->rank > TG_MAX_RANK ||
      *tg_attr_text(node, TG_ATTR_KEEP_ASPECT_RATIO_POLICY))
    return false;
  int count;
  tg_attr_ints(node, TG_ATTR_AXES, &count);
  for (int d = 0; !count && d < x->rank; d++) {
    int64_t factor = read_factor(x, scales, scales ? NULL : sizes, d);
    if (factor < 0 || check_pattern(node, x->dims[d].size, factor, &ignored)) return false;
  }
  return !count;
}

tg_status tg_infer_resize(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  const char *mode = tg_attr_text(node, TG_ATTR_MODE);
  if (*mode && strcmp(mode, "nearest"))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" is not supported, only nearest is", mode);
  int count;
  const int64_t *factors = tg_attr_ints(node, TG_ATTR_FACTORS, &count);
  for (int d = 0; d < count && d < x->rank; d++)
    if (factors[d] < 1 || factors[d] > 1 << 20 || check_pattern(node, x->dims[d].size, factors[d], diag))
      return TG_INVALID;
  return infer_multiple(node, TG_ATTR_FACTORS, diag);
}

/* --- blocks of images */

tg_status tg_infer_blocks(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  bool to_space = node->op == TG_OP_DEPTH_TO_SPACE;
  int64_t block = tg_attr_int(node, TG_ATTR_BLOCKSIZE), sizes[TG_MAX_RANK];
  const char *mode = to_space ? tg_attr_text(node, TG_ATTR_MODE) : "";
  if (*mode && strcmp(mode, "DCR") && strcmp(mode, "CRD"))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" is neither DCR nor CRD", mode);
  if (x->rank != 4) return tg_fail(diag, TG_INVALID, "data of rank %d is no image", x->rank);
  tg_value_sizes(x, sizes);
  if (block < 1 || block > 1 << 15 ||
      (to_space ? sizes[1] % (block * block) : sizes[2] % block || sizes[3] % block))
    return tg_fail(diag, TG_INVALID, "blocksize %" PRId64 " does not divide %s", block,
                   to_space ? "the channels" : "the image");
  sizes[1] = to_space ? sizes[1] / (block * block) : sizes[1] * block * block;
  for (int d = 2; d < 4; d++) sizes[d] = to_space ? sizes[d] * block : sizes[d] / block;
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}

tg_status tg_infer_trilu(tg_graph *graph, tg_node *node, tg_diag *diag) {
  (void)graph;
  const tg_value *x = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  if (x->rank < 2) return tg_fail(diag, TG_INVALID, "data of rank %d is no matrix", x->rank);
  tg_value_sizes(x, sizes);
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}
