/* Microcode of depthwise convolutions. */
#include "mapper/expression/expression.h"
#include "mapper/vector/depthwise.h"

tg_value *tg_depthwise_source(const tg_kernel *kernel, int i) {
  return i == TG_DEPTHWISE_BIAS ? tg_in(kernel->root, i) : kernel->operands[i].source;
}

tg_mc_ref tg_depthwise_rounded(tg_mc *mc, const tg_kernel *kernel, int i, tg_mc_ref value) {
  const tg_value *source = tg_depthwise_source(kernel, i), *operand = tg_in(kernel->root, i);
  return source->dtype == operand->dtype ? value : tg_round_to(mc, operand->dtype, value, false);
}

tg_mc_ref tg_depthwise_load(tg_mc *mc, const tg_kernel *kernel, int i, int stream) {
  bool wide = tg_stream_kind(tg_depthwise_source(kernel, i)) == TG_STREAM_FP32;
  return tg_depthwise_rounded(mc, kernel, i, tg_mc_load(mc, stream, wide));
}

void tg_depthwise_end(const tg_depthwise *d, const tg_line_kernel *lines, tg_mc *mc, tg_mc_ref y,
                      tg_mc_ref bias, int stream) {
  if (lines->bias) y = tg_mc_alu(mc, TG_ALU_add, y, bias, TG_MC_NONE);
  y = tg_emit_epilogue(mc, d->c, d->kernel, d->kernel->root, y);
  if (y == TG_MC_NONE)
    mc->overflow = true;
  else
    tg_mc_store(mc, stream, lines->result_kind == TG_STREAM_FP32, y);
}

typedef struct chains {
  const tg_kernel *kernel;
  tg_mc *mc;
  tg_mc_ref sums[TG_STREAMS], weights[TG_STREAMS], x;
  int first_weights, loaded; /* streams */
} chains;

static void take(void *user, int stream, uint32_t u, uint32_t q) {
  chains *s = user;
  if (stream != s->loaded) s->x = tg_depthwise_load(s->mc, s->kernel, TG_DEPTHWISE_IMAGE, stream);
  s->loaded = stream;
  if (s->weights[q] == TG_MC_NONE)
    s->weights[q] = tg_depthwise_load(s->mc, s->kernel, TG_DEPTHWISE_WEIGHTS, s->first_weights + (int)q);
  tg_mc_assign(s->mc, s->sums[u], TG_ALU_fma, s->x, s->weights[q], s->sums[u]);
}

void tg_depthwise_write(const void *user, const tg_line_kernel *lines, const tg_line_tiling *t, tg_mc *mc) {
  const tg_depthwise *d = user;
  chains s = {.kernel = d->kernel,
              .mc = mc,
              .x = TG_MC_NONE,
              .first_weights = tg_line_weights_stream(lines, t, 0),
              .loaded = -1};
  tg_mc_begin(mc, d->c->arena);
  for (int i = 0; i < TG_STREAMS; i++) s.weights[i] = TG_MC_NONE;
  for (uint32_t u = 0; u < t->unroll; u++) {
    s.sums[u] = tg_mc_new(mc);
    tg_mc_assign(mc, s.sums[u], TG_ALU_mov, tg_mc_const(mc, 0.0f), TG_MC_NONE, TG_MC_NONE);
  }
  tg_mc_next_segment(mc);
  tg_line_each_tap(lines, t, take, &s);
  tg_mc_next_segment(mc);
  tg_mc_ref bias = lines->bias
                       ? tg_depthwise_load(mc, s.kernel, TG_DEPTHWISE_BIAS, tg_line_bias_stream(lines, t))
                       : TG_MC_NONE;
  for (uint32_t u = 0; u < t->unroll; u++) {
    tg_mc_ref y = s.sums[u];
    if (lines->rounds) y = tg_mc_alu_imm(mc, TG_ALU_rndsr, y, TG_MC_NONE, (int)u);
    tg_depthwise_end(d, lines, mc, y, bias, tg_line_result_stream(lines, t, u));
  }
}
