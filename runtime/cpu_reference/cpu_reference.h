/* The CPU reference: the same graph on the host with oneDNN, as its user would run it. Weights are packed and
 * primitives made once, outside of what is timed; bias, activations and residual additions are fused into
 * their product. Only operators that oneDNN cannot do fall back on plain C, and they are counted. */
#ifndef TEGULA_RUNTIME_CPU_REFERENCE_H
#define TEGULA_RUNTIME_CPU_REFERENCE_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_cpu_reference tg_cpu_reference;

/* Plans an inferred graph, lowered or not, in which every float tensor is then of `dtype`: TG_F32 or TG_BF16
 * (accumulation is FP32 in both). `threads` 0: as many as OpenMP would take. The graph must outlive the
 * plan. TG_INVALID: an operator that neither oneDNN nor plain C computes. */
tg_status tg_cpu_reference_create(const tg_graph *graph, tg_dtype dtype, int threads,
                                  tg_cpu_reference **out_reference, tg_diag *diag);
void tg_cpu_reference_destroy(tg_cpu_reference *reference); /* NULL is allowed */
/* Bytes of its tensors and weights: results whose readers have run make room for later ones. */
size_t tg_cpu_reference_bytes(const tg_cpu_reference *reference);

/* Graph input `index` from dense FP32; zeros until set. */
void tg_cpu_reference_set_input(tg_cpu_reference *reference, int index, const float *data);
tg_status tg_cpu_reference_run(tg_cpu_reference *reference, tg_diag *diag);
/* Graph output `index` of the last run as dense FP32. */
void tg_cpu_reference_get_output(tg_cpu_reference *reference, int index, float *out_data);

typedef struct tg_cpu_time {
  const char *library;
  char version[32];
  int threads, runs, warmup;
  tg_dtype dtype;
  double seconds;   /* median of the runs */
  double low, high; /* a tenth of the runs took less, and a tenth more */
  int plain_nodes;  /* nodes that ran in plain C */
} tg_cpu_time;

enum { TG_CPU_MOST_RUNS = 1000 };

/* How long to measure. */
typedef struct tg_cpu_effort {
  double budget; /* seconds; at least 3 runs */
  int warmup,
      repeats; /* runs before, and runs that count, each at most TG_CPU_MOST_RUNS; 0: one, and as many as the budget
                  allows */
} tg_cpu_effort;

/* Median of several runs. Inputs are as set. */
tg_status tg_cpu_reference_time(tg_cpu_reference *reference, tg_cpu_effort effort, tg_cpu_time *out_time,
                                tg_diag *diag);

/* The fastest of what the host offers: all threads and one, in each of `dtypes`; `inputs` are dense FP32 in
 * graph order. */
tg_status tg_cpu_reference_best(const tg_graph *graph, const tg_dtype *dtypes, int dtype_count, int threads,
                                const float *const *inputs, tg_cpu_effort effort, tg_cpu_time *out_time,
                                tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
