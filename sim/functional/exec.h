/* What instructions do to values: machine state, and the execution of each instruction on it
 * (docs/machine.md, sections 4 to 7; docs/numerics.md). No time, no semaphores: engines decide when.
 *
 * Executions on different tiles touch different memory and may run in parallel; a SEND or LOAD also writes
 * its destinations. An execution must have passed tg_exec_check: nothing here looks at an address again,
 * except device memory addresses. */
#ifndef TEGULA_FUNCTIONAL_EXEC_H
#define TEGULA_FUNCTIONAL_EXEC_H

#include "sim/machine/access.h"
#include "sim/machine/dram.h"
#include "sim/machine/sequencer.h"
#include "sim/machine/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_MAX_CONSTANTS = 64, TG_MAX_LANES = 64 };

typedef struct tg_tile_state {
  uint8_t *pad;                         /* tg_pad_rows rows of tg_flit_bytes, row 0 first, 64-byte aligned */
  uint32_t *acc;                        /* 2 * tg_acc_rows rows of tg_lanes FP32 values, as bits */
  uint32_t constants[TG_MAX_CONSTANTS]; /* of the vector unit; zero beyond the section's own */
} tg_tile_state;

typedef struct tg_machine_state {
  tg_params params;
  tg_tile_state *tiles; /* row-major */
  uint8_t **stores;     /* each AGCU's store memory: tg_store_rows flits */
  /* of the current invocation */
  const tg_program *program;
  const tg_section *section;
  uint32_t section_index;
  uint64_t bases[TG_BASES];
  uint32_t keys[TG_BASES];
  tg_dram *dram;
} tg_machine_state;

tg_machine_state *tg_machine_create(const tg_params *params); /* all zero */
void tg_machine_destroy(tg_machine_state *state);             /* NULL is allowed */
/* Makes an invocation the current one: tables, constants. Scratchpads and accumulators keep their contents.
 * `program` and `dram` are borrowed. */
void tg_machine_begin(tg_machine_state *state, const tg_program *program, uint32_t invocation, uint64_t seed,
                      uint32_t step, tg_dram *dram);

static inline uint8_t *tg_pad_row(const tg_machine_state *state, uint32_t tile, uint32_t row) {
  return state->tiles[tile].pad + (size_t)row * tg_flit_bytes(&state->params);
}
static inline uint32_t *tg_acc_row(const tg_machine_state *state, uint32_t tile, uint32_t row) {
  return state->tiles[tile].acc + (size_t)row * tg_lanes(&state->params);
}

/* Every address of one execution lies in its scratchpad, accumulator or store memory (also at its
 * destinations); TG_FAULT names the operand and the address. `endpoint`: tile, or tiles + AGCU. */
tg_status tg_exec_check(const tg_machine_state *state, uint32_t endpoint, tg_unit unit,
                        const tg_execution *execution, tg_diag *diag);
/* The same, and what it accesses. */
tg_status tg_exec_accesses(const tg_machine_state *state, uint32_t endpoint, tg_unit unit,
                           const tg_execution *execution, tg_accesses *out_accesses, tg_diag *diag);

/* The interchangeable part. `destroy` may be NULL. */
typedef struct tg_kernels tg_kernels;
struct tg_kernels {
  const char *name;
  void (*gemm)(const tg_kernels *kernels, tg_machine_state *state, uint32_t tile, const tg_execution *x);
  void (*vop)(const tg_kernels *kernels, tg_machine_state *state, uint32_t tile, const tg_execution *x);
  void (*destroy)(tg_kernels *kernels);
};

/* The plain C arbiter. Static, for any program. */
const tg_kernels *tg_kernels_reference(void);

/* Native code for every GEMM and VOP of `program`, which must outlive it (LLVM). Equal bits. Thread-safe once
 * prepared. */
tg_status tg_kernels_prepare(const tg_program *program, tg_kernels **out_kernels, tg_diag *diag);
void tg_kernels_destroy(tg_kernels *kernels); /* NULL is allowed */

/* Call in every thread that executes: flush-to-zero and denormals-are-zero off, rounding to nearest. */
void tg_exec_thread_init(void);

static inline void tg_exec_gemm(const tg_kernels *k, tg_machine_state *state, uint32_t tile,
                                const tg_execution *x) {
  k->gemm(k, state, tile, x);
}
static inline void tg_exec_vop(const tg_kernels *k, tg_machine_state *state, uint32_t tile,
                               const tg_execution *x) {
  k->vop(k, state, tile, x);
}

/* Flits [first, first + count) of a SEND, from the tile's scratchpad to every destination. */
void tg_exec_send(tg_machine_state *state, uint32_t tile, const tg_execution *x, uint32_t first,
                  uint32_t count);

/* The next burst of a LOAD or STORE, min(burst_flits, what is left) flits from walk->flit on. The caller
 * begins the walk (tg_walk_begin with x->index and state->bases[base]) and keeps it from burst to burst;
 * `*out_atoms` (may be NULL) is the burst's cost. TG_FAULT for an address outside the device memory. */
tg_status tg_exec_load(tg_machine_state *state, uint32_t agcu, const tg_execution *x, tg_walk *walk,
                       uint32_t *out_atoms, tg_diag *diag);
tg_status tg_exec_store(tg_machine_state *state, uint32_t agcu, const tg_execution *x, tg_walk *walk,
                        uint32_t *out_atoms, tg_diag *diag);

/* The same burst without its values: only the cost, and whether it reaches outside. */
tg_status tg_exec_check_burst(const tg_machine_state *state, tg_walk *walk, uint32_t *out_atoms,
                              tg_diag *diag);

/* Derived from one execution of a GEMM: what both implementations need. */
typedef struct tg_gemm_setup {
  uint32_t s;               /* stationary rows and columns */
  uint32_t m;               /* streamed rows */
  uint32_t blocks, kblocks; /* all; those of the k loops */
  uint32_t k_left;          /* min(k_chunk, what is left of k_total), 0 if none */
  bool init;                /* blocks with kb = 0 start from +0 */
  uint32_t sr_tile, sr_row, sr_col, sr_key;
} tg_gemm_setup;
tg_gemm_setup tg_gemm_setup_of(const tg_machine_state *state, const tg_execution *x);

#ifdef __cplusplus
}
#endif
#endif
