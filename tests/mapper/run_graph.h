/* Runs a graph on the functional engine and on the frontend's reference evaluator. */
#ifndef TEGULA_TESTS_MAPPER_RUN_GRAPH_H
#define TEGULA_TESTS_MAPPER_RUN_GRAPH_H

#include "frontend/graph.h"
#include "mapper/mapper.h"
#include "sim/machine/engine.h"

/* Seeded inputs into the device memory, as the program stores them; also as the reference wants them. */
void fill_inputs(const tg_graph *graph, const tg_program *program, tg_dram *dram, uint64_t seed,
                 const void **out_inputs, tg_arena *arena);

/* Maps the lowered graph for `params`, runs it, and compares each output with the reference: bits equal if
 * `tolerance` is 0, else |a-b| <= tolerance * (1 + |b|). False with a diag on any difference. */
bool graph_agrees(const tg_graph *graph, const tg_params *params, const tg_map_options *options,
                  double tolerance, tg_diag *diag);

#endif
