/* Microcode of reductions: of rows, by partial results and a tree; of blocks, ascending. */
#include "mapper/microcode/moments.h"
#include "mapper/microcode/row_sums.h"
#include "mapper/vector/reduce.h"

typedef tg_reduce reduction;

/* What does not change along a row, or a block, is loaded before it. */
static void load_ahead(reduction *r) {
  for (int n = 0; n < r->name_count; n++) {
    const tg_source *o = &r->operands.of[r->owner[n]];
    if (tg_reduce_changes(r, o)) continue;
    r->names[n].loaded = true;
    r->names[n].stream = tg_source_stream(&r->plan, o->number, 0);
    r->names[n].held = tg_hold_operand(&r->mc, &r->names[n]);
  }
}

static bool roots_read_beside(const reduction *r) {
  for (int i = 0; i < r->roots; i++)
    if (tg_owner(r->c, tg_in(tg_kernel_root(r->kernel, i), 0)) == r->kernel->beside) return true;
  return false;
}

/* What the roots read, and what is stored as it is, into registers, of vector u of an iteration. */
static bool emit_prologue(reduction *r, int u, tg_mc_ref *out_registers) {
  tg_value *values[1 + TG_MORE_RESULTS];
  tg_operand_stream names[TG_REDUCE_NAMES];
  for (int i = 0; i < r->roots; i++) values[i] = tg_in(tg_kernel_root(r->kernel, i), 0);
  if (r->kernel->beside) values[r->roots] = r->kernel->beside;
  for (int n = 0; n < r->name_count; n++) {
    names[n] = r->names[n];
    names[n].stream = tg_source_stream(&r->plan, r->operands.of[r->owner[n]].number, u);
  }
  return tg_emit_prologue(&r->mc, r->c, &r->kernel->prologue[0], names, r->name_count,
                          roots_read_beside(r) ? NULL : r->kernel, NULL, values, r->outs, out_registers);
}

/* A result to its format, through the fused nodes, to its stream. */
static bool finish(reduction *r, int root, tg_mc_ref y) {
  y = tg_emit_epilogue(&r->mc, r->c, r->kernel, tg_kernel_root(r->kernel, root), y);
  if (y == TG_MC_NONE) return false;
  bool halves = tg_stream_kind(tg_kernel_result(r->kernel, root)) == TG_STREAM_FP32;
  tg_mc_store(&r->mc, tg_result_stream(&r->plan, root, 0), halves, y);
  return true;
}

static bool emit_row_code(reduction *r) {
  tg_mc *mc = &r->mc;
  int lanes = (int)tg_lanes(r->c->m);
  tg_row_sums sums[1 + TG_MORE_RESULTS];
  tg_mc_ref x[1 + TG_MORE_RESULTS];
  for (int i = 0; i < r->roots; i++) {
    const tg_node *root = tg_kernel_root(r->kernel, i);
    sums[i] = (tg_row_sums){.mc = mc,
                            .alu = tg_reduction_alu(root),
                            .registers = TG_ROW_PARTIALS / lanes,
                            .unroll = tg_reduce_unroll(r),
                            .ragged = r->length % TG_ROW_PARTIALS};
    tg_row_sums_begin(&sums[i], tg_mc_const(mc, tg_reduction_identity(root)));
  }
  load_ahead(r);
  tg_mc_next_segment(mc); /* for each vector */
  for (int u = 0; u < tg_reduce_unroll(r); u++) {
    if (!emit_prologue(r, u, x)) return false;
    for (int i = 0; i < r->roots; i++)
      tg_row_sums_add(&sums[i], u, sums[i].alu, sums[i].partial[u], x[i], TG_MC_NONE);
  }
  tg_mc_next_segment(mc);
  for (int i = 0; i < r->roots; i++)
    if (!finish(r, i, tg_row_sums_end(&sums[i], lanes))) return false;
  return true;
}

/* What is kept of a block for each root while its elements pass. */
typedef union accumulator {
  tg_mc_ref reduced;
  tg_moment moment;
} accumulator;

static void begin_reduced(reduction *r, accumulator *accumulators) {
  for (int i = 0; i < r->roots; i++) {
    if (tg_reduce_is_moment(r, i)) continue;
    accumulators[i].reduced = tg_mc_new(&r->mc);
    tg_mc_assign(&r->mc, accumulators[i].reduced, TG_ALU_mov,
                 tg_mc_const(&r->mc, tg_reduction_identity(tg_kernel_root(r->kernel, i))), TG_MC_NONE,
                 TG_MC_NONE);
  }
}

static bool begin_moments(reduction *r, accumulator *accumulators) {
  tg_mc_ref x[TG_MOMENT_FIRST][1 + TG_MORE_RESULTS], first[TG_MOMENT_FIRST];
  int count = tg_moment_first(r->length);
  for (int u = 0; r->moments && u < count; u++)
    if (!emit_prologue(r, u, x[u])) return false;
  for (int i = 0; i < r->roots; i++) {
    if (!tg_reduce_is_moment(r, i) || tg_reduce_twin(r, i) >= 0) continue;
    for (int u = 0; u < count; u++) first[u] = x[u][i];
    accumulators[i].moment = tg_moment_begin(&r->mc, first, r->length);
  }
  return true;
}

static void accumulate(reduction *r, const accumulator *accumulators, const tg_mc_ref *x) {
  for (int i = 0; i < r->roots; i++) {
    if (tg_reduce_twin(r, i) >= 0) continue;
    if (tg_reduce_is_moment(r, i))
      tg_moment_add(&r->mc, &accumulators[i].moment, x[i]);
    else
      tg_mc_assign(&r->mc, accumulators[i].reduced, tg_reduction_alu(tg_kernel_root(r->kernel, i)),
                   accumulators[i].reduced, x[i], TG_MC_NONE);
  }
}

static tg_mc_ref end_accumulator(reduction *r, const accumulator *accumulators, int root) {
  int twin = tg_reduce_twin(r, root);
  if (!tg_reduce_is_moment(r, root)) return accumulators[root].reduced;
  return tg_moment_end(&r->mc, &accumulators[twin < 0 ? root : twin].moment, tg_kernel_root(r->kernel, root),
                       r->length);
}

static bool emit_block_code(reduction *r) {
  tg_mc *mc = &r->mc;
  tg_mc_ref x[1 + TG_MORE_RESULTS];
  accumulator accumulators[1 + TG_MORE_RESULTS];
  begin_reduced(r, accumulators);
  load_ahead(r);
  if (!begin_moments(r, accumulators)) return false;
  tg_mc_next_segment(mc); /* for each of the block */
  for (int u = 0; u < tg_reduce_unroll(r); u++) {
    if (!emit_prologue(r, u, x)) return false;
    if (r->outs > r->roots)
      tg_mc_store(mc, tg_result_stream(&r->plan, r->roots, u),
                  tg_stream_kind(r->kernel->beside) == TG_STREAM_FP32, x[r->roots]);
    accumulate(r, accumulators, x);
  }
  tg_mc_next_segment(mc);
  for (int i = 0; i < r->roots; i++)
    if (!finish(r, i, end_accumulator(r, accumulators, i))) return false;
  return true;
}

static bool write_code(reduction *r) {
  tg_mc_begin(&r->mc, r->c->arena);
  return r->rows ? emit_row_code(r) : emit_block_code(r);
}

bool tg_reduce_write(reduction *r) {
  if ((r->moments && tg_reduce_unroll(r) < tg_moment_first(r->length)) || !write_code(r)) return false;
  if (tg_reduce_unroll(r) == 1 || r->moments || tg_mc_fits(&r->mc, r->c->m, NULL)) return true;
  r->plan.unroll = 0;
  return write_code(r);
}
