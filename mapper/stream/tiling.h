/* How a stream kernel is cut, its channels and stages: stream.c has numbers of streams and sizes, tile.c column
 * blocks and chunks of rows, stages.c what these take, emit.c and vops.c the section. */
#ifndef TEGULA_MAPPER_STREAM_TILING_H
#define TEGULA_MAPPER_STREAM_TILING_H

#include "mapper/section/checkerboard.h"
#include "mapper/stream/stream.h"

typedef struct tg_stream_tiling {
  uint32_t copies;     /* of each buffer: 2; 1: see tg_stream_kernel.single */
  uint32_t vectors;    /* of 2P lanes in a row block */
  uint32_t chunk_rows; /* rows of a chunk */
  uint32_t parts;      /* drain tiles of a chunk: 1 unless it exceeds the share of the store memory */
  bool run; /* the chunk leaves as one run of elements, cut anywhere: its rows follow each other in DRAM */
  uint32_t loops[3]; /* chunks, column blocks, 1 */
  uint32_t out_flits, part_flits;
} tg_stream_tiling;

/* Rows of a chunk: as many as the store port and the banks allow. False: not even one, of which *out_lacks keeps what it
 * lacks. tile.c */
bool tg_tile_stream(const tg_params *m, const tg_stream_kernel *plan, tg_stream_tiling *t,
                    tg_shortage *out_lacks);

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
uint32_t tg_stream_input_take(const tg_stream_kernel *plan, int input); /* and its elements */
/* Flits of a row of result `x`, of all positions of its window. */
uint64_t tg_stream_result_flits(const tg_params *m, const tg_stream_kernel *plan, int x);
/* Flits of a row in the scratchpad: of input `i` by itself, of all inputs side by side. */
uint64_t tg_stream_alone_flits(const tg_params *m, const tg_stream_kernel *plan, int i);
uint64_t tg_stream_beside_flits(const tg_params *m, const tg_stream_kernel *plan);

/* Its channels: those that have no banks, then the others in the order of these. */
typedef enum tg_stream_role {
  TG_ROLE_LOADED,      /* all inputs of a chunk, which come together, */
  TG_ROLE_LOADED_ONCE, /* and all vectors */
  TG_ROLE_AWAY, /* results by number, from tx to the AGCU: those that leave equally often arrive together */
  TG_ROLE_KEPT_ROWS = TG_ROLE_AWAY + 1 + TG_MORE_RESULTS, /* what the VOP before leaves: rows, */
  TG_ROLE_KEPT_VECTORS,                                   /* and a vector for each */
  TG_ROLE_INPUTS,                                         /* by number, those that have banks of their own */
  TG_ROLE_INPUTS_BESIDE = TG_ROLE_INPUTS + TG_STREAMS,    /* all others */
  TG_ROLE_VECTORS,                                        /* the same of what is loaded once */
  TG_ROLE_VECTORS_BESIDE = TG_ROLE_VECTORS + TG_STREAMS,
  TG_ROLE_RESULTS, /* by number, from vx to tx */
  TG_STREAM_ROLES = TG_ROLE_RESULTS + 1 + TG_MORE_RESULTS
} tg_stream_role;
void tg_stream_plan_channels(const tg_params *m, const tg_stream_kernel *plan, const tg_stream_tiling *t,
                             tg_channel_plan plans[TG_STREAM_ROLES]);
/* The banks alone of what is loaded once. */
void tg_stream_plan_vectors(const tg_params *m, const tg_stream_kernel *plan,
                            tg_channel_plan plans[TG_STREAM_ROLES]);

/* Its stages, in the order of each queue. */
typedef enum tg_stream_stage {
  TG_STAGE_LOADS,   /* of the chunks of tiles */
  TG_STAGE_VECTORS, /* once; and the wait for them */
  TG_STAGE_FIRST,   /* the VOP before the one that makes results */
  TG_STAGE_VOP,
  TG_STAGE_RESULTS
} tg_stream_stage;
enum { TG_NEST_LOADS, TG_NEST_CHUNKS, TG_STREAM_NESTS };
/* Tiles that have rows: all, or, where they have a chunk each at most, as many as there are chunks. tile.c */
uint32_t tg_stream_working_tiles(const tg_params *m, const tg_stream_kernel *plan, const tg_stream_tiling *t);
/* `words` of each segment of the microcode, of which those of `repeat` run for each j; NULL: cycles of VOPs are not
 * known. */
void tg_stream_list_stages(const tg_params *m, const tg_stream_kernel *plan, const tg_stream_tiling *t,
                           const int *words, int repeat, tg_stages *out);

#endif
