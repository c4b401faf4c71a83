/* What an engine with time tells while it runs: for traces and profiles. An observer never changes a cycle or
 * a bit; without one an engine does nothing for it.
 *
 * Cycles count from the begin of the run. Calls come in no order of time: the end of a GEMM is known when it
 * issues. Within one unit, instructions that issue in order are told in order of their starts, except that a
 * STORE may be told before an earlier LOAD of its context. All pointers are borrowed for the call. */
#ifndef TEGULA_MACHINE_OBSERVER_H
#define TEGULA_MACHINE_OBSERVER_H

#include "sim/machine/sequencer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An instruction's execution. Engines without time give 0 for both cycles. */
typedef struct tg_event {
  uint64_t start, end; /* cycles since the run began */
  uint32_t invocation;
  uint16_t endpoint; /* tile row-major, then AGCUs */
  uint8_t unit;      /* tg_unit */
  uint8_t context;   /* of an AGCU */
  uint16_t pc;
} tg_event;

/* Why a unit did not go on. There is no stall at a bank: an access to an owned bank is a fault of the program
 * (docs/machine.md, section 3), so who needs a bank waits for a semaphore. */
typedef enum tg_stall_cause {
  TG_STALL_SEMAPHORE, /* what: the number of the own endpoint's semaphore that came last */
  TG_STALL_LANE,      /* what: the lane, numbered as tg_burst.where */
  TG_STALL_PORT,      /* what: the context that the DRAM port served */
  TG_STALL_BUFFERS,   /* no load buffer free: bursts wait for memory or lane. what: 0 */
} tg_stall_cause;

/* Unit and instruction as in `at`, whose start and end are the first and the last cycle lost. */
typedef struct tg_stall {
  tg_event at;
  tg_stall_cause cause;
  uint32_t what;
} tg_stall;

/* A burst on a lane or at a DRAM port, of the instruction in `at`; start is the grant, end the last cycle in
 * which it occupies its first segment or the port. */
typedef struct tg_burst {
  tg_event at;
  bool lane;      /* else a DRAM port */
  bool store;     /* ports: STORE, else LOAD */
  uint32_t where; /* port: number of the AGCU; lane: east by row, then west by row, south by column, north */
  uint32_t flits;
  uint32_t atoms; /* ports: 64-byte atoms of DRAM */
  uint64_t asked; /* when it could have been granted */
} tg_burst;

typedef struct tg_observer {
  void *user;
  /* An invocation begins to be configured at `begin`; told before anything of it. */
  void (*begin)(void *user, uint32_t invocation, uint64_t begin, uint64_t config);
  /* `x` is NULL where the engine does not know it any more. */
  void (*instruction)(void *user, const tg_event *event, const tg_execution *x);
  void (*stall)(void *user, const tg_stall *stall, const tg_execution *x);
  void (*burst)(void *user, const tg_burst *burst);
  /* Its last instruction ends at `end`; told after everything of it. */
  void (*end)(void *user, uint32_t invocation, uint64_t end);
} tg_observer;

#ifdef __cplusplus
}
#endif
#endif
