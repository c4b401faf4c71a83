/* Shapes of operators that take or place parts of a tensor: Split, Slice, Pad, Gather, ScatterAdd. */
#include "frontend/base/math.h"
#include "frontend/infer/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- Split */

/* Equal pieces, or, with num_outputs, equal ones but for a smaller last. */
static tg_status equal_pieces(const tg_node *node, int64_t size, int64_t *out_sizes, tg_diag *diag) {
  int64_t count = node->output_count, piece = tg_div_up(size, count);
  bool ragged = tg_attr_int(node, TG_ATTR_NUM_OUTPUTS) > 0;
  if ((!ragged && size % count) || piece * (count - 1) > size)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " elements do not make %" PRId64 " pieces", size, count);
  for (int i = 0; i < count; i++) out_sizes[i] = i + 1 < count ? piece : size - piece * (count - 1);
  return TG_OK;
}

static tg_status check_pieces(const int64_t *sizes, int count, int64_t size, tg_diag *diag) {
  int64_t sum = 0;
  for (int i = 0; i < count; i++) {
    if (sizes[i] < 0 || sizes[i] > size - sum)
      return tg_fail(diag, TG_INVALID, "split does not add up to %" PRId64, size);
    sum += sizes[i];
  }
  return sum == size ? TG_OK : tg_fail(diag, TG_INVALID, "split does not add up to %" PRId64, size);
}

tg_status tg_infer_split(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (!x->rank) return tg_fail(diag, TG_INVALID, "a scalar has no axis");
  if (tg_infer_axis(node, x->rank, x->rank, diag)) return TG_INVALID;
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), count;
  int64_t asked = tg_attr_int(node, TG_ATTR_NUM_OUTPUTS), sizes[TG_MAX_RANK];
  if (asked && asked != node->output_count)
    return tg_fail(diag, TG_INVALID, "num_outputs is %" PRId64 " of %d", asked, node->output_count);
  const int64_t *given = tg_attr_ints(node, TG_ATTR_SPLIT, &count);
  int64_t *pieces = TG_NEW_ARRAY(graph->arena, int64_t, (size_t)node->output_count);
  if (count && count != node->output_count)
    return tg_fail(diag, TG_INVALID, "split has %d sizes for %d outputs", count, node->output_count);
  if (count) memcpy(pieces, given, (size_t)count * sizeof *pieces);
  if (count ? check_pieces(pieces, count, x->dims[axis].size, diag)
            : equal_pieces(node, x->dims[axis].size, pieces, diag))
    return TG_INVALID;
  tg_attr_set_ints(graph, node, TG_ATTR_SPLIT, pieces, node->output_count);
  tg_attr_set_int(node, TG_ATTR_NUM_OUTPUTS, 0);
  tg_value_sizes(x, sizes);
  for (int i = 0; i < node->output_count; i++) {
    sizes[axis] = pieces[i];
    if (tg_infer_result_at(node, i, x->dtype, x->rank, sizes, diag)) return TG_INVALID;
  }
  return TG_OK;
}

/* --- Slice */

/* One dimension as ONNX counts, then its one canonical form: `start` an index, `end` the one behind the last
 * in the step's direction (before the first: -size - 1), `step` 1 where fewer than two elements are taken.
 * Returns the number of elements. */
static int64_t normalise_range(int64_t size, int64_t *start, int64_t *end, int64_t *step) {
  int64_t s = tg_clamp(*step, -TG_MAX_ELEMENTS, TG_MAX_ELEMENTS), from = *start, to = *end;
  if (from < 0) from += size;
  if (to < 0) to += size;
  from = s > 0 ? tg_clamp(from, 0, size) : tg_clamp(from, 0, size - 1);
  to = s > 0 ? tg_clamp(to, 0, size) : tg_clamp(to, -1, size - 1);
  int64_t count = s > 0 ? tg_div_up(to - from, s) : tg_div_up(from - to, -s);
  if (size == 0 || (s > 0 ? to <= from : to >= from)) count = 0;
  if (count < 2) s = 1;
  int64_t behind = from + (count - 1) * s + (s > 0 ? 1 : -1);
  *start = count ? from : 0;
  *end = !count ? 0 : behind < 0 ? -size - 1 : behind;
  *step = s;
  return count;
}

static tg_status read_ranges(const tg_node *node, int64_t *starts, int64_t *ends, int64_t *steps,
                             tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int count, end_count, axis_count, step_count;
  const int64_t *given = tg_attr_ints(node, TG_ATTR_STARTS, &count),
                *given_ends = tg_attr_ints(node, TG_ATTR_ENDS, &end_count),
                *axes = tg_attr_ints(node, TG_ATTR_AXES, &axis_count),
                *given_steps = tg_attr_ints(node, TG_ATTR_STEPS, &step_count);
  if (!given) return tg_fail(diag, TG_INVALID, "starts are missing");
  if (count != end_count || count > x->rank || (axis_count && axis_count != count) ||
      (step_count && step_count != count))
    return tg_fail(diag, TG_INVALID, "%d starts, %d ends, %d axes, %d steps for rank %d", count, end_count,
                   axis_count, step_count, x->rank);
  bool seen[TG_MAX_RANK] = {false};
  for (int i = 0; i < count; i++) {
    int64_t axis = axis_count ? axes[i] : i;
    if (axis < -x->rank || axis >= x->rank)
      return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", axis, x->rank);
    if (axis < 0) axis += x->rank;
    if (seen[axis]) return tg_fail(diag, TG_INVALID, "axis %" PRId64 " stands twice", axis);
    seen[axis] = true;
    starts[axis] = given[i];
    ends[axis] = given_ends[i];
    steps[axis] = step_count ? given_steps[i] : 1;
    if (!steps[axis]) return tg_fail(diag, TG_INVALID, "a step is 0");
  }
  return TG_OK;
}

tg_status tg_infer_slice(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t starts[TG_MAX_RANK], ends[TG_MAX_RANK], steps[TG_MAX_RANK], axes[TG_MAX_RANK], sizes[TG_MAX_RANK];
  for (int d = 0; d < x->rank; d++) {
    starts[d] = 0, ends[d] = x->dims[d].size, steps[d] = 1;
    axes[d] = d;
  }
  if (read_ranges(node, starts, ends, steps, diag)) return TG_INVALID;
  for (int d = 0; d < x->rank; d++)
    sizes[d] = normalise_range(x->dims[d].size, &starts[d], &ends[d], &steps[d]);
  tg_attr_set_ints(graph, node, TG_ATTR_STARTS, starts, x->rank);
  tg_attr_set_ints(graph, node, TG_ATTR_ENDS, ends, x->rank);
  tg_attr_set_ints(graph, node, TG_ATTR_AXES, axes, x->rank);
  tg_attr_set_ints(graph, node, TG_ATTR_STEPS, steps, x->rank);
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}

/* --- Pad */

/* pads and axes are operands since opset 11 and 18: pads of all dimensions, whichever were given. */
tg_status tg_infer_absorb_pads(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *value = tg_in(node, 2), *axes = tg_in(node, 3);
  int64_t pads[2 * TG_MAX_RANK] = {0};
  int count, rank = x->rank;
  if (tg_infer_absorb(graph, node, 1, TG_ATTR_PADS, diag)) return TG_INVALID;
  const int64_t *given = tg_attr_ints(node, TG_ATTR_PADS, &count);
  if (value) {
    if (!tg_is_constant(value) || tg_value_elements(value) != 1 || value->dtype != x->dtype)
      return tg_fail(diag, TG_INVALID, "constant_value is no constant of the data's type");
    bool floats = tg_dtype_is_float(value->dtype);
    if (!floats && !tg_is_double(tg_load_i64(value->data, value->dtype, 0)))
      return tg_fail(diag, TG_INVALID, "constant_value is %" PRId64 ", which no double holds",
                     tg_load_i64(value->data, value->dtype, 0));
    tg_attr_set_float(node, TG_ATTR_VALUE,
                      floats ? (double)tg_load_f32(value->data, value->dtype, 0)
                             : (double)tg_load_i64(value->data, value->dtype, 0));
  }
  if (axes) {
    int most = axes->rank == 1 ? (int)axes->dims[0].size : -1;
    if (!tg_is_constant(axes) || !tg_dtype_is_integer(axes->dtype) || most < 0 || most > rank ||
        count != 2 * most)
      return tg_fail(diag, TG_INVALID, "axes do not fit pads");
    for (int i = 0; i < most; i++) {
      int64_t axis = tg_load_i64(axes->data, axes->dtype, (size_t)i);
      if (axis < -rank || axis >= rank)
        return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", axis, rank);
      if (axis < 0) axis += rank;
      pads[axis] = given[i];
      pads[rank + axis] = given[most + i];
    }
    tg_attr_set_ints(graph, node, TG_ATTR_PADS, pads, 2 * rank);
  }
  tg_node_truncate_inputs(node, 1);
  return TG_OK;
}

/* Modes that continue the data need some, and a frame no larger than what they can continue. */
static tg_status check_frame(const char *mode, int64_t size, int64_t begin, int64_t end, tg_diag *diag) {
  if (!begin && !end) return TG_OK;
  if (begin < 0 || end < 0)
    return tg_fail(diag, TG_INVALID, "mode \"%s\" with negative pads is not supported", mode);
  int64_t most = strcmp(mode, "reflect") ? (size ? TG_MAX_ELEMENTS : 0) : size - 1;
  if (begin > most || end > most)
    return tg_fail(diag, TG_INVALID, "mode \"%s\" cannot pad %" PRId64 " elements so far", mode, size);
  return TG_OK;
}

tg_status tg_infer_pad(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (!*tg_attr_text(node, TG_ATTR_MODE)) tg_attr_set_text(graph, node, TG_ATTR_MODE, "constant");
  const char *mode = tg_attr_text(node, TG_ATTR_MODE);
  bool constant = !strcmp(mode, "constant");
  if (!constant && strcmp(mode, "edge") && strcmp(mode, "reflect"))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" is not supported", mode);
  int count;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, &count);
  if (count != 2 * x->rank) return tg_fail(diag, TG_INVALID, "%d pads for rank %d", count, x->rank);
  int64_t sizes[TG_MAX_RANK];
  for (int d = 0; d < x->rank; d++) {
    int64_t begin = pads[d], end = pads[x->rank + d], size = x->dims[d].size;
    if (begin < -size || end < -size || begin > TG_MAX_ELEMENTS || end > TG_MAX_ELEMENTS ||
        size + begin + end < 0)
      return tg_fail(diag, TG_INVALID, "pads of dimension %d are %" PRId64 " and %" PRId64, d, begin, end);
    if (!constant && check_frame(mode, size, begin, end, diag)) return TG_INVALID;
    sizes[d] = size + begin + end;
  }
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}

/* --- Gather, GatherRows, ScatterRows, ScatterAdd */

static tg_status check_indices(const tg_value *indices, int64_t size, tg_diag *diag) {
  if (!tg_is_constant(indices) || indices->elided) return TG_OK;
  int64_t count = tg_value_elements(indices);
  for (int64_t i = 0; i < count; i++) {
    int64_t index = tg_load_i64(indices->data, indices->dtype, (size_t)i);
    if (index < -size || index >= size)
      return tg_fail(diag, TG_INVALID, "index %" PRId64 " is outside a dimension of %" PRId64, index, size);
  }
  return TG_OK;
}

tg_status tg_infer_gather(tg_graph *graph, tg_node *node, tg_diag *diag) {
  (void)graph;
  const tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1);
  if (!x->rank) return tg_fail(diag, TG_INVALID, "a scalar has no axis");
  if (tg_infer_axis(node, x->rank, x->rank, diag)) return TG_INVALID;
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), rank = 0;
  int64_t sizes[2 * TG_MAX_RANK];
  for (int d = 0; d < axis; d++) sizes[rank++] = x->dims[d].size;
  for (int d = 0; d < indices->rank; d++) sizes[rank++] = indices->dims[d].size;
  for (int d = axis + 1; d < x->rank; d++) sizes[rank++] = x->dims[d].size;
  if (check_indices(indices, x->dims[axis].size, diag)) return TG_INVALID;
  return tg_infer_result(node, x->dtype, rank, sizes, diag);
}

tg_status tg_infer_gather_rows(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1);
  if (x->rank != 2 || indices->rank != 1 || indices->dtype != TG_F32)
    return tg_fail(diag, TG_INVALID, "data %s and indices %s, which are no matrix and list of f32",
                   tg_value_type_text(x, graph->arena), tg_value_type_text(indices, graph->arena));
  int64_t sizes[] = {indices->dims[0].size, x->dims[1].size};
  return tg_infer_result(node, x->dtype, 2, sizes, diag);
}

tg_status tg_infer_scatter_rows(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *updates = tg_in(node, 0), *indices = tg_in(node, 1);
  int64_t size = tg_attr_int(node, TG_ATTR_SIZE);
  if (updates->rank != 2 || indices->rank != 1 || indices->dtype != TG_F32 || size < 1 ||
      indices->dims[0].size != updates->dims[0].size)
    return tg_fail(diag, TG_INVALID,
                   "updates %s and indices %s, which are no matrix and list of f32, for %" PRId64 " rows",
                   tg_value_type_text(updates, graph->arena), tg_value_type_text(indices, graph->arena),
                   size);
  int64_t sizes[] = {size, updates->dims[1].size};
  return tg_infer_result(node, TG_F32, 2, sizes, diag);
}

tg_status tg_infer_scatter_add(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1), *updates = tg_in(node, 2);
  bool fits = x->rank > 0 && updates->rank == indices->rank + x->rank - 1;
  for (int d = 0; fits && d < updates->rank; d++)
    fits = updates->dims[d].size ==
           (d < indices->rank ? indices->dims[d].size : x->dims[d - indices->rank + 1].size);
  if (!fits)
    return tg_fail(diag, TG_INVALID, "updates %s do not fit data %s and indices %s",
                   tg_value_type_text(updates, graph->arena), tg_value_type_text(x, graph->arena),
                   tg_value_type_text(indices, graph->arena));
  if (check_indices(indices, x->dims[0].size, diag)) return TG_INVALID;
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}
