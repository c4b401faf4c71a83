/* Attention by blocks of keys (numerics.md), as one section: a product of queries with a block of keys leaves scores in
 * the accumulator, or scores are loaded; the vector units make weights of them, with the maximum and the sum so far, and
 * add the product of weights and values to the result so far.
 *
 * A unit is a block of rows of one product of the batch, and a block of keys. A tile computes those of a block of rows
 * one after the other, two blocks of keys at least, an even number of them: which half of the accumulator, and which
 * buffer of two, follows from the number of the block. Keys and values come in chunks. */
#ifndef TEGULA_MAPPER_ATTENTION_BLOCKED_H
#define TEGULA_MAPPER_ATTENTION_BLOCKED_H

#include "mapper/attention/attention.h"

/* Segments of the microcode, and the VOPs that they are of. */
enum {
  TG_BLOCKED_WEIGHTS = 0, /* weights: the state, the maximum, its change, exps, the sum */
  TG_BLOCKED_ADD = 5,     /* the result so far and the product */
  TG_BLOCKED_FINISH = 7,  /* the same of the last block, divided by the sum */
  TG_BLOCKED_LOGSUM = 9,  /* of that, the logarithm of the sum behind the columns of values */
  TG_BLOCKED_BEGIN = 10,  /* the state of a row without keys */
  TG_BLOCKED_SEGMENTS = 11,
  TG_BLOCKED_VOPS = 4,
};

/* A row's state, a bank row each: maximum, sum, and what its result so far is multiplied by; of all rows one number, then
 * the next. The first element counts. The state of a row without keys is two vectors, a maximum and a sum; its result is
 * one. */
enum { TG_STATE_MAXIMUM, TG_STATE_SUM, TG_STATE_CHANGE, TG_STATE_ROWS, TG_STATE_NO_KEYS = 4 };

typedef struct tg_blocked {
  const tg_kernel *kernel;
  tg_gemm scores, context;                                 /* of the latter shape, format and values count */
  int64_t products, queries, keys, columns;                /* the latter of results */
  tg_matrices q, k, v, out, operand[TG_EPILOGUE_OPERANDS]; /* of the scores' epilogue; or the scores */
  int operand_kind[TG_EPILOGUE_OPERANDS], operand_count, out_kind; /* of streams */
  tg_dtype weights; /* format of what is multiplied with values */
  uint32_t block, blocks;
  int unroll, added; /* vectors of scores, and of results, at a time */
  int together;      /* rows whose weights are made at a time: 1, or 2, whose numbers share a vector */
  int words[2 * TG_SEGMENTS];

  tg_attention_grid grid;
  uint32_t chunks;                 /* of a block of keys: 1, or an even number */
  uint32_t copies, operand_copies; /* of results and of operands: 2, where there is room */
  double cycles;
  tg_shortage lacks; /* until something fits: what the closest tiling lacks */
} tg_blocked;

/* Are the scores computed here? */
static inline bool tg_blocked_multiplies(const tg_blocked *a) { return a->kernel->scores != NULL; }
/* The context of AGCUs that loads operands: where the scores are loaded themselves, that which no queries and keys need. */
static inline uint8_t tg_blocked_operands_context(const tg_blocked *a) {
  return tg_blocked_multiplies(a) ? TG_CTX_PROLOGUE : TG_CTX_LOAD;
}
static inline uint32_t tg_blocked_chunk(const tg_blocked *a) { return a->block / a->chunks; }
static inline uint32_t tg_blocked_width(const tg_params *m, const tg_blocked *a) {
  return (uint32_t)tg_round_up(a->context.n, tg_lanes(m));
}
static inline uint32_t tg_blocked_out_width(const tg_params *m, const tg_blocked *a) {
  return (uint32_t)tg_round_up(a->columns, tg_lanes(m));
}
/* Vectors of a result that have no columns of values. */
static inline int tg_blocked_vectors_behind(const tg_params *m, const tg_blocked *a) {
  return (int)((tg_blocked_out_width(m, a) - tg_blocked_width(m, a)) / tg_lanes(m));
}
/* Do results have the logarithm of the sum behind the columns of values? */
static inline bool tg_blocked_has_logsum(const tg_blocked *a) { return a->columns != a->context.n; }
/* Elements of a block of keys that are none, if any block has such. */
static inline bool tg_blocked_is_ragged(const tg_blocked *a) {
  return a->keys != (int64_t)a->block * a->blocks;
}
/* Vectors of scores at a time, `unroll` of each row. */
static inline int tg_blocked_vectors(const tg_blocked *a) { return a->together * a->unroll; }
/* Streams of the first VOP: scores, operands, each by vectors; then weights; then numbers of the state. */
static inline int tg_blocked_weights_stream(const tg_blocked *a) {
  return (tg_blocked_multiplies(a) + a->operand_count) * tg_blocked_vectors(a);
}

/* The products of a chunk, as the sizes of their blocks are asked for. */
tg_gemm_tiling tg_blocked_scores(const tg_blocked *a);
tg_gemm_tiling tg_blocked_context(const tg_params *m, const tg_blocked *a);
/* Bank rows of one row: of weights, of the result so far, of the result, and of an operand. */
uint32_t tg_blocked_weight_row(const tg_params *m, const tg_blocked *a);
uint32_t tg_blocked_sum_row(const tg_params *m, const tg_blocked *a);
uint32_t tg_blocked_out_row(const tg_params *m, const tg_blocked *a);
uint32_t tg_blocked_operand_take(const tg_blocked *a, int operand);
uint32_t tg_blocked_operand_row(const tg_params *m, const tg_blocked *a, int operand);

typedef enum tg_blocked_role {
  TG_BLOCKED_QUERIES,
  TG_BLOCKED_KEYS,
  TG_BLOCKED_VALUES,
  TG_BLOCKED_PROBABILITIES, /* weights, from vx to mx */
  TG_BLOCKED_STATE,         /* and results so far */
  TG_BLOCKED_OUT,           /* results, from vx to tx */
  TG_BLOCKED_OPERAND,
  TG_BLOCKED_OPERANDS_ALL = TG_BLOCKED_OPERAND + TG_EPILOGUE_OPERANDS, /* which come together */
  TG_BLOCKED_SCORES,  /* in the accumulator, from mx to vx; */
  TG_BLOCKED_PRODUCT, /* and the second product */
  TG_BLOCKED_AWAY,
  TG_BLOCKED_ROLES
} tg_blocked_role;
void tg_blocked_plan_channels(const tg_params *m, const tg_blocked *a,
                              tg_channel_plan plans[TG_BLOCKED_ROLES]);

/* Its stages. Those of mx and vx close their loops themselves (blocked_queues.c). */
typedef enum tg_blocked_stage {
  TG_BLOCKED_LOAD_QUERIES,
  TG_BLOCKED_LOAD_KEYS,
  TG_BLOCKED_LOAD_VALUES,
  TG_BLOCKED_LOAD_OPERANDS,
  TG_BLOCKED_MULTIPLY,
  TG_BLOCKED_COMPUTE,
  TG_BLOCKED_STORE,
} tg_blocked_stage;
enum { TG_BLOCKED_NEST_KEYS, TG_BLOCKED_NEST_VALUES, TG_BLOCKED_NEST_OPERANDS, TG_BLOCKED_NESTS };
void tg_blocked_list_stages(const tg_params *m, const tg_blocked *a, tg_stages *out);
/* Cycles of a port for the results of a block of rows, and for the operands of a unit. */
double tg_blocked_out_cycles(const tg_params *m, const tg_blocked *a);
double tg_blocked_operands_cycles(const tg_params *m, const tg_blocked *a);

/* False: it cannot be computed so. */
bool tg_describe_blocked(const tg_compile *c, const tg_kernel *kernel, tg_blocked *out);
/* False if nothing fits; `lacks` then says what is missing. */
bool tg_tile_blocked(const tg_compile *c, tg_blocked *a);
bool tg_blocked_microcode(const tg_compile *c, const tg_blocked *a, tg_mc *mc);
/* The most vectors at a time for which streams, words and registers suffice, of a->together rows; false: not even one. */
bool tg_blocked_set_microcode(const tg_compile *c, tg_blocked *a);

#endif
