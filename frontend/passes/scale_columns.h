#ifndef TEGULA_FRONTEND_PASSES_SCALE_COLUMNS_H
#define TEGULA_FRONTEND_PASSES_SCALE_COLUMNS_H

#include "frontend/graph.h"

/* The Mul by one number, in the format of its operand, that alone reads the value, perhaps moved by Reshapes and Transposes.
 * NULL: there is none. */
tg_node *tg_find_scale(const tg_value *value);

#endif
