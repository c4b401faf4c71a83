/* What a session holds, for people: graph, casts, mapping, program, memory. */
#ifndef TEGULA_RUNTIME_INSPECT_H
#define TEGULA_RUNTIME_INSPECT_H

#include "runtime/session/session.h"

#include <jansson.h>

/* New reference to an object: "graph", "formats" of its nodes, and "casts" (inspect_casts.h; null for a loaded
 * program), "mapping" (a row for each invocation of a section: what it computes and how long each kind of unit
 * is occupied), "program", "memory". */
json_t *tg_inspect(const tg_session *session);
void tg_inspect_print(const json_t *inspection, FILE *out);

#endif
