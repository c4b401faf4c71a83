/* Values of a microprogram as vector IR (vop_ir.c). They are <2P x i32>. An arithmetic result may be a NaN that is not
 * canonical yet (`raw`); it becomes canonical before an operation that keeps bits sees it. */
#ifndef TEGULA_FUNCTIONAL_VOP_VALUES_H
#define TEGULA_FUNCTIONAL_VOP_VALUES_H

#include "sim/functional/jit.h"
#include "sim/machine/program.h"

typedef struct tg_vop_value {
  char name[24]; /* "%v12", or a constant */
  bool raw;
} tg_vop_value;

typedef struct tg_vop_emitter {
  tg_text *t;
  const tg_vx_instr *in;
  const uint64_t *words;
  uint32_t p, n; /* n = 2P lanes */
  uint32_t next; /* number of the next value */
  tg_vop_value reg[TG_VX_REGS];
  const char *j, *j0, *j1; /* in the current segment */
} tg_vop_emitter;

static const tg_vop_value tg_vop_zero = {"zeroinitializer", false};

/* A value with a name of its own, which the caller gives a definition. */
tg_vop_value tg_vop_fresh(tg_vop_emitter *e);
/* The type of a value, as text; two may stand in one line. */
const char *tg_vop_type(const tg_vop_emitter *e);
/* What a register, or a constant, holds. */
tg_vop_value tg_vop_operand(const tg_vop_emitter *e, uint32_t which);

/* The same bits as <2P x float>, and back, not canonical. */
tg_vop_value tg_vop_as_float(tg_vop_emitter *e, tg_vop_value a);
tg_vop_value tg_vop_from_float(tg_vop_emitter *e, tg_vop_value f);
tg_vop_value tg_vop_canonical(tg_vop_emitter *e, tg_vop_value a);

/* An operation of integers: "and", "add"; b may be a splat. */
tg_vop_value tg_vop_integer(tg_vop_emitter *e, const char *op, tg_vop_value a, const char *b);
/* A piece of ir.h with one operand. */
tg_vop_value tg_vop_piece(tg_vop_emitter *e, void (*piece)(tg_text *, unsigned, const char *, const char *),
                          tg_vop_value a);
/* A vector of which lane i is lane index(i) of a (below 2P) or b (above). */
tg_vop_value tg_vop_shuffle(tg_vop_emitter *e, tg_vop_value a, tg_vop_value b,
                            uint32_t (*index)(const tg_vop_emitter *e, uint32_t lane, uint32_t c),
                            uint32_t c);
tg_vop_value tg_vop_splat(tg_vop_emitter *e, const char *scalar);
/* Lane i is first + i. */
tg_vop_value tg_vop_count_up(tg_vop_emitter *e, const char *first);

/* To BF16 or FP16 in the low half of each lane; lanes to <2P x i16>, and these widened. */
tg_vop_value tg_vop_narrow(tg_vop_emitter *e, tg_vop_value a, bool bf16);
tg_vop_value tg_vop_truncate(tg_vop_emitter *e, tg_vop_value a);
tg_vop_value tg_vop_widen(tg_vop_emitter *e, tg_vop_value halves, bool bf16);
/* Rounded to BF16 stochastically, widened again: row, `further` rows on, and j give the row, and the column of lane 0. */
tg_vop_value tg_vop_stochastic(tg_vop_emitter *e, tg_vop_value a, uint32_t further);

/* The result of a word's ALU slot. vop_alu.c */
tg_vop_value tg_vop_alu(tg_vop_emitter *e, const tg_ucode *w);

/* Names for what the caller passes (tg_vop_arguments), where the function begins. vop_arguments.c */
void tg_vop_emit_arguments(tg_vop_emitter *e);

#endif
