/* Inputs that are row numbers: token ids and their like. */
#ifndef TEGULA_RUNTIME_SESSION_INDICES_H
#define TEGULA_RUNTIME_SESSION_INDICES_H

#include "frontend/graph.h"
#include "runtime/tegula.h"

/* Rows that input `value` of an inferred graph chooses among, by way of moves alone: the fewest of the
 * Gathers and ScatterAdds that it numbers rows of. 0: it chooses none. */
int64_t tg_index_rows(const tg_value *value);

/* TG_INVALID, naming input and element: a number of an integer input is not whole, not of its type, not below
 * its limit, or outside [-rows, rows). */
tg_status tg_indices_check(const tg_tensor_info *input, const float *data, tg_diag *diag);

/* `count` numbers in [0, rows), a function of the seed. */
void tg_indices_random(float *data, int64_t count, int64_t rows, uint64_t seed);

#endif
