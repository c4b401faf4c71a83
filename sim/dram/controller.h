/* The memory behind the DRAM ports, in time: a controller with queues, channels, banks (docs/machine.md, section 8;
 * docs/dram.md). One model for every engine with time, so they agree. It knows addresses, not contents.
 *
 * A host calls, in each cycle in which it wants something, tg_controller_advance first; what a port sends in a cycle takes
 * effect in later ones only, so the order of ports within a cycle, and how often the host asks, do not matter. */
#ifndef TEGULA_DRAM_CONTROLLER_H
#define TEGULA_DRAM_CONTROLLER_H

#include "sim/machine/params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_dram_command {
  TG_DRAM_ACTIVATE,
  TG_DRAM_PRECHARGE,
  TG_DRAM_READ,
  TG_DRAM_WRITE,
  TG_DRAM_REFRESH
} tg_dram_command;

/* A command on a channel's bus, at `time` picoseconds after the run began. */
typedef struct tg_dram_event {
  tg_dram_command command;
  uint64_t time;
  uint32_t channel, group, bank, row; /* bank: of the group */
} tg_dram_event;

typedef struct tg_controller_host {
  void *user;
  /* The next piece of a port's loads is there in `cycle`, which is not over yet. Called in order for each port. */
  void (*arrived)(void *user, uint32_t port, uint64_t cycle);
  void (*command)(void *user, const tg_dram_event *event); /* NULL: nobody is told */
} tg_controller_host;

typedef struct tg_controller tg_controller;

/* For the ports of an array with a device that is not `simple`. */
tg_controller *tg_controller_create(const tg_params *params, const tg_controller_host *host);
void tg_controller_destroy(tg_controller *memory);
/* Everything as at the begin of a run: cycle 0, all rows closed. */
void tg_controller_reset(tg_controller *memory);

/* Everything before `cycle` has happened. Cycles do not decrease. */
void tg_controller_advance(tg_controller *memory, uint64_t cycle);
/* The next cycle that can differ from the one advanced to if no port sends anything; UINT64_MAX: none. */
uint64_t tg_controller_next(const tg_controller *memory);
/* Whether a port can send a piece in the cycle advanced to: room for its atoms, and not more than dram_latency pieces
 * of its loads in flight. As registered: what is sent in this cycle changes later ones. */
bool tg_controller_ready(tg_controller *memory, uint32_t port);
/* A bit for each port without room for its atoms: these are not ready until something else is advanced to. */
uint32_t tg_controller_full(const tg_controller *memory);
/* A ready port sends a piece, at most one a cycle: `bytes` bytes (0: none are valid) from `address` on. `first`: of its
 * burst; a piece does not ask again for the atom that its burst asked for last. */
void tg_controller_send(tg_controller *memory, uint32_t port, uint64_t address, uint32_t bytes, bool write,
                        bool first);

/* What a port has sent and what is not known to arrive when everything before a cycle has happened arrives so many cycles
 * after it, or later. At least 1. */
uint64_t tg_controller_lookahead(const tg_controller *memory, uint32_t port);

tg_dram_counts tg_controller_counts(const tg_controller *memory);
/* Writes what still waits. Returns the cycle in which the last written data are on a bus, at most the cycle advanced to
 * if nothing waits. Ends the run: only reset may follow. */
uint64_t tg_controller_drain(tg_controller *memory);

#ifdef __cplusplus
}
#endif
#endif
