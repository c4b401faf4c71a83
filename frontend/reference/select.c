/* Moves whose every output element is one of the input's, or a fill. */
#include "frontend/reference/internal.h"

#include <stdlib.h>
#include <string.h>

/* --- by axis: where position i of output dimension d comes from; -1: from nowhere */

static int64_t pad_source(const tg_node *node, const tg_value *x, int d, int64_t i) {
  const char *mode = tg_attr_text(node, TG_ATTR_MODE);
  int64_t at = i - tg_attr_ints(node, TG_ATTR_PADS, NULL)[d], size = x->dims[d].size;
  if (at >= 0 && at < size) return at;
  if (!strcmp(mode, "edge")) return at < 0 ? 0 : size - 1;
  if (!strcmp(mode, "reflect")) return at < 0 ? -at : 2 * (size - 1) - at;
  return -1;
}

static int64_t source(const tg_node *node, const tg_value *x, int d, int64_t i) {
  switch (node->op) {
  case TG_OP_SLICE:
    return tg_attr_ints(node, TG_ATTR_STARTS, NULL)[d] + i * tg_attr_ints(node, TG_ATTR_STEPS, NULL)[d];
  case TG_OP_PAD: return pad_source(node, x, d, i);
  case TG_OP_EXPAND: return x->dims[d].size == 1 ? 0 : i;
  case TG_OP_TILE: return i % x->dims[d].size;
  default: return i / tg_attr_ints(node, TG_ATTR_FACTORS, NULL)[d];
  }
}

/* Element offsets of each position of output dimension `to`, in memory the caller frees. */
static int64_t *axis_offsets(const tg_node *node, int to) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  int d = to - (y->rank - x->rank); /* Expand adds leading dimensions */
  int64_t size = y->dims[to].size, step = d < 0 ? 0 : tg_value_elements_between(x, d + 1, x->rank);
  int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
  if (!offsets) tg_die("out of memory");
  for (int64_t i = 0; i < size; i++) {
    int64_t at = d < 0 ? 0 : source(node, x, d, i);
    offsets[i] = at < 0 ? -1 : at * step;
  }
  return offsets;
}

static void store_fill(const tg_node *node, void *cell) {
  tg_dtype dtype = tg_out(node)->dtype;
  double fill = node->op == TG_OP_PAD ? tg_attr_float(node, TG_ATTR_VALUE) : 0;
  if (tg_dtype_is_float(dtype))
    tg_store_f32(cell, dtype, 0, (float)fill);
  else
    tg_store_i64(cell, dtype, 0, (int64_t)fill);
}

void tg_reference_by_axis(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  size_t size = tg_dtype_size(y->dtype);
  int last = y->rank - 1;
  int64_t row = y->rank ? y->dims[last].size : 1, rows = row ? tg_value_elements(y) / row : 0,
          *offsets[TG_MAX_RANK];
  const int64_t whole = 0, *along = y->rank ? NULL : &whole;
  char fill[8] = {0}, *to = output;
  store_fill(node, fill);
  for (int d = 0; d < y->rank; d++) along = offsets[d] = axis_offsets(node, d);
  for (int64_t r = 0; r < rows; r++) {
    int64_t first = 0, rest = r;
    for (int d = last - 1; d >= 0; d--) {
      int64_t part = offsets[d][rest % y->dims[d].size];
      first = first < 0 || part < 0 ? -1 : first + part;
      rest /= y->dims[d].size;
    }
    for (int64_t i = 0; i < row; i++, to += size)
      memcpy(to,
             first < 0 || along[i] < 0 ? fill : (const char *)inputs[0] + (size_t)(first + along[i]) * size,
             size);
  }
  for (int d = 0; d < y->rank; d++) free(offsets[d]);
}

/* --- pieces, blocks, triangles */

void tg_reference_split(const tg_node *node, const void *const *inputs, void *const *outputs) {
  const tg_value *x = tg_in(node, 0);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  int64_t outer = tg_value_elements_between(x, 0, axis), row = tg_value_elements_between(x, axis, x->rank),
          at = 0;
  size_t size = tg_dtype_size(x->dtype);
  for (int i = 0; i < node->output_count; i++) {
    int64_t part = tg_value_elements_between(node->outputs[i], axis, x->rank);
    for (int64_t o = 0; o < outer && part; o++)
      memcpy((char *)outputs[i] + (size_t)(o * part) * size,
             (const char *)inputs[0] + (size_t)(o * row + at) * size, (size_t)part * size);
    at += part;
  }
}

/* Element [n, c, h, w] of the side with few channels is, on the other, channel
 * (h mod b * b + w mod b) * C + c (CRD: c * b * b + h mod b * b + w mod b) at [h / b, w / b]. */
void tg_reference_blocks(const tg_node *node, const void *const *inputs, void *output) {
  bool to_space = node->op == TG_OP_DEPTH_TO_SPACE;
  const tg_value *space = to_space ? tg_out(node) : tg_in(node, 0);
  int64_t block = tg_attr_int(node, TG_ATTR_BLOCKSIZE), channels = space->dims[1].size;
  int64_t height = space->dims[2].size, width = space->dims[3].size, count = tg_value_elements(space);
  bool crd = to_space && !strcmp(tg_attr_text(node, TG_ATTR_MODE), "CRD");
  size_t size = tg_dtype_size(space->dtype);
  for (int64_t e = 0; e < count; e++) {
    int64_t w = e % width, h = e / width % height, c = e / width / height % channels,
            n = e / width / height / channels;
    int64_t in_block = h % block * block + w % block;
    int64_t deep = crd ? c * block * block + in_block : in_block * channels + c;
    int64_t other =
        ((n * channels * block * block + deep) * (height / block) + h / block) * (width / block) + w / block;
    int64_t from = to_space ? other : e, to = to_space ? e : other;
    memcpy((char *)output + (size_t)to * size, (const char *)inputs[0] + (size_t)from * size, size);
  }
}

void tg_reference_trilu(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *y = tg_out(node);
  int64_t rows = y->dims[y->rank - 2].size, columns = y->dims[y->rank - 1].size, count = tg_value_elements(y),
          k = tg_attr_int(node, TG_ATTR_K);
  bool upper = tg_attr_int(node, TG_ATTR_UPPER);
  size_t size = tg_dtype_size(y->dtype);
  memset(output, 0, (size_t)count * size);
  for (int64_t e = 0; e < count; e++) {
    int64_t beyond = e % columns - e / columns % rows; /* of the diagonal */
    if (upper ? beyond >= k : beyond <= k)
      memcpy((char *)output + (size_t)e * size, (const char *)inputs[0] + (size_t)e * size, size);
  }
}
