/* Emission of attention by blocks: places, channels, stores; and its class. */
#include "mapper/attention/blocked_emission.h"
#include "mapper/kernel/class.h"
#include "mapper/section/need.h"

typedef tg_blocked_emission emission;

/* ---- room ---- */

static void add_input(emission *e, tg_attention_input *in, const tg_matrices *at, int role) {
  tg_attention_add_input(&e->b, e->c, in, at, &e->channels[role].ring);
}

static void add_inputs(emission *e) {
  const tg_blocked *a = e->a;
  if (tg_blocked_multiplies(a)) {
    add_input(e, &e->q, &a->q, TG_BLOCKED_QUERIES);
    add_input(e, &e->k, &a->k, TG_BLOCKED_KEYS);
  }
  add_input(e, &e->v, &a->v, TG_BLOCKED_VALUES);
  for (int x = 0; x < a->operand_count; x++)
    add_input(e, &e->operand[x], &a->operand[x], TG_BLOCKED_OPERAND + x);
}

/* The order of the numbers of their semaphores. */
static const tg_channel_end ends[] = {
    {TG_BLOCKED_QUERIES, TG_END_FULL | TG_END_AGCU},
    {TG_BLOCKED_KEYS, TG_END_FULL | TG_END_AGCU},
    {TG_BLOCKED_VALUES, TG_END_FULL | TG_END_AGCU},
    {TG_BLOCKED_OPERANDS_ALL, TG_END_FULL | TG_END_AGCU},
    {TG_BLOCKED_SCORES, TG_END_FULL},
    {TG_BLOCKED_PRODUCT, TG_END_FULL},
    {TG_BLOCKED_PROBABILITIES, TG_END_FULL | TG_END_FREE},
    {TG_BLOCKED_OUT, TG_END_FULL | TG_END_FREE},
    {TG_BLOCKED_AWAY, TG_END_FREE | TG_END_AGCU},
};

static bool open_channels(emission *e) {
  tg_channel_plan plans[TG_BLOCKED_ROLES];
  for (int i = 0; i < TG_BLOCKED_ROLES; i++) e->channels[i] = TG_CHANNEL_NONE;
  tg_blocked_plan_channels(e->b.m, e->a, plans);
  if (!tg_channels_place(&e->b, plans, TG_BLOCKED_ROLES, e->channels)) return false;
  tg_channels_open(&e->b, plans, ends, (int)(sizeof ends / sizeof *ends), e->channels);
  e->channels[TG_BLOCKED_QUERIES].source = e->channels[TG_BLOCKED_OPERANDS_ALL].source =
      tg_attention_own_source;
  e->channels[TG_BLOCKED_KEYS].source = e->channels[TG_BLOCKED_VALUES].source = tg_attention_shared_source;
  return true;
}

/* ---- stores ---- */

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  emission *e = user;
  switch ((tg_blocked_stage)stage->kind) {
  case TG_BLOCKED_MULTIPLY: tg_blocked_emit_products(e, queue, at); break;
  case TG_BLOCKED_COMPUTE: tg_blocked_emit_vops(e, queue, at); break;
  case TG_BLOCKED_STORE:
    tg_egress_emit(&e->b, &e->results.egress, stage, queue, at, tg_attention_fill_store, &e->results);
    break;
  default: tg_blocked_emit_loads(e, stage, queue, at);
  }
}

static void invoke(emission *e, const char *name) {
  const tg_blocked *a = e->a;
  tg_invocation *invocation = tg_build_invoke(&e->b, name);
  uint64_t rows = (uint64_t)a->products * (uint64_t)a->queries, keys = (uint64_t)a->keys;
  invocation->macs[a->context.format] += rows * keys * (uint64_t)a->context.n;
  if (tg_blocked_multiplies(a)) invocation->macs[a->scores.format] += rows * keys * (uint64_t)a->scores.k;
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  tg_blocked a;
  emission e = {.c = c, .a = &a};
  const char *name = tg_kernel_name(c, kernel);
  bool good = tg_describe_blocked(c, kernel, &a);
  tg_build_begin(&e.b, c, name);
  if (!good || !open_channels(&e))
    return tg_fail(c->diag, TG_INVALID,
                   "%s: a block of %u keys does not fit the array (--attention exact, or blocked:N)%s", name,
                   a.block, good ? "" : tg_shortage_text(c->arena, &a.lacks));
  add_inputs(&e);
  tg_attention_plan_results(&e.b, c, &a.grid, &e.results, &a.out, a.out_kind, tg_blocked_out_width(c->m, &a),
                            (uint32_t)a.columns, &e.channels[TG_BLOCKED_OUT], &e.channels[TG_BLOCKED_AWAY]);
  static const int splits[] = {TG_BLOCKED_ADD, TG_BLOCKED_FINISH, TG_BLOCKED_BEGIN};
  tg_mc mc;
  if (!tg_blocked_microcode(c, &a, &mc)) return TG_INVALID;
  tg_status status =
      tg_mc_pack_parts(&mc, splits, TG_BLOCKED_VOPS - 1, c->program, e.b.section, e.microcode, c->diag);
  if (status) {
    tg_diag_prefix(c->diag, "%s", name);
    return status;
  }
  tg_stages stages;
  const uint32_t loops[TG_BLOCKED_NESTS][3] = {
      [TG_BLOCKED_NEST_KEYS] = {a.grid.passes, a.grid.row_blocks, a.blocks * a.chunks},
      [TG_BLOCKED_NEST_VALUES] = {a.grid.passes, a.grid.row_blocks, a.blocks * a.chunks},
      [TG_BLOCKED_NEST_OPERANDS] = {a.grid.passes, a.grid.row_blocks, a.blocks}};
  tg_blocked_list_stages(c->m, &a, &stages);
  tg_stages_emit(&e.b, &stages, c->m->rows, loops, emit_stage, &e);
  invoke(&e, name);
  return TG_OK;
}

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_BLOCKED_ATTENTION;
}

enum { CONSTANTS = 24 }; /* that its own microcode may need */

static bool takes(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting) {
  bool logsum = tg_attr_int(kernel->root, TG_ATTR_LOGSUM) != 0;
  return !logsum && !tg_is_stochastic_cast(node) &&
         tg_has_room(c, kernel, node, waiting, CONSTANTS, tg_mc_exp_table());
}

static bool fits(tg_compile *c, const tg_kernel *kernel) {
  tg_blocked unused;
  return tg_describe_blocked(c, kernel, &unused);
}

const tg_kernel_class tg_blocked_attention_class = {
    .name = "blocked_attention",
    .accepts = accepts,
    .takes = takes,
    .fits = fits,
    .walks_views = fits,
    .emit = emit,
};
