/* What a tile keeps in its scratchpad: rows of each buffer; and the channels between its stages. */
#ifndef TEGULA_MAPPER_GEMM_LAYOUT_H
#define TEGULA_MAPPER_GEMM_LAYOUT_H

#include "mapper/gemm/tiling.h"
#include "mapper/section/channel.h"

/* Bank rows of A's and B's blocks of a tile, and how far their rows are apart. */
uint32_t tg_gemm_a_row(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_gemm_b_row(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Elements of such a row to load: those that are needed, or as many as fill its bank rows where these are more. */
static inline int64_t tg_gemm_taken(const tg_params *m, const tg_gemm *gemm, int64_t needed,
                                    uint32_t bank_rows) {
  uint32_t element = tg_mx_elements(m, gemm->format);
  return (needed + element - 1) / element == bank_rows ? needed : (int64_t)bank_rows * element;
}
uint64_t tg_gemm_a_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* From one half of A to the other, which has banks of its own: two lanes cannot write to one. */
uint64_t tg_gemm_a_half(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_b_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of a drain tile of result number `result`, or of those before it together. */
uint64_t tg_gemm_result_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, int result);
uint64_t tg_gemm_results_before(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, int result);
/* runs.c: are rows of A, or of a result, that follow each other one run of a LOAD or STORE? */
bool tg_gemm_loads_runs(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
bool tg_gemm_stores_runs(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, int result);
/* Makes one run of the walk over rows of `length` elements, of `rows` in all; `bytes`: of an element. */
void tg_gemm_join_rows(int64_t rows, int64_t length, int64_t bytes, tg_agcu_instr *in);
/* The K walk of columns that are runs, one a pixel. */
/* Do groups that are filled up leave, and come for the drain, each in rows of its own? They are narrow, so that what fills
 * them is most of what a row of all would be. */
bool tg_gemm_walks_groups(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Then each row is one of every group of the block that begins with `column`. */
void tg_gemm_walk_groups(const tg_gemm *gemm, const tg_gemm_tiling *t, int64_t column, int64_t run_stride,
                         int64_t bytes, tg_agcu_instr *in);
void tg_gemm_walk_runs(const tg_gemm *gemm, int64_t run_stride, int64_t bytes, tg_agcu_instr *in);
/* Is an operand that is resident loaded chunk by chunk, too? Its chunks must have banks of their own: one is
 * read while the next one comes. */
static inline bool tg_gemm_loads_resident_chunks(const tg_params *m, const tg_gemm *gemm,
                                                 const tg_gemm_tiling *t) {
  bool a = t->resident == TG_RESIDENT_A;
  uint32_t rows = t->kc * (a ? tg_gemm_a_row(m, gemm, t) : tg_gemm_b_row(m, gemm, t));
  return tg_gemm_has_resident_chunks(t) && (a ? gemm->a_transposed : !gemm->b_transposed) &&
         rows % tg_bank_rows(m) == 0;
}
/* Loads of an operand that is resident: one, or one for each of its chunks. */
static inline uint32_t tg_gemm_resident_loads(const tg_params *m, const tg_gemm *gemm,
                                              const tg_gemm_tiling *t) {
  return tg_gemm_loads_resident_chunks(m, gemm, t) ? t->chunks : 1;
}
/* Of a row of column sums, of one of them; of all of a drain tile that have a buffer of their own, and of all that
 * go on from drain tile to drain tile. */
uint32_t tg_gemm_column_sum_flits(const tg_params *m, const tg_gemm_tiling *t);
uint64_t tg_gemm_column_sums_apart(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_running_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of a drain tile on its way out, with its column sums, or to the next member, of one received, and of a block of
 * running sums. */
uint64_t tg_gemm_out_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_received_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* In a ring: of the whole sums of a step; and of what is sent: at most two steps of each member but the last,
 * or one of all. */
uint64_t tg_gemm_whole_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_sent_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_sum_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of a pool (pool.c): of a column of the image between the VOPs, and of a row of these; and the
 * marks of rows that lie outside of the image. */
uint32_t tg_gemm_pool_position(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_gemm_pool_row(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_pool_marks(const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of what is loaded for the fused nodes, once a pass or not: of operand number `epilogue_operand`, or of
 * those before it together. */
uint64_t tg_epilogue_operand_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                  int epilogue_operand);
uint64_t tg_epilogue_operands_before(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                     bool once, int epilogue_operand);
/* A bank between running sums and rounded ones, which one VOP reads and writes drain tile by drain tile: for each it
 * owns as many banks as the one that lies in most of them. */
uint32_t tg_gemm_spare(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of a block of whole sums that were rounded stochastically, or transposed, on their way to the fused nodes. */
uint64_t tg_gemm_rounded_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);

/* The channels of a section, in the order of their banks. */
typedef enum tg_gemm_role {
  TG_ROLE_A, /* from AGCUs to mx; with a prologue of A, from vx */
  TG_ROLE_PROLOGUE_INPUTS,
  TG_ROLE_SCALARS,
  TG_ROLE_PROLOGUE_OUTPUT,  /* what a prologue stores, from vx to tx */
  TG_ROLE_PROLOGUE_VECTORS, /* of a prologue of A, with the epilogue operands that are loaded once */
  TG_ROLE_B,
  TG_ROLE_OUT,           /* drain tiles of results, from vx to tx */
  TG_ROLE_COLUMN_SUMS,   /* that do not lie behind the results */
  TG_ROLE_RUNNING,       /* column sums from drain tile to drain tile of a block */
  TG_ROLE_RECEIVED,      /* running sums of partial products from the row above, a drain tile at a time */
  TG_ROLE_SENT,          /* by the last member, blocks; in a ring, for the next one */
  TG_ROLE_WHOLE,         /* in a ring: whole sums; members ask for room by a semaphore each */
  TG_ROLE_OPERANDS_ONCE, /* of the epilogue: row vectors, which come once a pass or stay */
  TG_ROLE_OPERANDS,      /* and blocks, which come with each drain tile */
  TG_ROLE_SUMS,          /* of a block; full in the first member, by the last one */
  TG_ROLE_SPARE,         /* a VOP may own a bank behind sums */
  TG_ROLE_ROUNDED,       /* whole sums, if they are rounded, or transposed */
  TG_ROLE_SECOND_A,      /* of a second product, as those of the first one */
  TG_ROLE_SECOND_B,
  TG_ROLE_A_NORTH, /* without banks of their own from here on: A's rows from the north, where it comes both ways */
  TG_ROLE_SECOND_A_NORTH,
  TG_ROLE_ACCUMULATOR,   /* its halves, from mx to vx */
  TG_ROLE_MADE,          /* a tile's own chunk of a cooperative prologue, from vx to tx, with B's banks */
  TG_ROLE_MADE_AROUND,   /* and in the other tiles of its column, by position */
  TG_ROLE_PROLOGUE_AWAY, /* what a prologue stores, from tx to the AGCU's memory */
  TG_ROLE_AWAY, /* the same of each result, and column sum: ports that leave together arrive together */
  TG_GEMM_ROLES = TG_ROLE_AWAY + 2 * TG_GEMM_RESULTS
} tg_gemm_role;

/* The one statement of them: what fits, and what the section opens, follow. */
void tg_gemm_plan_channels(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                           tg_channel_plan plans[TG_GEMM_ROLES]);
/* Gives out their semaphores. */
void tg_gemm_open_channels(tg_build *b, const tg_channel_plan plans[TG_GEMM_ROLES],
                           tg_channel channels[TG_GEMM_ROLES]);

#endif
