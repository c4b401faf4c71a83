/* Native GEMM: micro-kernels from LLVM, and the blocking around them in C. */
#ifndef TEGULA_FUNCTIONAL_GEMM_H
#define TEGULA_FUNCTIONAL_GEMM_H

#include "sim/functional/code.h"
#include "sim/functional/exec.h"

enum {
  TG_GEMM_MAX_UNITS = 3, /* vectors across a register block */
  TG_GEMM_KC = 256,      /* most k of a packed chunk */
  TG_GEMM_LDA = 272,     /* floats from one packed row of A to the next: not a power of two, for the cache */
  TG_GEMM_MC = 128,      /* rows of a packed A */
};

/* acc[r][u] += sum_k a[r*LDA + k] * b[k*units*V + u*V ..], k ascending; c[u] + r rows of 2P floats; canonical
 * at the end. */
typedef void tg_gemm_micro(const float *a, const float *b, float *const *c, int64_t k, bool init);
/* Stochastic rounding of `rows` rows of V lanes. */
typedef void tg_gemm_round(float *c, int64_t rows, const uint32_t *row_hash, const uint32_t *col_hash);
/* `rows` rows of W elements, widened: strides in bytes. */
typedef void tg_gemm_widen(const uint8_t *from, int64_t from_stride, float *to, int64_t to_stride,
                           int64_t rows);

/* Functions for one vector length V. */
typedef struct tg_gemm_kernels {
  tg_gemm_micro *micro[TG_GEMM_MAX_UNITS]; /* of 1, 2, 3 units */
  tg_gemm_round *round;
  tg_gemm_widen *widen[4]; /* of each format: V elements */
} tg_gemm_kernels;

/* What the host's registers allow. */
typedef struct tg_gemm_blocking {
  uint32_t lanes, rows, units; /* V at most, rows and units of a register block */
} tg_gemm_blocking;
tg_gemm_blocking tg_gemm_blocking_of_host(void);

/* Which of them are called. */
typedef struct tg_gemm_needs {
  uint32_t units;   /* bit u: micro[u] */
  uint32_t formats; /* bit f: widen[f] */
  bool rounding;
} tg_gemm_needs;
/* Compiles the functions for vectors of `lanes` that are needed; others stay as they were. `codes` holds them. */
tg_status tg_gemm_compile(const tg_gemm_blocking *blocking, uint32_t lanes, uint32_t acc_lanes,
                          const tg_gemm_needs *needs, tg_codes *codes, tg_gemm_kernels *out_kernels,
                          tg_diag *diag);

/* Shape of one GEMM instruction, the same for all its executions. */
typedef struct tg_gemm_plan tg_gemm_plan;
/* NULL if the instruction is too irregular: run the reference. `kernels`, by log2 of the vector length, are called when the plan is run. */
tg_gemm_plan *tg_gemm_plan_create(const tg_params *params, const tg_mx_instr *in,
                                  const tg_gemm_blocking *blocking, const tg_gemm_kernels *kernels);
void tg_gemm_plan_destroy(tg_gemm_plan *plan);
/* Adds what the plan calls to `needs`, by log2 of the vector length; `rounding`: some execution rounds at K tiles. */
void tg_gemm_plan_needs(const tg_gemm_plan *plan, bool rounding, tg_gemm_needs *needs);
void tg_gemm_plan_run(const tg_gemm_plan *plan, tg_machine_state *state, uint32_t tile,
                      const tg_execution *x);

#endif
