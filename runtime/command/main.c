/* tegula: parses the command line and calls a command. */
#include "frontend/base/guard.h"
#include "frontend/base/output_file.h"
#include "runtime/command/command.h"
#include "runtime/json_text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tg_status run(tg_context *context) {
  switch (context->options.command) {
  case TG_COMMAND_COMPILE: return tg_command_compile(context);
  case TG_COMMAND_RUN: return tg_command_run(context);
  case TG_COMMAND_VERIFY: return tg_command_verify(context);
  case TG_COMMAND_INSPECT: return tg_command_inspect(context);
  case TG_COMMAND_ZOO: return tg_command_zoo(context);
  case TG_COMMAND_REGRESS: return tg_command_regress(context);
  case TG_COMMAND_FP: return tg_command_fp(context);
  case TG_COMMAND_TRAIN: return tg_command_train(context);
  case TG_COMMAND_SWEEP: return tg_command_sweep(context);
  case TG_COMMAND_NUMERICS: return tg_command_numerics(context);
  case TG_COMMAND_TUNE: return tg_command_tune(context);
  case TG_COMMAND_COUNT: break;
  }
  return TG_INVALID;
}

/* A file that is to be standard output does not share it with what else the command says. */
static tg_status keep_files_apart(tg_context *context) {
  const tg_options *o = &context->options;
  for (int i = 0; i < TG_OPTION_COUNT; i++)
    for (size_t v = 0; tg_option_is_written(tg_option_get((tg_option_id)i)) && v < o->counts[i]; v++)
      if (tg_output_is_standard(o->values[i][v])) return tg_output_keep_apart(&context->diag);
  return TG_OK;
}

/* Where popt finds no memory, in options of ours or of a suite, it ends the process with a line of its own and status 1. We end
 * it by returning from main. */
static bool running;
static void correct_status(void) {
  if (running) _exit(TG_INVALID);
}

static tg_status parse_and_run(tg_context *context, int argc, const char *const *argv) {
  if (argc == 1 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))) {
    fputs(tg_help_overview(&context->arena), stdout);
    return TG_OK;
  }
  if (argc == 1 && !strcmp(argv[0], "--version")) {
    printf("tegula %s\n", tg_version());
    return TG_OK;
  }
  tg_options *o = &context->options;
  tg_status status = tg_options_parse(&context->arena, argc, argv, o, &context->diag);
  if (status) return status;
  if (tg_given(o, TG_OPT_HELP)) {
    fputs(tg_help_command(&context->arena, o->command), stdout);
    return TG_OK;
  }
  context->quiet = tg_given(o, TG_OPT_QUIET);
  context->verbose = tg_given(o, TG_OPT_VERBOSE);
  context->json = tg_given(o, TG_OPT_JSON);
  context->terminal = !context->quiet && isatty(STDERR_FILENO);
  status = tg_check_overwriting(context);
  if (!status) status = keep_files_apart(context);
  return status ? status : run(context);
}

/* What is half written goes before the process does, as the signal wants it to. */
static void clean_up(int number) {
  tg_output_remove_unfinished();
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

/* Signals that someone else ignores for us stay so. A file that grows too large is an error of writing. */
static void catch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction old, ours = {.sa_handler = clean_up};
    if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL) sigaction(numbers[i], &ours, NULL);
  }
  (void)signal(SIGXFSZ, SIG_IGN);
  (void)atexit(tg_output_remove_unfinished);
  tg_before_death(tg_output_remove_unfinished);
}

int main(int argc, char **argv) {
  tg_context context = {0};
  tg_guards_hold(false);
  catch_signals();
  (void)atexit(correct_status);
  tg_catch_no_memory(true);
  tg_json_needs_memory();
  running = true;
  tg_status status = parse_and_run(&context, argc - 1, (const char *const *)argv + 1);
  running = false;
  tg_progress(&context, NULL);
  if (fflush(stdout) || ferror(stdout))
    status = tg_fail(&context.diag, TG_INVALID, "standard output: cannot be written");
  if (*context.diag.message) fprintf(stderr, "tegula: %s\n", context.diag.message);
  tg_arena_release(&context.arena);
  return status;
}
