#include "mapper/vector/sources.h"

#include <string.h>

bool tg_source_of(const tg_compile *c, const tg_access *access, const int64_t *dims, int rank,
                  tg_source *out) {
  int64_t strides[TG_MAX_RANK];
  *out = (tg_source){.value = tg_owner(c, access->name.value), .first = access->first};
  if (!tg_access_strides(access, dims, rank, strides)) return false;
  memcpy(out->stride, strides, sizeof *strides * (size_t)rank);
  bool outer = false;
  for (int d = 0; d < rank - 2; d++) outer |= strides[d] != 0;
  out->along = tg_along_of(&dims[rank - 2], &strides[rank - 2], 2);
  if (out->along == TG_ALONG_ROW && dims[rank - 2] == 1) out->along = TG_ALONG_FULL;
  return strides[rank - 1] <= 1 && strides[rank - 1] >= 0 && !(out->along == TG_ALONG_SCALAR && outer);
}

bool tg_is_same_source(const tg_source *a, const tg_source *b) {
  return a->value == b->value && a->first == b->first && !memcmp(a->stride, b->stride, sizeof a->stride);
}

int tg_add_source(tg_sources *operands, const tg_source *operand) {
  int at = 0;
  while (at < operands->count && !tg_is_same_source(&operands->of[at], operand)) at++;
  if (at >= operands->most) return -1;
  if (at == operands->count) operands->of[operands->count++] = *operand;
  return at;
}
