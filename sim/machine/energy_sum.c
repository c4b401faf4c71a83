#include "sim/machine/energy_sum.h"

#include <math.h>
#include <string.h>

const char *tg_energy_kind_name(tg_energy_kind kind) {
  static const char *const names[] = {"mx",   "vx",      "scratchpad", "accumulator", "network",
                                      "agcu", "control", "dram",       "leakage"};
  return names[kind];
}

static const struct {
  const char *name;
  tg_energy_kind kind;
} actions[] = {
#define ACTION(name, kind, unit, doc) {#name, TG_ENERGY_##kind},
#include "sim/machine/actions.def"
#undef ACTION
};

const char *tg_action_name(tg_action action) { return actions[action].name; }

/* `bits` of a memory of `bytes`: the price is that of 64 bits of 8 KiB, and goes with the square root of the size, the
 * length of its word and bit lines. */
static double memory(const tg_params *m, double bits, double bytes) {
  return m->energy.sram * bits / 64 * sqrt(bytes / 8192);
}

/* Registers of one lane: a word for each register of each row in flight. An operation reads three and writes one. */
static double registers(const tg_params *m) { return 4 * memory(m, 32, 4.0 * TG_VX_REGS * m->fma_latency); }

static double queue_bytes(const tg_params *m, tg_unit unit) {
  return m->queue_depth * (tg_queue_bits(unit) / 8.0);
}

double tg_action_price(const tg_params *m, tg_action action) {
  const tg_energy *e = &m->energy;
  double flit = 8.0 * tg_flit_bytes(m), word = 8.0 * sizeof(uint64_t);
  switch (action) {
  case TG_ACT_mac_fp32: return e->mac_fp32;
  case TG_ACT_mac_tf32: return e->mac_tf32;
  case TG_ACT_mac_bf16: return e->mac_bf16;
  case TG_ACT_mac_fp16: return e->mac_fp16;
  case TG_ACT_alu_multiply: return e->alu_multiply + registers(m);
  case TG_ACT_alu_simple: return e->alu_simple + registers(m);
  case TG_ACT_word: return memory(m, word, (double)sizeof(uint64_t) * m->microcode_words);
  case TG_ACT_pad_read:
  case TG_ACT_pad_write: return memory(m, flit, m->bank_bytes);
  case TG_ACT_acc_read:
  case TG_ACT_acc_write: return memory(m, 32, (double)m->acc_bytes / m->p); /* a column's half */
  case TG_ACT_flit_hop: return e->wire * flit * e->hop;
  case TG_ACT_agcu_read:
  case TG_ACT_agcu_write: return memory(m, flit, (double)tg_store_rows(m) * tg_flit_bytes(m));
  case TG_ACT_post: return e->post;
  case TG_ACT_issue_mx: return memory(m, tg_queue_bits(TG_MX), queue_bytes(m, TG_MX));
  case TG_ACT_issue_vx: return memory(m, tg_queue_bits(TG_VX), queue_bytes(m, TG_VX));
  case TG_ACT_issue_tx: return memory(m, tg_queue_bits(TG_TX), queue_bytes(m, TG_TX));
  case TG_ACT_issue_agcu: return memory(m, tg_queue_bits(TG_AGCU), queue_bytes(m, TG_AGCU));
  case TG_ACTIONS: break;
  }
  return 0;
}

double tg_chip_memory(const tg_params *m) {
  double queues = queue_bytes(m, TG_MX) + queue_bytes(m, TG_VX) + queue_bytes(m, TG_TX);
  double tile = (double)m->banks * m->bank_bytes + 2.0 * m->acc_bytes + queues +
                (double)sizeof(uint64_t) * m->microcode_words;
  double agcu = 2.0 * tg_store_rows(m) * tg_flit_bytes(m) + m->agcu_contexts * queue_bytes(m, TG_AGCU);
  return (tg_tiles(m) * tile + tg_agcus(m) * agcu) / 1024;
}

/* The price that a table has, or that of the array's device. */
static double device_price(const tg_params *m, double own, const double prices[]) {
  if (own >= 0) return own;
  const char *const *names = tg_dram_device_names();
  for (int d = 0; names[d]; d++)
    if (!strcmp(names[d], m->dram.name)) return prices[d];
  return 0;
}

static double memory_device(const tg_params *m, const tg_section_time *time, double seconds) {
  bool simple = tg_dram_is_simple(&m->dram);
  const tg_dram_counts *c = &time->dram;
  double bytes = simple ? (double)(time->dram_read + time->dram_written) : (double)(c->read + c->written);
#define DRAM_ENERGY(name, simple, ddr4, lpddr5, gddr6, hbm2e, hbm3, unit, doc)                               \
  double name = device_price(m, m->energy.name, (const double[]){simple, ddr4, lpddr5, gddr6, hbm2e, hbm3});
#include "sim/machine/energy.def"
#undef DRAM_ENERGY
  if (m->dram.tRFCpb) dram_refresh /= m->dram.groups * m->dram.banks; /* each is of one bank */
  double joules = 1e-12 * (dram_byte * bytes + dram_activate * (double)(c->misses + c->conflicts) +
                           dram_refresh * (double)c->refreshes);
  return joules + 1e-3 * dram_background * m->dram.channels * seconds;
}

tg_energy_sum tg_energy_of_section(const tg_params *m, const tg_section_time *time, uint64_t cycles) {
  tg_energy_sum sum = {{0}};
  double seconds = (double)cycles / (1e6 * m->clock_mhz);
  for (int a = 0; a < TG_ACTIONS; a++)
    sum.joules[actions[a].kind] += 1e-12 * (double)time->actions.count[a] * tg_action_price(m, (tg_action)a);
  sum.joules[TG_ENERGY_DRAM] = memory_device(m, time, seconds);
  sum.joules[TG_ENERGY_LEAKAGE] = 1e-6 * m->energy.leakage * tg_chip_memory(m) * seconds;
  return sum;
}

double tg_energy_total(const tg_energy_sum *sum) {
  double total = 0;
  for (int k = 0; k < TG_ENERGY_KINDS; k++) total += sum->joules[k];
  return total;
}

uint64_t tg_section_cycles(const tg_run_result *result, uint32_t i, uint32_t count) {
  uint64_t end = i + 1 < count ? result->sections[i + 1].begin : result->cycles;
  return end - result->sections[i].begin;
}
