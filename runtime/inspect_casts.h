/* What the precision policy decided: for people, for programs, as rules, and in the model's file. */
#ifndef TEGULA_RUNTIME_INSPECT_CASTS_H
#define TEGULA_RUNTIME_INSPECT_CASTS_H

#include "runtime/session/session.h"

#include <jansson.h>

/* New reference, of a session that has decided: "precision"; "casts", a row for each float operand ("kind":
 * "operand"), result and output of the model, in order, with the element type "before" and "after", "rule"
 * and "source", and whether a cast was "inserted" for it; "counts": casts "inserted", how many of them
 * "of_constants" (folded into narrow constants), and those "left" as nodes of the lowered graph (null: it
 * cannot be lowered). */
json_t *tg_inspect_casts(const tg_session *session);
void tg_inspect_casts_print(const json_t *casts, FILE *out);

/* The decisions on the node whose records begin at decided->casts[first], as a rule of its own
 * (frontend/precision/cast_rules.h): "bf16,bf16,keep -> fp32". On `arena`. */
const char *tg_decided_rule(tg_arena *arena, const tg_graph *decided, size_t first);
/* The decisions as a file of rules that decides the same (frontend/precision/cast_rules.h). `note`, of one
 * line, says where they are from; NULL: each with the rule that decided. */
tg_status tg_write_cast_rules(const tg_session *session, const char *path, const char *note, tg_diag *diag);
/* The model with the decisions as metadata tegula.casts of its nodes. */
tg_status tg_write_decided_model(tg_session *session, const char *path, tg_diag *diag);

#endif
