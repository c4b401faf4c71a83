/* Rule files, lists of operators, and the text of one rule. */
#include "frontend/precision/cast_rules.h"
#include "frontend/base/input_file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 24, MAX_LINE = 1 << 14 };

/* --- one rule */

static const struct {
  const char *word;
  tg_need need;
} words[] = {{"keep", TG_NEED_KEEP},         {"lower", TG_NEED_LOWER},   {"fp32", TG_NEED_FP32},
             {"bf16", TG_NEED_BF16},         {"fp16", TG_NEED_FP16},     {"tf32", TG_NEED_TF32},
             {"original", TG_NEED_ORIGINAL}, {"widest", TG_NEED_WIDEST}, {"first", TG_NEED_FIRST},
             {"infer", TG_NEED_INFER}};

static tg_status parse_need(const char **at, tg_need *out_need, tg_diag *diag) {
  *at += strspn(*at, " \t");
  size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz0123456789_");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strlen(words[i].word) != length || strncmp(words[i].word, *at, length)) continue;
    *out_need = words[i].need;
    *at += length;
    *at += strspn(*at, " \t");
    return TG_OK;
  }
  return tg_fail(diag, TG_INVALID,
                 "\"%.*s\" is none of keep, lower, fp32, bf16, fp16, tf32, original, widest, first, infer",
                 length ? (int)(length < 40 ? length : 40) : (int)strcspn(*at, " \t,"), *at);
}

tg_status tg_cast_spec_parse(const char *text, tg_cast_spec *out_spec, tg_diag *diag) {
  *out_spec = (tg_cast_spec){.result = TG_NEED_KEEP};
  const char *at = text;
  do {
    if (out_spec->operand_count == TG_CAST_RULE_OPERANDS)
      return tg_fail(diag, TG_INVALID, "more than %d operands", TG_CAST_RULE_OPERANDS);
    if (parse_need(&at, &out_spec->operands[out_spec->operand_count++], diag)) return TG_INVALID;
  } while (*at == ',' && at++);
  if (!strncmp(at, "->", 2)) {
    at += 2;
    if (parse_need(&at, &out_spec->result, diag)) return TG_INVALID;
    if (out_spec->result == TG_NEED_TF32)
      return tg_fail(diag, TG_INVALID, "a result cannot be tf32, which is a format of operands");
  }
  return *at && *at != '#' ? tg_fail(diag, TG_INVALID, "\"%.40s\" is too much", at) : TG_OK;
}

/* --- files of lines */

typedef tg_status line_reader(void *user, tg_arena *arena, char *line, int number, tg_diag *diag);

static void trim(char **line) {
  while (isspace((unsigned char)**line)) (*line)++;
  size_t length = strlen(*line);
  while (length && isspace((unsigned char)(*line)[length - 1])) (*line)[--length] = 0;
}

static tg_status read_lines(tg_arena *arena, const char *path, line_reader *read, void *user, tg_diag *diag) {
  FILE *file;
  if (tg_input_open(path, &file, NULL, diag)) return TG_INVALID;
  char *buffer = TG_NEW_ARRAY(arena, char, MAX_LINE);
  tg_status status = TG_OK;
  size_t total = 0;
  for (int number = 1; !status && fgets(buffer, MAX_LINE, file); number++) {
    size_t length = strlen(buffer);
    char *line = buffer;
    total += length;
    if (length == MAX_LINE - 1 || total > MAX_FILE || !length)
      status = tg_fail(diag, TG_INVALID, "it is no list of lines");
    trim(&line);
    if (!status && *line && *line != '#') status = read(user, arena, line, number, diag);
    if (status) tg_diag_prefix(diag, "%s: line %d", path, number);
  }
  if (!status && ferror(file)) status = tg_fail(diag, TG_INVALID, "%s: cannot be read", path);
  fclose(file);
  return status;
}

/* --- lists of operators */

static tg_status add_name(void *user, tg_arena *arena, char *line, int number, tg_diag *diag) {
  tg_op_list *list = user;
  (void)diag;
  const char *name = tg_arena_strdup(arena, line);
  size_t count = list->count;
  TG_PUSH(arena, list->names, list->count, list->capacity, name);
  TG_PUSH(arena, list->lines, count, list->lines_capacity, number);
  return TG_OK;
}

tg_status tg_op_list_read(tg_arena *arena, const char *path, tg_op_list **out_list, tg_diag *diag) {
  *out_list = TG_NEW(arena, tg_op_list);
  (*out_list)->path = tg_arena_strdup(arena, path);
  return read_lines(arena, path, add_name, *out_list, diag);
}

bool tg_op_list_has(const tg_op_list *list, const char *name) {
  for (size_t i = 0; i < list->count; i++)
    if (!strcmp(list->names[i], name)) return true;
  return false;
}

/* --- rules */

typedef enum selector { BY_OP, BY_NODE, BY_ID } selector;

typedef struct rule {
  selector selector;
  const char *name;
  int64_t id;
  tg_cast_spec spec;
  int line;
} rule;

struct tg_cast_rules {
  const char *path;
  rule *rules;
  size_t count, capacity;
};

/* A word, or a text in quotes in which \" and \\ stand for themselves and \xHH for a byte. */
static tg_status take_word(tg_arena *arena, char **at, const char **out_word, tg_diag *diag) {
  char *from = *at;
  if (*from != '"') {
    size_t length = strcspn(from, " \t");
    *out_word = tg_arena_strndup(arena, from, length);
    *at += length;
    return *at == from ? tg_fail(diag, TG_INVALID, "a name is missing") : TG_OK;
  }
  char *word = TG_NEW_ARRAY(arena, char, strlen(from)), *to = word;
  for (from++; *from && *from != '"'; from++) {
    if (*from == '\\' && from[1] == 'x' && isxdigit((unsigned char)from[2]) &&
        isxdigit((unsigned char)from[3])) {
      char digits[3] = {from[2], from[3], 0};
      *to++ = (char)strtol(digits, NULL, 16);
      from += 3;
      continue;
    }
    if (*from == '\\' && from[1]) from++;
    *to++ = *from;
  }
  if (!*from) return tg_fail(diag, TG_INVALID, "a quote is not closed");
  *at = from + 1;
  *out_word = word;
  return TG_OK;
}

static tg_status add_rule(void *user, tg_arena *arena, char *line, int number, tg_diag *diag) {
  tg_cast_rules *rules = user;
  rule r = {.line = number, .id = -1};
  char *at = line;
  const char *kind;
  if (take_word(arena, &at, &kind, diag)) return TG_INVALID;
  at += strspn(at, " \t");
  if (!strcmp(kind, "op") || !strcmp(kind, "node"))
    r.selector = *kind == 'o' ? BY_OP : BY_NODE;
  else if (!strcmp(kind, "id"))
    r.selector = BY_ID;
  else
    return tg_fail(diag, TG_INVALID, "\"%.40s\" is none of op, node, id", kind);
  if (r.selector == BY_ID) {
    char *end;
    errno = 0;
    r.id = strtoll(at, &end, 10);
    if (errno || end == at || (*end != ' ' && *end != '\t') || r.id < 0)
      return tg_fail(diag, TG_INVALID, "\"%.40s\" is no position", at);
    at = end;
  } else if (take_word(arena, &at, &r.name, diag)) {
    return TG_INVALID;
  }
  if (tg_cast_spec_parse(at, &r.spec, diag)) return TG_INVALID;
  TG_PUSH(arena, rules->rules, rules->count, rules->capacity, r);
  return TG_OK;
}

tg_status tg_cast_rules_read(tg_arena *arena, const char *path, tg_cast_rules **out_rules, tg_diag *diag) {
  *out_rules = TG_NEW(arena, tg_cast_rules);
  (*out_rules)->path = tg_arena_strdup(arena, path);
  return read_lines(arena, path, add_rule, *out_rules, diag);
}

static bool selects(const rule *r, const char *node, int64_t id, const char *const *names) {
  if (r->selector == BY_NODE) return *node && !strcmp(r->name, node);
  if (r->selector == BY_ID) return r->id == id;
  for (int i = 0; names[i]; i++)
    if (!strcmp(names[i], r->name)) return true;
  return false;
}

const tg_cast_spec *tg_cast_rules_find(const tg_cast_rules *rules, const char *node, int64_t id,
                                       const char *const *names, int *out_line) {
  const rule *found = NULL;
  for (size_t i = 0; i < rules->count; i++) {
    const rule *r = &rules->rules[i];
    if (found && found->selector != BY_OP && r->selector == BY_OP) continue;
    if (selects(r, node, id, names)) found = r;
  }
  if (found) *out_line = found->line;
  return found ? &found->spec : NULL;
}

const char *tg_cast_rules_path(const tg_cast_rules *rules) { return rules->path; }
int tg_cast_rules_count(const tg_cast_rules *rules) { return (int)rules->count; }
static const rule *rule_at(const tg_cast_rules *rules, int index, int *out_line) {
  *out_line = rules->rules[index].line;
  return &rules->rules[index];
}
const char *tg_cast_rules_op(const tg_cast_rules *rules, int index, int *out_line) {
  const rule *r = rule_at(rules, index, out_line);
  return r->selector == BY_OP ? r->name : NULL;
}
const char *tg_cast_rules_node(const tg_cast_rules *rules, int index, int *out_line) {
  const rule *r = rule_at(rules, index, out_line);
  return r->selector == BY_NODE ? r->name : NULL;
}
int64_t tg_cast_rules_id(const tg_cast_rules *rules, int index, int *out_line) {
  return rule_at(rules, index, out_line)->id;
}
