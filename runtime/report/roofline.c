#include "runtime/report/roofline.h"
#include "frontend/base/arena.h"
#include "frontend/base/math.h"
#include "sim/machine/mx_shape.h"
#include "sim/machine/sequencer.h"
#include "sim/machine/walk.h"

#include <math.h>
#include <stdlib.h>

static double mx_cycles(const tg_params *m, const uint64_t macs[TG_FMT_COUNT]) {
  double cycles = 0;
  for (int f = 0; f < TG_FMT_COUNT; f++) cycles += (double)macs[f] / ((double)tg_tiles(m) * tg_mx_rate(m, f));
  return cycles;
}

static tg_bound bound_of(const tg_params *m, double mx, uint64_t bytes) {
  tg_bound bound = {.mx_cycles = mx, .compulsory_bytes = bytes};
  double memory = (double)bytes / tg_peak_dram_bytes(m);
  bound.cycles = (uint64_t)ceil(mx > memory ? mx : memory);
  return bound;
}

/* ---- tables that are read by index alone */

/* Of the rows that an execution takes by index, those that are there: of walks as the mapper makes them, whose rows are
 * one digit and whose elements are one run; of others, all. */
static uint64_t chosen_bytes(const tg_execution *x) {
  const tg_agcu_instr *in = &x->in->agcu;
  int64_t first = (uint32_t)in->m_first + tg_execution_advance(x, in->m_delta),
          begin = (uint32_t)in->k_first + tg_execution_advance(x, in->k_delta);
  bool rows = in->m_radix[1] == 1 && in->m_radix[2] == 1, run = in->k_radix[0] == 1 && in->k_radix[1] == 1;
  int64_t count = rows ? tg_min(in->rows, in->m_radix[0] - first) : in->rows,
          take = run ? tg_min(in->take, in->k_radix[2] - begin) : in->take;
  return count > 0 && take > 0 ? (uint64_t)(count * take) * tg_convert_memory_bytes(in->convert) : 0;
}

static bool in_tensor(const tg_dram_tensor *tensor, uint64_t address) {
  return address >= tensor->address && address - tensor->address < tensor->bytes;
}

/* What LOADs of a context take from a tensor, of which `*out_bytes` by index; true: something otherwise. */
static bool reads_whole(const tg_queue *queue, const tg_invocation *invocation, const tg_dram_tensor *tensor,
                        uint64_t *out_bytes) {
  bool by_index = false;
  for (uint32_t pc = 0; pc < queue->count; pc++) {
    const tg_agcu_instr *in = &queue->instrs[pc].agcu;
    if (in->op != TG_OP_agcu_load || !in_tensor(tensor, invocation->bases[in->base])) continue;
    if (!in->index_size) return true;
    by_index = true;
  }
  tg_sequencer sequencer;
  tg_sequencer_init(&sequencer, TG_AGCU, queue);
  for (; by_index && !tg_sequencer_done(&sequencer); tg_sequencer_step(&sequencer)) {
    tg_execution x = tg_sequencer_peek(&sequencer);
    const tg_agcu_instr *in = &x.in->agcu;
    if (in->op == TG_OP_agcu_load && in_tensor(tensor, invocation->bases[in->base]))
      *out_bytes += chosen_bytes(&x);
  }
  return false;
}

/* Bytes of a tensor that have to be read: the rows that are chosen of one that is read by index alone, at most all. */
static uint64_t read_bytes(const tg_program *program, const tg_dram_tensor *tensor) {
  const tg_params *m = &program->params;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_section *section = &program->sections[program->invocations[i].section];
    for (uint32_t a = 0; a < tg_agcus(m); a++)
      for (uint32_t c = 0; c < m->agcu_contexts; c++)
        if (reads_whole(&section->agcus[a].contexts[c], &program->invocations[i], tensor, &bytes))
          return tensor->bytes;
  }
  return bytes && bytes < tensor->bytes ? bytes : tensor->bytes;
}

static bool has_indices(const tg_program *program) {
  const tg_params *m = &program->params;
  for (uint32_t s = 0; s < program->section_count; s++)
    for (uint32_t a = 0; a < tg_agcus(m); a++)
      for (uint32_t c = 0; c < m->agcu_contexts; c++) {
        const tg_queue *queue = &program->sections[s].agcus[a].contexts[c];
        for (uint32_t pc = 0; pc < queue->count; pc++)
          if (queue->instrs[pc].agcu.op != TG_OP_sync && queue->instrs[pc].agcu.index_size) return true;
      }
  return false;
}

tg_bound tg_program_bound(const tg_program *program) {
  double mx = 0;
  uint64_t bytes = 0;
  bool by_index = has_indices(program);
  for (uint32_t i = 0; i < program->invocation_count; i++)
    mx += mx_cycles(&program->params, program->invocations[i].macs);
  for (uint32_t t = 0; t < program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &program->tensors[t];
    bool read = tg_role_is_input(tensor->role) || tensor->role == TG_ROLE_CONSTANT;
    if (read) bytes += by_index ? read_bytes(program, tensor) : tensor->bytes;
    if (tg_role_is_output(tensor->role)) bytes += tensor->bytes;
  }
  return bound_of(&program->params, mx, bytes);
}

/* ---- sections */

/* Device memory that the executions of an instruction move: from byte `low` on and below `high`, `bytes` in
 * all. */
typedef struct extent {
  int64_t low, high;
  uint64_t bytes;
} extent;
typedef struct extents {
  extent *list;
  size_t count, capacity;
} extents;

static void add_execution(const tg_params *m, const tg_execution *x, const uint64_t *bases, extent *to) {
  const tg_agcu_instr *in = &x->in->agcu;
  int64_t low, high;
  tg_walk walk;
  tg_walk_begin(&walk, m, in, x->index, bases[in->base]);
  tg_walk_reach(&walk, &low, &high);
  if (low >= high) return;
  if (!to->bytes || low < to->low) to->low = low;
  if (!to->bytes || high > to->high) to->high = high;
  to->bytes += (uint64_t)in->rows * (uint64_t)in->take * tg_convert_memory_bytes(in->convert);
}

static void add_context(const tg_params *m, const tg_queue *queue, const uint64_t *bases, tg_arena *arena,
                        extents *loads, extents *stores) {
  extent *each = TG_NEW_ARRAY(arena, extent, queue->count + 1);
  tg_sequencer sequencer;
  tg_sequencer_init(&sequencer, TG_AGCU, queue);
  for (; !tg_sequencer_done(&sequencer); tg_sequencer_step(&sequencer)) {
    tg_execution x = tg_sequencer_peek(&sequencer);
    if (x.in->common.op != TG_OP_sync) add_execution(m, &x, bases, &each[x.pc]);
  }
  for (uint32_t pc = 0; pc < queue->count; pc++) {
    extents *to = queue->instrs[pc].common.op == TG_OP_agcu_store ? stores : loads;
    if (each[pc].bytes) TG_PUSH(arena, to->list, to->count, to->capacity, each[pc]);
  }
}

static int by_begin(const void *a, const void *b) {
  const extent *x = a, *y = b;
  return (x->low > y->low) - (x->low < y->low);
}

/* Different bytes of them: of extents that overlap, as many as there are, or as are moved. */
static uint64_t distinct_bytes(extents *all) {
  uint64_t sum = 0;
  if (all->count) qsort(all->list, all->count, sizeof *all->list, by_begin);
  for (size_t i = 0; i < all->count;) {
    extent joined = all->list[i++];
    for (; i < all->count && all->list[i].low < joined.high; i++) {
      if (all->list[i].high > joined.high) joined.high = all->list[i].high;
      joined.bytes += all->list[i].bytes;
    }
    uint64_t span = (uint64_t)(joined.high - joined.low);
    sum += span < joined.bytes ? span : joined.bytes;
  }
  return sum;
}

static uint64_t section_bytes(const tg_program *program, const tg_invocation *invocation) {
  const tg_params *m = &program->params;
  const tg_section *section = &program->sections[invocation->section];
  tg_arena arena = {0};
  extents loads = {0}, stores = {0};
  for (uint32_t a = 0; a < tg_agcus(m); a++)
    for (uint32_t c = 0; c < m->agcu_contexts; c++)
      add_context(m, &section->agcus[a].contexts[c], invocation->bases, &arena, &loads, &stores);
  uint64_t sum = distinct_bytes(&loads) + distinct_bytes(&stores);
  tg_arena_release(&arena);
  return sum;
}

void tg_invocation_bounds(const tg_program *program, tg_bound *out_bounds) {
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_invocation *invocation = &program->invocations[i];
    out_bounds[i] = bound_of(&program->params, mx_cycles(&program->params, invocation->macs),
                             section_bytes(program, invocation));
  }
}
