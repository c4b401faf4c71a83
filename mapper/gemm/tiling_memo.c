/* Equal products are tiled once: passes ask for the same kernel again and again, and models have equal layers. */
#include "mapper/gemm/tiling_search.h"

#include "frontend/base/math.h"
#include "mapper/kernel/memo.h"

#include <string.h>

#define WORTH_A_REPLAY 1.25 /* of the best estimate: formulas err by as much */

/* What a tiling follows from: the product, in which values stand for how they are stored and nothing else. What is not
 * known to be of no account stays in the key, so that two keys are rather different than equal. */
typedef struct key {
  tg_gemm gemm, second;
  uint32_t banks; /* that others have left */
} key;

static tg_value *stored_as(const tg_value *value) {
  return value ? (tg_value *)(1 + (uintptr_t)tg_value_storage(value)) : NULL;
}

static void set_operands(const tg_gemm *g, tg_gemm *out) {
  memset(out->epilogue_operands, 0, sizeof out->epilogue_operands);
  for (int i = 0; i < g->epilogue_operand_count; i++) {
    const tg_epilogue_operand *from = &g->epilogue_operands[i];
    tg_epilogue_operand *x = &out->epilogue_operands[i];
    x->access.name.value = stored_as(from->access.name.value);
    x->access.name.part = from->access.name.part;
    x->access.name.dtype = from->access.name.dtype;
    x->access.first = from->access.first;
    memcpy(x->access.stride, from->access.stride, sizeof x->access.stride);
    x->access.apart = from->access.apart;
    x->access.parts = from->access.parts;
    x->access.step = from->access.step;
    x->kind = from->kind;
    x->along = from->along;
    memcpy(x->stride, from->stride, sizeof x->stride);
    x->element_stride = from->element_stride;
    x->run_stride = from->run_stride;
  }
}

/* Names, by which microcode finds operands, have no part in a tiling, nor have places in DRAM. */
static void set_product(const tg_gemm *g, tg_gemm *k) {
  *k = *g;
  k->node = NULL;
  k->a = stored_as(g->a);
  k->b = stored_as(g->b);
  for (int i = 0; i < g->outs; i++) k->out[i] = stored_as(g->out[i]);
  memset(&k->a_operand, 0, sizeof k->a_operand);
  memset(&k->b_operand, 0, sizeof k->b_operand);
  k->a_offsets = k->b_offsets = k->out_offsets = NULL;
  k->first_column = 0;
  set_operands(g, k);
  for (int i = 0; i < g->column_sums.count; i++) k->column_sums.out[i] = stored_as(g->column_sums.out[i]);
  memset(k->column_sums.names, 0, sizeof k->column_sums.names);
  k->prologue.result = stored_as(g->prologue.result);
  for (int i = 0; i < g->prologue.input_count; i++)
    k->prologue.inputs[i].name.value = stored_as(g->prologue.inputs[i].name.value);
  for (int v = 0; v < g->prologue.vector_count; v++)
    k->prologue.vectors[v].name.value = stored_as(g->prologue.vectors[v].name.value);
  memset(k->prologue.names, 0, sizeof k->prologue.names);
  k->pool.kernel = NULL; /* there are windows */
  k->second = NULL;      /* it has k's */
}

static void make_key(const tg_compile *c, const tg_gemm *g, key *out) {
  memset(out, 0, sizeof *out);
  out->banks = c->m->banks;
  set_product(g, &out->gemm);
  if (g->second) set_product(g->second, &out->second);
}

typedef struct answer {
  tg_gemm_candidates candidates;
  tg_shortage lacks;
} answer;

static const answer *answer_of(const tg_compile *c, const tg_gemm *gemm) {
  key wanted;
  make_key(c, gemm, &wanted);
  const answer *known = tg_memo_find(c->tilings, &wanted, sizeof wanted);
  answer found;
  if (known) return known;
  tg_search_tiling(c, gemm, &found.candidates, &found.lacks);
  tg_memo_add(c->tilings, &wanted, sizeof wanted, &found, sizeof found);
  return tg_memo_find(c->tilings, &wanted, sizeof wanted);
}

tg_gemm_candidates tg_gemm_candidates_of(const tg_compile *c, const tg_gemm *gemm) {
  return answer_of(c, gemm)->candidates;
}

tg_gemm_candidates tg_gemm_candidates_worth_a_replay(const tg_compile *c, const tg_gemm *gemm) {
  tg_gemm_candidates near = tg_gemm_candidates_of(c, gemm), kept = {0};
  double best = TG_NEVER;
  if (near.count <= 1) return near;
  for (int i = 0; i < near.count; i++) { /* the search does not know a memory device */
    near.rank[i] = tg_max_double(near.rank[i], tg_gemm_memory_cycles(c, gemm, &near.tiling[i]));
    best = tg_min_double(best, near.rank[i]);
  }
  for (int i = 0; i < near.count; i++) {
    if (near.rank[i] > WORTH_A_REPLAY * best) continue;
    kept.tiling[kept.count] = near.tiling[i];
    kept.rank[kept.count++] = near.rank[i];
  }
  return kept;
}

void tg_gemm_settle(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *tiling) {
  key settled;
  make_key(c, gemm, &settled);
  answer only = {.candidates = {.count = 1, .tiling = {*tiling}}};
  tg_memo_add(c->tilings, &settled, sizeof settled, &only, sizeof only);
}

tg_status tg_tile_gemm(const tg_compile *c, const tg_gemm *gemm, tg_gemm_tiling *out) {
  const answer *known = answer_of(c, gemm);
  *out = known->candidates.tiling[0];
  if (known->candidates.count) return TG_OK;
  return tg_fail(c->diag, TG_INVALID,
                 "node \"%s\": no tiling of a %lld x %lld x %lld product fits this architecture%s",
                 gemm->node->name, (long long)gemm->m, (long long)gemm->n, (long long)gemm->k,
                 tg_shortage_text(c->arena, &known->lacks));
}
