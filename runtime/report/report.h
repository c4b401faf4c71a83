/* The report of a run: one JSON object (stable keys), from which text and HTML are rendered. */
#ifndef TEGULA_RUNTIME_REPORT_REPORT_H
#define TEGULA_RUNTIME_REPORT_REPORT_H

#include "runtime/session/session.h"

#include <jansson.h>
#include <stdio.h>

/* A new reference. The session has run. */
json_t *tg_report(const tg_session *session);

/* The parts that other commands print as well. */
json_t *tg_report_model(const tg_session *session);
json_t *tg_report_arch(const tg_params *params);
json_t *tg_report_precision(const tg_program *program);

/* A table for people. `verbose` lists every section. */
void tg_report_print(const json_t *report, bool verbose, FILE *out);
/* Either, or the object itself: as the end of `path` asks, .json or .html. */
tg_status tg_report_write(const json_t *report, const char *path, tg_diag *diag);

#endif
