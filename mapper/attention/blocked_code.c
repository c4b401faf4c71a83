/* The microcode of attention by blocks. */
#include "mapper/attention/blocked.h"
#include "mapper/attention/parts.h"

#include <float.h>

enum { MOST_TOGETHER = 2, MOST_UNROLL = 2 }; /* rows, and vectors of each */

typedef struct writer {
  const tg_compile *c;
  const tg_blocked *a;
  tg_mc *mc;
  tg_mc_ref top[MOST_TOGETHER], before, partial[TG_ROW_PARTIALS * MOST_TOGETHER];
  tg_mc_ref below[MOST_TOGETHER]; /* the maximum with the other sign */
  tg_score_scale scale;
  int lanes, registers;
} writer;

static tg_mc_ref minus_infinity(tg_mc *mc) { return tg_mc_bits(mc, 0xff800000u); }

/* What the epilogue makes of a product, with operands as vector `v` of each iteration has them. */
static tg_mc_ref behind(const writer *w, tg_mc_ref y, int v) {
  const tg_blocked *a = w->a;
  const tg_kernel *kernel = a->kernel->scores;
  tg_operand_stream streams[TG_EPILOGUE_OPERANDS];
  for (int x = 0; x < a->operand_count; x++)
    streams[x] = (tg_operand_stream){.name = {.value = a->operand[x].value},
                                     .stream = (1 + x) * tg_blocked_vectors(a) + v,
                                     .scalar = a->operand_kind[x] == TG_STREAM_SPLAT32};
  if (!kernel->fused_count) return y;
  y = tg_emit_expression(w->mc, w->c, kernel, tg_out(kernel->root), y, streams, a->operand_count);
  return y == TG_MC_NONE ? y : tg_round_to(w->mc, kernel->output->dtype, y, false); /* no store does */
}

static tg_mc_ref loaded(const writer *w, int v) {
  const tg_blocked *a = w->a;
  if (!tg_blocked_multiplies(a)) return tg_mc_load(w->mc, v, a->operand_kind[0] == TG_STREAM_FP32);
  return tg_round_to(w->mc, tg_out(a->kernel->scores->root)->dtype, tg_mc_load(w->mc, v, false), false);
}

/* -infinity where there is no key. */
static tg_mc_ref of_keys(const writer *w, tg_mc_ref y, int v) {
  if (y == TG_MC_NONE || !tg_blocked_is_ragged(w->a)) return y;
  return tg_mc_alu_imm(w->mc, TG_ALU_tail, y, minus_infinity(w->mc), v);
}

/* A vector of scores, through their epilogue, or as it is loaded. */
static tg_mc_ref score(const writer *w, int v) {
  tg_mc_ref y = loaded(w, v);
  return of_keys(w, tg_blocked_multiplies(w->a) ? behind(w, y, v) : y, v);
}

static tg_mc_ref held(tg_mc *mc, int stream) {
  tg_mc_ref loaded = tg_mc_load(mc, stream, false), register_ = tg_mc_new(mc);
  tg_mc_assign(mc, register_, TG_ALU_mov, loaded, TG_MC_NONE, TG_MC_NONE);
  return register_;
}

/* ---- weights: of a row, or of two at once, of which numbers share a vector: each has half of the lanes, and what counts
 * is its first one. TAIL tells the halves apart. ---- */

/* What becomes of the lanes of a vector of each row, 2P/2, .., 2, 1 apart. */
static tg_mc_ref combined(const writer *w, tg_alu alu, const tg_mc_ref *x) {
  tg_mc *mc = w->mc;
  tg_mc_ref y = x[0], other = x[0];
  if (w->a->together > 1) {
    y = tg_mc_alu_imm(mc, TG_ALU_tail, x[0], x[1], 0);
    other = tg_mc_alu_imm(mc, TG_ALU_tail, x[1], x[0], 0);
  }
  for (int apart = w->lanes / 2; apart >= 1; apart /= 2, other = y)
    y = tg_mc_alu(mc, alu, y, tg_mc_alu_imm(mc, TG_ALU_rot, other, TG_MC_NONE, apart), TG_MC_NONE);
  return y;
}

/* The maximum of a row and those before, in every lane; returns what the rows share. */
static tg_mc_ref write_maximum(writer *w, int state) {
  tg_mc *mc = w->mc;
  const tg_blocked *a = w->a;
  bool unscaled = w->scale.keeps_order, pair = a->together > 1;
  w->before = tg_mc_new(mc);
  tg_mc_assign(mc, w->before, TG_ALU_mov, tg_mc_load(mc, state + TG_STATE_MAXIMUM, pair), TG_MC_NONE,
               TG_MC_NONE);
  for (int g = 0; g < a->together; g++) {
    w->top[g] = tg_mc_new(mc);
    tg_mc_assign(mc, w->top[g], TG_ALU_mov, unscaled || pair ? minus_infinity(mc) : w->before, TG_MC_NONE,
                 TG_MC_NONE);
  }
  for (int i = 0; i < w->registers * a->together; i++) w->partial[i] = tg_mc_new(mc);
  tg_row_begin(mc, w->partial, w->registers * a->together, tg_mc_const(mc, 0.0f));
  tg_mc_next_segment(mc);
  for (int v = 0; v < tg_blocked_vectors(a); v++) {
    tg_mc_ref x = unscaled ? of_keys(w, loaded(w, v), v) : score(w, v), top = w->top[v / a->unroll];
    if (x == TG_MC_NONE) return TG_MC_NONE;
    tg_mc_assign(mc, top, TG_ALU_max, top, x, TG_MC_NONE);
  }
  tg_mc_next_segment(mc);
  tg_mc_ref top = combined(w, TG_ALU_max, w->top);
  if (unscaled) top = behind(w, top, 0);
  if (unscaled || pair) top = tg_mc_alu(mc, TG_ALU_max, w->before, top, TG_MC_NONE);
  if (!pair) {
    (void)tg_mc_make_in(mc, w->top[0], top);
    return w->top[0];
  }
  for (int g = 0; g < a->together; g++)
    tg_mc_assign_imm(mc, w->top[g], TG_ALU_bcast, top, TG_MC_NONE, g * w->lanes / a->together);
  return top;
}

/* The partial sums of a row, and those of the weights `e` that are to be added. */
static void add_weights(const writer *w, const tg_mc_ref *partial, const tg_mc_ref *e) {
  tg_mc *mc = w->mc;
  int unroll = w->a->unroll, kept = w->registers - unroll;
  tg_mc_ref sum[MOST_UNROLL];
  if (!kept) {
    for (int u = 0; u < unroll; u++) tg_mc_assign(mc, partial[u], TG_ALU_add, partial[u], e[u], TG_MC_NONE);
    return;
  }
  for (int u = 0; u < unroll; u++) sum[u] = tg_mc_alu(mc, TG_ALU_add, partial[u], e[u], TG_MC_NONE);
  for (int i = 0; i < kept; i++)
    tg_mc_assign(mc, partial[i], TG_ALU_mov, partial[i + unroll], TG_MC_NONE, TG_MC_NONE);
  for (int u = 0; u < unroll; u++)
    tg_mc_assign(mc, partial[kept + u], TG_ALU_mov, sum[u], TG_MC_NONE, TG_MC_NONE);
}

/* Weights of a block, and their sum before they are rounded, of as many partial sums as a row has. */
static void write_exps(writer *w) {
  tg_mc *mc = w->mc;
  const tg_blocked *a = w->a;
  bool narrow = a->weights == TG_BF16 || a->weights == TG_F16;
  float factor = w->scale.exact;
  int stream = tg_blocked_weights_stream(a);
  for (int g = 0; g < a->together; g++) {
    tg_mc_ref e[MOST_UNROLL];
    for (int u = 0; u < a->unroll; u++) {
      int v = g * a->unroll + u;
      tg_mc_ref x = factor > 0 ? tg_mc_alu(mc, TG_ALU_fma, of_keys(w, loaded(w, v), v),
                                           tg_mc_const(mc, factor), w->below[g])
                               : tg_mc_alu(mc, TG_ALU_sub, score(w, v), w->top[g], TG_MC_NONE);
      e[u] = tg_mc_exp_below_one(mc, x, narrow ? TG_MC_NARROW : TG_MC_SINGLE);
      tg_mc_store(mc, stream + v, !narrow, tg_round_to(mc, a->weights, e[u], true));
    }
    add_weights(w, w->partial + g * w->registers, e);
  }
}

static bool write_weights(writer *w) {
  tg_mc *mc = w->mc;
  const tg_blocked *a = w->a;
  bool pair = a->together > 1;
  int in = tg_blocked_weights_stream(a) + tg_blocked_vectors(a), out = in + TG_STATE_CHANGE;
  tg_mc_ref top = write_maximum(w, in);
  if (top == TG_MC_NONE) return false;
  tg_mc_ref below = tg_mc_alu(mc, TG_ALU_sub, w->before, top, TG_MC_NONE), change = tg_mc_new(mc);
  (void)tg_mc_make_in(mc, change, tg_mc_exp_below_one(mc, below, TG_MC_SINGLE));
  tg_mc_store(mc, out + TG_STATE_MAXIMUM, pair, top);
  tg_mc_store(mc, out + TG_STATE_CHANGE, pair, change);
  for (int g = 0; g < a->together && w->scale.exact > 0; g++) {
    w->below[g] = tg_mc_new(mc);
    tg_mc_assign(mc, w->below[g], TG_ALU_xor, w->top[g], tg_mc_bits(mc, 0x80000000u), TG_MC_NONE);
  }
  tg_mc_next_segment(mc);
  write_exps(w);
  tg_mc_next_segment(mc);
  tg_mc_ref total[MOST_TOGETHER];
  for (int g = 0; g < a->together; g++)
    total[g] = tg_row_end(mc, TG_ALU_add, w->partial + g * w->registers, w->registers, 1);
  tg_mc_ref before = tg_mc_load(mc, in + TG_STATE_SUM, pair);
  tg_mc_store(mc, out + TG_STATE_SUM, pair,
              tg_mc_alu(mc, TG_ALU_fma, before, change, combined(w, TG_ALU_add, total)));
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
    y = tg_emit_epilogue(mc, w->c, kernel, kernel->root, y);
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
  if (tg_blocked_weights_stream(a) + tg_blocked_vectors(a) + TG_STATE_CHANGE + TG_STATE_ROWS > TG_STREAMS)
    return false;
  tg_mc_begin(mc, c->arena);
  if (!write_weights(&w)) return false;
  tg_mc_next_segment(mc);
  write_addition(&w);
  tg_mc_next_segment(mc);
  if (!write_result(&w)) return false;
  tg_mc_next_segment(mc);
  tg_mc_store(mc, 0, true, tg_mc_const(mc, -FLT_MAX));
  tg_mc_store(mc, 1, true, tg_mc_const(mc, 0.0f));
  tg_mc_store(mc, 2, true, tg_mc_const(mc, 0.0f));
  return true;
}

bool tg_blocked_set_microcode(const tg_compile *c, tg_blocked *a) {
  tg_mc mc;
  int behind = tg_blocked_vectors_behind(c->m, a);
  a->added = tg_blocked_width(c->m, a) / tg_lanes(c->m) % 2 || 3 + 3 * 2 + behind > TG_STREAMS ? 1 : 2;
  for (a->unroll = TG_ROW_PARTIALS / tg_lanes(c->m) > 1 ? MOST_UNROLL : 1; a->unroll > 0; a->unroll--)
    if (tg_blocked_microcode(c, a, &mc) && tg_mc_fits(&mc, c->m, a->words)) return true;
  return false;
}
