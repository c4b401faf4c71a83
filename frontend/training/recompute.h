/* Less memory for more work. */
#ifndef TEGULA_FRONTEND_TRAINING_RECOMPUTE_H
#define TEGULA_FRONTEND_TRAINING_RECOMPUTE_H

#include "frontend/graph.h"

/* Results of forward that backward reads, of one operand that backward keeps anyway (functions of one
 * operand, normalisations), are computed anew for backward: a tensor less lives from forward to backward, for
 * one more pass over the other. `last` is the last node of forward. Returns how many. */
int tg_recompute(tg_graph *graph, const tg_node *last);

#endif
