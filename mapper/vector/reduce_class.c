/* Reductions: rows of a matrix, by 32 partial results and a fixed tree; blocks of the middle of three
 * dimensions, ascending. Neither order depends on the array (docs/numerics.md). Elementwise nodes of a
 * prologue are computed while a row or a block passes, for up to three reductions of the same shape; a
 * block's may be stored, too. */
#include "mapper/kernel/class.h"
#include "mapper/kernel/space.h"
#include "mapper/section/rehearsal.h"
#include "mapper/vector/reduce.h"
#include "mapper/vector/vector.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 32 }; /* sections of a reduction */

/* ---- operands ---- */

/* An operand by its name; parts of outer products are numbers in one row after the other, and rows along N.
 * False: there is no room for it, or it goes along in two ways. */
static bool add_operand(void *user, const tg_access *access) {
  tg_reduce *r = user;
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

static bool made_in_prologue(const tg_reduce *r, tg_value *value) {
  const tg_node_list *prologue = &r->kernel->prologue[0];
  for (size_t n = 0; n < prologue->count; n++)
    if (tg_out(prologue->nodes[n]) == tg_owner(r->c, value)) return true;
  return false;
}

static bool collect(tg_reduce *r) {
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
static bool number_streams(tg_reduce *r) {
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
static bool wants_rows_kept(const tg_reduce *r) {
  const tg_params *m = r->c->m;
  bool vectors = false;
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    if (o->along == TG_ALONG_ROW && o->stride[0] && r->dims[0] > 1) return false;
    if (o->along == TG_ALONG_COLUMN)
      return false; /* would be loaded for each part of N, which are wider so */
    vectors |= o->along == TG_ALONG_ROW;
  }
  return !r->rows && vectors && r->dims[2] % (tg_lanes(m) * TG_REDUCE_VECTORS) == 0 &&
         r->dims[0] * (r->dims[1] / r->block) >= TG_REDUCE_PARTS * (int64_t)tg_tiles(m);
}

/* Do the vectors fit beside blocks of as many columns as there would be without them? */
static bool rows_fit(tg_reduce *r) {
  tg_reduce_plan(r, 0, 1, r->block);
  return r->plan.take == tg_lanes(r->c->m) * TG_REDUCE_VECTORS && tg_stream_vectors_fit(r->c->m, &r->plan) &&
         tg_stream_kernel_fits(r->c, &r->plan);
}

static bool begin(tg_reduce *r, tg_compile *c, const tg_kernel *kernel) {
  const tg_value *in = tg_in(kernel->root, 0), *out = tg_out(kernel->root);
  *r = (tg_reduce){.c = c, .kernel = kernel, .rows = in->rank == 2};
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

/* ---- steps ---- */

/* Results of one section: an expression of what fills up the last one, where it is shorter, is not what
 * changes nothing, so that one is by itself; and a row that is loaded once is that of one result. */
static int64_t step_after(const tg_reduce *r, int64_t first, int64_t *out_length) {
  int64_t size = r->dims[r->rows ? 2 : 1], whole = size / r->block;
  *out_length = r->block;
  if (tg_reduce_is_plain(r)) return r->results;
  if (first == whole) *out_length = size - whole * r->block;
  for (int i = 0; i < r->operands.count; i++)
    if (r->rows && r->operands.of[i].along == TG_ALONG_ROW) return 1;
  return first < whole ? whole - first : 1;
}

static bool fits(tg_compile *c, const tg_kernel *kernel) {
  tg_reduce r;
  if (!begin(&r, c, kernel)) return false;
  int steps = 0;
  for (int64_t first = 0, count, length; first < r.results; first += count) {
    count = step_after(&r, first, &length);
    tg_reduce_plan(&r, first, count, length);
    if (++steps > MOST_STEPS || !tg_stream_kernel_fits(c, &r.plan)) return false;
    if (!tg_reduce_write(&r) || !tg_mc_fits(&r.mc, c->m, NULL)) return false;
  }
  return true;
}

/* The first result that is left: all blocks before it are whole. */
static int64_t first_left(const tg_reduce *r, bool rest) { return rest ? r->dims[1] / r->block : 0; }

static double estimate(tg_compile *c, const tg_kernel *kernel, bool rest) {
  tg_reduce r;
  double cycles = 0;
  if (!begin(&r, c, kernel)) return INFINITY;
  r.from = first_left(&r, rest);
  for (int64_t first = r.from, count, length; first < r.results; first += count) {
    int words[TG_SEGMENTS] = {0};
    count = step_after(&r, first, &length);
    tg_reduce_plan(&r, first, count, length);
    if (!tg_reduce_write(&r) || !tg_mc_fits(&r.mc, c->m, words)) return INFINITY;
    cycles += tg_stream_cycles(c, &r.plan, words, 1 << 1);
  }
  return cycles;
}

static double cycles_of_all(tg_compile *c, const tg_kernel *kernel) { return estimate(c, kernel, false); }
static double remainder_cycles(tg_compile *c, const tg_kernel *kernel) { return estimate(c, kernel, true); }

static void set_tensors(tg_reduce *r) {
  for (int i = 0; i < r->operands.count; i++)
    tg_reduce_walk(r, &r->operands.of[i])->tensor = tg_place_of(r->c, r->operands.of[i].value);
  r->plan.output.tensor = tg_place_of(r->c, r->kernel->output);
  for (int i = 0; i < r->plan.more; i++)
    r->plan.more_output[i].tensor = tg_place_of(r->c, tg_kernel_result(r->kernel, 1 + i));
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel, bool rest) {
  tg_reduce r;
  if (!begin(&r, c, kernel) || r.block > 65535)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": a block of %lld is not supported", kernel->root->name,
                   (long long)r.block);
  tg_status status = TG_OK;
  r.from = first_left(&r, rest);
  for (int64_t first = r.from, count, length; first < r.results && !status; first += count) {
    count = step_after(&r, first, &length);
    tg_reduce_plan(&r, first, count, length);
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
    .rehearsed = tg_rehearse,
    .emit = emit_all,
};
