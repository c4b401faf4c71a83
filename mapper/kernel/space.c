#include "mapper/kernel/space.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { MOST_SPACES = 256 };

void tg_dense_strides(const int64_t *dims, int rank, int64_t *out_strides) {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    out_strides[d] = stride;
    stride *= dims[d];
  }
}

void tg_space_begin(tg_space *space, const tg_value *output) {
  *space = (tg_space){.rank = output->rank};
  tg_value_sizes(output, space->dims);
}

int tg_space_add_strided(tg_space *space, const int64_t *strides) {
  assert(space->operands < TG_SPACE_OPERANDS);
  memcpy(space->strides[space->operands], strides, sizeof *strides * (size_t)space->rank);
  return space->operands++;
}

int tg_space_add_broadcast(tg_space *space, const tg_value *value) {
  int64_t sizes[TG_MAX_RANK], dense[TG_MAX_RANK], strides[TG_MAX_RANK] = {0};
  tg_value_sizes(value, sizes);
  tg_dense_strides(sizes, value->rank, dense);
  for (int d = 0; d < value->rank; d++) {
    int at = space->rank - value->rank + d;
    strides[at] = sizes[d] == 1 ? 0 : dense[d];
  }
  return tg_space_add_strided(space, strides);
}

static bool mergeable(const tg_space *space, int outer, int inner) {
  for (int o = 0; o < space->operands; o++)
    if (space->strides[o][outer] != space->strides[o][inner] * space->dims[inner]) return false;
  return true;
}

void tg_space_merge(tg_space *space) {
  int rank = 0;
  for (int d = 0; d < space->rank; d++) {
    if (space->dims[d] == 1) continue;
    space->dims[rank] = space->dims[d];
    for (int o = 0; o < space->operands; o++) space->strides[o][rank] = space->strides[o][d];
    if (rank > 0 && mergeable(space, rank - 1, rank)) {
      space->dims[rank - 1] *= space->dims[rank];
      for (int o = 0; o < space->operands; o++) space->strides[o][rank - 1] = space->strides[o][rank];
    } else
      rank++;
  }
  if (rank == 0) {
    space->dims[0] = 1;
    for (int o = 0; o < space->operands; o++) space->strides[o][0] = 1;
    rank = 1;
  }
  space->rank = rank;
}

void tg_merge_rows(const tg_value *a, const int64_t *stride, int first, int64_t out_radix[3],
                   int64_t out_stride[3]) {
  tg_space rows = {.operands = 1};
  for (int d = first; d < a->rank - 1; d++) {
    rows.dims[rows.rank] = a->dims[d].size;
    rows.strides[0][rows.rank++] = stride[d];
  }
  tg_space_merge(&rows);
  for (int d = 0; d < 3; d++) {
    int at = d - (3 - rows.rank);
    out_radix[d] = at >= 0 ? rows.dims[at] : 1;
    out_stride[d] = at >= 0 ? rows.strides[0][at] : 0;
  }
}

void tg_view(const tg_node *node, int64_t *out_offset, int64_t *out_strides) {
  const tg_value *in = tg_in(node, 0), *out = tg_out(node);
  int64_t sizes[TG_MAX_RANK], dense[TG_MAX_RANK] = {0};
  tg_value_sizes(in, sizes);
  tg_dense_strides(sizes, in->rank, dense);
  *out_offset = 0;
  const int64_t *perm = node->op == TG_OP_TRANSPOSE ? tg_attr_ints(node, TG_ATTR_PERM, NULL) : NULL,
                *starts = node->op == TG_OP_SLICE ? tg_attr_ints(node, TG_ATTR_STARTS, NULL) : NULL,
                *steps = node->op == TG_OP_SLICE ? tg_attr_ints(node, TG_ATTR_STEPS, NULL) : NULL;
  for (int d = 0; d < out->rank; d++) {
    out_strides[d] = dense[perm ? perm[d] : d] * (steps ? steps[d] : 1);
    if (starts) *out_offset += starts[d] * dense[d];
    if (node->op == TG_OP_EXPAND && sizes[d] == 1) out_strides[d] = 0;
  }
}

static tg_status visit_from(const tg_space *space, const int64_t *offsets, tg_space_visit *visit,
                            void *user) {
  if (space->rank <= 4) return visit(user, space, offsets);
  tg_space inner = *space;
  inner.rank--;
  for (int d = 0; d < inner.rank; d++) inner.dims[d] = space->dims[d + 1];
  for (int o = 0; o < space->operands; o++)
    for (int d = 0; d < inner.rank; d++) inner.strides[o][d] = space->strides[o][d + 1];
  tg_status status = TG_OK;
  for (int64_t i = 0; i < space->dims[0] && !status; i++) {
    int64_t moved[TG_SPACE_OPERANDS] = {0};
    for (int o = 0; o < space->operands; o++) moved[o] = offsets[o] + i * space->strides[o][0];
    status = visit_from(&inner, moved, visit, user);
  }
  return status;
}

tg_status tg_space_in_fours(const tg_compile *c, const char *what, const tg_space *space,
                            tg_space_visit *visit, void *user) {
  int64_t spaces = 1;
  for (int d = 0; d < space->rank - 4; d++) {
    spaces *= space->dims[d];
    if (spaces > MOST_SPACES)
      return tg_fail(c->diag, TG_INVALID,
                     "%s: more than four dimensions that cannot be merged, the first of %" PRId64
                     ", are not supported",
                     what, space->dims[0]);
  }
  const int64_t none[TG_SPACE_OPERANDS] = {0};
  return visit_from(space, none, visit, user);
}
