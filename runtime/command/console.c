/* What every command says and asks of its words: progress, answers as JSON, the operand, NAME=VALUE. */
#include "frontend/base/guard.h"
#include "runtime/command/command.h"

#include <stdio.h>
#include <string.h>

void tg_progress(tg_context *context, const char *what) {
  if (!context->terminal) return;
  if (what)
    fprintf(stderr, "\r\033[K%s ...", what);
  else
    fputs("\r\033[K", stderr);
  fflush(stderr);
}

tg_status tg_one_operand(tg_context *context, const char **out_operand) {
  const tg_options *o = &context->options;
  const tg_command_info *command = tg_command_get(o->command);
  if (o->operand_count == 1) {
    *out_operand = o->operands[0];
    return TG_OK;
  }
  if (!o->operand_count)
    return tg_fail(&context->diag, TG_INVALID, "tegula %s needs %s", command->name, command->operands);
  return tg_fail(&context->diag, TG_INVALID, "tegula %s takes one operand: \"%s\" is one too many",
                 command->name, o->operands[1]);
}

void tg_print_json(const json_t *object) {
  if (!object) tg_die("out of memory for the answer");
  if (json_dumpf(object, stdout, JSON_INDENT(2)) && !ferror(stdout)) tg_die("out of memory for the answer");
  putchar('\n');
}

bool tg_answer_as_text(const tg_context *context, const json_t *answer) {
  if (context->json) tg_print_json(answer);
  return !context->json && !context->quiet;
}

tg_status tg_split_option(tg_context *context, tg_option_id option, const char *text, const char **out_name,
                          const char **out_value) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return tg_fail(&context->diag, TG_INVALID, "--%s: \"%s\" is not %s", tg_option_get(option)->name, text,
                   tg_option_get(option)->argument);
  *out_name = tg_arena_strndup(&context->arena, text, (size_t)(equals - text));
  *out_value = equals + 1;
  return TG_OK;
}
