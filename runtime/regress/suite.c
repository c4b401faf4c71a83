/* Reading a suite; the keys stand in docs/regression-suites.md. */
#include "runtime/regress/suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

tg_status tg_suite_fail(const tg_suite *suite, size_t line, tg_diag *diag, const char *text) {
  return tg_fail(diag, TG_INVALID, "%s:%zu: %s", suite->path, line, text);
}

const char *tg_suite_reach(tg_suite *suite, const char *path) {
  return *path == '/' ? path : tg_arena_printf(&suite->arena, "%s/%s", suite->folder, path);
}

static tg_status read_words(tg_yaml *yaml, yaml_node_t *node, const char *what, tg_words *out) {
  tg_status status = tg_yaml_texts(yaml, node, what, &out->word, &out->count);
  out->capacity = out->count;
  return status;
}

/* Options: a list of words, or one text that is split as a shell does. */
static tg_status read_options(tg_yaml *yaml, yaml_node_t *node, const char *what, tg_words *out) {
  if (node->type == YAML_SEQUENCE_NODE) return read_words(yaml, node, what, out);
  const char *text;
  tg_status status = tg_yaml_text(yaml, node, what, &text);
  if (status) return status;
  char quote = tg_words_split(yaml->arena, text, out);
  return quote ? tg_yaml_fail(yaml, node, "%s: a quote %c is not closed", what, quote) : TG_OK;
}

/* Names become parts of ids and of file names. */
static tg_status check_name(tg_yaml *yaml, const yaml_node_t *node, const char *name) {
  if (*name && strlen(name) <= 100 && !strpbrk(name, "/+*?[]\\ \t\n\"'") && (unsigned char)*name > ' ')
    return TG_OK;
  return tg_yaml_fail(
      yaml, node, "name \"%s\": wants 1 to 100 characters without blanks, quotes and any of /+*?[]\\", name);
}

/* --- models */

/* One entry under `models`, before its lists and patterns are expanded. */
typedef struct entry {
  tg_suite_model model;
  yaml_node_t *sizes;
} entry;

static const char *stem(tg_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return dot && dot > base ? tg_arena_strndup(arena, base, (size_t)(dot - base)) : base;
}

static tg_status take_input(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  const char *file;
  tg_status status = tg_yaml_text(yaml, value, "inputs", &file);
  if (!status) tg_words_add(yaml->arena, user, tg_arena_printf(yaml->arena, "%s=%s", key, file));
  return status;
}

static tg_status take_model_key(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  entry *e = user;
  bool known;
  tg_status status = tg_limit_read(yaml, key, value, &e->model.bounds, &known);
  if (status || known) return status;
  if (!strcmp(key, "file")) return tg_yaml_text(yaml, value, key, &e->model.file);
  if (!strcmp(key, "zoo")) return tg_yaml_text(yaml, value, key, &e->model.zoo);
  if (!strcmp(key, "sizes")) return e->sizes = value, TG_OK;
  if (!strcmp(key, "flags")) return read_words(yaml, value, key, &e->model.flags);
  if (!strcmp(key, "engines")) return read_words(yaml, value, key, &e->model.engines);
  if (!strcmp(key, "training")) return read_options(yaml, value, key, &e->model.training);
  if (!strcmp(key, "inputs")) return tg_yaml_pairs(yaml, value, key, take_input, &e->model.inputs);
  if (!strcmp(key, "bounds")) return tg_bounds_read(yaml, value, &e->model.bounds);
  if (strcmp(key, "name"))
    return tg_yaml_unknown(yaml, value, key, "a model",
                           "file or zoo, name, sizes, inputs, flags, engines, training, bounds, time_limit, "
                           "memory_limit, retries, expected_failure, tags");
  status = tg_yaml_text(yaml, value, key, &e->model.name);
  return status ? status : check_name(yaml, value, e->model.name);
}

typedef struct expansion {
  tg_suite *suite;
  const tg_suite_model *model;
  tg_suite_model *made; /* so far; suite->models moves */
  size_t made_count, made_capacity;
} expansion;

/* A size is one value or a list: each model made so far becomes one a value. */
static tg_status take_size(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  expansion *x = user;
  const char **values;
  size_t count;
  tg_status status = tg_yaml_texts(yaml, value, key, &values, &count);
  if (status) return status;
  if (!count) return tg_yaml_fail(yaml, value, "size \"%s\": an empty list makes no model", key);
  if (count > 10000 / x->made_count) return tg_yaml_fail(yaml, value, "sizes: more than 10000 models");
  tg_suite_model *made = TG_NEW_ARRAY(yaml->arena, tg_suite_model, count * x->made_count);
  for (size_t m = 0; m < x->made_count; m++)
    for (size_t v = 0; v < count; v++) {
      tg_suite_model *one = &made[m * count + v];
      *one = x->made[m];
      one->sizes = (tg_words){0};
      tg_words_append(yaml->arena, &one->sizes, &x->made[m].sizes);
      tg_words_add(yaml->arena, &one->sizes, tg_arena_printf(yaml->arena, "--%s", key));
      if (strcmp(values[v], "true")) tg_words_add(yaml->arena, &one->sizes, values[v]);
      if (!x->model->name || count > 1)
        one->name = strcmp(values[v], "true")
                        ? tg_arena_printf(yaml->arena, "%s-%s%s", one->name, key, values[v])
                        : tg_arena_printf(yaml->arena, "%s-%s", one->name, key);
    }
  x->made = made;
  x->made_count *= count;
  return TG_OK;
}

static tg_status finish_model(tg_yaml *yaml, tg_suite *suite, yaml_node_t *node, entry *e) {
  tg_suite_model *model = &e->model;
  model->line = tg_yaml_line(node);
  if (!model->file == !model->zoo) return tg_yaml_fail(yaml, node, "a model wants either file or zoo");
  if (model->file && e->sizes) return tg_yaml_fail(yaml, e->sizes, "sizes are for models of the zoo");
  expansion x = {
      .suite = suite, .model = model, .made = TG_NEW(yaml->arena, tg_suite_model), .made_count = 1};
  x.made[0] = *model;
  if (!model->name) x.made[0].name = model->zoo ? model->zoo : stem(yaml->arena, model->file);
  tg_status status = e->sizes ? tg_yaml_pairs(yaml, e->sizes, "sizes", take_size, &x) : TG_OK;
  for (size_t i = 0; !status && i < x.made_count; i++)
    TG_PUSH(yaml->arena, suite->models, suite->model_count, suite->model_capacity, x.made[i]);
  return status;
}

static bool looks_like_file(const char *text) {
  size_t length = strlen(text);
  return strchr(text, '/') || (length > 5 && !strcmp(text + length - 5, ".onnx")) ||
         (length > 4 && !strcmp(text + length - 4, ".tgb"));
}

static tg_status read_model(tg_yaml *yaml, tg_suite *suite, yaml_node_t *node) {
  entry e = {0};
  tg_status status;
  if (node->type == YAML_SCALAR_NODE) {
    const char *text;
    status = tg_yaml_text(yaml, node, "models", &text);
    if (!status) *(looks_like_file(text) ? &e.model.file : &e.model.zoo) = text;
  } else {
    status = tg_yaml_pairs(yaml, node, "a model", take_model_key, &e);
  }
  return status ? status : finish_model(yaml, suite, node, &e);
}

static tg_status read_models(tg_yaml *yaml, tg_suite *suite, yaml_node_t *node) {
  if (node->type != YAML_SEQUENCE_NODE) return tg_yaml_fail(yaml, node, "models: wants a list");
  yaml_node_t *item;
  TG_YAML_ITEMS(yaml, node, item) {
    tg_status status = read_model(yaml, suite, item);
    if (status) return status;
  }
  return TG_OK;
}

/* --- flags */

static tg_status take_set_key(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  tg_flag_set *set = user;
  bool known;
  tg_status status = tg_limit_read(yaml, key, value, &set->bounds, &known);
  if (status || known) return status;
  if (!strcmp(key, "flags")) return read_options(yaml, value, key, &set->flags);
  if (!strcmp(key, "bounds")) return tg_bounds_read(yaml, value, &set->bounds);
  return tg_yaml_unknown(yaml, value, key, "a flag set",
                         "flags, bounds, time_limit, memory_limit, retries, expected_failure, tags");
}

static tg_status take_set(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  tg_flag_axis *axis = user;
  tg_flag_set set = {.name = key, .line = tg_yaml_line(value)};
  tg_status status = check_name(yaml, value, key);
  if (!status)
    status = value->type == YAML_MAPPING_NODE ? tg_yaml_pairs(yaml, value, key, take_set_key, &set)
                                              : read_options(yaml, value, "flags", &set.flags);
  if (!status) TG_PUSH(yaml->arena, axis->sets, axis->count, axis->capacity, set);
  return status;
}

static tg_status read_axis(tg_yaml *yaml, tg_suite *suite, yaml_node_t *node) {
  tg_flag_axis axis = {0};
  tg_status status = tg_yaml_pairs(yaml, node, "flags", take_set, &axis);
  if (!status && !axis.count)
    return tg_yaml_fail(yaml, node, "flags: an axis without flag sets makes no case");
  if (!status) TG_PUSH(yaml->arena, suite->axes, suite->axis_count, suite->axis_capacity, axis);
  return status;
}

/* One mapping of flag sets, or a list of mappings whose product is taken. */
static tg_status read_flags(tg_yaml *yaml, tg_suite *suite, yaml_node_t *node) {
  if (node->type == YAML_MAPPING_NODE) return read_axis(yaml, suite, node);
  if (node->type != YAML_SEQUENCE_NODE)
    return tg_yaml_fail(yaml, node, "flags: wants `name: flags` pairs, or a list of such mappings");
  yaml_node_t *item;
  TG_YAML_ITEMS(yaml, node, item) {
    tg_status status = read_axis(yaml, suite, item);
    if (status) return status;
  }
  return TG_OK;
}

/* --- the rest */

static tg_status take_override_key(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  tg_override *override = user;
  bool known;
  tg_status status = tg_limit_read(yaml, key, value, &override->bounds, &known);
  if (status || known) return status;
  if (!strcmp(key, "cases")) return read_words(yaml, value, key, &override->patterns);
  if (!strcmp(key, "bounds")) return tg_bounds_read(yaml, value, &override->bounds);
  return tg_yaml_unknown(yaml, value, key, "an override",
                         "cases, bounds, time_limit, memory_limit, retries, expected_failure, tags");
}

static tg_status read_overrides(tg_yaml *yaml, tg_suite *suite, yaml_node_t *node) {
  if (node->type != YAML_SEQUENCE_NODE) return tg_yaml_fail(yaml, node, "overrides: wants a list");
  yaml_node_t *item;
  TG_YAML_ITEMS(yaml, node, item) {
    tg_override override = {.line = tg_yaml_line(item)};
    tg_status status = tg_yaml_pairs(yaml, item, "an override", take_override_key, &override);
    if (!status && !override.patterns.count) status = tg_yaml_fail(yaml, item, "an override wants `cases`");
    if (status) return status;
    TG_PUSH(yaml->arena, suite->overrides, suite->override_count, suite->override_capacity, override);
  }
  return TG_OK;
}

static tg_status read_seed(tg_yaml *yaml, yaml_node_t *node, uint64_t *out_seed) {
  const char *text;
  char *end;
  tg_status status = tg_yaml_text(yaml, node, "seed", &text);
  if (status) return status;
  errno = 0;
  *out_seed = strtoull(text, &end, 10);
  if (errno || *end || *text < '0' || *text > '9' || *out_seed > INT64_MAX)
    return tg_yaml_fail(yaml, node, "seed: \"%s\" is no number from 0 on", text);
  return TG_OK;
}

static tg_status take_suite_key(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  tg_suite *suite = user;
  bool known;
  tg_status status = tg_limit_read(yaml, key, value, &suite->bounds, &known);
  if (status || known) return status;
  if (!strcmp(key, "suite")) {
    status = tg_yaml_text(yaml, value, key, &suite->name);
    return status ? status : check_name(yaml, value, suite->name);
  }
  if (!strcmp(key, "seed")) return read_seed(yaml, value, &suite->seed);
  if (!strcmp(key, "baseline")) return tg_yaml_text(yaml, value, key, &suite->baseline);
  if (!strcmp(key, "models")) return read_models(yaml, suite, value);
  if (!strcmp(key, "flags")) return read_flags(yaml, suite, value);
  if (!strcmp(key, "engines")) return read_words(yaml, value, key, &suite->engines);
  if (!strcmp(key, "training")) {
    suite->training_line = tg_yaml_line(value);
    return read_options(yaml, value, key, &suite->training);
  }
  if (!strcmp(key, "bounds")) return tg_bounds_read(yaml, value, &suite->bounds);
  if (!strcmp(key, "overrides")) return read_overrides(yaml, suite, value);
  if (strcmp(key, "exclude"))
    return tg_yaml_unknown(
        yaml, value, key, "a suite",
        "suite, seed, baseline, models, flags, engines, training, bounds, overrides, exclude, time_limit, "
        "memory_limit, retries, expected_failure, tags");
  suite->exclude_line = tg_yaml_line(value);
  return read_words(yaml, value, key, &suite->exclude);
}

tg_status tg_suite_read(tg_yaml *yaml, tg_suite *suite) {
  yaml_node_t *root = tg_yaml_root(yaml);
  if (!root) return tg_yaml_fail(yaml, NULL, "is empty");
  tg_status status = tg_yaml_pairs(yaml, root, "a suite", take_suite_key, suite);
  if (status) return status;
  if (!suite->model_count) return tg_yaml_fail(yaml, root, "a suite wants models");
  if (!suite->name) suite->name = stem(&suite->arena, suite->path);
  if (!suite->baseline)
    suite->baseline = tg_arena_printf(&suite->arena, "%s.baseline.json", stem(&suite->arena, suite->path));
  if (!suite->engines.count) tg_words_add(&suite->arena, &suite->engines, "systemc");
  return TG_OK;
}
