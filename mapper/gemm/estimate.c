/* What a kernel of a product would take. */
#include "frontend/base/math.h"
#include "mapper/gemm/gemm.h"
#include "mapper/gemm/tiling.h"

/* Of one so tiled: as long as its units and ports take, or memory. */
static double section_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_max_double(t->cycles, tg_gemm_memory_cycles(c, g, t)) + TG_SECTION_CYCLES;
}

/* Of the tilings that are replayed the fastest. TG_NEVER: there is none. */
static double fastest(const tg_compile *c, const tg_gemm *g) {
  tg_gemm_tiling first;
  double best = TG_NEVER;
  if (tg_tile_gemm(c, g, &first)) return best;
  tg_gemm_candidates near = tg_gemm_candidates_worth_a_replay(c, g);
  for (int i = 0; i < near.count; i++) best = tg_min_double(best, section_cycles(c, g, &near.tiling[i]));
  return best;
}

/* Of the fastest way. */
static double phase_cycles(tg_compile *c, const tg_kernel *kernel, int64_t phase) {
  tg_gemm_ways ways;
  double best = TG_NEVER;
  if (tg_gemm_list_ways(c, kernel, phase, &ways)) return TG_NEVER;
  if (!ways.count) return 0;
  if (!ways.way[0].drain_words[TG_DRAIN_FINISH]) return TG_NEVER;
  for (int i = 0; i < ways.count; i++) {
    double product = fastest(c, &ways.way[i]);
    if (product < TG_NEVER) best = tg_min_double(best, (double)ways.way[i].products * product);
  }
  return best;
}

double tg_product_cycles(const tg_compile *c, const tg_kernel *kernel) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  double sum = 0;
  for (int64_t phase = 0; phase < tg_gemm_phases(kernel->root); phase++)
    sum += phase_cycles(&quiet, kernel, phase);
  return sum;
}
