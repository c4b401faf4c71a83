/* Pictures of a graph by Graphviz. */
#ifndef TEGULA_RUNTIME_DRAW_H
#define TEGULA_RUNTIME_DRAW_H

#include "frontend/graph.h"

/* The graph in the language of Graphviz: operators in the colour of their result's format, casts in red,
 * element types on the edges, the deciding rule as a tooltip. `path` "": standard output. */
tg_status tg_draw_dot(const tg_graph *graph, const char *path, tg_diag *diag);
/* The same as SVG. TG_INVALID: Graphviz's dot is not installed, or fails. */
tg_status tg_draw_svg(const tg_graph *graph, const char *path, tg_diag *diag);

#endif
