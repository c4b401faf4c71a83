/* Reductions of a product's result by blocks of rows, in the drain ("totals"): a VOP goes down the rows of a
 * piece for each group of 2P columns, and keeps what is reduced in registers. Where a block has several
 * pieces, each piece has a VOP of its own, and the next one takes up what the one before has put into the
 * scratchpad, into two buffers in turn, since a VOP does not read a bank that it writes; the last one puts
 * the total behind the results of its piece. Blocks and their order come from the graph, so no tiling changes
 * a bit. */
#include "mapper/gemm/emission.h"
#include "mapper/microcode/moments.h"

#include <string.h>

typedef tg_gemm_emission emission;

/* ---- what is reduced ---- */

/* Is it a reduction over rows of the result, by blocks, the last of which may be shorter, whose totals are
 * numbers of FP32? */
static bool is_by_blocks(const tg_gemm *g, const tg_node *root) {
  const tg_value *in = tg_in(root, 0);
  int64_t block = tg_attr_int(root, TG_ATTR_BLOCK);
  return in->rank == 3 && in->dims[2].size == g->n && in->dims[0].size * in->dims[1].size == g->m &&
         block > 0 && block <= UINT16_MAX && block <= in->dims[1].size &&
         (in->dims[0].size == 1 || in->dims[1].size % block == 0) && in->dtype == TG_F32 &&
         tg_out(root)->dtype == TG_F32;
}

static bool made_inside(const tg_compile *c, const tg_kernel *kernel, tg_value *value) {
  const tg_node *maker = tg_owner(c, value)->producer;
  const tg_front *front = &kernel->totals->front[0];
  return maker && (maker == kernel->root || tg_has_node(kernel->fused, kernel->fused_count, maker) ||
                   tg_has_node(front->nodes, front->count, maker));
}

/* The external that is the same tensor and goes along with the result in the same way, or -1. False: `value`
 * does not go along at all. */
static bool find_external(const tg_compile *c, const tg_gemm *g, tg_value *value, const tg_value *shape,
                          int *out_external) {
  const tg_value *out = g->out[0];
  int64_t dims[TG_MAX_RANK], own[TG_MAX_RANK], other[TG_MAX_RANK];
  tg_value_sizes(out, dims);
  if (!tg_space_strides_as(value, shape, dims, out->rank, own)) return false;
  *out_external = -1;
  for (int x = 0; x < g->external_count && *out_external < 0; x++) {
    const tg_gemm_external *external = &g->externals[x];
    if (!external->part && tg_owner(c, external->value) == tg_owner(c, value) &&
        tg_space_strides_as(external->value, external->shape ? external->shape : out, dims, out->rank,
                            other) &&
        !memcmp(own, other, sizeof *own * (size_t)out->rank))
      *out_external = x;
  }
  return true;
}

static bool is_known(const tg_gemm *g, const tg_value *value) {
  for (int i = 0; i < g->totals.name_count; i++)
    if (g->totals.names[i].value == value) return true;
  return false;
}

/* An operand of a node whose result has the shape of `shape`. */
static bool add_operand(const tg_compile *c, tg_gemm *g, tg_value *value, const tg_value *shape) {
  tg_gemm_totals *totals = &g->totals;
  int external;
  if (is_known(g, value)) return true;
  if (!find_external(c, g, value, shape, &external) || totals->name_count == TG_GEMM_EXTERNALS) return false;
  if (external < 0) {
    if (g->external_count == TG_GEMM_EXTERNALS) return false;
    external = g->external_count++;
    g->externals[external] =
        (tg_gemm_external){.value = value, .kind = tg_stream_kind(value), .shape = shape};
  }
  totals->names[totals->name_count].value = value;
  totals->names[totals->name_count++].external = external;
  return true;
}

static bool add_operands(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  const tg_front *front = &kernel->totals->front[0];
  for (size_t n = 0; n < front->count; n++) {
    if (tg_has_node(kernel->fused, kernel->fused_count, front->nodes[n])) continue;
    const tg_value *shape = tg_shape_around(front->nodes, front->count, n, g->m * g->n);
    for (int i = 0; i < front->nodes[n]->input_count; i++) {
      tg_value *value = tg_in(front->nodes[n], i);
      if (!tg_is_scalar_constant(value) && !made_inside(c, kernel, value) && !add_operand(c, g, value, shape))
        return false;
    }
  }
  for (int i = 0; i < g->totals.count; i++) {
    tg_value *value = tg_in(tg_kernel_root(kernel->totals, i), 0);
    if (!made_inside(c, kernel, value) && !add_operand(c, g, value, value)) return false;
  }
  return true;
}

/* Rows of the product are rows of the result, in the same order. */
static bool is_plain(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g) {
  for (int k = 0; k < g->outs; k++)
    if (tg_kernel_computes(kernel, k) != g->out[k]) return false;
  return tg_gemm_phases(g->node) == 1 && g->products == 1 && !g->spread && g->partials == 1 &&
         g->m * g->n == tg_value_elements(g->out[0]) && !tg_gemm_rounds_results(g) &&
         c->m->agcu_contexts > TG_CTX_TOTALS;
}

tg_status tg_gemm_describe_totals(tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  const tg_kernel *reduction = kernel->totals;
  bool good = is_plain(c, kernel, g) && !reduction->fused_count;
  int64_t block = tg_attr_int(reduction->root, TG_ATTR_BLOCK);
  g->totals = (tg_gemm_totals){.count = tg_kernel_results(reduction), .block = block};
  for (int i = 0; i < g->totals.count; i++) {
    const tg_node *root = tg_kernel_root(reduction, i);
    good = good && is_by_blocks(g, root) && tg_attr_int(root, TG_ATTR_BLOCK) == block;
    if (good && tg_is_moment(root)) g->totals.first = tg_moment_first(block);
    g->totals.out[i] = tg_kernel_result(reduction, i);
  }
  if (good && add_operands(c, kernel, g)) return TG_OK;
  return tg_fail(c->diag, TG_INVALID, "node \"%s\": its reductions are not computed with it", g->node->name);
}

/* ---- VOPs ---- */

/* A stream of rows, of which the VOP's rows are `down` apart, or of one row that all share: `down` 0. */
static tg_stream *set_stream(const emission *e, tg_instr *in, int stream, int kind, const tg_buffer *buffer,
                             uint32_t down) {
  tg_stream *s = tg_stream_of_mut(&in->vx, stream);
  uint32_t vector = kind == TG_STREAM_SPLAT32 ? 0 : tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m)),
           row = vector ? vector * (e->t.nt / tg_lanes(e->b.m)) : 1;
  s->kind[0] = kind;
  s->banks[0] = buffer->banks;
  s->row[1] = (int64_t)row * down;
  s->row[2] = vector;
  s->j[1] = down ? row : 0;
  return s;
}

/* Rows of an iteration, and those that moments begin with. */
static void set_accumulator(const emission *e, tg_instr *in, uint32_t p, uint32_t down, uint32_t block) {
  tg_buffer halves = {.stride = tg_acc_rows(e->b.m), .count = 2};
  int rows = tg_gemm_first_rows(e->g);
  for (int u = 0; u < rows; u++) {
    tg_stream *s = tg_stream_of_mut(&in->vx, tg_gemm_accumulator_stream(e->g, u));
    s->kind[0] = TG_STREAM_ACC;
    tg_set_turning(s->at.base, &halves, block % 2, TG_TURN_OUTER);
    s->at.base[0] += (int64_t)p * e->t.mr + u;
    s->at.delta[2] = e->t.mr;
    s->row[1] = down;
    s->row[2] = e->t.mt;
    s->j[1] = u < e->g->totals.unroll ? e->g->totals.unroll : 0;
  }
}

static void set_externals(const emission *e, tg_instr *in, uint32_t p, uint32_t down) {
  for (int x = 0; x < e->g->external_count; x++) {
    const tg_gemm_external *external = &e->g->externals[x];
    tg_stream *s =
        set_stream(e, in, 1 + x, external->kind, &e->externals[x], external->row_vector ? 0 : down);
    if (external->row_vector)
      tg_set_turning(s->at.base, &e->externals[x], 0, TG_TURN_OUTER);
    else
      tg_set_turn(s->at.base, &e->externals[x], p, e->steps);
  }
}

/* Totals go from VOP to VOP, and the last one of a block puts them where they leave. */
static void set_totals(emission *e, tg_instr *in, uint32_t p, uint32_t pieces) {
  uint32_t row = tg_gemm_total_flits(e->b.m, &e->t), at = p % pieces;
  for (int i = 0; i < e->g->totals.count; i++) {
    tg_buffer before = tg_buffer_part(e->b.m, &e->running, row * (uint32_t)i, row), after = before;
    if (at + 1 == pieces) after = e->totals[i];
    if (at)
      tg_set_turning(set_stream(e, in, tg_gemm_before_stream(e->g, i), TG_STREAM_FP32, &before, 1)->at.base,
                     &before, (at - 1) % 2, TG_TURN_NEVER);
    tg_stream *s = set_stream(e, in, tg_gemm_after_stream(e->g, i), TG_STREAM_FP32, &after, 1);
    s->store[0] = 1;
    if (at + 1 == pieces)
      tg_set_turn(s->at.base, &after, p, e->steps);
    else
      tg_set_turning(s->at.base, &after, at % 2, TG_TURN_NEVER);
  }
}

static void set_results(const emission *e, tg_instr *in, uint32_t p, uint32_t down, uint32_t block) {
  for (int k = 0; k < e->g->outs; k++)
    for (int u = 0; u < e->g->totals.unroll; u++) {
      int stream = tg_gemm_result_stream(e->g, k, u);
      tg_stream *s = set_stream(e, in, stream, e->g->out_kind[k], &e->results[k], down);
      s->store[0] = 1;
      tg_set_turn(s->at.base, &e->results[k], block * e->pieces + p, e->steps);
      s->at.base[0] += u * s->j[1];
      s->j[1] *= e->g->totals.unroll;
    }
}

/* Rows of the VOP: (block of rows, group of 2P columns), of which each goes down the rows. The first is of
 * the tile's block number `block`. */
static tg_instr *push_piece(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode, uint32_t p,
                            uint32_t pieces, uint32_t block) {
  uint32_t groups = e->t.nt / tg_lanes(e->b.m), blocks = tg_gemm_totals_a_piece(e->g, &e->t),
           down = e->t.mr / blocks;
  int segments[] = {TG_TOTALS_HOLD, p % pieces ? TG_TOTALS_GO_ON : TG_TOTALS_BEGIN, TG_TOTALS_ROWS,
                    TG_TOTALS_END};
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  for (int q = 0; q < 4; q++) {
    in->vx.seg_begin[q] = microcode->seg_begin[segments[q]];
    in->vx.seg_len[q] = microcode->seg_len[segments[q]];
  }
  in->vx.seg_repeat[0] = 1 << 2;
  in->vx.rows[0] = blocks * groups;
  in->vx.row_count[0] = 1;
  in->vx.row_count[1] = blocks;
  in->vx.row_count[2] = groups;
  in->vx.j_count[0] = 1;
  in->vx.j_count[1] = down / (uint32_t)e->g->totals.unroll;
  set_accumulator(e, in, p, down, block);
  set_externals(e, in, p, down);
  set_results(e, in, p, down, block);
  set_totals(e, in, p, pieces);
  return in;
}

/* Waits and posts of piece p. */
static void set_meetings(const emission *e, tg_instr *in, uint32_t r, uint32_t col, uint32_t p,
                         const tg_exit *exit) {
  bool last = p + 1 == e->steps;
  if (p == 0) tg_set_wait(in, 0, e->acc_full, true);
  tg_set_wait(in, 1, exit->out_free, false);
  bool vectors = e->vectors && !tg_gemm_keeps_vectors(e->g, &e->t);
  if (vectors && p == 0) tg_set_wait(in, 2, e->vectors_full, true);
  if (tg_gemm_has_front(e)) tg_set_wait(in, 2, e->totals_free, false);
  if (e->blocks) tg_set_wait(in, 3, e->blocks_full, false);
  if (last) tg_set_post(in, 0, TG_POST_LOCAL, 0, e->acc_free, true);
  tg_set_post(in, 1, TG_POST_LOCAL, 0, exit->out_full, false);
  if (vectors && last) tg_set_post(in, 2, TG_POST_COL, 0, e->vectors_credit + (int)r + 1, true);
  if (!e->blocks) return;
  if (tg_gemm_externals_west(e, r, col))
    tg_set_post(in, 3, TG_POST_ROW, 0, e->blocks_credit + (int)col + 1, false);
  else
    tg_set_post(in, 3, TG_POST_COL, 0, e->blocks_north_credit + (int)r + 1, false);
}

void tg_gemm_emit_totals(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                         const tg_exit *exit) {
  uint32_t pieces = tg_gemm_pieces_of_total(e->g, &e->t);
  tg_instr *in = NULL;
  uint32_t first = tg_build_tile(&e->b, r, col)->vx.count;
  for (uint32_t p = 0; p < e->steps; p++) {
    in = push_piece(e, r, col, microcode, p, pieces, 0);
    set_meetings(e, in, r, col, p, exit);
  }
  tg_set_loops(in, e->piece_loops);
  in->common.loop_count[2] = e->pieces / e->steps;
  for (int l = 0; l < TG_LEVELS; l++) in->common.loop_begin[l] = first;
}

tg_instr *tg_gemm_emit_block_totals(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                                    const tg_exit *exit, uint32_t block) {
  tg_instr *in = push_piece(e, r, col, microcode, 0, 1, block);
  set_meetings(e, in, r, col, 0, exit);
  return in;
}

/* ---- the way out ---- */

/* A row of totals for each block of rows. */
void tg_gemm_fill_totals(const emission *e, int i, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const tg_gemm *g = e->g;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->totals.out[i]),
                       .radix = {1, 1, g->m / g->totals.block},
                       .stride = {0, 0, g->n},
                       .element_stride = 1,
                       .columns = g->n};
  tg_fill_walk(store, &walk, e->total_base[i], e->total_rest[i]);
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  store->rows[0] = tg_gemm_totals_a_piece(g, &e->t);
  store->m_first[0] = place.row / g->totals.block;
  for (int l = 0; l < 2; l++) store->m_delta[l] = place.row_delta[l] / g->totals.block;
  store->m_delta[e->t.sent ? 1 : 2] = store->rows[0];
}
