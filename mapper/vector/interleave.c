#include "frontend/base/math.h"
#include "mapper/expression/expression.h"
#include "mapper/vector/shuffle.h"
#include "mapper/vector/vector_move.h"

enum { SOURCE = TG_MOVE_SOURCE, RESULT = TG_MOVE_RESULT };
enum { MOST_RUNS = TG_SHUFFLE_RUNS };

/* Which way: runs of the source become elements side by side, or these become runs. */
typedef enum way { NEITHER, TOGETHER, APART } way;

static way way_of(const tg_space *s) {
  if (s->operands != 2 || s->rank < 2 || s->rank > 4) return NEITHER;
  int last = s->rank - 1;
  const int64_t *from = s->strides[SOURCE], *to = s->strides[RESULT];
  if (to[last] != 1) return NEITHER;
  if (s->dims[last] <= MOST_RUNS && to[last - 1] == s->dims[last] && from[last - 1] == 1) return TOGETHER;
  return s->dims[last - 1] <= 1 + TG_MORE_RESULTS && from[last - 1] == 1 && from[last] == s->dims[last - 1]
             ? APART
             : NEITHER;
}

static int64_t runs_of(const tg_space *s) { return s->dims[s->rank - (way_of(s) == TOGETHER ? 1 : 2)]; }
static int64_t length_of(const tg_space *s) { return s->dims[s->rank - (way_of(s) == TOGETHER ? 2 : 1)]; }
/* From one run to the next, in the tensor that has runs. */
static int64_t run_stride(const tg_space *s) {
  return way_of(s) == TOGETHER ? s->strides[SOURCE][s->rank - 1] : s->strides[RESULT][s->rank - 2];
}

/* ---- microcode ---- */

static bool plan_shuffle(const tg_vector_move *v, tg_shuffle *out) {
  return tg_shuffle_plan((int)tg_lanes(v->c->m), (int)runs_of(&v->space), way_of(&v->space) == TOGETHER, out);
}

static void write_code(const tg_vector_move *v, const tg_stream_kernel *plan, tg_shuffle *x, tg_mc *mc) {
  bool together = way_of(&v->space) == TOGETHER;
  tg_mc_ref sources[MOST_RUNS], results[MOST_RUNS];
  tg_mc_begin(mc, v->c->arena);
  tg_shuffle_begin(x, mc);
  tg_mc_next_segment(mc);
  for (int b = 0; b < x->runs; b++)
    sources[b] =
        tg_mc_load(mc, together ? b : tg_source_stream(plan, 0, b), v->kinds[SOURCE] == TG_STREAM_FP32);
  (together ? tg_shuffle_together : tg_shuffle_apart)(x, mc, sources, results);
  for (int w = 0; w < x->runs; w++) {
    tg_mc_ref y = v->rounded ? tg_round_to(mc, v->rounded, results[w], true) : results[w];
    tg_mc_store(mc, together ? x->runs + w : tg_result_stream(plan, w, 0), v->kinds[RESULT] == TG_STREAM_FP32,
                y);
  }
}

/* ---- blocks ---- */

/* Vectors of a run in a row of a chunk: as many as leave at once from as many rows as hide the latency of the
 * ALU, but no more than give all tiles such rows. */
static int64_t vectors_of(const tg_vector_move *v) {
  const tg_params *m = v->c->m;
  int64_t flits = tg_kind_flits(m, v->kinds[RESULT], tg_lanes(m)) * runs_of(&v->space), length = 1;
  for (int d = 0; d < v->space.rank; d++) length *= v->space.dims[d];
  length /= runs_of(&v->space);
  int64_t most = tg_egress_share(m, TG_EGRESS_BOTH, 1) / (flits * m->fma_latency),
          all = (int64_t)m->fma_latency * tg_tiles(m) * tg_lanes(m), each = tg_div_up(length, all);
  if (most > each) most = each;
  return most > 0 ? most : 1;
}

static tg_walk_plan walk(const tg_vector_move *v, int operand, int64_t offset, int64_t take, int64_t length) {
  const tg_space *s = &v->space;
  tg_walk_plan w = {.tensor = v->tensors[operand],
                    .offset = v->offsets[operand] + offset,
                    .radix = {1, 1, tg_div_up(length, take)},
                    .stride = {0, 0, take},
                    .element_stride = 1,
                    .columns = take,
                    .linear_size = length};
  for (int d = 0; d < s->rank - 2; d++) {
    w.radix[4 - s->rank + d] = s->dims[d];
    w.stride[4 - s->rank + d] = s->strides[operand][d];
  }
  return w;
}

static tg_stream_kernel plan_of(const tg_vector_move *v) {
  const tg_space *s = &v->space;
  int64_t runs = runs_of(s), length = length_of(s), take = vectors_of(v) * tg_lanes(v->c->m);
  bool together = way_of(s) == TOGETHER;
  int dense = together ? RESULT : SOURCE, apart = together ? SOURCE : RESULT;
  tg_walk_plan beside = walk(v, dense, 0, take * runs, length * runs), run[MOST_RUNS];
  for (int64_t b = 0; b < runs; b++) run[b] = walk(v, apart, b * run_stride(s), take, length);
  tg_stream_kernel plan = {.inputs = together ? (int)runs : 1,
                           .output = together ? beside : run[0],
                           .output_kind = v->kinds[RESULT],
                           .more = together ? 0 : (int)runs - 1,
                           .take = (uint32_t)(together ? take : take * runs),
                           .out_take = (uint32_t)(together ? take * runs : take),
                           .out_vectors = together ? (int)runs : 1,
                           .unroll = together ? 1 : (int)runs,
                           .column_blocks = 1,
                           .whole_rows = true,
                           .tail_n = 1};
  for (int i = 0; i < plan.inputs; i++) {
    plan.input[i] = together ? run[i] : beside;
    plan.input_kind[i] = v->kinds[SOURCE];
    plan.window[i] = 1;
  }
  for (int x = 0; x < plan.more; x++) {
    plan.more_output[x] = run[1 + x];
    plan.more_kind[x] = v->kinds[RESULT];
  }
  plan.rows = plan.output.radix[0] * plan.output.radix[1] * plan.output.radix[2];
  return plan;
}

/* ---- cycles ---- */

double tg_interleaved_cycles(const tg_vector_move *v) {
  const tg_params *m = v->c->m;
  tg_shuffle shuffle;
  if (way_of(&v->space) == NEITHER || !plan_shuffle(v, &shuffle)) return TG_NEVER;
  tg_mc mc;
  int words[TG_SEGMENTS];
  tg_stream_kernel plan = plan_of(v);
  write_code(v, &plan, &shuffle, &mc);
  if (!tg_mc_fits(&mc, m, words) || !tg_stream_kernel_fits(v->c, &plan)) return TG_NEVER;
  double elements = (double)tg_value_elements(v->kernel->output);
  double bytes =
      tg_storage_bytes(v->tensors[SOURCE]->storage) + tg_storage_bytes(v->tensors[RESULT]->storage);
  double ports = elements * bytes / (tg_agcus(m) * m->port_bytes);
  double slots = m->fma_latency, groups = (double)plan.rows / tg_tiles(m) / slots;
  double repeats = (double)plan.take / tg_lanes(m) / plan.unroll;
  double vector = (groups < 1 ? 1 : groups) * slots * (words[0] + words[1] * repeats);
  return TG_SECTION_CYCLES + tg_max_double(vector, ports);
}

tg_status tg_emit_interleave(const tg_vector_move *v) {
  tg_mc mc;
  tg_shuffle shuffle;
  tg_stream_kernel plan = plan_of(v);
  if (!plan_shuffle(v, &shuffle)) return TG_INVALID;
  write_code(v, &plan, &shuffle, &mc);
  return tg_emit_stream_kernel(v->c, v->kernel, &plan, &mc, 1 << 1);
}
