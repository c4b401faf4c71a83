/* tegula numerics: where values go wrong. */
#include "runtime/numerics/numerics.h"
#include "runtime/command/command.h"

tg_status tg_command_numerics(tg_context *context) {
  const tg_options *o = &context->options;
  tg_session *session = NULL;
  json_t *object = NULL;
  tg_status status = tg_open_session(context, &session);
  if (!status) status = tg_bind_inputs(context, session);
  tg_progress(context, "evaluating");
  if (!status)
    status =
        tg_numerics(session, tg_option_real(o, TG_OPT_BOUND, TG_NUMERICS_BOUND), &object, &context->diag);
  tg_progress(context, NULL);
  if (!status && tg_answer_as_text(context, object)) tg_numerics_print(object, context->verbose, stdout);
  json_decref(object);
  tg_session_close(session);
  return status;
}
