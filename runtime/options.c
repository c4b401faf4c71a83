#include "runtime/options.h"
#include "frontend/base/text_stream.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the tables */

enum { REPEATS = 0x100 };
#define KIND_FLAG          TG_OPTION_FLAG
#define KIND_CHOICE        TG_OPTION_CHOICE
#define KIND_COUNT         TG_OPTION_COUNT_ARG
#define KIND_NUMBER        TG_OPTION_NUMBER
#define KIND_REAL          TG_OPTION_REAL
#define KIND_TEXT          TG_OPTION_TEXT
#define KIND_FILE          TG_OPTION_FILE
#define KIND_NAMED_FILE    TG_OPTION_NAMED_FILE
#define KIND_WRITTEN       TG_OPTION_WRITTEN
#define KIND_MAYBE_WRITTEN TG_OPTION_MAYBE_WRITTEN
#define KIND_FOLDER        TG_OPTION_FOLDER
#define KIND_LIST(kind)    (KIND_##kind | REPEATS)
#define IN(command)        (1u << TG_COMMAND_##command)

static const tg_command_info commands[] = {
#define COMMAND(id, name, operands, summary) {#name, operands, summary},
#define OPTION(id, name, letter, kind, argument, choices, commands, help)
#include "runtime/options.def"
#undef COMMAND
#undef OPTION
};

/* Names that tables own, "|a|b", and what their rows say of them. */
#define TG_PRESET(id, name, doc) "|" name
static const char preset_names[] =
#include "frontend/precision/presets.def"
    ;
#undef TG_PRESET
#define TG_PRESET(id, name, doc) "; " name " " doc
static const char preset_help[] = "precision policy (default mp0)"
#include "frontend/precision/presets.def"
    ;
#undef TG_PRESET
#define ARRAY(name, dram) "|" #name
static const char array_names[] =
#include "sim/machine/arrays.def"
    ;
#undef ARRAY
#define ARRAY(name, dram) #name ", "
static const char array_help[] =
#include "sim/machine/arrays.def"
    "or a YAML file of parameters (default edge); sweep: several";
#undef ARRAY
#define DRAM_DEVICE(name, map) "|" name
static const char dram_names[] = "|simple"
#include "sim/machine/dram_device.def"
    ;
#define DRAM_DEVICE(name, map) ", " name
static const char dram_help[] = "memory behind the ports: simple (a fixed latency)"
#include "sim/machine/dram_device.def"
                                ", or a YAML file, and changes: NAME,KEY=VALUE,... (default: the array's)";
#define NODE(nm, volts, a2, a1, a0) "|" #nm "nm"
static const char energy_nodes[] =
#include "sim/machine/energy.def"
    ;
#undef NODE
#define NODE(nm, volts, a2, a1, a0) #nm "nm, "
static const char energy_help[] =
    "what actions cost, for energy in the report: a node, "
#include "sim/machine/energy.def"
    "or a YAML file, and changes: 16nm,mac_bf16=0.3,... (default 45nm, that of the sources)";
#undef NODE

static const tg_option_info option_table[] = {
#define COMMAND(id, name, operands, summary)
#define OPTION(id, name, letter, kind, argument, choices, commands, help)                                    \
  {name,                                                                                                     \
   letter,                                                                                                   \
   (tg_option_kind)((KIND_##kind) & ~REPEATS),                                                               \
   ((KIND_##kind) & REPEATS) != 0,                                                                           \
   argument,                                                                                                 \
   choices,                                                                                                  \
   commands,                                                                                                 \
   help},
#include "runtime/options.def"
#undef COMMAND
#undef OPTION
};

const tg_command_info *tg_command_get(tg_command_id command) { return &commands[command]; }
const tg_option_info *tg_option_get(tg_option_id option) { return &option_table[option]; }

/* --- parsing */

static bool is_choice(const char *choices, const char *value) {
  size_t length = strchr(value, '|') ? 0 : strlen(value);
  for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
    if (length && !strncmp(at, value, length) && (at[length] == '|' || !at[length])) return true;
  return false;
}

static bool is_integer(const char *value, uint64_t lowest) {
  if (*value < '0' || *value > '9') return false; /* strtoull takes signs and blanks */
  char *end;
  int before = errno;
  errno = 0;
  unsigned long long number = strtoull(value, &end, 10);
  bool good = !errno && !*end && number >= lowest && number <= INT64_MAX;
  errno = before;
  return good;
}

static bool is_real(const char *value) {
  if (*value != '.' && (*value < '0' || *value > '9')) return false;
  char *end;
  double number = strtod(value, &end);
  return !*end && number <= DBL_MAX && strncasecmp(value, "0x", 2) != 0;
}

static tg_status check_value(const tg_option_info *info, const char *value, tg_diag *diag) {
  switch (info->kind) {
  case TG_OPTION_FLAG:
  case TG_OPTION_MAYBE_WRITTEN: return TG_OK;
  case TG_OPTION_CHOICE:
    if (is_choice(info->choices, value)) return TG_OK;
    return tg_fail(diag, TG_INVALID, "--%s: \"%s\" is none of %s", info->name, value, info->choices);
  case TG_OPTION_COUNT_ARG:
    if (is_integer(value, 1)) return TG_OK;
    return tg_fail(diag, TG_INVALID, "--%s: \"%s\" is no number from 1 on", info->name, value);
  case TG_OPTION_NUMBER:
    if (is_integer(value, 0)) return TG_OK;
    return tg_fail(diag, TG_INVALID, "--%s: \"%s\" is no number from 0 on", info->name, value);
  case TG_OPTION_REAL:
    if (is_real(value)) return TG_OK;
    return tg_fail(diag, TG_INVALID, "--%s: \"%s\" is no number from 0 on", info->name, value);
  default:
    if (*value) return TG_OK;
    return tg_fail(diag, TG_INVALID, "--%s: needs %s", info->name, info->argument);
  }
}

static tg_status take_option(tg_arena *arena, tg_options *options, tg_option_id id, char *value,
                             tg_diag *diag) {
  const tg_option_info *info = &option_table[id];
  const char *copy = tg_arena_strdup(arena, value ? value : "");
  free(value);
  tg_status status = check_value(info, copy, diag);
  if (status) return status;
  if (!info->repeats && info->kind != TG_OPTION_FLAG && options->counts[id])
    return tg_fail(diag, TG_INVALID, "--%s is given twice", info->name);
  TG_PUSH(arena, options->values[id], options->counts[id], options->capacities[id], copy);
  return TG_OK;
}

/* Letters that are to be put in, left out or replaced to make one word of the other. */
static size_t distance(const char *from, const char *to) {
  enum { LONGEST = 40 };
  size_t row[LONGEST + 1], length = strlen(to);
  if (length > LONGEST) return SIZE_MAX;
  for (size_t k = 0; k <= length; k++) row[k] = k;
  for (size_t i = 0; from[i]; i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t k = 0; k < length; k++) {
      size_t above = row[k + 1], least = above < row[k] ? above : row[k];
      row[k + 1] = from[i] == to[k] ? diagonal : 1 + (least < diagonal ? least : diagonal);
      diagonal = above;
    }
  }
  return row[length];
}

/* The word that was meant, of those that are offered one after the other: a slip away, or what begins so. */
typedef struct guess {
  const char *given, *word; /* word: NULL: none is near */
  size_t far;
} guess;

static void offer(guess *g, const char *word) {
  size_t length = strlen(g->given), far = distance(g->given, word);
  bool begins = length >= 3 && !strncmp(word, g->given, length);
  if (begins) far = 1;
  if (far > (length > 4 ? 2 : 1) || 2 * far > length || (g->word && far >= g->far)) return;
  g->word = word;
  g->far = far;
}

static tg_status bad_option(tg_arena *arena, const tg_options *options, poptContext context, int error,
                            tg_diag *diag) {
  const char *name = poptBadOption(context, POPT_BADOPTION_NOALIAS);
  const char *equals = strchr(name, '=');
  name = equals ? tg_arena_strndup(arena, name, (size_t)(equals - name)) : tg_arena_strdup(arena, name);
  if (error == POPT_ERROR_NOARG) return tg_fail(diag, TG_INVALID, "%s needs a value", name);
  if (error != POPT_ERROR_BADOPT) return tg_fail(diag, TG_INVALID, "%s: %s", name, poptStrerror(error));
  const char *command = commands[options->command].name;
  for (int i = 0; i < TG_OPTION_COUNT; i++)
    if (!strncmp(name, "--", 2) && !strcmp(name + 2, option_table[i].name))
      return tg_fail(diag, TG_INVALID, "%s is no option of tegula %s", name, command);
  guess meant = {.given = name + strspn(name, "-")};
  for (int i = 0; i < TG_OPTION_COUNT; i++)
    if (option_table[i].commands >> options->command & 1) offer(&meant, option_table[i].name);
  return tg_fail(diag, TG_INVALID, "unknown option %s: %s%s%ssee tegula %s --help", name,
                 meant.word ? "is it --" : "", meant.word ? meant.word : "", meant.word ? "? " : "", command);
}

static unsigned arguments_of(tg_option_kind kind) {
  if (kind == TG_OPTION_FLAG) return POPT_ARG_NONE;
  return kind == TG_OPTION_MAYBE_WRITTEN ? POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL : POPT_ARG_STRING;
}

/* The rows of popt for one command; val is the option's id + 1. */
static void fill_rows(struct poptOption *rows, tg_command_id command) {
  int count = 0;
  for (int i = 0; i < TG_OPTION_COUNT; i++) {
    const tg_option_info *info = &option_table[i];
    if (!(info->commands >> command & 1)) continue;
    rows[count++] = (struct poptOption){
        .longName = info->name, .shortName = info->letter, .argInfo = arguments_of(info->kind), .val = i + 1};
  }
  rows[count] = (struct poptOption)POPT_TABLEEND;
}

/* The option of a command that a word names and whose value is the next word. */
static bool value_follows(const char *word, tg_command_id command) {
  for (int i = 0; i < TG_OPTION_COUNT; i++) {
    const tg_option_info *info = &option_table[i];
    bool named = (!strncmp(word, "--", 2) && !strcmp(word + 2, info->name)) ||
                 (info->letter && word[0] == '-' && word[1] == info->letter && !word[2]);
    if (named && info->commands >> command & 1) return info->kind != TG_OPTION_FLAG;
  }
  return false;
}

/* popt takes -1 for an option. No option of ours begins with a digit: with a blank in front negative numbers
 * are operands, and the blank is dropped again. */
static bool is_negative(const char *word) {
  return word[0] == '-' &&
         (isdigit((unsigned char)word[1]) || word[1] == '.' || !strncasecmp(word + 1, "inf", 3));
}
/* The vendor's spelling of a list: `--enable-mixed-precision-ops gemm softmax`. Returns the words that are
 * left. */
static int join_lists(tg_arena *arena, int argc, const char *const *argv, const char **out_words) {
  int count = 0;
  for (int i = 0; i < argc; i++) {
    out_words[count++] = argv[i];
    if (strcmp(argv[i], "--enable-mixed-precision-ops") || i + 1 == argc) continue;
    const char *list = argv[++i];
    while (i + 1 < argc && (!strcmp(argv[i + 1], "gemm") || !strcmp(argv[i + 1], "softmax")))
      list = tg_arena_printf(arena, "%s,%s", list, argv[++i]);
    out_words[count++] = list;
  }
  return count;
}

static const char **hide_negatives(tg_arena *arena, int argc, const char *const *argv,
                                   tg_command_id command) {
  const char **words = TG_NEW_ARRAY(arena, const char *, (size_t)argc + 1);
  for (int i = 0; i < argc; i++) {
    bool operand = i && is_negative(argv[i]) && !value_follows(argv[i - 1], command);
    words[i] = operand ? tg_arena_printf(arena, " %s", argv[i]) : argv[i];
  }
  return words;
}

static tg_status parse_rest(tg_arena *arena, tg_options *options, poptContext context, tg_diag *diag) {
  for (int got; (got = poptGetNextOpt(context)) != -1;) {
    if (got < 0) return bad_option(arena, options, context, got, diag);
    tg_status status = take_option(arena, options, (tg_option_id)(got - 1), poptGetOptArg(context), diag);
    if (status) return status;
  }
  for (const char *operand; (operand = poptGetArg(context));)
    TG_PUSH(arena, options->operands, options->operand_count, options->operand_capacity,
            tg_arena_strdup(arena, operand + (operand[0] == ' ' && is_negative(operand + 1))));
  return TG_OK;
}

static tg_status find_command(const char *name, tg_command_id *out_command, tg_diag *diag) {
  for (int i = 0; i < TG_COMMAND_COUNT; i++)
    if (!strcmp(name, commands[i].name)) {
      *out_command = (tg_command_id)i;
      return TG_OK;
    }
  guess meant = {.given = name};
  for (int i = 0; i < TG_COMMAND_COUNT; i++) offer(&meant, commands[i].name);
  return tg_fail(diag, TG_INVALID, "unknown command \"%s\": %s%s%ssee tegula --help", name,
                 meant.word ? "is it " : "", meant.word ? meant.word : "", meant.word ? "? " : "");
}

tg_status tg_options_parse(tg_arena *arena, int argc, const char *const *argv, tg_options *out_options,
                           tg_diag *diag) {
  *out_options = (tg_options){0};
  if (argc < 1) return tg_fail(diag, TG_INVALID, "no command: see tegula --help");
  tg_status status = find_command(argv[0], &out_options->command, diag);
  if (status) return status;
  struct poptOption rows[TG_OPTION_COUNT + 1];
  fill_rows(rows, out_options->command);
  const char **words = TG_NEW_ARRAY(arena, const char *, (size_t)argc + 1);
  int count = join_lists(arena, argc, argv, words);
  errno = 0; /* what popt finds no memory for it leaves out, or ends the process (see main) */
  poptContext context =
      poptGetContext(NULL, count, hide_negatives(arena, count, words, out_options->command), rows, 0);
  if (context) status = parse_rest(arena, out_options, context, diag);
  if (!context || errno == ENOMEM) tg_die("out of memory");
  poptFreeContext(context);
  return status;
}

const char *tg_option_text(const tg_options *options, tg_option_id option, const char *otherwise) {
  size_t count = options->counts[option];
  return count ? options->values[option][count - 1] : otherwise;
}

uint64_t tg_option_number(const tg_options *options, tg_option_id option, uint64_t otherwise) {
  const char *text = tg_option_text(options, option, NULL);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

double tg_option_real(const tg_options *options, tg_option_id option, double otherwise) {
  const char *text = tg_option_text(options, option, NULL);
  return text ? strtod(text, NULL) : otherwise;
}

/* --- help */

const char *tg_option_usage(tg_arena *arena, tg_option_id option) {
  const tg_option_info *info = &option_table[option];
  const char *letter = info->letter ? tg_arena_printf(arena, "-%c, ", info->letter) : "";
  const char *argument = info->kind == TG_OPTION_CHOICE ? info->choices : info->argument;
  return tg_arena_printf(arena, "%s--%s%s%s", letter, info->name, *argument ? " " : "", argument);
}

/* Appends `text` in lines of at most 100 columns, the later ones indented. */
static void wrap(FILE *out, const char *text, int column, int indent) {
  while (*text) {
    size_t length = strcspn(text, " ");
    if (column + (int)length > 100) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
    }
    fprintf(out, "%.*s", (int)length, text);
    column += (int)length + 1;
    text += length + strspn(text + length, " ");
    if (*text) fputc(' ', out);
  }
  fputc('\n', out);
}

const char *tg_help_overview(tg_arena *arena) {
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  fprintf(out, "usage: tegula COMMAND ...\n\n");
  for (int i = 0; i < TG_COMMAND_COUNT; i++)
    fprintf(out, "  %-8s %-26s %s\n", commands[i].name, commands[i].operands, commands[i].summary);
  fprintf(out, "\ntegula COMMAND --help lists the options; tegula --version prints the version.\n"
               "Exit status: 0 done, 1 a comparison failed, 2 bad usage or input, 3 the machine faulted.\n");
  return tg_text_end_on(&text, arena);
}

const char *tg_help_command(tg_arena *arena, tg_command_id command) {
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  fprintf(out, "usage: tegula %s %s [OPTION...]\n", commands[command].name, commands[command].operands);
  fprintf(out, "%s\n\n", commands[command].summary);
  for (int i = 0; i < TG_OPTION_COUNT; i++) {
    if (!(option_table[i].commands >> command & 1)) continue;
    int width = fprintf(out, "  %-32s ", tg_option_usage(arena, (tg_option_id)i));
    wrap(out, option_table[i].help, width, 35);
  }
  return tg_text_end_on(&text, arena);
}
