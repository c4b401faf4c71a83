/* Precision as the interface and the report have it, in texts, and as the frontend takes it. */
#ifndef TEGULA_RUNTIME_SESSION_PRECISION_OPTIONS_H
#define TEGULA_RUNTIME_SESSION_PRECISION_OPTIONS_H

#include "frontend/precision/precision.h"
#include "runtime/tegula.h"

/* Reads the files that `options` names, on `arena`. TG_INVALID names the option and what is wrong: a choice
 * that there is none of, two policies, an option of a policy that was not chosen. */
tg_status tg_precision_of(tg_arena *arena, const tg_compile_options *options,
                          tg_precision_options *out_precision, tg_diag *diag);

/* The choice of formats that `policy` makes, in place of that of `options`; their accumulation stays. */
void tg_precision_take(tg_compile_options *options, const tg_compile_options *policy);

/* The report's "precision", as a JSON text on `arena`; the options must have been accepted. `own_rules`:
 * nodes with cast rules of the model's own. */
const char *tg_precision_note(tg_arena *arena, const tg_compile_options *options, int own_rules);

#endif
