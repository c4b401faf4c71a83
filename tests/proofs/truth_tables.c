/* Prints, as functions of SystemVerilog, what the rules of the timing model in C decide: each over its whole small domain, so
 * that the RTL can be proved to decide the same (prove_*.sv). */
#include "sim/machine/sequencer.h"
#include "sim/systemc/agcu.c" /* The rules of these are no functions of their header. */
#include "sim/systemc/lane.c"
#include "sim/systemc/posts.c"

#include <stdio.h>
#include <stdlib.h>

static void begin(const char *name, int result_bits, int input_bits) {
  printf("  function automatic logic [%d:0] %s(input logic [%d:0] in);\n    case (in)\n", result_bits - 1,
         name, input_bits - 1);
}

static void row(uint32_t in, int input_bits, uint32_t result, int result_bits, const char *name) {
  printf("      %d'd%u: %s = %d'd%u;\n", input_bits, in, name, result_bits, result);
}

static void end(const char *name, int result_bits, uint32_t otherwise) {
  printf("      default: %s = %d'd%u;\n    endcase\n  endfunction\n", name, result_bits, otherwise);
}

/* in: index[2..0], loop_count[2..0], 2 bits each. Result: the level whose loop begins again (3: none), index[2..0]. */
static void sequencer_step(void) {
  begin("sequencer_step", 8, 12);
  for (uint32_t in = 0; in < 1u << 12; in++) {
    tg_instr instr = {0};
    tg_queue queue = {.instrs = &instr, .count = 1};
    tg_sequencer s;
    tg_sequencer_init(&s, TG_MX, &queue);
    instr.common.op = TG_OP_sync;
    for (uint32_t l = 0; l < 3; l++) {
      instr.common.loop_begin[l] = 10 + l;
      instr.common.loop_count[l] = in >> 2 * l & 3;
      s.index[l] = in >> (6 + 2 * l) & 3;
    }
    tg_sequencer_step(&s);
    uint32_t level = s.pc == 1 ? 3 : s.pc - 10;
    row(in, 12, level << 6 | (s.index[2] & 3) << 4 | (s.index[1] & 3) << 2 | (s.index[0] & 3), 8,
        "sequencer_step");
  }
  end("sequencer_step", 8, 0);
}

/* in: wait_on[3..0], wait_first[3..0], index[2] is not 0. Result: which of the four waits count. */
static void sequencer_waits(void) {
  begin("sequencer_waits", 4, 9);
  for (uint32_t in = 0; in < 1u << 9; in++) {
    tg_instr instr = {0};
    tg_execution x = {.in = &instr, .index = {0, 0, in & 1}};
    for (uint32_t i = 0; i < 4; i++) {
      instr.common.wait_first[i] = in >> (1 + i) & 1;
      instr.common.wait_on[i] = in >> (5 + i) & 1;
      instr.common.wait_sem[i] = i;
    }
    uint16_t named[TG_MAX_WAITS];
    uint32_t count = tg_execution_waits(&x, named), mask = 0;
    for (uint32_t i = 0; i < count; i++) mask |= 1u << named[i];
    row(in, 9, mask, 4, "sequencer_waits");
  }
  end("sequencer_waits", 4, 0);
}

/* in: loop_count[2] and index[2], 2 bits each, post_last, post_kind. Result: the post's kind as it is performed. */
static void sequencer_post(void) {
  begin("sequencer_post", 2, 7);
  for (uint32_t in = 0; in < 1u << 7; in++) {
    tg_instr instr = {0};
    tg_queue queue = {.instrs = &instr, .count = 1};
    tg_sequencer s;
    tg_sequencer_init(&s, TG_MX, &queue);
    instr.common.op = TG_OP_sync;
    instr.common.post_kind[0] = in & 3;
    instr.common.post_last[0] = in >> 2 & 1;
    instr.common.loop_count[2] = in >> 5 & 3;
    s.index[2] = in >> 3 & 3;
    tg_execution x = tg_sequencer_peek(&s);
    row(in, 7, tg_execution_posts(&x, 0) ? in & 3 : 0, 2, "sequencer_post");
  }
  end("sequencer_post", 2, 0);
}

enum { NOW = 100 };

/* Of three positions. in: the cycles that segments 1 and 0 are still reserved (3 bits each), whether the source nearer to the
 * end is older, whether it asks, whether the other one asks, and goes to the end. Result: the farther one and the nearer one are
 * granted. */
static void lane_grant(const char *name, bool up) {
  begin(name, 2, 10);
  for (uint32_t in = 0; in < 1u << 10; in++) {
    tg_lane_state lane = {.up = up, .reserved = {NOW + (in >> 4 & 7), NOW + (in >> 7 & 7)}};
    uint64_t cycle = 0;
    bool far_asks = in >> 1 & 1, near_asks = in >> 2 & 1, near_older = in >> 3 & 1, whole = in & 1;
    tg_request far = {.age = NOW - 3, .position = up ? 0 : 2, .flits = 1};
    far.first = up || whole ? 0 : 1;
    far.last = up && !whole ? 0 : 1;
    tg_request near = {
        .age = near_older ? NOW - 4 : NOW - 2, .position = 1, .first = up, .last = up, .flits = 1};
    const tg_request *order[2] = {near_older ? &near : &far, near_older ? &far : &near};
    for (int i = 0; i < 2; i++)
      if (order[i] == &far ? far_asks : near_asks) lane.requests[lane.count++] = *order[i];
    const tg_request *next = next_grant(&lane, NOW, &cycle);
    uint32_t granted = next && cycle == NOW ? (next->position == 1 ? 1 : 2) : 0;
    row(in, 10, granted, 2, name);
  }
  end(name, 2, 0);
}

/* The matrix unit, P = 2. in: whether it has issued nothing yet, a_transposed of the next GEMM and of the last one, their formats,
 * the cycles until the last one's end is over (3: or more), and whether T_last + pitch - B S is yet to come. Result: the next one
 * may issue. */
static void mx_earliest(void) {
  begin("mx_earliest", 1, 10);
  for (uint32_t in = 0; in < 1u << 10; in++) {
    tg_instr instr = {.mx = {.op = TG_OP_mx_gemm, .format = in >> 5 & 3, .a_transposed = in >> 8 & 1}};
    tg_unit_state u = {.next = {.in = &instr}, .ready = NOW - 1};
    u.gemm = (tg_mx_before){.format = in >> 9 & 1 ? -1 : (int)(in >> 3 & 3),
                            .transposed = in >> 7 & 1,
                            .gate = NOW + (in & 1),
                            .end = NOW - 1 + (in >> 1 & 3)};
    row(in, 10, tg_mx_earliest(&u) <= NOW, 1, "mx_earliest");
  }
  end("mx_earliest", 1, 0);
}

/* Blocks. in: their format and how many rows are read for each. Result: the pitch. */
static void mx_pitch(void) {
  begin("mx_pitch", 7, 7);
  const tg_params params = {.p = 2, .fma_latency = 3};
  for (uint32_t in = 0; in < 1u << 7; in++)
    row(in, 7, (uint32_t)tg_mx_pitch(&params, in >> 5, in & 31), 7, "mx_pitch");
  end("mx_pitch", 7, 0);
}

/* in: format and rows as above, and the last cycle of a frame. Result: the cycles behind the next one's first in which the block's
 * weights are not free, modulo 32. */
static void mx_held(void) {
  begin("mx_held", 5, 13);
  const tg_params params = {.p = 2, .fma_latency = 3};
  for (uint32_t in = 0; in < 1u << 13; in++) {
    const tg_mx_instr instr = {.format = in >> 11, .m_count = {1, in >> 6 & 31}, .blk_count = {1, 1, 1, 1}};
    tg_mx_shape shape = tg_mx_shape_of(&params, &instr);
    uint64_t free = shape.lead + shape.hold, next = (in & 63) + 1;
    row(in, 13, free > next + 1 ? (free - next - 1) & 31 : 0, 5, "mx_held");
  }
  end("mx_held", 5, 0);
}

/* A GEMM of one block. in: its format, a_transposed, which of 15, 1, 3 and 9 rows, the cycles behind the issue in which the weights of
 * the GEMM before are not free. Result: the same behind the next one's issue, and the cycles from this issue to that. */
static void mx_frame(void) {
  static const int64_t rows[4] = {15, 1, 3, 9};
  begin("mx_frame", 11, 10);
  for (uint32_t in = 0; in < 1u << 10; in++) {
    tg_params params = {.p = 2, .fma_latency = 3};
    tg_mx_instr instr = {.format = in >> 8 & 3,
                         .a_transposed = in >> 7 & 1,
                         .m_count = {1, rows[in >> 5 & 3]},
                         .blk_count = {1, 1, 1, 1}};
    tg_mx_shape shape = tg_mx_shape_of(&params, &instr);
    tg_mx_before before = {.free = NOW + (in & 31) + 1};
    (void)tg_mx_times_of(&params, &shape, &instr, NOW, &before);
    uint64_t held = before.free > before.gate ? before.free - before.gate - 1 : 0;
    row(in, 10, (uint32_t)(held << 6 | (before.gate - NOW)), 11, "mx_frame");
  }
  end("mx_frame", 11, 0);
}

/* Of three contexts. in: which of them have a burst for the port, which of these a STORE's, whether a load buffer is free, the
 * context granted last. Result: the one that is granted; 3: none. */
static void port_grant(void) {
  begin("port_grant", 2, 9);
  for (uint32_t in = 0; in < 1u << 9; in++) {
    tg_params params = {.agcu_contexts = 3};
    tg_instr load = {.common.op = TG_OP_agcu_load}, store = {.common.op = TG_OP_agcu_store};
    tg_unit_state units[3] = {0};
    uint16_t first_unit[1] = {0};
    tg_port_state port = {.granted = in & 3};
    tg_chip chip = {.m = &params, .now = NOW, .unit = units, .port = &port, .first_unit = first_unit};
    for (uint32_t c = 0; c < 3; c++) {
      units[c].now.in = in >> (3 + c) & 1 ? &store : &load;
      units[c].busy = in >> (6 + c) & 1;
      units[c].start = NOW - 1;
      units[c].flits = 1;
    }
    bool starved = false;
    uint32_t unit = next_unit(&chip, 0, in >> 2 & 1, &starved);
    row(in, 9, unit == NO_UNIT ? 3 : unit, 2, "port_grant");
  }
  end("port_grant", 2, 3);
}

/* A chip of 3 x 3 tiles, of which a table looks at one endpoint's units and at the lanes. */
static void nobody_wakes(void *host, uint32_t agent, uint64_t cycle) { (void)host, (void)agent, (void)cycle; }

enum { STREAMS = 4, MIDDLE = 4, SEMAPHORES = 8 };
typedef struct tg_small_chip {
  tg_chip chip;
  tg_params params;
  tg_unit_state unit[3];
  tg_lane_state lane[12];
  tg_post_lane post_lane[12];
  tg_stream_state stream[STREAMS];
  tg_posting ring[STREAMS];
  tg_post_due due[STREAMS];
  uint16_t first_stream[15];
  tg_semaphore semaphore[15 * SEMAPHORES];
  uint64_t wake_at[6];
} tg_small_chip;

static void small_chip(tg_small_chip *s) {
  *s = (tg_small_chip){.params = {.rows = 3, .cols = 3, .semaphores = SEMAPHORES, .p = 2, .fma_latency = 3}};
  s->chip = (tg_chip){.m = &s->params,
                      .wake = nobody_wakes,
                      .unit = s->unit,
                      .lane = s->lane,
                      .lanes = 12,
                      .post_lane = s->post_lane,
                      .stream = s->stream,
                      .streams = STREAMS,
                      .due = s->due,
                      .first_stream = s->first_stream,
                      .semaphore = s->semaphore,
                      .agents = 6,
                      .wake_at = s->wake_at,
                      .post_count = 1,
                      .open = 100,
                      .fault_at = TG_NEVER};
  for (uint32_t u = 0; u < 3; u++)
    s->unit[u] = (tg_unit_state){.kind = (tg_unit)u, .endpoint = MIDDLE, .busy = true};
  for (uint32_t l = 0; l < 12; l++) s->lane[l].up = l % 6 < 3;
  for (uint32_t i = 0; i < STREAMS; i++)
    s->stream[i] = (tg_stream_state){.ring = &s->ring[i], .size = 1, .limit = 2, .held = 1};
  for (uint32_t a = 0; a < 6; a++) s->wake_at[a] = TG_NEVER;
}

/* Of four positions. in: how many cycles ago, less one, a post was performed, its source, its destination, a position. Result: it
 * keeps a post of that position from its slot now; a semaphore there counts it from the next cycle on. */
static void post_hops(const char *name, bool up) {
  begin(name, 2, 8);
  for (uint32_t in = 0; in < 1u << 8; in++) {
    uint32_t ago = (in >> 6) + 1, source = in >> 4 & 3, destination = in >> 2 & 3, position = in & 3;
    if (up ? source >= destination : source <= destination) continue;
    tg_small_chip small;
    small_chip(&small);
    tg_chip *chip = &small.chip;
    chip->lane[0].up = up;
    small.stream[0].count = 1;
    small.ring[0] = (tg_posting){.count = 1, .post = {{.lane = 0, .position = source}}};
    small.ring[0].post[0].hops = up ? destination - source : source - destination;
    chip->now = NOW - ago;
    perform(chip, 0, NOW - ago);
    bool counted = destination == position && chip->posts[small.semaphore[0].head].visible == NOW + 1;
    const tg_remote mine = {.lane = 0, .position = position, .hops = 1};
    chip->now = NOW;
    bool refused = position != (up ? 3 : 0) && !enter(chip, &mine, NOW);
    row(in, 8, (uint32_t)refused << 1 | counted, 2, name);
    free(chip->posts);
  }
  end(name, 2, 0);
}

/* An endpoint with a place on both sides. in: of each stream whether it has a post, and where to (0: none, 1: here, 2: to higher
 * positions, 3: to lower ones), and whether the slots to higher and to lower positions are free. Result: which streams' are
 * performed. */
static void posts_done(const char *name, int64_t kind) {
  static const tg_unit unit_of[STREAMS] = {TG_MX, TG_MX, TG_VX, TG_TX};
  begin(name, 4, 10);
  for (uint32_t in = 0; in < 1u << 10; in++) {
    tg_small_chip small;
    small_chip(&small);
    tg_chip *chip = &small.chip;
    chip->now = NOW;
    uint32_t lanes[2] = {kind == TG_POST_ROW ? 1 : 7, kind == TG_POST_ROW ? 4 : 10}, wanted = 0, done = 0;
    for (uint32_t way = 0; way < 2; way++)
      if (!(in >> (9 - way) & 1)) *slots(&small.post_lane[lanes[way]], NOW + 1) |= way ? 1u << 1 : 1u << 2;
    for (uint32_t s = 0; s < STREAMS; s++) {
      uint32_t where = in >> 2 * s & 3;
      tg_instr instr = {.common.op = s == SYNCS ? TG_OP_sync : TG_OP_mx_gemm};
      instr.common.post_kind[0] = where == 1 ? TG_POST_LOCAL : kind;
      instr.common.post_pos[0] = where == 2 ? 3 : 1;
      tg_execution x = {.in = &instr};
      if (!where) continue;
      wanted |= 1u << s;
      tg_posts_end(chip, unit_of[s], &x, NOW);
    }
    chip->now = NOW + 1;
    tg_posts_follow(chip);
    for (uint32_t s = 0; s < STREAMS; s++)
      if (wanted >> s & 1 && !small.stream[s].count) done |= 1u << s;
    row(in, 10, done, 4, name);
    free(chip->posts);
  }
  end(name, 4, 0);
}

int main(void) {
  puts("// Generated by truth_tables: what the timing model in C decides.\npackage decisions;");
  sequencer_step();
  sequencer_waits();
  sequencer_post();
  lane_grant("lane_grant_up", true);
  lane_grant("lane_grant_down", false);
  mx_earliest();
  mx_frame();
  mx_pitch();
  mx_held();
  port_grant();
  post_hops("post_hops_up", true);
  post_hops("post_hops_down", false);
  posts_done("posts_done_row", TG_POST_ROW);
  posts_done("posts_done_col", TG_POST_COL);
  puts("endpackage");
  return 0;
}
