/* --launcher: from options to jobs of a cluster, and what such a job is asked. */
#include "frontend/base/input_file.h"
#include "frontend/base/output_file.h"
#include "runtime/command/command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Options of what is said and where, not of what is computed, and those of launching. */
static bool is_of_the_starter(tg_option_id id) {
  switch (id) {
  case TG_OPT_OUTPUT:
  case TG_OPT_CSV:
  case TG_OPT_PLOT:
  case TG_OPT_PLOT_ENERGY:
  case TG_OPT_JOBS:
  case TG_OPT_LAUNCHER:
  case TG_OPT_LAUNCHER_OPTIONS:
  case TG_OPT_LAUNCHER_FOLDER:
  case TG_OPT_TASK:
  case TG_OPT_QUIET:
  case TG_OPT_VERBOSE:
  case TG_OPT_JSON: return true;
  default: return false;
  }
}

static void add_words(tg_context *context, tg_words *words) {
  const tg_options *o = &context->options;
  tg_words_add(&context->arena, words, tg_command_get(o->command)->name);
  for (int id = 0; id < TG_OPTION_COUNT; id++) {
    const tg_option_info *info = tg_option_get((tg_option_id)id);
    for (size_t i = 0; !is_of_the_starter((tg_option_id)id) && i < o->counts[id]; i++) {
      const char *value = info->kind == TG_OPTION_FLAG ? "" : o->values[id][i];
      tg_words_add(&context->arena, words,
                   tg_arena_printf(&context->arena, "--%s%s%s", info->name, *value ? "=" : "", value));
    }
  }
  for (size_t i = 0; i < o->operand_count; i++) tg_words_add(&context->arena, words, o->operands[i]);
}

static tg_status check_local(tg_context *context) {
  static const tg_option_id of_clusters[] = {TG_OPT_LAUNCHER_OPTIONS, TG_OPT_LAUNCHER_FOLDER, TG_OPT_JOBS};
  const tg_options *o = &context->options;
  for (size_t i = 0; i < sizeof of_clusters / sizeof *of_clusters; i++)
    if (tg_given(o, of_clusters[i]) && !(of_clusters[i] == TG_OPT_JOBS && o->command == TG_COMMAND_REGRESS))
      return tg_fail(&context->diag, TG_INVALID, "--%s needs --launcher slurm",
                     tg_option_get(of_clusters[i])->name);
  return TG_OK;
}

tg_status tg_choose_launcher(tg_context *context, const char *folder, tg_launcher *out_launcher,
                             bool *out_slurm) {
  const tg_options *o = &context->options;
  *out_launcher = (tg_launcher){.folder = tg_option_text(o, TG_OPT_LAUNCHER_FOLDER, folder),
                                .width = (size_t)tg_option_number(o, TG_OPT_JOBS, 0)};
  *out_slurm = !strcmp(tg_option_text(o, TG_OPT_LAUNCHER, "local"), "slurm");
  if (!*out_slurm) return check_local(context);
  for (size_t i = 0; i < o->operand_count; i++)
    if (!strcmp(o->operands[i], "-"))
      return tg_fail(&context->diag, TG_INVALID, "--launcher slurm: standard input reaches no other machine");
  char quote =
      tg_words_split(&context->arena, tg_option_text(o, TG_OPT_LAUNCHER_OPTIONS, ""), &out_launcher->options);
  if (quote)
    return tg_fail(&context->diag, TG_INVALID, "--launcher-options: a quote %c is not closed", quote);
  add_words(context, &out_launcher->words);
  return TG_OK;
}

tg_status tg_read_task(tg_context *context, json_t **out_task) {
  const char *path = tg_option_text(&context->options, TG_OPT_TASK, "");
  json_error_t error;
  FILE *file;
  tg_status status = tg_input_open(path, &file, NULL, &context->diag);
  if (status) return status;
  *out_task = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
  fclose(file);
  if (json_is_object(*out_task)) return TG_OK;
  json_decref(*out_task);
  *out_task = NULL;
  return tg_fail(&context->diag, TG_INVALID, "--task: %s: is no task: %s", path,
                 *error.text ? error.text : "no object");
}

tg_status tg_end_launch(tg_status status, int number) {
  if (!number) return status;
  fflush(stdout);
  tg_output_remove_unfinished();
  signal(number, SIG_DFL);
  raise(number);
  return TG_INVALID;
}
