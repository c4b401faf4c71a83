/* Random small graphs for the agreement of the engines: ragged shapes, every device operator. */
#ifndef TEGULA_TESTS_AGREEMENT_RANDOM_GRAPH_H
#define TEGULA_TESTS_AGREEMENT_RANDOM_GRAPH_H

#include "frontend/graph.h"

typedef struct tg_random {
  uint64_t state;
} tg_random;

/* SplitMix64: the same sequence on every host. */
uint64_t tg_random_next(tg_random *random);
/* Uniform in [low, high]. */
int64_t tg_random_range(tg_random *random, int64_t low, int64_t high);

/* A graph of one to a few operators, small enough for some thousand cycles on `tiny`. Not lowered. */
tg_status tg_random_graph(tg_random *random, tg_arena *arena, tg_graph **out_graph, tg_diag *diag);

#endif
