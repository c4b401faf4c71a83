/* What an operator of windows made, whose epilogue operators behind it may become. */
#ifndef TEGULA_FRONTEND_PASSES_WINDOW_RESULTS_H
#define TEGULA_FRONTEND_PASSES_WINDOW_RESULTS_H

#include "frontend/graph.h"

/* Is the value made by a convolution or pool, or element by element, or by a Concat, of what one made? */
bool tg_is_made_by_window(const tg_value *value);

#endif
