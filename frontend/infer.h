/* Shapes, dtypes and attribute normalisation. */
#ifndef TEGULA_FRONTEND_INFER_H
#define TEGULA_FRONTEND_INFER_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Infers every result in topological order. All symbols must be bound. Afterwards each attribute is explicit
 * and normalised (axes >= 0, auto_pad resolved to pads, kernel_shape, strides, dilations given, Reshape's
 * shape final), and constant {operands} have become attributes. Small integer subgraphs that compute shapes
 * are folded on the way. TG_INVALID, naming node and operator: operands that do not fit, or a tensor above
 * TG_MAX_ELEMENTS. */
tg_status tg_graph_infer(tg_graph *graph, tg_diag *diag);

/* One node: for passes that add or change nodes. A result dtype that is already set stays. */
tg_status tg_node_infer(tg_graph *graph, tg_node *node, tg_diag *diag);

/* By input of the graph: does the model need its elements before it runs, for sizes, axes and the like? Such an
 * input can be fixed (tg_graph_fix_input). */
void tg_graph_deciding_inputs(const tg_graph *graph, bool *out_decides);

/* numpy broadcasting of two shapes; false: they do not fit. `out_sizes` may alias either. */
bool tg_broadcast(int rank_a, const int64_t *a, int rank_b, const int64_t *b, int *out_rank,
                  int64_t *out_sizes);

#ifdef __cplusplus
}
#endif
#endif
