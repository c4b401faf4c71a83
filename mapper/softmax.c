/* Softmax over the last dimension, exp(x - maximum) / sum, and its logarithm. Each exp is computed once: one
 * VOP finds the maximum, leaves the exps in the scratchpad and adds them up, a second one divides them. Where
 * they find no room, one VOP computes them twice, with the same bits.
 *
 * What fills a row up to a multiple of 32 is loaded as -infinity: the maximum does not see it, and its exp is
 * +0, which changes no sum. */
#include "mapper/expression.h"
#include "mapper/functions.h"
#include "mapper/rows.h"
#include "mapper/stream.h"

typedef struct softmax {
  const tg_compile *c;
  const tg_kernel *kernel;
  tg_stream_kernel plan;
  tg_mc *mc;
  tg_mc_accuracy accuracy;
  int lanes, registers;
  tg_mc_ref top, partial[TG_ROW_PARTIALS];
} softmax;

/* -infinity as a stream of this kind has it. */
static uint32_t lowest(int kind) {
  return kind == TG_STREAM_FP32 ? 0xff800000u : kind == TG_STREAM_BF16 ? 0xff80u : 0xfc00u;
}

static tg_mc_ref load(const softmax *s, int stream) {
  return tg_mc_load(s->mc, stream, s->plan.input_kind[0] == TG_STREAM_FP32);
}

static tg_mc_ref exp_of(const softmax *s, int stream) {
  return tg_mc_exp_below_one(s->mc, tg_mc_alu(s->mc, TG_ALU_sub, load(s, stream), s->top, TG_MC_NONE),
                             s->accuracy);
}

/* The maximum of a row, in every lane. */
static void emit_maximum(softmax *s, int unroll) {
  tg_mc *mc = s->mc;
  s->top = tg_mc_new(mc);
  tg_mc_assign(mc, s->top, TG_ALU_mov, tg_mc_bits(mc, 0xff800000u), TG_MC_NONE, TG_MC_NONE);
  for (int i = 0; i < s->registers; i++) s->partial[i] = tg_mc_new(mc);
  tg_row_begin(mc, s->partial, s->registers, tg_mc_const(mc, 0.0f));
  tg_mc_next_segment(mc);
  for (int u = 0; u < unroll; u++) tg_mc_assign(mc, s->top, TG_ALU_max, s->top, load(s, u), TG_MC_NONE);
  tg_mc_next_segment(mc);
  for (int apart = s->lanes / 2; apart >= 1; apart /= 2)
    tg_mc_assign(mc, s->top, TG_ALU_max, s->top, tg_mc_alu_imm(mc, TG_ALU_rot, s->top, TG_MC_NONE, apart),
                 TG_MC_NONE);
}

/* `unroll` vectors into the partial sums, of which the oldest take them; their exps are kept. */
static void emit_sums(softmax *s, int unroll) {
  tg_mc *mc = s->mc;
  tg_mc_ref sum[2];
  tg_mc_next_segment(mc);
  for (int u = 0; u < unroll; u++) {
    tg_mc_ref e = exp_of(s, u);
    if (s->plan.first_segments) tg_mc_store(mc, unroll + u, true, e);
    if (unroll == s->registers)
      tg_mc_assign(mc, s->partial[u], TG_ALU_add, s->partial[u], e, TG_MC_NONE);
    else
      sum[u] = tg_mc_alu(mc, TG_ALU_add, s->partial[u], e, TG_MC_NONE);
  }
  if (unroll == s->registers) return;
  for (int i = 0; i + unroll < s->registers; i++)
    tg_mc_assign(mc, s->partial[i], TG_ALU_mov, s->partial[i + unroll], TG_MC_NONE, TG_MC_NONE);
  for (int u = 0; u < unroll; u++)
    tg_mc_assign(mc, s->partial[s->registers - unroll + u], TG_ALU_mov, sum[u], TG_MC_NONE, TG_MC_NONE);
}

static tg_mc_ref emit_total(softmax *s) {
  tg_mc_next_segment(s->mc);
  return tg_row_end(s->mc, TG_ALU_add, s->partial, s->registers, s->lanes);
}

/* Stores a result, through the fused nodes. */
static bool emit_result(const softmax *s, tg_mc_ref y, int stream) {
  tg_value *root = tg_out(s->kernel->root);
  y = tg_round_to(s->mc, root->dtype, y, !s->kernel->fused_count);
  if (s->kernel->fused_count) y = tg_emit_expression(s->mc, s->c, s->kernel, root, y, NULL, 0);
  if (y == TG_MC_NONE) return false;
  tg_mc_store(s->mc, stream, s->plan.output_kind == TG_STREAM_FP32, y);
  return true;
}

/* Two VOPs of which every other segment repeats. */
static bool emit_once(softmax *s) {
  tg_mc *mc = s->mc;
  emit_maximum(s, s->plan.first_unroll);
  emit_sums(s, s->plan.first_unroll);
  tg_mc_store(mc, 2 * s->plan.first_unroll, true, tg_mc_reciprocal_normal(mc, emit_total(s)));
  tg_mc_next_segment(mc);
  tg_mc_ref inverse = tg_mc_new(mc), loaded = tg_mc_load(mc, 2 * s->plan.unroll, true);
  tg_mc_assign(mc, inverse, TG_ALU_mov, loaded, TG_MC_NONE, TG_MC_NONE);
  tg_mc_next_segment(mc);
  for (int u = 0; u < s->plan.unroll; u++)
    if (!emit_result(s, tg_mc_alu(mc, TG_ALU_mul, tg_mc_load(mc, u, true), inverse, TG_MC_NONE),
                     s->plan.unroll + u))
      return false;
  return true;
}

/* One VOP, likewise. */
static bool emit_twice(softmax *s) {
  emit_maximum(s, 1);
  emit_sums(s, 1);
  tg_mc_ref inverse = tg_mc_reciprocal_normal(s->mc, emit_total(s));
  tg_mc_next_segment(s->mc);
  return emit_result(s, tg_mc_alu(s->mc, TG_ALU_mul, exp_of(s, 0), inverse, TG_MC_NONE), 1);
}

/* The logarithm is x - maximum - log(sum). */
static bool emit_logarithm(softmax *s) {
  emit_maximum(s, 1);
  emit_sums(s, 1);
  tg_mc_ref total = tg_mc_log(s->mc, emit_total(s), s->accuracy);
  tg_mc_next_segment(s->mc);
  tg_mc_ref below = tg_mc_alu(s->mc, TG_ALU_sub, load(s, 0), s->top, TG_MC_NONE);
  return emit_result(s, tg_mc_alu(s->mc, TG_ALU_sub, below, total, TG_MC_NONE), 1);
}

static tg_stream_kernel plan_of(const tg_compile *c, const tg_kernel *kernel, int64_t columns) {
  const tg_value *in = tg_in(kernel->root, 0);
  tg_stream_kernel plan = {
      .inputs = 1,
      .window = {1},
      .input_kind = {tg_stream_kind(in)},
      .output_kind = tg_result_kind(kernel->output),
      .whole_rows = true,
      .column_blocks = 1,
      .rows = tg_value_elements(in) / columns,
      .take = (uint32_t)((columns + TG_ROW_PARTIALS - 1) / TG_ROW_PARTIALS * TG_ROW_PARTIALS)};
  plan.input[0] = (tg_walk_plan){.tensor = tg_place_of(c, in),
                                 .radix = {1, 1, plan.rows},
                                 .stride = {0, 0, columns},
                                 .element_stride = 1,
                                 .columns = columns};
  plan.output = plan.input[0];
  plan.output.tensor = tg_place_of(c, kernel->output);
  plan.input[0].fill = lowest(plan.input_kind[0]);
  return plan;
}

tg_status tg_emit_softmax(tg_compile *c, const tg_kernel *kernel) {
  const tg_value *in = tg_in(kernel->root, 0);
  int64_t columns = in->rank ? in->dims[in->rank - 1].size : 1;
  if (columns > 1 << 20)
    return tg_fail(c->diag, TG_INVALID,
                   "node \"%s\": a softmax row of %lld elements does not fit on the array",
                   kernel->root->name, (long long)columns);
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  softmax s = {.c = c,
               .kernel = kernel,
               .plan = plan_of(c, kernel, columns),
               .mc = &mc,
               .accuracy = tg_out(kernel->root)->dtype == TG_F32 ? TG_MC_SINGLE : TG_MC_NARROW,
               .lanes = (int)tg_lanes(c->m)};
  s.registers = TG_ROW_PARTIALS / s.lanes;
  tg_stream_kernel once = s.plan;
  once.first_segments = 5;
  once.first_repeat = 1 << 1 | 1 << 3;
  once.first_unroll = s.registers > 1 ? 2 : 1;
  /* fused nodes would be written twice, and random numbers know one stream */
  once.unroll = kernel->fused_count || once.output_kind == TG_STREAM_BF16SR ? 1 : once.first_unroll;
  bool logarithmic = kernel->root->op == TG_OP_LOG_SOFTMAX,
       two = !logarithmic && tg_stream_kernel_fits(c, &once);
  if (two) s.plan = once;
  if (!(logarithmic ? emit_logarithm : two ? emit_once : emit_twice)(&s)) return TG_INVALID;
  return tg_emit_stream_kernel(c, kernel, &s.plan, &mc, two ? 1 << 1 : 1 << 1 | 1 << 3 | 1 << 5);
}
