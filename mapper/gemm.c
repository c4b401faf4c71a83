/* Emission of a product: A multicast along rows, B along columns, where tiles share them; one GEMM a K chunk,
 * one VOP a piece of the drain (gemm_drain.c). Loops of every unit: passes over m, passes over n, and inside
 * them K chunks (loads, mx) or pieces of the block (vx, tx, stores). Where a tile multiplies several parts of
 * K of several chunks, the parts take the place of the passes over n, each of which is a section (a strip)
 * then. */
#include "mapper/gemm_emission.h"

#include <string.h>

typedef tg_gemm_emission emission;

/* Index of a tile among those that have rows (columns) of their own, and how many those are. */
static uint32_t row_index(const emission *e, uint32_t r, uint32_t col) {
  switch (e->t.split) {
  case TG_SPLIT_OUTPUT: return r / e->t.members;
  case TG_SPLIT_COLUMNS: return 0;
  default: return r * e->b.m->cols + col;
  }
}
static int64_t row_tiles(const emission *e) {
  switch (e->t.split) {
  case TG_SPLIT_OUTPUT: return e->b.m->rows / e->t.members;
  case TG_SPLIT_COLUMNS: return 1;
  default: return tg_tiles(e->b.m);
  }
}
static uint32_t col_index(const emission *e, uint32_t r, uint32_t col) {
  switch (e->t.split) {
  case TG_SPLIT_OUTPUT: return col;
  case TG_SPLIT_COLUMNS: return r * e->b.m->cols + col;
  default: return 0;
  }
}
static int64_t col_tiles(const emission *e) {
  switch (e->t.split) {
  case TG_SPLIT_OUTPUT: return e->b.m->cols;
  case TG_SPLIT_COLUMNS: return tg_tiles(e->b.m);
  default: return 1;
  }
}
/* Is A (B) the same for all tiles of a row (column)? Then it is multicast. */
static bool shares_a(const emission *e) {
  return e->t.split == TG_SPLIT_OUTPUT || e->t.split == TG_SPLIT_COLUMNS;
}
static bool shares_b(const emission *e) {
  return e->t.split == TG_SPLIT_OUTPUT || e->t.split == TG_SPLIT_ROWS;
}
/* Rows of its own come to every other tile from the north, and columns of its own from the west, so that both
 * kinds of ports share the work. */
static bool a_from_north(const emission *e, uint32_t r, uint32_t col) {
  return e->t.split == TG_SPLIT_ROWS && tg_exits_west(r, col);
}
static bool b_from_west(const emission *e, uint32_t r, uint32_t col) {
  return e->t.split == TG_SPLIT_COLUMNS && !tg_exits_west(r, col);
}
static int64_t rows_a_pass(const emission *e) { return e->t.mt * row_tiles(e); }
static int64_t cols_a_pass(const emission *e) { return e->t.nt * col_tiles(e); }
/* Columns of a tile: the first, and from pass to pass. */
static int64_t col_first(const emission *e, uint32_t r, uint32_t col) {
  return (int64_t)col_index(e, r, col) * e->t.nt + e->strip * cols_a_pass(e);
}
static int64_t col_delta(const emission *e) { return e->striped ? 0 : cols_a_pass(e); }

/* Rows of tiles that a whole group of members has. */
static uint32_t used_rows(const emission *e) { return e->b.m->rows / e->t.members * e->t.members; }

/* The first k of a row of tiles. */
static int64_t k_first(const emission *e, uint32_t r) { return r % e->t.members * e->g->part; }

/* The level of the loops over K that goes from part to part. */
static int part_level(const emission *e) { return e->t.chunks > 1 ? 1 : 2; }

/* k by loop level: chunks, and parts if a tile has several. */
static void set_k_delta(const emission *e, int64_t delta[3]) {
  delta[2] = e->t.kc;
  if (e->t.parts > 1) delta[part_level(e)] = e->t.members * e->g->part;
}

static bool allocate(emission *e) {
  const tg_gemm *g = e->g;
  const tg_params *m = e->b.m;
  bool good = tg_build_buffer(&e->b, (uint32_t)tg_gemm_a_rows(m, g, &e->t), 2, &e->a);
  good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_b_rows(m, g, &e->t), 2, &e->b_block);
  good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_out_rows(m, g, &e->t), 2, &e->out);
  if (e->t.members > 1)
    good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_received_rows(m, g, &e->t), 2, &e->received);
  if (e->t.parts > 1)
    good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_sum_rows(m, g, &e->t), 2, &e->sums);
  if (g->sum_kind == TG_STREAM_BF16SR)
    good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_rounded_rows(m, g, &e->t), 1, &e->rounded);
  for (int x = 0; x < g->external_count && good; x++) {
    const tg_gemm_external *external = &g->externals[x];
    uint32_t rows = external->row_vector ? 1 : e->t.mr;
    uint32_t flits = tg_kind_flits(m, external->kind, tg_gemm_external_take(external, e->t.nt));
    good = tg_build_buffer(&e->b, rows * flits, 2, &e->externals[x]);
    *(external->row_vector ? &e->vectors : &e->blocks) += 1;
  }
  return good;
}

static void allocate_sems(emission *e) {
  e->a_full = tg_tile_sem(&e->b, 0);
  e->b_full = tg_tile_sem(&e->b, 0);
  e->acc_full = tg_tile_sem(&e->b, 0);
  e->acc_free = tg_tile_sem(&e->b, 2);
  e->vectors_full = tg_tile_sem(&e->b, 0);
  e->blocks_full = tg_tile_sem(&e->b, 0);
  e->a_credit = tg_west_credits(&e->b, 2);
  e->a_north_credit = tg_north_credits(&e->b, 2);
  e->b_credit = tg_north_credits(&e->b, 2);
  e->b_west_credit = tg_west_credits(&e->b, 2);
  e->vectors_credit = tg_north_credits(&e->b, 2);
  e->blocks_credit = tg_west_credits(&e->b, 2);
  if (e->t.members == 1) return;
  e->arrived = tg_tile_sem(&e->b, 0);
  e->returned = tg_tile_sem(&e->b, 0);
  e->sums_full = tg_tile_sem(&e->b, 0);
  e->sums_free = tg_tile_sem(&e->b, 1);
}

static int64_t bytes_of(const tg_value *value, int64_t elements) {
  return elements * tg_value_bytes_each(value);
}

static void allocate_bases(emission *e, int64_t product) {
  const tg_gemm *g = e->g;
  e->product = product;
  e->a_base = tg_build_base(&e->b, tg_place_of(e->c, g->a), (uint64_t)bytes_of(g->a, g->a_offsets[product]),
                            &e->a_rest);
  e->b_base = tg_build_base(&e->b, tg_place_of(e->c, g->b), (uint64_t)bytes_of(g->b, g->b_offsets[product]),
                            &e->b_rest);
  e->out_base = tg_build_base(&e->b, tg_place_of(e->c, g->out),
                              (uint64_t)bytes_of(g->out, g->out_offsets[product]), &e->out_rest);
  for (int x = 0; x < g->external_count; x++) {
    tg_value *value = g->externals[x].value;
    e->external_base[x] =
        tg_build_base(&e->b, tg_place_of(e->c, value),
                      (uint64_t)bytes_of(value, g->externals[x].offsets[product]), &e->external_rest[x]);
  }
}

/* ---- loads ---- */

static tg_agcu_instr *push_load(emission *e, tg_queue *queue, const tg_buffer *buffer, uint32_t mask) {
  tg_agcu_instr *load = &tg_build_push(&e->b, queue, TG_OP_agcu_load)->agcu;
  tg_set_operand(load->dst_base, buffer, false);
  load->dst_inner[0] = 65535;
  load->dst_mask[0] = mask;
  return load;
}

static void set_credit(tg_agcu_instr *load, int base) {
  load->credit_base[0] = base;
  load->credit_mask[0] = load->dst_mask[0];
}

static void set_arrival(tg_agcu_instr *load, int sem) {
  load->dst_post[0] = 1;
  load->dst_sem[0] = sem;
}

/* Elements of a row to load: those that are needed, or as many as fill its bank rows where these are more. */
static int64_t taken(const emission *e, uint32_t needed, uint32_t bank_rows) {
  uint32_t element = tg_mx_elements(e->b.m, e->g->format);
  return (needed + element - 1) / element == bank_rows ? needed : (int64_t)bank_rows * element;
}

/* Spread: where a tile's product begins among the rows of all, of which each product has `rows`. */
static void set_product_rows(const emission *e, tg_agcu_instr *load, uint32_t index, int64_t rows) {
  load->m_first[0] = index * rows;
  load->m_delta[0] = row_tiles(e) * rows;
}

static void load_a(emission *e, uint32_t r, uint32_t col, uint32_t mask) {
  const tg_gemm *g = e->g;
  int64_t z = tg_value_bytes_each(g->a);
  bool north = a_from_north(e, r, col);
  tg_queue *queue = north ? tg_north_queue(&e->b, col, TG_CTX_LOAD) : tg_west_queue(&e->b, r, TG_CTX_LOAD);
  tg_agcu_instr *load = push_load(e, queue, &e->a, mask);
  set_credit(load, north ? e->a_north_credit : e->a_credit);
  set_arrival(load, e->a_full);
  load->base[0] = e->a_base;
  load->offset[0] = e->a_rest + g->a_origin * z;
  /* Of the two walks of a LOAD, rows and runs, which is m's and which k's? */
  int m = g->a_turned ? 3 : 0, k = 3 - m;
  int64_t *m_radix = g->a_turned ? load->k_radix : load->m_radix,
          *k_radix = g->a_turned ? load->m_radix : load->k_radix;
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
  load->y_org[0] = g->y_org;
  load->x_org[0] = g->x_org;
  load->y_size[0] = g->k ? g->y_size : 0; /* no k: nothing is read */
  load->x_size[0] = g->x_size;
  load->rows[0] = g->a_turned ? e->t.kc : e->t.mt;
  load->take[0] = taken(e, g->a_turned ? e->t.mt : e->t.kc, tg_gemm_a_row(e->b.m, g, &e->t));
  if (!g->a_turned && e->t.chunks * e->t.parts == 1 && g->k > 0 && g->k < load->take[0]) {
    /* k beyond K is masked, whatever is there */
    load->take[0] = g->k;
    load->dst_inner[0] = (g->k - 1) / tg_mx_elements(e->b.m, g->format) + 1;
    load->dst_stride[0] = tg_gemm_a_row(e->b.m, g, &e->t);
  }
  if (g->spread && g->a_turned)
    set_product_rows(e, load, row_index(e, r, col), g->k);
  else {
    *(g->a_turned ? load->k_first : load->m_first) = (int64_t)row_index(e, r, col) * e->t.mt;
    *(g->a_turned ? load->k_delta : load->m_delta) = rows_a_pass(e);
    *(g->a_turned ? load->m_first : load->k_first) = k_first(e, r);
  }
  set_k_delta(e, g->a_turned ? load->m_delta : load->k_delta);
  load->convert[0] = g->a_convert;
}

static void load_b(emission *e, uint32_t r, uint32_t col, uint32_t mask) {
  const tg_gemm *g = e->g;
  int64_t z = tg_value_bytes_each(g->b);
  bool west = b_from_west(e, r, col);
  tg_queue *queue = west ? tg_west_queue(&e->b, r, TG_CTX_LOAD) : tg_north_queue(&e->b, col, TG_CTX_LOAD);
  tg_agcu_instr *load = push_load(e, queue, &e->b_block, mask);
  set_credit(load, west ? e->b_west_credit : e->b_credit);
  set_arrival(load, e->b_full);
  load->base[0] = e->b_base;
  load->offset[0] = e->b_rest;
  bool turned = g->b_turned; /* rows are n's, runs k's */
  load->rows[0] = turned ? e->t.nt : e->t.kc;
  load->take[0] = taken(e, turned ? e->t.kc : e->t.nt, tg_gemm_b_row(e->b.m, g, &e->t));
  int n = turned ? 0 : 3, k = 3 - n;
  int64_t *n_radix = turned ? load->m_radix : load->k_radix,
          *k_radix = turned ? load->k_radix : load->m_radix;
  for (int d = 0; d < 3; d++) {
    n_radix[d] = g->b_n_radix[d];
    k_radix[d] = g->b_k_radix[d] ? g->b_k_radix[d] : 1;
    load->stride[n + d] = g->b_n_stride[d] * z;
    load->stride[k + d] = g->b_k_stride[d] * z;
  }
  load->y_size[0] = g->k ? 1 : 0;
  load->x_size[0] = 1;
  set_k_delta(e, turned ? load->k_delta : load->m_delta);
  if (g->spread) {
    set_product_rows(e, load, row_index(e, r, col), turned ? g->n : g->k);
  } else {
    *(turned ? load->m_first : load->k_first) = col_first(e, r, col);
    *(turned ? load->k_first : load->m_first) = k_first(e, r);
    if (!e->striped) (turned ? load->m_delta : load->k_delta)[1] = col_delta(e);
  }
  load->convert[0] = g->b_convert;
}

/* Row vectors come down the columns once a pass, blocks along the rows once a piece; the last of each kind
 * tells the tile. */
static void load_externals(emission *e, tg_queue *queue, bool vectors, uint32_t r, uint32_t col,
                           uint32_t mask) {
  const tg_gemm *g = e->g;
  int left = vectors ? e->vectors : e->blocks;
  bool first = true;
  for (int x = 0; x < g->external_count; x++) {
    const tg_gemm_external *external = &g->externals[x];
    if (external->row_vector != vectors) continue;
    tg_agcu_instr *load = push_load(e, queue, &e->externals[x], mask);
    if (first) set_credit(load, vectors ? e->vectors_credit : e->blocks_credit);
    if (--left == 0) set_arrival(load, vectors ? e->vectors_full : e->blocks_full);
    first = false;
    tg_walk_plan walk = {.tensor = tg_place_of(e->c, external->value),
                         .element_stride = external->element_stride,
                         .columns = g->n};
    for (int d = 0; d < 3; d++) walk.radix[d] = g->out_radix[d], walk.stride[d] = external->stride[d];
    tg_fill_walk(load, &walk, e->external_base[x], e->external_rest[x]);
    load->rows[0] = vectors ? 1 : e->t.mr;
    bool number = external->kind == TG_STREAM_SPLAT32;
    load->take[0] = tg_gemm_external_take(external, e->t.nt);
    load->k_first[0] = number ? 0 : col_first(e, r, col);
    load->k_delta[1] = number ? 0 : col_delta(e);
    load->convert[0] = number || external->kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
    if (vectors) continue;
    load->m_first[0] = (int64_t)row_index(e, r, col) * e->t.mt;
    load->m_delta[0] = rows_a_pass(e);
    load->m_delta[2] = e->t.mr;
  }
}

static void end_loops(tg_queue *queue, const uint32_t loops[3]) {
  if (queue->count) tg_set_loops(&queue->instrs[queue->count - 1], loops);
}

/* Rows of tiles that have the same parts of K as row r. */
static uint32_t rows_like(const emission *e, uint32_t r) {
  uint32_t mask = 0;
  for (; r < used_rows(e); r += e->t.members) mask |= 1u << (r + 1);
  return mask;
}

static void emit_west_loads(emission *e, uint32_t r) {
  uint32_t cols = e->b.m->cols;
  tg_queue *aux = tg_west_queue(&e->b, r, TG_CTX_AUX);
  if (shares_a(e)) load_a(e, r, 0, ((1u << cols) - 1) << 1);
  for (uint32_t col = 0; col < cols; col++) {
    if (!shares_a(e) && !a_from_north(e, r, col)) load_a(e, r, col, 1u << (col + 1));
    if (b_from_west(e, r, col)) load_b(e, r, col, 1u << (col + 1));
    if (tg_gemm_finishes(e, r)) load_externals(e, aux, false, r, col, 1u << (col + 1));
  }
  end_loops(tg_west_queue(&e->b, r, TG_CTX_LOAD), e->k_loops);
  end_loops(aux, e->piece_loops);
}

static void emit_north_loads(emission *e, uint32_t col) {
  const tg_params *m = e->b.m;
  uint32_t all_rows = ((1u << m->rows) - 1) << 1;
  tg_queue *aux = tg_north_queue(&e->b, col, TG_CTX_AUX);
  for (uint32_t d = 0; d < e->t.members && shares_b(e); d++) load_b(e, d, col, rows_like(e, d));
  for (uint32_t r = 0; r < m->rows; r++) {
    if (!shares_b(e) && !b_from_west(e, r, col)) load_b(e, r, col, 1u << (r + 1));
    if (a_from_north(e, r, col)) load_a(e, r, col, 1u << (r + 1));
    if (e->t.split == TG_SPLIT_COLUMNS) load_externals(e, aux, true, r, col, 1u << (r + 1));
  }
  if (e->t.split != TG_SPLIT_COLUMNS) load_externals(e, aux, true, 0, col, all_rows);
  end_loops(tg_north_queue(&e->b, col, TG_CTX_LOAD), e->k_loops);
  end_loops(aux, e->pass_loops);
}

static void emit_loads(emission *e) {
  for (uint32_t r = 0; r < used_rows(e); r++) emit_west_loads(e, r);
  for (uint32_t col = 0; col < e->b.m->cols; col++) emit_north_loads(e, col);
}

/* ---- matrix unit ---- */

static void set_rounding(const emission *e, tg_mx_instr *mx, uint32_t r, uint32_t col) {
  mx->sr[0] = 1;
  mx->sr_key[0] = TG_KEY_PRODUCT;
  mx->sr_blocks[0] = e->t.sr_blocks;
  mx->sr_tile_delta[2] = (e->t.kc + e->stationary - 1) / e->stationary / e->t.sr_blocks;
  if (e->g->partials > 1) { /* K tiles are counted through all parts */
    int64_t tile = tg_gemm_rounded_tile(e->c, e->g), of_part = (e->g->part + tile - 1) / tile;
    mx->sr_tile[0] = r % e->t.members * of_part;
    if (e->t.parts > 1) mx->sr_tile_delta[part_level(e)] = e->t.members * of_part;
  }
  mx->sr_row[0] = e->g->sr_row + (int64_t)row_index(e, r, col) * e->t.mt + e->product * e->g->sr_row_step;
  mx->sr_row_delta[0] = rows_a_pass(e);
  mx->sr_col[0] = col_first(e, r, col) + e->product * e->g->sr_col_step;
  mx->sr_col_delta[1] = col_delta(e);
}

/* How much of K the tiles of a row multiply: the chunks of one part, or parts up to the end of K. */
static void set_k_total(const emission *e, tg_mx_instr *mx, uint32_t r) {
  int64_t left = e->g->k - k_first(e, r);
  if (left < 0) left = 0;
  mx->k_total[0] = e->t.parts == 1 && left > e->g->part ? e->g->part : left;
  set_k_delta(e, mx->k_delta);
}

/* One K chunk. */
static tg_instr *push_gemm(emission *e, uint32_t r, uint32_t col) {
  const tg_params *m = e->b.m;
  uint32_t a_row = tg_gemm_a_row(m, e->g, &e->t), b_row = tg_gemm_b_row(m, e->g, &e->t),
           beats = tg_mx_beats(e->g->format);
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->mx, TG_OP_mx_gemm);
  tg_mx_instr *mx = &in->mx;
  mx->format[0] = e->g->format;
  mx->m_count[0] = 1;
  mx->m_count[1] = e->t.mt;
  tg_set_operand(mx->a_base, &e->a, false);
  mx->a_transposed[0] = e->g->a_turned;
  mx->a_m[0] = e->g->a_turned ? beats : 0; /* from a group of rows to the next */
  mx->a_m[1] = a_row;
  mx->a_blk[0] = e->g->a_turned ? (int64_t)e->stationary * a_row : beats;
  mx->a_banks[0] = e->a.banks;
  tg_set_operand(mx->b_base, &e->b_block, false);
  mx->b_transposed[0] = e->g->b_turned;
  mx->b_row[0] = b_row;
  mx->b_blk[0] = e->g->b_turned ? beats : (int64_t)e->stationary * b_row;
  mx->b_banks[0] = e->b_block.banks;
  tg_buffer halves = {.stride = tg_acc_rows(m), .count = 2};
  tg_set_operand(mx->c_base, &halves, true);
  /* blocks: k, then groups of 2P columns, then (fp32) their two halves */
  mx->blk_count[0] = (e->t.kc + e->stationary - 1) / e->stationary;
  mx->k_loops[0] = 1;
  mx->blk_count[1] = e->t.nt / tg_lanes(m);
  mx->blk_count[2] = tg_lanes(m) / e->stationary;
  mx->blk_count[3] = 1;
  mx->b_blk[1] =
      e->g->b_turned ? (int64_t)tg_lanes(m) * b_row : tg_lanes(m) / tg_mx_elements(m, e->g->format);
  mx->b_blk[2] = e->g->b_turned ? (int64_t)e->stationary * b_row : 1;
  mx->c_blk[1] = e->t.mt;
  mx->h_blk[2] = 1;
  mx->sr_col_blk[1] = tg_lanes(m);
  mx->sr_col_blk[2] = e->stationary;
  mx->init[0] = 1;
  mx->init_levels[0] = e->t.parts > 1 && e->t.chunks == 1 ? 0 : 1 << 2;
  mx->k_chunk[0] = e->t.kc;
  set_k_total(e, mx, r);
  if (e->t.sr_blocks) set_rounding(e, mx, r, col);
  tg_set_wait(in, 0, e->a_full, false);
  tg_set_wait(in, 1, e->b_full, false);
  if (a_from_north(e, r, col))
    tg_set_post(in, 0, TG_POST_COL, 0, e->a_north_credit + (int)r + 1, false);
  else
    tg_set_post(in, 0, TG_POST_ROW, 0, e->a_credit + (int)col + 1, false);
  if (b_from_west(e, r, col))
    tg_set_post(in, 1, TG_POST_ROW, 0, e->b_west_credit + (int)col + 1, false);
  else
    tg_set_post(in, 1, TG_POST_COL, 0, e->b_credit + (int)r + 1, false);
  return in;
}

/* Chunks `first` to `last` of each part, all but the last of which are whole. Each instruction turns its
 * buffers by itself: chunk c of part n is in buffer n chunks + c, modulo 2. */
static tg_instr *push_nested_gemm(emission *e, uint32_t r, uint32_t col, uint32_t first, uint32_t last) {
  tg_instr *in = push_gemm(e, r, col);
  tg_mx_instr *mx = &in->mx;
  int64_t before = (int64_t)first * e->t.kc, length = e->g->part - before;
  tg_turn turn = last > first ? TG_TURN_EACH : e->t.chunks % 2 ? TG_TURN_OUTER : TG_TURN_NEVER;
  tg_set_turning(mx->a_base, &e->a, first % 2, turn);
  tg_set_turning(mx->b_base, &e->b_block, first % 2, turn);
  mx->init[0] = first == 0;
  mx->init_levels[0] = 0;
  if (length < mx->k_chunk[0]) mx->k_chunk[0] = length;
  mx->blk_count[0] = (mx->k_chunk[0] + e->stationary - 1) / e->stationary;
  mx->k_total[0] = mx->k_total[0] > before ? mx->k_total[0] - before : 0;
  mx->sr_tile[0] += mx->sr_tile_delta[2] * first;
  if (last > first) {
    in->common.loop_count[2] = last - first + 1;
    in->common.loop_begin[2] = tg_build_tile(&e->b, r, col)->mx.count - 1;
  }
  return in;
}

/* The GEMMs of a tile. Every part of K begins with a free half of the accumulator and ends with a full one.
 */
static void emit_gemm(emission *e, uint32_t r, uint32_t col) {
  bool each = e->t.parts > 1 && e->t.chunks == 1; /* every execution is a part */
  uint32_t last = e->t.chunks - 1;
  tg_instr *in = e->nested ? push_nested_gemm(e, r, col, 0, 0) : push_gemm(e, r, col);
  tg_set_wait(in, 2, e->acc_free, !each);
  if (each) in->mx.c_rot_outer[0] = 0;
  if (e->nested && last > 1) push_nested_gemm(e, r, col, 1, last - 1);
  if (e->nested) in = push_nested_gemm(e, r, col, last, last);
  tg_set_post(in, 2, TG_POST_LOCAL, 0, e->acc_full, !each);
  tg_set_loops(in, e->k_loops);
  if (e->nested) in->common.loop_count[2] = 1;
}

/* ---- stores ---- */

tg_gemm_place tg_gemm_place_of(const emission *e, uint32_t r, uint32_t col) {
  return (tg_gemm_place){.row = (int64_t)row_index(e, r, col) * e->t.mt,
                         .column = col_first(e, r, col),
                         .row_delta = {rows_a_pass(e), 0, e->t.mr},
                         .column_delta = {0, col_delta(e), 0}};
}

/* Columns of a block that a tile stores: if N has fewer, it is one block. */
static uint32_t stored_columns(const emission *e) { return e->g->n < e->t.nt ? (uint32_t)e->g->n : e->t.nt; }

static void fill_store(const void *user, int exit, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  (void)exit; /* the only one */
  const tg_gemm *g = e->g;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->out), .element_stride = 1, .columns = g->n};
  for (int d = 0; d < 3; d++) walk.radix[d] = g->out_radix[d], walk.stride[d] = g->out_stride[d];
  tg_fill_walk(store, &walk, e->out_base, e->out_rest);
  store->rows[0] = e->t.mr;
  store->take[0] = stored_columns(e);
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  store->m_first[0] = place.row;
  store->k_first[0] = place.column;
  memcpy(store->m_delta, place.row_delta, sizeof place.row_delta);
  memcpy(store->k_delta, place.column_delta, sizeof place.column_delta);
  store->convert[0] = g->out_kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
}

/* ---- sections and invocations ---- */

static tg_status emit_section(emission *e, const char *name, int64_t product) {
  tg_build_begin(&e->b, e->c, name);
  e->b.members = e->t.members;
  e->vectors = e->blocks = 0;
  if (!allocate(e))
    return tg_fail(e->c->diag, TG_INVALID, "node \"%s\": the scratchpads are too small", e->g->node->name);
  allocate_sems(e);
  allocate_bases(e, product);
  int kind = e->g->out_kind;
  uint32_t row = tg_kind_flits(e->b.m, kind, e->t.nt), sent = tg_kind_flits(e->b.m, kind, stored_columns(e));
  tg_exit exit = {.flits = e->t.mr * sent, .pieces = 1, .buffer = e->out};
  if (sent < row) exit.inner = sent, exit.stride = row;
  memcpy(exit.loops, e->piece_loops, sizeof exit.loops);
  tg_exit_init(&e->b, &exit, 2);
  tg_vx_instr microcode = {0};
  tg_status status = tg_gemm_pack_drain(e, &microcode);
  if (status) return status;
  emit_loads(e);
  for (uint32_t r = 0; r < used_rows(e); r++)
    for (uint32_t col = 0; col < e->b.m->cols; col++) {
      emit_gemm(e, r, col);
      tg_gemm_emit_drain(e, r, col, &microcode, &exit);
    }
  tg_exit_emit(&e->b, &exit, 1, fill_store, e);
  return TG_OK;
}

/* Bytes of running sums that go down the columns and back in one invocation. */
static uint64_t sum_bytes(const emission *e) {
  const tg_gemm_tiling *t = &e->t;
  uint64_t blocks = (uint64_t)t->passes_m * (e->striped ? 1 : t->passes_n);
  uint64_t down = (uint64_t)(t->members - 1) * t->parts * e->pieces * e->received.rows,
           back = t->members > 1 ? (uint64_t)(t->parts - 1) * e->sums.rows : 0;
  return blocks * (down + back) * row_tiles(e) * e->b.m->cols * tg_flit_bytes(e->b.m);
}

static void invoke(emission *e, const char *name) {
  tg_invocation *invocation = tg_build_invoke(&e->b, name);
  int64_t cols = e->g->n - e->strip * cols_a_pass(e);
  if (e->striped && cols > cols_a_pass(e)) cols = cols_a_pass(e);
  uint64_t macs = (uint64_t)e->g->m * (uint64_t)cols * (uint64_t)e->g->k;
  if (e->g->spread) macs *= (uint64_t)e->g->spread;
  invocation->macs[e->g->format] = macs;
  if (e->t.members > 1) invocation->sum_bytes = sum_bytes(e);
  invocation->key_nodes[TG_KEY_PRODUCT] = (uint32_t)e->g->node->id;
  const tg_node *cast = tg_stochastic_store(e->kernel);
  if (cast) invocation->key_nodes[TG_KEY_STORE] = (uint32_t)cast->id;
}

/* Can `product` run in the section that was emitted for e->product, with another base table? Its addresses
 * must leave the same rest modulo 64, and rounding must not see the difference. */
static bool shares_section(emission *e, int64_t product) {
  if (e->t.sr_blocks || e->striped || e->g->out_kind == TG_STREAM_BF16SR) return false;
  if (e->g->sum_kind == TG_STREAM_BF16SR) return false;
  emission other = *e;
  other.b.bases = 0;
  allocate_bases(&other, product);
  bool same = other.a_rest == e->a_rest && other.b_rest == e->b_rest && other.out_rest == e->out_rest;
  for (int x = 0; x < e->g->external_count; x++) same = same && other.external_rest[x] == e->external_rest[x];
  if (same) memcpy(e->b.base_address, other.b.base_address, sizeof e->b.base_address);
  return same;
}

/* Product after product, each over all tiles, or, where that is faster, a product a tile. */
static tg_status choose(tg_compile *c, const tg_kernel *kernel, const tg_gemm *apart, tg_gemm *spread,
                        emission *e) {
  tg_gemm_tiling together;
  tg_status status = tg_tile_gemm(c, apart, &e->t);
  if (!tg_spread_gemm(c, kernel, spread)) return status;
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  if (tg_tile_gemm(&quiet, spread, &together)) return status;
  double sections = (double)apart->products * (e->t.cycles + TG_SECTION_CYCLES);
  if (!status && together.cycles + TG_SECTION_CYCLES >= sections) return TG_OK;
  e->t = together;
  e->g = spread;
  return TG_OK;
}

static void set_loops(emission *e) {
  const tg_gemm_tiling *t = &e->t;
  uint32_t passes_n = e->striped ? 1 : t->passes_n;
  uint32_t k[] = {t->passes_m, e->nested ? t->parts : passes_n, e->nested ? t->chunks : t->chunks * t->parts};
  uint32_t pieces[] = {t->passes_m, passes_n, e->pieces}, passes[] = {t->passes_m, passes_n, 1};
  memcpy(e->k_loops, k, sizeof k);
  memcpy(e->piece_loops, pieces, sizeof pieces);
  memcpy(e->pass_loops, passes, sizeof passes);
}

static tg_status emit_phase(tg_compile *c, const tg_kernel *kernel, int64_t phase) {
  tg_gemm apart, spread;
  tg_status status = tg_describe_gemm(c, kernel, phase, &apart);
  emission e = {.c = c, .kernel = kernel, .g = &apart};
  if (status || !apart.m) return status;
  status = choose(c, kernel, &apart, &spread, &e);
  if (status) return status;
  e.stationary = tg_mx_stationary(c->m, e.g->format);
  e.pieces = e.t.mt / e.t.mr;
  e.nested = e.t.parts > 1 && e.t.chunks > 1;
  e.striped = e.t.parts > 1 && (e.nested || e.t.members > 1);
  set_loops(&e);
  const char *name = tg_kernel_name(c, kernel);
  for (int64_t product = 0; product < e.g->products; product++)
    for (e.strip = 0; e.strip < tg_gemm_strips(&e.t); e.strip++) {
      if (product == 0 || !shares_section(&e, product)) status = emit_section(&e, name, product);
      if (status) return status;
      invoke(&e, name);
    }
  if (e.g->partials > 1) c->program->invocations[c->program->invocation_count - 1].sums = 1;
  return TG_OK;
}

tg_status tg_emit_gemm(tg_compile *c, const tg_kernel *kernel) {
  for (int64_t phase = 0; phase < tg_gemm_phases(kernel->root); phase++) {
    tg_status status = emit_phase(c, kernel, phase);
    if (status) return status;
  }
  return TG_OK;
}
