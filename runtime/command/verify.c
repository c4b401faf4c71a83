/* tegula verify */
#include "runtime/session/verify.h"
#include "runtime/command/command.h"

#include <stdio.h>

static bool show_progress(void *user, const char *engine) {
  tg_context *context = user;
  tg_progress(context, tg_arena_printf(&context->arena, "running on engine %s", engine));
  return true;
}

/* Equal engines are worth what they are: the functional and the SystemC engine share kernels. */
static void print_compared(const json_t *compared, const json_t *missing) {
  if (!json_array_size(missing)) return;
  size_t i, count = json_array_size(compared);
  json_t *name;
  printf("%zu of %zu engines compared, not", count, count + json_array_size(missing));
  json_array_foreach(missing, i, name) printf("%s %s", i ? "," : "", json_string_value(name));
  printf("\n");
}

static void print(const json_t *result) {
  const char *name;
  json_t *engine;
  json_object_foreach(json_object_get(result, "engines"), name, engine) {
    json_t *cycles = json_object_get(engine, "cycles"), *skipped = json_object_get(engine, "skipped");
    if (skipped)
      printf("  %-12s left out: %s\n", name, json_string_value(skipped));
    else if (cycles)
      printf("  %-12s %lld cycles\n", name, (long long)json_integer_value(cycles));
    else
      printf("  %s\n", name);
  }
  print_compared(json_object_get(result, "compared"), json_object_get(result, "not_compared"));
  bool differ = json_is_false(json_object_get(result, "equal_actions"));
  printf("bits %s, cycles %s%s\n", json_is_true(json_object_get(result, "equal_bits")) ? "equal" : "DIFFER",
         json_is_true(json_object_get(result, "equal_cycles")) ? "equal" : "DIFFER",
         differ ? ", counts of actions DIFFER" : "");
}

tg_status tg_command_verify(tg_context *context) {
  const tg_options *o = &context->options;
  uint64_t threads = tg_option_number(o, TG_OPT_THREADS, 0);
  if (threads > 1024) return tg_fail(&context->diag, TG_INVALID, "--threads: at most 1024");
  tg_session *session = NULL;
  json_t *result = NULL;
  tg_status status = tg_open_session(context, &session);
  if (!status) status = tg_bind_inputs(context, session);
  if (!status) {
    tg_verify_options options = {.engines = tg_option_text(o, TG_OPT_ENGINES, NULL),
                                 .threads = (int)threads,
                                 .max_cycles = tg_option_number(o, TG_OPT_MAX_CYCLES, 0),
                                 .progress = show_progress,
                                 .user = context};
    status = tg_verify(session, &options, &result, &context->diag);
  }
  tg_progress(context, NULL);
  if (result && tg_answer_as_text(context, result)) print(result);
  json_decref(result);
  tg_session_close(session);
  return status;
}
