/* Parameters that a file stores once because their values were equal, or twice though they are one. */
#ifndef TEGULA_FRONTEND_TRAINING_SEPARATE_H
#define TEGULA_FRONTEND_TRAINING_SEPARATE_H

#include "frontend/graph.h"

/* PyTorch's exporter, in its inference mode, keeps one of several tensors of equal values (biases of zeros,
 * scales of ones, layers that were copied) and makes the others an Identity of it, under their names; weights
 * that a model really shares have no Identity. So each Identity of an initializer with other readers becomes
 * an initializer of its own, to be trained by itself; others are left out. */
void tg_separate_parameters(tg_graph *graph);

/* A matrix that two layers share, one of them transposed (an embedding and the scores of its words), is
 * written by that exporter as two initializers: the transpose is a constant, so it is folded. Two matrices
 * that are each other's transpose bit for bit become one again, and a Transpose of it. Left as they are:
 * matrices that are their own transpose or have one value throughout, as fresh ones may be. */
typedef struct tg_twin {
  const char *name, *of; /* initializers of the file; `of` is the one that is left */
} tg_twin;
/* How many there were; *out_twins is on the graph's arena. */
int tg_join_transposes(tg_graph *graph, tg_twin **out_twins);

#endif
