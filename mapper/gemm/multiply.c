/* The matrix unit's part of a product: a tile's GEMMs, one a K chunk. */
#include "frontend/base/math.h"
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/patch.h"

typedef tg_gemm_emission emission;

/* Where the rows of a strip's blocks are in the product. */
static void round_strip(const emission *e, tg_mx_instr *mx, uint32_t r, uint32_t col) {
  const tg_gemm *g = e->g;
  const tg_gemm_tiling *t = &e->t;
  const int64_t *pixels = g->image.pixels;
  int64_t results = (int64_t)tg_gemm_block_results(t) * tg_gemm_slabs(t),
          block = tg_gemm_row_first(e, r, col) / results, next = block + tg_gemm_rows_a_pass(e) / results,
          begin = tg_patch_first_row(g, t, block), column = tg_gemm_first_column(e, r, col);
  if (t->pool_rows) column = column * g->pool.step[1] - g->pool.before[1];
  mx->sr_row = (uint32_t)(g->sr_row + e->product * g->sr_row_step + begin * pixels[1] + column);
  mx->sr_row_delta[e->m_k_level] = (uint32_t)((tg_patch_first_row(g, t, next) - begin) * pixels[1]);
  mx->sr_row_skip = (uint32_t)(pixels[1] - t->patch_columns);
}

/* Accumulation rounds at the ends of K tiles, wherever chunks end, and at that of K. */
static void set_rounding(const emission *e, tg_mx_instr *mx, uint32_t r, uint32_t col) {
  int64_t tile = e->g->k_tile;
  mx->sr = 1;
  mx->sr_key = e->first_sum ? TG_KEY_SECOND : TG_KEY_PRODUCT;
  mx->sr_k = tile < e->g->part ? tile : e->g->part;
  mx->sr_end = 1;
  mx->sr_end_last = !e->t.resident;
  if (e->g->partials > 1) { /* K tiles are counted through all parts */
    int64_t of_part = (e->g->part + tile - 1) / tile;
    mx->sr_tile = r % e->t.members * of_part;
    if (e->t.parts > 1) mx->sr_tile_delta[tg_gemm_part_level(e)] = e->t.members * of_part;
  }
  int64_t row = e->g->sr_row + tg_gemm_row_first(e, r, col) + e->product * e->g->sr_row_step,
          column = e->g->sr_col + tg_gemm_col_first(e, r, col) + e->product * e->g->sr_col_step;
  mx->sr_transposed = e->t.swapped;
  mx->sr_row = e->t.swapped ? column : row;
  mx->sr_col = e->t.swapped ? row : column;
  (e->t.swapped ? mx->sr_col_delta : mx->sr_row_delta)[e->m_k_level] = tg_gemm_rows_a_pass(e);
  (e->t.swapped ? mx->sr_row_delta : mx->sr_col_delta)[e->n_k_level] = tg_gemm_col_delta(e);
  if (tg_gemm_counts_strips(&e->t)) round_strip(e, mx, r, col);
}

/* How much of K the tiles of a row multiply: the chunks of one part, or parts up to the end of K. */
static void set_k_total(const emission *e, tg_mx_instr *mx, uint32_t r) {
  int64_t left = e->g->k - tg_gemm_k_first(e, r);
  if (left < 0) left = 0;
  mx->k_total = e->t.parts == 1 && left > e->g->part ? e->g->part : left;
  tg_gemm_set_k_delta(e, mx->k_delta);
}

/* B is there as a whole, chunk behind chunk, or, transposed, along its rows. */
static void take_part_of_b(const emission *e, tg_row_operand *b, int64_t *banks) {
  bool transposed = e->g->b_transposed;
  b->delta[2] = transposed ? e->t.kc / tg_mx_elements(e->b.m, e->g->format)
                           : (int64_t)e->t.kc * tg_gemm_b_row(e->b.m, e->g, &e->t);
  if (!transposed) *banks = tg_banks_for(e->b.m, (uint32_t)b->delta[2]);
}

static void set_a(const emission *e, tg_mx_instr *mx) {
  const tg_params *m = e->b.m;
  uint32_t row = tg_gemm_a_row(m, e->g, &e->t), beats = tg_mx_beats(e->g->format);
  tg_set_operand(&mx->a, &e->channels[TG_ROLE_A].ring, e->t.resident == TG_RESIDENT_A);
  mx->a_transposed = e->g->a_transposed;
  mx->m_count[0] = 1;
  mx->m_count[1] = e->t.mt;
  mx->a_m[0] = e->g->a_transposed ? beats : 0; /* from a group of rows to the next */
  mx->a_m[1] = row;
  mx->a_blk[0] = e->g->a_transposed ? (int64_t)e->stationary * row : beats;
  if (tg_gemm_a_both_ways(e->b.m, e->g, &e->t)) {
    mx->m_count[0] = 2;
    mx->m_count[1] = e->t.mt / 2;
    mx->a_m[0] = (int64_t)tg_gemm_a_half(m, e->g, &e->t);
  }
  mx->a_banks = e->channels[TG_ROLE_A].ring.banks;
}

/* Of a patch: rows and columns of results are that many rows and positions apart; each chunk begins a kernel row
 * further down. */
static void set_patch(const emission *e, tg_mx_instr *mx) {
  const tg_gemm_image *x = &e->g->image;
  tg_patch_down down = tg_patch_down_of(e->g, &e->t);
  uint32_t row = tg_patch_row(e->b.m, e->g, &e->t), position = tg_patch_position(e->b.m, e->g, &e->t);
  tg_row_operand *a = &mx->a;
  tg_set_operand(&mx->a, &e->channels[TG_ROLE_A].ring, true);
  a->delta[2] = down.tap_step * row;
  mx->m_count[0] = e->t.patch_rows;
  mx->m_count[1] = e->t.patch_columns;
  mx->a_m[0] = down.step * row;
  mx->a_m[1] = e->t.patch == TG_PATCH_PIXELS ? x->step[1] * position : position;
  mx->a_banks = tg_patch_banks(e->b.m, e->g, &e->t);
}

/* Blocks: kernel columns and channels of each, or runs; then as those of any product. */
static void set_patch_blocks(const emission *e, tg_mx_instr *mx) {
  bool pixels = e->t.patch == TG_PATCH_PIXELS;
  uint32_t columns = pixels && tg_gemm_cuts(&e->t) == 1 ? (uint32_t)e->g->image.taps[1] : 1,
           blocks = e->t.kc / columns;
  blocks = (blocks + e->stationary - 1) / e->stationary;
  for (int l = 3; l > 0; l--) {
    mx->blk_count[l] = mx->blk_count[l - 1];
    mx->a_blk[l] = mx->a_blk[l - 1];
    mx->b_blk[l] = mx->b_blk[l - 1];
    mx->c_blk[l] = mx->c_blk[l - 1];
    mx->h_blk[l] = mx->h_blk[l - 1];
    mx->sr_col_blk[l] = mx->sr_col_blk[l - 1];
  }
  mx->k_loops = 3;
  mx->blk_count[0] = columns;
  mx->blk_count[1] = blocks;
  mx->a_blk[0] = e->g->image.tap_step[1] * tg_patch_position(e->b.m, e->g, &e->t);
  mx->a_blk[1] = tg_mx_beats(e->g->format);
  mx->b_blk[0] = mx->b_blk[1] * blocks;
}

/* Of several groups: columns begin with the channels of their group, and blocks of columns go on to those of the next one. */
static void set_groups(const emission *e, tg_mx_instr *mx, uint32_t r, uint32_t col) {
  const tg_params *m = e->b.m;
  int64_t each = e->g->n / e->g->image.groups, lanes = tg_lanes(m), step = tg_gemm_col_delta(e);
  uint32_t group = tg_patch_group(m, e->g);
  mx->a_base += tg_patch_shift(m, e->g, tg_gemm_col_first(e, r, col));
  if (e->t.passes_n > 1) mx->a.delta[e->n_k_level] = step / each * group;
  if (each > lanes) return;
  mx->a_blk[2] = lanes / each * group;
  mx->a_blk[3] = each < lanes ? group : 0;
}

/* Kernel row, or rows, number `tap` of a patch, with blocks of their own. */
static void take_kernel_row(const emission *e, tg_mx_instr *mx, uint32_t tap) {
  const tg_params *m = e->b.m;
  uint32_t row = tg_patch_row(m, e->g, &e->t);
  int64_t b = tap * mx->b.delta[2], k = tg_patch_chunk(e->g, &e->t, tap);
  mx->a_base += tg_patch_lead(m, e->g, &e->t) + tap * mx->a.delta[2];
  if (tg_gemm_slabs(&e->t) > 1) mx->a.delta[1] = (int64_t)tg_patch_slab(e->g, &e->t) * row;
  mx->a_banks = tg_patch_slab_banks(m, e->g, &e->t, tap);
  mx->b_base += b;
  if (!e->g->b_transposed) {
    int64_t rows = tg_div_up(k, e->stationary) * e->stationary * mx->b_row;
    mx->b_banks = tg_banks_for(m, (uint32_t)(b % tg_bank_rows(m) + rows));
  }
  mx->a.delta[2] = mx->b.delta[2] = 0;
  mx->init = tap == 0;
  mx->init_levels = 0;
  mx->c_rot_outer = 0;
  mx->k_chunk = mx->k_total = k;
  if (tg_gemm_joined(&e->t) > 1) mx->blk_count[1] = (uint32_t)tg_div_up(k, e->stationary);
  for (int l = 0; l < TG_LEVELS; l++) mx->k_delta[l] = 0;
  if (!mx->sr) return;
  mx->sr_end = tap + 1 == e->t.chunks;
  if (tg_gemm_slabs(&e->t) == 1) return;
  mx->sr_row_delta[1] = e->t.mt; /* where other products have blocks of columns */
  if (e->t.strips > 1) mx->sr_row_delta[1] = e->t.patch_rows * e->g->image.pixels[1];
  mx->sr_col_delta[1] = 0;
}

static void set_b(const emission *e, tg_mx_instr *mx) {
  const tg_params *m = e->b.m;
  uint32_t row = tg_gemm_b_row(m, e->g, &e->t);
  tg_set_operand(&mx->b, &e->channels[TG_ROLE_B].ring, e->t.resident == TG_RESIDENT_B);
  mx->b_transposed = e->g->b_transposed;
  mx->b_row = row;
  mx->b_blk[0] = e->g->b_transposed ? tg_mx_beats(e->g->format) : (int64_t)e->stationary * row;
  mx->b_blk[1] =
      e->g->b_transposed ? (int64_t)tg_lanes(m) * row : tg_lanes(m) / tg_mx_elements(m, e->g->format);
  mx->b_blk[2] = e->g->b_transposed ? (int64_t)e->stationary * row : 1;
  mx->b_banks = e->channels[TG_ROLE_B].ring.banks;
  if (e->t.whole_b) take_part_of_b(e, &mx->b, &mx->b_banks);
}

/* Rows of A are stationary, and columns of B go by: each is where the other one would be. */
static void set_swapped(const emission *e, tg_mx_instr *mx) {
  const tg_params *m = e->b.m;
  uint32_t a_row = tg_gemm_a_row(m, e->g, &e->t), b_row = tg_gemm_b_row(m, e->g, &e->t),
           beats = tg_mx_beats(e->g->format);
  tg_set_operand(&mx->a, &e->channels[TG_ROLE_B].ring, e->t.resident == TG_RESIDENT_B);
  mx->a_transposed = !e->g->b_transposed;
  mx->m_count[0] = 1;
  mx->m_count[1] = e->t.nt;
  mx->a_m[0] = e->g->b_transposed ? 0 : beats;
  mx->a_m[1] = b_row;
  mx->a_blk[0] = e->g->b_transposed ? beats : (int64_t)e->stationary * b_row;
  mx->a_banks = e->channels[TG_ROLE_B].ring.banks;
  if (e->t.whole_b) take_part_of_b(e, &mx->a, &mx->a_banks);
  tg_set_operand(&mx->b, &e->channels[TG_ROLE_A].ring, e->t.resident == TG_RESIDENT_A);
  mx->b_transposed = !e->g->a_transposed;
  mx->b_row = a_row;
  mx->b_blk[0] = e->g->a_transposed ? (int64_t)e->stationary * a_row : beats;
  mx->b_blk[2] = e->g->a_transposed ? beats : (int64_t)e->stationary * a_row;
  mx->b_banks = e->channels[TG_ROLE_A].ring.banks;
}

/* Blocks: k, or, where A comes both ways, its halves and k in each, then rows of A, of which there are more than a block
 * has in fp32 only: the two halves of the lanes. */
static void set_swapped_blocks(const emission *e, tg_mx_instr *mx) {
  mx->blk_count[1] = 1;
  mx->blk_count[2] = tg_gemm_swapped_blocks(e->b.m, e->g, &e->t);
  mx->c_blk[1] = mx->sr_col_blk[1] = 0;
  if (!tg_gemm_a_both_ways(e->b.m, e->g, &e->t)) return;
  mx->k_loops = 3;
  mx->blk_count[0] /= 2;
  mx->blk_count[1] = mx->blk_count[0];
  mx->blk_count[0] = 2;
  mx->a_blk[1] = mx->a_blk[0];
  mx->a_blk[0] *= mx->blk_count[1];
  mx->b_blk[1] = mx->b_blk[0];
  mx->b_blk[0] = (int64_t)tg_gemm_a_half(e->b.m, e->g, &e->t);
}

/* The blocks of two tiles lie beside each other. */
static void take_second(const emission *e, tg_mx_instr *mx) {
  uint32_t elements = tg_mx_elements(e->b.m, e->g->format);
  if (tg_gemm_a_mates(&e->t) > 1) mx->a_base += e->t.mt / elements;
  if (tg_gemm_b_mates(&e->t) > 1) *(e->t.swapped ? &mx->a_base : &mx->b_base) += e->t.nt / elements;
}

/* Blocks: k, then groups of 2P columns, then (fp32) their two halves. */
static void set_blocks(const emission *e, tg_mx_instr *mx) {
  const tg_params *m = e->b.m;
  mx->blk_count[0] = (e->t.kc + e->stationary - 1) / e->stationary;
  mx->blk_count[1] = e->t.nt / tg_lanes(m);
  mx->blk_count[2] = tg_gemm_column_blocks(m, e->g, &e->t);
  mx->blk_count[3] = 1;
  mx->k_loops = 1;
  mx->k_chunk = e->t.kc;
  mx->c_blk[1] = e->t.mt;
  mx->h_blk[2] = 1;
  mx->sr_col_blk[1] = tg_lanes(m);
  mx->sr_col_blk[2] = e->stationary;
}

/* One K chunk. */
static tg_instr *push_gemm(emission *e, uint32_t r, uint32_t col) {
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->mx, TG_OP_mx_gemm);
  tg_mx_instr *mx = &in->mx;
  tg_buffer halves = {.base = e->first_sum, .stride = tg_acc_rows(e->b.m), .count = 2};
  mx->format = e->g->format;
  if (e->t.swapped) {
    set_swapped(e, mx);
  } else {
    (e->t.patch ? set_patch : set_a)(e, mx);
    set_b(e, mx);
  }
  if (tg_gemm_mate(e, r, col)) take_second(e, mx);
  set_blocks(e, mx);
  if (e->t.patch) set_patch_blocks(e, mx);
  if (e->g->image.groups > 1) set_groups(e, mx, r, col);
  if (e->t.swapped) set_swapped_blocks(e, mx);
  tg_set_operand(&mx->c, &halves, !e->t.resident);
  mx->init = 1;
  mx->init_levels = e->t.resident ? 0 : 1 << 2;
  set_k_total(e, mx, r);
  if (e->g->k_tile) set_rounding(e, mx, r, col);
  return in;
}

/* Chunks `first` to `last` of each part, all but the last of which are whole. Each instruction rotates its
 * buffers by itself: chunk c of part n is in buffer n chunks + c, modulo 2. */
static tg_instr *push_chunks(emission *e, const tg_stage *stage, uint32_t r, uint32_t col, uint32_t first,
                             uint32_t last) {
  tg_instr *in = push_gemm(e, r, col);
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, !first, last + 1 == e->t.chunks);
  tg_mx_instr *mx = &in->mx;
  int64_t before = (int64_t)first * e->t.kc, length = e->g->part - before;
  tg_rotation rotation = last > first || e->t.chunks % 2 ? TG_ROTATE_EACH : TG_ROTATE_NEVER;
  if (e->t.resident != TG_RESIDENT_A)
    tg_set_rotating(&mx->a, &e->channels[TG_ROLE_A].ring, first % 2, rotation);
  if (e->t.resident != TG_RESIDENT_B)
    tg_set_rotating(&mx->b, &e->channels[TG_ROLE_B].ring, first % 2, rotation);
  mx->init = first == 0;
  mx->init_levels = 0;
  if (length < mx->k_chunk) mx->k_chunk = length;
  mx->blk_count[0] = (mx->k_chunk + e->stationary - 1) / e->stationary;
  mx->k_total = mx->k_total > before ? mx->k_total - before : 0;
  mx->sr_end = mx->sr && last + 1 == e->t.chunks;
  mx->sr_end_last = last > first;
  if (last > first) {
    in->common.loop_count[2] = last - first + 1;
    in->common.loop_begin[2] = tg_build_tile(&e->b, r, col)->mx.count - 1;
  }
  return in;
}

/* The operand that is resident is there with all its chunks, in buffer number `copy`. */
static void set_resident_chunk(const emission *e, tg_instr *in, uint32_t chunk, uint32_t copy) {
  int slot = e->t.resident == TG_RESIDENT_A ? 0 : 1;
  tg_buffer buffer = slot ? e->channels[TG_ROLE_B].ring : e->channels[TG_ROLE_A].ring;
  uint32_t each = e->t.kc / e->stationary * (uint32_t)(slot ? in->mx.b_blk[0] : in->mx.a_blk[0]);
  buffer.base += copy * buffer.stride + chunk * each;
  buffer.count = 1;
  uint32_t rows = buffer.base % tg_bank_rows(e->b.m) + buffer.rows - (e->t.chunks - 1) * each;
  tg_set_operand(slot ? &in->mx.b : &in->mx.a, &buffer, false);
  *(slot ? &in->mx.b_banks : &in->mx.a_banks) = tg_banks_for(e->b.m, rows);
}

/* The inner passes, a GEMM per chunk. */
static tg_instr *push_resident_passes(emission *e, const tg_stage *stage, uint32_t r, uint32_t col,
                                      uint32_t copy) {
  uint32_t begin = tg_build_tile(&e->b, r, col)->mx.count;
  tg_instr *in = NULL;
  for (uint32_t chunk = 0; chunk < e->t.chunks; chunk++) {
    in = push_chunks(e, stage, r, col, chunk, chunk);
    set_resident_chunk(e, in, chunk, copy);
    in->mx.c_rot_outer = 0;
  }
  in->common.loop_count[2] = e->k_loops[2];
  in->common.loop_begin[2] = begin;
  return in;
}

/* Chunks beside an operand that is resident. It lies in either of two buffers in turn, from outer pass to
 * outer pass: buffers rotate with each execution of an instruction, or where it ends a loop, which of several
 * only the last one does; so there are instructions for either. */
static void emit_resident_chunks(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  uint32_t outer = e->k_loops[0];
  if (outer > 1) {
    push_resident_passes(e, stage, r, col, 0);
    tg_instr *in = push_resident_passes(e, stage, r, col, 1);
    in->common.loop_count[0] = outer / 2;
  }
  if (outer % 2) push_resident_passes(e, stage, r, col, 0);
}

/* Where a tile has several parts, the first and last chunk of each have instructions of their own, or all do. */
static void emit_parts(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  uint32_t last = e->t.chunks - 1;
  for (uint32_t chunk = 0; !e->nested && chunk <= last; chunk++)
    push_chunks(e, stage, r, col, chunk, chunk)->mx.c_rot_outer = 0;
  if (!e->nested) return;
  push_chunks(e, stage, r, col, 0, 0);
  if (last > 1) push_chunks(e, stage, r, col, 1, last - 1);
  push_chunks(e, stage, r, col, last, last);
}

/* A chunk of a producer, which each round has one of: of B by what is full of it, and where the producer has room. */
static tg_instr *push_made(emission *e, const tg_stage *stage, uint32_t r, uint32_t col, uint32_t producer) {
  tg_instr *in = push_gemm(e, r, col);
  tg_mx_instr *mx = &in->mx;
  tg_buffer made = tg_gemm_made_buffer(e, producer), a = e->channels[TG_ROLE_A].ring, half = {.count = 1};
  if (e->t.producers > 1) { /* as many, twice or half as many */
    a.base += producer % a.count * a.stride;
    a.stride *= e->t.producers;
    a.count = a.count > e->t.producers ? a.count / e->t.producers : 1;
  }
  tg_set_operand(&mx->a, &a, false);
  tg_set_operand(&mx->b, &made, false);
  tg_set_operand(&mx->c, &half, false);
  mx->init = producer == 0;
  mx->k_total = e->t.kc;
  for (int l = 0; l < TG_LEVELS; l++) mx->k_delta[l] = 0;
  mx->sr_end = mx->sr && producer + 1 == e->t.producers;
  tg_gemm_meet(e, stage, ~tg_gemm_bit(TG_ROLE_B), in, r, col, !producer, producer + 1 == e->t.producers);
  tg_channel from = tg_gemm_made_channel(e, producer);
  tg_join_channel(&from, &(tg_join){.wait = 1, .post = 1},
                  &(tg_joint){.kernel = e, .in = in, .r = r, .col = col});
  return in;
}

/* The columns of a block in two parts: all groups but the last one, or the first half of that. */
static void take_columns(const emission *e, tg_mx_instr *mx, uint32_t part) {
  int groups = e->t.patch ? 2 : 1;
  uint32_t before = (uint32_t)mx->blk_count[groups] - 1, bank = tg_bank_rows(e->b.m);
  mx->c_rot_outer = 0; /* each of the two is once a block */
  if (!part) {
    mx->blk_count[groups] = before;
    return;
  }
  int64_t begin = mx->b_base;
  mx->blk_count[groups] = mx->blk_count[groups + 1] = 1;
  mx->b_base += before * mx->b_blk[groups];
  mx->b_banks -= mx->b_base / bank - begin / bank;
  mx->c_base += before * mx->c_blk[groups];
  mx->sr_col += before * mx->sr_col_blk[groups];
}

static uint32_t parts_of_columns(const emission *e) {
  return tg_gemm_parts_columns(e->b.m, e->g, &e->t) ? 2 : 1;
}

/* Of columns in parts the chunks of one follow those of the other: a chain of sums goes on from instruction to instruction. */
static void emit_rows_apart(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  uint32_t parts = parts_of_columns(e);
  for (uint32_t i = 0; i < e->t.chunks * parts; i++) {
    tg_instr *in = push_gemm(e, r, col);
    take_kernel_row(e, &in->mx, i % e->t.chunks);
    if (parts > 1) take_columns(e, &in->mx, i / e->t.chunks);
    tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, !i, i + 1 == e->t.chunks * parts);
  }
}

/* An instruction for a chunk, in loops over chunks and passes; or two of the only one. */
static void emit_chunk(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  uint32_t parts = parts_of_columns(e);
  for (uint32_t part = 0; part < parts; part++) {
    tg_instr *in = push_gemm(e, r, col);
    if (parts > 1) take_columns(e, &in->mx, part);
    tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, !part, part + 1 == parts);
  }
}

/* An instruction for each kernel row, whose parts are the executions of a loop: of each the buffer of B follows that of
 * the one before. */
static void emit_cut_rows(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  const tg_params *m = e->b.m;
  uint32_t cuts = tg_gemm_cuts(&e->t), taps = e->t.chunks / cuts,
           begin = tg_build_tile(&e->b, r, col)->mx.count;
  for (uint32_t tap = 0; tap < taps; tap++) {
    tg_instr *in = push_gemm(e, r, col);
    tg_mx_instr *mx = &in->mx;
    tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, !tap, tap + 1 == taps);
    mx->a_base += tap * mx->a.delta[2];
    mx->a.delta[2] = tg_patch_cut(m, e->g, &e->t);
    tg_set_rotating(&mx->b, &e->channels[TG_ROLE_B].ring, tap * cuts % tg_gemm_b_blocks(&e->t),
                    TG_ROTATE_EACH);
    mx->init = tap == 0;
    mx->init_levels = tap == 0 ? 1 << 2 : 0;
    mx->k_total = e->t.kc; /* whole stationary blocks, all of them */
    for (int l = 0; l < TG_LEVELS; l++) mx->k_delta[l] = 0;
    mx->sr_end = mx->sr && tap + 1 == taps;
    in->common.loop_count[2] = cuts;
    in->common.loop_begin[2] = begin + tap;
    bool closes = tap + 1 == taps && !e->second; /* of two products the second one does */
    for (int l = 0; l < 2 && closes; l++) {
      in->common.loop_count[l] = e->k_loops[l];
      in->common.loop_begin[l] = begin;
    }
  }
}

void tg_gemm_emit_multiply(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  if (tg_gemm_makes_b(e))
    for (uint32_t producer = 0; producer < e->t.producers; producer++) push_made(e, stage, r, col, producer);
  else if (tg_gemm_has_rows_apart(&e->t))
    emit_rows_apart(e, stage, r, col);
  else if (tg_gemm_cuts(&e->t) > 1)
    emit_cut_rows(e, stage, r, col);
  else if (tg_gemm_has_resident_chunks(&e->t))
    emit_resident_chunks(e, stage, r, col);
  else if (e->t.parts > 1)
    emit_parts(e, stage, r, col);
  else
    emit_chunk(e, stage, r, col);
}
