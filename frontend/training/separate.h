/* Parameters that a file stores once because their values were equal. */
#ifndef TEGULA_FRONTEND_TRAINING_SEPARATE_H
#define TEGULA_FRONTEND_TRAINING_SEPARATE_H

#include "frontend/graph.h"

/* PyTorch's exporter, in its inference mode, keeps one of several tensors of equal values (biases of zeros,
 * scales of ones, layers that were copied) and makes the others an Identity of it, under their names; weights
 * that a model really shares have no Identity. So each Identity of an initializer with other readers becomes
 * an initializer of its own, to be trained by itself; others are left out. */
void tg_separate_parameters(tg_graph *graph);

#endif
