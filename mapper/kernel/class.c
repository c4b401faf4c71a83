#include "mapper/kernel/class.h"

/* Where tilings are randomized, so is this: of the first of few that fit, seldom one would be the least. */
static bool randomly_together(const tg_compile *c, const tg_kernel *both) {
  uint32_t nodes = (uint32_t)(both->fused_count + both->prologue[0].count + both->prologue[1].count);
  return tg_randomized_cycles(c, (uint32_t)both->root->id, nodes, (uint32_t)both->input_count) < 1 << 23;
}

bool tg_is_profitable(tg_compile *c, const tg_kernel *product, const tg_kernel *both, double apart) {
  double together = tg_kernel_cycles(c, both);
  if (together >= TG_NEVER) return false;
  return c->options.any_tiling ? randomly_together(c, both) : together < tg_kernel_cycles(c, product) + apart;
}
