/* The dumb evaluator: plain scalar C for every operator, in fp32, the arbiter of everything faster.
 * Operands of any dtype are widened to fp32, results rounded (RNE) to the result's dtype; elements that only
 * move keep their bits. GEMM, Conv and its gradients are ascending-k fmaf chains from +0 (docs/numerics.md).
 * exp, tanh, sigmoid come from the C library in double precision: correctly rounded but for rare ties, so not
 * the vector unit's bits. */
#ifndef TEGULA_FRONTEND_REFERENCE_H
#define TEGULA_FRONTEND_REFERENCE_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What stochastic rounding draws from beside the nodes (docs/numerics.md). */
typedef struct tg_reference_draw {
  uint64_t seed;
  uint32_t step;
} tg_reference_draw;

/* Evaluates one node: inputs[i] is the data of tg_in(node, i) (NULL where absent), outputs[i] receives a
 * dense tensor of node->outputs[i]'s type. Types must be inferred. Single-threaded; no allocation but
 * scratch. Stochastic rounding draws with seed 0 in step 0. */
void tg_reference_node(const tg_node *node, const void *const *inputs, void *const *outputs);

/* Runs a whole inferred graph, lowered or not: inputs[i] and outputs[i] in graph order, dense, caller's
 * storage. */
void tg_reference_run(const tg_graph *graph, const void *const *inputs, void *const *outputs);
/* The same with another seed and step of stochastic rounding. */
void tg_reference_run_drawing(const tg_graph *graph, const tg_reference_draw *draw, const void *const *inputs,
                              void *const *outputs);

/* Multiply-adds or element operations that the node costs here: for bounding constant folding. */
int64_t tg_reference_cost(const tg_node *node);

#ifdef __cplusplus
}
#endif
#endif
