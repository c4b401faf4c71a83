/* The sequencer of a unit: program counter, loop indices, rotation counters, and what an execution of an
 * instruction is (docs/machine.md, section 2). Shared by the engines in C. */
#ifndef TEGULA_MACHINE_SEQUENCER_H
#define TEGULA_MACHINE_SEQUENCER_H

#include "sim/machine/chain.h"
#include "sim/machine/program.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TG_MAX_QUEUE = 256,       /* largest queue_depth */
  TG_OPERANDS = TG_STREAMS, /* most row operands of an instruction: those of a VOP */
  TG_MAX_WAITS = 4 + 17     /* waits and credits */
};
/* Places in tg_execution.address; VOP stream t is place t. */
enum { TG_AT_A, TG_AT_B, TG_AT_C };
enum { TG_AT_SRC, TG_AT_DST, TG_AT_INDEX };

/* One execution of an instruction. */
typedef struct tg_execution {
  const tg_instr *in;
  uint32_t index[TG_LEVELS];     /* loop indices */
  uint16_t address[TG_OPERANDS]; /* of each row operand */
  uint16_t pc;
  bool ends_inner; /* it ends level 2 */
  bool starts;     /* a GEMM: its first k blocks start from +0 */
  uint32_t k_left; /* valid k of a GEMM: min(k_chunk, what is left of k_total), 0 if none */
  tg_chain chain;  /* where these begin, if the GEMM rounds at the ends of K tiles */
} tg_execution;

typedef struct tg_sequencer {
  const tg_queue *queue; /* borrowed */
  tg_unit unit;
  uint32_t pc; /* finished when it is queue->count */
  uint32_t index[TG_LEVELS];
  uint8_t rotation[TG_MAX_QUEUE][TG_OPERANDS];
  tg_chain chain; /* of mx: where the last GEMM that rounds ended */
} tg_sequencer;

void tg_sequencer_init(tg_sequencer *sequencer, tg_unit unit, const tg_queue *queue);
static inline bool tg_sequencer_done(const tg_sequencer *s) { return s->pc == s->queue->count; }

/* The execution that would issue next; it stays valid after the step. Not when done. */
tg_execution tg_sequencer_peek(const tg_sequencer *sequencer);
/* To the next instruction, after an issue. */
void tg_sequencer_step(tg_sequencer *sequencer);

/* Sets what follows from the instruction and the loop indices of a GEMM; `chain`: where the one before ended. */
void tg_execution_set_chain(tg_execution *execution, tg_chain chain);
/* Does it round behind its last k? */
bool tg_execution_ends_tile(const tg_execution *execution);

/* Semaphores of the own endpoint that this execution takes one from, each. Returns how many. */
uint32_t tg_execution_waits(const tg_execution *execution, uint16_t out_semaphores[TG_MAX_WAITS]);
/* Whether this execution performs post[i]. */
bool tg_execution_posts(const tg_execution *execution, int i);

/* Where a transfer arrives: `position` on the lane `dir` of an endpoint; endpoint number of it. */
uint32_t tg_lane_endpoint(const tg_params *params, uint32_t endpoint, uint32_t dir, uint32_t position);

/* How often the instruction at `pc` runs: the product of the loops around it. */
uint64_t tg_queue_executions(const tg_queue *queue, uint32_t pc);

/* The endpoint that post[i] of an instruction at `endpoint` increments a semaphore of. */
uint32_t tg_post_endpoint(const tg_params *params, uint32_t endpoint, const tg_common_instr *instr, int i);

/* sum_l index[l] * delta[l], modulo 2^32: for the fields k_delta, sr_*_delta, m_delta, ... */
static inline uint32_t tg_execution_advance(const tg_execution *execution, const int64_t delta[TG_LEVELS]) {
  uint32_t sum = 0;
  for (int l = 0; l < TG_LEVELS; l++) sum += execution->index[l] * (uint32_t)delta[l];
  return sum;
}

#ifdef __cplusplus
}
#endif
#endif
