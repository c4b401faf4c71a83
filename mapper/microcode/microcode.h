/* Microprograms of the vector unit: written in virtual registers, packed into words of three slots. */
#ifndef TEGULA_MAPPER_MICROCODE_MICROCODE_H
#define TEGULA_MAPPER_MICROCODE_MICROCODE_H

#include "sim/machine/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An operand: a virtual register (>= 0), or a constant made by tg_mc_const. Immediates are passed as plain
 * numbers. */
typedef int tg_mc_ref;
enum { TG_MC_NONE = INT32_MIN };
enum {
  TG_MC_TABLE = 32, /* entries of a table, and constants beside one */
  TG_MC_CONSTANTS = 64,
  TG_MC_SEGMENTS = 3 * TG_SEGMENTS /* of several VOPs together */
};

typedef struct tg_mc_op {
  enum { TG_MC_LOAD, TG_MC_ALU, TG_MC_STORE } kind;
  int segment;
  int stream, half; /* load, store */
  tg_alu alu;
  int dst;        /* virtual register */
  tg_mc_ref a[3]; /* operands; stores use a[0] */
  int immediate;  /* rot, bcast, tail; else -1 */
  int word;       /* after packing */
} tg_mc_op;

typedef struct tg_mc {
  tg_arena *arena;
  tg_mc_op *ops;
  size_t count, capacity;
  int registers;                       /* virtual ones so far */
  int segment;                         /* that new operations go to */
  uint32_t constants[TG_MC_CONSTANTS]; /* at most 32 of them beside a table */
  int constant_count;
  const float *table; /* of 32, for lookups; NULL without */
  uint32_t words;     /* of all segments, as tg_mc_fits has found */
  bool overflow;      /* too many constants or tables, or an operand from nowhere: tg_mc_pack will fail */
} tg_mc;

void tg_mc_begin(tg_mc *mc, tg_arena *arena);
/* Operations after this belong to the next segment of the VOP. */
void tg_mc_next_segment(tg_mc *mc);

tg_mc_ref tg_mc_const(tg_mc *mc, float value);
tg_mc_ref tg_mc_bits(tg_mc *mc, uint32_t bits);
tg_mc_ref tg_mc_new(tg_mc *mc); /* a register to assign with tg_mc_assign, for values that loops carry */

tg_mc_ref tg_mc_alu(tg_mc *mc, tg_alu alu, tg_mc_ref a, tg_mc_ref b, tg_mc_ref c);
tg_mc_ref tg_mc_alu_imm(tg_mc *mc, tg_alu alu, tg_mc_ref a, tg_mc_ref b, int immediate);
void tg_mc_assign(tg_mc *mc, tg_mc_ref dst, tg_alu alu, tg_mc_ref a, tg_mc_ref b, tg_mc_ref c);
void tg_mc_assign_imm(tg_mc *mc, tg_mc_ref dst, tg_alu alu, tg_mc_ref a, tg_mc_ref b, int immediate);
/* Entry `index` mod 32 of a table of 32 values, static; a VOP has one table. */
tg_mc_ref tg_mc_lookup(tg_mc *mc, const float *table, tg_mc_ref index);
/* ALU operations so far. */
int tg_mc_operations(const tg_mc *mc);
/* A row of 2P lanes of a stream: two halves if `halves` (fp32), else one. */
tg_mc_ref tg_mc_load(tg_mc *mc, int stream, bool halves);
void tg_mc_load_in(tg_mc *mc, tg_mc_ref dst, int stream, bool halves); /* to a register that loops carry */
void tg_mc_store(tg_mc *mc, int stream, bool halves, tg_mc_ref value);

/* Puts `made` into `out`, a register that loops carry. True: the operation of this segment that made it
 * writes there now, and `made` is no more; false: it was loaded, or is a constant, and is moved. */
bool tg_mc_make_in(tg_mc *mc, tg_mc_ref out, tg_mc_ref made);

/* Comparisons with constants look through relus and roundings (comparisons.c); with `constants` at most. */
void tg_mc_simplify_comparisons(tg_mc *mc, int constants);

/* Would tg_mc_pack find room? `out_lengths`, if not NULL: words of each segment. */
bool tg_mc_fits(tg_mc *mc, const tg_params *m, int *out_lengths);

/* The same, and TG_INVALID with what does not suffice. */
tg_status tg_mc_check(tg_mc *mc, const tg_params *m, tg_diag *diag);

/* Packs into words, assigns registers and appends to every tile of the section, setting seg_begin and seg_len
 * of `vop`. TG_INVALID if registers, words or constants do not suffice. */
tg_status tg_mc_pack(tg_mc *mc, tg_program *program, uint32_t section, tg_vx_instr *vop, tg_diag *diag);
/* The same for 1 + count VOPs: number i begins with segment splits[i - 1]. No register lives from one to the
 * next. */
tg_status tg_mc_pack_parts(tg_mc *mc, const int *splits, int count, tg_program *program, uint32_t section,
                           tg_vx_instr *vops, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
