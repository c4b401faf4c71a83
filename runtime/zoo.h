/* Standard models with seeded weights. */
#ifndef TEGULA_RUNTIME_ZOO_H
#define TEGULA_RUNTIME_ZOO_H

#include "frontend/graph.h"

typedef struct tg_zoo_options {
  int64_t m, n, k;                                      /* gemm */
  int64_t seq, hidden, heads, size, vocabulary, layers; /* of transformers and images; 0: as published */
  bool constant_b;
  int64_t batch; /* 0: left open */
  uint64_t seed;
} tg_zoo_options;

typedef struct tg_zoo_entry {
  const char *name, *summary;
  tg_status (*build)(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph, tg_diag *diag);
} tg_zoo_entry;

extern const tg_zoo_entry tg_zoo[]; /* ends with a NULL name */

/* TG_INVALID: no model of that name, or sizes beyond what a model may have. */
tg_status tg_zoo_build(tg_arena *arena, const char *name, const tg_zoo_options *options, tg_graph **out_graph,
                       tg_diag *diag);

#endif
