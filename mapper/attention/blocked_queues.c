/* What mx and vx do in attention by blocks. With the scores S(i) of unit i, the weights W(i) that a VOP makes of them,
 * the product C(i) of these and values, and D(i), which adds it to the result so far, a tile works at the same time on
 *
 *   mx:  C(i - 1)  S(i + 1)
 *   vx:  W(i)  D(i - 1)
 *
 * Units with even numbers use one half of the accumulator, and the first of two buffers, those with odd ones the other:
 * a block of rows has an even number of units. C(i) waits for W(i), before which D(i - 2) has drained its half, and W(i)
 * has read S(i) before S(i + 2) is written. D(i) waits for S(i + 2), which ends behind C(i) in its half, or, where no
 * scores come, for C(i). The last D of a block of rows makes the result; so it comes behind the first W of the next. */
#include "mapper/attention/blocked_emission.h"
#include "mapper/gemm/layout.h"

typedef tg_blocked_emission emission;

/* The queue at hand: of which tile. */
typedef struct writer {
  emission *e;
  tg_queue *queue;
  tg_turn at;
} writer;

static void join(const writer *w, tg_instr *in, tg_join join) {
  const tg_joint at = {
      .kernel = &w->e->results, .in = in, .r = w->at.r, .col = w->at.col, .first = true, .last = true};
  tg_join_channel(&w->e->channels[join.channel], &join, &at);
}

/* The last instruction ends a loop that began at slot `begin`. */
static void end_loop(const writer *w, int level, uint32_t count, uint32_t begin) {
  tg_common_instr *last = &w->queue->instrs[w->queue->count - 1].common;
  last->loop_count[level] = count;
  last->loop_begin[level] = begin;
}

static tg_buffer slot_of(const tg_buffer *ring, uint32_t unit) {
  tg_buffer slot = *ring;
  slot.base += unit % ring->count * ring->stride;
  slot.count = 1;
  return slot;
}

/* ---- products: a GEMM per chunk ---- */

/* Chunks of a unit come in two buffers in turn, or, if there is one, units do. */
static tg_instr *push_product(const writer *w, const tg_gemm *g, const tg_gemm_tiling *t,
                              const tg_buffer *streamed, const tg_buffer *ring, uint32_t unit) {
  uint32_t chunks = w->e->a->chunks;
  tg_buffer one = slot_of(ring, unit);
  tg_instr *in = tg_attention_push_gemm(&w->e->b, w->queue, g, t);
  tg_mx_instr *mx = &in->mx;
  tg_set_operand(&mx->a, streamed, false);
  mx->a_banks = streamed->banks;
  tg_set_operand(&mx->b, chunks > 1 ? ring : &one, false);
  mx->b_banks = ring->banks;
  mx->c.base = unit % 2 * tg_acc_rows(w->e->b.m);
  if (chunks > 1) end_loop(w, 2, chunks, w->queue->count - 1);
  return in;
}

/* S of a unit: the first and last of a block of rows, and of the first two units of all. */
static void push_scores(const writer *w, uint32_t unit, bool first, bool last, bool begins) {
  const tg_blocked *a = w->e->a;
  const tg_channel *channels = w->e->channels;
  tg_gemm_tiling t = tg_blocked_scores(a);
  tg_instr *in = push_product(w, &a->scores, &t, &channels[TG_BLOCKED_QUERIES].ring,
                              &channels[TG_BLOCKED_KEYS].ring, unit);
  in->mx.a_m[1] = tg_gemm_a_row(w->e->b.m, &a->scores, &t);
  in->mx.c.delta[2] = (int64_t)a->grid.rows * (t.nt / tg_lanes(w->e->b.m));
  join(w, in, (tg_join){.channel = TG_BLOCKED_KEYS});
  join(w, in,
       (tg_join){.channel = TG_BLOCKED_QUERIES,
                 .once = true,
                 .waits = first ? TG_OF_EACH : TG_OF_NONE,
                 .posts = last ? TG_OF_EACH : TG_OF_NONE,
                 .wait = 1,
                 .post = 1});
  join(w, in, (tg_join){.channel = TG_BLOCKED_SCORES, .fills = true, .once = true, .post = 2});
  if (!begins) join(w, in, (tg_join){.channel = TG_BLOCKED_PRODUCT, .fills = true, .once = true, .post = 3});
}

/* C of a unit, which tells by itself that it is there, or not. */
static void push_context(const writer *w, uint32_t unit, bool tells) {
  const tg_params *m = w->e->b.m;
  const tg_blocked *a = w->e->a;
  const tg_channel *channels = w->e->channels;
  tg_gemm_tiling t = tg_blocked_context(m, a);
  tg_buffer weights = slot_of(&channels[TG_BLOCKED_PROBABILITIES].ring, unit);
  tg_instr *in = push_product(w, &a->context, &t, &weights, &channels[TG_BLOCKED_VALUES].ring, unit);
  in->mx.a_m[1] = tg_blocked_weight_row(m, a);
  in->mx.a.delta[2] = t.kc / tg_mx_elements(m, a->context.format);
  in->mx.init_levels = 1 << 2;
  if (tg_blocked_multiplies(a)) in->mx.c.base += (int64_t)a->grid.rows * (a->block / tg_lanes(m));
  join(w, in, (tg_join){.channel = TG_BLOCKED_VALUES});
  join(w, in, (tg_join){.channel = TG_BLOCKED_PROBABILITIES, .once = true, .wait = 1, .post = 1});
  if (tells) join(w, in, (tg_join){.channel = TG_BLOCKED_PRODUCT, .fills = true, .once = true, .post = 2});
}

static void push_pair(const writer *w, bool last) {
  push_context(w, 0, false);
  push_scores(w, 0, false, false, false);
  push_context(w, 1, false);
  push_scores(w, 1, false, last, false);
}

/* The pairs of units of a block of rows behind its first two, of which scores are under way. */
static void push_pairs(const writer *w) {
  uint32_t pairs = w->e->a->blocks / 2 - 1, begin = w->queue->count;
  if (pairs > 1) {
    push_pair(w, false);
    end_loop(w, 1, pairs - 1, begin);
  }
  if (pairs) push_pair(w, true);
}

static void emit_context_only(const writer *w) {
  push_context(w, 0, true);
  push_context(w, 1, true);
  end_loop(w, 1, w->e->a->blocks / 2, 0);
  end_loop(w, 0, tg_grid_blocks(&w->e->a->grid), 0);
}

void tg_blocked_emit_products(emission *e, tg_queue *queue, tg_turn at) {
  const writer w = {e, queue, at};
  uint32_t units = tg_grid_blocks(&e->a->grid);
  bool alone = e->a->blocks == 2;
  if (!tg_blocked_multiplies(e->a)) {
    emit_context_only(&w);
    return;
  }
  push_scores(&w, 0, true, false, true);
  push_scores(&w, 1, false, alone, true);
  if (units > 1) {
    uint32_t begin = queue->count;
    push_pairs(&w);
    push_context(&w, 0, false);
    push_scores(&w, 0, true, false, false);
    push_context(&w, 1, false);
    push_scores(&w, 1, false, alone, false);
    end_loop(&w, 0, units - 1, begin);
  }
  push_pairs(&w);
  push_context(&w, 0, true);
  push_context(&w, 1, true);
}

/* ---- vector units ---- */

static tg_instr *push_vop(const writer *w, int number, uint32_t rows) {
  return tg_attention_push_vop(&w->e->b, w->queue, &w->e->microcode[number], rows);
}

/* Rows of a buffer from `first` on, each `row` bank rows behind the one before, and vectors `vector` apart. */
static tg_stream *set_stream(const writer *w, tg_instr *in, int stream, int kind, bool store,
                             const tg_buffer *buffer, uint32_t first, uint32_t row, uint32_t vector) {
  tg_buffer part = tg_buffer_part(w->e->b.m, buffer, first, buffer->rows - first);
  tg_stream *s = tg_stream_of_mut(&in->vx, stream);
  s->kind = kind;
  s->store = store;
  tg_set_operand(&s->at, &part, false);
  s->banks = part.banks;
  s->row[2] = row;
  s->j[1] = vector;
  return s;
}

static void set_accumulator(const writer *w, tg_instr *in, int stream, uint32_t unit, uint32_t first,
                            uint32_t row, uint32_t vector) {
  tg_stream *s = tg_stream_of_mut(&in->vx, stream);
  s->kind = TG_STREAM_ACC;
  s->at.base = unit % 2 * tg_acc_rows(w->e->b.m) + first;
  s->row[2] = row;
  s->j[1] = vector;
}

/* A VOP cannot load what it stores, so of two buffers one has the state behind even units, the other one that behind
 * odd ones. The first has, behind the state of all rows, the result so far of a row without keys, and then the results
 * so far of odd units; the second the state of a row without keys, and results of even ones: W and D store to the buffer
 * that they do not load from. */
static tg_buffer state_of(const writer *w, uint32_t unit) {
  return slot_of(&w->e->channels[TG_BLOCKED_STATE].ring, unit);
}
static void set_results(const writer *w, tg_instr *in, int stream, bool store, uint32_t unit) {
  const tg_params *m = w->e->b.m;
  const tg_blocked *a = w->e->a;
  tg_buffer state = state_of(w, unit + 1);
  uint32_t first = TG_STATE_ROWS * a->grid.rows + TG_STATE_NO_KEYS,
           vector = tg_kind_flits(m, TG_STREAM_FP32, tg_lanes(m));
  for (uint32_t u = 0; u < (uint32_t)a->added; u++)
    set_stream(w, in, stream++, TG_STREAM_FP32, store, &state, first + u * vector, tg_blocked_sum_row(m, a),
               vector * (uint32_t)a->added);
}

/* A number of each row's state behind unit `unit`, or before any, as W reads and writes it: a vector of `together` rows. */
enum { BEFORE_ALL = -1 };
static void set_states(const writer *w, tg_instr *in, int stream, int number, bool store, int unit) {
  const tg_blocked *a = w->e->a;
  bool before = unit == BEFORE_ALL;
  tg_buffer state = state_of(w, before ? 1 : (uint32_t)unit);
  uint32_t rows = a->grid.rows, index = (uint32_t)number,
           first = before ? TG_STATE_ROWS * rows + index * (TG_STATE_NO_KEYS / 2) : index * rows;
  set_stream(w, in, stream, store || a->together > 1 ? TG_STREAM_FP32 : TG_STREAM_SPLAT32, store, &state,
             first, before ? 0 : (uint32_t)a->together, 0);
}
/* The same in all lanes, for a row. */
static void set_state(const writer *w, tg_instr *in, int stream, int number, int unit) {
  tg_buffer state = state_of(w, (uint32_t)unit);
  set_stream(w, in, stream, TG_STREAM_SPLAT32, false, &state, (uint32_t)number * w->e->a->grid.rows, 1, 0);
}

static void set_operands(const writer *w, tg_instr *in, uint32_t unit) {
  const tg_params *m = w->e->b.m;
  const tg_blocked *a = w->e->a;
  for (int x = 0; x < a->operand_count; x++) {
    bool scalar = a->operand_kind[x] == TG_STREAM_SPLAT32;
    tg_buffer buffer = slot_of(&w->e->channels[TG_BLOCKED_OPERAND + x].ring, unit);
    uint32_t row = a->operand[x].rows == 1 ? 0 : tg_blocked_operand_row(m, a, x),
             vector = scalar ? 0 : tg_kind_flits(m, a->operand_kind[x], tg_lanes(m));
    for (int v = 0; v < tg_blocked_vectors(a); v++)
      set_stream(w, in, (tg_blocked_multiplies(a) + x) * tg_blocked_vectors(a) + v, a->operand_kind[x], false,
                 &buffer, (uint32_t)(v / a->unroll) * row + (uint32_t)(v % a->unroll) * vector,
                 row * (uint32_t)a->together, vector * (uint32_t)a->unroll);
  }
}

/* Columns of a block of keys that are there. */
static int64_t columns_of(const tg_blocked *a, uint32_t block) {
  int64_t left = a->keys - (int64_t)block * a->block;
  return left < 0 ? 0 : left < a->block ? left : a->block;
}

/* W of a unit that takes the place of block number `block` of keys. */
static void push_weights(const writer *w, uint32_t unit, uint32_t block) {
  const tg_params *m = w->e->b.m;
  const tg_blocked *a = w->e->a;
  uint32_t lanes = tg_lanes(m), unroll = (uint32_t)a->unroll, together = (uint32_t)a->together,
           vectors = together * unroll;
  tg_instr *in = push_vop(w, 0, a->grid.rows / together);
  in->vx.seg_repeat = 1 << 1 | 1 << 3;
  in->vx.j_count[1] = a->block / lanes / unroll;
  in->vx.tail_step = (int64_t)lanes * unroll;
  in->vx.tail_n = together > 1 ? lanes / together : columns_of(a, block);
  for (uint32_t v = 0; v < vectors && tg_blocked_multiplies(a); v++)
    set_accumulator(w, in, (int)v, unit, v % unroll * a->grid.rows + v / unroll, together,
                    a->grid.rows * unroll);
  set_operands(w, in, unit);
  tg_buffer weights = slot_of(&w->e->channels[TG_BLOCKED_PROBABILITIES].ring, unit);
  int kind = a->weights == TG_BF16  ? TG_STREAM_BF16
             : a->weights == TG_F16 ? TG_STREAM_FP16
                                    : TG_STREAM_FP32,
      stream = tg_blocked_weights_stream(a);
  uint32_t vector = tg_kind_flits(m, kind, lanes), row = tg_blocked_weight_row(m, a);
  for (uint32_t v = 0; v < vectors; v++)
    set_stream(w, in, stream++, kind, true, &weights, v / unroll * row + v % unroll * vector, row * together,
               vector * unroll);
  int before = block ? (int)(unit + 1) % 2 : BEFORE_ALL;
  set_states(w, in, stream++, TG_STATE_MAXIMUM, false, before);
  set_states(w, in, stream++, TG_STATE_SUM, false, before);
  for (int number = 0; number < TG_STATE_ROWS; number++) set_states(w, in, stream++, number, true, (int)unit);
  if (tg_blocked_multiplies(a)) join(w, in, (tg_join){.channel = TG_BLOCKED_SCORES});
  join(w, in, (tg_join){.channel = TG_BLOCKED_PROBABILITIES, .fills = true, .wait = 1});
  if (a->operand_count) join(w, in, (tg_join){.channel = TG_BLOCKED_OPERANDS_ALL, .wait = 2, .post = 1});
}

static void set_sums(const writer *w, tg_instr *in, uint32_t unit, bool begins) {
  const tg_blocked *a = w->e->a;
  uint32_t lanes = tg_lanes(w->e->b.m), added = (uint32_t)a->added,
           at = tg_blocked_multiplies(a) ? a->grid.rows * (a->block / lanes) : 0;
  tg_buffer first = state_of(w, 0);
  in->vx.seg_repeat = 1 << 1;
  in->vx.j_count[1] = tg_blocked_width(w->e->b.m, a) / lanes / added;
  set_state(w, in, 0, TG_STATE_CHANGE, (int)unit);
  if (!begins) set_results(w, in, 1, false, unit + 1);
  for (uint32_t u = 0; u < added; u++) {
    if (begins)
      set_stream(w, in, 1 + (int)u, TG_STREAM_FP32, false, &first, TG_STATE_ROWS * a->grid.rows, 0, 0);
    set_accumulator(w, in, (int)(1 + added + u), unit, at + u * a->grid.rows, 1, a->grid.rows * added);
  }
}

/* D of a unit, the first of a block of rows or not. */
static void push_addition(const writer *w, uint32_t unit, bool begins) {
  tg_instr *in = push_vop(w, 1, w->e->a->grid.rows);
  set_sums(w, in, unit, begins);
  set_results(w, in, 1 + 2 * w->e->a->added, true, unit);
  join(w, in, (tg_join){.channel = TG_BLOCKED_PRODUCT});
}

/* Vectors of results, from number `at` on, `step` from one to the next. */
static void set_out(const writer *w, tg_instr *in, int stream, uint32_t at, uint32_t step, uint32_t first,
                    bool loops) {
  const tg_blocked *a = w->e->a;
  const tg_buffer *ring = &w->e->channels[TG_BLOCKED_OUT].ring;
  uint32_t vector = tg_kind_flits(w->e->b.m, a->out_kind, tg_lanes(w->e->b.m));
  tg_stream *s =
      set_stream(w, in, stream, a->out_kind, true, ring, 0, tg_blocked_out_row(w->e->b.m, a), vector * step);
  tg_set_rotating(&s->at, ring, first % ring->count, loops ? TG_ROTATE_EACH : TG_ROTATE_NEVER);
  s->at.base += at * vector;
}

/* The last D of a block of rows: the result, into its buffers in turn, from number `first` on. */
static void push_result(const writer *w, uint32_t first, bool loops) {
  const tg_params *m = w->e->b.m;
  const tg_blocked *a = w->e->a;
  tg_instr *in = push_vop(w, 2, a->grid.rows);
  set_sums(w, in, 1, false);
  int stream = 1 + 2 * a->added;
  set_state(w, in, stream++, TG_STATE_SUM, 1);
  for (uint32_t u = 0; u < (uint32_t)a->added; u++)
    set_out(w, in, stream++, u, (uint32_t)a->added, first, loops);
  if (tg_blocked_has_logsum(a)) {
    set_state(w, in, stream++, TG_STATE_MAXIMUM, 1);
    for (int i = 0; i < tg_blocked_vectors_behind(m, a); i++)
      set_out(w, in, stream++, tg_blocked_width(m, a) / tg_lanes(m) + (uint32_t)i, 0, first, loops);
    in->vx.tail_step = (int64_t)tg_lanes(m) * a->added;
    in->vx.tail_n = a->context.n;
  }
  join(w, in, (tg_join){.channel = TG_BLOCKED_PRODUCT});
  join(w, in, (tg_join){.channel = TG_BLOCKED_OUT, .fills = true, .wait = 1});
}

/* The state of a row without keys, and its result so far. */
static void push_begin(const writer *w) {
  tg_instr *in = push_vop(w, 3, 1);
  tg_buffer result = state_of(w, 0), state = state_of(w, 1);
  uint32_t first = TG_STATE_ROWS * w->e->a->grid.rows;
  set_stream(w, in, 0, TG_STREAM_FP32, true, &state, first, 0, 0);
  set_stream(w, in, 1, TG_STREAM_FP32, true, &state, first + TG_STATE_NO_KEYS / 2, 0, 0);
  set_stream(w, in, 2, TG_STREAM_FP32, true, &result, first, 0, 0);
}

static void push_vop_pair(const writer *w, uint32_t block) {
  push_weights(w, 0, block);
  push_addition(w, 1, false);
  push_weights(w, 1, block + 1);
  push_addition(w, 0, false);
}

/* Of a block of rows, all units behind the first W, but for the last D. */
static void push_vops(const writer *w) {
  uint32_t blocks = w->e->a->blocks, pairs = blocks / 2 - 1;
  push_weights(w, 1, 1);
  push_addition(w, 0, true);
  uint32_t begin = w->queue->count;
  if (pairs > 1) { /* all of them whole */
    push_vop_pair(w, 2);
    end_loop(w, 1, pairs - 1, begin);
  }
  if (pairs) push_vop_pair(w, blocks - 2);
}

void tg_blocked_emit_vops(emission *e, tg_queue *queue, tg_turn at) {
  const writer w = {e, queue, at};
  uint32_t units = tg_grid_blocks(&e->a->grid);
  push_begin(&w);
  push_weights(&w, 0, 0);
  if (units > 1) {
    uint32_t begin = queue->count;
    push_vops(&w);
    push_weights(&w, 0, 0);
    push_result(&w, 0, true);
    end_loop(&w, 0, units - 1, begin);
  }
  push_vops(&w);
  push_result(&w, units - 1, false);
}
