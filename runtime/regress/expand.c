/* From a suite to its cases and their commands. */
#include "runtime/options.h"
#include "runtime/regress/suite.h"
#include "runtime/zoo.h"

#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_CASES = 20000, DEFAULT_SECONDS = 600 };
#define DEFAULT_MEMORY (8ull << 30)

/* --- models */

static tg_status check_zoo(tg_suite *suite, const tg_suite_model *model, tg_diag *diag) {
  const tg_zoo_entry *entry = tg_zoo;
  while (entry->name && strcmp(entry->name, model->zoo)) entry++;
  if (!entry->name)
    return tg_suite_fail(suite, model->line, diag,
                         tg_arena_printf(&suite->arena,
                                         "no model \"%s\" in the zoo (a file is written with its folder or "
                                         "ending): see tegula zoo --list",
                                         model->zoo));
  tg_words line = {0};
  tg_words_add(&suite->arena, &line, "zoo");
  tg_words_add(&suite->arena, &line, model->zoo);
  tg_words_append(&suite->arena, &line, &model->sizes);
  tg_options options;
  tg_diag why = {""};
  if (tg_options_parse(&suite->arena, (int)line.count, line.word, &options, &why))
    return tg_suite_fail(suite, model->line, diag,
                         tg_arena_printf(&suite->arena, "sizes of %s: %s", model->zoo, why.message));
  if (options.operand_count != 1 || tg_given(&options, TG_OPT_OUTPUT) || tg_given(&options, TG_OPT_LIST) ||
      tg_given(&options, TG_OPT_HELP))
    return tg_suite_fail(suite, model->line, diag, "sizes: wants options of tegula zoo that are sizes");
  return TG_OK;
}

/* As tg_suite_reach, for glob: the folder's characters mean themselves. */
static const char *pattern_of(tg_suite *suite, const char *pattern) {
  if (*pattern == '/') return pattern;
  size_t length = strlen(suite->folder), at = 0;
  char *text = TG_NEW_ARRAY(&suite->arena, char, 2 * length + 1);
  for (const char *c = suite->folder; *c; c++) {
    if (strchr("*?[]\\", *c)) text[at++] = '\\';
    text[at++] = *c;
  }
  return tg_arena_printf(&suite->arena, "%s/%s", text, pattern);
}

/* A file, or a pattern of files: in the order of their names. */
static tg_status add_files(tg_suite *suite, const tg_suite_model *model, tg_suite_model **models,
                           size_t *count, size_t *capacity, tg_diag *diag) {
  struct stat info;
  if (!strpbrk(model->file, "*?[") || !stat(tg_suite_reach(suite, model->file), &info)) {
    if (stat(tg_suite_reach(suite, model->file), &info) || S_ISDIR(info.st_mode))
      return tg_suite_fail(suite, model->line, diag,
                           tg_arena_printf(&suite->arena, "%s: there is no such file", model->file));
    TG_PUSH(&suite->arena, *models, *count, *capacity, *model);
    return TG_OK;
  }
  glob_t found;
  if (glob(pattern_of(suite, model->file), 0, NULL, &found))
    return tg_suite_fail(suite, model->line, diag,
                         tg_arena_printf(&suite->arena, "%s: no file matches", model->file));
  size_t prefix = *model->file == '/' ? 0 : strlen(suite->folder) + 1;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    tg_suite_model one = *model;
    one.file = tg_arena_strdup(&suite->arena, found.gl_pathv[i] + prefix);
    const char *slash = strrchr(one.file, '/'), *base = slash ? slash + 1 : one.file,
               *dot = strrchr(base, '.');
    const char *own =
        tg_arena_strndup(&suite->arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    bool named = strpbrk(model->name, "*?[") == NULL;
    one.name = named ? tg_arena_printf(&suite->arena, "%s-%s", model->name, own) : own;
    TG_PUSH(&suite->arena, *models, *count, *capacity, one);
  }
  globfree(&found);
  return TG_OK;
}

static tg_status resolve_models(tg_suite *suite, tg_diag *diag) {
  tg_suite_model *models = NULL;
  size_t count = 0, capacity = 0;
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < suite->model_count; i++) {
    const tg_suite_model *model = &suite->models[i];
    if (model->file) {
      status = add_files(suite, model, &models, &count, &capacity, diag);
    } else {
      status = check_zoo(suite, model, diag);
      TG_PUSH(&suite->arena, models, count, capacity, *model);
    }
  }
  suite->models = models;
  suite->model_count = count;
  for (size_t i = 0; !status && i < count; i++) {
    if (strpbrk(models[i].name, "/+*?[]\\ \t\n\"'"))
      return tg_suite_fail(suite, models[i].line, diag,
                           tg_arena_printf(&suite->arena,
                                           "\"%s\" makes no good name of cases: give one by `name`",
                                           models[i].name));
    for (size_t k = 0; k < i; k++)
      if (!strcmp(models[i].name, models[k].name))
        return tg_suite_fail(suite, models[i].line, diag,
                             tg_arena_printf(&suite->arena,
                                             "two models are named \"%s\": give one another `name`",
                                             models[i].name));
  }
  return status;
}

/* --- cases */

static bool matches(const tg_words *patterns, const char *id, bool *used) {
  bool any = false;
  for (size_t i = 0; i < patterns->count; i++)
    if (!fnmatch(patterns->word[i], id, 0)) {
      any = true;
      if (used) used[i] = true;
    }
  return any;
}

/* A model's list of flag sets restricts the axes that have one of its names. */
static bool allowed(const tg_suite_model *model, const tg_flag_axis *axis, const tg_flag_set *set) {
  bool restricted = false;
  for (size_t i = 0; i < axis->count; i++) restricted |= tg_words_have(&model->flags, axis->sets[i].name);
  return !restricted || tg_words_have(&model->flags, set->name);
}

/* Which set of each axis; counts like an odometer, the last axis fastest. */
typedef struct choice {
  size_t *of;
} choice;

static bool next_choice(const tg_suite *suite, choice *choice) {
  for (size_t a = suite->axis_count; a-- > 0;) {
    if (++choice->of[a] < suite->axes[a].count) return true;
    choice->of[a] = 0;
  }
  return false;
}

typedef struct limits {
  bool *excluded, **overridden; /* patterns that matched a case */
} limits;

static tg_status add_case(tg_suite *suite, const tg_suite_model *model, const choice *choice,
                          const char *engine, limits *used, tg_diag *diag) {
  tg_case c = {.model = model,
               .engine = engine,
               .flags = "",
               .bounds = suite->bounds,
               .trains = !strcmp(engine, TG_ENGINE_TRAINING)};
  tg_words flags = {0};
  size_t line = model->line;
  tg_bounds_lay_over(&suite->arena, &c.bounds, &model->bounds);
  for (size_t a = 0; a < suite->axis_count; a++) {
    const tg_flag_set *set = &suite->axes[a].sets[choice->of[a]];
    if (!allowed(model, &suite->axes[a], set)) return TG_OK;
    c.flags = tg_arena_printf(&suite->arena, "%s%s%s", c.flags, a ? "+" : "", set->name);
    tg_words_append(&suite->arena, &flags, &set->flags);
    tg_bounds_lay_over(&suite->arena, &c.bounds, &set->bounds);
    line = set->line;
  }
  if (!*c.flags) c.flags = "default";
  c.id = tg_arena_printf(&suite->arena, "%s/%s/%s", model->name, c.flags, engine);
  if (matches(&suite->exclude, c.id, used->excluded)) return TG_OK;
  for (size_t i = 0; i < suite->override_count; i++)
    if (matches(&suite->overrides[i].patterns, c.id, used->overridden[i]))
      tg_bounds_lay_over(&suite->arena, &c.bounds, &suite->overrides[i].bounds);
  tg_status status = tg_case_make_commands(suite, &c, &flags, line, diag);
  if (status) return status;
  if (suite->case_count == MOST_CASES)
    return tg_fail(diag, TG_INVALID, "%s: more than 20000 cases", suite->path);
  TG_PUSH(&suite->arena, suite->cases, suite->case_count, suite->case_capacity, c);
  return TG_OK;
}

static tg_status cases_of_model(tg_suite *suite, const tg_suite_model *model, limits *used, tg_diag *diag) {
  const tg_words *engines = model->engines.count ? &model->engines : &suite->engines;
  choice choice = {TG_NEW_ARRAY(&suite->arena, size_t, suite->axis_count)};
  uint64_t product = engines->count;
  for (size_t a = 0; a < suite->axis_count; a++)
    if (__builtin_mul_overflow(product, suite->axes[a].count, &product) || product > 100ull * MOST_CASES)
      return tg_fail(diag, TG_INVALID, "%s: more than 20000 cases", suite->path);
  tg_status status = TG_OK;
  do
    for (size_t e = 0; !status && e < engines->count; e++)
      status = add_case(suite, model, &choice, engines->word[e], used, diag);
  while (!status && next_choice(suite, &choice));
  return status;
}

static tg_status check_engines(const tg_suite *suite, const tg_words *engines, size_t line, tg_diag *diag) {
  for (size_t i = 0; i < engines->count; i++) {
    const char *name = engines->word[i];
    if (strcmp(name, "functional") && strcmp(name, "systemc") && strcmp(name, "rtl") &&
        strcmp(name, TG_ENGINE_TRAINING))
      return tg_fail(diag, TG_INVALID, "%s:%zu: engine \"%s\" is none of functional, systemc, rtl, training",
                     suite->path, line, name);
    for (size_t k = 0; k < i; k++)
      if (!strcmp(name, engines->word[k]))
        return tg_fail(diag, TG_INVALID, "%s:%zu: engine \"%s\" is given twice", suite->path, line, name);
  }
  return TG_OK;
}

static tg_status check_names(const tg_suite *suite, const tg_suite_model *model, tg_diag *diag) {
  for (size_t i = 0; i < model->flags.count; i++) {
    bool found = false;
    for (size_t a = 0; a < suite->axis_count; a++)
      for (size_t s = 0; s < suite->axes[a].count; s++)
        found |= !strcmp(suite->axes[a].sets[s].name, model->flags.word[i]);
    if (!found)
      return tg_fail(diag, TG_INVALID, "%s:%zu: there is no flag set \"%s\"", suite->path, model->line,
                     model->flags.word[i]);
  }
  return check_engines(suite, &model->engines, model->line, diag);
}

static tg_status check_used(const tg_suite *suite, const tg_words *patterns, const bool *used, size_t line,
                            const char *what, tg_diag *diag) {
  for (size_t i = 0; i < patterns->count; i++)
    if (!used[i])
      return tg_fail(diag, TG_INVALID, "%s:%zu: %s: \"%s\" matches no case", suite->path, line, what,
                     patterns->word[i]);
  return TG_OK;
}

tg_status tg_suite_expand(tg_suite *suite, tg_diag *diag) {
  limits used = {TG_NEW_ARRAY(&suite->arena, bool, suite->exclude.count),
                 TG_NEW_ARRAY(&suite->arena, bool *, suite->override_count)};
  for (size_t i = 0; i < suite->override_count; i++)
    used.overridden[i] = TG_NEW_ARRAY(&suite->arena, bool, suite->overrides[i].patterns.count);
  tg_bounds defaults = {0};
  defaults.of[TG_BOUND_time_limit] = (tg_bound){.given = true, .real = DEFAULT_SECONDS, .text = "10min"};
  defaults.of[TG_BOUND_memory_limit] = (tg_bound){.given = true, .bytes = DEFAULT_MEMORY, .text = "8GiB"};
  tg_bounds_lay_over(&suite->arena, &defaults, &suite->bounds);
  suite->bounds = defaults;
  tg_status status = check_engines(suite, &suite->engines, 1, diag);
  if (!status) status = resolve_models(suite, diag);
  for (size_t i = 0; !status && i < suite->model_count; i++) {
    status = check_names(suite, &suite->models[i], diag);
    if (!status) status = cases_of_model(suite, &suite->models[i], &used, diag);
  }
  if (!status)
    status = check_used(suite, &suite->exclude, used.excluded, suite->exclude_line, "exclude", diag);
  for (size_t i = 0; !status && i < suite->override_count; i++)
    status = check_used(suite, &suite->overrides[i].patterns, used.overridden[i], suite->overrides[i].line,
                        "overrides", diag);
  if (!status && !suite->case_count) return tg_fail(diag, TG_INVALID, "%s: no case is left", suite->path);
  return status;
}

static const char *folder_of(tg_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = realpath(slash == path ? "/"
                          : slash       ? tg_arena_strndup(arena, path, (size_t)(slash - path))
                                        : ".",
                          NULL);
  const char *copy = folder ? tg_arena_strdup(arena, folder) : NULL;
  free(folder);
  return copy;
}

tg_status tg_suite_load(const char *path, const uint64_t *seed, tg_suite *out_suite, tg_diag *diag) {
  tg_suite *s = out_suite;
  *s = (tg_suite){.seed = 1};
  s->path = tg_arena_strdup(&s->arena, path);
  s->folder = folder_of(&s->arena, path);
  if (!s->folder) return tg_fail(diag, TG_INVALID, "%s: cannot be read", path);
  tg_yaml yaml;
  tg_status status = tg_yaml_load(s->path, &s->arena, diag, &yaml);
  if (status) return status;
  status = tg_suite_read(&yaml, s);
  tg_yaml_release(&yaml);
  if (seed) s->seed = *seed;
  return status ? status : tg_suite_expand(s, diag);
}

void tg_suite_release(tg_suite *suite) {
  tg_arena_release(&suite->arena);
  *suite = (tg_suite){0};
}
