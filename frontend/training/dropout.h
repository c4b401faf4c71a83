/* Dropout as it is in training. */
#ifndef TEGULA_FRONTEND_TRAINING_DROPOUT_H
#define TEGULA_FRONTEND_TRAINING_DROPOUT_H

#include "frontend/graph.h"

/* Every Dropout of `graph` that drops (attribute ratio above 0) becomes the nodes that draw its mask and
 * apply it. The number of those that are the identity. */
int tg_dropout_expand(tg_graph *graph);

#endif
