/* The memory model: cycles worked out by hand from the device's times, and the rules of DRAM commands checked by code of
 * their own. */
#include "sim/dram/controller.h"
#include "sim/machine/dram_address.h"
#include "tests/dram/traffic.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>

static tg_params params_of(const char *array, const char *spec) {
  tg_params params;
  tg_diag diag = {""};
  if (!tg_params_load(array, &params, &diag)) tg_dram_device_load(spec, NULL, &params.dram, &diag);
  EXPECT_STR(diag.message, "");
  return params;
}

/* ---- cycles by hand ---- */

typedef struct request {
  uint64_t cycle, address;
  bool write;
} request;

typedef struct timed_case {
  const char *name, *spec;
  request requests[8]; /* of port 0, ended by `count` */
  int count;
  uint64_t arrival;   /* of the last read; 0: there is none */
  uint64_t written;   /* what drain returns */
  uint32_t clock_mhz; /* of the array; 0: as it is */
} timed_case;

/* One channel of DDR4-3200 on an array of 1 GHz: tRCD = tRP = tCL = 13.75 ns, a burst of 2.5 ns, 20 ns of controller. What a
 * port sends in cycle t crosses to the channel in t + 1, and the channel sees it at (t + 2) ns. Without a hash, address
 * bits 6..7 are the group, 8..14 the column, 15..16 the bank, 17.. the row. */
#define DDR4    "ddr4-3200,channels=1,hash=none,map=gcbr"
#define AT_ONCE ",postponed=0"
#define ROUND   ",tREFI=8000000,tRFCpb=20000"
#define SINGLE  ROUND AT_ONCE
#define DRAINS  ",write_high=1,write_low=0"
static const timed_case timed_cases[] = {
    /* ACT 2, RD 15.75, data until 15.75 + 13.75 + 2.5 = 32, 52 with the controller. */
    {"closed_bank", DDR4, {{0, 0, false}}, 1, 52, 0},
    /* The next column of the row: tCCD_L later, at 20.75: until 37, 57. */
    {"row_hit", DDR4, {{0, 0, false}, {1, 256, false}}, 2, 57, 0},
    /* Another group: ACT tRRD_S after the first, 4.5, RD 18.25 which is also tCCD_S after the first: 34.5, 54.5. */
    {"another_group", DDR4, {{0, 0, false}, {1, 64, false}}, 2, 55, 0},
    /* Another row: PRE at ACT + tRAS = 34, ACT 47.75 (= tRC, too), RD 61.5: until 77.75, 97.75. */
    {"bank_conflict", DDR4, {{0, 0, false}, {1, 1 << 17, false}}, 2, 98, 0},
    /* ACTs at 2, 4.5, 7, 9.5; the fifth tFAW after the first, at 23: RD 36.75, until 53, 73. */
    {"four_activates",
     DDR4,
     {{0, 0, false}, {1, 64, false}, {2, 128, false}, {3, 192, false}, {4, 1 << 15, false}},
     5,
     73,
     0},
    /* WR 15.75, its data until 28.25; a read of another group tWTR_S later, at 30.75: until 47, 67. */
    {"write_to_read", DDR4 DRAINS, {{0, 0, true}, {1, 64, false}}, 2, 67, 28},
    /* Of the same group (and row) tWTR_L later, at 35.75: until 52, 72. */
    {"write_to_read_of_a_group", DDR4 DRAINS, {{0, 0, true}, {1, 256, false}}, 2, 72, 28},
    /* RD 15.75; WR at 15.75 + tCL + 2.5 + 1.25 - tCWL = 23.25, its data until 35.75. */
    {"read_to_write", DDR4 DRAINS, {{0, 0, false}, {1, 64, true}}, 2, 52, 35},
    /* A refresh is due at 7800: no ACT before 8150, RD 8163.75, until 8180, 8200. */
    {"refresh", DDR4 AT_ONCE, {{7798, 0, false}}, 1, 8200, 0},
    /* It closes rows: the one opened at 2 is precharged at 7800, so the refresh begins at 7813.75. */
    {"refresh_closes_rows", DDR4 AT_ONCE, {{0, 0, false}, {7798, 0, false}}, 2, 8214, 0},
    /* It waits for an access, and then until nobody has waited for tRFC, from the decision at 7800 on: PRE 8150, REF 8163.75, ACT
     * 8513.75, RD 8527.5, until 8543.75, 8563.75. */
    {"refresh_waits_for_accesses", DDR4, {{7798, 0, false}, {8300, 0, false}}, 2, 8564, 0},
    /* A nanosecond before, the row is still open: RD 8149, until 8165.25, 8185.25. */
    {"refresh_waits_for_quiet", DDR4, {{7798, 0, false}, {8147, 0, false}}, 2, 8186, 0},
    /* One that is owed is all that may be. */
    {"refresh_at_last", DDR4 ",postponed=1", {{7798, 0, false}}, 1, 8200, 0},
    /* A round of single banks is owed at 8000. They go tRRD_L after each other, four in tFAW: bank 12 at 8063, bank 15 at 8077.7. ACT
     * tFAW after the former, 8084, RD 8097.75, until 8114, 8134. */
    {"refreshes_of_a_round", DDR4 ROUND, {{7999, 0, false}}, 1, 8134, 0},
    /* Before, none is done. */
    {"refreshes_wait_for_a_round", DDR4 ROUND, {{7500, 0, false}}, 1, 7552, 0},
    /* Of single banks, one each tREFI / 16 = 500: nothing waits at 500, so it is bank 0. It has no ACT until 520: RD 533.75,
     * until 550, 570. */
    {"refresh_of_a_bank", DDR4 SINGLE, {{499, 0, false}}, 1, 570, 0},
    /* What waits for bank 0 at 500 lets bank 1 of the group go first: ACT tRRD_L after, 504.9: RD 518.65, 534.9, 554.9. */
    {"refresh_of_what_is_not_wanted", DDR4 SINGLE, {{498, 0, false}}, 1, 555, 0},
    /* Another group has its ACT tRRD_S after: 502.5, RD 516.25, until 532.5, 552.5. */
    {"refresh_of_another_bank", DDR4 SINGLE, {{498, 64, false}}, 1, 553, 0},
    /* It closes the bank's row: PRE at 500, REF 513.75, ACT 533.75, RD 547.5, until 563.75, 583.75. */
    {"refresh_closes_a_row", DDR4 SINGLE, {{0, 0, false}, {499, 0, false}}, 2, 584, 0},
    /* Closed pages: PRE by itself at 34, ACT 47.75 for the same row, as for another. */
    {"closed_page", DDR4 ",page=closed", {{0, 0, false}, {100, 1 << 17, false}}, 2, 152, 0},
    {"closed_page_again", DDR4 ",page=closed", {{0, 0, false}, {1, 0, false}}, 2, 98, 0},
    /* All wait for a refresh. The first is decided when it comes, as the others are not there; of these the bank conflict goes first in
     * order: PRE 8182, ACT 8195.75, RD 8209.5, and another group's RD tCCD_S later, 8212: until 8228.25, 8248.25. */
    {"in_order",
     DDR4 AT_ONCE ",order=in-order",
     {{7798, 0, false}, {7799, 1 << 17, false}, {7800, 64, false}},
     3,
     8249,
     0},
    /* The third, of another group, goes before the second, and closes its row though that, of the same row in another bank, waits; so the
     * last's ACT is at 8402, RD 8415.75, until 8432, 8452. */
    {"closed_page_while_others_wait",
     DDR4 AT_ONCE ",page=closed",
     {{7798, 0, false}, {7799, 1 << 15, false}, {7800, 64, false}, {8400, (1 << 17) + 64, false}},
     4,
     8452,
     0},
    /* The writes wait (one is below the mark), a read of what is written comes from the queue: 3 + 20. Drained
     * from 3 on: ACT 3, WR 16.75, data until 29.25. */
    {"forwarded", DDR4, {{0, 0, true}, {1, 0, false}}, 2, 23, 29},
    /* Cycles of 4 ns. The row of the first is closed behind it, so the third's RD is at 67.5. What is next is decided 27.5
     * before, at 40, when the channel sees the fifth; it is of the same row as the fourth, which stays open therefore. So again at 44
     * with the last: RDs at 71.5, 76.5, 81.5; the last's data until 97.75, 117.75. */
    {"decided_with_what_comes_then",
     DDR4 ",page=closed",
     {{0, 128, false},
      {1, 1 << 17, false},
      {2, 128, false},
      {7, 256, false},
      {8, 256, false},
      {9, 256, false}},
     6,
     30,
     0,
     250},
    /* Cycles of 2.5 ns, room for four. The seventh waits at its port until the third is decided, at 37, and is there at 37.5; the next
     * decision is at 39.5, and it goes before three that wait for a row that was closed. Their RDs are at 110.25, 115.25 and 120.25,
     * 156.5 with the controller: cycle 63, and the seventh's data are handed on behind them. */
    {"crosses_in_the_cycle_of_a_decision",
     DDR4 ",read_queue=4,page=closed",
     {{0, 256, false},
      {1, 256, false},
      {2, 128, false},
      {3, 0, false},
      {4, 256, false},
      {5, 256, false},
      {6, 1 << 15, false}},
     7,
     64,
     0,
     400},
};

static void note(void *user, uint32_t port, uint64_t cycle) {
  (void)port;
  *(uint64_t *)user = cycle;
}

static void check_timed(const void *row) {
  const timed_case *c = row;
  tg_params params = params_of("tiny", c->spec);
  if (c->clock_mhz) params.clock_mhz = c->clock_mhz;
  uint64_t arrival = 0;
  tg_controller *m = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL});
  for (int i = 0; i < c->count; i++) {
    tg_controller_advance(m, c->requests[i].cycle);
    EXPECT(tg_controller_ready(m, 0));
    tg_controller_send(m, 0, c->requests[i].address, 64, c->requests[i].write, true);
  }
  while (tg_controller_next(m) != UINT64_MAX) tg_controller_advance(m, tg_controller_next(m));
  EXPECT_EQ(arrival, c->arrival);
  uint64_t written = tg_controller_drain(m);
  if (c->written) EXPECT_EQ(written, c->written);
  tg_controller_destroy(m);
}

__attribute__((constructor)) static void register_timed(void) {
  for (size_t i = 0; i < sizeof timed_cases / sizeof *timed_cases; i++)
    tg_test_register_row("dram_times", timed_cases[i].name, __FILE__, __LINE__, check_timed, &timed_cases[i]);
}

/* LPDDR5: an atom is two accesses of 32 bytes of one row, tCCD_L apart: ACT 2, RD 20, RD 25, data until 25 + 21.25 + 2.5 =
 * 48.75, 68.75. */
TG_TEST(dram, an_atom_of_two_accesses) {
  tg_params params = params_of("tiny", "lpddr5-6400,channels=1");
  uint64_t arrival = 0;
  tg_controller *m = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL});
  tg_controller_send(m, 0, 0, 64, false, true);
  tg_controller_drain(m);
  EXPECT_EQ(arrival, 69);
  EXPECT_EQ(tg_controller_counts(m).read, 64);
  EXPECT_EQ(tg_controller_counts(m).hits, 1);
  EXPECT_EQ(tg_controller_counts(m).misses, 1);
  tg_controller_destroy(m);
}

/* A piece asks for the atoms its valid bytes touch, and not again for the burst's last. */
TG_TEST(dram, atoms_of_pieces) {
  tg_params params = params_of("tiny", DDR4);
  uint64_t arrival = 0;
  tg_controller *m = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL});
  tg_controller_send(m, 0, 0, 0, false, true);
  EXPECT_EQ(arrival, 1);
  static const struct {
    uint64_t address;
    uint32_t bytes;
    bool first;
  } pieces[] = {{32, 32, false}, {0, 64, false}, {60, 8, false}, {60, 8, true}};
  for (uint64_t i = 0; i < 4; i++) { /* atoms: 0; none; 1; 0 and 1 */
    tg_controller_advance(m, i + 1);
    tg_controller_send(m, 0, pieces[i].address, pieces[i].bytes, false, pieces[i].first);
  }
  tg_controller_drain(m);
  EXPECT_EQ(tg_controller_counts(m).read, 4 * 64);
  tg_controller_destroy(m);
}

/* A piece of two atoms in two channels has come with the later one, the bank conflict's, whichever is decided last. One that asks for
 * nothing has come in the next cycle. */
TG_TEST(dram, arrivals_of_pieces) {
  tg_params params = params_of("tiny", "ddr4-3200,channels=2,hash=none,map=hgcbr");
  uint64_t arrival = 0;
  tg_controller *m = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL});
  tg_controller_send(m, 0, 0, 64, false, true);
  tg_controller_advance(m, 1);
  tg_controller_send(m, 0, (1 << 18) + 60, 8, false, true);
  while (tg_controller_next(m) != UINT64_MAX) tg_controller_advance(m, tg_controller_next(m));
  EXPECT_EQ(arrival, 98);
  tg_controller_advance(m, 200);
  tg_controller_send(m, 0, 0, 0, false, true);
  EXPECT_EQ(arrival, 201);
  tg_controller_destroy(m);
}

/* What ports ask for in a cycle of their own each, and when the last of a port has come. */
typedef struct shared_request {
  uint32_t port;
  uint64_t cycle;
  bool write;
} shared_request;
typedef struct shared_case {
  const char *name, *spec;
  shared_request requests[4]; /* of atom 0, ended by `count` */
  int count;
  uint64_t arrivals[3]; /* of ports 0, 1 and 2; 0: nothing has come */
  uint64_t joined, read;
} shared_case;

static const shared_case shared_cases[] = {
    /* The data of the first pass the bus until 32, and are there at 52: for all that were in front of the channel before. */
    {"ports_read_an_atom_together",
     DDR4,
     {{0, 0, false}, {1, 1, false}, {2, 29, false}},
     3,
     {52, 52, 52},
     2,
     64},
    /* A cycle later there is nothing to be joined: RD 33, until 49.25, 69.25. */
    {"an_atom_that_has_come", DDR4, {{0, 0, false}, {2, 31, false}}, 2, {52, 0, 70}, 0, 128},
    /* Both wait behind a refresh until 8150: RD 8163.75, 8200 with the controller. */
    {"accesses_that_wait_together",
     DDR4 AT_ONCE,
     {{0, 7798, false}, {1, 7900, false}},
     2,
     {8200, 8200, 0},
     1,
     64},
    /* An entry has a place for each port: the second one is read again, tCCD_L later, until 37, 57. */
    {"a_port_joins_itself_not", DDR4, {{0, 0, false}, {0, 1, false}}, 2, {57, 0, 0}, 0, 128},
    /* The write is on its way at 23.25, until 35.75, when port 2 asks: what port 0 waits for is older. RD tWTR_L later, 43.25,
     * until 59.5, 79.5. */
    {"what_was_written_since",
     DDR4 DRAINS,
     {{0, 0, false}, {1, 1, true}, {2, 20, false}},
     3,
     {52, 0, 80},
     0,
     128},
};

static void note_port(void *user, uint32_t port, uint64_t cycle) {
  if (port < 3) ((uint64_t *)user)[port] = cycle;
}

static void check_shared(const void *row) {
  const shared_case *c = row;
  tg_params params = params_of("tiny", c->spec);
  uint64_t arrivals[3] = {0};
  tg_controller *m = tg_controller_create(&params, &(tg_controller_host){arrivals, note_port, NULL});
  for (int i = 0; i < c->count; i++) {
    tg_controller_advance(m, c->requests[i].cycle);
    tg_controller_send(m, c->requests[i].port, 0, 64, c->requests[i].write, true);
  }
  while (tg_controller_next(m) != UINT64_MAX) tg_controller_advance(m, tg_controller_next(m));
  for (int p = 0; p < 3; p++) EXPECT_EQ(arrivals[p], c->arrivals[p]);
  EXPECT_EQ(tg_controller_counts(m).joined, c->joined);
  EXPECT_EQ(tg_controller_counts(m).read, c->read);
  tg_controller_destroy(m);
}

__attribute__((constructor)) static void register_shared(void) {
  for (size_t i = 0; i < sizeof shared_cases / sizeof *shared_cases; i++)
    tg_test_register_row("dram_shared", shared_cases[i].name, __FILE__, __LINE__, check_shared,
                         &shared_cases[i]);
}

/* Requests of 32 cycles to many rows of all banks, from one port. When the last has come; 0: it is ended before. */
static uint64_t ask(tg_controller *m, uint32_t port, uint64_t *arrival, bool end) {
  *arrival = 0;
  for (uint64_t i = 0; i < 32; i++) {
    tg_controller_advance(m, i);
    if (tg_controller_ready(m, port))
      tg_controller_send(m, port, i % 16 * 64 + (i << 15), 64, i % 8 == 0, true);
  }
  if (!end) return 0;
  while (tg_controller_next(m) != UINT64_MAX) tg_controller_advance(m, tg_controller_next(m));
  tg_controller_drain(m);
  return *arrival;
}

/* What was under way, rows that were open, and counts are gone: requests take the time of those of a new one. */
TG_TEST(dram, a_reset_forgets_everything) {
  tg_params params = params_of("tiny", DDR4 ",read_queue=4,write_queue=4,write_high=3,write_low=1");
  uint64_t arrival;
  tg_controller *m = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL}),
                *again = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL});
  uint64_t fresh = ask(m, 0, &arrival, true);
  EXPECT(fresh > 300);
  ask(again, 0, &arrival, false);
  for (int run = 0; run < 2; run++) {
    tg_controller_reset(again);
    EXPECT_EQ(ask(again, 0, &arrival, true), fresh);
    tg_dram_counts counts[2] = {tg_controller_counts(m), tg_controller_counts(again)};
    EXPECT(!memcmp(&counts[0], &counts[1], sizeof counts[0]));
  }
  tg_controller_destroy(m);
  tg_controller_destroy(again);
}

/* A refresh of each channel is due every tREFI, whether it is asked for anything or not: four channels of which one is read, in
 * 20 us, 7.8 us each; of single banks 16 times as many, the last at 19987.5 ns, or two rounds. */
TG_TEST(dram, idle_channels_are_refreshed) {
  static const struct {
    const char *spec;
    uint64_t refreshes;
  } cases[] = {{"ddr4-3200,channels=4", 4 * 2},
               {"ddr4-3200,channels=4,tRFCpb=90000", 4 * 32},
               {"ddr4-3200,channels=4,tRFCpb=90000,postponed=0", 4 * 41}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_params params = params_of("tiny", cases[i].spec);
    uint64_t arrival = 0;
    tg_controller *m = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL});
    tg_controller_send(m, 0, 0, 64, false, true);
    tg_controller_advance(m, 20000);
    tg_controller_drain(m);
    EXPECT_EQ(tg_controller_counts(m).refreshes, cases[i].refreshes);
    tg_controller_destroy(m);
  }
}

/* No more than dram_latency + 1 pieces are in flight, no more atoms wait than there is room for. */
TG_TEST(dram, ports_are_held_back) {
  tg_params params = params_of("tiny", DDR4 ",port_queue=8");
  uint64_t arrival = 0;
  tg_controller *m = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL});
  int sent = 0;
  while (tg_controller_ready(m, 0)) tg_controller_send(m, 0, 192 * (uint64_t)sent++, 64, false, true);
  EXPECT_EQ(sent, 6); /* 3 are kept free for the next piece */
  tg_controller_destroy(m);
  params.dram_latency = 3;
  m = tg_controller_create(&params, &(tg_controller_host){&arrival, note, NULL});
  for (sent = 0; sent < 100; sent++) {
    tg_controller_advance(m, (uint64_t)sent);
    if (!tg_controller_ready(m, 0)) break;
    tg_controller_send(m, 0, 64 * (uint64_t)sent, 64, false, true);
  }
  EXPECT_EQ(sent, 4);
  EXPECT(tg_controller_ready(m, 1));
  tg_controller_advance(m, 52); /* the first one's data come in this cycle */
  EXPECT(!tg_controller_ready(m, 0));
  tg_controller_advance(m, 53);
  EXPECT(tg_controller_ready(m, 0));
  tg_controller_destroy(m);
}

/* ---- the rules of commands ---- */

typedef struct log {
  tg_dram_event *events;
  size_t count, capacity;
} log_of;

static void keep(void *user, const tg_dram_event *event) {
  log_of *l = user;
  if (l->count == l->capacity) {
    l->capacity = l->capacity ? 2 * l->capacity : 1024;
    l->events = realloc(l->events, l->capacity * sizeof *l->events);
  }
  l->events[l->count++] = *event;
}

static int by_time(const void *left, const void *right) {
  const tg_dram_event *a = left, *b = right;
  if (a->channel != b->channel) return a->channel < b->channel ? -1 : 1;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->command != TG_DRAM_PRECHARGE) - (b->command != TG_DRAM_PRECHARGE);
}

/* Pairs of commands of one channel that have to keep a distance. */
static const char *distance(const tg_dram_device *d, const tg_dram_event *a, const tg_dram_event *b,
                            uint64_t burst, uint64_t *out_least) {
  bool group = a->group == b->group, bank = group && a->bank == b->bank;
  uint64_t least = 0;
  const char *rule = NULL;
#define RULE(condition, time)                                                                                \
  if ((condition) && (time) > least) least = (time), rule = #time
  bool column_a = a->command == TG_DRAM_READ || a->command == TG_DRAM_WRITE;
  if (a->command == TG_DRAM_ACTIVATE) {
    RULE(b->command == TG_DRAM_ACTIVATE, d->tRRD_S);
    RULE(b->command == TG_DRAM_ACTIVATE && group, d->tRRD_L);
    RULE(b->command == TG_DRAM_ACTIVATE && bank, d->tRC);
    RULE((b->command == TG_DRAM_READ || b->command == TG_DRAM_WRITE) && bank, d->tRCD);
    RULE(b->command == TG_DRAM_PRECHARGE && bank, d->tRAS);
  }
  if (a->command == TG_DRAM_PRECHARGE)
    RULE((b->command == TG_DRAM_ACTIVATE && bank) || (b->command == TG_DRAM_REFRESH && (bank || !d->tRFCpb)),
         d->tRP);
  if (a->command == TG_DRAM_REFRESH && !d->tRFCpb)
    RULE(b->command == TG_DRAM_ACTIVATE || b->command == TG_DRAM_REFRESH, d->tRFC);
  if (d->tRFCpb && (a->command == TG_DRAM_REFRESH || b->command == TG_DRAM_REFRESH)) {
    bool opens = a->command != TG_DRAM_PRECHARGE && !column_a && b->command != TG_DRAM_PRECHARGE &&
                 b->command != TG_DRAM_READ && b->command != TG_DRAM_WRITE;
    RULE(opens, d->tRRD_S);
    RULE(opens && group, d->tRRD_L);
    RULE(opens && bank && a->command == TG_DRAM_REFRESH, d->tRFCpb);
    RULE(opens && bank && a->command == TG_DRAM_ACTIVATE, d->tRC);
  }
  if (column_a && a->command == b->command) {
    RULE(true, d->tCCD_S);
    RULE(true, burst);
    RULE(group, d->tCCD_L);
  }
  if (a->command == TG_DRAM_WRITE && b->command == TG_DRAM_READ) {
    RULE(true, d->tCWL + burst + d->tWTR_S);
    RULE(group, d->tCWL + burst + d->tWTR_L);
  }
  if (a->command == TG_DRAM_READ && b->command == TG_DRAM_WRITE)
    RULE(true, d->tCL + burst + d->tRTW - d->tCWL);
  if (a->command == TG_DRAM_READ && b->command == TG_DRAM_PRECHARGE) RULE(bank, d->tRTP);
  if (a->command == TG_DRAM_WRITE && b->command == TG_DRAM_PRECHARGE) RULE(bank, d->tCWL + burst + d->tWR);
#undef RULE
  *out_least = least;
  return rule;
}

/* Of single banks each has its turn before any has the next one. `count`: refreshes of the channel until this one. */
static void check_round(const tg_dram_event *e, uint64_t count, const tg_dram_device *d) {
  static bool done[512];
  uint32_t banks = d->groups * d->banks;
  if (count % banks == 1) memset(done, 0, sizeof done);
  EXPECT(!done[e->group * d->banks + e->bank]);
  done[e->group * d->banks + e->bank] = true;
}

/* What tFAW counts: a refresh of a bank, too. */
static bool opens_row(const tg_dram_device *d, const tg_dram_event *e) {
  return e->command == TG_DRAM_ACTIVATE || (e->command == TG_DRAM_REFRESH && d->tRFCpb);
}

static void check_log(const tg_dram_device *d, log_of *l) {
  static int64_t open[256][512]; /* row of each bank, or -1 */
  memset(open, -1, sizeof open);
  qsort(l->events, l->count, sizeof *l->events, by_time);
  uint64_t burst = ((uint64_t)d->burst * 1000000 + d->rate - 1) / d->rate, activates = 0, refreshes = 0,
           interval = d->tRFCpb ? d->tREFI / (d->groups * d->banks) : d->tREFI;
  for (size_t i = 0; i < l->count; i++) {
    const tg_dram_event *e = &l->events[i];
    if (i && e->channel != e[-1].channel) refreshes = 0;
    int64_t *row = &open[e->channel][e->group * d->banks + e->bank];
    if (e->command == TG_DRAM_ACTIVATE) {
      EXPECT_EQ(*row, -1);
      *row = e->row;
      activates++;
    } else if (e->command == TG_DRAM_PRECHARGE) {
      EXPECT_EQ(*row, e->row);
      *row = -1;
    } else if (e->command == TG_DRAM_REFRESH) {
      for (uint32_t b = 0; b < d->groups * d->banks && !d->tRFCpb; b++) EXPECT_EQ(open[e->channel][b], -1);
      EXPECT_EQ(*row, -1);
      refreshes++;
      /* when it is due, and never later than by what it may be, tREFI and what was going on */
      EXPECT(e->time >= refreshes * interval);
      EXPECT(e->time < refreshes * interval + (1 + d->postponed) * (uint64_t)d->tREFI);
      if (d->tRFCpb) check_round(e, refreshes, d);
    } else {
      EXPECT_EQ(*row, e->row);
    }
    uint32_t within = 0;
    for (size_t j = i; j-- && l->events[j].channel == e->channel && e->time - l->events[j].time < 1000000;) {
      uint64_t least;
      const char *rule = distance(d, &l->events[j], e, burst, &least);
      if (e->time - l->events[j].time < least)
        tg_test_fail(__FILE__, __LINE__, "channel %u: %s does not hold at %llu", e->channel, rule,
                     (unsigned long long)e->time);
      within += e->command == TG_DRAM_ACTIVATE && opens_row(d, &l->events[j]) &&
                e->time - l->events[j].time < d->tFAW;
    }
    EXPECT(within < 4);
  }
  EXPECT(activates > 0);
}

static void obey(const char *array, const char *spec, traffic t) {
  tg_params params = params_of(array, spec);
  log_of l = {0};
  traffic_result r = traffic_run(&params, &t, keep, &l);
  check_log(&params.dram, &l);
  /* every atom was moved, once, but those found in a write queue, or with another port's */
  EXPECT_EQ(r.counts.read + r.counts.written + 64 * (r.counts.forwarded + r.counts.joined + r.counts.merged),
            64ull * t.atoms * tg_agcus(&params));
  EXPECT_EQ(r.counts.hits + r.counts.misses + r.counts.conflicts,
            (r.counts.read + r.counts.written) / tg_dram_access_bytes(&params.dram));
  free(l.events);
}

TG_TEST(dram, commands_obey_the_device) {
  static const char *const changes[] = {"",
                                        ",page=closed",
                                        ",order=in-order",
                                        ",hash=none,map=crbgh",
                                        ",window=1,port_queue=4",
                                        ",tRFCpb=0",
                                        ",postponed=0",
                                        ",tREFI=1200000,tRFC=300000,tRFCpb=9000,postponed=1",
                                        ",tREFI=1200000,tRFC=300000,tRFCpb=9000"};
  for (const char *const *name = tg_dram_device_names() + 1; *name; name++)
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
      char spec[80];
      snprintf(spec, sizeof spec, "%s%s", *name, changes[c]);
      obey("edge", spec, (traffic){.kind = TRAFFIC_RANDOM, .atoms = 400, .writes = 30, .seed = 1});
      obey("edge", spec, (traffic){.kind = TRAFFIC_SEQUENTIAL, .atoms = 400, .writes = 50, .seed = 2});
      obey("tiny", spec, (traffic){.kind = TRAFFIC_STRIDED, .atoms = 400, .writes = 10, .stride = 8192});
    }
}

/* How often the host asks is no part of the result. */
TG_TEST(dram, polling_changes_nothing) {
  tg_params params = params_of("edge", "lpddr5-6400");
  params.clock_mhz = 733;
  traffic t = {.kind = TRAFFIC_RANDOM, .atoms = 2000, .writes = 20, .seed = 7};
  traffic_result often = traffic_run(&params, &t, NULL, NULL);
  t.poll = 17;
  traffic_result seldom = traffic_run(&params, &t, NULL, NULL);
  EXPECT_EQ(often.cycles, seldom.cycles);
  EXPECT(!memcmp(&often.counts, &seldom.counts, sizeof often.counts));
}

/* ---- addresses ---- */

/* Rows of a matrix, whatever power of two of bytes they are apart, lie in all channels alike: as many as there are channels
 * are in half of them at least. One behind the other, so many stretches of 256 bytes are each in another. */
TG_TEST(dram, channels_of_strides) {
  for (const char *const *name = tg_dram_device_names() + 1; *name; name++) {
    tg_params params = params_of("rack", *name);
    uint32_t channels = params.dram.channels;
    tg_dram_address_map map;
    tg_dram_address_map_init(&map, &params.dram);
    for (uint64_t stride = 256; stride * channels <= tg_dram_capacity(&params.dram) / 2; stride *= 2) {
      bool used[256] = {0};
      uint32_t count = 0;
      for (uint32_t i = 0; i < channels; i++) {
        uint32_t channel = tg_dram_place_channel(tg_dram_place_of(&map, ((5ull << 24) + i * stride) / 64));
        count += !used[channel];
        used[channel] = true;
      }
      if (count < channels / 2 || (stride == 256 && count < channels))
        tg_test_fail(__FILE__, __LINE__, "%s: rows %llu bytes apart are in %u channels of %u", *name,
                     (unsigned long long)stride, count, channels);
    }
  }
}

/* The channel's bit lowest, and all bits above it folded onto it, whatever a map held before. */
TG_TEST(dram, channels_by_all_bits_above) {
  tg_params params = params_of("tiny", "ddr4-3200,channels=2,map=hcgbr");
  tg_dram_address_map map;
  for (size_t i = 0; i < sizeof map; i++) ((uint8_t *)&map)[i] = (uint8_t)(1 + i / sizeof map.table[0] * 37);
  tg_dram_address_map_init(&map, &params.dram);
  for (uint64_t atom = 0; atom < 4096; atom++)
    EXPECT_EQ(tg_dram_place_channel(tg_dram_place_of(&map, atom)), __builtin_popcountll(atom) % 2);
}

/* ---- specs ---- */

TG_TEST(dram, specs) {
  tg_arena arena = {0};
  tg_dram_device d, again;
  tg_diag diag = {""};
  tg_dram_device_load("hbm2e-3200,channels=64,page=closed,map=c1ghcbr", NULL, &d, &diag);
  EXPECT_STR(diag.message, "");
  EXPECT_STR(tg_dram_device_print(&d, &arena), "hbm2e-3200,map=c1ghcbr,channels=64,page=closed");
  tg_dram_device_load(tg_dram_device_print(&d, &arena), NULL, &again, &diag);
  EXPECT(tg_dram_device_equal(&d, &again));
  EXPECT_EQ(tg_dram_peak(&d), 64 * 25600000000ll);
  tg_dram_device_load("ddr4-3200", NULL, &d, &diag);
  EXPECT_EQ(tg_dram_capacity(&d), 16ll << 30);
  EXPECT_EQ(tg_dram_peak(&d), 51200000000ll);
  tg_dram_device_load("ddr4-3200,channels=1,map=h0gcbr", NULL, &d, &diag); /* none of a kind that has none */
  EXPECT_STR(diag.message, "");
  d.tCL = 0; /* as of a binary program */
  EXPECT_EQ(tg_dram_device_check(&d, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "dram tCL: 0 is not in 1..1000000");
  d.tCL = 1000001;
  diag = (tg_diag){""};
  EXPECT_EQ(tg_dram_device_check(&d, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "dram tCL: 1000001 is not in 1..1000000");
  /* channels by powers of two, the rest by the clock; what the cells take stays */
  tg_dram_device_load("hbm2e-3200,bandwidth=1 TB/s", NULL, &d, &diag);
  EXPECT_EQ(tg_dram_peak(&d), 999936000000ll);
  EXPECT(d.channels == 32 && d.rate == 3906 && d.tCCD_S == 1025 && d.tRCD == 12000);
  static const struct {
    const char *spec, *message;
  } bad[] = {
      {"ddr9", "dram \"ddr9\": is no device and no .yaml file; the devices there are: simple, ddr4-3200, "
               "lpddr5-6400, gddr6-14000, hbm2e-3200, hbm3-6400"},
      {"simple,", "dram: a change between its commas is empty"},
      {"ddr4-3200,tCL=20,,tCWL=16", "dram: a change between its commas is empty"},
      {"simple,tCL=1", "dram tCL: the device simple has no parameters"},
      {"ddr4-3200,tCL=0", "dram tCL: 0 is not in 1..1000000"},
      {"ddr4-3200,tCL=-1", "dram tCL: \"-1\" is not a whole number"},
      {"ddr4-3200,tXX=1", "dram: there is no parameter \"tXX\""},
      {"ddr4-3200,tCL", "dram: \"tCL\" is not key=value"},
      {"ddr4-3200,bandwidth=fast", "dram bandwidth: \"fast\" is no rate, as 100GB/s"},
      {"ddr4-3200,bandwidth=900TB/s",
       "dram: 9e+05 GB/s is more or less than ddr4-3200 gives with any channels"},
      {"ddr4-3200,channels=3", "dram channels: 3 is not a power of two"},
      {"ddr4-3200,burst=16", "dram burst: an access of 128 bytes is none of 16, 32, 64"},
      {"ddr4-3200,page=ajar", "dram page: \"ajar\" is none of open|closed"},
      {"ddr4-3200,map=gcbr", "dram map: \"gcbr\" leaves out bits of a kind"},
      {"ddr4-3200,map=ghcbrx", "dram map: \"ghcbrx\" has a letter that is none of c, h, g, b, r"},
      {"ddr4-3200,map=g3hcbr", "dram map: \"g3hcbr\" takes more bits of a kind than it has"},
      {"hbm3-6400,map=hcgbr", "dram map: \"hcgbr\" changes the channel within an atom of 64 bytes"},
      {"ddr4-3200,tREFI=100000,tRFC=90000", "dram tREFI: less than twice tRFC + tRC"},
      {"lpddr5-6400,tREFI=2000000", "dram tRFCpb: with tRC more than tREFI over the banks of a channel"},
      {"ddr4-3200,write_low=48", "dram write_low: not below write_high"},
      {"ddr4-3200,write_high=65", "dram write_high: the queue of 64 is full before"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    diag = (tg_diag){""};
    EXPECT_EQ(tg_dram_device_load(bad[i].spec, NULL, &d, &diag), TG_INVALID);
    EXPECT_STR(diag.message, bad[i].message);
  }
  tg_arena_release(&arena);
}

TG_TEST(dram, files) {
  char path[200], array[200];
  snprintf(path, sizeof path, "%s/mine.yaml", tg_test_dir());
  snprintf(array, sizeof array, "%s/array.yaml", tg_test_dir());
  static const struct {
    const char *text, *message; /* after the path; NULL: it is good */
  } cases[] = {
      {"base: lpddr5-6400\nchannels: 4\npage: closed\n", NULL},
      {"channels: 4\n", ": line 1: base: wants the name of a device, as the first line"},
      {"base: lpddr5-6400\nchannels: [4]\n", ": line 2: only `key: value` lines are understood"},
      {"base: lpddr5-6400\nchannels: 1e3\n", ": line 2: dram channels: \"1e3\" is not a whole number"},
      {"", ": names no base"},
      {"- a\n", ": line 1: only `key: value` lines are understood"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    FILE *file = fopen(path, "w");
    fputs(cases[i].text, file);
    fclose(file);
    tg_dram_device d;
    tg_diag diag = {""};
    char wanted[400];
    snprintf(wanted, sizeof wanted, "%s%s", cases[i].message ? path : "",
             cases[i].message ? cases[i].message : "");
    tg_dram_device_load(path, NULL, &d, &diag);
    EXPECT_STR(diag.message, wanted);
    if (!cases[i].message) EXPECT_EQ(d.channels, 4);
  }
  FILE *file = fopen(array, "w");
  fputs("base: tiny\ndram_bandwidth: 51.2 GB/s\ndram: ddr4-3200,channels=4\nbanks: 8\n", file);
  fclose(file);
  tg_params params;
  tg_diag diag = {""};
  tg_params_load(array, &params, &diag);
  EXPECT_STR(diag.message, "");
  EXPECT_EQ(tg_dram_peak(&params.dram), 51200000000ll); /* whatever stands behind it */
  EXPECT_EQ(params.dram.channels, 2);
  EXPECT_EQ(params.banks, 8);
  file = fopen(path, "w");
  fputs("base: lpddr5-6400\nchannels: 2\n", file);
  fclose(file);
  file = fopen(array, "w");
  fputs("base: tiny\ndram: mine.yaml,page=closed\n", file); /* of the array's folder */
  fclose(file);
  tg_params_load(array, &params, &diag);
  EXPECT_STR(diag.message, "");
  EXPECT_EQ(params.dram.channels, 2);
  EXPECT_EQ(params.dram.page, TG_PAGE_CLOSED);
}

/* ---- the share of the peak ---- */

/* Cycles of all patterns of bench_dram, where refreshes are done when they are due, whose shares of the peak docs/dram.md compares with published figures: a change of the
 * model that moves them is meant, or a defect. */
enum { PATTERNS = 9 };
static const traffic patterns[PATTERNS] = {
    {.kind = TRAFFIC_SEQUENTIAL},
    {.kind = TRAFFIC_SEQUENTIAL, .writes = 100},
    {.kind = TRAFFIC_SEQUENTIAL, .writes = 33},
    {.kind = TRAFFIC_SEQUENTIAL, .writes = 50},
    {.kind = TRAFFIC_STRIDED, .stride = 256},
    {.kind = TRAFFIC_STRIDED, .stride = 4096},
    {.kind = TRAFFIC_STRIDED, .stride = 1 << 20},
    {.kind = TRAFFIC_RANDOM, .seed = 1},
    {.kind = TRAFFIC_RANDOM, .seed = 1, .writes = 50},
};
static const struct {
  const char *device;
  uint64_t cycles[PATTERNS];
  double least, most; /* share of the peak: sequential reads at least, random ones at most */
} shares[] = {
    {"ddr4-3200", {42030, 42187, 48827, 48791, 88029, 42799, 88417, 88600, 89577}, 0.9, 0.5},
    {"lpddr5-6400", {20541, 21685, 22684, 23190, 22817, 23271, 23728, 23420, 30659}, 0.9, 0.95},
    {"gddr6-14000", {5102, 5223, 6118, 6178, 8790, 8941, 8811, 9134, 9837}, 0.85, 0.6},
    {"hbm2e-3200", {5381, 5372, 6194, 6262, 8856, 8981, 9039, 9120, 9984}, 0.9, 0.62},
    {"hbm3-6400", {2792, 2855, 3221, 3440, 4546, 4667, 4639, 4734, 5287}, 0.85, 0.62},
};

TG_TEST(dram, shares_of_the_peak) {
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
    char at_once[64];
    snprintf(at_once, sizeof at_once, "%s" AT_ONCE, shares[i].device);
    tg_params params = params_of("rack", at_once), postpones = params_of("rack", shares[i].device);
    double share[PATTERNS];
    for (int p = 0; p < PATTERNS; p++) {
      traffic t = patterns[p];
      t.atoms = 1000;
      traffic_result r = traffic_run(&params, &t, NULL, NULL);
      if (r.cycles != shares[i].cycles[p])
        tg_test_fail(__FILE__, __LINE__, "%s, pattern %d: %llu cycles, not %llu", shares[i].device, p,
                     (unsigned long long)r.cycles, (unsigned long long)shares[i].cycles[p]);
      EXPECT(traffic_run(&postpones, &t, NULL, NULL).cycles <= r.cycles);
      share[p] = traffic_share(&params, &r);
      EXPECT(share[p] <= 1);
    }
    EXPECT(share[0] >= shares[i].least);
    EXPECT(share[7] <= shares[i].most);
  }
}
