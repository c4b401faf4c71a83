/* Elementwise kernels: nodes of one shape in one pass over memory. Operands that are one scalar, or one row
 * for all rows, are loaded once. */
#include "frontend/base/math.h"
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/microcode/functions.h"
#include "mapper/section/rehearsal.h"
#include "mapper/stream/stream.h"
#include "mapper/vector/vector.h"

#include <math.h>
#include <string.h>

enum { ROWS_A_TILE = 4 }; /* that make it worth to load a row that all read before the first of them */

typedef struct elementwise {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_space space; /* operands, then results */
  tg_value *values[TG_SPACE_OPERANDS];
  int operands;
  bool once[TG_SPACE_OPERANDS]; /* of operands: loaded once */
  int stream[TG_SPACE_OPERANDS];
  tg_mc *mc;
  bool across; /* its second segment repeats for the rows of a chunk */
} elementwise;

/* False: a VOP has no stream, or no stride, for it. */
static bool add(elementwise *e, const tg_access *access) {
  tg_value *value = access->name.value;
  int64_t strides[TG_MAX_RANK];
  if (!tg_access_strides(access, e->space.dims, e->space.rank, strides)) return false;
  for (int i = 0; i < e->operands; i++)
    if (e->values[i] == value)
      return !memcmp(e->space.strides[i], strides, sizeof *strides * (size_t)e->space.rank);
  if (e->space.operands == TG_STREAMS) return false;
  e->values[e->space.operands] = value;
  tg_space_add_strided(&e->space, strides);
  return true;
}

static bool add_operand(void *user, const tg_access *access) {
  elementwise *e = user;
  bool added = add(e, access);
  e->operands = e->space.operands;
  return added;
}

static bool collect(elementwise *e) {
  const tg_kernel *kernel = e->kernel;
  tg_space_begin(&e->space, kernel->output);
  if (!tg_visit_all_operands(e->c, kernel->fused, kernel->fused_count, e->space.dims, e->space.rank,
                             add_operand, e))
    return false;
  for (int i = 0; i < tg_kernel_results(kernel); i++) {
    tg_access result = tg_access_of(e->c, tg_kernel_result(kernel, i), tg_kernel_result(kernel, i));
    if (!add(e, &result)) return false;
  }
  tg_space_merge(&e->space);
  tg_space_spread(e->c->m, &e->space);
  tg_space_fold(&e->space, tg_tiles(e->c->m));
  return true;
}

static tg_along along(const elementwise *e, int operand) {
  tg_along along = tg_along_of(e->space.dims, e->space.strides[operand], e->space.rank);
  return along == TG_ALONG_ROW && e->space.rank == 1 ? TG_ALONG_FULL : along;
}

static tg_stream_kernel plan_of(const elementwise *e) {
  tg_stream_kernel plan = {.output_kind = tg_result_kind(e->kernel->output),
                           .more = e->kernel->more_count,
                           .single = e->c->narrow};
  for (int i = 0; i < plan.more; i++) plan.more_kind[i] = tg_result_kind(e->kernel->more[i]);
  for (int i = 0; i < e->operands; i++) {
    int kind = tg_stream_kind(e->values[i]);
    if (e->once[i])
      plan.vector_kind[plan.vectors++] = along(e, i) == TG_ALONG_SCALAR ? TG_STREAM_SPLAT32 : kind;
    else
      plan.window[plan.inputs] = 1,
      plan.input_kind[plan.inputs++] = along(e, i) == TG_ALONG_COLUMN ? TG_STREAM_SPLAT32 : kind;
  }
  tg_choose_columns(e->c->m, &plan, tg_space_block(e->c->m, &e->space));
  return plan;
}

/* Rows are loaded once where a block holds a whole one, or where they fit beside the blocks and the tiles
 * have some rows each; spaces that are cut load everything as it comes. */
static void choose_once(elementwise *e) {
  const tg_params *m = e->c->m;
  bool cut = e->space.rank > 4;
  int64_t rows = 1;
  for (int d = 0; d + 1 < e->space.rank; d++) rows *= e->space.dims[d];
  for (int i = 0; i < e->operands; i++)
    e->once[i] = !cut && (along(e, i) == TG_ALONG_SCALAR || along(e, i) == TG_ALONG_ROW);
  tg_stream_kernel plan = plan_of(e);
  if (plan.column_blocks == 1) return;
  if (rows >= ROWS_A_TILE * (int64_t)tg_tiles(m) && tg_stream_vectors_fit(m, &plan)) return;
  for (int i = 0; i < e->operands; i++) e->once[i] = !cut && along(e, i) == TG_ALONG_SCALAR;
}

static void number_streams(elementwise *e) {
  int inputs = 0, vectors = 0;
  for (int i = 0; i < e->operands; i++) inputs += !e->once[i];
  for (int i = 0, at = 0; i < e->operands; i++) e->stream[i] = e->once[i] ? inputs + 1 + vectors++ : at++;
  e->stream[e->operands] = inputs;
  for (int i = 0; i < e->kernel->more_count; i++) e->stream[e->operands + 1 + i] = inputs + 1 + vectors + i;
}

/* `ahead`: what is loaded once goes to registers in a segment of its own, before the rows. */
static bool write_code(const elementwise *e, tg_mc *mc, bool ahead) {
  tg_operand_stream streams[TG_SPACE_OPERANDS];
  tg_mc_begin(mc, e->c->arena);
  for (int i = 0; i < e->operands; i++) {
    bool scalar = along(e, i) == TG_ALONG_COLUMN || (e->once[i] && along(e, i) == TG_ALONG_SCALAR);
    streams[i] =
        (tg_operand_stream){.name = {.value = e->values[i]}, .stream = e->stream[i], .scalar = scalar};
    if (!ahead || !e->once[i]) continue;
    bool halves = !scalar && tg_stream_kind(e->values[i]) == TG_STREAM_FP32;
    streams[i].loaded = true;
    streams[i].held = tg_mc_load(mc, e->stream[i], halves);
  }
  if (ahead) tg_mc_next_segment(mc);
  tg_mc_ref results[1 + TG_MORE_RESULTS];
  if (!tg_emit_results(mc, e->c, e->kernel, NULL, TG_MC_NONE, streams, e->operands, results)) return false;
  for (int i = 0; i < tg_kernel_results(e->kernel); i++)
    tg_mc_store(mc, e->stream[e->operands + i],
                tg_stream_kind(tg_kernel_result(e->kernel, i)) == TG_STREAM_FP32, results[i]);
  return true;
}

/* Rows that are loaded once are loaded from the scratchpad again for each row of a chunk, unless the VOP goes
 * down the chunk a vector at a time. Groups of vectors that are not full are the price. */
static void consider_across(elementwise *e) {
  bool rows = false;
  for (int i = 0; i < e->operands; i++) rows |= e->once[i] && along(e, i) == TG_ALONG_ROW;
  tg_mc *down = TG_NEW(e->c->arena, tg_mc);
  int words[TG_SEGMENTS], words_down[TG_SEGMENTS];
  if (!rows || e->space.rank > 4 || !tg_mc_fits(e->mc, e->c->m, words) || !write_code(e, down, true) ||
      !tg_mc_fits(down, e->c->m, words_down))
    return;
  int64_t depth = e->c->m->fma_latency, vectors = plan_of(e).take / tg_lanes(e->c->m),
          padded = tg_round_up(vectors, depth);
  e->across = padded * words_down[1] < vectors * words[0];
  if (e->across) e->mc = down;
}

static tg_walk_plan once_walk(const elementwise *e, int operand, int64_t offset) {
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, e->values[operand]),
                       .offset = offset,
                       .radix = {1, 1, 1},
                       .element_stride = 1,
                       .columns = 1};
  if (along(e, operand) != TG_ALONG_SCALAR) tg_space_walk_row(&e->space, operand, &walk);
  return walk;
}

static tg_status emit_four(void *user, const tg_space *space, const int64_t *offsets) {
  const elementwise *e = user;
  tg_stream_kernel plan = plan_of(e);
  int64_t block = tg_space_block(e->c->m, space);
  if (space->rank != e->space.rank) tg_choose_columns(e->c->m, &plan, block);
  if (space->rank == 1) block = plan.take, plan.column_blocks = 1;
  int inputs = 0, vectors = 0;
  for (int i = 0; i < e->operands; i++)
    if (e->once[i])
      plan.vector[vectors++] = once_walk(e, i, offsets[i]);
    else
      tg_space_walk(space, i, tg_place_of(e->c, e->values[i]), offsets[i], block, &plan.input[inputs++]);
  for (int i = e->operands; i < space->operands; i++)
    tg_space_walk(space, i, tg_place_of(e->c, e->values[i]), offsets[i], block,
                  i == e->operands ? &plan.output : &plan.more_output[i - e->operands - 1]);
  plan.rows = plan.output.radix[0] * plan.output.radix[1] * plan.output.radix[2];
  plan.across = e->across;
  return tg_emit_stream_kernel(e->c, e->kernel, &plan, e->mc, e->across ? 1 << 1 : 0);
}

static tg_stream_kernel plan_in_rows(const elementwise *e) {
  tg_stream_kernel plan = plan_of(e);
  plan.rows = tg_value_elements(e->kernel->output) / tg_space_block(e->c->m, &e->space) + 1;
  return plan;
}

static bool fits(tg_compile *c, const tg_kernel *kernel) {
  elementwise e = {.c = c, .kernel = kernel};
  if (!collect(&e) || !tg_expression_fits(c, kernel)) return false;
  choose_once(&e);
  tg_stream_kernel plan = plan_in_rows(&e);
  return tg_stream_kernel_fits(c, &plan);
}

static bool walks_views(tg_compile *c, const tg_kernel *kernel) {
  elementwise e = {.c = c, .kernel = kernel};
  return collect(&e) && e.space.rank <= 4 && fits(c, kernel);
}

static double cycles(tg_compile *c, const tg_kernel *kernel) {
  tg_mc mc;
  elementwise e = {.c = c, .kernel = kernel, .mc = &mc};
  int words[TG_SEGMENTS] = {0};
  if (!collect(&e)) return INFINITY;
  choose_once(&e);
  number_streams(&e);
  if (!write_code(&e, &mc, false) || !tg_mc_fits(&mc, c->m, words)) return INFINITY;
  tg_stream_kernel plan = plan_in_rows(&e);
  return tg_stream_cycles(c, &plan, words, 0);
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  tg_mc mc;
  elementwise e = {.c = c, .kernel = kernel, .mc = &mc};
  if (!collect(&e))
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": %s of so many tensors is not supported",
                   kernel->fused[0]->name, tg_op_get(kernel->fused[0]->op)->name);
  choose_once(&e);
  number_streams(&e);
  if (!write_code(&e, &mc, false)) return TG_INVALID;
  consider_across(&e);
  /* Random numbers belong to places in the result, as if it were stored row behind row. */
  bool in_order = tg_stochastic_store(kernel) != NULL;
  return tg_space_in_fours(c, tg_kernel_name(c, kernel), &e.space, in_order, emit_four, &e);
}

/* An exponent is part of the microcode. */
static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  if (node->op == TG_OP_POW)
    return tg_is_scalar_constant(tg_in(node, 1)) && tg_mc_has_power(tg_scalar_value(tg_in(node, 1)));
  return tg_op_is(node->op, TG_IS_ELEMENTWISE);
}

/* Operands that nodes may load: each takes two banks, as does the result. */
static int inputs(const tg_compile *c, const tg_kernel *kernel) {
  (void)kernel;
  int pairs = (int)c->m->banks / 2 - 1;
  return pairs < TG_FUSED_INPUTS ? pairs : TG_FUSED_INPUTS;
}

const tg_kernel_class tg_elementwise_class = {
    .name = "elementwise",
    .accepts = accepts,
    .takes = tg_takes_fused,
    .inputs = inputs,
    .fits = fits,
    .cycles = cycles,
    .rehearsed = tg_rehearse,
    .walks_views = walks_views,
    .operations = tg_expression_operations,
    .emit = emit,
};
