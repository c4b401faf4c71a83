/* How a stream kernel is cut, and what of it lies in the scratchpad: stream.c has walks and the numbers of
 * streams, tiling.c column blocks and chunks of rows, emit.c the section. */
#ifndef TEGULA_MAPPER_STREAM_TILING_H
#define TEGULA_MAPPER_STREAM_TILING_H

#include "mapper/section/layout.h"
#include "mapper/stream/stream.h"

typedef struct tg_stream_tiling {
  uint32_t vectors;    /* of 2P lanes in a row block */
  uint32_t chunk_rows; /* rows of a chunk */
  uint32_t parts; /* pieces that leave one by one: 1 unless a chunk exceeds the share of the store memory */
  bool run; /* the chunk leaves as one run of elements, cut anywhere: its rows follow each other in DRAM */
  uint32_t loops[3]; /* chunks, column blocks, 1 */
  uint32_t out_flits, piece_flits;
} tg_stream_tiling;

/* Rows of a chunk: as many as the store port and the banks allow. False: not even one. tiling.c */
bool tg_tile_stream(const tg_params *m, const tg_stream_kernel *plan, tg_stream_tiling *t);

static inline int tg_stream_unroll(const tg_stream_kernel *plan) { return plan->unroll ? plan->unroll : 1; }

/* Elements of a row as stored. */
static inline uint32_t tg_stream_out_take(const tg_stream_kernel *plan) {
  return plan->out_take ? plan->out_take : plan->take;
}

static inline int tg_stream_result_kind(const tg_stream_kernel *plan, int x) {
  return x ? plan->more_kind[x - 1] : plan->output_kind;
}

/* Stores of result `x` a chunk. */
static inline uint32_t tg_stream_result_window(const tg_stream_kernel *plan, int x) {
  return x && plan->more_window[x - 1] ? plan->more_window[x - 1] : 1;
}

/* Is the last result one of many stores a chunk? Then it leaves first, and often; the others do seldom. */
static inline bool tg_stream_is_windowed(const tg_stream_kernel *plan) {
  return tg_stream_result_window(plan, plan->more) > 1;
}

/* Walks by number, which is that of their streams: inputs, the output, vectors, further outputs. */
static inline int tg_stream_walks(const tg_stream_kernel *plan) {
  return plan->inputs + 1 + plan->vectors + plan->more;
}

/* Does j change where the source, or the result, stands? */
bool tg_stream_source_moves(const tg_stream_kernel *plan, int source);
bool tg_stream_result_moves(const tg_stream_kernel *plan, int x);

/* Elements of a vector as they lie in the scratchpad, those of all column blocks, and flits that it takes;
 * beside others, whole blocks, so that none lies across two banks. */
uint32_t tg_stream_vector_elements(const tg_stream_kernel *plan, int v);
uint32_t tg_stream_vector_flits(const tg_params *m, const tg_stream_kernel *plan, int v);
/* Flits of a row block of an input; one that is one scalar a row has nothing else. */
uint32_t tg_stream_input_flits(const tg_params *m, const tg_stream_kernel *plan, int input);
/* Flits of a row in the scratchpad: of input `i` by itself, of all inputs side by side. */
uint64_t tg_stream_alone_flits(const tg_params *m, const tg_stream_kernel *plan, int i);
uint64_t tg_stream_beside_flits(const tg_params *m, const tg_stream_kernel *plan);

/* What a tile has in its scratchpad, in the order of its banks. */
typedef enum tg_stream_role {
  TG_ROLE_KEPT_ROWS, /* what the VOP before leaves: rows, and a vector for each */
  TG_ROLE_KEPT_VECTORS,
  TG_ROLE_INPUTS,                                      /* by number, those that have banks of their own */
  TG_ROLE_INPUTS_BESIDE = TG_ROLE_INPUTS + TG_STREAMS, /* all others */
  TG_ROLE_VECTORS,                                     /* the same of what is loaded once */
  TG_ROLE_VECTORS_BESIDE = TG_ROLE_VECTORS + TG_STREAMS,
  TG_ROLE_RESULTS,
  TG_STREAM_ROLES = TG_ROLE_RESULTS + 1 + TG_MORE_RESULTS
} tg_stream_role;
/* With chunks of so many rows; of `parts` in a chunk, if more than one, pieces of so many flits leave. */
void tg_stream_lay_out(const tg_params *m, const tg_stream_kernel *plan, const tg_stream_tiling *t,
                       tg_room rooms[TG_STREAM_ROLES]);

#endif
