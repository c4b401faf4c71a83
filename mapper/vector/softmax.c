/* Softmax over the last dimension, exp(x - maximum) / sum, and its logarithm. Where the exps find no
 * room in the scratchpad, one VOP computes them twice, with the same bits. What fills a row up to a multiple
 * of 32 is loaded as -infinity. */
#include "mapper/vector/softmax.h"
#include "frontend/base/math.h"

#include "mapper/kernel/class.h"
#include "mapper/stream/stream.h"
#include "mapper/vector/vector.h"

void tg_softmax_begin(tg_softmax *s, const tg_compile *c, const tg_kernel *kernel, tg_mc *mc) {
  s->c = c;
  s->kernel = kernel;
  s->mc = mc;
  s->accuracy = tg_out(kernel->root)->dtype == TG_F32 ? TG_MC_SINGLE : TG_MC_NARROW;
  s->lanes = (int)tg_lanes(c->m);
  s->registers = TG_ROW_PARTIALS / s->lanes;
}

int tg_softmax_first_unroll(const tg_softmax *s) { return s->registers > 1 ? 2 : 1; }

/* Fused nodes would be written twice, and random numbers know one stream. */
int tg_softmax_unroll(const tg_softmax *s) {
  bool once = s->kernel->fused_count || tg_result_kind(s->kernel->output) == TG_STREAM_BF16SR;
  return once ? 1 : tg_softmax_first_unroll(s);
}

static bool multiplies(const tg_softmax *s) { return s->plain && s->factor > 0; }

static tg_mc_ref exp_of(const tg_softmax *s, int u) {
  tg_mc *mc = s->mc;
  tg_mc_ref x = multiplies(s) ? tg_mc_alu(mc, TG_ALU_fma, s->plain(s->user, mc, u),
                                          tg_mc_const(mc, s->factor), s->below)
                              : tg_mc_alu(mc, TG_ALU_sub, s->element(s->user, mc, u), s->top, TG_MC_NONE);
  return tg_mc_exp_below_one(mc, x, s->accuracy);
}

/* Maximum, sums and total are a segment each, the first two begin with one that runs once. The maximum of a row into every
 * lane of s->top. */
static void write_maximum(tg_softmax *s, int unroll) {
  tg_mc *mc = s->mc;
  s->top = tg_mc_new(mc);
  tg_mc_assign(mc, s->top, TG_ALU_mov, tg_mc_bits(mc, 0xff800000u), TG_MC_NONE, TG_MC_NONE);
  for (int i = 0; i < s->registers; i++) s->partial[i] = tg_mc_new(mc);
  tg_row_begin(mc, s->partial, s->registers, tg_mc_const(mc, 0.0f));
  tg_mc_next_segment(mc);
  for (int u = 0; u < unroll; u++)
    tg_mc_assign(mc, s->top, TG_ALU_max, s->top, (s->plain ? s->plain : s->element)(s->user, mc, u),
                 TG_MC_NONE);
  tg_mc_next_segment(mc);
  for (int apart = s->lanes / 2; apart >= 1; apart /= 2)
    tg_mc_assign(mc, s->top, TG_ALU_max, s->top, tg_mc_alu_imm(mc, TG_ALU_rot, s->top, TG_MC_NONE, apart),
                 TG_MC_NONE);
  if (!s->plain) return;
  tg_mc_assign(mc, s->top, TG_ALU_mov, s->step(s->user, mc, s->top), TG_MC_NONE, TG_MC_NONE);
  if (!multiplies(s)) return;
  s->below = tg_mc_new(mc);
  tg_mc_assign(mc, s->below, TG_ALU_xor, s->top, tg_mc_bits(mc, 0x80000000u), TG_MC_NONE);
}

/* The exps of all vectors into the partial sums, of which the oldest take the vectors, and, if `kept` is not negative,
 * into the streams from there on. */
static void write_sums(tg_softmax *s, int unroll, int kept) {
  tg_mc *mc = s->mc;
  tg_mc_ref sum[2];
  tg_mc_next_segment(mc);
  for (int u = 0; u < unroll; u++) {
    tg_mc_ref e = exp_of(s, u);
    if (kept >= 0) tg_mc_store(mc, kept + u, true, e);
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

/* The sum in every lane. */
static tg_mc_ref total_of(tg_softmax *s) {
  tg_mc_next_segment(s->mc);
  return tg_row_end(s->mc, TG_ALU_add, s->partial, s->registers, s->lanes);
}

/* Stores a result of the Softmax, through the fused nodes; rounded to `dtype`, if the stream does not hold what the kernel
 * makes. False with a diag if a node has no microcode. */
static bool store_result(const tg_softmax *s, tg_mc_ref y, tg_dtype dtype, int stream) {
  y = tg_emit_epilogue(s->mc, s->c, s->kernel, s->kernel->root, y);
  if (y == TG_MC_NONE) return false;
  if (dtype != s->kernel->output->dtype) y = tg_round_to(s->mc, dtype, y, true);
  tg_mc_store(s->mc, stream, dtype != TG_BF16 && dtype != TG_F16, y);
  return true;
}

bool tg_softmax_once(tg_softmax *s, int unroll, int kept, int own_unroll, tg_dtype dtype) {
  tg_mc *mc = s->mc;
  write_maximum(s, unroll);
  write_sums(s, unroll, kept);
  tg_mc_store(mc, kept + unroll, true, tg_mc_reciprocal_normal(mc, total_of(s)));
  tg_mc_next_segment(mc);
  tg_mc_ref inverse = tg_mc_new(mc), loaded = tg_mc_load(mc, 2 * own_unroll, true);
  tg_mc_assign(mc, inverse, TG_ALU_mov, loaded, TG_MC_NONE, TG_MC_NONE);
  tg_mc_next_segment(mc);
  for (int u = 0; u < own_unroll; u++) {
    tg_mc_ref y = tg_mc_alu(mc, TG_ALU_mul, tg_mc_load(mc, u, true), inverse, TG_MC_NONE);
    if (!store_result(s, y, dtype, own_unroll + u)) return false;
  }
  return true;
}

/* ---- rows from DRAM ---- */

/* -infinity as a stream of this kind has it. */
static uint32_t lowest(int kind) {
  return kind == TG_STREAM_FP32 ? 0xff800000u : kind == TG_STREAM_BF16 ? 0xff80u : 0xfc00u;
}

static tg_mc_ref load(const void *user, tg_mc *mc, int stream) {
  const tg_stream_kernel *plan = user;
  return tg_mc_load(mc, stream, plan->input_kind[0] == TG_STREAM_FP32);
}

/* One VOP of which every other segment repeats. */
static bool emit_twice(tg_softmax *s) {
  write_maximum(s, 1);
  write_sums(s, 1, -1);
  tg_mc_ref inverse = tg_mc_reciprocal_normal(s->mc, total_of(s));
  tg_mc_next_segment(s->mc);
  tg_mc_ref y = tg_mc_alu(s->mc, TG_ALU_mul, exp_of(s, 0), inverse, TG_MC_NONE);
  return store_result(s, y, s->kernel->output->dtype, 1);
}

/* The logarithm is x - maximum - log(sum). */
static bool emit_logarithm(tg_softmax *s) {
  write_maximum(s, 1);
  write_sums(s, 1, -1);
  tg_mc_ref total = tg_mc_log(s->mc, total_of(s), s->accuracy);
  tg_mc_next_segment(s->mc);
  tg_mc_ref below = tg_mc_alu(s->mc, TG_ALU_sub, load(s->user, s->mc, 0), s->top, TG_MC_NONE);
  return store_result(s, tg_mc_alu(s->mc, TG_ALU_sub, below, total, TG_MC_NONE), s->kernel->output->dtype, 1);
}

static tg_stream_kernel plan_of(const tg_compile *c, const tg_kernel *kernel, int64_t columns) {
  const tg_value *in = tg_in(kernel->root, 0);
  tg_stream_kernel plan = {.inputs = 1,
                           .window = {1},
                           .input_kind = {tg_stream_kind(in)},
                           .output_kind = tg_result_kind(kernel->output),
                           .whole_rows = true,
                           .column_blocks = 1,
                           .rows = tg_value_elements(in) / columns,
                           .take = (uint32_t)tg_round_up(columns, TG_ROW_PARTIALS)};
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

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  const tg_value *in = tg_in(kernel->root, 0);
  int64_t columns = in->rank ? in->dims[in->rank - 1].size : 1;
  if (columns > TG_ROW_ELEMENTS)
    return tg_fail(
        c->diag, TG_INVALID,
        "node \"%s\": a softmax row of %lld elements does not fit on the array, which has at most %d",
        kernel->root->name, (long long)columns, TG_ROW_ELEMENTS);
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  tg_stream_kernel plan = plan_of(c, kernel, columns), once = plan;
  tg_softmax s = {.element = load, .user = &plan};
  tg_softmax_begin(&s, c, kernel, &mc);
  once.first_segments = TG_SOFTMAX_FIRST_SEGMENTS;
  once.first_repeat = TG_SOFTMAX_FIRST_REPEAT;
  once.first_unroll = tg_softmax_first_unroll(&s);
  once.unroll = tg_softmax_unroll(&s);
  if (kernel->root->op == TG_OP_LOG_SOFTMAX || !tg_stream_kernel_fits(c, &once)) {
    if (!(kernel->root->op == TG_OP_LOG_SOFTMAX ? emit_logarithm : emit_twice)(&s)) return TG_INVALID;
    return tg_emit_stream_kernel(c, kernel, &plan, &mc, 1 << 1 | 1 << 3 | 1 << 5);
  }
  int unroll = once.first_unroll;
  if (!tg_softmax_once(&s, unroll, unroll, once.unroll, kernel->output->dtype)) return TG_INVALID;
  return tg_emit_stream_kernel(c, kernel, &once, &mc, TG_SOFTMAX_REPEAT);
}

enum { LOGARITHM_CONSTANTS = 24 }; /* that the microcode of a LogSoftmax may need */

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_SOFTMAX || node->op == TG_OP_LOG_SOFTMAX;
}

static bool takes(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting) {
  int constants = kernel->root->op == TG_OP_LOG_SOFTMAX ? LOGARITHM_CONSTANTS : TG_ROOT_CONSTANTS;
  return tg_has_room(c, kernel, node, waiting, constants, tg_mc_exp_table());
}

const tg_kernel_class tg_softmax_class = {
    .name = "softmax",
    .accepts = accepts,
    .takes = takes,
    .emit = emit,
};
