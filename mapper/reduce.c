/* Reductions: rows of a matrix, by 32 partial results and a fixed tree; blocks of the middle of three
 * dimensions, ascending. Neither order depends on the array (docs/numerics.md). */
#include "mapper/expression.h"
#include "mapper/rows.h"
#include "mapper/stream.h"

#include "sim/machine/numerics.h"

#include <math.h>

enum { BLOCK_VECTORS = 4 }; /* vectors of a column block: a few atoms, so that runs stay long */

static tg_alu alu_of(const tg_node *node) {
  switch (node->op) {
  case TG_OP_REDUCE_MAX: return TG_ALU_max;
  case TG_OP_REDUCE_MIN: return TG_ALU_min;
  case TG_OP_REDUCE_PROD: return TG_ALU_mul;
  default: return TG_ALU_add;
  }
}

/* What changes nothing. */
static float identity_of(const tg_node *node) {
  switch (node->op) {
  case TG_OP_REDUCE_MAX: return -INFINITY;
  case TG_OP_REDUCE_MIN: return INFINITY;
  case TG_OP_REDUCE_PROD: return 1;
  default: return 0;
  }
}

/* The bits of an identity in the format that is loaded. */
static int64_t bits_as(float value, int kind) {
  if (kind == TG_STREAM_BF16) return tg_f32_to_bf16(value);
  return kind == TG_STREAM_FP16 ? tg_f32_to_f16(value) : (int64_t)tg_f32_bits(value);
}

/* The result to its format, through the fused nodes, to stream 1. */
static tg_status finish(tg_compile *c, const tg_kernel *kernel, const tg_stream_kernel *plan, tg_mc *mc,
                        tg_mc_ref y) {
  y = tg_round_to(mc, tg_out(kernel->root)->dtype, y, !kernel->fused_count);
  if (kernel->fused_count) y = tg_emit_expression(mc, c, kernel, tg_out(kernel->root), y, NULL, 0);
  if (y == TG_MC_NONE) return TG_INVALID;
  bool halves =
      plan->output_kind == TG_STREAM_FP32 && plan->out_take != c->m->p; /* a row's result is one element */
  tg_mc_store(mc, 1, halves, y);
  return tg_emit_stream_kernel(c, kernel, plan, mc, 1 << 1);
}

/* ---- rows ---- */

/* What lies behind the end of a row, where its last part is shorter, loads as what changes nothing. */
static void fill_part(const void *user, int input, tg_agcu_instr *load) {
  (void)input;
  load->fill[0] = *(const int64_t *)user;
}

/* Rows of a matrix; with a block, rows of each so many elements of them. */
static tg_status emit_rows(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  const tg_value *in = tg_in(node, 0);
  int lanes = (int)tg_lanes(c->m), registers = TG_ROW_PARTIALS / lanes, kind = tg_stream_kind(in);
  int64_t size = in->dims[1].size, block = tg_attr_int(node, TG_ATTR_BLOCK), columns = block ? block : size,
          parts = (size + columns - 1) / columns, rows = in->dims[0].size * parts,
          fill = bits_as(identity_of(node), kind);
  tg_stream_kernel plan = {
      .inputs = 1,
      .window = {1},
      .input_kind = {kind},
      .output_kind = tg_stream_kind(kernel->output),
      .whole_rows = true,
      .column_blocks = 1,
      .rows = rows,
      .take = (uint32_t)((columns + TG_ROW_PARTIALS - 1) / TG_ROW_PARTIALS * TG_ROW_PARTIALS),
      .out_take = (uint32_t)lanes,
      .tail_n = (uint32_t)columns,
      .adjust_load = fill_part,
      .user = &fill};
  plan.input[0] = (tg_walk_plan){.tensor = tg_place_of(c, in),
                                 .radix = {1, in->dims[0].size, parts},
                                 .stride = {0, size, columns},
                                 .element_stride = 1,
                                 .columns = columns,
                                 .linear_size = parts > 1 ? size : 0};
  plan.output = (tg_walk_plan){.tensor = tg_place_of(c, kernel->output),
                               .radix = {1, 1, rows},
                               .stride = {0, 0, 1},
                               .element_stride = 1,
                               .columns = plan.out_take, /* a run of one flit, of which one element counts */
                               .bounded = true,
                               .x = {.step = {0, 0, 0, 1}, .size = 1},
                               .y = {.size = 1}};
  tg_mc code, *mc = &code;
  tg_mc_begin(mc, c->arena);
  tg_mc_ref partial[TG_ROW_PARTIALS];
  for (int i = 0; i < registers; i++) partial[i] = tg_mc_new(mc);
  tg_row_begin(mc, partial, registers, tg_mc_const(mc, identity_of(node)));

  tg_mc_next_segment(mc); /* for each vector */
  tg_mc_ref x = tg_mc_load(mc, 0, plan.input_kind[0] == TG_STREAM_FP32);
  tg_mc_ref next = tg_mc_alu(mc, alu_of(node), partial[0], x, TG_MC_NONE);
  tg_row_next(mc, partial, registers, tg_mc_alu_imm(mc, TG_ALU_tail, next, partial[0], 0));

  tg_mc_next_segment(mc);
  return finish(c, kernel, &plan, mc, tg_row_end(mc, alu_of(node), partial, registers, lanes));
}

/* ---- blocks ---- */

typedef struct blocks {
  int64_t size, block, inner; /* of the middle dimension, of a block of it, of the last dimension */
  int64_t fill;
  uint32_t bytes;
} blocks;

/* The K walk goes down the block; positions behind the end of the dimension load the identity. */
static void walk_block(const void *user, int input, tg_agcu_instr *load) {
  const blocks *b = user;
  (void)input;
  load->k_radix[1] = b->block;
  load->stride[4] = b->inner * b->bytes;
  load->y_inc[1] = b->block;
  load->y_inc[4] = 1;
  load->y_size[0] = b->size;
  load->fill[0] = b->fill;
}

/* [A, M, N] as rows of a part of N each, which all tiles share. */
static tg_status emit_blocks(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  const tg_value *in = tg_in(node, 0), *out = tg_out(node);
  blocks b = {.size = in->dims[1].size,
              .block = tg_attr_int(node, TG_ATTR_BLOCK),
              .inner = in->dims[2].size,
              .bytes = tg_value_bytes_each(in)};
  int kind = tg_stream_kind(in);
  b.fill = bits_as(identity_of(node), kind);
  if (b.block > 65535)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": a block of %lld is not supported", node->name,
                   (long long)b.block);
  int64_t most = (int64_t)tg_lanes(c->m) * BLOCK_VECTORS, outer = in->dims[0].size,
          results = out->dims[1].size;
  tg_stream_kernel plan = {.inputs = 1,
                           .window = {(uint32_t)b.block},
                           .input_kind = {kind},
                           .output_kind = tg_stream_kind(kernel->output),
                           .adjust_load = walk_block,
                           .user = &b};
  tg_choose_columns(c->m, &plan, b.inner < most ? b.inner : most);
  int64_t columns = plan.take < b.inner ? plan.take : b.inner, parts = (b.inner + columns - 1) / columns;
  plan.column_blocks = 1;
  plan.window_step = columns;
  plan.rows = outer * results * parts;
  plan.input[0] = (tg_walk_plan){.tensor = tg_place_of(c, in),
                                 .radix = {outer, results, parts},
                                 .stride = {b.size * b.inner, b.block * b.inner, columns},
                                 .element_stride = 1,
                                 .columns = columns,
                                 .linear_size = b.inner};
  plan.output = plan.input[0];
  plan.output.tensor = tg_place_of(c, kernel->output);
  plan.output.stride[0] = results * b.inner;
  plan.output.stride[1] = b.inner;

  tg_mc code, *mc = &code;
  tg_mc_begin(mc, c->arena);
  tg_mc_ref result = tg_mc_new(mc);
  tg_mc_assign(mc, result, TG_ALU_mov, tg_mc_const(mc, identity_of(node)), TG_MC_NONE, TG_MC_NONE);
  tg_mc_next_segment(mc); /* for each of the block */
  tg_mc_assign(mc, result, alu_of(node), result, tg_mc_load(mc, 0, kind == TG_STREAM_FP32), TG_MC_NONE);
  tg_mc_next_segment(mc);
  return finish(c, kernel, &plan, mc, result);
}

tg_status tg_emit_reduce(tg_compile *c, const tg_kernel *kernel) {
  return tg_in(kernel->root, 0)->rank == 3 ? emit_blocks(c, kernel) : emit_rows(c, kernel);
}
