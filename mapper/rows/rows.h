/* Rows of tables by index: what gather.c and scatter.c share. */
#ifndef TEGULA_MAPPER_ROWS_ROWS_H
#define TEGULA_MAPPER_ROWS_ROWS_H

#include "mapper/section/channel.h"
#include "mapper/section/walk.h"

/* A tensor in the base table of a section. */
typedef struct tg_rows_tensor {
  const tg_dram_tensor *tensor;
  int entry;
  int64_t residue;
} tg_rows_tensor;
tg_rows_tensor tg_rows_open(tg_build *b, const tg_dram_tensor *tensor);

/* An AGCU and a tile on its lane. */
typedef struct tg_rows_way {
  bool west;
  uint32_t r, col; /* the tile */
} tg_rows_way;
/* Position of the tile on the AGCU's lane. */
static inline uint32_t tg_rows_position(tg_rows_way way) { return (way.west ? way.col : way.r) + 1; }

/* The walk of elements of a matrix of `rows` rows of `columns`, one behind the other; those of other rows are not there. */
void tg_rows_walk(tg_agcu_instr *in, const tg_rows_tensor *matrix, int64_t rows, int64_t columns);
/* One row of `take` of `count` indices, from the first on; those behind the last one choose no row. */
void tg_rows_walk_indices(tg_agcu_instr *in, const tg_rows_tensor *indices, int64_t count, uint32_t take);
/* The rows of the walk are those of a table of `size` rows of `columns` that indices choose. */
void tg_rows_choose(tg_agcu_instr *in, const tg_rows_tensor *table, int64_t size, int64_t columns);

/* Conversion of a LOAD of the tensor's elements to FP32. */
int64_t tg_rows_widening(const tg_dram_tensor *tensor);

/* Sends `flits` flits to the first rows of `to`, of position 0 of the AGCU's lane, and tells it by `away`. */
tg_instr *tg_rows_send(const tg_build *b, tg_queue *queue, tg_rows_way way, const tg_buffer *from,
                       const tg_buffer *to, uint32_t flits, const tg_channel *away);

#endif
