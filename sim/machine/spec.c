#include "sim/machine/spec.h"
#include "frontend/base/arena.h"
#include "frontend/base/input_file.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* ---- files ---- */

typedef struct reader {
  const char *item;
  tg_spec_line *line;
  void *user;
  char key[64]; /* "": a key is next */
  int depth;
  bool any;
  tg_arena arena;
  const char **keys; /* so far */
  size_t count, capacity;
} reader;

/* YAML has each key once; which of two lines was meant nobody knows. */
static tg_status take_key(reader *r, const char *text, tg_diag *diag) {
  if (!text[0] || strlen(text) >= sizeof r->key)
    return tg_fail(diag, TG_INVALID, "bad name of a %s", r->item);
  for (size_t i = 0; i < r->count; i++)
    if (!strcmp(r->keys[i], text)) return tg_fail(diag, TG_INVALID, "%s: is given twice", text);
  strcpy(r->key, text);
  TG_PUSH(&r->arena, r->keys, r->count, r->capacity, tg_arena_strdup(&r->arena, text));
  return TG_OK;
}

static tg_status take(reader *r, const char *text, tg_diag *diag) {
  if (!r->key[0]) return take_key(r, text, diag);
  tg_status status = r->line(r->user, r->key, text, !r->any, diag);
  r->any = true;
  r->key[0] = 0;
  return status;
}

static tg_status handle(reader *r, const yaml_event_t *event, tg_diag *diag) {
  bool scalar = event->type == YAML_SCALAR_EVENT;
  if (event->type == YAML_MAPPING_START_EVENT) r->depth++;
  if (event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_ALIAS_EVENT || r->depth > 1 ||
      (scalar && !r->depth))
    return tg_fail(diag, TG_INVALID, "only `key: value` lines are understood");
  return scalar ? take(r, (const char *)event->data.scalar.value, diag) : TG_OK;
}

static tg_status read_lines(reader *r, yaml_parser_t *parser, tg_diag *diag) {
  for (;;) {
    yaml_event_t event;
    bool parsed = yaml_parser_parse(parser, &event);
    if (parser->error == YAML_MEMORY_ERROR) tg_die("out of memory");
    if (!parsed)
      return tg_fail(diag, TG_INVALID, "line %zu: %s", parser->problem_mark.line + 1,
                     parser->problem ? parser->problem : "not YAML");
    bool end = event.type == YAML_STREAM_END_EVENT;
    tg_status status = handle(r, &event, diag);
    if (status) tg_diag_prefix(diag, "line %zu", event.start_mark.line + 1);
    yaml_event_delete(&event);
    if (status || end) return status;
  }
}

tg_status tg_spec_read(const char *path, const char *item, tg_spec_line *line, void *user, tg_diag *diag) {
  FILE *file;
  tg_status status = tg_input_open(path, &file, NULL, diag);
  if (status) return status;
  reader r = {.item = item, .line = line, .user = user};
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) tg_die("out of memory");
  yaml_parser_set_input_file(&parser, file);
  status = read_lines(&r, &parser, diag);
  yaml_parser_delete(&parser);
  tg_arena_release(&r.arena);
  fclose(file);
  return status;
}

/* ---- specs ---- */

typedef struct target {
  const tg_spec_kind *kind;
  void *value;
  bool any;
} target;

static tg_status take_line(void *user, const char *key, const char *text, bool first, tg_diag *diag) {
  target *t = user;
  const tg_spec_kind *kind = t->kind;
  bool base = !strcmp(key, "base");
  t->any = true;
  if (!base && (!first || !kind->based)) return kind->set(t->value, key, text, diag);
  if (base && first && kind->load(text, t->value)) return TG_OK;
  return tg_fail(diag, TG_INVALID, "base: wants the name of a %s, as the first line", kind->entry);
}

static tg_status unknown(const tg_spec_kind *kind, const char *name, const char *why, tg_diag *diag) {
  tg_arena arena = {0};
  const char *list = "";
  for (int i = 0; kind->names[i]; i++)
    list = tg_arena_printf(&arena, "%s%s%s", list, i ? ", " : "", kind->names[i]);
  tg_fail(diag, TG_INVALID, "%s \"%.100s\": %s; the %ss there are: %s", kind->what, name, why, kind->entry,
          list);
  tg_arena_release(&arena);
  return TG_INVALID;
}

static tg_status load_file(const tg_spec_kind *kind, const char *path, const char *beside, void *value,
                           tg_diag *diag) {
  tg_arena arena = {0};
  FILE *file;
  tg_diag why = {""};
  target t = {.kind = kind, .value = value};
  size_t length = strlen(path);
  const char *slash = beside && path[0] != '/' ? strrchr(beside, '/') : NULL;
  const char *place = slash ? tg_arena_printf(&arena, "%.*s/%s", (int)(slash - beside), beside, path) : path;
  tg_status status;
  if (length < 6 || strcmp(path + length - 5, ".yaml") != 0)
    status = unknown(kind, path, tg_arena_printf(&arena, "is no %s and no .yaml file", kind->entry), diag);
  else if (tg_input_open(place, &file, NULL, &why))
    status = unknown(kind, path, why.message, diag);
  else {
    fclose(file);
    status = tg_spec_read(place, kind->item, take_line, &t, diag);
    if (!status && kind->based && !t.any) status = tg_fail(diag, TG_INVALID, "names no base");
    if (!status) status = kind->check(value, diag);
    if (status) tg_diag_prefix(diag, "%s", place);
  }
  tg_arena_release(&arena);
  return status;
}

static tg_status load_changes(const tg_spec_kind *kind, char *changes, void *value, tg_diag *diag) {
  char *rest;
  size_t length = strlen(changes);
  if (!length || changes[0] == ',' || changes[length - 1] == ',' || strstr(changes, ",,"))
    return tg_fail(diag, TG_INVALID, "%s: a change between its commas is empty", kind->what);
  for (char *word = strtok_r(changes, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
    char *equals = strchr(word, '=');
    if (!equals) return tg_fail(diag, TG_INVALID, "%s: \"%.40s\" is not key=value", kind->what, word);
    *equals = 0;
    tg_status status = kind->set(value, word, equals + 1, diag);
    if (status) return status;
  }
  return TG_OK;
}

tg_status tg_spec_load(const tg_spec_kind *kind, const char *spec, const char *beside, void *value,
                       tg_diag *diag) {
  char *copy = strdup(spec), *comma = copy ? strchr(copy, ',') : NULL;
  if (!copy) tg_die("out of memory");
  if (comma) *comma = 0;
  tg_status status = kind->load(copy, value) ? TG_OK : load_file(kind, copy, beside, value, diag);
  if (!status && comma) status = load_changes(kind, comma + 1, value, diag);
  if (!status) status = kind->check(value, diag);
  free(copy);
  return status;
}
