/* Emission of attention. With unit i's scores S(i), its softmax in the VOPs M(i) and N(i), its second product
 * C(i) and drain D(i), the units of a tile work at the same time, between M(i - 1) and M(i + 1):
 *
 *   mx:  C(i - 1)  S(i + 1)          scores and result of unit i are in half i modulo 2 of the accumulator
 *   vx:  M(i)  N(i)  D(i - 1)
 *
 * C(i - 1) waits for N(i - 1); so the half that it and S(i + 1) write is drained, since D(i - 3) and M(i - 1)
 * come before. D(i - 1) waits for S(i + 1), which ends last in its half. */
#include "mapper/attention/emission.h"
#include "mapper/gemm/layout.h"
#include "mapper/kernel/class.h"

typedef tg_attention_emission emission;

/* ---- room ---- */

static void add_inputs(emission *e) {
  const tg_attention *a = e->a;
  tg_attention_add_input(&e->b, e->c, &e->q, &a->q, &e->channels[TG_ROLE_QUERIES].ring);
  tg_attention_add_input(&e->b, e->c, &e->k, &a->k, &e->channels[TG_ROLE_KEYS].ring);
  tg_attention_add_input(&e->b, e->c, &e->v, &a->v, &e->channels[TG_ROLE_VALUES].ring);
  for (int x = 0; x < a->scores.epilogue_operand_count; x++)
    tg_attention_add_input(&e->b, e->c, &e->epilogue_operand[x], &a->epilogue_operand[x],
                           &e->channels[TG_ROLE_SCORED + x].ring);
}

/* The order of the numbers of their semaphores. */
static const tg_channel_end ends[] = {
    {TG_ROLE_QUERIES, TG_END_FULL | TG_END_AGCU},
    {TG_ROLE_KEYS, TG_END_FULL | TG_END_AGCU},
    {TG_ROLE_VALUES, TG_END_FULL | TG_END_AGCU},
    {TG_ROLE_SCORED_ALL, TG_END_FULL | TG_END_AGCU},
    {TG_ROLE_SCORES, TG_END_FULL},
    {TG_ROLE_PRODUCT, TG_END_FULL},
    {TG_ROLE_WEIGHTS, TG_END_FULL | TG_END_FREE},
    {TG_ROLE_CONTEXT, TG_END_FULL | TG_END_FREE},
    {TG_ROLE_CONTEXT_AWAY, TG_END_FREE | TG_END_AGCU},
};

static bool open_channels(emission *e) {
  const tg_params *m = e->b.m;
  tg_channel_plan plans[TG_ATTENTION_ROLES];
  for (int i = 0; i < TG_ATTENTION_ROLES; i++) e->channels[i] = TG_CHANNEL_NONE;
  tg_attention_plan_channels(m, e->a, plans);
  if (!tg_channels_place(&e->b, plans, TG_ATTENTION_ROLES, e->channels)) return false;
  tg_channels_open(&e->b, plans, ends, (int)(sizeof ends / sizeof *ends), e->channels);
  e->channels[TG_ROLE_QUERIES].source = e->channels[TG_ROLE_SCORED_ALL].source = tg_attention_own_source;
  e->channels[TG_ROLE_KEYS].source = e->channels[TG_ROLE_VALUES].source = tg_attention_shared_source;
  /* The inverse sums lie behind the exps, perhaps in the same bank: both are written, then read. */
  e->exps = e->sums = e->channels[TG_ROLE_KEPT].ring;
  e->sums.base += tg_attention_exp_rows(m, e->a);
  e->sums.banks -= e->sums.base / tg_bank_rows(m) - e->exps.base / tg_bank_rows(m);
  return true;
}

/* ---- products ---- */

static void set_rounding(const emission *e, tg_mx_instr *mx, const tg_gemm *g, tg_turn units) {
  const tg_attention *a = e->a;
  int64_t step = a->grid.row_blocks == 1 ? tg_grid_at_a_time(e->b.m, &a->grid) * a->queries
                                         : (int64_t)a->grid.group * a->grid.rows;
  mx->sr = mx->sr_end = 1;
  mx->sr_k = g->k_tile < g->k ? g->k_tile : g->k;
  mx->sr_row = tg_grid_first_product(e->b.m, &e->a->grid, units.r, units.col) * a->queries +
               tg_grid_first_row(e->b.m, &e->a->grid, units.r, units.col) + units.first * step;
  mx->sr_row_delta[2] = units.count > 1 ? step : 0;
  mx->sr_col_blk[1] = tg_lanes(e->b.m);
  mx->sr_col_blk[2] = tg_mx_stationary(e->b.m, mx->format);
}

/* A product whose streamed operand has rows `a_row` apart; its result begins at row `at` of a half. */
static tg_instr *push_product(emission *e, tg_queue *queue, int number, uint32_t a_row, uint32_t at,
                              tg_turn units) {
  const tg_attention *a = e->a;
  const tg_gemm *g = number ? &a->context : &a->scores;
  tg_gemm_tiling t = number ? tg_attention_context(e->b.m, a) : tg_attention_scores(a);
  const tg_buffer *streamed = number ? &e->channels[TG_ROLE_WEIGHTS].ring : e->q.buffer,
                  *block = number ? e->v.buffer : e->k.buffer;
  tg_buffer halves = {.base = at, .stride = tg_acc_rows(e->b.m), .count = 2};
  tg_instr *in = tg_attention_push_gemm(&e->b, queue, g, &t);
  tg_mx_instr *mx = &in->mx;
  tg_attention_set_turns(&mx->a, streamed, units);
  mx->a_m[1] = a_row;
  mx->a_banks = streamed->banks;
  tg_attention_set_turns(&mx->b, block, units);
  mx->b_banks = block->banks;
  tg_attention_set_turns(&mx->c, &halves, units);
  mx->sr_key = number;
  if (g->k_tile) set_rounding(e, mx, g, units);
  return in;
}

/* The second product is whole when the scores of the unit two behind are, which end last in its half; or, of the last
 * two units, when it is itself. */
static void emit_scores(emission *e, const tg_stage *stage, tg_queue *queue, tg_turn units) {
  const uint64_t product = UINT64_C(1) << TG_ROLE_PRODUCT;
  tg_gemm_tiling t = tg_attention_scores(e->a);
  tg_instr *in = push_product(e, queue, 0, tg_gemm_a_row(e->b.m, &e->a->scores, &t), 0, units);
  tg_attention_meet(e, stage, units.first < 2 ? ~product : TG_ALL_CHANNELS, in, units);
}

static void emit_context(emission *e, const tg_stage *stage, tg_queue *queue, tg_turn units) {
  const uint64_t product = UINT64_C(1) << TG_ROLE_PRODUCT;
  const tg_attention *a = e->a;
  uint32_t row = tg_attention_weight_rows(e->b.m, a) / a->grid.rows,
           scores = a->grid.rows * (tg_attention_keys(a) / tg_lanes(e->b.m));
  tg_instr *in = push_product(e, queue, 1, row, scores, units);
  bool last = units.first + 2 >= tg_grid_blocks(&a->grid);
  tg_attention_meet(e, stage, last ? TG_ALL_CHANNELS : ~product, in, units);
}

/* ---- stores ---- */

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  emission *e = user;
  switch ((tg_attention_stage)stage->kind) {
  case TG_STAGE_LOADS:
  case TG_STAGE_VALUES: tg_attention_emit_loads(e, stage, queue, at); break;
  case TG_STAGE_SECOND_PRODUCT: emit_context(e, stage, queue, at); break;
  case TG_STAGE_SCORES: emit_scores(e, stage, queue, at); break;
  case TG_STAGE_EXPS:
  case TG_STAGE_WEIGHTS:
  case TG_STAGE_CONTEXT: tg_attention_emit_vop(e, stage, queue, at); break;
  case TG_STAGE_OUT:
    tg_egress_emit(&e->b, &e->results.egress, stage, queue, at, tg_attention_fill_store, &e->results);
    break;
  }
}

static void invoke(emission *e, const char *name) {
  const tg_attention *a = e->a;
  tg_invocation *invocation = tg_build_invoke(&e->b, name);
  const tg_gemm *products[] = {&a->scores, &a->context};
  for (int i = 0; i < 2; i++) {
    uint64_t rows = (uint64_t)a->products * (uint64_t)a->queries;
    invocation->macs[products[i]->format] += rows * (uint64_t)products[i]->n * (uint64_t)products[i]->k;
    invocation->key_nodes[i] = (uint32_t)products[i]->node->id;
  }
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  tg_attention a;
  emission e = {.c = c, .a = &a};
  const char *name = tg_kernel_name(c, kernel);
  bool good = tg_describe_attention(c, kernel, &a); /* as when it was formed */
  tg_build_begin(&e.b, c, name);
  if (!good) return tg_fail(c->diag, TG_INVALID, "%s: it is not one section on this architecture", name);
  if (!open_channels(&e)) return TG_INVALID; /* which says how many banks it needs */
  add_inputs(&e);
  tg_attention_plan_results(&e.b, c, &a.grid, &e.results, &a.out, a.out_kind, tg_attention_width(c->m, &a),
                            (uint32_t)a.context.n, &e.channels[TG_ROLE_CONTEXT],
                            &e.channels[TG_ROLE_CONTEXT_AWAY]);
  static const int splits[] = {TG_SOFTMAX_FIRST_SEGMENTS, TG_ATTENTION_DRAIN};
  tg_mc mc;
  if (!tg_attention_microcode(c, &a, &mc)) return TG_INVALID;
  tg_status status = tg_mc_pack_parts(&mc, splits, 2, c->program, e.b.section, e.microcode, c->diag);
  if (status) {
    tg_diag_prefix(c->diag, "%s", name);
    return status;
  }
  tg_stages stages;
  const uint32_t loops[TG_ATTENTION_NESTS][3] = {
      [TG_NEST_UNITS] = {1, 1, tg_grid_blocks(&a.grid)},
      [TG_NEST_BLOCKS_OF_ROWS] = {a.grid.passes, a.grid.row_blocks, 1}};
  tg_attention_list_stages(c->m, &a, &stages);
  tg_stages_emit(&e.b, &stages, c->m->rows, loops, emit_stage, &e);
  invoke(&e, name);
  return TG_OK;
}

static bool fits(tg_compile *c, const tg_kernel *kernel) {
  tg_attention unused;
  return tg_describe_attention(c, kernel, &unused);
}

const tg_kernel_class tg_attention_class = {
    .name = "attention",
    .fits = fits,
    .walks_views = fits,
    .emit = emit,
};
