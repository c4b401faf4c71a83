/* A product's section while it is emitted: emit.c has buffers and stores, load.c loads, multiply.c
 * products, drain.c what lies between the accumulator and the egress, place.c what each tile has
 * of the matrices. */
#ifndef TEGULA_MAPPER_GEMM_EMISSION_H
#define TEGULA_MAPPER_GEMM_EMISSION_H

#include "mapper/gemm/layout.h"
#include "mapper/gemm/stages.h"
#include "mapper/section/egress.h"

/* Operands of the epilogue. */
typedef struct tg_operands_emission {
  tg_buffer buffers[TG_EPILOGUE_OPERANDS]; /* parts of the rings of their channels */
  int vector_count, block_count;
  int base[TG_EPILOGUE_OPERANDS];
  int64_t rest[TG_EPILOGUE_OPERANDS];
} tg_operands_emission;

/* Reductions of the result by blocks of rows. */
typedef struct tg_column_sums_emission {
  tg_buffer out[TG_GEMM_RESULTS]; /* parts of the results' buffer, or with a prologue of one of their own */
  int base[TG_GEMM_RESULTS];
  int64_t rest[TG_GEMM_RESULTS];
} tg_column_sums_emission;

/* The prologue of A or B. */
typedef struct tg_prologue_emission {
  int output_base, vector_base[TG_PROLOGUE_VECTORS], input_base[TG_PROLOGUE_INPUTS];
  int64_t output_rest, vector_rest[TG_PROLOGUE_VECTORS], input_rest[TG_PROLOGUE_INPUTS];
  tg_vx_instr code; /* segments of the microcode */
} tg_prologue_emission;

typedef struct tg_gemm_emission {
  tg_build b;
  tg_compile *c;
  const tg_kernel *kernel;
  const tg_gemm *g;
  tg_gemm_tiling t;
  uint32_t stationary;              /* rows of a block */
  uint32_t drain_tiles, ring_steps; /* of a block: that a tile finishes; loads for the fused nodes */
  uint32_t steps;                   /* drain tiles that have instructions of their own: 1, or all */
  bool nested;                      /* loops over parts of K hold loops over chunks */
  uint32_t unrolled;                /* instructions for the chunks of a part, 1: a loop or a single one */
  uint32_t strip;                   /* the section's pass over columns: tg_gemm_strips */
  uint32_t k_loops[3], drain_tile_loops[3], ring_loops[3];
  int m_level, n_level;     /* of the passes in loops over drain tiles: 0 and 1, or the other way round */
  int m_k_level, n_k_level; /* and in loops over K, where the inner one takes the place of chunks that there
                               are none of */
  int64_t product;          /* the first one that this section computes */
  tg_channel channels[TG_GEMM_ROLES];
  tg_stages stages;
  tg_vx_instr microcode; /* segments of the drain */
  tg_store_port ports[2 * TG_GEMM_RESULTS];
  tg_egress_plan egress;
  tg_buffer results[TG_GEMM_RESULTS]; /* parts of the buffer of a drain tile on its way out */
  int a_base, b_base, out_base[TG_GEMM_RESULTS];
  int64_t a_rest, b_rest, out_rest[TG_GEMM_RESULTS];
  tg_operands_emission operands;
  tg_column_sums_emission column_sums;
  tg_prologue_emission prologue;
  tg_vx_instr pool_codes[2]; /* segments of the VOPs that go across windows, and beside the image */
  int marks_base;
  int64_t marks_rest;
  /* Of a second product: what it has of its own; entries of the base table. Of it, while it is emitted: the first row of a
   * half of the accumulator, and the slot of mx in which the loops of both begin. */
  struct tg_gemm_emission *second;
  struct {
    int a, b;
    int64_t a_rest, b_rest;
  } second_bases;
  uint32_t first_sum, first_slot;
} tg_gemm_emission;

/* The section of what `e` has been set to, from product number `product` on; and entries of the base table alone. emit.c */
tg_status tg_gemm_emit_section(tg_gemm_emission *e, const char *name, int64_t product);
void tg_gemm_allocate_bases(tg_gemm_emission *e, int64_t product);

/* Where B lies that is kept. */
static inline tg_buffer tg_gemm_kept_buffer(const tg_params *m, const tg_kept *kept) {
  uint32_t rows = kept->banks * tg_bank_rows(m);
  return (tg_buffer){
      .base = kept->bank * tg_bank_rows(m), .stride = rows, .rows = rows, .banks = kept->banks, .count = 1};
}

/* Index of a tile among those that have rows of their own, how many those are, and rows of all in a pass. */
uint32_t tg_gemm_row_index(const tg_gemm_emission *e, uint32_t r, uint32_t col);
int64_t tg_gemm_row_tiles(const tg_gemm_emission *e);
int64_t tg_gemm_rows_a_pass(const tg_gemm_emission *e);
int64_t tg_gemm_cols_a_pass(const tg_gemm_emission *e);
/* Rows of a tile: the first, and columns: the first, and from pass to pass. */
int64_t tg_gemm_row_first(const tg_gemm_emission *e, uint32_t r, uint32_t col);
int64_t tg_gemm_col_first(const tg_gemm_emission *e, uint32_t r, uint32_t col);
/* The first column of results, or of a pool's windows, of the tile's strip. */
int64_t tg_gemm_first_column(const tg_gemm_emission *e, uint32_t r, uint32_t col);
int64_t tg_gemm_col_delta(const tg_gemm_emission *e);
/* Has the tile neither a product nor columns of its own in any pass? Then it has no instructions either. */
bool tg_gemm_is_idle(const tg_gemm_emission *e, uint32_t r, uint32_t col);
/* Rows of its own come to every other tile from the north, and columns of its own from the west, so that both
 * kinds of ports share the work. */
bool tg_gemm_a_from_north(const tg_gemm_emission *e, uint32_t r, uint32_t col);
bool tg_gemm_b_from_west(const tg_gemm_emission *e, uint32_t r, uint32_t col);
/* Do blocks of epilogue operands come from the west? */
bool tg_epilogue_operands_west(const tg_gemm_emission *e, uint32_t r, uint32_t col);
/* Which of two tiles that load their blocks together; 0 if they do not. */
uint32_t tg_gemm_mate(const tg_gemm_emission *e, uint32_t r, uint32_t col);
/* Rows of tiles that a whole group of members has. */
uint32_t tg_gemm_used_rows(const tg_gemm_emission *e);
/* The first k of a row of tiles, and k by loop level: chunks, or parts if a tile has several. */
int64_t tg_gemm_k_first(const tg_gemm_emission *e, uint32_t r);
void tg_gemm_set_k_delta(const tg_gemm_emission *e, int64_t delta[3]);
/* The level of the loops over K that goes from part to part. */
int tg_gemm_part_level(const tg_gemm_emission *e);
/* Which half of its buffer the instruction of a chunk begins with, and how it goes on. */
void tg_gemm_set_chunk(const tg_gemm_emission *e, tg_row_operand *operand, const tg_buffer *buffer,
                       uint32_t chunk);

/* Where a tile's drain tiles begin in the result: the first one, and from index to index of each loop. */
typedef struct tg_gemm_place {
  int64_t row, column, row_delta[3], column_delta[3];
} tg_gemm_place;
/* Rows of the product as blocks count them: digits of a walk over a result, or an operand of that shape, of these strides
 * by the digits of g->out_radix. */
void tg_gemm_walk_rows(const tg_gemm_emission *e, const int64_t stride[3], tg_walk_plan *out);
/* Moves such a walk, of a STORE or a LOAD, to the tile's strip, where there are several. */
void tg_gemm_begin_strip(const tg_gemm_emission *e, uint32_t r, uint32_t col, tg_agcu_instr *walk);
tg_gemm_place tg_gemm_place_of(const tg_gemm_emission *e, uint32_t r, uint32_t col);

/* Which member of its group a tile of row r is. */
static inline uint32_t tg_gemm_member(const tg_gemm_emission *e, uint32_t r) { return r % e->t.members; }
/* Do tiles of row r have the whole sum? */
bool tg_gemm_finishes(const tg_gemm_emission *e, uint32_t r);

/* An instruction of a stage meets those of its channels whose bits are set in `which`. */
static inline uint64_t tg_gemm_bit(tg_gemm_role role) { return UINT64_C(1) << role; }
static inline void tg_gemm_meet(const tg_gemm_emission *e, const tg_stage *stage, uint64_t which,
                                tg_instr *in, uint32_t r, uint32_t col, bool first, bool last) {
  const tg_joint at = {.kernel = e, .in = in, .r = r, .col = col, .first = first, .last = last};
  tg_stage_meet(stage, e->channels, which, &at);
}
/* A LOAD into `buffer` of the endpoints in `mask`, whose walk is still to be set. */
static inline tg_instr *tg_gemm_push_load(tg_gemm_emission *e, tg_queue *queue, const tg_buffer *buffer,
                                          uint32_t mask) {
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_agcu_load);
  tg_set_operand(&in->agcu.dst, buffer, false);
  in->agcu.dst_inner = 65535;
  in->agcu.dst_mask = mask;
  return in;
}
/* Rows of tiles one after the other that have different parts of K, or different columns. place.c */
uint32_t tg_gemm_rows_apart(const tg_gemm_emission *e);
/* Those, as LOADs from the north name them, that have the same parts of K and the same columns as row r. */
uint32_t tg_gemm_rows_like(const tg_gemm_emission *e, uint32_t r);
/* Who fills the channels that no unit of the same tile does. place.c */
void tg_gemm_set_sources(tg_gemm_emission *e);

/* The stages: loads; GEMMs of a tile; its VOPs that sum and drain, and SENDs of sums to other rows. */
void tg_gemm_emit_load(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t at);
/* What fused nodes read: row vectors of column `col` of tiles; blocks of column, or from the west of row, `at`. */
void tg_gemm_load_vectors(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col);
void tg_gemm_load_blocks(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, bool west, uint32_t at);
void tg_gemm_emit_multiply(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_sums(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_drain(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_sum_sends(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_returns(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);

/* Writes the microcode of the section: see the segments in epilogue_code.c. */
tg_status tg_gemm_pack_drain(tg_gemm_emission *e);
/* The drain with column sums, and the walk of a STORE of column sum number i. column_sums_emit.c */
void tg_gemm_emit_column_sums(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
/* The VOP of block number `block` and those behind it, in a loop over its drain tiles: with a prologue. */
tg_instr *tg_gemm_emit_block_column_sums(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col,
                                         uint32_t block);
void tg_gemm_fill_column_sums(const tg_gemm_emission *e, int i, uint32_t r, uint32_t col,
                              tg_agcu_instr *store);

/* Segments of its microcode, of which a VOP has one of BEGIN and GO_ON, and streams: of result k, and of the
 * accumulator, row `row` of an iteration, or of the rows that moments begin with; of column sum i, as it goes
 * on from a drain tile, and as one takes it up. column_sums_code.c */
enum {
  TG_COLUMN_SUMS_HOLD,
  TG_COLUMN_SUMS_BEGIN,
  TG_COLUMN_SUMS_GO_ON,
  TG_COLUMN_SUMS_ROWS,
  TG_COLUMN_SUMS_END
};
int tg_gemm_result_stream(const tg_gemm *g, int k, int row);
int tg_gemm_accumulator_stream(const tg_gemm *g, int row);
int tg_gemm_after_stream(const tg_gemm *g, int i);
int tg_gemm_before_stream(const tg_gemm *g, int i);
static inline int tg_gemm_first_rows(const tg_gemm *g) {
  return g->column_sums.first ? g->column_sums.first : 1;
}

/* Which tiles have no part in the section, into e->b.idle. */
void tg_gemm_find_idle(tg_gemm_emission *e);

/* Parts of a VOP of the drain (drain.c). */
typedef struct tg_gemm_buffer {
  const tg_buffer *buffer; /* NULL: none */
  uint32_t first;          /* of its copies */
  tg_rotation rotation;
  bool whole;     /* holds a block, not a drain tile */
  uint64_t meets; /* bits of the channel that it is part of */
} tg_gemm_buffer;
/* The ring of a channel. */
static inline tg_gemm_buffer tg_gemm_ring(const tg_gemm_emission *e, tg_gemm_role role, uint32_t first,
                                          tg_rotation rotation, bool whole) {
  return (tg_gemm_buffer){&e->channels[role].ring, first, rotation, whole, tg_gemm_bit(role)};
}

/* A VOP: over a block or over its drain tiles in turn, for each of `parts` parts of K. */
typedef struct tg_gemm_step {
  int segment;
  uint32_t part, parts; /* the first of the tile's parts; 0: one */
  bool by_drain_tiles;
  uint32_t first;     /* step of a block */
  uint32_t first_row; /* of a step */
  uint32_t rows;      /* of a drain tile, if not those that leave at once */
  tg_gemm_buffer accumulator, from, to,
      epilogue_operands; /* epilogue operands: how the blocks' buffers rotate */
  tg_gemm_buffer second; /* of a second product, as `from`; none: it is in the accumulator, too */
} tg_gemm_step;

/* Appends the VOP without waits and posts. */
tg_instr *tg_gemm_push_step(tg_gemm_emission *e, uint32_t r, uint32_t col, const tg_gemm_step *step);
/* A SEND to row `to` of the column, into a channel there. */
tg_tx_instr *tg_gemm_push_send(tg_gemm_emission *e, uint32_t r, uint32_t col, uint32_t to, uint32_t flits,
                               const tg_channel *into);

/* Two products in one section (second.c): the second one's emission, once `e` has its channels and bases; its loads; and
 * what mx has of each. */
void tg_gemm_begin_second(const tg_gemm_emission *e, tg_gemm_emission *out);
void tg_gemm_load_second(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t at);
void tg_gemm_multiply_both(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);

/* The VOP that transposes a block, from the accumulator into the scratchpad, one of each product; and where it puts the
 * first one's, 0, or the second one's, 1. swapped.c */
tg_buffer tg_gemm_transposed_buffer(const tg_gemm_emission *e, uint32_t product);
void tg_gemm_emit_transposition(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);

/* A pool in the drain (pool_emit.c): what lies beside the image, once; down the windows of a block, and across them,
 * one drain tile after the other;
 * the marks of the rows of a block that are outside of the image; what says so, into the program, before its sections; and base
 * table entries. */
void tg_gemm_emit_edges(tg_gemm_emission *e, uint32_t r, uint32_t col);
void tg_gemm_emit_pool_rows(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_pool_columns(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_load_marks(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                        uint32_t mask);
void tg_gemm_allocate_marks(tg_gemm_emission *e);

/* A ring of members (split_k.c): what a tile does between the accumulator and the egress; SENDs of sums, and, once
 * those of results are there, others between them. */
void tg_gemm_emit_ring(tg_gemm_emission *e, uint32_t r, uint32_t col);
void tg_gemm_emit_ring_sends(tg_gemm_emission *e, uint32_t r, uint32_t col);
void tg_gemm_skew_egress(tg_gemm_emission *e, uint32_t r, uint32_t col);

/* The VOP that drains a block, in a loop over its drain tiles, from block number `block` on. */
tg_instr *tg_gemm_emit_block_drain(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col,
                                   uint32_t block);

/* Prologues of A or B (prologue_emit.c), part by part as emit.c and load.c emit a section. */
static inline bool tg_gemm_has_prologue(const tg_gemm_emission *e) { return e->g->prologue.result != NULL; }
static inline bool tg_gemm_makes_a(const tg_gemm_emission *e) {
  return tg_gemm_has_prologue(e) && !e->g->prologue.of_b;
}
void tg_gemm_allocate_prologue_bases(tg_gemm_emission *e);
void tg_gemm_load_prologue_vectors(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col);
/* The buffers of input number `input`, of which a chunk lies beside those of the others. */
tg_buffer tg_prologue_input_buffer(const tg_gemm_emission *e, int prologue_input);
/* The VOP that makes a chunk in `block`, without waits and posts. What it reads and writes is in buffer
 * number `first` at first; `chunks`: of those in a loop of level 1, as in push_nodes. */
tg_instr *tg_gemm_push_prologue(tg_gemm_emission *e, uint32_t r, uint32_t col, const tg_buffer *block,
                                uint32_t first, uint32_t chunks);
/* VOPs of a tile, those of the drain between them; SENDs of what the nodes make, before those of the product's results,
 * and, once these are there, between them; and STOREs of an AGCU. */
void tg_gemm_emit_prologue(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_prologue_sends(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_share_sends(tg_gemm_emission *e, uint32_t r, uint32_t col);
void tg_gemm_emit_prologue_stores(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t at);

/* Chunks of B that rows of tiles make in turn (prologue_cooperative.c). */
static inline bool tg_gemm_makes_b(const tg_gemm_emission *e) { return e->t.producers > 0; }
/* The banks of the chunks that a producer makes, and the channel from it. */
tg_buffer tg_gemm_made_buffer(const tg_gemm_emission *e, uint32_t producer);
tg_channel tg_gemm_made_channel(const tg_gemm_emission *e, uint32_t producer);
/* Loads of what the nodes read: of the tiles of a row that load from the west, or of those of a column; and
 * scalars, for all tiles of a row. */
void tg_gemm_load_prologue_inputs(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t at);
void tg_gemm_load_prologue_scalars(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r);
/* A tile's VOPs of chunks; SENDs of them to the other producers, then to memory, after slot `begin`; and STOREs. */
void tg_gemm_emit_making(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_around(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_made_away(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col);
void tg_gemm_emit_producer_stores(tg_gemm_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col);
/* Is tile (r, col) loaded what it makes chunks of from the west? */
bool tg_gemm_prologue_from_west(const tg_gemm_emission *e, uint32_t r, uint32_t col);

#endif
