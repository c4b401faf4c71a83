/* The section of attention by blocks while it is emitted: blocked_emit.c has buffers and stores, blocked_load.c loads,
 * blocked_queues.c what mx and vx do. */
#ifndef TEGULA_MAPPER_ATTENTION_BLOCKED_EMISSION_H
#define TEGULA_MAPPER_ATTENTION_BLOCKED_EMISSION_H

#include "mapper/attention/blocked.h"
#include "mapper/attention/parts.h"

typedef struct tg_blocked_emission {
  tg_build b;
  tg_compile *c;
  const tg_blocked *a;
  tg_attention_input q, k, v, operand[TG_EPILOGUE_OPERANDS];
  tg_channel channels[TG_BLOCKED_ROLES];
  tg_vx_instr microcode[TG_BLOCKED_VOPS];
  tg_attention_results results;
} tg_blocked_emission;

/* The stages of AGCUs, of mx and of vx. */
void tg_blocked_emit_loads(tg_blocked_emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at);
void tg_blocked_emit_products(tg_blocked_emission *e, tg_queue *queue, tg_turn at);
void tg_blocked_emit_vops(tg_blocked_emission *e, tg_queue *queue, tg_turn at);

#endif
