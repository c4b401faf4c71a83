/* The command line as data (options.def) and its parser. */
#ifndef TEGULA_RUNTIME_OPTIONS_H
#define TEGULA_RUNTIME_OPTIONS_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_command_id {
#define COMMAND(id, name, operands, summary) TG_COMMAND_##id,
#define OPTION(id, name, letter, kind, argument, choices, commands, help)
#include "runtime/options.def"
#undef COMMAND
#undef OPTION
  TG_COMMAND_COUNT
} tg_command_id;

typedef enum tg_option_id {
#define COMMAND(id, name, operands, summary)
#define OPTION(id, name, letter, kind, argument, choices, commands, help) TG_OPT_##id,
#include "runtime/options.def"
#undef COMMAND
#undef OPTION
  TG_OPTION_COUNT
} tg_option_id;

typedef enum tg_option_kind {
  TG_OPTION_FLAG,
  TG_OPTION_CHOICE,
  TG_OPTION_COUNT_ARG,
  TG_OPTION_NUMBER,
  TG_OPTION_REAL,
  TG_OPTION_TEXT,
  TG_OPTION_FILE,
  TG_OPTION_NAMED_FILE,
  TG_OPTION_WRITTEN,
  TG_OPTION_MAYBE_WRITTEN,
  TG_OPTION_FOLDER,
} tg_option_kind;

typedef struct tg_command_info {
  const char *name, *operands, *summary;
} tg_command_info;

typedef struct tg_option_info {
  const char *name;
  char letter; /* 0: none */
  tg_option_kind kind;
  bool repeats;
  const char *argument, *choices; /* "a|b|c"; but for CHOICE, words for completion alone */
  unsigned commands;              /* bit TG_COMMAND_x */
  const char *help;
} tg_option_info;

/* A parsed command line; on the arena that was given. */
typedef struct tg_options {
  tg_command_id command;
  const char **values[TG_OPTION_COUNT]; /* as given, in order; a flag's is "" */
  size_t counts[TG_OPTION_COUNT], capacities[TG_OPTION_COUNT];
  const char **operands;
  size_t operand_count, operand_capacity;
} tg_options;

const tg_command_info *tg_command_get(tg_command_id command);
const tg_option_info *tg_option_get(tg_option_id option);

/* Is the option's value a file that the command writes? */
static inline bool tg_option_is_written(const tg_option_info *info) {
  return info->kind == TG_OPTION_WRITTEN || info->kind == TG_OPTION_MAYBE_WRITTEN;
}

/* Parses the arguments that follow the program's name; the first is the command. TG_INVALID with one line: an
 * unknown command or option, a value out of range, something that exists in our contract but not yet. */
tg_status tg_options_parse(tg_arena *arena, int argc, const char *const *argv, tg_options *out_options,
                           tg_diag *diag);

static inline bool tg_given(const tg_options *options, tg_option_id option) {
  return options->counts[option] > 0;
}
/* The value given last. Integers were checked by the parser. */
const char *tg_option_text(const tg_options *options, tg_option_id option, const char *otherwise);
uint64_t tg_option_number(const tg_options *options, tg_option_id option, uint64_t otherwise);
double tg_option_real(const tg_options *options, tg_option_id option, double otherwise);

/* Help text, on the arena. */
const char *tg_help_overview(tg_arena *arena);
const char *tg_help_command(tg_arena *arena, tg_command_id command);
/* "-o, --output FILE": how an option is written. */
const char *tg_option_usage(tg_arena *arena, tg_option_id option);

#ifdef __cplusplus
}
#endif
#endif
