/* The commands that a case is run by. */
#include "runtime/options.h"
#include "runtime/regress/suite.h"
#include "runtime/session/session.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Options that a case sets itself or that make no case. */
static const tg_option_id reserved[] = {TG_OPT_ENGINE,  TG_OPT_OUTPUT_DIR,   TG_OPT_REPORT, TG_OPT_WAVE,
                                        TG_OPT_TRACE,   TG_OPT_TRACE_WINDOW, TG_OPT_GOLDEN, TG_OPT_QUIET,
                                        TG_OPT_VERBOSE, TG_OPT_JSON,         TG_OPT_HELP};

static tg_status parse_flags(tg_suite *suite, const tg_words *flags, size_t line, tg_options *out,
                             tg_diag *diag) {
  tg_words words = {0};
  tg_words_add(&suite->arena, &words, "run");
  tg_words_add(&suite->arena, &words, TG_CASE_MODEL);
  tg_words_append(&suite->arena, &words, flags);
  tg_diag why = {""};
  if (tg_options_parse(&suite->arena, (int)words.count, words.word, out, &why))
    return tg_suite_fail(suite, line, diag, why.message);
  if (out->operand_count != 1)
    return tg_suite_fail(suite, line, diag,
                         tg_arena_printf(&suite->arena, "flags: \"%s\" is no option", out->operands[1]));
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (tg_given(out, reserved[i]))
      return tg_suite_fail(
          suite, line, diag,
          tg_arena_printf(&suite->arena, "flags: --%s is not for suites", tg_option_get(reserved[i])->name));
  return TG_OK;
}

static void add_option(tg_suite *suite, tg_words *words, tg_option_id id, const char *value) {
  tg_words_add(&suite->arena, words, tg_arena_printf(&suite->arena, "--%s", tg_option_get(id)->name));
  if (value) tg_words_add(&suite->arena, words, value);
}

/* The options of `run` that the command `command` has too, and the defaults that make a case repeatable. */
static void add_common(tg_suite *suite, const tg_case *c, const tg_options *o, tg_command_id command,
                       tg_words *words) {
  for (int id = 0; id < TG_OPTION_COUNT; id++) {
    const tg_option_info *info = tg_option_get((tg_option_id)id);
    if (!(info->commands >> command & 1)) continue;
    for (size_t i = 0; i < o->counts[id]; i++)
      add_option(suite, words, (tg_option_id)id, info->kind == TG_OPTION_FLAG ? NULL : o->values[id][i]);
  }
  const char *seed = tg_arena_printf(&suite->arena, "%" PRIu64, suite->seed);
  for (size_t i = 0; i < c->model->inputs.count; i++)
    add_option(suite, words, TG_OPT_INPUT, c->model->inputs.word[i]);
  if (!tg_given(o, TG_OPT_RANDOM)) add_option(suite, words, TG_OPT_RANDOM, seed);
  if (!tg_given(o, TG_OPT_SEED) &&
      !(c->model->file && tg_is_program_file(tg_suite_reach(suite, c->model->file))))
    add_option(suite, words, TG_OPT_SEED, seed);
  if (!tg_given(o, TG_OPT_THREADS)) add_option(suite, words, TG_OPT_THREADS, "1");
  add_option(suite, words, TG_OPT_JSON, NULL);
}

/* Files that options name: FILE and NAME=FILE values that exist. */
static void note_files(tg_suite *suite, tg_case *c, const tg_words *words) {
  for (size_t i = 1; i < words->count; i++) {
    const char *equals = strchr(words->word[i], '='), *file = equals ? equals + 1 : words->word[i];
    struct stat info;
    if (*file && !stat(tg_suite_reach(suite, file), &info) && S_ISREG(info.st_mode) &&
        !tg_words_have(&c->files, file))
      tg_words_add(&suite->arena, &c->files, file);
  }
}

static void make_commands(tg_suite *suite, tg_case *c, const tg_options *o) {
  tg_arena *arena = &suite->arena;
  if (c->model->zoo) {
    tg_words_add(arena, &c->zoo, "zoo");
    tg_words_add(arena, &c->zoo, c->model->zoo);
    tg_words_append(arena, &c->zoo, &c->model->sizes);
    add_option(suite, &c->zoo, TG_OPT_OUTPUT, TG_CASE_MODEL);
  }
  const char *model = c->model->zoo ? TG_CASE_MODEL : c->model->file;
  tg_words_add(arena, &c->run, "run");
  tg_words_add(arena, &c->run, model);
  add_option(suite, &c->run, TG_OPT_ENGINE, c->engine);
  add_common(suite, c, o, TG_COMMAND_RUN, &c->run);
  if (!tg_given(o, TG_OPT_NO_CPU)) add_option(suite, &c->run, TG_OPT_NO_CPU, NULL);
  if (!tg_given(o, TG_OPT_PROFILE) && strcmp(c->engine, "functional"))
    add_option(suite, &c->run, TG_OPT_PROFILE, NULL);
  const tg_bound *golden = &c->bounds.of[TG_BOUND_golden], *equal = &c->bounds.of[TG_BOUND_engines_equal];
  for (size_t i = 0; i < golden->file_count; i++) add_option(suite, &c->run, TG_OPT_GOLDEN, golden->files[i]);
  if (equal->given && *equal->text) {
    tg_words_add(arena, &c->verify, "verify");
    tg_words_add(arena, &c->verify, model);
    add_option(suite, &c->verify, TG_OPT_ENGINES, equal->text);
    add_common(suite, c, o, TG_COMMAND_VERIFY, &c->verify);
  }
  note_files(suite, c, &c->run);
}

tg_status tg_case_make_commands(tg_suite *suite, tg_case *c, const tg_words *flags, size_t line,
                                tg_diag *diag) {
  tg_options options;
  tg_status status = parse_flags(suite, flags, line, &options, diag);
  if (!status) make_commands(suite, c, &options);
  return status;
}
