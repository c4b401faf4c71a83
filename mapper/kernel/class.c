#include "mapper/kernel/class.h"

#include "frontend/base/math.h"
#include "mapper/kernel/memo.h"
#include "mapper/kernel/signature.h"

#include <string.h>

/* What a rehearsal errs by with a memory device. */
#define CLEARLY_OF_A_DEVICE 0.97

double tg_device_cycles(const tg_params *m, double read, double written) {
  const tg_dram_device *d = &m->dram;
  if (tg_dram_is_simple(d)) return 0;
  double turns =
      tg_min_double(read, written) / ((double)d->channels * tg_dram_access_bytes(d) * tg_dram_batch(d));
  return (read + written) / tg_peak_dram_bytes(m) +
         turns * (tg_dram_turns(d) + 2 * tg_dram_activate(d)) * m->clock_mhz * 1e-6;
}

double tg_memory_cycles(const tg_params *m, double read, double written) {
  return tg_max_double(tg_device_cycles(m, read, written), (read + written) / tg_peak_dram_bytes(m));
}

static double bytes_of(const tg_value *value) {
  return (double)tg_value_elements(value) * tg_value_bytes_each(value);
}

/* Of a kernel that loads and stores each tensor once, as all but products do. */
static double device_cycles_of(const tg_compile *c, const tg_kernel *kernel) {
  double read = 0, written = kernel->beside ? bytes_of(kernel->beside) : 0;
  if (kernel->kind == TG_KERNEL_GEMM) return 0;
  for (size_t i = 0; i < kernel->input_count; i++) read += bytes_of(kernel->inputs[i]);
  for (int i = 0; i < tg_kernel_results(kernel); i++) written += bytes_of(tg_kernel_result(kernel, i));
  return tg_device_cycles(c->m, read, written);
}

double tg_kernel_cycles(tg_compile *c, const tg_kernel *kernel) {
  const tg_kernel_class *own = tg_class_of(c, kernel);
  return own->cycles ? tg_max_double(own->cycles(c, kernel), device_cycles_of(c, kernel)) : TG_NEVER;
}

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

double tg_kernel_rehearsed(tg_compile *c, const tg_kernel *kernel) {
  uint64_t key = tg_kernel_signature(c, kernel);
  const void *known = tg_memo_find(c->rehearsals, &key, sizeof key);
  double cycles;
  if (known) {
    memcpy(&cycles, known, sizeof cycles);
    return cycles;
  }
  cycles = tg_class_of(c, kernel)->rehearsed(c, kernel);
  tg_memo_add(c->rehearsals, &key, sizeof key, &cycles, sizeof cycles);
  return cycles;
}

bool tg_is_faster(const tg_compile *c, const tg_kernel *both, double together, double apart) {
  if (together >= TG_NEVER) return false;
  if (c->options.any_tiling) return randomly_together(c, both);
  return together < (tg_dram_is_simple(&c->m->dram) ? 1 : CLEARLY_OF_A_DEVICE) * apart;
}
