/* Two products of the same rows and columns in one section: each has channels of its own for A and B, and of the accumulator's
 * half a region of its own, behind one another; mx multiplies the chunks of the first one, then those of the second, and a
 * VOP drains both. The drain, and all that is cut, is the first one's; the second one has chunks of K, and of B all or a
 * chunk at a time. Its loads are a context's by themselves. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/stages_list.h"

typedef tg_gemm_emission emission;

tg_gemm_tiling tg_gemm_second_tiling(const tg_gemm_tiling *t) {
  tg_gemm_tiling own = *t;
  own.patch = TG_PATCH_NONE;
  own.cuts = 0;
  own.kc = t->second.kc;
  own.chunks = t->second.chunks;
  own.whole_b = t->second.whole_b;
  return own;
}

/* Rows that are counted for each image but are none lie outside of the second one's image as well, or belong to nobody. */
static bool counts_rows(const tg_gemm *second) {
  return second->image.images && !second->a_transposed && !second->k_tile;
}

bool tg_gemm_may_have_second(const tg_gemm *g, const tg_gemm_tiling *t) {
  bool plain = !t->resident && !t->paired && !t->sent && !t->kept && !t->pool_rows &&
               !(t->own && g->second->b_transposed),
       whole = t->members * t->parts == 1 && !t->producers && !tg_gemm_has_rows_apart(t);
  return plain && whole && t->split != TG_SPLIT_PRODUCTS && (!t->image_rows || counts_rows(g->second));
}

/* ---- stages ---- */

static uint8_t own_kind(uint8_t kind) {
  switch (kind) {
  case TG_STAGE_A: return TG_STAGE_SECOND_A;
  case TG_STAGE_B: return TG_STAGE_SECOND_B;
  case TG_STAGE_WHOLE_B: return TG_STAGE_SECOND_WHOLE_B;
  default: return TG_STAGE_SECOND_MULTIPLY;
  }
}

/* Cycles are those of a chunk of the first product. */
static void make_second(const tg_stages_list *s, tg_stage *stage) {
  stage->kind = own_kind(stage->kind);
  stage->cycles *= (double)s->t->second.chunks / s->t->chunks;
}

void tg_stages_add_second_operands(const tg_stages_list *s, tg_seat side) {
  const tg_gemm_tiling own = tg_gemm_second_tiling(s->t);
  int first = s->out->count;
  tg_stages_add_operands(&(tg_stages_list){s->m, s->g->second, &own, s->out}, side);
  for (int i = first; i < s->out->count; i++) {
    tg_stage *stage = &s->out->list[i];
    make_second(s, stage);
    stage->context = TG_CTX_SECOND;
    stage->in_front = 0; /* beside those of the first one, which mx waits for */
    stage->nest = TG_NEST_SECOND;
  }
}

/* The first chunk of the first product waits for a half of the accumulator, and the last one of the second tells that it is
 * full. Their loops are closed by hand. */
static void share_accumulator(tg_stage *stage, bool first) {
  stage->nest = TG_NEST_OWN;
  for (int i = 0; i < stage->join_count; i++) {
    tg_join *join = &stage->joins[i];
    if (join->channel == TG_ROLE_ACCUMULATOR) *(first ? &join->posts : &join->waits) = TG_OF_NONE;
  }
}

void tg_stages_multiply_both(const tg_stages_list *s, tg_stages_add_one *add_whole_b,
                             tg_stages_add_one *add_multiply) {
  const tg_gemm_tiling own = tg_gemm_second_tiling(s->t);
  const tg_stages_list second = {s->m, s->g->second, &own, s->out};
  add_whole_b(s);
  int begin = s->out->count;
  add_whole_b(&second);
  if (s->out->count > begin) make_second(s, &s->out->list[begin]);
  add_multiply(s);
  share_accumulator(&s->out->list[s->out->count - 1], true);
  add_multiply(&second);
  tg_stage *last = &s->out->list[s->out->count - 1];
  make_second(s, last);
  share_accumulator(last, false);
}

/* ---- emission ---- */

void tg_gemm_begin_second(const emission *e, emission *out) {
  *out = *e;
  out->g = e->g->second;
  out->t = tg_gemm_second_tiling(&e->t);
  out->second = NULL;
  out->stationary = tg_mx_stationary(e->b.m, out->g->format);
  out->k_loops[2] = out->t.chunks;
  out->channels[TG_ROLE_A] = e->channels[TG_ROLE_SECOND_A];
  out->channels[TG_ROLE_B] = e->channels[TG_ROLE_SECOND_B];
  out->channels[TG_ROLE_A_NORTH] = e->channels[TG_ROLE_SECOND_A_NORTH];
  out->a_base = e->second_bases.a;
  out->b_base = e->second_bases.b;
  out->a_rest = e->second_bases.a_rest;
  out->b_rest = e->second_bases.b_rest;
  out->first_sum = (uint32_t)tg_gemm_block_sums(e->b.m, &e->t);
}

/* The stage as the product by itself would have it. */
static tg_stage as_first(const tg_stage *stage) {
  tg_stage own = *stage;
  own.kind = stage->kind == TG_STAGE_SECOND_A   ? TG_STAGE_A
             : stage->kind == TG_STAGE_SECOND_B ? TG_STAGE_B
                                                : TG_STAGE_MULTIPLY;
  return own;
}

void tg_gemm_load_second(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t at) {
  const tg_stage own = as_first(stage);
  tg_gemm_emit_load(e->second, &own, queue, at);
}

/* The chunks of a product are a loop, if these have not closed it themselves; returns the last instruction. */
static tg_instr *close_chunks(tg_queue *queue, uint32_t begin, uint32_t chunks) {
  tg_instr *last = &queue->instrs[queue->count - 1];
  if (!last->common.loop_count[2]) {
    last->common.loop_count[2] = chunks;
    last->common.loop_begin[2] = begin;
  }
  return last;
}

void tg_gemm_multiply_both(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->mx;
  uint32_t begin = queue->count;
  if (stage->kind == TG_STAGE_MULTIPLY) {
    tg_gemm_emit_multiply(e, stage, r, col);
    close_chunks(queue, begin, e->k_loops[2]);
    e->second->first_slot = begin;
    return;
  }
  emission *second = e->second;
  const tg_stage own = as_first(stage);
  tg_gemm_emit_multiply(second, &own, r, col);
  tg_common_instr *last = &close_chunks(queue, begin, second->k_loops[2])->common;
  for (int l = 0; l < 2; l++) {
    last->loop_count[l] = second->k_loops[l];
    last->loop_begin[l] = second->first_slot;
  }
}
