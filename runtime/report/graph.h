/* The graph as the precision policy left it, for the page. */
#ifndef TEGULA_RUNTIME_REPORT_GRAPH_H
#define TEGULA_RUNTIME_REPORT_GRAPH_H

#include "frontend/graph.h"

#include <jansson.h>

/* {"nodes": [{"id", "kind", "op", "name", "format", "type", "rule", "operands"}], "edges": [[from id, to id, format]]}; kind:
 * "input", "operator", "cast", "output". Constants are operands alone. Null for NULL, as of a compiled program. A new
 * reference. */
json_t *tg_report_graph(const tg_graph *decided);

#endif
