#include "mapper/space.h"

#include <assert.h>
#include <string.h>

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
