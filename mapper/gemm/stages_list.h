/* What makes the list of a product's stages, and how long loads take their ports. Shared by stages_*.c. */
#ifndef TEGULA_MAPPER_GEMM_STAGES_LIST_H
#define TEGULA_MAPPER_GEMM_STAGES_LIST_H

#include "mapper/gemm/stages.h"

typedef struct tg_stages_list {
  const tg_params *m;
  const tg_gemm *g;
  const tg_gemm_tiling *t;
  tg_stages *out;
} tg_stages_list;

/* ---- stages_list.c ---- */

/* Cycles of a port for runs of `bytes` that are `stride` bytes apart, in atoms: if they are not all aligned alike, what a run
 * of elements of `each` bytes touches on average. */
double tg_port_cycles(const tg_stages_list *s, double runs, double bytes, int64_t stride, double each);
/* Whole runs: atoms count from where a run begins, wherever that is. */
double tg_port_whole_runs(const tg_stages_list *s, double runs, double bytes);
/* Of runs that begin `step` bytes one after the other: a port has the last atom of the one before. */
double tg_port_overlapping_runs(const tg_stages_list *s, double runs, int64_t bytes, int64_t step);

/* A stage at either side: so many instructions in the fullest queue there, so many of what takes `cycles`. */
typedef struct tg_side_share {
  uint32_t slots;
  double times;
} tg_side_share;
void tg_stages_add_load(const tg_stages_list *s, tg_stage stage, tg_seat side, tg_side_share of);

/* ---- stages_operands.c ---- */

/* Loads of A and B at a side; an operand that is resident comes first. */
void tg_stages_add_operands(const tg_stages_list *s, tg_seat side);

/* ---- second.c ---- */

/* Loads of the operands of a second product at a side; and the stages of mx for both products, of which `add_whole_b` and
 * `add_multiply` add those of one. */
typedef void tg_stages_add_one(const tg_stages_list *s);
void tg_stages_add_second_operands(const tg_stages_list *s, tg_seat side);
void tg_stages_multiply_both(const tg_stages_list *s, tg_stages_add_one *add_whole_b,
                             tg_stages_add_one *add_multiply);

#endif
