#include "runtime/regress/yaml.h"
#include "frontend/base/input_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 16 << 20 };

tg_status tg_yaml_load(const char *path, tg_arena *arena, tg_diag *diag, tg_yaml *out_yaml) {
  *out_yaml = (tg_yaml){.path = path, .arena = arena, .diag = diag};
  FILE *file;
  uint64_t size;
  tg_status status = tg_input_open(path, &file, &size, diag);
  if (!status && size > MOST_BYTES)
    status = tg_fail(diag, TG_INVALID, "%s: more than 16 MB are no suite", path);
  if (!status) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) tg_die("out of memory");
    yaml_parser_set_input_file(&parser, file);
    bool loaded = yaml_parser_load(&parser, &out_yaml->document);
    if (parser.error == YAML_MEMORY_ERROR) tg_die("%s: out of memory", path);
    if (!loaded)
      status = tg_fail(diag, TG_INVALID, "%s:%zu: %s", path, parser.problem_mark.line + 1,
                       parser.problem ? parser.problem : "is not YAML");
    yaml_parser_delete(&parser);
  }
  if (file) fclose(file);
  return status;
}

void tg_yaml_release(tg_yaml *yaml) { yaml_document_delete(&yaml->document); }
yaml_node_t *tg_yaml_root(tg_yaml *yaml) { return yaml_document_get_root_node(&yaml->document); }

tg_status tg_yaml_fail(const tg_yaml *yaml, const yaml_node_t *at, const char *format, ...) {
  char text[700];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return tg_fail(yaml->diag, TG_INVALID, "%s:%zu: %s", yaml->path, at ? tg_yaml_line(at) : 1, text);
}

tg_status tg_yaml_unknown(const tg_yaml *yaml, const yaml_node_t *value, const char *key, const char *what,
                          const char *known) {
  return tg_yaml_fail(yaml, value, "unknown key \"%s\" in %s: it has %s", key, what, known);
}

tg_status tg_yaml_text(tg_yaml *yaml, const yaml_node_t *node, const char *what, const char **out_text) {
  if (node->type != YAML_SCALAR_NODE) return tg_yaml_fail(yaml, node, "%s: wants a single value", what);
  const char *text = (const char *)node->data.scalar.value;
  if (strlen(text) != node->data.scalar.length) return tg_yaml_fail(yaml, node, "%s: has a NUL byte", what);
  *out_text = tg_arena_strdup(yaml->arena, text);
  return TG_OK;
}

tg_status tg_yaml_texts(tg_yaml *yaml, yaml_node_t *node, const char *what, const char ***out_texts,
                        size_t *out_count) {
  if (node->type == YAML_MAPPING_NODE) return tg_yaml_fail(yaml, node, "%s: wants a list", what);
  if (node->type == YAML_SCALAR_NODE) {
    *out_texts = TG_NEW(yaml->arena, const char *);
    *out_count = 1;
    return tg_yaml_text(yaml, node, what, &(*out_texts)[0]);
  }
  size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start), i = 0;
  const char **texts = TG_NEW_ARRAY(yaml->arena, const char *, count);
  yaml_node_t *item;
  TG_YAML_ITEMS(yaml, node, item) {
    tg_status status = tg_yaml_text(yaml, item, what, &texts[i++]);
    if (status) return status;
  }
  *out_texts = texts;
  *out_count = count;
  return TG_OK;
}

static tg_status check_repeated(tg_yaml *yaml, const yaml_node_t *node, const yaml_node_pair_t *pair,
                                const char *key) {
  for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < pair; p++) {
    const yaml_node_t *other = yaml_document_get_node(&yaml->document, p->key);
    if (!strcmp((const char *)other->data.scalar.value, key))
      return tg_yaml_fail(yaml, yaml_document_get_node(&yaml->document, pair->key),
                          "key \"%s\" is given twice", key);
  }
  return TG_OK;
}

tg_status tg_yaml_pairs(tg_yaml *yaml, yaml_node_t *node, const char *what, tg_yaml_take *take, void *user) {
  if (node->type != YAML_MAPPING_NODE) return tg_yaml_fail(yaml, node, "%s: wants `key: value` pairs", what);
  for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++) {
    const char *key;
    tg_status status = tg_yaml_text(yaml, yaml_document_get_node(&yaml->document, p->key), what, &key);
    if (!status) status = check_repeated(yaml, node, p, key);
    if (!status) status = take(yaml, user, key, yaml_document_get_node(&yaml->document, p->value));
    if (status) return status;
  }
  return TG_OK;
}
