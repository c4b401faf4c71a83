/* The microcode of attention by blocks. */
#include "mapper/attention/blocked.h"
#include "mapper/attention/parts.h"

#include <float.h>

typedef struct writer {
  const tg_compile *c;
  const tg_blocked *a;
  tg_mc *mc;
  tg_mc_ref top, before, partial[TG_ROW_PARTIALS];
  tg_mc_ref below; /* the maximum with the other sign */
  tg_score_scale scale;
  int lanes, registers;
} writer;

static tg_mc_ref minus_infinity(tg_mc *mc) { return tg_mc_bits(mc, 0xff800000u); }

/* What the epilogue makes of a product, with operands as vector `u` of each iteration has them. */
static tg_mc_ref behind(const writer *w, tg_mc_ref y, int u) {
  const tg_blocked *a = w->a;
  const tg_kernel *kernel = a->kernel->scores;
  tg_operand_stream streams[TG_EPILOGUE_OPERANDS];
  for (int x = 0; x < a->operand_count; x++)
    streams[x] = (tg_operand_stream){.name = {.value = a->operand[x].value},
                                     .stream = (1 + x) * a->unroll + u,
                                     .scalar = a->operand_kind[x] == TG_STREAM_SPLAT32};
  if (!kernel->fused_count) return y;
  y = tg_emit_expression(w->mc, w->c, kernel, tg_out(kernel->root), y, streams, a->operand_count);
  return y == TG_MC_NONE ? y : tg_round_to(w->mc, kernel->output->dtype, y, false); /* no store does */
}

static tg_mc_ref loaded(const writer *w, int u) {
  const tg_blocked *a = w->a;
  if (!tg_blocked_multiplies(a)) return tg_mc_load(w->mc, u, a->operand_kind[0] == TG_STREAM_FP32);
  return tg_round_to(w->mc, tg_out(a->kernel->scores->root)->dtype, tg_mc_load(w->mc, u, false), false);
}

/* -infinity where there is no key. */
static tg_mc_ref of_keys(const writer *w, tg_mc_ref y, int u) {
  if (y == TG_MC_NONE || !tg_blocked_is_ragged(w->a)) return y;
  return tg_mc_alu_imm(w->mc, TG_ALU_tail, y, minus_infinity(w->mc), u);
}

/* A vector of scores, through their epilogue, or as it is loaded. */
static tg_mc_ref score(const writer *w, int u) {
  tg_mc_ref y = loaded(w, u);
  return of_keys(w, tg_blocked_multiplies(w->a) ? behind(w, y, u) : y, u);
}

static tg_mc_ref held(tg_mc *mc, int stream) {
  tg_mc_ref loaded = tg_mc_load(mc, stream, false), register_ = tg_mc_new(mc);
  tg_mc_assign(mc, register_, TG_ALU_mov, loaded, TG_MC_NONE, TG_MC_NONE);
  return register_;
}

/* The maximum of a row and those before, in every lane. */
static bool write_maximum(writer *w, int state) {
  tg_mc *mc = w->mc;
  bool unscaled = w->scale.keeps_order;
  w->before = held(mc, state + TG_STATE_MAXIMUM);
  w->top = tg_mc_new(mc);
  tg_mc_assign(mc, w->top, TG_ALU_mov, unscaled ? minus_infinity(mc) : w->before, TG_MC_NONE, TG_MC_NONE);
  for (int i = 0; i < w->registers; i++) w->partial[i] = tg_mc_new(mc);
  tg_row_begin(mc, w->partial, w->registers, tg_mc_const(mc, 0.0f));
  tg_mc_next_segment(mc);
  for (int u = 0; u < w->a->unroll; u++) {
    tg_mc_ref x = unscaled ? of_keys(w, loaded(w, u), u) : score(w, u);
    if (x == TG_MC_NONE) return false;
    tg_mc_assign(mc, w->top, TG_ALU_max, w->top, x, TG_MC_NONE);
  }
  tg_mc_next_segment(mc);
  for (int apart = w->lanes / 2; apart >= 1; apart /= 2)
    tg_mc_assign(mc, w->top, TG_ALU_max, w->top, tg_mc_alu_imm(mc, TG_ALU_rot, w->top, TG_MC_NONE, apart),
                 TG_MC_NONE);
  if (unscaled) tg_mc_assign(mc, w->top, TG_ALU_max, w->before, behind(w, w->top, 0), TG_MC_NONE);
  return true;
}

/* Weights of a block, and their sum before they are rounded, of as many partial sums as a row has. */
static void write_exps(writer *w) {
  tg_mc *mc = w->mc;
  const tg_blocked *a = w->a;
  bool narrow = a->weights == TG_BF16 || a->weights == TG_F16;
  float factor = w->scale.exact;
  tg_mc_ref sum[2];
  int stream = tg_blocked_weights_stream(a), unroll = a->unroll;
  for (int u = 0; u < unroll; u++) {
    tg_mc_ref x =
        factor > 0 ? tg_mc_alu(mc, TG_ALU_fma, of_keys(w, loaded(w, u), u), tg_mc_const(mc, factor), w->below)
                   : tg_mc_alu(mc, TG_ALU_sub, score(w, u), w->top, TG_MC_NONE);
    tg_mc_ref e = tg_mc_exp_below_one(mc, x, narrow ? TG_MC_NARROW : TG_MC_SINGLE);
    tg_mc_store(mc, stream + u, !narrow, tg_round_to(mc, a->weights, e, true));
    if (unroll == w->registers)
      tg_mc_assign(mc, w->partial[u], TG_ALU_add, w->partial[u], e, TG_MC_NONE);
    else
      sum[u] = tg_mc_alu(mc, TG_ALU_add, w->partial[u], e, TG_MC_NONE);
  }
  if (unroll == w->registers) return;
  for (int i = 0; i + unroll < w->registers; i++)
    tg_mc_assign(mc, w->partial[i], TG_ALU_mov, w->partial[i + unroll], TG_MC_NONE, TG_MC_NONE);
  for (int u = 0; u < unroll; u++)
    tg_mc_assign(mc, w->partial[w->registers - unroll + u], TG_ALU_mov, sum[u], TG_MC_NONE, TG_MC_NONE);
}

static bool write_weights(writer *w) {
  tg_mc *mc = w->mc;
  int in = tg_blocked_weights_stream(w->a) + w->a->unroll, out = in + TG_STATE_CHANGE;
  if (!write_maximum(w, in)) return false;
  tg_mc_ref below = tg_mc_alu(mc, TG_ALU_sub, w->before, w->top, TG_MC_NONE), change = tg_mc_new(mc);
  (void)tg_mc_make_in(mc, change, tg_mc_exp_below_one(mc, below, TG_MC_SINGLE));
  tg_mc_store(mc, out + TG_STATE_MAXIMUM, false, w->top);
  tg_mc_store(mc, out + TG_STATE_CHANGE, false, change);
  w->below = tg_mc_new(mc);
  if (w->scale.exact > 0)
    tg_mc_assign(mc, w->below, TG_ALU_xor, w->top, tg_mc_bits(mc, 0x80000000u), TG_MC_NONE);
  tg_mc_next_segment(mc);
  write_exps(w);
  tg_mc_next_segment(mc);
  tg_mc_ref total = tg_row_end(mc, TG_ALU_add, w->partial, w->registers, w->lanes);
  tg_mc_ref before = tg_mc_load(mc, in + TG_STATE_SUM, false);
  tg_mc_store(mc, out + TG_STATE_SUM, false, tg_mc_alu(mc, TG_ALU_fma, before, change, total));
  return true;
}

/* Streams: what the result so far is multiplied by; `unroll` vectors of it, and of the product; and others. */
static tg_mc_ref added(const writer *w, tg_mc_ref change, int u) {
  tg_mc_ref so_far = tg_mc_load(w->mc, 1 + u, true);
  return tg_mc_alu(w->mc, TG_ALU_fma, so_far, change, tg_mc_load(w->mc, 1 + w->a->added + u, false));
}

static void write_addition(writer *w) {
  tg_mc_ref change = held(w->mc, 0);
  tg_mc_next_segment(w->mc);
  for (int u = 0; u < w->a->added; u++)
    tg_mc_store(w->mc, 1 + 2 * w->a->added + u, true, added(w, change, u));
}

static bool write_result(writer *w) {
  tg_mc *mc = w->mc;
  const tg_kernel *kernel = w->a->kernel;
  tg_value *root = tg_out(kernel->root);
  int sum = 1 + 2 * w->a->added, maximum = sum + 1 + w->a->added; /* streams */
  tg_mc_ref change = held(mc, 0), inverse = tg_mc_new(mc);
  (void)tg_mc_make_in(mc, inverse, tg_mc_reciprocal_normal(mc, tg_mc_load(mc, sum, false)));
  tg_mc_ref logsum = TG_MC_NONE;
  if (tg_blocked_has_logsum(w->a)) {
    tg_mc_ref log = tg_mc_log(mc, tg_mc_load(mc, sum, false), TG_MC_SINGLE);
    logsum = tg_mc_new(mc);
    tg_mc_assign(mc, logsum, TG_ALU_add, tg_mc_load(mc, maximum, false), log, TG_MC_NONE);
  }
  tg_mc_next_segment(mc);
  for (int u = 0; u < w->a->added; u++) {
    tg_mc_ref y = tg_mc_alu(mc, TG_ALU_mul, added(w, change, u), inverse, TG_MC_NONE);
    if (logsum != TG_MC_NONE && w->a->context.n % w->lanes) y = tg_mc_alu_imm(mc, TG_ALU_tail, y, logsum, u);
    y = tg_round_to(mc, root->dtype, y, !kernel->fused_count);
    if (kernel->fused_count) y = tg_emit_expression(mc, w->c, kernel, root, y, NULL, 0);
    if (y == TG_MC_NONE) return false;
    tg_mc_store(mc, sum + 1 + u, w->a->out_kind == TG_STREAM_FP32, y);
  }
  tg_mc_next_segment(mc);
  for (int i = 0; i < tg_blocked_vectors_behind(w->c->m, w->a); i++)
    tg_mc_store(mc, maximum + 1 + i, w->a->out_kind == TG_STREAM_FP32,
                tg_round_to(mc, root->dtype, logsum, false));
  return true;
}

bool tg_blocked_microcode(const tg_compile *c, const tg_blocked *a, tg_mc *mc) {
  int lanes = (int)tg_lanes(c->m);
  writer w = {.c = c,
              .a = a,
              .mc = mc,
              .scale = tg_attention_scale(a->kernel->scores),
              .lanes = lanes,
              .registers = TG_ROW_PARTIALS / lanes};
  if (tg_blocked_weights_stream(a) + a->unroll + TG_STATE_CHANGE + TG_STATE_ROWS > TG_STREAMS) return false;
  tg_mc_begin(mc, c->arena);
  if (!write_weights(&w)) return false;
  tg_mc_next_segment(mc);
  write_addition(&w);
  tg_mc_next_segment(mc);
  if (!write_result(&w)) return false;
  tg_mc_next_segment(mc);
  tg_mc_store(mc, 0, false, tg_mc_const(mc, -FLT_MAX));
  tg_mc_store(mc, 1, false, tg_mc_const(mc, 0.0f));
  tg_mc_store(mc, 2, true, tg_mc_const(mc, 0.0f));
  return true;
}

bool tg_blocked_set_microcode(const tg_compile *c, tg_blocked *a) {
  tg_mc mc;
  int behind = tg_blocked_vectors_behind(c->m, a);
  a->added = tg_blocked_width(c->m, a) / tg_lanes(c->m) % 2 || 3 + 3 * 2 + behind > TG_STREAMS ? 1 : 2;
  for (a->unroll = TG_ROW_PARTIALS / tg_lanes(c->m) > 1 ? 2 : 1; a->unroll > 0; a->unroll--)
    if (tg_blocked_microcode(c, a, &mc) && tg_mc_fits(&mc, c->m, a->words)) return true;
  return false;
}
