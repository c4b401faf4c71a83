/* The commands that a case is run by. */
#include "runtime/options.h"
#include "runtime/regress/suite.h"
#include "runtime/session/session.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Options that a case sets itself or that make no case; a training may choose its engine. */
static const tg_option_id reserved[] = {TG_OPT_ENGINE,  TG_OPT_OUTPUT_DIR, TG_OPT_OUTPUT,       TG_OPT_REPORT,
                                        TG_OPT_WAVE,    TG_OPT_TRACE,      TG_OPT_TRACE_WINDOW, TG_OPT_GOLDEN,
                                        TG_OPT_SAVE,    TG_OPT_SAVE_GRADS, TG_OPT_LOSSES,       TG_OPT_CSV,
                                        TG_OPT_PLOT,    TG_OPT_CHECKPOINT, TG_OPT_RESUME,       TG_OPT_QUIET,
                                        TG_OPT_VERBOSE, TG_OPT_JSON,       TG_OPT_HELP};

/* Options of one place of the suite, `what`. */
static tg_status parse(tg_suite *suite, const tg_case *c, const char *what, const tg_words *flags,
                       size_t line, tg_options *out, tg_diag *diag) {
  tg_words words = {0};
  tg_words_add(&suite->arena, &words, c->trains ? "train" : "run");
  tg_words_add(&suite->arena, &words, TG_CASE_MODEL);
  tg_words_append(&suite->arena, &words, flags);
  tg_diag why = {""};
  if (tg_options_parse(&suite->arena, (int)words.count, words.word, out, &why))
    return tg_suite_fail(suite, line, diag, why.message);
  if (out->operand_count != 1)
    return tg_suite_fail(suite, line, diag,
                         tg_arena_printf(&suite->arena, "%s: \"%s\" is no option", what, out->operands[1]));
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (tg_given(out, reserved[i]) && (!c->trains || reserved[i] != TG_OPT_ENGINE))
      return tg_suite_fail(suite, line, diag,
                           tg_arena_printf(&suite->arena, "%s: --%s is not for suites", what,
                                           tg_option_get(reserved[i])->name));
  return TG_OK;
}

/* What `over` gives replaces what `base` has, option by option. */
static void lay_over(tg_options *base, const tg_options *over) {
  for (int id = 0; id < TG_OPTION_COUNT; id++) {
    if (!over->counts[id]) continue;
    base->values[id] = over->values[id];
    base->counts[id] = base->capacities[id] = over->counts[id];
  }
}

/* Those of the suite's `training`, of the model's, and of the flag sets. */
static tg_status options_of(tg_suite *suite, const tg_case *c, const tg_words *flags, size_t line,
                            tg_options *out, tg_diag *diag) {
  if (!c->trains) return parse(suite, c, "flags", flags, line, out, diag);
  tg_options of_model, of_flags;
  tg_status status = parse(suite, c, "training", &suite->training, suite->training_line, out, diag);
  if (!status) status = parse(suite, c, "training", &c->model->training, c->model->line, &of_model, diag);
  if (!status) status = parse(suite, c, "flags", flags, line, &of_flags, diag);
  if (status) return status;
  lay_over(out, &of_model);
  lay_over(out, &of_flags);
  return TG_OK;
}

static void add_option(tg_suite *suite, tg_words *words, tg_option_id id, const char *value) {
  tg_words_add(&suite->arena, words, tg_arena_printf(&suite->arena, "--%s", tg_option_get(id)->name));
  if (value) tg_words_add(&suite->arena, words, value);
}

/* The options of a case that the command `command` has too. */
static void add_own(tg_suite *suite, const tg_options *o, tg_command_id command, tg_words *words) {
  for (int id = 0; id < TG_OPTION_COUNT; id++) {
    const tg_option_info *info = tg_option_get((tg_option_id)id);
    if (!(info->commands >> command & 1)) continue;
    for (size_t i = 0; i < o->counts[id]; i++)
      add_option(suite, words, (tg_option_id)id, info->kind == TG_OPTION_FLAG ? NULL : o->values[id][i]);
  }
}

/* Defaults that make a command repeatable. */
static void add_defaults(tg_suite *suite, const tg_options *o, bool random, bool seeded, tg_words *words) {
  const char *seed = tg_arena_printf(&suite->arena, "%" PRIu64, suite->seed);
  if (random && !tg_given(o, TG_OPT_RANDOM)) add_option(suite, words, TG_OPT_RANDOM, seed);
  if (seeded && !tg_given(o, TG_OPT_SEED)) add_option(suite, words, TG_OPT_SEED, seed);
  if (!tg_given(o, TG_OPT_THREADS)) add_option(suite, words, TG_OPT_THREADS, "1");
  add_option(suite, words, TG_OPT_JSON, NULL);
}

static void add_common(tg_suite *suite, const tg_case *c, const tg_options *o, tg_command_id command,
                       tg_words *words) {
  bool compiled = c->model->file && tg_is_program_file(tg_suite_reach(suite, c->model->file));
  add_own(suite, o, command, words);
  for (size_t i = 0; i < c->model->inputs.count; i++)
    add_option(suite, words, TG_OPT_INPUT, c->model->inputs.word[i]);
  add_defaults(suite, o, true, !compiled, words);
}

/* Files that options name: FILE, NAME=FILE and FILE.npz:ARRAY values that exist. */
static void note_files(tg_suite *suite, tg_case *c, const tg_words *words) {
  for (size_t i = 1; i < words->count; i++) {
    const char *equals = strchr(words->word[i], '='), *file = equals ? equals + 1 : words->word[i],
               *archive = strstr(file, ".npz:");
    if (archive) file = tg_arena_strndup(&suite->arena, file, (size_t)(archive - file) + 4);
    struct stat info;
    if (*file && !stat(tg_suite_reach(suite, file), &info) && S_ISREG(info.st_mode) &&
        !tg_words_have(&c->files, file))
      tg_words_add(&suite->arena, &c->files, file);
  }
}

static void run_commands(tg_suite *suite, tg_case *c, const char *model, const tg_options *o) {
  const tg_bound *golden = &c->bounds.of[TG_BOUND_golden], *equal = &c->bounds.of[TG_BOUND_engines_equal];
  tg_words_add(&suite->arena, &c->run, "run");
  tg_words_add(&suite->arena, &c->run, model);
  add_option(suite, &c->run, TG_OPT_ENGINE, c->engine);
  add_common(suite, c, o, TG_COMMAND_RUN, &c->run);
  if (!tg_given(o, TG_OPT_NO_CPU)) add_option(suite, &c->run, TG_OPT_NO_CPU, NULL);
  if (!tg_given(o, TG_OPT_PROFILE) && strcmp(c->engine, "functional"))
    add_option(suite, &c->run, TG_OPT_PROFILE, NULL);
  for (size_t i = 0; i < golden->file_count; i++) add_option(suite, &c->run, TG_OPT_GOLDEN, golden->files[i]);
  if (!equal->given || !*equal->text) return;
  tg_words_add(&suite->arena, &c->verify, "verify");
  tg_words_add(&suite->arena, &c->verify, model);
  add_option(suite, &c->verify, TG_OPT_ENGINES, equal->text);
  add_common(suite, c, o, TG_COMMAND_VERIFY, &c->verify);
}

/* A training run; engines are compared on the program of a step. */
static void training_commands(tg_suite *suite, tg_case *c, const char *model, const tg_options *o) {
  const tg_bound *equal = &c->bounds.of[TG_BOUND_engines_equal];
  tg_options none = {0};
  tg_words_add(&suite->arena, &c->run, "train");
  tg_words_add(&suite->arena, &c->run, model);
  add_own(suite, o, TG_COMMAND_TRAIN, &c->run);
  if (!tg_given(o, TG_OPT_PROFILE)) add_option(suite, &c->run, TG_OPT_PROFILE, NULL);
  add_defaults(suite, o, false, true, &c->run);
  if (!equal->given || !*equal->text) return;
  add_option(suite, &c->run, TG_OPT_OUTPUT, TG_CASE_PROGRAM);
  tg_words_add(&suite->arena, &c->verify, "verify");
  tg_words_add(&suite->arena, &c->verify, TG_CASE_PROGRAM);
  add_option(suite, &c->verify, TG_OPT_ENGINES, equal->text);
  add_defaults(suite, &none, true, false, &c->verify);
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
  if (c->trains)
    training_commands(suite, c, model, o);
  else
    run_commands(suite, c, model, o);
  note_files(suite, c, &c->run);
}

tg_status tg_case_make_commands(tg_suite *suite, tg_case *c, const tg_words *flags, size_t line,
                                tg_diag *diag) {
  tg_options options;
  tg_status status = options_of(suite, c, flags, line, &options, diag);
  if (!status) make_commands(suite, c, &options);
  return status;
}
