#include "tests/failures/draw_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const line_inputs[] = {"gemm.onnx",  "conv.onnx",    "heads.onnx", "gemm.tgb",
                                   "x.npy",      "y.npy",        "suite.yaml", "array.yaml",
                                   "rules.txt",  "ops.txt",      "task.json",  "empty",
                                   "m\xff.onnx", "damaged.onnx", "text.npy",   NULL};

typedef struct source {
  tg_arena *arena;
  uint64_t state;
  drawn_line *line;
  tg_command_id command;
  int outputs; /* names of them so far */
} source;

static uint64_t draw(source *s, uint64_t below) {
  s->state += 0x9e3779b97f4a7c15u; /* splitmix64: seeds that are alike give other lines */
  uint64_t x = s->state;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (x ^ x >> 31) % below;
}

static bool one_in(source *s, uint64_t times) { return !draw(s, times); }

static const char *any_of(source *s, const char *const *list) {
  size_t count = 0;
  while (list[count]) count++;
  return list[draw(s, count)];
}

/* One of "a|b|c"; some tables begin with '|'. */
static const char *choice_of(source *s, const char *choices) {
  size_t count = 1;
  for (const char *at = choices; *at; at++) count += *at == '|';
  for (size_t n = draw(s, count); n; n--) choices = strchr(choices, '|') + 1;
  return tg_arena_strndup(s->arena, choices, strcspn(choices, "|"));
}

static const char *repeated(source *s, char byte, size_t count) {
  char *text = tg_arena_alloc(s->arena, count + 1, 1);
  memset(text, byte, count);
  text[count] = 0;
  return text;
}

enum { LONG = 65536, LONG_NUMBER = 1000, LONG_NAME = 300 };

/* What stands for a value of any kind and is rarely one. */
static const char *hostile(source *s) {
  static const char *const words[] = {"0",
                                      "-1",
                                      "1",
                                      "2147483647",
                                      "2147483648",
                                      "4294967295",
                                      "4294967296",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "1e308",
                                      "1e309",
                                      "-1e308",
                                      "1e-320",
                                      "nan",
                                      "inf",
                                      "-inf",
                                      "0x10",
                                      "1.5",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "",
                                      " ",
                                      "\t\n",
                                      "a\nb",
                                      "\x1b[31m",
                                      "\xff\xfe",
                                      "a\xc3",
                                      "\xc3\xa9",
                                      "%s%n%d",
                                      "=",
                                      "=1",
                                      "a=",
                                      "a=b=c",
                                      "x=-1",
                                      "N=0",
                                      "N=4294967296",
                                      "rows=0",
                                      "rows=4294967297",
                                      "cols=-1",
                                      "frequency=1e400",
                                      ",",
                                      ",,",
                                      "a,b",
                                      "0.9,",
                                      "nan,nan",
                                      "|",
                                      ":",
                                      "5:1",
                                      "18446744073709551615:1",
                                      "0/0",
                                      "1/0",
                                      "3/2",
                                      "*",
                                      "[",
                                      "(",
                                      "(((((((((a*)*)*)*)*)*)*)*)*",
                                      "\\",
                                      "-",
                                      "--",
                                      "-o",
                                      "--help",
                                      "missing",
                                      "missing/file",
                                      "folder",
                                      ".",
                                      "",
                                      "loop",
                                      "/dev/null",
                                      "/dev/full",
                                      "gemm.onnx/x",
                                      NULL};
  switch (draw(s, 12)) {
  case 0: return repeated(s, "x(9[a"[draw(s, 5)], LONG);
  case 1: return repeated(s, '9', LONG_NUMBER);
  case 2: return any_of(s, line_inputs);
  default: return any_of(s, words);
  }
}

/* What a value of an option may be, by how its argument is written in the table. */
static const struct {
  const char *argument, *values;
} examples[] = {
    {"KEY=VALUE", "rows=2|cols=3|p=4|banks=8|semaphores=12|port_bytes=16|dram_latency=7|queue_depth=16"},
    {"NAME=SIZE", "N=2|N=1|n=3"},
    {"REGEX", ".*|gemm|conv[01]|^$|a{2,3}|(x|y)+"},
    {"LIST", "gemm|softmax"},
    {"A:B", "10:200|:50|50:|0:0"},
    {"F,F", "0.9,0.99|0,0|0.5,0.5"},
    {"I/N", "1/2|2/2|1/1"},
    {"BYTES", "64M|1.5GiB|4096"},
    {"X", "0.01|1|1e-9"},
    {"N", "1|2|0"},
    {"PATTERN", "*|*mp0*|!*tiny*"},
    {"TAG", "small|!small"},
    {"PASS", "lower|merge_updates|fuse|simplify"},
    {"NAME", "mp0|mp1|autocast-cuda|y|hmp-o1"},
    {"CASE", "gemm/mp0|gemm/tiny"},
    {"TRACE|CASE", "gemm/mp0|x.npy"},
    {"OPTIONS", "--partition=short|"},
    {"NAME=VALUE|FILE.npy", "a=1|a=x.npy|x=1,2,3"},
    {"[NAME=]FILE", "a=x.npy|x.npy|x=x.npy"},
    {"[INPUT=]FILE", "x.npy|a=x.npy"},
    {"NAME=FILE.npy", "y=y.npy|c=y.npy"},
    {"FILE.json", "task.json"},
    {"FILE.npy", "x.npy|y.npy"},
    {"DEVICE", "array.yaml"},
    {"PRICES", "array.yaml"},
};

static const char *example_of(source *s, const tg_option_info *info) {
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
    if (!strcmp(examples[i].argument, info->argument)) return choice_of(s, examples[i].values);
  return info->kind == TG_OPTION_TEXT ? "text" : any_of(s, line_inputs);
}

/* A file of this line's own, that ends as the option asks: FILE.pftrace|.json[.gz]. */
static const char *fresh_output(source *s, const tg_option_info *info) {
  const char *end = choice_of(s, info->argument), *point = strchr(end, '.');
  if (!strcmp(info->argument, "FILE")) point = choice_of(s, ".json|.html|.tgb|.onnx");
  size_t length = point ? strcspn(point, "[]") : 0;
  return tg_arena_printf(s->arena, "out/%d%.*s", s->outputs++, (int)length, point ? point : "");
}

/* What is read is not to be written. Other inputs are not named: a user may overwrite what is his. */
static const char *hostile_output(source *s) {
  static const char *const words[] = {
      "",        " ",         "folder",    "missing/deep/x", "loop",      "-",
      "a\nb",    "\xff\xfe",  "/dev/full", "/dev/null",      "out",       "empty/x",
      "out/a%n", "out/.json", ".json",     "out/x.html/",    "out/\x1b[", NULL};
  if (s->line->read_count && !one_in(s, 3)) {
    const char *read = s->line->reads[draw(s, (uint64_t)s->line->read_count)];
    static const char *const ways[] = {"%s", "./%s", "folder/../%s", NULL};
    const char *way = any_of(s, ways);
    return tg_arena_printf(s->arena, "%.*s%s", (int)strcspn(way, "%"), way, read);
  }
  if (one_in(s, 6))
    return tg_arena_printf(s->arena, "out/%s", repeated(s, 'x', one_in(s, 2) ? LONG : LONG_NAME));
  return any_of(s, words);
}

static const char *valid_value(source *s, const tg_option_info *info) {
  static const char *const counts[] = {"1", "2", "3", "4", "7", "8", "16", "64", NULL}, *const reals[] = {
                                                                                            "0", "0.5",
                                                                                            "1", "1e-3",
                                                                                            "2", "0.01",
                                                                                            NULL};
  switch (info->kind) {
  case TG_OPTION_CHOICE: return choice_of(s, info->choices);
  case TG_OPTION_COUNT_ARG: return any_of(s, counts);
  case TG_OPTION_NUMBER: return one_in(s, 4) ? "0" : any_of(s, counts);
  case TG_OPTION_REAL: return any_of(s, reals);
  case TG_OPTION_WRITTEN:
  case TG_OPTION_MAYBE_WRITTEN: return fresh_output(s, info);
  case TG_OPTION_FOLDER: return one_in(s, 3) ? "out" : tg_arena_printf(s->arena, "out/%d", s->outputs++);
  default:
    if (*info->choices && !one_in(s, 4)) return choice_of(s, info->choices);
    return example_of(s, info);
  }
}

static const char *hostile_value(source *s, const tg_option_info *info) {
  if (tg_option_is_written(info)) return hostile_output(s);
  if (info->kind == TG_OPTION_FOLDER) {
    static const char *const words[] = {"",     " ",         "gemm.onnx", "missing/deep/x", "loop", "-",
                                        "a\nb", "/dev/null", NULL};
    return any_of(s, words);
  }
  return hostile(s);
}

/* Options whose value is how much work is asked for, without a bound of ours: no end is what was asked. */
static bool is_work(const tg_option_info *info) {
  static const char *const names[] = {"steps", "max-batch", NULL};
  for (int i = 0; names[i]; i++)
    if (!strcmp(names[i], info->name)) return true;
  return false;
}

static bool is_large(const char *value) {
  return strspn(value, "0123456789") == strlen(value) && strlen(value) > 2 && strlen(value) < 20;
}

static void push(source *s, const char *word) {
  if (s->line->count < LINE_WORDS) s->line->words[s->line->count++] = word;
}

static void push_read(source *s, const char *name) {
  for (int i = 0; name && line_inputs[i] && s->line->read_count < LINE_WORDS; i++) {
    const char *at = strstr(name, line_inputs[i]);
    if (at && !at[strlen(line_inputs[i])]) s->line->reads[s->line->read_count++] = line_inputs[i];
  }
}

static void push_option(source *s, const tg_option_info *info, bool wrong) {
  bool is_flag = info->kind == TG_OPTION_FLAG, joined = one_in(s, 3);
  const char *value = is_flag ? NULL : wrong ? hostile_value(s, info) : valid_value(s, info);
  if (value && is_work(info) && is_large(value)) value = "3";
  if (info->kind == TG_OPTION_FILE || info->kind == TG_OPTION_NAMED_FILE) push_read(s, value);
  if (info->kind == TG_OPTION_MAYBE_WRITTEN && one_in(s, 3)) value = NULL;
  if (info->kind == TG_OPTION_MAYBE_WRITTEN) joined = true;
  if (is_flag && wrong && one_in(s, 4)) value = "1", joined = true; /* --json=1 */
  if (!value)
    push(s, tg_arena_printf(s->arena, "--%s", info->name));
  else if (joined)
    push(s, tg_arena_printf(s->arena, "--%s=%s", info->name, value));
  else
    push(s, info->letter && one_in(s, 2) ? tg_arena_printf(s->arena, "-%c", info->letter)
                                         : tg_arena_printf(s->arena, "--%s", info->name)),
        push(s, value);
}

/* Begins of lines that do something, which the operands in the table of commands do not say. */
static const struct {
  tg_command_id command;
  const char *words;
} needs[] = {
    {TG_COMMAND_COMPILE, "-o out/a.tgb"},
    {TG_COMMAND_ZOO, "-o out/a.onnx"},
    {TG_COMMAND_TRAIN, "--data x.npy --labels y.npy --loss mse --batch 4 --steps 2"},
    {TG_COMMAND_TUNE, "--max-error 0.1 --max-runs 3"},
    {TG_COMMAND_SWEEP, "--policy mp1"},
    {TG_COMMAND_RUN, "--no-cpu-reference"},
    {TG_COMMAND_VERIFY, "--engines available"},
};

static void push_needs(source *s) {
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
    if (needs[i].command != s->command) continue;
    char *text = tg_arena_strdup(s->arena, needs[i].words), *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
      push(s, word);
      push_read(s, word);
    }
  }
}

static const char *operand(source *s) {
  static const char *const models[] = {"gemm.onnx", "conv.onnx", "heads.onnx", "m\xff.onnx", NULL},
                           *const zoo[] = {"gemm", "two-matmuls", "attention", "convmodel", "lenet", NULL};
  const char *takes = tg_command_get(s->command)->operands;
  if (strstr(takes, "PROGRAM.tgb") && strstr(takes, "|") && one_in(s, 3)) return "gemm.tgb";
  if (s->command == TG_COMMAND_TRAIN) return one_in(s, 8) ? "conv.onnx" : "gemm.onnx";
  if (!strncmp(takes, "MODEL", 5)) return any_of(s, models);
  if (!strncmp(takes, "SUITE", 5)) return "suite.yaml";
  return !strncmp(takes, "NAME", 4) ? any_of(s, zoo) : "1.1";
}

static void push_operands(source *s, bool wrong) {
  static const char *const operations[] = {"+",   "-",    "*",           "/",    "sqrt",
                                           "fma", "cast", "bf16:0x3f81", "-2.5", NULL};
  bool fp = s->command == TG_COMMAND_FP;
  if (wrong && one_in(s, 3)) return; /* it is missing */
  const char *first = wrong && one_in(s, 2) ? hostile(s) : operand(s);
  push(s, first);
  push_read(s, first);
  if (!strcmp(first, "suite.yaml")) push_read(s, "gemm.onnx"); /* which it names */
  for (uint64_t more = fp ? draw(s, 4) : wrong && one_in(s, 3); more; more--)
    push(s, !fp || (wrong && one_in(s, 2)) ? hostile(s) : any_of(s, operations));
}

static const tg_option_info *any_option(source *s, bool own) {
  for (;;) {
    const tg_option_info *info = tg_option_get((tg_option_id)draw(s, TG_OPTION_COUNT));
    if (!own || info->commands >> s->command & 1) return info;
  }
}

/* One of its options that writes a file, if it has any. */
static const tg_option_info *any_written(source *s) {
  const tg_option_info *info = any_option(s, true);
  for (int tries = 0; tries < 8 * TG_OPTION_COUNT && !tg_option_is_written(info); tries++)
    info = any_option(s, true);
  return info;
}

/* `wrong`: where, of the line's parts, something is to be that should not; -1: nowhere, which options that contradict
 * each other may still be. */
static void push_line(source *s, int options, int wrong) {
  bool early = one_in(s, 2), small = one_in(s, 2);
  const tg_option_info *last = NULL;
  push(s, wrong >= 0 && one_in(s, 40) ? hostile(s) : tg_command_get(s->command)->name);
  if (early) push_operands(s, wrong == options);
  if (!(wrong == options && one_in(s, 4))) push_needs(s);
  if (small && tg_option_get(TG_OPT_ARCH)->commands >> s->command & 1) push(s, "--arch"), push(s, "tiny");
  for (int i = 0; i < options; i++) {
    const tg_option_info *info = any_option(s, wrong != i || !one_in(s, 6));
    if (wrong == i && one_in(s, 3)) info = any_written(s);
    if (info->commands >> s->command & 1 && last && one_in(s, 8)) info = last; /* given once more */
    if (!strcmp(info->name, "help") && !one_in(s, 4)) continue;
    push_option(s, info, wrong == i);
    last = info;
  }
  if (!early) push_operands(s, wrong == options);
  if (wrong == options + 1)
    push(s, one_in(s, 2)
                ? tg_arena_printf(s->arena, "--%s", any_option(s, true)->name) /* its value is missing */
                : tg_arena_printf(s->arena, "--%s", hostile(s)));
}

void draw_line(tg_arena *arena, uint64_t seed, tg_command_id command, int number, drawn_line *out) {
  source s = {.arena = arena,
              .state = (seed * TG_COMMAND_COUNT + (uint64_t)command) * 1000003 + (uint64_t)number,
              .line = out,
              .command = command};
  *out = (drawn_line){.input = one_in(&s, 4) ? "gemm.onnx" : "/dev/null"};
  int options = (int)draw(&s, 6);
  push_line(&s, options, one_in(&s, 2) ? -1 : (int)draw(&s, (uint64_t)options + 2));
}
