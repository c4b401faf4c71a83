/* Runs a graph on the functional engine and on the frontend's reference evaluator. */
#ifndef TEGULA_TESTS_MAPPER_RUN_GRAPH_H
#define TEGULA_TESTS_MAPPER_RUN_GRAPH_H

#include "frontend/graph.h"
#include "frontend/precision/precision.h"
#include "mapper/mapper.h"
#include "sim/machine/engine.h"

/* Seeded inputs into the device memory, as the program stores them; also as the reference wants them. */
void fill_inputs(const tg_graph *graph, const tg_program *program, tg_dram *dram, uint64_t seed,
                 const void **out_inputs, tg_arena *arena);

/* Maps the lowered graph for `params`, runs it, and compares each output with the reference: bits equal if
 * `tolerance` is 0, else |a-b| <= tolerance * (1 + |b|). False with a diag on any difference. */
bool graph_agrees(const tg_graph *graph, const tg_params *params, const tg_map_options *options,
                  double tolerance, tg_diag *diag);

/* A graph's text on an array and an engine. */
typedef struct run_case {
  const char *text, *arch, *settings[4]; /* KEY=VALUE, up to the first NULL */
  tg_precision_preset preset;
  tg_map_options map;
  tg_run_options run;
  const tg_engine *engine; /* NULL: functional */
} run_case;

typedef struct mapped {
  tg_graph *graph; /* lowered */
  tg_program *program;
  tg_dram *dram; /* after the run */
  const void *inputs[8];
  tg_run_result result;
} mapped;

/* Lowers, maps and runs; what was made is in *out, whatever the status. */
tg_status run_text(const run_case *what, mapped *out, tg_arena *arena, tg_diag *diag);
void release_mapped(mapped *m);
/* The tensor of an output as the run left it; *out_bytes may be NULL. */
const void *output_of(const mapped *m, int index, size_t *out_bytes);

#endif
