/* A stream kernel as channels and stages: what lies in the scratchpad, what loads and stores take of ports, and VOPs of
 * the vector unit. */
#include "frontend/base/math.h"
#include "mapper/stream/tiling.h"

#include <string.h>

/* ---- channels ---- */

void tg_stream_plan_vectors(const tg_params *m, const tg_stream_kernel *plan,
                            tg_channel_plan plans[TG_STREAM_ROLES]) {
  uint64_t all = 0;
  for (int v = 0; v < plan->vectors; v++) {
    uint32_t flits = tg_stream_vector_flits(m, plan, v);
    if (!plan->vectors_beside) plans[TG_ROLE_VECTORS + v].room = (tg_room){flits, 1};
    all += flits;
  }
  if (plan->vectors_beside) plans[TG_ROLE_VECTORS_BESIDE].room = (tg_room){all, 1};
}

/* Results that leave equally often arrive together, with the first of them. */
static bool has_arrivals(const tg_stream_kernel *plan, int x) {
  return !x || (tg_stream_is_windowed(plan) && x == plan->more);
}

void tg_stream_plan_channels(const tg_params *m, const tg_stream_kernel *plan, const tg_stream_tiling *t,
                             tg_channel_plan plans[TG_STREAM_ROLES]) {
  uint64_t rows = t->chunk_rows;
  uint8_t copies = (uint8_t)t->copies;
  memset(plans, 0, TG_STREAM_ROLES * sizeof *plans);
  plans[TG_ROLE_LOADED] = (tg_channel_plan){
      .full = 1, .west = true, .north = true, .credits = copies, .bases = (uint8_t)plan->inputs};
  plans[TG_ROLE_LOADED_ONCE].full = plan->vectors > 0;
  plans[TG_ROLE_LOADED_ONCE].bases = (uint8_t)plan->vectors;
  if (plan->first_segments) {
    plans[TG_ROLE_KEPT_ROWS].room = (tg_room){rows * tg_kind_flits(m, TG_STREAM_FP32, plan->take), 1};
    plans[TG_ROLE_KEPT_VECTORS].room = (tg_room){2 * rows, 1};
  }
  for (int i = 0; i < plan->inputs; i++)
    plans[TG_ROLE_INPUTS + i].room = (tg_room){rows * tg_stream_alone_flits(m, plan, i), copies};
  plans[TG_ROLE_INPUTS_BESIDE].room = (tg_room){rows * tg_stream_beside_flits(m, plan), copies};
  tg_stream_plan_vectors(m, plan, plans);
  for (int x = 0; x <= plan->more; x++) {
    uint64_t flits =
        t->parts > 1 ? (uint64_t)t->parts * t->part_flits : rows * tg_stream_result_flits(m, plan, x);
    bool arrives = has_arrivals(plan, x);
    plans[TG_ROLE_RESULTS + x] =
        (tg_channel_plan){.room = {flits, copies}, .full = 1, .free = 1, .initial = copies};
    plans[TG_ROLE_AWAY + x] =
        (tg_channel_plan){.free = 1, .initial = 2, .west = arrives, .north = arrives, .bases = 1};
  }
}

/* ---- cycles ---- */

/* Of a port for rows of a chunk. */
static double row_cycles(const tg_params *m, const tg_stream_tiling *t, int kind, uint32_t elements,
                         uint32_t window) {
  uint32_t bytes = elements * (tg_stream_is_wide(kind) ? 4 : 2);
  return (double)t->chunk_rows * window * tg_div_up(bytes, TG_ATOM_BYTES) * tg_atom_cycles(m);
}

static double result_cycles(const tg_params *m, const tg_stream_kernel *plan, const tg_stream_tiling *t,
                            int x) {
  return row_cycles(m, t, tg_stream_result_kind(plan, x), tg_stream_out_take(plan),
                    tg_stream_result_window(plan, x));
}

/* Of a chunk, by segments `begin` to `end` - 1. */
static double vop_cycles(const tg_params *m, const tg_stream_kernel *plan, const tg_stream_tiling *t,
                         const int *words, int repeat, int begin, int end) {
  uint32_t j = 1, rows = t->chunk_rows * (plan->whole_rows ? 1 : t->vectors);
  double sum = 0;
  for (int i = 0; i < plan->inputs; i++)
    if (j < plan->window[i]) j = plan->window[i];
  if (plan->whole_rows) j = t->vectors;
  j /= (uint32_t)tg_stream_unroll(plan);
  for (int q = begin; q < end && words; q++) sum += (double)words[q] * (repeat >> q & 1 ? j : 1);
  return sum * tg_round_up(rows, m->fma_latency);
}

/* ---- stages ---- */

typedef struct list {
  const tg_params *m;
  const tg_stream_kernel *plan;
  const tg_stream_tiling *t;
  tg_stages *out;
} list;

/* Of one tile and chunk: a SYNC for all of them, and each, of windows in a loop and the last one apart. */
static void add_loads(const list *s) {
  const tg_stream_kernel *plan = s->plan;
  tg_stage stage = {.kind = TG_STAGE_LOADS,
                    .context = TG_CTX_LOAD,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_LOADS,
                    .slots = 1};
  for (int i = 0; i < plan->inputs; i++) {
    stage.slots += plan->window[i] > 1 ? 2 : 1;
    stage.cycles +=
        row_cycles(s->m, s->t, plan->input_kind[i], tg_stream_input_take(plan, i), plan->window[i]);
  }
  tg_stage_join(
      &stage, (tg_join){.channel = TG_ROLE_LOADED, .fills = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS});
  tg_checkerboard_add(s->m, s->out, stage);
}

static void add_vectors(const list *s) {
  tg_stage loads = {.kind = TG_STAGE_VECTORS,
                    .seat = TG_SIDE_WEST,
                    .context = TG_CTX_AUX,
                    .nest = TG_NEST_OWN,
                    .slots = (uint32_t)s->plan->vectors};
  tg_stage wait = {
      .kind = TG_STAGE_VECTORS, .seat = TG_UNIT_VX, .nest = TG_NEST_CHUNKS, .slots = s->plan->vectors > 0};
  tg_stage_join(&loads, (tg_join){.channel = TG_ROLE_LOADED_ONCE, .fills = true, .posts = TG_OF_ENDS});
  tg_stage_join(&wait, (tg_join){.channel = TG_ROLE_LOADED_ONCE, .posts = TG_OF_NONE});
  tg_stages_add(s->out, &loads);
  tg_stages_add(s->out, &wait);
}

static void add_vops(const list *s, const int *words, int repeat) {
  const tg_stream_kernel *plan = s->plan;
  const tg_join loaded = {.channel = TG_ROLE_LOADED};
  int split = plan->first_segments;
  tg_stage first = {.kind = TG_STAGE_FIRST,
                    .seat = TG_UNIT_VX,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_CHUNKS,
                    .slots = split > 0,
                    .cycles = vop_cycles(s->m, plan, s->t, words, repeat, 0, split)};
  tg_stage vop = first;
  vop.kind = TG_STAGE_VOP;
  vop.slots = 1;
  vop.cycles = vop_cycles(s->m, plan, s->t, words, repeat, split, TG_SEGMENTS);
  tg_stage_join(split ? &first : &vop, loaded);
  for (int x = 0; x <= plan->more; x++)
    tg_stage_join(&vop, (tg_join){.channel = (uint8_t)(TG_ROLE_RESULTS + x),
                                  .fills = true,
                                  .wait = (int8_t)(1 + x),
                                  .post = (int8_t)(1 + x)});
  tg_stages_add(s->out, &first);
  tg_stages_add(s->out, &vop);
}

/* By context, those that leave with each part of a chunk, and what then leaves seldom. */
static void add_results(const list *s) {
  uint32_t results = 1 + (uint32_t)s->plan->more;
  double often = 0, seldom = 0;
  bool windowed = tg_stream_is_windowed(s->plan);
  for (int x = 0; x <= s->plan->more; x++)
    *(windowed && x < s->plan->more ? &seldom : &often) += result_cycles(s->m, s->plan, s->t, x);
  tg_stage sends = {.kind = TG_STAGE_RESULTS, .seat = TG_UNIT_TX, .nest = TG_NEST_OWN, .slots = results};
  tg_stage stores = {.kind = TG_STAGE_RESULTS,
                     .context = TG_CTX_STORE,
                     .rate = TG_RATE_STEP,
                     .nest = TG_NEST_OWN,
                     .drains = true,
                     .slots = windowed ? 1 : results,
                     .cycles = often};
  tg_stages_add(s->out, &sends);
  tg_checkerboard_add(s->m, s->out, stores);
  stores.context = TG_CTX_COLUMN_SUMS;
  stores.rate = TG_RATE_PASS;
  stores.slots = results - stores.slots;
  stores.cycles = seldom;
  tg_checkerboard_add(s->m, s->out, stores);
}

void tg_stream_list_stages(const tg_params *m, const tg_stream_kernel *plan, const tg_stream_tiling *t,
                           const int *words, int repeat, tg_stages *out) {
  list s = {m, plan, t, out};
  out->count = 0;
  add_loads(&s);
  add_vectors(&s);
  add_vops(&s, words, repeat);
  add_results(&s);
}
