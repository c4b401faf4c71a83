/* The text form of a graph: prints and parses, and printing what was parsed gives the same bytes.
 *
 *   graph "mlp" next=2
 *   input %x: f32[N=8,4]
 *   const %w: f32[4,2] = seeded(7, 0.5)
 *   const %b: f32[2] = [0.25, -1]
 *   %h: f32[8,2] = Gemm(%x, %w, %b) alpha=2 @0 "fc1"
 *   %y = Relu(%h) @1
 *   output "y" %y: f32
 *
 * A result's type may be left out. Attributes at their default are not printed. `_` is an absent input; @ is
 * the node's id. Data of more than 64 elements is printed as splat(v), as the seed it came from, or as
 * hashed(h), which parses to zeros that print as that hash again. A name of other characters than
 * [A-Za-z0-9_./-] is quoted, with \xHH escapes. Lines that begin with # are comments. */
#ifndef TEGULA_FRONTEND_TEXT_H
#define TEGULA_FRONTEND_TEXT_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* On `arena`, ending in a newline. */
char *tg_graph_print(const tg_graph *graph, tg_arena *arena);

/* TG_INVALID names the line. Types are as written: nothing is inferred. */
tg_status tg_graph_parse(tg_arena *arena, const char *text, tg_graph **out_graph, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
