/* Where values go wrong: each operator of a model under its precision policy, beside FP32.
 *
 * A result y of the policy differs from the FP32 result r of the same model by y - r = (y - f) + (f - r), where f is the
 * operator in FP32 on the operands that the policy left it: the first part is the error that the operator adds, by
 * rounding and by range, the second the error that it passes on. Values are those of the dumb evaluator
 * (frontend/reference.h), whose chains are the array's; functions of the vector unit differ from it within their bounds
 * (docs/vector-functions.md), and accumulation across K tiles is FP32. */
#ifndef TEGULA_RUNTIME_NUMERICS_NUMERICS_H
#define TEGULA_RUNTIME_NUMERICS_NUMERICS_H

#include "runtime/session/session.h"

#include <jansson.h>

#define TG_NUMERICS_BOUND 0.01 /* unless another is asked for */

/* A graph whose precision is decided, with values for its inputs, dense, in the graph's order. */
typedef struct tg_numerics_model {
  const tg_graph *graph;
  const char *path, *precision; /* of the report: file, and the policy as JSON */
  const float *const *inputs;
} tg_numerics_model;

/* `bound`: of a result's relative error (rms of the error over rms of the FP32 result) that counts as broken. The object's
 * keys are those of docs/precision-errors.md; the caller owns it. TG_INVALID: the graph is more than the evaluator can
 * do in a minute or so. */
tg_status tg_numerics_of(const tg_numerics_model *model, double bound, json_t **out_object, tg_diag *diag);

/* Of a compiled session with its inputs set. TG_INVALID also where an input has no values. */
tg_status tg_numerics(const tg_session *session, double bound, json_t **out_object, tg_diag *diag);

/* A table of several policies, empty: the object has `policies`, each with `policy`, `precision` and `first_broken`, and the
 * rows of all in `results`, where a row has its `policy` and those of one tensor follow each other. The caller owns it. */
json_t *tg_numerics_table(void);
/* Adds to it the object of one policy, which it takes over; objects are of the same model and bound. */
void tg_numerics_add(json_t *table, const char *policy, json_t *object);

/* Either as a table; `verbose`: of all operators, otherwise of those that add most. */
void tg_numerics_print(const json_t *object, bool verbose, FILE *out);

#endif
