/* What nodes in front of a product keep in the scratchpad, and send; the time that they take. */
#include "mapper/gemm/product.h"

static uint32_t chunk_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, int kind) {
  return tg_gemm_front_rows(g, t) * tg_kind_flits(m, kind, tg_gemm_front_width(g, t));
}

uint32_t tg_gemm_front_raws_before(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                                   bool numbers, int raw) {
  uint32_t rows = 0;
  for (int i = 0; i < raw; i++)
    if (tg_gemm_front_is_number(g, i) == numbers && !g->front.raws[i].lane)
      rows += tg_gemm_front_rows(g, t) * tg_gemm_front_raw_flits(m, g, t, i);
  return rows;
}

uint32_t tg_gemm_raw_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_gemm_front_raws_before(m, g, t, false, g->front.raw_count);
}

uint32_t tg_gemm_number_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_gemm_front_raws_before(m, g, t, true, g->front.raw_count);
}

uint32_t tg_gemm_given_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return g->front.stored ? chunk_rows(m, g, t, g->front.result_kind) : 0;
}

uint32_t tg_gemm_front_vector_length(const tg_gemm *g, const tg_gemm_tiling *t) {
  return g->front.of_b ? t->nt : (uint32_t)g->k;
}

uint32_t tg_gemm_front_vectors_before(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                                      int vector) {
  uint32_t rows = 0;
  for (int v = 0; v < vector; v++)
    rows += tg_kind_flits(m, tg_stream_kind(g->front.vectors[v].value), tg_gemm_front_vector_length(g, t));
  return rows;
}

uint32_t tg_gemm_front_vector_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_gemm_front_vectors_before(m, g, t, g->front.vector_count);
}

uint32_t tg_gemm_front_parts(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t vectors = tg_gemm_front_width(g, t) / tg_lanes(m), rows = tg_gemm_front_rows(g, t);
  for (uint32_t parts = m->fma_latency; parts > 0; parts--)
    if (parts * vectors <= m->fma_latency && rows % (parts * g->front.unroll) == 0) return parts;
  return rows % g->front.unroll == 0;
}

uint64_t tg_gemm_front_once(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t vectors = tg_gemm_front_vector_rows(m, g, t);
  if (g->front.of_b) return vectors;
  return vectors + tg_gemm_externals_before(m, g, t, true, g->external_count);
}

/* Of instructions that take turns between two buffers, each with so many SENDs of its own. */
static bool can_turn(uint32_t instructions, uint32_t sends) {
  return instructions % 2 || sends % 2 == 0 || sends == 1;
}

bool tg_gemm_front_sends_fit(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t chunks = tg_gemm_chunks_a_piece(t), sends = t->mr / t->sent,
           slots = 3 * (chunks + (uint32_t)g->totals.count + 1);
  if (!g->front.stored) return true;
  return slots <= m->queue_depth && (uint64_t)t->passes_m * (t->mt / t->mr) < 1 << 20 &&
         sends % chunks == 0 && can_turn(chunks, sends / chunks) &&
         can_turn(chunks, t->mt / t->alike / t->front_sent);
}

double tg_gemm_front_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t parts = tg_gemm_front_parts(m, g, t), rows = parts * (tg_gemm_front_width(g, t) / tg_lanes(m)),
           l = m->fma_latency;
  double groups = (rows + l - 1) / l, each = (double)tg_gemm_front_rows(g, t) / (parts * g->front.unroll);
  return groups * l * (g->front.words[0] + g->front.words[1] * each) + 3.0 * l;
}

int tg_gemm_front_numbers(const tg_gemm *g) {
  int count = 0;
  for (int i = 0; i < g->front.raw_count; i++)
    count += tg_gemm_front_is_number(g, i) && !g->front.raws[i].lane;
  return count;
}

uint32_t tg_gemm_front_raw_take(const tg_gemm *g, const tg_gemm_tiling *t, int raw) {
  return tg_gemm_front_is_number(g, raw) ? (uint32_t)g->front.raws[raw].each : tg_gemm_front_width(g, t);
}

uint32_t tg_gemm_front_raw_flits(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, int raw) {
  return tg_kind_flits(m, g->front.raws[raw].kind, tg_gemm_front_raw_take(g, t, raw));
}

uint32_t tg_gemm_front_share(const tg_params *m, const tg_gemm_tiling *t) {
  return tg_exit_share(m, t->front_exits, 1) / 2;
}
