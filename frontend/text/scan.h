/* Reading the text form of a graph, from word to word of a line. What is not as it must be is refused with the line's
 * number and what stands there; spaces in front are passed over. */
#ifndef TEGULA_FRONTEND_TEXT_SCAN_H
#define TEGULA_FRONTEND_TEXT_SCAN_H

#include "frontend/graph.h"

typedef struct tg_scanner {
  tg_graph *graph;
  const char *at;
  int line;
  tg_diag *diag;
} tg_scanner;

/* False, with a message that `what` is expected here. */
bool tg_scan_expected(tg_scanner *p, const char *what);
void tg_scan_spaces(tg_scanner *p);
/* Passes `token`, if it stands here; tg_scan_expect says so if not. */
bool tg_scan_accept(tg_scanner *p, const char *token);
bool tg_scan_expect(tg_scanner *p, const char *token);
/* Text in quotation marks, with \xHH for a byte; a name, with or without them. On the graph's arena. */
bool tg_scan_quoted(tg_scanner *p, const char **out);
bool tg_scan_name(tg_scanner *p, const char **out);
bool tg_scan_int(tg_scanner *p, int64_t *out);
bool tg_scan_float(tg_scanner *p, double *out);

#endif
