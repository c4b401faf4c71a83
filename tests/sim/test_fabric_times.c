/* Hand-written programs of tx, lanes, AGCUs and semaphores, with the cycles that docs/machine.md gives for
 * them, worked out by hand; every engine with time has to show them. */
#include "sim/machine/engine.h"
#include "tests/harness.h"
#include "tests/sim/engine_runs.h"
#include "tests/sim/support.h"

#include <stdio.h>

typedef struct expected {
  uint16_t endpoint;
  uint8_t unit, context;
  uint16_t pc;
  uint64_t start, end;
} expected;

typedef struct fabric_case {
  const char *name, *program;
  uint64_t cycles;
  expected events[16]; /* ended by a zero end */
} fabric_case;

/* A linear walk of rows of four FP32 elements on a flit of 16 bytes. */
#define ROWS(n) "rows=" #n " take=4 m_radix=1,1," #n " k_radix=1,1,4 stride=0,0,16,0,0,4 y_size=1 x_size=1 "

static const fabric_case cases[] = {
    /* One instruction a unit: cfg = 48 (tg_test_settle). LOAD: 4 pieces of one atom of 4 cycles, t0 = 49, c = 49+3+60 = 112,
     * seen by the lane's arbiter at 113, granted at 114, e = 118. Flits arrive at 117..120, so SEND issues at 121, is granted at 123,
     * e = 127; they arrive at 126..129; STORE issues at 130, t0 = 131, e = 131+4. */
    {"chain",
     "arch tiny\ndram 4096\nsection \"s\"\nagcu 0\n"
     "ctx 0 load base=0 " ROWS(4) "dst_base=128 dst_inner=4 dst_mask=6 dst_post=1 dst_sem=5\n"
                                  "ctx 1 store base=1 " ROWS(
                                      4) "src_base=7 wait_on=1 wait_sem=3\n"
                                         "tile 0\ntx send dir=1 flits=4 src_base=128 src_inner=4 dst_base=7 "
                                         "dst_inner=4 dst_mask=1 dst_post=1 dst_sem=3 "
                                         "wait_on=1 wait_sem=5\ninvoke 0 \"i\"\nbase 0=0 1=1024\n",
     141,
     {{4, TG_AGCU, 0, 0, 48, 118}, {0, TG_TX, 0, 0, 121, 127}, {4, TG_AGCU, 1, 0, 130, 135}}},
    /* The same with a channel of DDR4-3200 (tRCD = tRP = tCL = 13.75 ns, a burst of 2.5, 20 ns of controller). All rows are of
     * one atom, which the first piece asks for at 49: at the channel at 51, ACT 51, RD 64.75, data until 81, there at
     * 101. The others come at 102..104; the link needs 4 cycles from 101 on: c = 104, 8 before the fixed latency's 112, and
     * so all that follows. STORE: t0 = 123, e = 127. Its atom waits until the run's end at 133: its row is open, WR 133,
     * data from 143 to 145.5, so cycle 145 is the last. */
    {"chain_device",
     "arch tiny\ndevice ddr4-3200,channels=1,hash=none,map=gcbr\ndram 4096\nsection \"s\"\nagcu 0\n"
     "ctx 0 load base=0 " ROWS(4) "dst_base=128 dst_inner=4 dst_mask=6 dst_post=1 dst_sem=5\n"
                                  "ctx 1 store base=1 " ROWS(
                                      4) "src_base=7 wait_on=1 wait_sem=3\n"
                                         "tile 0\ntx send dir=1 flits=4 src_base=128 src_inner=4 dst_base=7 "
                                         "dst_inner=4 dst_mask=1 dst_post=1 dst_sem=3 "
                                         "wait_on=1 wait_sem=5\ninvoke 0 \"i\"\nbase 0=0 1=1024\n",
     146,
     {{4, TG_AGCU, 0, 0, 48, 110}, {0, TG_TX, 0, 0, 113, 119}, {4, TG_AGCU, 1, 0, 122, 127}}},
    /* Eight atoms of eight rows of a bank, one behind the other, and only two may wait at the port (three more have to find
     * room): pieces go at 49, 50, then as atoms leave for the channel, one a cycle: each is taken two cycles after it came.
     * ACT 51, RD 64.75; PRE at ACT + tRAS (32), ACT 13.75 after that: every 45.75 ns a row. The last RD is at 64.75 + 7 * 45.75
     * = 385, its data until 401.25, there at 422 (421.25). The link needs 4 cycles an atom, far less: c = 422, granted at 424,
     * e = 424 + 8. */
    {"rows_of_a_bank",
     "arch tiny\ndevice ddr4-3200,channels=1,hash=none,map=gcbr,port_queue=5\ndram 2097152\nsection "
     "\"s\"\nagcu 0\n"
     "ctx 0 load rows=8 take=4 m_radix=1,1,8 k_radix=1,1,4 stride=0,0,131072,0,0,4 y_size=1 x_size=1 "
     "dst_base=128 dst_inner=8 dst_mask=2\ninvoke 0 \"i\"\n",
     438,
     {{4, TG_AGCU, 0, 0, 48, 432}}},
    /* While port 1 waits for these (c = 454, e = 464), port 0 has a STORE: 10 cycles behind the SYNC, t0 = 91, e = 95, and the next SYNC
     * behind that. The run is over at 470: PRE then, ACT 483.75, WR 497.5, data from 507.5 to 510, so cycle 509 is the last. */
    {"a_store_ends_while_a_device_is_waited_for",
     "arch tiny\ndevice ddr4-3200,channels=1,hash=none,map=gcbr,port_queue=5\ndram 2097152\nsection "
     "\"s\"\nagcu 0\nctx 0 sync\nctx 0 store base=1 " ROWS(
         4) "\nctx 0 sync\nagcu 1\n"
            "ctx 0 load rows=8 take=4 m_radix=1,1,8 k_radix=1,1,4 stride=0,0,131072,0,0,4 y_size=1 x_size=1 "
            "dst_base=128 dst_inner=8 dst_mask=2\ninvoke 0 \"i\"\nbase 0=0 1=1024\n",
     510,
     {{4, TG_AGCU, 0, 0, 80, 80},
      {4, TG_AGCU, 0, 1, 90, 95},
      {4, TG_AGCU, 0, 2, 96, 96},
      {5, TG_AGCU, 0, 0, 80, 464}}},
    /* Ten rows by index, words 2 to 11 of the store memory: three of its rows, read at 49 .. 51. The first piece goes at 54; 10
     * atoms of 4 cycles: c = 54+39+60 = 153, granted at 155, e = 165. */
    {"rows_by_index",
     "arch tiny\ndram 4096\nsection \"s\"\nagcu 0\n"
     "ctx 0 load rows=10 take=4 m_radix=10,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 "
     "index_size=20 "
     "index_stride=16 index_base=2 dst_base=128 dst_inner=10 dst_mask=2\ninvoke 0 \"i\"\n",
     171,
     {{4, TG_AGCU, 0, 0, 48, 165}}},
    /* A row of 72 flits, 64 and 8, stored: each burst reads its index again. t0 = 49, pieces from 52 on (64 atoms' quarters are
     * 16 atoms, of 4 cycles: 64 pieces); 52+63 = 115 is its last cycle, the other's 116+3+7 = 126, e = 127. */
    {"a_row_of_two_bursts",
     "arch tiny\ndram 4096\nsection \"s\"\nagcu 0\n"
     "ctx 0 store rows=1 take=288 m_radix=1,1,1 k_radix=1,1,288 stride=0,0,0,0,0,4 y_size=1 x_size=1 "
     "index_size=2 "
     "index_stride=1152 src_base=8\ninvoke 0 \"i\"\n",
     133,
     {{4, TG_AGCU, 0, 0, 48, 127}}},
    /* Two westbound bursts of 8 flits, requested at 49 both. The lower position is granted at 50 and holds
     * segment 0 until 58; the other crosses it one hop after its grant, so it is granted at 57. */
    {"lane_contention",
     "arch tiny\nsection \"s\"\n"
     "tile 0\ntx send dir=1 flits=8 src_inner=8 dst_inner=8 dst_mask=1\n"
     "tile 1\ntx send dir=1 flits=8 src_inner=8 dst_base=8 dst_inner=8 dst_mask=1\ninvoke 0 \"i\"\n",
     71,
     {{0, TG_TX, 0, 0, 48, 58}, {1, TG_TX, 0, 0, 48, 65}}},
    /* East and west are lanes of their own, and each of two neighbours can send to the other at once. */
    {"two_directions",
     "arch tiny\nsection \"s\"\n"
     "tile 0\ntx send dir=0 flits=8 src_inner=8 dst_base=256 dst_inner=8 dst_mask=4\n"
     "tile 1\ntx send dir=1 flits=8 src_inner=8 dst_base=130 dst_inner=8 dst_mask=2\ninvoke 0 \"i\"\n",
     64,
     {{0, TG_TX, 0, 0, 48, 58}, {1, TG_TX, 0, 0, 48, 58}}},
    /* 70 flits: a burst of 64 granted at 50, the next requested at 52 and granted when the lane is free, at
       114. */
    {"two_bursts",
     "arch tiny\nsection \"s\"\ntile 0\n"
     "tx send dir=2 flits=70 src_inner=70 dst_base=256 dst_inner=70 dst_mask=4 dst_post=1 dst_sem=9 "
     "post_kind=1 post_sem=2\n"
     "vx sync wait_on=1 wait_sem=2\ntile 2\nvx sync wait_on=1 wait_sem=9\ninvoke 0 \"i\"\n",
     129,
     {{0, TG_TX, 0, 0, 48, 120}, {0, TG_VX, 0, 0, 121, 121}, {2, TG_VX, 0, 0, 123, 123}}},
    /* Local posts are visible after one cycle, remote ones after hops + 1, each post of an instruction a cycle after the one
     * before it; three rounds of a loop. cfg = 64. The AGCU posts at 64 (tile 0 sees it at 66) and at 65 (tile 1 at
     * 68); that one goes past tile 0 in cycle 66, while it posts locally, and no longer at 67, when it posts east itself (69);
     * north at 68 (70). */
    {"posts",
     "arch tiny\nsection \"s\"\n"
     "agcu 0\nctx 0 sync post_kind=2,2 post_pos=1,2 post_sem=7,7\n"
     "tile 0\nvx sync wait_on=1 wait_sem=7 post_kind=1,2,3 post_pos=0,2,0 post_sem=8,6,0\nmx sync wait_on=1 "
     "wait_sem=8\n"
     "tile 1\nvx sync wait_on=1 wait_sem=7\ntx sync wait_on=1 wait_sem=6\n"
     "agcu 2\nctx 3 sync wait_on=1 wait_sem=0\n"
     "tile 3\nmx sync\nmx sync loop_count=0,0,3 loop_begin=0,0,1\ninvoke 0 \"i\"\n",
     76,
     {{4, TG_AGCU, 0, 0, 64, 64},
      {0, TG_VX, 0, 0, 66, 66},
      {0, TG_MX, 0, 0, 67, 67},
      {1, TG_VX, 0, 0, 68, 68},
      {1, TG_TX, 0, 0, 69, 69},
      {6, TG_AGCU, 3, 0, 70, 70},
      {3, TG_MX, 0, 0, 64, 64},
      {3, TG_MX, 0, 1, 65, 65},
      {3, TG_MX, 0, 1, 66, 66},
      {3, TG_MX, 0, 1, 67, 67}}},
    /* The AGCU's post for tile 1 is past tile 0 in cycle 49. Tile 0 posts east at 48 and would at 49, but does at 50: seen at 50,
     * the AGCU's at 51, tile 0's second at 52. */
    {"posts_share_slots",
     "arch tiny\nsection \"s\"\nagcu 0\nctx 0 sync post_kind=2 post_pos=2 post_sem=7\n"
     "tile 0\nvx sync post_kind=2,2 post_pos=2,2 post_sem=5,6\n"
     "tile 1\nvx sync wait_on=1 wait_sem=5\ntx sync wait_on=1 wait_sem=7\nmx sync wait_on=1 "
     "wait_sem=6\ninvoke 0 "
     "\"i\"\n",
     58,
     {{4, TG_AGCU, 0, 0, 48, 48},
      {0, TG_VX, 0, 0, 48, 48},
      {1, TG_VX, 0, 0, 50, 50},
      {1, TG_TX, 0, 0, 51, 51},
      {1, TG_MX, 0, 0, 52, 52}}},
    /* Three units post west in one cycle: mx, then vx, then tx. */
    {"posts_in_order_of_units",
     "arch tiny\nsection \"s\"\n"
     "tile 1\nmx sync post_kind=2 post_pos=1 post_sem=0\nvx sync post_kind=2 post_pos=1 post_sem=1\n"
     "tx sync post_kind=2 post_pos=1 post_sem=2\n"
     "tile 0\nmx sync wait_on=1 wait_sem=2\nvx sync wait_on=1 wait_sem=0\ntx sync wait_on=1 "
     "wait_sem=1\ninvoke 0 "
     "\"i\"\n",
     58,
     {{1, TG_MX, 0, 0, 48, 48},
      {1, TG_VX, 0, 0, 48, 48},
      {1, TG_TX, 0, 0, 48, 48},
      {0, TG_VX, 0, 0, 50, 50},
      {0, TG_TX, 0, 0, 51, 51},
      {0, TG_MX, 0, 0, 52, 52}}},
    /* SYNCs of four posts each: the first's are performed at 48 .. 51, the second's at 52 .. 55. The third finds room for it,
     * as registered, at 52, the fourth at 56. */
    {"a_stream_of_posts_is_full",
     "arch tiny\nsection \"s\"\n"
     "tile 0\nmx sync loop_count=0,0,4 post_kind=1,1,1,1 post_sem=0,1,2,3\ninvoke 0 \"i\"\n",
     62,
     {{0, TG_MX, 0, 0, 48, 48},
      {0, TG_MX, 0, 0, 49, 49},
      {0, TG_MX, 0, 0, 52, 52},
      {0, TG_MX, 0, 0, 56, 56}}},
    /* cfg = 64. Context 0 has bursts of 64 flits and of 1, context 1 one of 2; four flits an atom. The
     * port: 65..128, 129..132 (context 1), 133..136. Data complete at 188, 192, 196. Granted at 190; at 254,
     * when the lane is free; at 257, requested one cycle after that grant. The SYNC of context 0 follows its
     * last burst's grant. */
    {"port_round_robin",
     "arch tiny\ndram 4096\nsection \"s\"\nagcu 0\n"
     "ctx 0 load " ROWS(65) "dst_base=128 dst_inner=65 dst_mask=2\nctx 0 sync\n"
                            "ctx 1 load " ROWS(2) "dst_base=256 dst_inner=2 dst_mask=2\ninvoke 0 \"i\"\n",
     264,
     {{4, TG_AGCU, 0, 0, 64, 258}, {4, TG_AGCU, 0, 1, 134, 134}, {4, TG_AGCU, 1, 0, 64, 256}}},
    /* Every other element: 8 pieces of one element, those of a row in one atom, 2 atoms of 4 cycles: t0 = 49, e of the
     * STORE 49 + 8. Contiguous elements of a run of 40: the flits cross atoms only at 64 bytes: 3 atoms, 12
     * cycles, t0 = 57, e = 57 + 12. */
    {"pieces",
     "arch tiny\ndram 4096\nsection \"s\"\nagcu 1\n"
     "ctx 0 store rows=2 take=4 m_radix=1,1,2 k_radix=1,1,4 stride=0,0,64,0,0,8 y_size=1 x_size=1\n"
     "ctx 1 store base=1 rows=1 take=40 m_radix=1,1,1 k_radix=1,1,40 stride=0,0,0,0,0,4 y_size=1 x_size=1\n"
     "invoke 0 \"i\"\nbase 1=1024\n",
     75,
     {{5, TG_AGCU, 0, 0, 48, 57}, {5, TG_AGCU, 1, 0, 48, 69}}},
    /* Rows of 16 bytes, 24 apart: the first three begin in 64 bytes, and 8 of the third are behind them, in the second
     * atom, which begins there and has the fourth and fifth, too; of the sixth, from 120 on, 8. The third atom has the last
     * three: 3 atoms of 4 cycles for 8 pieces, t0 = 49, e = 49 + 12. Rows that go down have an atom each: 8 * 4 cycles, t0 = 61. */
    {"atoms_of_rows",
     "arch tiny\ndram 4096\nsection \"s\"\nagcu 1\n"
     "ctx 0 store rows=8 take=4 m_radix=1,1,8 k_radix=1,1,4 stride=0,0,24,0,0,4 y_size=1 x_size=1\n"
     "ctx 1 store base=1 offset=256 rows=8 take=4 m_radix=1,1,8 k_radix=1,1,4 stride=0,0,-16,0,0,4 y_size=1 "
     "x_size=1\n"
     "invoke 0 \"i\"\nbase 1=1024\n",
     99,
     {{5, TG_AGCU, 0, 0, 48, 61}, {5, TG_AGCU, 1, 0, 48, 93}}},
};

static const tg_engine *const engines[] = {
#if TEGULA_WITH_RTL
    &tg_engine_rtl,
#endif
#if TEGULA_WITH_SYSTEMC
    &tg_engine_systemc,
#endif
};

static const tg_event *find(const tg_run_result *result, const expected *want) {
  for (size_t i = 0; i < result->event_count; i++) {
    const tg_event *e = &result->events[i];
    if (e->endpoint == want->endpoint && e->unit == want->unit && e->context == want->context &&
        e->pc == want->pc && e->start == want->start)
      return e;
  }
  return NULL;
}

static void check_case(const fabric_case *c, const tg_engine *engine) {
  tg_program *program;
  tg_diag diag = {""};
  tg_status status = tg_program_parse(c->program, &program, &diag);
  EXPECT_STR(diag.message, "");
  ASSERT(status == TG_OK);
  tg_test_settle(program);
  engine_run run = engine_run_program(engine, program, (tg_run_options){0});
  EXPECT_STR(run.diag.message, "");
  if (!run.status) {
    size_t count = 0;
    for (; c->events[count].end; count++) {
      const tg_event *e = find(&run.result, &c->events[count]);
      if (!e)
        tg_test_fail(__FILE__, __LINE__, "%s: endpoint %u pc %u does not start at %llu", engine->name,
                     c->events[count].endpoint, c->events[count].pc,
                     (unsigned long long)c->events[count].start);
      else
        EXPECT_EQ(e->end, c->events[count].end);
    }
    EXPECT_EQ(run.result.event_count, count);
    EXPECT_EQ(run.result.cycles, c->cycles);
  }
  engine_run_release(&run);
  tg_program_destroy(program);
}

/* A suite for each engine: fabric_times_rtl, fabric_times_systemc. */
typedef struct fabric_row {
  const fabric_case *c;
  const tg_engine *engine;
} fabric_row;

static void check_row(const void *row) {
  check_case(((const fabric_row *)row)->c, ((const fabric_row *)row)->engine);
}

enum { CASES = sizeof cases / sizeof *cases, ENGINES = sizeof engines / sizeof *engines };

__attribute__((constructor)) static void register_cases(void) {
  static fabric_row rows[CASES * ENGINES];
  for (size_t i = 0; i < CASES * ENGINES; i++) {
    static char suites[ENGINES][32];
    rows[i] = (fabric_row){&cases[i % CASES], engines[i / CASES]};
    snprintf(suites[i / CASES], sizeof *suites, "fabric_times_%s", rows[i].engine->name);
    tg_test_register_row(suites[i / CASES], rows[i].c->name, __FILE__, __LINE__, check_row, &rows[i]);
  }
}
