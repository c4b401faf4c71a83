/* Layer normalisation: three passes over a row that stays in the scratchpad. The mean, then the mean of
 * squared distances from it, then the result: no difference of large sums
 * (docs/decisions/010-two-pass-variance.md). */
#include "frontend/base/math.h"
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/microcode/functions.h"
#include "mapper/microcode/row_sums.h"
#include "mapper/stream/stream.h"
#include "mapper/vector/vector.h"

static tg_walk_plan rows_of(const tg_compile *c, const tg_value *value, int64_t rows, int64_t columns) {
  return (tg_walk_plan){.tensor = tg_place_of(c, value),
                        .radix = {1, 1, rows},
                        .stride = {0, 0, columns},
                        .element_stride = 1,
                        .columns = columns};
}

static void add_vector(const tg_compile *c, tg_stream_kernel *plan, const tg_value *value, int64_t columns) {
  plan->vector[plan->vectors] = rows_of(c, value, 1, columns);
  plan->vector_kind[plan->vectors++] = tg_stream_kind(value);
}

typedef struct normalization {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_stream_kernel plan;
  tg_mc mc;
} normalization;

static int unroll_of(const normalization *n) { return n->plan.unroll ? n->plan.unroll : 1; }

static tg_mc_ref load_source(normalization *n, int source, int u) {
  int kind = source ? n->plan.vector_kind[source - 1] : n->plan.input_kind[0];
  return tg_mc_load(&n->mc, tg_source_stream(&n->plan, source, u), kind == TG_STREAM_FP32);
}

/* Vector u of the row, from its distance to the mean on. */
static bool finish_vector(normalization *n, int u, tg_mc_ref mean, tg_mc_ref inverse) {
  tg_mc *mc = &n->mc;
  tg_mc_ref y = tg_mc_alu(mc, TG_ALU_sub, load_source(n, 0, u), mean, TG_MC_NONE);
  y = tg_mc_alu(mc, TG_ALU_mul, y, inverse, TG_MC_NONE);
  tg_mc_ref scale = load_source(n, 1, u);
  y = n->plan.vectors == 1 ? tg_mc_alu(mc, TG_ALU_mul, y, scale, TG_MC_NONE)
                           : tg_mc_alu(mc, TG_ALU_fma, y, scale, load_source(n, 2, u));
  y = tg_emit_epilogue(mc, n->c, n->kernel, n->kernel->root, y);
  if (y == TG_MC_NONE) return false;
  tg_mc_store(mc, tg_result_stream(&n->plan, 0, u), n->plan.output_kind == TG_STREAM_FP32, y);
  return true;
}

/* The microcode, in segments of which every other one repeats over the vectors of the row. */
static bool normalise(normalization *n, float epsilon) {
  tg_mc *mc = &n->mc;
  tg_mc_begin(mc, n->c->arena);
  int lanes = (int)tg_lanes(n->c->m), unroll = unroll_of(n);
  tg_row_sums s = {.mc = mc,
                   .alu = TG_ALU_add,
                   .registers = TG_ROW_PARTIALS / lanes,
                   .unroll = unroll,
                   .ragged = n->plan.tail_n % TG_ROW_PARTIALS};
  tg_mc_ref zero = tg_mc_const(mc, 0.0f), share = tg_mc_const(mc, 1.0f / (float)n->plan.tail_n),
            mean = tg_mc_new(mc), inverse = tg_mc_new(mc);
  tg_row_sums_begin(&s, zero);

  tg_mc_next_segment(mc);
  for (int u = 0; u < unroll; u++)
    tg_row_sums_add(&s, u, TG_ALU_add, s.partial[u], load_source(n, 0, u), TG_MC_NONE);

  tg_mc_next_segment(mc);
  tg_mc_assign(mc, mean, TG_ALU_mul, tg_row_sums_end(&s, lanes), share, TG_MC_NONE);
  tg_row_begin(mc, s.partial, s.registers, zero);

  tg_mc_next_segment(mc);
  for (int u = 0; u < unroll; u++) {
    tg_mc_ref distance = tg_mc_alu(mc, TG_ALU_sub, load_source(n, 0, u), mean, TG_MC_NONE);
    tg_row_sums_add(&s, u, TG_ALU_fma, distance, distance, s.partial[u]);
  }

  tg_mc_next_segment(mc);
  tg_mc_ref variance = tg_mc_alu(mc, TG_ALU_fma, tg_row_sums_end(&s, lanes), share, tg_mc_const(mc, epsilon));
  tg_mc_assign(mc, inverse, TG_ALU_mov, tg_mc_rsqrt(mc, variance, TG_MC_SINGLE), TG_MC_NONE, TG_MC_NONE);

  tg_mc_next_segment(mc);
  for (int u = 0; u < unroll; u++)
    if (!finish_vector(n, u, mean, inverse)) return false;
  return true;
}

/* Several vectors an iteration if there are streams for them, and if the code, which fused nodes are written
 * into as often, fits. Random numbers know one stream of results. */
static bool write_code(normalization *n, float epsilon) {
  int registers = TG_ROW_PARTIALS / (int)tg_lanes(n->c->m);
  bool several = registers > 1 && registers * (n->plan.inputs + n->plan.vectors + 1) <= TG_STREAMS &&
                 !tg_stochastic_store(n->kernel);
  if (several) {
    n->plan.unroll = registers;
    n->plan.unrolled_result = true;
    if (!normalise(n, epsilon)) return false;
    if (tg_mc_fits(&n->mc, n->c->m, NULL)) return true;
    n->plan.unroll = 0;
    n->plan.unrolled_result = false;
  }
  return normalise(n, epsilon);
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  tg_value *in = tg_in(node, 0), *out = kernel->output;
  int64_t columns = in->dims[in->rank - 1].size;
  if (columns > TG_ROW_ELEMENTS)
    return tg_fail(c->diag, TG_INVALID,
                   "node \"%s\": a row of %lld elements does not fit on the array, which has at most %d",
                   node->name, (long long)columns, TG_ROW_ELEMENTS);
  normalization n = {.c = c,
                     .kernel = kernel,
                     .plan = {.inputs = 1,
                              .window = {1},
                              .input_kind = {tg_stream_kind(in)},
                              .output_kind = tg_result_kind(kernel->output),
                              .whole_rows = true,
                              .column_blocks = 1,
                              .rows = tg_value_elements(in) / columns,
                              .take = (uint32_t)tg_round_up(columns, TG_ROW_PARTIALS),
                              .tail_n = (uint32_t)columns}};
  n.plan.input[0] = rows_of(c, in, n.plan.rows, columns);
  n.plan.output = rows_of(c, out, n.plan.rows, columns);
  add_vector(c, &n.plan, tg_in(node, 1), columns);
  if (tg_in(node, 2)) add_vector(c, &n.plan, tg_in(node, 2), columns);
  if (!write_code(&n, (float)tg_attr_float(node, TG_ATTR_EPSILON))) return TG_INVALID;
  return tg_emit_stream_kernel(c, kernel, &n.plan, &n.mc, 1 << 1 | 1 << 3 | 1 << 5);
}

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_LAYER_NORMALIZATION;
}

const tg_kernel_class tg_normalization_class = {
    .name = "normalization",
    .accepts = accepts,
    .takes = tg_takes_fused,
    .emit = emit,
};
