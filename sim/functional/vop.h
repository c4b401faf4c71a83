/* Native VOPs: a microprogram becomes a function over rows of 2P-lane vectors. */
#ifndef TEGULA_FUNCTIONAL_VOP_H
#define TEGULA_FUNCTIONAL_VOP_H

#include "sim/functional/exec.h"
#include "sim/functional/jit.h"

/* What one execution passes: everything that is not part of the code. */
typedef struct tg_vop_stream_arguments {
  int64_t base, row[3], j[2];
} tg_vop_stream_arguments;
typedef struct tg_vop_arguments {
  int64_t rows, row_count[2] /* the two inner radices */, j_count[2], tail_step, tail_n;
  /* bf16sr streams and rndsr: the key plus the row, its steps; the columns' key plus the column of lane 0, its steps */
  int64_t row_key, row_row[3], col_key, col_row[3], col_j[2];
  tg_vop_stream_arguments stream[TG_STREAMS];
} tg_vop_arguments;
typedef void tg_vop_function(uint8_t *pad, uint32_t *acc, const uint32_t *constants,
                             const tg_vop_arguments *arguments);

/* Adds the function @kernel to a module; `words` is the tile's microcode. */
void tg_vop_emit(tg_text *text, const tg_params *params, const tg_vx_instr *in, const uint64_t *words);
void tg_vop_run(tg_vop_function *function, tg_machine_state *state, uint32_t tile, const tg_execution *x);

#endif
