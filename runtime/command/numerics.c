/* tegula numerics: where values go wrong. */
#include "runtime/numerics/numerics.h"
#include "runtime/command/numerics.h"
#include "runtime/sweep/sweep.h"

#include <string.h>

/* What --policy says, too. */
static const tg_option_id others[] = {
#define POLICY(option, member) TG_OPT_##option,
#include "runtime/session/policy.def"
#undef POLICY
};

/* Each once: its rows are told apart by its name. */
tg_status tg_check_policies(tg_context *context) {
  const tg_options *o = &context->options;
  for (size_t i = 0; i < o->counts[TG_OPT_POLICY]; i++) {
    const char *name = o->values[TG_OPT_POLICY][i];
    if (!tg_sweep_policy_named(name))
      return tg_fail(&context->diag, TG_INVALID, "--policy: there is no policy \"%s\"", name);
    for (size_t k = 0; k < i; k++)
      if (!strcmp(o->values[TG_OPT_POLICY][k], name))
        return tg_fail(&context->diag, TG_INVALID, "--policy: \"%s\" is given twice", name);
  }
  return TG_OK;
}

static tg_status check(tg_context *context) {
  tg_status status = tg_check_policies(context);
  for (size_t i = 0; !status && i < sizeof others / sizeof *others; i++)
    if (tg_given(&context->options, others[i]))
      status = tg_fail(&context->diag, TG_INVALID, "--policy says what --%s does: give one of the two",
                       tg_option_get(others[i])->name);
  return status;
}

static tg_status evaluate(tg_context *context, tg_session *session, double bound, json_t **out_object) {
  tg_status status = tg_bind_inputs(context, session);
  tg_progress(context, "evaluating");
  return status ? status : tg_numerics(session, bound, out_object, &context->diag);
}

tg_status tg_numerics_by_policy(tg_context *context, double bound, json_t **out_table) {
  const tg_options *o = &context->options;
  json_t *table = tg_numerics_table();
  tg_status status = tg_read_piped(context);
  *out_table = NULL;
  for (size_t i = 0; !status && i < o->counts[TG_OPT_POLICY]; i++) {
    const tg_sweep_policy *policy = tg_sweep_policy_named(o->values[TG_OPT_POLICY][i]);
    tg_compile_options precision = policy->precision;
    tg_session *session = NULL;
    json_t *object = NULL;
    precision.tiling_accum = tg_option_text(o, TG_OPT_TILING_ACCUM, NULL);
    status = tg_open_under(context, &precision, &session);
    if (!status) status = evaluate(context, session, bound, &object);
    if (!status) tg_numerics_add(table, policy->name, object);
    if (status) tg_diag_prefix(&context->diag, "%s", policy->name);
    tg_session_close(session);
  }
  if (status)
    json_decref(table);
  else
    *out_table = table;
  return status;
}

static tg_status of_one(tg_context *context, double bound, json_t **out_object) {
  tg_session *session = NULL;
  tg_status status = tg_open_session(context, &session);
  if (!status) status = evaluate(context, session, bound, out_object);
  tg_session_close(session);
  return status;
}

tg_status tg_check_numerics(tg_context *context) {
  if (!tg_given(&context->options, TG_OPT_POLICY)) return TG_OK;
  if (!tg_given(&context->options, TG_OPT_NUMERICS))
    return tg_fail(&context->diag, TG_INVALID, "--policy needs --numerics: the run has one of its own");
  return tg_check_policies(context);
}

tg_status tg_command_numerics(tg_context *context) {
  const tg_options *o = &context->options;
  double bound = tg_option_real(o, TG_OPT_BOUND, TG_NUMERICS_BOUND);
  bool several = tg_given(o, TG_OPT_POLICY);
  json_t *object = NULL;
  tg_status status = several ? check(context) : TG_OK;
  if (!status) status = (several ? tg_numerics_by_policy : of_one)(context, bound, &object);
  tg_progress(context, NULL);
  if (!status && tg_answer_as_text(context, object)) tg_numerics_print(object, context->verbose, stdout);
  json_decref(object);
  return status;
}
