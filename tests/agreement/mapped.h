/* From a graph to a program for one of the RTL configurations of the tests, and the program on every
 * engine. */
#ifndef TEGULA_TESTS_AGREEMENT_MAPPED_H
#define TEGULA_TESTS_AGREEMENT_MAPPED_H

#include "frontend/graph.h"
#include "frontend/precision/precision.h"
#include "tests/sim/engine_runs.h"

/* What sim/rtl/CMakeLists.txt verilates; CHIP_EDGE with TEGULA_RTL_EDGE only. */
typedef enum chip { CHIP_TINY, CHIP_ROW, CHIP_ODD, CHIP_EDGE, CHIPS } chip;
extern const char *const chip_names[CHIPS];
tg_status chip_params(chip which, tg_params *out_params, tg_diag *diag);

/* Lowers `graph` in place and maps it. `seed` is that of stochastic rounding; `any_tiling` as in
 * tg_map_options. */
tg_status map_graph(tg_graph *graph, const tg_params *params, const tg_precision_options *precision,
                    uint64_t seed, uint64_t any_tiling, tg_program **out_program, tg_diag *diag);
/* The text of a graph, mapped. */
tg_status map_text(const char *text, const tg_params *params, const tg_precision_options *precision,
                   uint64_t any_tiling, tg_program **out_program, tg_diag *diag);

/* The semaphores of `program` order its accesses, and it leaves the same memory on the functional engine,
 * SystemC and the RTL, with the same start and end of every instruction on the latter two. NULL, or what is
 * different, in storage of the function. Inputs hold numbers (engine_run_numbers). `*cycles`, unless NULL,
 * grows by the cycles that the RTL ran, which are what such a test takes time for. */
const char *engines_differ(const tg_program *program, tg_run_options options, uint64_t *cycles);

#endif
