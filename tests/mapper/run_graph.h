/* A graph's text on an array and an engine, and what the frontend's reference evaluator makes of it. */
#ifndef TEGULA_TESTS_MAPPER_RUN_GRAPH_H
#define TEGULA_TESTS_MAPPER_RUN_GRAPH_H

#include "frontend/graph.h"
#include "frontend/precision/precision.h"
#include "mapper/mapper.h"
#include "sim/machine/engine.h"

typedef struct run_case {
  const char *text, *arch, *settings[4]; /* KEY=VALUE, up to the first NULL */
  tg_precision_options precision;        /* zeroed: mp0 */
  tg_map_options map;
  tg_run_options run;
  const tg_engine *engine; /* NULL: functional */
} run_case;

typedef struct mapped {
  tg_graph *graph; /* lowered, in the caller's arena */
  tg_program *program;
  tg_dram *dram;       /* after the run */
  const void **inputs; /* seeded, as the reference wants them */
  tg_run_result result;
} mapped;

/* Lowers and maps; what was made is in *out, whatever the status. */
tg_status map_text(const run_case *what, mapped *out, tg_arena *arena, tg_diag *diag);
/* The same, and runs. */
tg_status run_text(const run_case *what, mapped *out, tg_arena *arena, tg_diag *diag);
void release_mapped(mapped *m);
/* The tensor of an output as the run left it; *out_bytes may be NULL. */
const void *output_of(const mapped *m, int index, size_t *out_bytes);
/* The bytes of all outputs, one behind the other, on the arena. */
const void *copy_outputs(const mapped *m, tg_arena *arena, size_t *out_bytes);

/* Compares each output of the run with the reference: bits equal if `tolerance` is 0, else |a-b| <=
 * tolerance * (1 + |b|). False with a diag on any difference. */
bool outputs_agree(const mapped *m, double tolerance, tg_diag *diag);

/* The first GEMM of a section's first tile of which that is so; NULL: there is none. */
const tg_instr *find_gemm(const tg_program *program, bool (*is_so)(const tg_instr *gemm));
/* The first instruction of an AGCU that has this operation and of which that is so; NULL: there is none. */
const tg_agcu_instr *find_of_agcus(const tg_program *program, int op, bool (*is_so)(const tg_agcu_instr *in));
/* Have positions of a patch several kernel rows? Of all LOADs those of positions alone go from row to row of the image
 * along a digit of k, and these along two. */
bool has_joined_rows(const tg_program *program);

#endif
