/* Attention's section while it is emitted: emit.c has buffers, products and stores, load.c loads, vops.c what
 * the vector units do. */
#ifndef TEGULA_MAPPER_ATTENTION_EMISSION_H
#define TEGULA_MAPPER_ATTENTION_EMISSION_H

#include "mapper/attention/parts.h"

typedef struct tg_attention_emission {
  tg_build b;
  tg_compile *c;
  const tg_attention *a;
  tg_attention_input q, k, v, epilogue_operand[TG_EPILOGUE_OPERANDS];
  tg_buffer exps, sums;
  tg_channel channels[TG_ATTENTION_ROLES];
  tg_vx_instr microcode[3]; /* of the two VOPs of the softmax, and of the drain */
  tg_attention_results results;
} tg_attention_emission;

/* The stages: loads of an AGCU, and a VOP for some units of work. */
void tg_attention_emit_loads(tg_attention_emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at);
void tg_attention_emit_vop(tg_attention_emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at);
/* The waits and posts of an instruction at those of its stage's channels whose bits are set in `which`. */
static inline void tg_attention_meet(const tg_attention_emission *e, const tg_stage *stage, uint64_t which,
                                     tg_instr *in, tg_turn at) {
  const tg_joint joint = {
      .kernel = &e->results, .in = in, .r = at.r, .col = at.col, .first = true, .last = true};
  tg_stage_meet(stage, e->channels, which, &joint);
}

/* Each unit has the buffer of its number. */
static inline void tg_attention_set_turns(tg_row_operand *operand, const tg_buffer *buffer, tg_turn units) {
  tg_set_rotating(operand, buffer, units.first % buffer->count,
                  units.count > 1 ? TG_ROTATE_EACH : TG_ROTATE_NEVER);
}

#endif
