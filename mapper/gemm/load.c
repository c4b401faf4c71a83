/* Loads of a product's section: A along the rows and B down the columns, where tiles share them. */
#include "frontend/base/math.h"
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/patch.h"

#include <assert.h>
#include <string.h>

typedef tg_gemm_emission emission;

/* Is A (B) the same for all tiles of a row (column)? Then it is multicast. */
static bool shares_a(const emission *e) {
  return e->t.split == TG_SPLIT_OUTPUT || tg_gemm_has_own_columns(&e->t);
}
static bool shares_b(const emission *e) {
  return e->t.split == TG_SPLIT_OUTPUT || e->t.split == TG_SPLIT_ROWS;
}
/* Of the LOADs that fill a buffer together, the first one asks, and the last one tells. */
static void meet(const emission *e, const tg_stage *stage, tg_instr *load, bool first, bool last) {
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, load, 0, 0, first, last);
}

/* Runs along k, in rows of `row` bank rows: k beyond K is masked, whatever is there. */
static void leave_out_masked(const emission *e, tg_agcu_instr *load, uint32_t row) {
  const tg_gemm *g = e->g;
  if (e->t.chunks * e->t.parts > 1 || g->k == 0 || g->k >= load->take) return;
  load->take = g->k;
  load->dst_inner = (g->k - 1) / tg_mx_elements(e->b.m, g->format) + 1;
  load->dst_stride = row;
}

/* Rows of `length` k's: no atoms for those beyond K, which are masked, whatever is there. */
static int64_t rows_along_k(const emission *e, uint32_t length) {
  return (e->t.chunks * e->t.parts == 1 || e->t.whole_b) && e->g->k > 0 ? tg_min(e->g->k, length) : length;
}

/* Spread: where a tile's product begins among the rows of all, of which each product has `rows`. */
static void set_product_rows(const emission *e, tg_agcu_instr *load, uint32_t index, int64_t rows) {
  load->m_first = index * rows;
  load->m_delta[0] = tg_gemm_row_tiles(e) * rows;
}

/* Chunk `chunk` of an operand that is resident, whose k's are `row` bank rows each, goes where the whole operand has room: the first
 * one has asked. */
static void set_resident(const emission *e, tg_agcu_instr *load, const tg_buffer *buffer, uint32_t chunk,
                         uint32_t row) {
  tg_set_operand(&load->dst, buffer, false);
  load->dst_base += (int64_t)chunk * e->t.kc * row;
}

/* Patches of groups that are filled up: rows are those of an image, k counts the rows of that. */
static void set_walk_of_groups(const emission *e, tg_agcu_instr *load, int64_t block, int64_t step) {
  const tg_gemm *g = e->g;
  int64_t each = tg_patch_image_blocks(g, &e->t), down = tg_patch_block_rows(g, &e->t) * g->image.own,
          image = tg_patch_walk_rows(g, &e->t);
  load->m_first = block / each * image;
  load->k_first = block % each * down;
  if (g->image.images == 1)
    load->k_delta[e->m_k_level] = step * down;
  else
    load->m_delta[e->m_k_level] = step / each * image;
}

/* Which patches a tile has. */
static void set_patch_walk(const emission *e, tg_agcu_instr *load, uint32_t r, uint32_t col) {
  const tg_params *m = e->b.m;
  const tg_gemm_tiling *t = &e->t;
  tg_patch_fill_walk(m, e->g, t, tg_value_bytes_each(e->g->a), load);
  int64_t results = tg_gemm_block_results(t) * tg_gemm_slabs(t),
          block = tg_gemm_row_first(e, r, col) / results, step = tg_gemm_rows_a_pass(e) / results;
  if (tg_gemm_pads_channels(e->g)) {
    set_walk_of_groups(e, load, block, step);
  } else {
    load->m_first = block * tg_patch_walk_rows(e->g, t);
    load->m_delta[e->m_k_level] = step * tg_patch_walk_rows(e->g, t);
  }
  int64_t columns = tg_gemm_first_column(e, r, col), z = tg_value_bytes_each(e->g->a);
  if (t->pool_rows)
    tg_patch_move(e->g, t, -e->g->pool.before[0], columns * e->g->pool.step[1] - e->g->pool.before[1], z,
                  load);
  else if (t->strips > 1)
    tg_patch_move(e->g, t, 0, columns, z, load);
}

/* Of a patch, or of a tile's first slab, or of one of the others. */
static void set_patch(const emission *e, tg_agcu_instr *load, uint32_t r, uint32_t col, uint32_t slab) {
  const tg_params *m = e->b.m;
  const tg_gemm_tiling *t = &e->t;
  set_patch_walk(e, load, r, col);
  if (tg_gemm_slabs(t) == 1) return;
  uint32_t first = tg_patch_first_slab(e->g, t), each = tg_patch_slab(e->g, t),
           row = tg_patch_row(m, e->g, t);
  load->dst_base += tg_patch_lead(m, e->g, t);
  load->dst_inner = tg_patch_length(m, e->g, t);
  load->dst_stride = row;
  load->rows = slab ? each : first;
  if (!slab) return;
  load->m_first += first;
  load->m_delta[1] = each;
  load->dst_base += (int64_t)first * row;
  load->dst.delta[1] = (int64_t)each * row;
}

/* `count` rows of a patch, or slab, from row number `first` of it on, each of which is an execution of the LOAD. */
static void set_position_rows(const emission *e, tg_agcu_instr *load, uint32_t slab, uint32_t first) {
  const tg_params *m = e->b.m;
  const tg_gemm_tiling *t = &e->t;
  uint32_t each = tg_patch_slab(e->g, t), row = tg_patch_row(m, e->g, t);
  int64_t k = tg_patch_walk_step(e->g, t);
  tg_set_rotating(&load->dst, &e->channels[TG_ROLE_A].ring, 0, TG_ROTATE_OUTER);
  if (slab) first += tg_patch_first_slab(e->g, t);
  load->dst_base += tg_patch_lead(m, e->g, t) + (int64_t)first * row;
  load->dst.delta[2] = row;
  load->dst_inner = tg_div_up(load->take, tg_mx_elements(m, e->g->format));
  load->dst_stride = e->g->image.groups > 1 ? tg_patch_group(m, e->g) : tg_patch_position(m, e->g, t);
  load->k_first += first * k;
  load->k_delta[2] = k;
  if (!slab) return;
  load->dst.delta[1] = (int64_t)each * row;
  load->k_delta[1] = each * k;
}

/* Position by position: a walk has the digits for a row of the patch, and those between the first and the last one are a
 * loop. */
static void load_positions(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                           uint32_t mask, uint32_t slab) {
  const tg_gemm *g = e->g;
  int64_t z = tg_value_bytes_each(g->a);
  uint32_t rows = slab ? tg_patch_slab(g, &e->t) : tg_patch_first_slab(g, &e->t), count;
  for (uint32_t row = 0; row < rows; row += count) {
    count = row && row + 1 < rows ? rows - 1 - row : 1;
    tg_instr *in = tg_gemm_push_load(e, queue, &e->channels[TG_ROLE_A].ring, mask);
    tg_agcu_instr *load = &in->agcu;
    tg_gemm_meet(e, stage, ~tg_gemm_bit(TG_ROLE_OPERANDS), in, 0, 0, !row, row + count == rows);
    load->base = e->a_base;
    load->offset = e->a_rest + g->a_origin * z;
    load->convert = g->a_convert;
    set_patch_walk(e, load, r, col);
    set_position_rows(e, load, slab, row);
    if (count == 1) continue;
    in->common.loop_count[2] = count;
    in->common.loop_begin[2] = queue->count - 1;
  }
  if (tg_gemm_pool_marks(g, &e->t)) tg_gemm_load_marks(e, stage, queue, r, col, mask);
}

/* `chunk`: of those that have instructions of their own; `slab`: 0, the first one. */
static tg_agcu_instr *load_a(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                             uint32_t mask, uint32_t chunk, uint32_t slab) {
  const tg_gemm *g = e->g;
  int64_t z = tg_value_bytes_each(g->a);
  const tg_channel *to = tg_gemm_makes_a(e) ? &e->channels[TG_ROLE_PROLOGUE_INPUTS] : &e->channels[TG_ROLE_A];
  tg_instr *in = tg_gemm_push_load(e, queue, &to->ring, mask);
  tg_agcu_instr *load = &in->agcu;
  tg_gemm_set_chunk(e, &load->dst, &to->ring, chunk);
  if (e->t.resident == TG_RESIDENT_A)
    set_resident(e, load, &e->channels[TG_ROLE_A].ring, chunk, tg_gemm_a_row(e->b.m, g, &e->t));
  tg_gemm_meet(e, stage, ~tg_gemm_bit(TG_ROLE_OPERANDS), in, 0, 0, !chunk, true);
  load->base = e->a_base;
  load->offset = e->a_rest + g->a_origin * z;
  load->convert = g->a_convert;
  if (e->t.patch) {
    set_patch(e, load, r, col, slab);
    if (tg_gemm_pool_marks(g, &e->t)) tg_gemm_load_marks(e, stage, queue, r, col, mask);
    return load;
  }
  /* Of the two walks of a LOAD, rows and runs, which is m's and which k's? */
  int m = g->a_transposed ? 3 : 0, k = 3 - m;
  int64_t *m_radix = g->a_transposed ? load->k_radix : load->m_radix,
          *k_radix = g->a_transposed ? load->m_radix : load->k_radix;
  for (int d = 0; d < 3; d++) {
    m_radix[d] = g->a_m_radix[d];
    k_radix[d] = g->a_k_radix[d] ? g->a_k_radix[d] : 1;
    load->stride[m + d] = g->a_m_stride[d] * z;
    load->stride[k + d] = g->a_k_stride[d] * z;
    load->y_inc[m + d] = g->y_m[d];
    load->y_inc[k + d] = g->y_k[d];
    load->x_inc[m + d] = g->x_m[d];
    load->x_inc[k + d] = g->x_k[d];
  }
  if (e->t.image_rows) m_radix[1] = e->t.image_rows; /* as the other product's patches count them */
  load->y_org = g->y_org;
  load->x_org = g->x_org;
  load->y_size = g->k ? g->y_size : 0; /* no k: nothing is read */
  load->x_size = g->x_size;
  uint32_t length =
      e->t.kc *
      (e->t.resident == TG_RESIDENT_A ? e->t.chunks / tg_gemm_resident_loads(e->b.m, e->g, &e->t) : 1);
  load->rows = g->a_transposed ? rows_along_k(e, length) : e->t.mt;
  load->take = tg_gemm_taken(e->b.m, e->g, g->a_transposed ? e->t.mt * tg_gemm_a_mates(&e->t) : length,
                             tg_gemm_a_row(e->b.m, g, &e->t));
  if (tg_gemm_makes_a(e))
    load->take = e->t.kc; /* whole flits of any format */
  else if (!g->a_transposed)
    leave_out_masked(e, load, tg_gemm_a_row(e->b.m, g, &e->t));
  if (g->spread && g->a_transposed)
    set_product_rows(e, load, tg_gemm_row_index(e, r, col), g->k);
  else {
    *(g->a_transposed ? &load->k_first : &load->m_first) = tg_gemm_row_first(e, r, col);
    (g->a_transposed ? load->k_delta : load->m_delta)[e->m_k_level] = tg_gemm_rows_a_pass(e);
    *(g->a_transposed ? &load->m_first : &load->k_first) = tg_gemm_k_first(e, r) + (int64_t)chunk * e->t.kc;
  }
  tg_gemm_set_k_delta(e, g->a_transposed ? load->m_delta : load->k_delta);
  if (tg_gemm_loads_runs(e->b.m, g, &e->t)) tg_gemm_join_rows(g->m, g->k, z, load);
  return load;
}

/* All that the tiles share of A, along the row or down the column: half of it, if it comes both ways. */
static void load_shared_a(emission *e, const tg_stage *stage, tg_queue *queue, bool north, uint32_t lane,
                          uint32_t chunk, uint32_t slab) {
  uint32_t tiles = north ? e->b.m->rows : e->b.m->cols, mask = 0;
  for (uint32_t i = 0; i < tiles; i++)
    if (!tg_build_is_idle(&e->b, north ? i : lane, north ? lane : i)) mask |= 1u << (i + 1);
  if (!mask) return;
  if (tg_gemm_loads_positions(&e->t)) {
    load_positions(e, stage, queue, north ? 0 : lane, north ? lane : 0, mask, slab);
    return;
  }
  tg_agcu_instr *load = load_a(e, stage, queue, north ? 0 : lane, north ? lane : 0, mask, chunk, slab);
  if (!tg_gemm_a_both_ways(e->b.m, e->g, &e->t)) return;
  uint32_t half = (e->t.swapped ? e->t.kc : e->t.mt) / 2;
  bool along = e->t.swapped && !e->g->a_transposed; /* the halves are of its runs, not of its rows */
  *(along ? &load->take : &load->rows) = half;
  if (!north) return;
  *(along ? &load->k_first : &load->m_first) += half;
  load->dst_base += (int64_t)tg_gemm_a_half(e->b.m, e->g, &e->t);
}

/* May the last block of columns have fewer than the others? Those of several passes are not cut short. */
static bool has_short_block(const emission *e) {
  return tg_gemm_has_own_columns(&e->t) && !e->t.paired && e->t.passes_n == 1;
}

/* Columns that a tile has of B in its only pass. */
static int64_t columns_of(const emission *e, uint32_t r, uint32_t col) {
  if (!has_short_block(e)) return e->t.nt;
  return tg_min(e->g->n - tg_gemm_col_first(e, r, col), tg_gemm_own_columns(&e->t));
}

/* Rows of k of a block with fewer columns: no atoms for those that nobody stores, whatever is there. */
static void leave_out_columns(const emission *e, tg_agcu_instr *load, int64_t columns) {
  load->take = columns;
  load->dst_inner = (load->take - 1) / tg_mx_elements(e->b.m, e->g->format) + 1;
  load->dst_stride = tg_gemm_b_row(e->b.m, e->g, &e->t);
}

/* A chunk of a block as one run; of one with fewer columns, as rows of these. What the last chunk takes behind its block
 * is masked, so it may be that of the next one, but not what lies behind B. */
static void set_run(const emission *e, tg_agcu_instr *load, uint32_t r, uint32_t col) {
  const tg_gemm *g = e->g;
  int64_t columns = columns_of(e, r, col), z = tg_value_bytes_each(g->b);
  if (columns < e->t.nt) {
    load->offset += tg_gemm_col_first(e, r, col) * g->k * z;
    load->k_first = 0;
    load->k_radix[2] = columns;
    load->stride[2] = columns * z;
    return;
  }
  load->rows = 1;
  load->take = (int64_t)e->t.kc * e->t.nt;
  for (int d = 0; d < 3; d++) load->m_radix[d] = load->k_radix[d] = 1;
  load->k_radix[1] = has_short_block(e) ? g->n / e->t.nt : tg_div_up(g->n, e->t.nt);
  load->k_radix[2] = g->k * e->t.nt;
  memset(load->stride, 0, sizeof load->stride);
  load->stride[4] = g->k * e->t.nt * z;
  load->stride[5] = tg_value_bytes_each(g->b);
  load->m_first = 0;
  memset(load->m_delta, 0, sizeof load->m_delta);
  load->k_first = tg_gemm_col_first(e, r, col) * g->k;
  memset(load->k_delta, 0, sizeof load->k_delta);
  if (!e->t.resident) load->k_delta[2] = (int64_t)e->t.kc * e->t.nt;
  load->k_delta[e->n_k_level] = tg_gemm_col_delta(e) * g->k;
}

/* Of groups that are filled up, some or a part of one: rows are their channels, which follow each other for each k, and those
 * that there are not, and columns, are zeros. */
static void set_filled_b(const emission *e, tg_agcu_instr *load, uint32_t r, uint32_t col, int64_t k) {
  const tg_gemm *g = e->g;
  const tg_gemm_image *x = &g->image;
  int64_t z = tg_value_bytes_each(g->b), each = g->n / x->groups, own = g->run_own ? g->run_own : each,
          groups = tg_max(e->t.nt / each, 1), row = g->b_k_stride[2], first = tg_gemm_col_first(e, r, col);
  load->offset += first / each * own * z;
  load->rows = k * groups;
  load->take = tg_min(e->t.nt, each);
  load->m_radix[0] = x->taps[0] * x->taps[1];
  load->m_radix[1] = x->channels;
  load->m_radix[2] = groups;
  load->stride[0] = x->own * row * z;
  load->stride[1] = row * z;
  load->stride[2] = own * z;
  load->y_inc[1] = 1;
  load->y_size = x->own;
  load->k_radix[2] = each;
  load->x_inc[5] = 1; /* of which pieces may have several */
  load->x_size = own;
  load->k_first = first % each;
  load->m_first *= groups;
  for (int l = 0; l < TG_LEVELS; l++) load->m_delta[l] *= groups;
}

/* k counts the channels that an only group is filled up to: those that there are not are zeros. */
static void leave_out_filling(const emission *e, tg_agcu_instr *load) {
  const tg_gemm *g = e->g;
  if (g->b_transposed)
    load->x_inc[5] = 1, load->x_size = g->image.own;
  else
    load->y_inc[2] = 1, load->y_size = g->image.own;
}

static void load_b(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                   uint32_t mask, uint32_t chunk) {
  const tg_gemm *g = e->g;
  int64_t z = tg_value_bytes_each(g->b);
  tg_instr *in = tg_gemm_push_load(e, queue, &e->channels[TG_ROLE_B].ring, mask);
  tg_agcu_instr *load = &in->agcu;
  tg_gemm_set_chunk(e, &load->dst, &e->channels[TG_ROLE_B].ring, chunk);
  if (e->t.resident == TG_RESIDENT_B)
    set_resident(e, load, &e->channels[TG_ROLE_B].ring, chunk, tg_gemm_b_row(e->b.m, g, &e->t));
  meet(e, stage, in, !chunk, true);
  load->base = e->b_base;
  load->offset = e->b_rest;
  bool transposed = g->b_transposed; /* rows are n's, runs k's */
  uint32_t length =
      e->t.kc * (e->t.whole_b                     ? e->t.chunks
                 : e->t.resident == TG_RESIDENT_B ? e->t.chunks / tg_gemm_resident_loads(e->b.m, e->g, &e->t)
                                                  : 1);
  load->rows = transposed ? tg_min(g->n, e->t.nt) : rows_along_k(e, length);
  load->take = tg_gemm_taken(e->b.m, e->g, transposed ? length : e->t.nt * tg_gemm_b_mates(&e->t),
                             tg_gemm_b_row(e->b.m, g, &e->t));
  if (transposed) leave_out_masked(e, load, tg_gemm_b_row(e->b.m, g, &e->t));
  int n = transposed ? 0 : 3, k = 3 - n;
  int64_t *n_radix = transposed ? load->m_radix : load->k_radix,
          *k_radix = transposed ? load->k_radix : load->m_radix;
  for (int d = 0; d < 3; d++) {
    n_radix[d] = g->b_n_radix[d];
    k_radix[d] = g->b_k_radix[d] ? g->b_k_radix[d] : 1;
    load->stride[n + d] = g->b_n_stride[d] * z;
    load->stride[k + d] = g->b_k_stride[d] * z;
  }
  load->y_size = g->k ? 1 : 0;
  load->x_size = 1;
  tg_gemm_set_k_delta(e, transposed ? load->k_delta : load->m_delta);
  if (g->spread) {
    set_product_rows(e, load, tg_gemm_row_index(e, r, col), transposed ? g->n : g->k);
    *(transposed ? &load->m_first : &load->k_first) += tg_gemm_col_first(e, r, col);
  } else {
    *(transposed ? &load->m_first : &load->k_first) = tg_gemm_col_first(e, r, col);
    *(transposed ? &load->k_first : &load->m_first) = tg_gemm_k_first(e, r) + (int64_t)chunk * e->t.kc;
    if (!tg_gemm_strips_columns(&e->t))
      (transposed ? load->m_delta : load->k_delta)[e->n_k_level] = tg_gemm_col_delta(e);
  }
  if (tg_gemm_b_in_blocks(g, &e->t)) set_run(e, load, r, col);
  if (!transposed && columns_of(e, r, col) < e->t.nt) leave_out_columns(e, load, columns_of(e, r, col));
  if (tg_gemm_pads(g) && g->image.groups > 1) set_filled_b(e, load, r, col, load->rows);
  if (tg_gemm_pads(g) && g->image.groups == 1) leave_out_filling(e, load);
  load->convert = g->b_convert;
}

/* What a tile has of A alone, or with its mates. */
static void load_own_a(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                       uint32_t mask, uint32_t slab) {
  if (tg_gemm_loads_positions(&e->t))
    load_positions(e, stage, queue, r, col, mask, slab);
  else
    load_a(e, stage, queue, r, col, mask, 0, slab);
}

static void load_a_west(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t slab) {
  uint32_t cols = e->b.m->cols;
  uint32_t chunks = e->t.resident == TG_RESIDENT_A ? tg_gemm_resident_loads(e->b.m, e->g, &e->t)
                                                   : tg_gemm_unrolled_chunks(&e->t);
  for (uint32_t chunk = 0; chunk < chunks && shares_a(e); chunk++)
    load_shared_a(e, stage, queue, false, r, chunk, slab);
  uint32_t mates = e->t.split == TG_SPLIT_ROWS ? e->t.alike * tg_gemm_a_mates(&e->t) : 1,
           mask = ((1u << mates) - 1) << 1;
  for (uint32_t col = 0; col < cols && !shares_a(e); col += mates)
    if (!tg_gemm_a_from_north(e, r, col) && !tg_build_is_idle(&e->b, r, col))
      load_own_a(e, stage, queue, r, col, mask << col, slab);
}
static void load_b_west(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r) {
  uint32_t mates = tg_gemm_b_mates(&e->t), mask = ((1u << mates) - 1) << 1;
  for (uint32_t col = 0; col < e->b.m->cols; col += mates)
    if (tg_gemm_b_from_west(e, r, col) && !tg_build_is_idle(&e->b, r, col))
      load_b(e, stage, queue, r, col, mask << col, 0);
}
static void load_a_north(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col, uint32_t slab) {
  if (tg_gemm_a_both_ways(e->b.m, e->g, &e->t)) load_shared_a(e, stage, queue, true, col, 0, 0);
  uint32_t mates = tg_gemm_a_mates(&e->t), mask = ((1u << mates) - 1) << 1;
  for (uint32_t r = 0; r < e->b.m->rows; r += mates)
    if (tg_gemm_a_from_north(e, r, col)) load_own_a(e, stage, queue, r, col, mask << r, slab);
}

/* The first slab of each tile, or its patch, and then, in a loop, the other slabs: tiles take turns. */
static void load_slabs(emission *e, const tg_stage *stage, tg_queue *queue, bool west, uint32_t at) {
  uint32_t begin[2] = {queue->count, queue->count}, kinds = tg_gemm_slabs(&e->t) > 1 ? 2 : 1;
  for (uint32_t slab = 0; slab < kinds; slab++) {
    begin[slab] = queue->count;
    (west ? load_a_west : load_a_north)(e, stage, queue, at, slab);
  }
  if (queue->count == begin[0]) return;
  tg_common_instr *last = &queue->instrs[queue->count - 1].common;
  last->loop_count[0] = e->k_loops[0];
  last->loop_begin[0] = begin[0];
  if (kinds == 1) return;
  last->loop_count[1] = e->t.slabs - 1;
  last->loop_begin[1] = begin[1];
}

static void load_rows(emission *e, const tg_stage *stage, tg_queue *queue, bool west, uint32_t at) {
  if (tg_gemm_has_rows_apart(&e->t))
    load_slabs(e, stage, queue, west, at);
  else
    (west ? load_a_west : load_a_north)(e, stage, queue, at, 0);
}

static void load_b_north(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col) {
  uint32_t chunks = e->t.whole_b                     ? 1
                    : e->t.resident == TG_RESIDENT_B ? tg_gemm_resident_loads(e->b.m, e->g, &e->t)
                                                     : tg_gemm_unrolled_chunks(&e->t);
  for (uint32_t chunk = 0; chunk < chunks; chunk++)
    for (uint32_t d = 0; d < tg_gemm_rows_apart(e) && shares_b(e); d++)
      load_b(e, stage, queue, d, col, tg_gemm_rows_like(e, d), chunk);
  uint32_t mates = tg_gemm_b_mates(&e->t), mask = ((1u << mates) - 1) << 1;
  for (uint32_t r = 0; r < e->b.m->rows && !shares_b(e); r += mates)
    if (!tg_gemm_b_from_west(e, r, col) && !tg_build_is_idle(&e->b, r, col))
      load_b(e, stage, queue, r, col, mask << r, 0);
}

void tg_gemm_emit_load(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t at) {
  bool west = stage->seat == TG_SIDE_WEST;
  if (west && at >= tg_gemm_used_rows(e)) return; /* no whole group of members */
  switch (stage->kind) {
  case TG_STAGE_A: load_rows(e, stage, queue, west, at); break;
  case TG_STAGE_B: (west ? load_b_west : load_b_north)(e, stage, queue, at); break;
  case TG_STAGE_VECTORS: tg_gemm_load_vectors(e, stage, queue, at); break;
  case TG_STAGE_BLOCKS: tg_gemm_load_blocks(e, stage, queue, west, at); break;
  case TG_STAGE_PROLOGUE_VECTORS: tg_gemm_load_prologue_vectors(e, stage, queue, at); break;
  case TG_STAGE_PROLOGUE_INPUTS: tg_gemm_load_prologue_inputs(e, stage, queue, at); break;
  case TG_STAGE_PROLOGUE_SCALARS: tg_gemm_load_prologue_scalars(e, stage, queue, at); break;
  default: assert(false); /* no other stage loads */
  }
}
