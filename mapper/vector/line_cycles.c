/* How long VOPs and ports of line buffers take, and what VOPs have to do with results: whatever makes the image. */
#include "frontend/base/math.h"
#include "mapper/vector/line_totals.h"

/* ---- ports ---- */

double tg_line_port_cycles(const tg_params *m, const tg_dram_tensor *tensor, int kind, double runs,
                           double elements) {
  double atoms = runs * (double)tg_div_up((int64_t)elements * (int64_t)tg_storage_bytes(tensor->storage), 64),
         pieces = runs * tg_kind_flits(m, kind, (uint32_t)elements), cycles = atoms * tg_atom_cycles(m);
  return cycles > pieces ? cycles : pieces;
}

double tg_line_positions_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                                const tg_dram_tensor *tensor, int kind, uint32_t rows, uint32_t columns) {
  if (tg_line_is_joined(m, k, t))
    return tg_line_port_cycles(m, tensor, kind, rows,
                               (double)columns * (double)k->windows->image->dims[3].size);
  uint32_t take = tg_line_take_of(m, t);
  return tg_line_port_cycles(m, tensor, kind, (double)rows * columns, take);
}

double tg_line_store_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  return tg_line_positions_cycles(m, k, t, k->result, k->result_kind, (uint32_t)tg_line_result_rows(k, t),
                                  (uint32_t)tg_line_result_columns(k, t));
}

/* What a reduction of results makes leaves behind these, in a context of its own. */
double tg_line_totals_store_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  return k->totals
             ? tg_line_port_cycles(m, k->total, k->total_kind, tg_line_totals(k, t), tg_line_take_of(m, t))
             : 0;
}

/* ---- VOPs ---- */

int tg_line_segments(const tg_line_kernel *k, const tg_line_tiling *t) {
  return t->depth ? 2 * (int)(tg_line_parts(k, t) + (t->apart > 0)) : 3;
}

double tg_line_vop_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                          const int *words) {
  double totals = words ? tg_line_totals_cycles(m, k, t, words + tg_line_segments(k, t)) : 0;
  if (words && k->product) totals += t->made_cycles;
  if (words && t->depth) return totals + tg_line_passes_cycles(m, k, t, words);
  uint32_t depth = m->fma_latency;
  double vectors = (double)tg_div_up((int64_t)t->rows * tg_line_groups(t) * t->vectors, depth) * depth;
  for (int64_t i = 0; words && i < tg_line_window_sets(k); i++) {
    const tg_windows *w = tg_line_window_set(k, i);
    double repeats = (double)(w->taps[0] * w->taps[1]) / t->taps;
    totals += vectors * (words[0] + repeats * words[1] + words[2]) + 2.0 * depth + 2;
  }
  return totals;
}

void tg_line_join_results(const tg_line_kernel *k, tg_stage *vop) {
  tg_stage_join(vop, (tg_join){.channel = TG_LINE_RESULT,
                               .fills = true,
                               .waits = TG_OF_ENDS,
                               .posts = TG_OF_ENDS,
                               .wait = 1,
                               .post = 1});
  if (k->totals)
    tg_stage_join(vop, (tg_join){.channel = TG_LINE_TOTAL,
                                 .fills = true,
                                 .waits = TG_OF_ENDS,
                                 .posts = TG_OF_ENDS,
                                 .wait = 2,
                                 .post = 2});
}
