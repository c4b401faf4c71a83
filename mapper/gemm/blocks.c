/* Constant weights in the order in which the tiles of a column split load them. */
#include "mapper/gemm/tiling.h"

#include <string.h>

void tg_gemm_order_b(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  tg_dram_tensor *tensor = tg_place_of(c, g->b);
  size_t each = tg_value_bytes_each(g->b), whole = (size_t)g->n * each;
  uint8_t *ordered = TG_NEW_ARRAY(&c->program->arena, uint8_t, tensor->bytes), *to = ordered;
  const uint8_t *from = tensor->data;
  if (!from) return; /* a rehearsal has no data */
  for (int64_t first = 0; first < g->n; first += tg_gemm_own_columns(t)) {
    size_t row = (size_t)tg_min(tg_gemm_own_columns(t), g->n - first) * each;
    for (int64_t k = 0; k < g->k; k++, to += row)
      memcpy(to, from + (size_t)k * whole + (size_t)first * each, row);
  }
  tensor->data = ordered;
}
