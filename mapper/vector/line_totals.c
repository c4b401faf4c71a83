#include "mapper/vector/line_totals.h"

#include "frontend/base/math.h"
#include "mapper/expression/expression.h"

/* ---- which reductions ---- */

/* A Cast to FP32 in front is what a load does anyway. */
static bool only_widens(const tg_node_list *prologue) {
  return !prologue->count || (prologue->count == 1 && prologue->nodes[0]->op == TG_OP_CAST &&
                              tg_out(prologue->nodes[0])->dtype == TG_F32 &&
                              tg_dtype_is_float(tg_in(prologue->nodes[0], 0)->dtype));
}

static bool is_plain(const tg_kernel *kernel, const tg_value *of) {
  return kernel->kind == TG_KERNEL_REDUCE && tg_is_reduction(kernel->root) && !kernel->more_count &&
         !kernel->beside && only_widens(&kernel->prologue[0]) && kernel->input_count == 1 &&
         kernel->inputs[0] == of && !tg_stochastic_store(kernel);
}

static int64_t positions_of(const tg_line_kernel *k) { return k->windows->rows[0] * k->windows->rows[1]; }
static int64_t block_of(const tg_line_kernel *k) { return tg_attr_int(k->totals->root, TG_ATTR_BLOCK); }

/* Does it go over [images, positions, channels], by blocks of positions? */
static bool goes_over_images(const tg_line_kernel *k, const tg_kernel *kernel) {
  const tg_value *in = tg_in(kernel->root, 0), *image = k->windows->image;
  return in->rank == 3 && in->dims[0].size == image->dims[0].size && in->dims[1].size == positions_of(k) &&
         in->dims[2].size == image->dims[3].size && tg_attr_int(kernel->root, TG_ATTR_BLOCK) > 0;
}

bool tg_line_set_totals(const tg_compile *c, const tg_kernel *kernel, tg_line_kernel *out) {
  const tg_kernel *totals = kernel->column_sums;
  if (!totals) return true;
  if (!is_plain(totals, kernel->output) || !goes_over_images(out, totals)) return false;
  out->totals = totals;
  out->total = tg_place_of(c, totals->output);
  out->total_kind = tg_result_kind(totals->output);
  return true;
}

/* ---- how they go over a tile's results ---- */

typedef tg_line_totals_vop totals_vop;

/* Blocks of `block` positions from position `first` on. Results lie one behind the other, or in runs. */
static bool go_over(const tg_line_tiling *t, int64_t first, int64_t block, int64_t blocks, totals_vop *out) {
  int64_t run = t->run, apart = tg_line_results_apart(t);
  *out = (totals_vop){
      .count = {1, (uint32_t)blocks}, .step = {0, block}, .repeats = {1, (uint32_t)block}, .first = first};
  if (tg_line_is_dense(t)) return true;
  if (first % run) return false;
  out->first = first / run * apart;
  if (block % run == 0) {
    out->step[1] = block / run * apart;
    out->repeats[0] = (uint32_t)(block / run);
    out->repeats[1] = (uint32_t)run;
    out->along = apart;
    return true;
  }
  if (block < run && blocks == 1) return true;
  if (run % block || blocks % (run / block)) return false;
  out->count[0] = (uint32_t)(blocks / (run / block));
  out->count[1] = (uint32_t)(run / block);
  out->step[0] = apart;
  return true;
}

uint32_t tg_line_totals(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)tg_div_up((int64_t)t->rows * t->columns, block_of(k));
}

uint32_t tg_line_totals_flits(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  return k->totals ? tg_line_totals(k, t) * tg_line_position(m, t, k->total_kind) : 0;
}

/* Tiles have whole rows of an image, and whole blocks, or all of it. */
int tg_line_totals_vops(const tg_line_kernel *k, const tg_line_tiling *t,
                        totals_vop out[TG_LINE_MOST_TOTALS]) {
  int64_t positions = (int64_t)t->rows * t->columns, block = block_of(k), whole = positions / block,
          rest = positions % block;
  int count = 0;
  if (t->blocks[1] > 1 || (t->blocks[0] > 1 && (rest || positions_of(k) % block))) return 0;
  if (whole && !go_over(t, 0, block, whole, &out[count++])) return 0;
  if (!rest) return count;
  if (!go_over(t, whole * block, rest, 1, &out[count])) return 0;
  out[count++].to = (uint32_t)whole;
  return count;
}

uint32_t tg_line_totals_unroll(const tg_line_kernel *k, const tg_line_tiling *t) {
  totals_vop vops[TG_LINE_MOST_TOTALS];
  int count = tg_line_totals_vops(k, t, vops);
  for (uint32_t unroll = TG_STREAMS - 1; unroll > 1; unroll--) {
    bool divides = true;
    for (int i = 0; i < count; i++) divides &= vops[i].repeats[1] % unroll == 0;
    if (divides) return unroll;
  }
  return 1;
}

/* ---- microcode ---- */

/* Streams: results, by the position in an iteration; what is made of them. */
void tg_line_write_totals(tg_compile *c, const tg_line_kernel *k, uint32_t unroll, tg_mc *mc) {
  const tg_kernel *kernel = k->totals;
  tg_mc_ref total = tg_mc_new(mc), x[TG_STREAMS];
  tg_mc_assign(mc, total, TG_ALU_mov, tg_mc_const(mc, tg_reduction_identity(kernel->root)), TG_MC_NONE,
               TG_MC_NONE);
  tg_mc_next_segment(mc);
  for (uint32_t u = 0; u < unroll; u++) x[u] = tg_mc_load(mc, (int)u, k->result_kind == TG_STREAM_FP32);
  for (uint32_t u = 0; u < unroll; u++)
    tg_mc_assign(mc, total, tg_reduction_alu(kernel->root), total, x[u], TG_MC_NONE);
  tg_mc_next_segment(mc);
  tg_mc_ref y = tg_emit_epilogue(mc, c, kernel, kernel->root, total);
  if (y == TG_MC_NONE)
    mc->overflow = true;
  else
    tg_mc_store(mc, (int)unroll, k->total_kind == TG_STREAM_FP32, y);
}

double tg_line_totals_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                             const int *words) {
  totals_vop vops[TG_LINE_MOST_TOTALS];
  int count = k->totals ? tg_line_totals_vops(k, t, vops) : 0;
  uint32_t depth = m->fma_latency;
  double cycles = 0;
  for (int i = 0; i < count; i++) {
    const totals_vop *v = &vops[i];
    double rows = (double)tg_div_up((int64_t)v->count[0] * v->count[1] * t->vectors, depth) * depth,
           repeats = (double)v->repeats[0] * v->repeats[1] / tg_line_totals_unroll(k, t);
    cycles += rows * (words[0] + repeats * words[1] + words[2]) + 2.0 * depth + 2;
  }
  return cycles;
}
