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
typedef tg_attention_input input;

/* ---- room ---- */

static void add_base(emission *e, input *in, const tg_matrices *at) {
  in->at = at;
  in->entry = tg_build_base(&e->b, tg_place_of(e->c, at->value), 0, &in->residue);
}

static void allocate_bases(emission *e) {
  const tg_attention *a = e->a;
  add_base(e, &e->q, &a->q);
  add_base(e, &e->k, &a->k);
  add_base(e, &e->v, &a->v);
  for (int x = 0; x < a->scores.epilogue_operand_count; x++)
    add_base(e, &e->epilogue_operand[x], &a->epilogue_operand[x]);
  e->out_entry = tg_build_base(&e->b, tg_place_of(e->c, a->out.value), 0, &e->out_residue);
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

/* Who fills them. */
static tg_post own_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  return tg_post_to_agcu(channel, tg_attention_own_from_west(kernel, r, col), r, col);
}
static tg_post shared_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  return tg_post_to_agcu(channel, tg_attention_shared_from_west(kernel, r, col), r, col);
}

static bool open_channels(emission *e) {
  const tg_params *m = e->b.m;
  tg_channel_plan plans[TG_ATTENTION_ROLES];
  for (int i = 0; i < TG_ATTENTION_ROLES; i++) e->channels[i] = TG_CHANNEL_NONE;
  tg_attention_plan_channels(m, e->a, plans);
  if (!tg_channels_place(&e->b, plans, TG_ATTENTION_ROLES, e->channels)) return false;
  tg_channels_open(&e->b, plans, ends, (int)(sizeof ends / sizeof *ends), e->channels);
  e->channels[TG_ROLE_QUERIES].source = e->channels[TG_ROLE_SCORED_ALL].source = own_source;
  e->channels[TG_ROLE_KEYS].source = e->channels[TG_ROLE_VALUES].source = shared_source;
  e->q.buffer = e->channels[TG_ROLE_QUERIES].ring;
  e->k.buffer = e->channels[TG_ROLE_KEYS].ring;
  e->v.buffer = e->channels[TG_ROLE_VALUES].ring;
  for (int x = 0; x < e->a->scores.epilogue_operand_count; x++)
    e->epilogue_operand[x].buffer = e->channels[TG_ROLE_SCORED + x].ring;
  /* The inverse sums lie behind the exps, perhaps in the same bank: both are written, then read. */
  e->exps = e->sums = e->channels[TG_ROLE_KEPT].ring;
  e->sums.base += tg_attention_exp_rows(m, e->a);
  e->sums.banks -= e->sums.base / tg_bank_rows(m) - e->exps.base / tg_bank_rows(m);
  return true;
}

/* ---- products ---- */

static void set_rounding(const emission *e, tg_mx_instr *mx, const tg_gemm *g, tg_turn units) {
  const tg_attention *a = e->a;
  int64_t step =
      a->blocks == 1 ? tg_attention_at_a_time(e->b.m, a) * a->queries : (int64_t)a->group * a->rows;
  mx->sr = mx->sr_end = 1;
  mx->sr_k = g->k_tile < g->k ? g->k_tile : g->k;
  mx->sr_row = tg_attention_first_product(e, units.r, units.col) * a->queries +
               tg_attention_first_row(e, units.r, units.col) + units.first * step;
  mx->sr_row_delta[2] = units.count > 1 ? step : 0;
  mx->sr_col_blk[1] = tg_lanes(e->b.m);
  mx->sr_col_blk[2] = tg_mx_stationary(e->b.m, mx->format);
}

/* A product whose streamed operand has rows `a_row` apart; its result begins at row `at` of a half. */
static tg_instr *push_product(emission *e, tg_queue *queue, int number, uint32_t a_row, uint32_t at,
                              tg_turn units) {
  const tg_params *m = e->b.m;
  const tg_attention *a = e->a;
  const tg_gemm *g = number ? &a->context : &a->scores;
  tg_gemm_tiling t = number ? tg_attention_context(m, a) : tg_attention_scores(a);
  const tg_buffer *streamed = number ? &e->channels[TG_ROLE_WEIGHTS].ring : &e->q.buffer,
                  *block = number ? &e->v.buffer : &e->k.buffer;
  uint32_t stationary = tg_mx_stationary(m, g->format), beats = tg_mx_beats(g->format),
           b_row = tg_gemm_b_row(m, g, &t);
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_mx_gemm);
  tg_mx_instr *mx = &in->mx;
  mx->format = g->format;
  mx->m_count[0] = 1;
  mx->m_count[1] = t.mt;
  tg_attention_set_turns(&mx->a, streamed, units);
  mx->a_m[1] = a_row;
  mx->a_blk[0] = beats;
  mx->a_banks = streamed->banks;
  tg_attention_set_turns(&mx->b, block, units);
  mx->b_transposed = g->b_transposed;
  mx->b_row = b_row;
  mx->b_blk[0] = g->b_transposed ? beats : (int64_t)stationary * b_row;
  mx->b_banks = block->banks;
  tg_buffer halves = {.base = at, .stride = tg_acc_rows(m), .count = 2};
  tg_attention_set_turns(&mx->c, &halves, units);
  /* blocks: k, then groups of 2P columns, then (fp32) their two halves */
  mx->blk_count[0] = (t.kc + stationary - 1) / stationary;
  mx->k_loops = 1;
  mx->blk_count[1] = t.nt / tg_lanes(m);
  mx->blk_count[2] = tg_lanes(m) / stationary;
  mx->blk_count[3] = 1;
  mx->b_blk[1] = g->b_transposed ? (int64_t)tg_lanes(m) * b_row : tg_lanes(m) / tg_mx_elements(m, g->format);
  mx->b_blk[2] = g->b_transposed ? (int64_t)stationary * b_row : 1;
  mx->c_blk[1] = t.mt;
  mx->h_blk[2] = 1;
  mx->init = 1;
  mx->k_chunk = mx->k_total = t.kc;
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
  uint32_t row = tg_attention_weight_rows(e->b.m, a) / a->rows,
           scores = a->rows * (tg_attention_keys(a) / tg_lanes(e->b.m));
  tg_instr *in = push_product(e, queue, 1, row, scores, units);
  bool last = units.first + 2 >= tg_attention_units(a);
  tg_attention_meet(e, stage, last ? TG_ALL_CHANNELS : ~product, in, units);
}

/* ---- stores ---- */

static void fill_store(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  const tg_attention *a = e->a;
  (void)port; /* the only one */
  int64_t padded = tg_attention_padded(a);
  tg_attention_set_walk(store, &a->out, padded, e->out_entry, e->out_residue);
  store->m_first = tg_attention_first_product(e, r, col) * padded;
  store->m_delta[0] = tg_attention_at_a_time(e->b.m, a) * padded;
  tg_attention_set_block(e, store, r, col);
  store->rows = store->m_delta[2] = a->piece;
  store->take = e->out_take;
  store->convert = a->out_kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
}

static void plan_egress(emission *e) {
  const tg_attention *a = e->a;
  uint32_t width = tg_attention_width(e->b.m, a), pieces = a->rows / a->piece,
           row = tg_kind_flits(e->b.m, a->out_kind, width);
  e->out_take = pieces > 1 ? width : (uint32_t)a->context.n; /* pieces lie next to each other */
  uint32_t sent = tg_kind_flits(e->b.m, a->out_kind, e->out_take);
  e->port = (tg_store_port){.from = &e->channels[TG_ROLE_CONTEXT],
                            .away = &e->channels[TG_ROLE_CONTEXT_AWAY],
                            .flits = a->piece * sent,
                            .pieces = pieces,
                            .buffer = e->channels[TG_ROLE_CONTEXT].ring,
                            .loops = {a->passes, a->blocks, pieces}};
  if (sent < row) e->port.inner = sent, e->port.stride = row;
  e->egress = (tg_egress_plan){.ports = &e->port, .count = 1, .often = 1, .every = 1, .steps = 1};
}

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
  case TG_STAGE_OUT: tg_egress_emit(&e->b, &e->egress, stage, queue, at, fill_store, e); break;
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
  if (!good || !open_channels(&e))
    return tg_fail(c->diag, TG_INVALID, "%s: the scratchpads are too small", name);
  allocate_bases(&e);
  plan_egress(&e);
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
      [TG_NEST_UNITS] = {1, 1, tg_attention_units(&a)}, [TG_NEST_BLOCKS_OF_ROWS] = {a.passes, a.blocks, 1}};
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
