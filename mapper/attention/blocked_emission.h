/* The section of attention by blocks while it is emitted: blocked_emit.c has buffers and stores, blocked_load.c loads,
 * blocked_queues.c what mx and vx do. */
#ifndef TEGULA_MAPPER_ATTENTION_BLOCKED_EMISSION_H
#define TEGULA_MAPPER_ATTENTION_BLOCKED_EMISSION_H

#include "mapper/attention/blocked.h"
#include "mapper/section/egress.h"

typedef struct tg_blocked_input {
  const tg_matrices *at;
  const tg_buffer *buffer;
  int entry; /* of the base table */
  int64_t residue;
} tg_blocked_input;

typedef struct tg_blocked_emission {
  tg_build b;
  tg_compile *c;
  const tg_blocked *a;
  tg_blocked_input q, k, v, operand[TG_EPILOGUE_OPERANDS];
  tg_channel channels[TG_BLOCKED_ROLES];
  tg_vx_instr microcode[TG_BLOCKED_VOPS];
  tg_store_port port;
  tg_egress_plan egress;
  int out_entry;
  int64_t out_residue;
  uint32_t out_take; /* elements of a row as they leave */
} tg_blocked_emission;

/* The first of the products that a tile computes, and of its rows of each; and as with exact attention, where what a tile
 * has alone, and what its group shares, comes from. */
static inline uint32_t tg_blocked_first_product(const tg_blocked_emission *e, uint32_t r, uint32_t col) {
  return (r * e->b.m->cols + col) / e->a->group;
}
static inline uint32_t tg_blocked_first_row(const tg_blocked_emission *e, uint32_t r, uint32_t col) {
  return (r * e->b.m->cols + col) % e->a->group * e->a->rows;
}
static inline bool tg_blocked_own_from_west(const tg_blocked_emission *e, uint32_t r, uint32_t col) {
  return e->a->group == 1 && !tg_egress_is_west(r, col);
}
static inline bool tg_blocked_shared_from_west(const tg_blocked_emission *e, uint32_t r, uint32_t col) {
  return e->a->group > 1 || !tg_egress_is_west(r, col);
}
/* Rows of a product with those that are none but fill its blocks. */
static inline int64_t tg_blocked_padded(const tg_blocked *a) {
  return (int64_t)a->rows * a->row_blocks * a->group;
}
/* A walk over a tile's blocks of rows of each of its products: loops of level 0 and 1. */
void tg_blocked_set_rows(const tg_blocked_emission *e, tg_agcu_instr *in, uint32_t r, uint32_t col);

/* The stages of AGCUs, of mx and of vx. */
void tg_blocked_emit_loads(tg_blocked_emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at);
void tg_blocked_emit_products(tg_blocked_emission *e, tg_queue *queue, tg_turn at);
void tg_blocked_emit_vops(tg_blocked_emission *e, tg_queue *queue, tg_turn at);

#endif
