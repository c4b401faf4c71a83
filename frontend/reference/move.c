/* Operators that move elements with their bits, and Cast. */
#include "frontend/reference/internal.h"

#include "frontend/base/float_formats.h"
#include "frontend/base/math.h"
#include "frontend/base/stochastic.h"

#include <string.h>

enum { COLUMNS = 16 }; /* elements of a line of the host's cache, about */

void tg_reference_copy(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  size_t bytes = (size_t)tg_value_elements(y) * tg_dtype_size(y->dtype);
  if (bytes) memcpy(output, inputs[0], bytes);
}

/* `count` elements of `size` bytes, `step` elements apart in `from`, side by side. */
static void gather(char *to, const char *from, int64_t step, int64_t count, size_t size) {
#define GATHER(bytes)                                                                                        \
  case bytes:                                                                                                \
    for (int64_t e = 0; e < count; e++) memcpy(to + e * bytes, from + e * step * bytes, bytes);              \
    return;
  switch (size) {
    GATHER(1)
    GATHER(2)
    GATHER(4)
    GATHER(8)
  default:
    for (int64_t e = 0; e < count; e++) memcpy(to + (size_t)e * size, from + e * step * (int64_t)size, size);
  }
#undef GATHER
}

/* A block of columns of all rows after the other: what one row reads of the source is still near when the next one reads
 * what lies beside it. */
void tg_reference_transpose(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  const int64_t *perm = tg_attr_ints(node, TG_ATTR_PERM, NULL);
  size_t size = tg_dtype_size(y->dtype);
  int last = y->rank - 1;
  int64_t count = tg_value_elements(y), steps[TG_MAX_RANK] = {1}, row = y->rank ? y->dims[last].size : 1;
  for (int i = 0; i < y->rank; i++) steps[i] = tg_value_elements_between(x, (int)perm[i] + 1, x->rank);
  int64_t step = steps[last < 0 ? 0 : last], block = step > 1 ? COLUMNS : row;
  for (int64_t first = 0; count && first < row; first += block)
    for (int64_t e = 0; e < count; e += row) {
      int64_t from = first * step, rest = e / row;
      for (int i = last - 1; i >= 0; i--) {
        from += rest % y->dims[i].size * steps[i];
        rest /= y->dims[i].size;
      }
      gather((char *)output + (size_t)(e + first) * size, (const char *)inputs[0] + (size_t)from * size, step,
             tg_min(block, row - first), size);
    }
}

void tg_reference_concat(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  size_t size = tg_dtype_size(y->dtype);
  int64_t outer = tg_value_elements_between(y, 0, axis), row = tg_value_elements_between(y, axis, y->rank),
          at = 0;
  for (int i = 0; i < node->input_count; i++) {
    int64_t part = tg_value_elements_between(tg_in(node, i), axis, y->rank);
    for (int64_t o = 0; o < outer && part; o++)
      memcpy((char *)output + (size_t)(o * row + at) * size,
             (const char *)inputs[i] + (size_t)(o * part) * size, (size_t)part * size);
    at += part;
  }
}

static void cast_element(void *output, tg_dtype to, const void *input, tg_dtype from, size_t i) {
  if (from == TG_F64)
    tg_store_f64(output, to, i, ((const double *)input)[i]);
  else if (tg_dtype_is_float(from) || tg_dtype_is_narrow(from) ||
           (from == TG_U64 && tg_dtype_is_float(to) && to != TG_F64))
    tg_store_f32(output, to, i, tg_load_f32(input, from, i));
  else if (from == TG_U64 && to == TG_F64)
    ((double *)output)[i] = (double)((const uint64_t *)input)[i];
  else
    tg_store_i64(output, to, i, tg_load_i64(input, from, i));
}

/* What policies make of most weights. */
static void cast_to_bf16(uint16_t *output, const float *input, size_t count) {
  for (size_t i = 0; i < count; i++) output[i] = tg_bf16_from_f32(tg_f32_bits(input[i]));
}

void tg_reference_cast(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  size_t count = (size_t)tg_value_elements(y);
  if (x->dtype == TG_F32 && y->dtype == TG_BF16) {
    cast_to_bf16(output, inputs[0], count);
    return;
  }
  for (size_t i = 0; i < count; i++) cast_element(output, y->dtype, inputs[0], x->dtype, i);
}

/* Row 0 and the element's index as column (docs/numerics.md). */
void tg_reference_stochastic_cast(const tg_node *node, const tg_reference_draw *draw,
                                  const void *const *inputs, void *output) {
  uint32_t key = tg_sr_tile_key(tg_sr_key(draw->seed, draw->step, (uint32_t)node->id), 0),
           row = tg_sr_row_hash(key, 0);
  size_t count = (size_t)tg_value_elements(tg_out(node));
  uint16_t *bits = output;
  for (size_t i = 0; i < count; i++)
    bits[i] = tg_bf16_stochastic(tg_f32_bits(tg_load_f32(inputs[0], tg_in(node, 0)->dtype, i)),
                                 tg_sr_r16(row, tg_sr_col_hash(key, (uint32_t)i)));
}
