/* Rows by their numbers. A number outside the dimension reads zeros and writes nothing, as on the array. */
#include "frontend/reference/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cut to an integer; NaN and what no dimension has: -2^25. */
static int64_t index_of(float x) { return fabsf(x) < 0x1p25f ? (int64_t)x : -(1 << 25); }

/* Index `i` of a dimension of `size`, negative ones counted from its end; -1: outside. */
static int64_t index_at(const tg_value *indices, const void *data, int64_t i, int64_t size) {
  int64_t index = tg_dtype_is_float(indices->dtype) ? index_of(tg_load_f32(data, indices->dtype, (size_t)i))
                                                    : tg_load_i64(data, indices->dtype, (size_t)i);
  if (index < 0) index = index < -size ? -1 : index + size;
  return index < size ? index : -1;
}

void tg_reference_gather(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1);
  int axis = node->op == TG_OP_GATHER ? (int)tg_attr_int(node, TG_ATTR_AXIS) : 0;
  int64_t outer = tg_value_elements_between(x, 0, axis), size = x->dims[axis].size,
          count = tg_value_elements(indices);
  size_t row = (size_t)tg_value_elements_between(x, axis + 1, x->rank) * tg_dtype_size(x->dtype);
  for (int64_t o = 0; o < outer && row; o++)
    for (int64_t i = 0; i < count; i++) {
      int64_t from = index_at(indices, inputs[1], i, size);
      char *to = (char *)output + (size_t)(o * count + i) * row;
      if (from < 0)
        memset(to, 0, row);
      else
        memcpy(to, (const char *)inputs[0] + (size_t)(o * size + from) * row, row);
    }
}

/* Sums of the `row` elements of updates of equal index, in their order, from +0: [size, row]. The caller frees them. */
static float *sums(const tg_value *indices, const void *numbers, const tg_value *updates, const void *data,
                   int64_t size, int64_t row) {
  int64_t count = tg_value_elements(indices);
  float *sum = calloc((size_t)(size * row) + 1, sizeof *sum);
  if (!sum) tg_die("out of memory");
  for (int64_t i = 0; i < count; i++) {
    int64_t to = index_at(indices, numbers, i, size);
    for (int64_t e = 0; to >= 0 && e < row; e++)
      sum[to * row + e] += tg_load_f32(data, updates->dtype, (size_t)(i * row + e));
  }
  return sum;
}

void tg_reference_scatter_rows(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  float *sum = sums(tg_in(node, 1), inputs[1], tg_in(node, 0), inputs[0], y->dims[0].size, y->dims[1].size);
  int64_t total = tg_value_elements(y);
  for (int64_t e = 0; e < total; e++) tg_store_f32(output, y->dtype, (size_t)e, sum[e]);
  free(sum);
}

void tg_reference_scatter_add(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0);
  int64_t total = tg_value_elements(x);
  float *data = tg_reference_widen(x, inputs[0]),
        *sum = sums(tg_in(node, 1), inputs[1], tg_in(node, 2), inputs[2], x->dims[0].size,
                    tg_value_elements_between(x, 1, x->rank));
  for (int64_t e = 0; e < total; e++) tg_store_f32(output, tg_out(node)->dtype, (size_t)e, data[e] + sum[e]);
  free(data);
  free(sum);
}
