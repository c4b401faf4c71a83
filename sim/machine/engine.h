/* One interface for all engines: functional, SystemC, RTL. */
#ifndef TEGULA_MACHINE_ENGINE_H
#define TEGULA_MACHINE_ENGINE_H

#include "sim/machine/actions.h"
#include "sim/machine/dram.h"
#include "sim/machine/observer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_run_options {
  uint32_t step;               /* training step, for the stochastic-rounding keys */
  uint32_t threads;            /* 0: as many as cores */
  bool timing_only;            /* SystemC: no values */
  bool record_events;          /* keep tg_events */
  uint64_t max_cycles;         /* 0: no limit */
  const char *wave_file;       /* RTL: FST, or NULL */
  uint64_t seed;               /* run seed */
  uint32_t fault;              /* test builds only: a deliberate defect, 0: none */
  const tg_observer *observer; /* engines with time: told what happens; NULL: nobody */
  /* Asked before each invocation; false ends the run with TG_FAULT. NULL: nobody is. */
  bool (*proceed)(void *user, uint32_t invocation);
  void *proceed_user;
} tg_run_options;

typedef struct tg_section_time {
  uint64_t begin, config, end; /* cycle of invocation, cycles of configuration, last instruction's end */
  tg_dram_counts dram; /* from its begin to the next one's; the last: and what was written behind it */
  uint64_t dram_read, dram_written; /* bytes of the atoms that its ports moved */
  tg_actions actions;
} tg_section_time;

typedef struct tg_run_result {
  uint64_t cycles;           /* 0 for the functional engine; a device's last write included */
  tg_section_time *sections; /* one an invocation, invocation_count of them; NULL without time */
  tg_event *events;          /* sorted by invocation, endpoint, unit, context, start; NULL unless recorded */
  size_t event_count;
  uint64_t dram_read, dram_written; /* bytes */
  double seconds;                   /* host time of the run itself */
} tg_run_result;

/* Runs the whole program once on `dram` (inputs already in place; outputs are left there). The program was
 * checked. TG_FAULT with the machine's state in `diag` on a fault, deadlock or cycle limit. */
typedef struct tg_engine {
  const char *name;
  /* Prepares a program (code generation, elaboration); NULL state with a diag if this engine cannot run
   * it. */
  tg_status (*open)(const tg_program *program, const tg_run_options *options, void **out_state,
                    tg_diag *diag);
  tg_status (*run)(void *state, tg_dram *dram, const tg_run_options *options, tg_run_result *out_result,
                   tg_diag *diag);
  void (*close)(void *state);
} tg_engine;

static inline bool tg_run_proceeds(const tg_run_options *options, uint32_t invocation) {
  return !options->proceed || options->proceed(options->proceed_user, invocation);
}

void tg_run_result_release(tg_run_result *result);

extern const tg_engine tg_engine_functional, tg_engine_systemc, tg_engine_rtl;

#ifdef __cplusplus
}
#endif
#endif
