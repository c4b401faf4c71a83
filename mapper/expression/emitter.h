/* Nodes while they are written as microcode, and the values that stand in registers by then. */
#ifndef TEGULA_MAPPER_EXPRESSION_EMITTER_H
#define TEGULA_MAPPER_EXPRESSION_EMITTER_H

#include "mapper/expression/expression.h"

/* A value in a register: as a number (NONE: not yet), or, what comparisons give, as a mask whose bit 31 tells
 * true, or false if `inverted`. */
typedef struct tg_held {
  const tg_value *value;
  tg_mc_ref number, mask;
  bool inverted;
  bool made; /* here, not loaded */
} tg_held;

typedef struct tg_emitter {
  tg_mc *mc;
  const tg_compile *c;
  tg_node *const *nodes;
  size_t node_count;
  tg_held *held;
  size_t count, capacity;
  const tg_operand_stream *streams;
  int stream_count;
  bool measuring;                          /* operands come from nowhere */
  const tg_value *only_stored, *unrounded; /* the latter is what a relu reads next, and rounds itself */
} tg_emitter;

/* The value is made here, in this register; as a mask, TG_MC_NONE. */
tg_held *tg_emitter_remember_made(tg_emitter *e, const tg_value *value, tg_mc_ref number);
/* What is known of a value; NULL: nothing yet. Pointers last until the next value is remembered. */
tg_held *tg_emitter_find(tg_emitter *e, tg_value *value);
/* Its register as a number: a mask becomes 1 or 0. */
tg_mc_ref tg_emitter_number(tg_emitter *e, tg_held *h);
/* Loads an operand, or part `part` of one, from its stream, or takes the register that it stands in. */
tg_mc_ref tg_emitter_load(tg_emitter *e, const tg_value *value, int part);
/* A value's register, which is loaded if need be. */
tg_mc_ref tg_emitter_fetch(tg_emitter *e, tg_value *value);

/* operators.c: a comparison, or logic, as a mask. */
tg_mc_ref tg_emit_mask(tg_emitter *e, const tg_node *node, bool *out_inverted);
/* Microcode of one node; `*out_exact`: the result is one of its operands, perhaps with another sign, so that
 * rounding to a format that they have changes nothing. TG_MC_NONE: no microcode for this operator. */
tg_mc_ref tg_emit_operator(tg_emitter *e, const tg_node *node, bool *out_exact);

#endif
