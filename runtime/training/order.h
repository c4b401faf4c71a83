/* Which rows of the data a step takes. No state: a step's rows follow from its number. */
#ifndef TEGULA_RUNTIME_TRAINING_ORDER_H
#define TEGULA_RUNTIME_TRAINING_ORDER_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_order {
  int64_t rows, batch;  /* of the data; of a step */
  const int64_t *fixed; /* [fixed_steps, batch] row indices, or NULL */
  int64_t fixed_steps;
  bool shuffled;
  uint64_t seed;
  int64_t epoch, *permutation; /* of the epoch drawn last; -1: none */
} tg_order;

/* Rows in their order, epoch after epoch. What is left of an epoch when fewer than `batch` rows remain is
 * dropped. Needs 1 <= batch <= rows. */
void tg_order_begin(tg_order *order, int64_t rows, int64_t batch);
/* A new order each epoch, a function of the seed and the epoch. */
void tg_order_shuffle(tg_order *order, uint64_t seed, tg_arena *arena);
/* The indices of a file: one row of `indices` a step. */
void tg_order_fix(tg_order *order, const int64_t *indices, int64_t steps);

/* The rows of step `step` into out_rows[batch]. A fixed order has fixed_steps steps. */
void tg_order_rows(tg_order *order, int64_t step, int64_t *out_rows);

#ifdef __cplusplus
}
#endif
#endif
