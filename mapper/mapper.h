/* From a lowered graph (frontend/pipeline.h) to a program for an array. */
#ifndef TEGULA_MAPPER_MAPPER_H
#define TEGULA_MAPPER_MAPPER_H

#include "frontend/graph.h"
#include "sim/machine/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called after each pass with the kernel list as it then is, as text (kernel/text.h), which lives as long as
 * the call. */
typedef void tg_map_observer(void *user, const char *pass, const char *kernels);

/* How much of the mapper is used; of results no bit depends on it. */
typedef enum tg_opt_level {
  TG_OPT_LEVEL_ALL,    /* o3 */
  TG_OPT_LEVEL_FUSION, /* o1: kernels of several operators, each of which reads and writes whole tensors */
  TG_OPT_LEVEL_NONE    /* o0: a kernel an operator */
} tg_opt_level;

typedef struct tg_map_options {
  tg_opt_level opt;    /* --opt */
  bool accum_bf16sr;   /* --tiling-accum: round the accumulator stochastically at the end of each K tile */
  int k_tile;          /* --k-tile: its length; 0: 128 */
  uint64_t seed;       /* of stochastic rounding */
  uint64_t any_tiling; /* --any-tiling: not 0: of the tilings that fit, one chosen at random by this seed, not
                          the fastest; in what can be computed, no bit may depend on it */
  /* the program's constants stay where the graph has them, and it has to live as long */
  bool borrow_constants;
  tg_map_observer *observe; /* or NULL */
  void *observe_user;
} tg_map_options;

/* TG_INVALID names the node that the array (or this version) cannot run. The program borrows nothing from the
 * graph, or, if that is asked for, constants.
 *
 * Its first tensors are the graph's inputs, in order, also those that nothing reads. Tensors of role OUTPUT
 * are the outputs that are not carried, in order; a carried output ends up in the memory of its input, which
 * has role STATE. */
tg_status tg_map(const tg_graph *graph, const tg_params *params, const tg_map_options *options,
                 tg_program **out_program, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
