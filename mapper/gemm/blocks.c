/* Blocks of columns: stationary ones; and constant weights in the order in which the tiles of a column split load them. */
#include "mapper/gemm/tiling.h"

#include <string.h>

bool tg_gemm_parts_columns(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t stationary = tg_mx_stationary(m, g->format), lanes = tg_lanes(m);
  bool half = 2 * stationary == lanes && t->nt > lanes && t->passes_n == 1 &&
              tg_min(g->n, tg_gemm_own_columns(t)) + stationary <= t->nt,
       alone = t->split == TG_SPLIT_ROWS && t->alike == 1 && !t->paired && t->resident != TG_RESIDENT_A &&
               !t->swapped && !g->prologue.result && !g->second && !t->kept && g->image.groups <= 1,
       at_once = t->members * t->parts == 1 && tg_gemm_cuts(t) == 1 &&
                 (t->chunks == 1 || tg_gemm_has_rows_apart(t));
  return half && alone && at_once;
}

uint32_t tg_gemm_all_column_blocks(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->nt / tg_lanes(m) * tg_gemm_column_blocks(m, g, t) - tg_gemm_parts_columns(m, g, t);
}

/* Columns from `first` on of all rows of B, one row behind the other; returns what is behind them. */
static uint8_t *copy_columns(const tg_gemm *g, const uint8_t *from, int64_t first, int64_t count,
                             uint8_t *to) {
  size_t each = tg_value_bytes_each(g->b), whole = (size_t)g->n * each, row = (size_t)count * each;
  for (int64_t k = 0; k < g->k; k++, to += row)
    memcpy(to, from + (size_t)k * whole + (size_t)first * each, row);
  return to;
}

void tg_gemm_order_b(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  tg_dram_tensor *tensor = tg_place_of(c, g->b);
  uint8_t *ordered = TG_NEW_ARRAY(&c->program->arena, uint8_t, tensor->bytes), *to = ordered;
  if (!tensor->data) return; /* a rehearsal has no data */
  for (int64_t first = 0; first < g->n; first += tg_gemm_own_columns(t))
    to = copy_columns(g, tensor->data, first, tg_min(tg_gemm_own_columns(t), g->n - first), to);
  tensor->data = ordered;
}

void tg_gemm_order_columns(const tg_compile *c, const tg_gemm *g, const tg_columns *parts, int count) {
  tg_dram_tensor *tensor = tg_place_of(c, g->b);
  uint8_t *ordered = TG_NEW_ARRAY(&c->program->arena, uint8_t, tensor->bytes), *to = ordered;
  if (!tensor->data) return;
  for (int i = 0; i < count; i++) to = copy_columns(g, tensor->data, parts[i].first, parts[i].count, to);
  tensor->data = ordered;
}
