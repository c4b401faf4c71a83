/* Reductions: rows of a matrix, by 32 partial results and a fixed tree; blocks of the middle of three
 * dimensions, ascending. Neither order depends on the array (docs/numerics.md). Elementwise nodes of a
 * prologue are computed while a row or a block passes, for up to three reductions of the same shape; a
 * block's may be stored, too. */
#include "mapper/vector/reduce.h"
#include "frontend/base/math.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/space.h"
#include "mapper/microcode/moments.h"
#include "mapper/microcode/row_sums.h"
#include "mapper/vector/vector.h"
#include "sim/machine/numerics.h"

#include <math.h>
#include <string.h>

enum {
  BLOCK_VECTORS = 4, /* vectors of a column block: a few atoms, so that runs stay long */
  PARTS_A_TILE = 8,  /* that share out well */
  MOST_PIECES = 32,  /* sections of a reduction */
};

typedef tg_reduce reduction;

/* The bits of an identity in the format that is loaded. */
static int64_t bits_as(float value, int kind) {
  if (kind == TG_STREAM_BF16) return tg_f32_to_bf16(value);
  return kind == TG_STREAM_FP16 ? tg_f32_to_f16(value) : (int64_t)tg_f32_bits(value);
}

/* ---- operands ---- */

/* Nothing is computed before, so what is not there may load as what changes nothing. */
static bool is_plain(const reduction *r) {
  return r->roots == 1 && !r->kernel->prologue[0].count && !r->from && !r->moments;
}

/* An operand by its name; parts of outer products are numbers in one row after the other, and rows along N.
 * False: there is no room for it, or it goes along in two ways. */
static bool add_operand(void *user, const tg_access *access) {
  reduction *r = user;
  const tg_value *shape = access->shape;
  tg_source o;
  if (access->name.part && (r->rows || r->dims[0] != 1 || r->dims[2] != shape->dims[shape->rank - 1].size))
    return false;
  if (!tg_source_of(r->c, access, r->dims, 3, &o)) return false;
  for (int n = 0; n < r->name_count; n++)
    if (tg_is_named(&r->names[n].name, access->name.value, access->name.part))
      return tg_is_same_source(&r->operands.of[r->owner[n]], &o);
  int at = tg_add_source(&r->operands, &o);
  if (at < 0 || r->name_count == TG_REDUCE_NAMES) return false;
  r->owner[r->name_count] = at;
  r->names[r->name_count++] = (tg_operand_stream){.name = access->name};
  return true;
}

static bool made_in_prologue(const reduction *r, tg_value *value) {
  const tg_node_list *prologue = &r->kernel->prologue[0];
  for (size_t n = 0; n < prologue->count; n++)
    if (tg_out(prologue->nodes[n]) == tg_owner(r->c, value)) return true;
  return false;
}

static bool collect(reduction *r) {
  const tg_node_list *prologue = &r->kernel->prologue[0];
  if (!tg_visit_all_operands(r->c, prologue->nodes, prologue->count, r->dims, 3, add_operand, r))
    return false;
  for (int i = 0; i < r->roots; i++) {
    tg_value *value = tg_in(tg_kernel_root(r->kernel, i), 0);
    tg_access access = tg_access_of(r->c, value, value);
    if (!made_in_prologue(r, value) && !add_operand(r, &access)) return false;
  }
  return true;
}

/* Rows of the last dimension are loaded once, and so are numbers; what else there is comes with each row, or
 * block. False: a VOP would have no row to repeat for. */
static bool number_streams(reduction *r) {
  int inputs = 0, vectors = 0;
  bool full = false;
  for (int i = 0; i < r->operands.count; i++) {
    tg_source *o = &r->operands.of[i];
    bool once = o->along == TG_ALONG_SCALAR || (o->along == TG_ALONG_ROW && (r->rows || r->keeps_rows));
    o->number = once ? -1 : inputs++;
    full |= o->along == TG_ALONG_FULL || o->along == TG_ALONG_COLUMN;
  }
  for (int i = 0; i < r->operands.count; i++)
    if (r->operands.of[i].number < 0) r->operands.of[i].number = inputs + vectors++;
  r->plan.inputs = inputs;
  r->plan.vectors = vectors;
  r->plan.more = r->outs - 1;
  for (int n = 0; n < r->name_count; n++) {
    const tg_source *o = &r->operands.of[r->owner[n]];
    r->names[n].scalar = tg_is_splat(o->along);
  }
  return full;
}

/* Are there vectors along N that all blocks read, whole parts of N, and blocks for all tiles? */
static bool wants_rows_kept(const reduction *r) {
  const tg_params *m = r->c->m;
  bool vectors = false;
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    if (o->along == TG_ALONG_ROW && o->stride[0] && r->dims[0] > 1) return false;
    if (o->along == TG_ALONG_COLUMN)
      return false; /* would be loaded for each part of N, which are wider so */
    vectors |= o->along == TG_ALONG_ROW;
  }
  return !r->rows && vectors && r->dims[2] % (tg_lanes(m) * BLOCK_VECTORS) == 0 &&
         r->dims[0] * (r->dims[1] / r->block) >= PARTS_A_TILE * (int64_t)tg_tiles(m);
}

static void plan_piece(reduction *r, int64_t first, int64_t count, int64_t length);

/* Do the vectors fit beside blocks of as many columns as there would be without them? */
static bool rows_fit(reduction *r) {
  plan_piece(r, 0, 1, r->block);
  return r->plan.take == tg_lanes(r->c->m) * BLOCK_VECTORS && tg_stream_vectors_fit(r->c->m, &r->plan) &&
         tg_stream_kernel_fits(r->c, &r->plan);
}

static bool begin(reduction *r, tg_compile *c, const tg_kernel *kernel) {
  const tg_value *in = tg_in(kernel->root, 0), *out = tg_out(kernel->root);
  *r = (reduction){.c = c, .kernel = kernel, .rows = in->rank == 2};
  r->roots = tg_kernel_roots(kernel);
  r->outs = tg_kernel_results(kernel);
  r->operands.most = TG_STREAMS - r->outs;
  for (int i = 0; i < r->roots; i++) r->moments |= tg_reduce_is_moment(r, i);
  for (int d = 0; d < 3; d++) r->dims[d] = r->rows ? (d ? in->dims[d - 1].size : 1) : in->dims[d].size;
  r->block = tg_attr_int(kernel->root, TG_ATTR_BLOCK);
  if (!r->block) r->block = r->dims[2]; /* rows that are not cut */
  r->results = out->dims[1].size;
  if (((r->rows || r->moments) && kernel->beside) || !collect(r)) return false;
  r->keeps_rows = wants_rows_kept(r);
  if (!number_streams(r)) return false;
  if (r->keeps_rows && !rows_fit(r)) {
    r->keeps_rows = false;
    return number_streams(r);
  }
  return true;
}

/* ---- walks ---- */

/* A position of a block after the other. */
static void go_down(const reduction *r, const int64_t *stride, const tg_value *value, tg_agcu_instr *in) {
  in->k_radix[1] = r->length;
  in->stride[4] = stride[1] * tg_value_bytes_each(value);
}

static void adjust_store(const void *user, int more, tg_agcu_instr *store) {
  const reduction *r = user;
  const int64_t dense[] = {r->dims[1] * r->dims[2], r->dims[2], 1};
  go_down(r, dense, r->kernel->beside, store);
  (void)more;
}

/* Where an input is not dense along a row: what is behind the end, and the way down a block. */
static void adjust_load(const void *user, int input, tg_agcu_instr *load) {
  const reduction *r = user;
  const tg_source *o = r->operands.of;
  while (o->number != input) o++;
  if (is_plain(r)) load->fill = bits_as(tg_reduction_identity(r->kernel->root), r->plan.input_kind[input]);
  if (r->rows || !tg_reduce_changes(r, o)) return;
  go_down(r, o->stride, o->value, load);
  if (!is_plain(r)) return;
  load->y_inc[1] = r->block;
  load->y_inc[4] = 1;
  load->y_size = r->dims[1];
}

static void set_kinds(reduction *r) {
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

static tg_walk_plan *walk_of(reduction *r, const tg_source *o) {
  return o->number >= r->plan.inputs ? &r->plan.vector[o->number - r->plan.inputs]
                                     : &r->plan.input[o->number];
}

static void set_output(reduction *r, const tg_walk_plan *walk) {
  r->plan.output = *walk;
  for (int i = 0; i < r->plan.more; i++) r->plan.more_output[i] = *walk;
}

/* Results first .. first + count - 1 of each row, of `length` elements each. */
static void plan_rows(reduction *r, int64_t first, int64_t count, int64_t length) {
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
    *walk_of(r, o) = (tg_walk_plan){.offset = number ? 0 : first * r->block,
                                    .radix = {1, once ? 1 : m, once ? 1 : count},
                                    .stride = {0, o->stride[1], number ? 0 : r->block},
                                    .element_stride = 1,
                                    .columns = number ? 1 : length};
    if (!once) plan->window[o->number] = 1;
  }
  if (is_plain(r) && r->results > 1) plan->input[0].linear_size = r->dims[2];
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
 * they suffice for all tiles. */
static int64_t part_vectors(const reduction *r, int64_t count) {
  int64_t vectors = BLOCK_VECTORS, lanes = tg_lanes(r->c->m), wanted = PARTS_A_TILE * tg_tiles(r->c->m);
  bool numbers = false;
  for (int i = 0; i < r->operands.count; i++) numbers |= r->operands.of[i].along == TG_ALONG_COLUMN;
  while (numbers && vectors < 4 * BLOCK_VECTORS &&
         r->dims[0] * count * (r->dims[2] / (2 * vectors * lanes)) >= wanted)
    vectors *= 2;
  return vectors;
}

/* Blocks first .. first + count - 1 in `parts` parts of N, of so many columns. */
typedef struct block_rows {
  int64_t first, count, parts, columns;
} block_rows;

/* Parts follow each other as rows, or as column blocks. */
static tg_walk_plan block_walk(const reduction *r, const block_rows *rows, int64_t outer, int64_t block) {
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

static tg_walk_plan operand_walk(const reduction *r, const tg_source *o, const block_rows *rows) {
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
static void plan_blocks(reduction *r, int64_t first, int64_t count, int64_t length) {
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
    *walk_of(r, &r->operands.of[i]) = operand_walk(r, &r->operands.of[i], &rows);
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
static void choose_unroll(reduction *r) {
  r->plan.unroll = r->rows         ? TG_ROW_PARTIALS / (int)tg_lanes(r->c->m)
                   : r->moments    ? tg_moment_first(r->length)
                   : r->length % 2 ? 1
                                   : 2;
  r->plan.unrolled_result = !r->rows;
  if (tg_stream_count(&r->plan) > TG_STREAMS) r->plan.unroll = 0;
}

static void plan_piece(reduction *r, int64_t first, int64_t count, int64_t length) {
  r->length = length;
  r->plan.adjust_load = adjust_load;
  r->plan.user = r;
  set_kinds(r);
  (r->rows ? plan_rows : plan_blocks)(r, first, count, length);
  choose_unroll(r);
}

/* ---- pieces ---- */

/* Results of one section: an expression of what fills up the last one, where it is shorter, is not what
 * changes nothing, so that one is by itself; and a row that is loaded once is that of one result. */
static int64_t piece_after(const reduction *r, int64_t first, int64_t *out_length) {
  int64_t size = r->dims[r->rows ? 2 : 1], whole = size / r->block;
  *out_length = r->block;
  if (is_plain(r)) return r->results;
  if (first == whole) *out_length = size - whole * r->block;
  for (int i = 0; i < r->operands.count; i++)
    if (r->rows && r->operands.of[i].along == TG_ALONG_ROW) return 1;
  return first < whole ? whole - first : 1;
}

static bool fits(tg_compile *c, const tg_kernel *kernel) {
  reduction r;
  if (!begin(&r, c, kernel)) return false;
  int pieces = 0;
  for (int64_t first = 0, count, length; first < r.results; first += count) {
    count = piece_after(&r, first, &length);
    plan_piece(&r, first, count, length);
    if (++pieces > MOST_PIECES || !tg_stream_kernel_fits(c, &r.plan)) return false;
    if (!tg_reduce_write(&r) || !tg_mc_fits(&r.mc, c->m, NULL)) return false;
  }
  return true;
}

/* The first result that is left: all blocks before it are whole. */
static int64_t first_left(const reduction *r, bool rest) { return rest ? r->dims[1] / r->block : 0; }

static double estimate(tg_compile *c, const tg_kernel *kernel, bool rest) {
  reduction r;
  double cycles = 0;
  if (!begin(&r, c, kernel)) return INFINITY;
  r.from = first_left(&r, rest);
  for (int64_t first = r.from, count, length; first < r.results; first += count) {
    int words[TG_SEGMENTS] = {0};
    count = piece_after(&r, first, &length);
    plan_piece(&r, first, count, length);
    if (!tg_reduce_write(&r) || !tg_mc_fits(&r.mc, c->m, words)) return INFINITY;
    cycles += tg_stream_cycles(c, &r.plan, words, 1 << 1);
  }
  return cycles;
}

static double cycles_of_all(tg_compile *c, const tg_kernel *kernel) { return estimate(c, kernel, false); }
static double remainder_cycles(tg_compile *c, const tg_kernel *kernel) { return estimate(c, kernel, true); }

static void set_tensors(reduction *r) {
  for (int i = 0; i < r->operands.count; i++)
    walk_of(r, &r->operands.of[i])->tensor = tg_place_of(r->c, r->operands.of[i].value);
  r->plan.output.tensor = tg_place_of(r->c, r->kernel->output);
  for (int i = 0; i < r->plan.more; i++)
    r->plan.more_output[i].tensor = tg_place_of(r->c, tg_kernel_result(r->kernel, 1 + i));
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel, bool rest) {
  reduction r;
  if (!begin(&r, c, kernel) || r.block > 65535)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": a block of %lld is not supported", kernel->root->name,
                   (long long)r.block);
  tg_status status = TG_OK;
  r.from = first_left(&r, rest);
  for (int64_t first = r.from, count, length; first < r.results && !status; first += count) {
    count = piece_after(&r, first, &length);
    plan_piece(&r, first, count, length);
    set_tensors(&r);
    status = tg_reduce_write(&r) ? tg_emit_stream_kernel(c, kernel, &r.plan, &r.mc, 1 << 1) : TG_INVALID;
  }
  return status;
}

static tg_status emit_all(tg_compile *c, const tg_kernel *kernel) { return emit(c, kernel, false); }
tg_status tg_emit_remainder(tg_compile *c, const tg_kernel *kernel) { return emit(c, kernel, true); }

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_REDUCE_SUM || node->op == TG_OP_REDUCE_MOMENT || node->op == TG_OP_REDUCE_MAX ||
         node->op == TG_OP_REDUCE_MIN || node->op == TG_OP_REDUCE_PROD;
}

const tg_kernel_class tg_reduce_class = {
    .name = "reduce",
    .accepts = accepts,
    .takes = tg_takes_fused_out_of_order,
    .fits = fits,
    .cycles = cycles_of_all,
    .remainder_cycles = remainder_cycles,
    .emit = emit_all,
};
