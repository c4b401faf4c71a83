/* Errors by operator under the policies that --policy names, for `numerics`, and for the report of `run --numerics`. */
#ifndef TEGULA_RUNTIME_COMMAND_NUMERICS_H
#define TEGULA_RUNTIME_COMMAND_NUMERICS_H

#include "runtime/command/command.h"

/* Are all policies of --policy known, and each named once? */
tg_status tg_check_policies(tg_context *context);
/* The same for `run` and `train`: they need --numerics for them. */
tg_status tg_check_numerics(tg_context *context);
/* Compiles and evaluates the model under each of them, with the inputs of the options; the table is that of
 * tg_numerics_table, and the caller's. */
tg_status tg_numerics_by_policy(tg_context *context, double bound, json_t **out_table);

#endif
