/* What the files that emit a section of line buffers share. */
#ifndef TEGULA_MAPPER_VECTOR_LINE_BUFFERS_EMISSION_H
#define TEGULA_MAPPER_VECTOR_LINE_BUFFERS_EMISSION_H

#include "mapper/vector/line_product.h"
#include "mapper/vector/line_totals.h"

/* Tensors: weights and bias, and those of a product in front, are loaded in this order. */
enum {
  TG_LINE_TENSOR_IMAGE,
  TG_LINE_TENSOR_WEIGHTS,
  TG_LINE_TENSOR_BIAS,
  TG_LINE_TENSOR_PRODUCT_BIAS,
  TG_LINE_TENSOR_FILTERS,
  TG_LINE_TENSOR_PIXELS,
  TG_LINE_TENSOR_MARKS,
  TG_LINE_TENSOR_RESULT,
  TG_LINE_TENSOR_TOTAL,
  TG_LINE_TENSORS
};
enum { TG_LINE_PORTS = 2 }; /* of results, of totals */

typedef struct tg_line_emission {
  tg_build b;
  const tg_line_kernel *k;
  const tg_line_tiling *t;
  tg_channel channels[TG_LINE_CHANNELS];
  tg_store_port ports[TG_LINE_PORTS];
  tg_egress_plan egress;
  /* of windows, or of each part of passes, and what finishes them; then of a reduction; then what finishes a product, and
   * what stores zeros */
  tg_vx_instr microcode[TG_LINE_MOST_PARTS + 4];
  int totals, made; /* the latter */
  int entry[TG_LINE_TENSORS];
  int64_t residue[TG_LINE_TENSORS];
} tg_line_emission;

/* ---- line_loads.c ---- */

/* NULL: the kernel does not have it. And bytes of an element of one that it has. */
const tg_dram_tensor *tg_line_tensor(const tg_line_emission *e, int number);
int64_t tg_line_tensor_bytes(const tg_line_emission *e, int number);

/* Elements, or steps of a coordinate, from a block of rows, columns, channels to the next. */
typedef struct tg_line_digits {
  int64_t image, rows, columns, channels;
} tg_line_digits;
/* Linear index of the row walk: number of the block. Tiles take them in turns, in each round (loop level 1); where
 * rows are cut into columns, images are loop level 0. */
void tg_line_set_blocks(const tg_line_emission *e, tg_agcu_instr *in, int number, uint32_t tile,
                        tg_line_digits elements);
void tg_line_set_steps(const tg_line_emission *e, tg_agcu_instr *in, tg_line_digits y, tg_line_digits x);
/* A LOAD of tensor `number`, which is converted so, and whose walk is left open. */
tg_instr *tg_line_push_load(const tg_line_emission *e, tg_queue *queue, int convert, const tg_buffer *to,
                            int64_t mask);
/* Weights of all positions of a window, or a bias, behind those of a lower number. */
tg_instr *tg_line_load_weights(const tg_line_emission *e, tg_queue *queue, int number, uint32_t tile,
                               int64_t mask);
/* `rows` rows of the channels of a block, as filters, weights and biases are. */
void tg_line_walk_rows(const tg_line_emission *e, tg_agcu_instr *load, int number, int64_t rows,
                       uint32_t tile);

/* ---- line_vop.c ---- */

/* A VOP of such microcode, whose second segment is repeated, for all rows and vectors of a block. */
tg_instr *tg_line_push_vop(const tg_line_emission *e, tg_queue *queue, const tg_vx_instr *microcode);
/* `first`: rows from the buffer's first to the stream's; the stream has nothing to do with the banks before. */
tg_stream *tg_line_set_stream(const tg_line_emission *e, tg_vx_instr *vop, int number, int kind,
                              const tg_buffer *buffer, int64_t first);
/* ---- line_buffers_vops.c ---- */

/* Appends the VOPs of a block of tile (r, col). */
void tg_line_emit_vops(const tg_line_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r,
                       uint32_t col);

/* ---- line_product_emit.c ---- */

void tg_line_set_made_sources(tg_line_emission *e);
/* Loads, or waits for what stays: of a row of tiles; of a column. */
void tg_line_emit_pixels(const tg_line_emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at);
void tg_line_emit_filters(const tg_line_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col);
/* The GEMMs of a block; the VOPs that fill up what lies beside images; and that which finishes tile number `tile`. */
void tg_line_emit_multiply(const tg_line_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r,
                           uint32_t col);
void tg_line_emit_edges(const tg_line_emission *e, tg_queue *queue);
tg_instr *tg_line_push_made(const tg_line_emission *e, tg_queue *queue, uint32_t tile);

#endif
