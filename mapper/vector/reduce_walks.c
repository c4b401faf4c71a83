/* Reductions as streams: how their operands and results are walked, by rows or by blocks. */
#include "frontend/base/math.h"
#include "mapper/microcode/moments.h"
#include "mapper/microcode/row_sums.h"
#include "mapper/vector/reduce.h"
#include "sim/machine/numerics.h"

/* The bits of an identity in the format that is loaded. */
static int64_t bits_as(float value, int kind) {
  if (kind == TG_STREAM_BF16) return tg_f32_to_bf16(value);
  return kind == TG_STREAM_FP16 ? tg_f32_to_f16(value) : (int64_t)tg_f32_bits(value);
}

/* A position of a block after the other. */
static void go_down(const tg_reduce *r, const int64_t *stride, const tg_value *value, tg_agcu_instr *in) {
  in->k_radix[1] = r->length;
  in->stride[4] = stride[1] * tg_value_bytes_each(value);
}

static void adjust_store(const void *user, int more, tg_agcu_instr *store) {
  const tg_reduce *r = user;
  const int64_t dense[] = {r->dims[1] * r->dims[2], r->dims[2], 1};
  go_down(r, dense, r->kernel->beside, store);
  (void)more;
}

/* Where an input is not dense along a row: what is behind the end, and the way down a block. */
static void adjust_load(const void *user, int input, tg_agcu_instr *load) {
  const tg_reduce *r = user;
  const tg_source *o = r->operands.of;
  while (o->number != input) o++;
  if (tg_reduce_is_plain(r))
    load->fill = bits_as(tg_reduction_identity(r->kernel->root), r->plan.input_kind[input]);
  if (r->rows || !tg_reduce_changes(r, o)) return;
  go_down(r, o->stride, o->value, load);
  if (!tg_reduce_is_plain(r)) return;
  load->y_inc[1] = r->block;
  load->y_inc[4] = 1;
  load->y_size = r->dims[1];
}

static void set_kinds(tg_reduce *r) {
  tg_stream_kernel *plan = &r->plan;
  plan->output_kind = tg_stream_kind(r->kernel->output);
  for (int i = 0; i < plan->more; i++)
    plan->more_kind[i] = tg_stream_kind(tg_kernel_result(r->kernel, 1 + i));
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    bool number = tg_is_splat(o->along);
    int kind = number ? TG_STREAM_SPLAT32 : tg_stream_kind(o->value);
    if (o->number >= plan->inputs)
      plan->vector_kind[o->number - plan->inputs] = kind;
    else
      plan->input_kind[o->number] = kind;
  }
}

tg_walk_plan *tg_reduce_walk(tg_reduce *r, const tg_source *o) {
  return o->number >= r->plan.inputs ? &r->plan.vector[o->number - r->plan.inputs]
                                     : &r->plan.input[o->number];
}

static void set_output(tg_reduce *r, const tg_walk_plan *walk) {
  r->plan.output = *walk;
  for (int i = 0; i < r->plan.more; i++) r->plan.more_output[i] = *walk;
}

/* Results first .. first + count - 1 of each row, of `length` elements each. */
static void plan_rows(tg_reduce *r, int64_t first, int64_t count, int64_t length) {
  tg_stream_kernel *plan = &r->plan;
  int64_t m = r->dims[1];
  plan->whole_rows = true;
  plan->column_blocks = 1;
  plan->rows = m * count;
  plan->take = (uint32_t)tg_round_up(length, TG_ROW_PARTIALS);
  plan->out_take = (uint32_t)tg_lanes(r->c->m);
  plan->tail_n = (uint32_t)length;
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    bool number = tg_is_splat(o->along), once = (o->along == TG_ALONG_ROW || o->along == TG_ALONG_SCALAR);
    *tg_reduce_walk(r, o) = (tg_walk_plan){.offset = number ? 0 : first * r->block,
                                           .radix = {1, once ? 1 : m, once ? 1 : count},
                                           .stride = {0, o->stride[1], number ? 0 : r->block},
                                           .element_stride = 1,
                                           .columns = number ? 1 : length};
    if (!once) plan->window[o->number] = 1;
  }
  if (tg_reduce_is_plain(r) && r->results > 1) plan->input[0].linear_size = r->dims[2];
  set_output(r,
             &(tg_walk_plan){.offset = first,
                             .radix = {1, m, count},
                             .stride = {0, r->results, 1},
                             .element_stride = 1,
                             .columns = plan->out_take, /* a run of one flit, of which one element counts */
                             .bounded = true,
                             .x = {.step = {0, 0, 0, 1}, .size = 1},
                             .y = {.size = 1}});
}

/* Vectors of a part of N: numbers that go down a block are loaded for each part, so there are few parts if
 * they suffice for all tiles; else there are enough of them for a few rounds of tiles, but none of less than an atom. */
static int64_t part_vectors(const tg_reduce *r, int64_t count) {
  int64_t vectors = TG_REDUCE_VECTORS, lanes = tg_lanes(r->c->m), tiles = tg_tiles(r->c->m), least = 1,
          blocks = r->dims[0] * count;
  bool numbers = false;
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    numbers |= o->along == TG_ALONG_COLUMN;
    least = tg_max(least, TG_ATOM_BYTES / (lanes * tg_value_bytes_each(o->value)));
  }
  while (numbers && vectors < 4 * TG_REDUCE_VECTORS &&
         blocks * (r->dims[2] / (2 * vectors * lanes)) >= TG_REDUCE_PARTS * tiles)
    vectors *= 2;
  while (!numbers && vectors > least &&
         blocks * tg_div_up(r->dims[2], vectors * lanes) < TG_REDUCE_ROUNDS * tiles)
    vectors /= 2;
  return vectors;
}

/* Blocks first .. first + count - 1 in `parts` parts of N, of so many columns. */
typedef struct block_rows {
  int64_t first, count, parts, columns;
} block_rows;

/* Parts follow each other as rows, or as column blocks. */
static tg_walk_plan block_walk(const tg_reduce *r, const block_rows *rows, int64_t outer, int64_t block) {
  int64_t a = r->dims[0], n = r->dims[2], first = rows->first * block;
  if (r->keeps_rows)
    return (tg_walk_plan){.offset = first,
                          .radix = {1, a, rows->count},
                          .stride = {0, outer, block},
                          .element_stride = 1,
                          .columns = n};
  return (tg_walk_plan){.offset = first,
                        .radix = {a, rows->count, rows->parts},
                        .stride = {outer, block, rows->columns},
                        .element_stride = 1,
                        .columns = rows->columns,
                        .linear_size = n};
}

static tg_walk_plan operand_walk(const tg_reduce *r, const tg_source *o, const block_rows *rows) {
  tg_walk_plan walk = block_walk(r, rows, o->stride[0], r->block * o->stride[1]);
  if (o->along == TG_ALONG_SCALAR || (o->along == TG_ALONG_ROW && r->keeps_rows)) {
    const int64_t columns = o->along == TG_ALONG_SCALAR ? 1 : r->dims[2];
    return (tg_walk_plan){.offset = o->first, .radix = {1, 1, 1}, .element_stride = 1, .columns = columns};
  }
  if (o->along == TG_ALONG_COLUMN) walk.stride[2] = 0, walk.columns = 1, walk.linear_size = 0;
  walk.offset += o->first;
  return walk;
}

/* The same of [A, M, N], as rows of a part of N each, which all tiles share. */
static void plan_blocks(tg_reduce *r, int64_t first, int64_t count, int64_t length) {
  tg_stream_kernel *plan = &r->plan;
  int64_t most = (int64_t)tg_lanes(r->c->m) * part_vectors(r, count), n = r->dims[2];
  plan->vectors_beside = r->keeps_rows;
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    if (o->number >= plan->inputs) continue;
    plan->window[o->number] = tg_reduce_changes(r, o) ? (uint32_t)length : 1;
    plan->beside[o->number] = o->along != TG_ALONG_FULL;
  }
  tg_choose_columns(r->c->m, plan, n < most ? n : most);
  int64_t columns = plan->take < n ? plan->take : n;
  block_rows rows = {first, count, tg_div_up(n, columns), columns};
  plan->column_blocks = r->keeps_rows ? (uint32_t)rows.parts : 1;
  plan->window_step = r->keeps_rows ? n : columns;
  plan->rows = r->dims[0] * count * (r->keeps_rows ? 1 : rows.parts);
  for (int i = 0; i < r->operands.count; i++)
    *tg_reduce_walk(r, &r->operands.of[i]) = operand_walk(r, &r->operands.of[i], &rows);
  tg_walk_plan result = block_walk(r, &rows, r->results * n, n);
  set_output(r, &result);
  if (!r->kernel->beside) return;
  plan->more_output[plan->more - 1] = block_walk(r, &rows, r->dims[1] * n, r->block * n);
  plan->more_window[plan->more - 1] = (uint32_t)length;
  plan->adjust_store = adjust_store;
}

/* Of a row, a vector for each register of partial results; of a block, two positions, so that loads and
 * stores of one go along with the operations of the other; if there are streams. Moments begin with as many
 * as they take at a time. */
static void choose_unroll(tg_reduce *r) {
  r->plan.unroll = r->rows         ? TG_ROW_PARTIALS / (int)tg_lanes(r->c->m)
                   : r->moments    ? tg_moment_first(r->length)
                   : r->length % 2 ? 1
                                   : 2;
  r->plan.unrolled_result = !r->rows;
  if (tg_stream_count(&r->plan) > TG_STREAMS) r->plan.unroll = 0;
}

void tg_reduce_plan(tg_reduce *r, int64_t first, int64_t count, int64_t length) {
  r->length = length;
  r->plan.adjust_load = adjust_load;
  r->plan.user = r;
  set_kinds(r);
  (r->rows ? plan_rows : plan_blocks)(r, first, count, length);
  choose_unroll(r);
}
