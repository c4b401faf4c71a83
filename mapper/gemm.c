/* Emission of a product: A multicast along rows, B along columns, one GEMM a K chunk, one VOP a piece of the
 * drain. Loops of every unit: passes over m, passes over n, and inside them K chunks (loads, mx) or pieces of
 * the block (vx, tx, stores). */
#include "mapper/gemm.h"

#include <string.h>

enum { SECTION_CYCLES = 300 }; /* of loading a section, and of the wait between two, roughly */

typedef struct emission {
  tg_build b;
  tg_compile *c;
  const tg_kernel *kernel;
  const tg_gemm *g;
  tg_gemm_tiling t;
  uint32_t stationary; /* rows of a block */
  uint32_t pieces;     /* of a block */
  uint32_t k_loops[3], piece_loops[3], pass_loops[3];
  tg_buffer a, b_block, out, externals[TG_GEMM_EXTERNALS];
  int a_full, b_full, acc_full, acc_free, vectors_full, blocks_full;     /* tile semaphores */
  int a_credit, a_north_credit, b_credit, vectors_credit, blocks_credit; /* AGCU credits */
  int vectors, blocks; /* externals that are row vectors, and those that are not */
  int a_base, b_base, out_base, external_base[TG_GEMM_EXTERNALS];
  int64_t a_rest, b_rest, out_rest, external_rest[TG_GEMM_EXTERNALS];
  int64_t product; /* the first one that this section computes */
} emission;

/* Index of a tile among those that have rows (columns) of their own. */
static uint32_t row_index(const emission *e, uint32_t r, uint32_t col) {
  return e->t.split == TG_SPLIT_OUTPUT ? r : r * e->b.m->cols + col;
}
static uint32_t col_index(const emission *e, uint32_t col) { return e->t.split == TG_SPLIT_OUTPUT ? col : 0; }
/* Rows of its own come to every other tile from the north, so that both kinds of ports share the work. */
static bool a_from_north(const emission *e, uint32_t r, uint32_t col) {
  return e->t.split == TG_SPLIT_ROWS && tg_exits_west(r, col);
}
/* Tiles that have rows of their own. */
static int64_t row_tiles(const emission *e) {
  return e->t.split == TG_SPLIT_OUTPUT ? e->b.m->rows : tg_tiles(e->b.m);
}
static int64_t rows_a_pass(const emission *e) { return e->t.mt * row_tiles(e); }
static int64_t cols_a_pass(const emission *e) {
  return (int64_t)e->t.nt * (e->t.split == TG_SPLIT_OUTPUT ? e->b.m->cols : 1);
}

static bool allocate(emission *e) {
  const tg_gemm *g = e->g;
  const tg_params *m = e->b.m;
  bool good = tg_build_buffer(&e->b, (uint32_t)tg_gemm_a_rows(m, g, &e->t), 2, &e->a);
  good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_b_rows(m, g, &e->t), 2, &e->b_block);
  good =
      good && tg_build_buffer(&e->b, e->t.mr * tg_kind_flits(m, tg_stream_kind(g->out), e->t.nt), 2, &e->out);
  for (int x = 0; x < g->external_count && good; x++) {
    const tg_gemm_external *external = &g->externals[x];
    uint32_t rows = external->row_vector ? 1 : e->t.mr;
    good = tg_build_buffer(&e->b, rows * tg_kind_flits(m, external->kind, e->t.nt), 2, &e->externals[x]);
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
  e->vectors_credit = tg_north_credits(&e->b, 2);
  e->blocks_credit = tg_west_credits(&e->b, 2);
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
  if (g->spread && g->a_turned)
    set_product_rows(e, load, row_index(e, r, col), g->k);
  else {
    *(g->a_turned ? load->k_first : load->m_first) = (int64_t)row_index(e, r, col) * e->t.mt;
    *(g->a_turned ? load->k_delta : load->m_delta) = rows_a_pass(e);
  }
  (g->a_turned ? load->m_delta : load->k_delta)[2] = e->t.kc;
  load->convert[0] = g->a_convert;
}

static void load_b(emission *e, uint32_t r, uint32_t col, uint32_t mask) {
  const tg_gemm *g = e->g;
  int64_t z = tg_value_bytes_each(g->b);
  tg_agcu_instr *load = push_load(e, tg_north_queue(&e->b, col, TG_CTX_LOAD), &e->b_block, mask);
  set_credit(load, e->b_credit);
  set_arrival(load, e->b_full);
  load->base[0] = e->b_base;
  load->offset[0] = e->b_rest;
  bool turned = g->b_turned; /* rows are n's, runs k's */
  load->rows[0] = turned ? e->t.nt : e->t.kc;
  load->take[0] = taken(e, turned ? e->t.kc : e->t.nt, tg_gemm_b_row(e->b.m, g, &e->t));
  load->m_radix[0] = load->m_radix[1] = load->k_radix[0] = load->k_radix[1] = 1;
  (turned ? load->k_radix : load->m_radix)[2] = g->k ? g->k : 1;
  (turned ? load->m_radix : load->k_radix)[2] = g->n;
  load->stride[2] = g->b_row * z;
  load->stride[5] = z;
  load->y_size[0] = g->k ? 1 : 0;
  load->x_size[0] = 1;
  (turned ? load->k_delta : load->m_delta)[2] = e->t.kc;
  if (g->spread) {
    set_product_rows(e, load, row_index(e, r, col), turned ? g->n : g->k);
    for (int d = 0; d < 2; d++) {
      load->m_radix[d] = g->b_lead_radix[d];
      load->stride[d] = g->b_lead_stride[d] * z;
    }
  } else {
    *(turned ? load->m_first : load->k_first) = (int64_t)col_index(e, col) * e->t.nt;
    (turned ? load->m_delta : load->k_delta)[1] = cols_a_pass(e);
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
    load->take[0] = e->t.nt;
    load->k_first[0] = (int64_t)col_index(e, col) * e->t.nt;
    load->k_delta[1] = cols_a_pass(e);
    load->convert[0] = external->kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
    if (vectors) continue;
    load->m_first[0] = (int64_t)row_index(e, r, col) * e->t.mt;
    load->m_delta[0] = rows_a_pass(e);
    load->m_delta[2] = e->t.mr;
  }
}

static void end_loops(tg_queue *queue, const uint32_t loops[3]) {
  if (queue->count) tg_set_loops(&queue->instrs[queue->count - 1], loops);
}

static void emit_loads(emission *e) {
  const tg_params *m = e->b.m;
  uint32_t all_cols = ((1u << m->cols) - 1) << 1, all_rows = ((1u << m->rows) - 1) << 1;
  for (uint32_t r = 0; r < m->rows; r++) {
    tg_queue *aux = tg_west_queue(&e->b, r, TG_CTX_AUX);
    if (e->t.split == TG_SPLIT_OUTPUT) load_a(e, r, 0, all_cols);
    for (uint32_t col = 0; col < m->cols; col++) {
      if (e->t.split != TG_SPLIT_OUTPUT && !a_from_north(e, r, col)) load_a(e, r, col, 1u << (col + 1));
      load_externals(e, aux, false, r, col, 1u << (col + 1));
    }
    end_loops(tg_west_queue(&e->b, r, TG_CTX_LOAD), e->k_loops);
    end_loops(aux, e->piece_loops);
  }
  for (uint32_t col = 0; col < m->cols; col++) {
    tg_queue *aux = tg_north_queue(&e->b, col, TG_CTX_AUX);
    if (e->t.split != TG_SPLIT_PRODUCTS) load_b(e, 0, col, all_rows);
    for (uint32_t r = 0; r < m->rows && e->t.split == TG_SPLIT_PRODUCTS; r++)
      load_b(e, r, col, 1u << (r + 1));
    for (uint32_t r = 0; r < m->rows; r++)
      if (a_from_north(e, r, col)) load_a(e, r, col, 1u << (r + 1));
    load_externals(e, aux, true, 0, col, all_rows);
    end_loops(tg_north_queue(&e->b, col, TG_CTX_LOAD), e->k_loops);
    end_loops(aux, e->pass_loops);
  }
}

/* ---- matrix unit ---- */

static void set_rounding(const emission *e, tg_mx_instr *mx, uint32_t r, uint32_t col) {
  mx->sr[0] = 1;
  mx->sr_blocks[0] = e->t.sr_blocks;
  mx->sr_tile_delta[2] = (e->t.kc + e->stationary - 1) / e->stationary / e->t.sr_blocks;
  mx->sr_row[0] = (int64_t)row_index(e, r, col) * e->t.mt + e->product * e->g->sr_row_step;
  mx->sr_row_delta[0] = rows_a_pass(e);
  mx->sr_col[0] = (int64_t)col_index(e, col) * e->t.nt + e->product * e->g->sr_col_step;
  mx->sr_col_delta[1] = cols_a_pass(e);
}

static void emit_gemm(emission *e, uint32_t r, uint32_t col) {
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
  mx->init_levels[0] = 1 << 2;
  mx->k_chunk[0] = e->t.kc;
  mx->k_total[0] = e->g->k;
  mx->k_delta[2] = e->t.kc;
  if (e->t.sr_blocks) set_rounding(e, mx, r, col);
  tg_set_wait(in, 0, e->a_full, false);
  tg_set_wait(in, 1, e->b_full, false);
  tg_set_wait(in, 2, e->acc_free, true);
  if (a_from_north(e, r, col))
    tg_set_post(in, 0, TG_POST_COL, 0, e->a_north_credit + (int)r + 1, false);
  else
    tg_set_post(in, 0, TG_POST_ROW, 0, e->a_credit + (int)col + 1, false);
  tg_set_post(in, 1, TG_POST_COL, 0, e->b_credit + (int)r + 1, false);
  tg_set_post(in, 2, TG_POST_LOCAL, 0, e->acc_full, true);
  tg_set_loops(in, e->k_loops);
}

/* ---- drain ---- */

static void set_stream(const emission *e, tg_stream *s, int kind, const tg_buffer *buffer, bool row_vector,
                       bool store) {
  uint32_t vector = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m));
  s->kind[0] = kind;
  s->store[0] = store;
  tg_set_operand(s->at.base, buffer, row_vector);
  s->banks[0] = buffer->banks;
  s->row[1] = row_vector ? 0 : (int64_t)vector * (e->t.nt / tg_lanes(e->b.m));
  s->row[2] = vector;
}

/* Rows of the VOP: (row of the piece, group of 2P columns). Streams: accumulator, externals, result. */
static void emit_drain(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                       const tg_exit *exit) {
  const tg_gemm *g = e->g;
  uint32_t groups = e->t.nt / tg_lanes(e->b.m);
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  vop->seg_begin[0] = microcode->seg_begin[0];
  vop->seg_len[0] = microcode->seg_len[0];
  vop->rows[0] = e->t.mr * groups;
  vop->row_count[0] = 1;
  vop->row_count[1] = e->t.mr;
  vop->row_count[2] = groups;
  vop->j_count[0] = vop->j_count[1] = 1;
  tg_stream *acc = tg_stream_of_mut(vop, 0);
  tg_buffer halves = {.stride = tg_acc_rows(e->b.m), .count = 2};
  acc->kind[0] = TG_STREAM_ACC;
  tg_set_operand(acc->at.base, &halves, true);
  acc->at.delta[2] = e->t.mr;
  acc->row[1] = 1;
  acc->row[2] = e->t.mt;
  for (int x = 0; x < g->external_count; x++)
    set_stream(e, tg_stream_of_mut(vop, 1 + x), g->externals[x].kind, &e->externals[x],
               g->externals[x].row_vector, false);
  set_stream(e, tg_stream_of_mut(vop, 1 + g->external_count), tg_stream_kind(g->out), &e->out, false, true);
  tg_set_wait(in, 0, e->acc_full, true);
  tg_set_wait(in, 1, exit->out_free, false);
  tg_set_post(in, 0, TG_POST_LOCAL, 0, exit->out_full, false);
  tg_set_post(in, 1, TG_POST_LOCAL, 0, e->acc_free, true);
  if (e->vectors) {
    tg_set_wait(in, 2, e->vectors_full, true);
    tg_set_post(in, 2, TG_POST_COL, 0, e->vectors_credit + (int)r + 1, true);
  }
  if (e->blocks) {
    tg_set_wait(in, 3, e->blocks_full, false);
    tg_set_post(in, 3, TG_POST_ROW, 0, e->blocks_credit + (int)col + 1, false);
  }
  tg_set_loops(in, e->piece_loops);
}

static void fill_store(const void *user, int exit, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  (void)exit; /* the only one */
  const tg_gemm *g = e->g;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->out),
                       .radix = {1, 1, g->m * (g->spread ? g->spread : 1)},
                       .stride = {0, 0, g->out_row},
                       .element_stride = 1,
                       .columns = g->n};
  tg_fill_walk(store, &walk, e->out_base, e->out_rest);
  store->rows[0] = e->t.mr;
  store->take[0] = e->t.nt;
  store->m_first[0] = (int64_t)row_index(e, r, col) * e->t.mt;
  store->m_delta[0] = rows_a_pass(e);
  store->m_delta[2] = e->t.mr;
  store->k_first[0] = (int64_t)col_index(e, col) * e->t.nt;
  store->k_delta[1] = cols_a_pass(e);
  store->convert[0] = tg_stream_kind(g->out) == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
}

/* The drain's microcode: accumulator, bias, rounding to the node's dtype, fused nodes. */
static tg_status pack_drain(emission *e, tg_vx_instr *out_microcode) {
  tg_compile *c = e->c;
  const tg_gemm *g = e->g;
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  tg_operand_stream streams[TG_GEMM_EXTERNALS];
  for (int x = 0; x < g->external_count; x++)
    streams[x] = (tg_operand_stream){g->externals[x].value, 1 + x, false};
  tg_value *root = tg_out(e->kernel->root),
           *bias = e->kernel->root->op == TG_OP_CONV ? tg_in(e->kernel->root, 2) : NULL;
  tg_mc_ref y = tg_mc_load(&mc, 0, false);
  if (bias) {
    tg_mc_ref addend = TG_MC_NONE;
    if (tg_is_scalar_constant(bias)) addend = tg_mc_const(&mc, tg_scalar_value(bias));
    for (int x = 0; x < g->external_count; x++)
      if (streams[x].value == bias)
        addend = tg_mc_load(&mc, streams[x].stream, g->externals[x].kind == TG_STREAM_FP32);
    y = tg_mc_alu(&mc, TG_ALU_add, y, addend, TG_MC_NONE);
  }
  y = tg_round_to(&mc, root->dtype, y, !e->kernel->fused_count);
  if (e->kernel->fused_count) y = tg_emit_expression(&mc, c, e->kernel, root, y, streams, g->external_count);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(&mc, 1 + g->external_count, tg_stream_kind(g->out) == TG_STREAM_FP32, y);
  tg_status status = tg_mc_pack(&mc, c->program, e->b.section, out_microcode, c->diag);
  if (status) tg_diag_prefix(c->diag, "node \"%s\"", e->kernel->root->name);
  return status;
}

/* ---- sections and invocations ---- */

static tg_status emit_section(emission *e, const char *name, int64_t product) {
  tg_build_begin(&e->b, e->c, name);
  e->vectors = e->blocks = 0;
  if (!allocate(e))
    return tg_fail(e->c->diag, TG_INVALID, "node \"%s\": the scratchpads are too small", e->g->node->name);
  allocate_sems(e);
  allocate_bases(e, product);
  tg_exit exit = {.flits = e->t.mr * tg_kind_flits(e->b.m, tg_stream_kind(e->g->out), e->t.nt),
                  .pieces = 1,
                  .buffer = e->out};
  memcpy(exit.loops, e->piece_loops, sizeof exit.loops);
  tg_exit_init(&e->b, &exit, 2);
  tg_vx_instr microcode = {0};
  tg_status status = pack_drain(e, &microcode);
  if (status) return status;
  emit_loads(e);
  for (uint32_t r = 0; r < e->b.m->rows; r++)
    for (uint32_t col = 0; col < e->b.m->cols; col++) {
      emit_gemm(e, r, col);
      emit_drain(e, r, col, &microcode, &exit);
    }
  tg_exit_emit(&e->b, &exit, 1, fill_store, e);
  return TG_OK;
}

static void invoke(emission *e, const char *name) {
  tg_invocation *invocation = tg_build_invoke(&e->b, name);
  uint64_t macs = (uint64_t)e->g->m * (uint64_t)e->g->n * (uint64_t)e->g->k;
  if (e->g->spread) macs *= (uint64_t)e->g->spread;
  invocation->macs[e->g->format] = macs;
  invocation->key_nodes[0] = (uint32_t)e->g->node->id;
}

/* Can `product` run in the section that was emitted for e->product, with another base table? Its addresses
 * must leave the same rest modulo 64, and rounding must not see the difference. */
static bool shares_section(emission *e, int64_t product) {
  if (e->t.sr_blocks) return false;
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
  double sections = (double)apart->products * (e->t.cycles + SECTION_CYCLES);
  if (!status && together.cycles + SECTION_CYCLES >= sections) return TG_OK;
  e->t = together;
  e->g = spread;
  return TG_OK;
}

tg_status tg_emit_gemm(tg_compile *c, const tg_kernel *kernel) {
  tg_gemm apart, spread;
  tg_status status = tg_describe_gemm(c, kernel, &apart);
  emission e = {.c = c, .kernel = kernel, .g = &apart};
  if (!status) status = choose(c, kernel, &apart, &spread, &e);
  if (status) return status;
  e.stationary = tg_mx_stationary(c->m, e.g->format);
  e.pieces = e.t.mt / e.t.mr;
  uint32_t inner[] = {e.t.chunks, e.pieces, 1}, *loops[] = {e.k_loops, e.piece_loops, e.pass_loops};
  for (int i = 0; i < 3; i++) loops[i][0] = e.t.passes_m, loops[i][1] = e.t.passes_n, loops[i][2] = inner[i];
  const char *name = tg_kernel_name(c, kernel);
  for (int64_t product = 0; product < e.g->products; product++) {
    if (product == 0 || !shares_section(&e, product)) status = emit_section(&e, name, product);
    if (status) return status;
    invoke(&e, name);
  }
  return TG_OK;
}
