/* What the prologue of a product keeps in the scratchpad, and sends; the time that it takes. */
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"

static uint32_t chunk_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, int kind) {
  return tg_gemm_prologue_rows(g, t) * tg_kind_flits(m, kind, tg_gemm_prologue_width(g, t));
}

/* Bank rows of a row of an input: those of the chunk, or one. */
static uint32_t input_flits(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                            int prologue_input) {
  return tg_kind_flits(m, g->prologue.inputs[prologue_input].kind,
                       tg_prologue_input_take(g, t, prologue_input));
}

uint32_t tg_prologue_inputs_before(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                                   bool scalars, int prologue_input) {
  uint32_t rows = 0;
  for (int i = 0; i < prologue_input; i++)
    if (tg_gemm_prologue_is_scalar(g, i) == scalars && !g->prologue.inputs[i].lane)
      rows += tg_gemm_prologue_rows(g, t) * input_flits(m, g, t, i);
  return rows;
}

uint32_t tg_prologue_input_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_prologue_inputs_before(m, g, t, false, g->prologue.input_count);
}

uint32_t tg_gemm_scalar_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_prologue_inputs_before(m, g, t, true, g->prologue.input_count);
}

uint32_t tg_prologue_output_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return g->prologue.stored ? chunk_rows(m, g, t, g->prologue.result_kind) : 0;
}

uint32_t tg_gemm_prologue_vector_length(const tg_gemm *g, const tg_gemm_tiling *t) {
  return g->prologue.of_b ? t->nt : (uint32_t)g->k;
}

uint32_t tg_gemm_prologue_vectors_before(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                                         int vector) {
  uint32_t rows = 0;
  for (int v = 0; v < vector; v++)
    rows += tg_kind_flits(m, tg_stream_kind(g->prologue.vectors[v].name.value),
                          tg_gemm_prologue_vector_length(g, t));
  return rows;
}

uint32_t tg_gemm_prologue_vector_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_gemm_prologue_vectors_before(m, g, t, g->prologue.vector_count);
}

uint32_t tg_gemm_prologue_parts(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t vectors = tg_gemm_prologue_width(g, t) / tg_lanes(m), rows = tg_gemm_prologue_rows(g, t);
  for (uint32_t parts = m->fma_latency; parts > 0; parts--)
    if (parts * vectors <= m->fma_latency && rows % (parts * g->prologue.unroll) == 0) return parts;
  return rows % g->prologue.unroll == 0;
}

uint64_t tg_gemm_prologue_once(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t vectors = tg_gemm_prologue_vector_rows(m, g, t);
  if (g->prologue.of_b) return vectors;
  return vectors + tg_epilogue_operands_before(m, g, t, true, g->epilogue_operand_count);
}

/* Of instructions that rotate between two buffers, each with so many SENDs of its own. */
static bool can_rotate(uint32_t instructions, uint32_t sends) {
  return instructions % 2 || sends % 2 == 0 || sends == 1;
}

bool tg_gemm_prologue_sends_fit(const tg_gemm *g, const tg_gemm_tiling *t) {
  if (!g->prologue.stored || tg_gemm_drains_last(t)) return true;
  uint32_t chunks = tg_gemm_chunks_a_drain_tile(t), sends = t->mr / t->sent;
  return (uint64_t)t->passes_m * (t->mt / t->mr) < 1 << 20 && sends % chunks == 0 &&
         can_rotate(chunks, sends / chunks) && can_rotate(chunks, t->mt / t->alike / t->prologue_sent);
}

double tg_gemm_prologue_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t parts = tg_gemm_prologue_parts(m, g, t),
           rows = parts * (tg_gemm_prologue_width(g, t) / tg_lanes(m)), l = m->fma_latency;
  double groups = (rows + l - 1) / l,
         each = (double)tg_gemm_prologue_rows(g, t) / (parts * g->prologue.unroll);
  return groups * l * (g->prologue.words[0] + g->prologue.words[1] * each) + 3.0 * l;
}

int tg_gemm_prologue_scalars(const tg_gemm *g) {
  int count = 0;
  for (int i = 0; i < g->prologue.input_count; i++)
    count += tg_gemm_prologue_is_scalar(g, i) && !g->prologue.inputs[i].lane;
  return count;
}

uint32_t tg_prologue_input_take(const tg_gemm *g, const tg_gemm_tiling *t, int prologue_input) {
  return tg_gemm_prologue_is_scalar(g, prologue_input) ? (uint32_t)g->prologue.inputs[prologue_input].each
                                                       : tg_gemm_prologue_width(g, t);
}

uint32_t tg_gemm_prologue_share(const tg_params *m, const tg_gemm_tiling *t) {
  return tg_egress_share(m, t->prologue_egress, 1) / 2;
}
