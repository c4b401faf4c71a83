/* What a kernel of a product would take. */
#include "mapper/gemm/gemm.h"
#include "mapper/gemm/tiling.h"

/* Of one so tiled: as long as its units and ports take, or memory. */
static double section_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_max_double(t->cycles, tg_gemm_memory_cycles(c, g, t)) + TG_SECTION_CYCLES;
}

static double phase_cycles(tg_compile *c, const tg_kernel *kernel, int64_t phase) {
  tg_gemm apart, spread;
  tg_gemm_tiling t;
  double best = TG_NEVER, together = TG_NEVER;
  if (tg_describe_gemm(c, kernel, phase, &apart) || !apart.drain_words[TG_DRAIN_FINISH]) return best;
  if (!apart.m) return 0;
  if (!tg_tile_gemm(c, &apart, &t)) best = (double)apart.products * section_cycles(c, &apart, &t);
  if (tg_spread_gemm(c, kernel, &spread) && !tg_tile_gemm(c, &spread, &t))
    together = section_cycles(c, &spread, &t);
  return together < best ? together : best;
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
