/* Which constants of a model are parameters to train. */
#ifndef TEGULA_FRONTEND_TRAINING_PARAMETERS_H
#define TEGULA_FRONTEND_TRAINING_PARAMETERS_H

#include "frontend/training/training.h"

typedef struct tg_trained {
  tg_value **values; /* constants in the graph's order */
  size_t count;
  const char *
      number; /* the first single number that is left as it is, as options->trained does not name it; or NULL */
} tg_trained;

/* The float initializers that `y` depends on, but for those that options->frozen names, and those that look like no
 * parameter (single numbers, masks of scores, tables of positions) unless options->trained names them. All of *out
 * is on `arena`. TG_INVALID: an expression does not compile, or there is nothing to train. */
tg_status tg_find_trained(tg_graph *graph, const tg_value *y, const tg_training_options *options,
                          tg_arena *arena, tg_trained *out, tg_diag *diag);

#endif
