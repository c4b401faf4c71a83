/* Writes man pages and shell completions from the option table: gen_docs VERSION FOLDER. Run by the build. */
#include "frontend/base/output_file.h"
#include "runtime/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_file(const tg_option_info *info) {
  return info->kind == TG_OPTION_FILE || tg_option_is_written(info);
}

static bool applies(int option, int command) { return tg_option_get(option)->commands >> command & 1; }

/* roff reads a leading dot or quote, backslashes and hyphens as its own. */
static void roff(FILE *out, const char *text) {
  if (*text == '.' || *text == '\'') fputs("\\&", out); /* no request */
  for (; *text; text++) {
    if (*text == '\\')
      fputs("\\e", out);
    else if (*text == '-')
      fputs("\\-", out);
    else
      fputc(*text, out);
  }
}

static void man_head(FILE *out, const char *title, const char *summary, const char *version) {
  fprintf(out, ".TH %s 1 \"\" \"tegula %s\"\n.SH NAME\n", title, version);
  roff(out, title);
  fputs(" \\- ", out);
  roff(out, summary);
  fputs("\n.SH SYNOPSIS\n", out);
}

static void man_overview(FILE *out, const char *version) {
  man_head(out, "tegula", "compile neural networks for a tile array and simulate it", version);
  fputs(".B tegula\n.I COMMAND\n[\\-\\-help] ...\n.SH COMMANDS\n", out);
  for (int c = 0; c < TG_COMMAND_COUNT; c++) {
    const tg_command_info *info = tg_command_get((tg_command_id)c);
    fprintf(out, ".TP\n.B tegula %s\n", info->name);
    roff(out, info->summary);
    fprintf(out, ":\n.BR tegula\\-%s (1)\n", info->name);
  }
  fputs(".SH EXIT STATUS\n0 done; 1 a comparison failed; 2 bad usage or bad input, one line on standard "
        "error says what "
        "and where; 3 the simulated machine faulted.\n"
        ".SH ENVIRONMENT\n.TP\n.B TEGULA_CODE_CACHE\nA folder, which has to exist, that keeps the machine "
        "code of kernels between runs; what is "
        "in it may be deleted at any time. Whoever may write there decides what code runs.\n"
        ".TP\n.B TEGULA_CODE_CACHE_SIZE\nBytes that it may hold, with K, M or G behind the number or "
        "nothing; 0: any number; 1G by default. What was used longest ago goes.\n",
        out);
}

static void man_command(FILE *out, const char *version, tg_arena *arena, int command) {
  const tg_command_info *info = tg_command_get((tg_command_id)command);
  man_head(out, tg_arena_printf(arena, "tegula-%s", info->name), info->summary, version);
  fprintf(out, ".B tegula %s\n", info->name);
  roff(out, info->operands);
  fputs("\n[OPTION...]\n.SH OPTIONS\n", out);
  for (int o = 0; o < TG_OPTION_COUNT; o++) {
    if (!applies(o, command)) continue;
    fputs(".TP\n.B ", out);
    roff(out, tg_option_usage(arena, (tg_option_id)o));
    fputc('\n', out);
    roff(out, tg_option_get((tg_option_id)o)->help);
    fputc('\n', out);
  }
  fputs(".SH SEE ALSO\n.BR tegula (1)\n", out);
}

/* What a value may be, or how it may begin, "a|b|c"; "": anything. */
static const char *words_of(int option) {
  switch (option) {
  case TG_OPT_SET:
    return ""
#define PARAM(name, presets, lowest, highest, power_of_two, doc) "|" #name "="
#include "sim/machine/params.def"
#undef PARAM
           "|dram_bandwidth=";
  case TG_OPT_POLICY:
    return ""
#define SWEEP(name, preset, amp, dtype, level, device, matmul) "|" name
#include "runtime/sweep/policies.def"
#undef SWEEP
        ;
  default: return tg_option_get((tg_option_id)option)->choices;
  }
}

static void spaced(FILE *out, const char *choices) {
  for (; *choices; choices++) fputc(*choices == '|' ? ' ' : *choices, out);
}

static void bash(FILE *out) {
  fputs("_tegula() {\n  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then "
        "previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n" /* --arch=edge is three words there */
        "  if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W \"",
        out);
  for (int c = 0; c < TG_COMMAND_COUNT; c++) fprintf(out, "%s ", tg_command_get((tg_command_id)c)->name);
  fputs("\" -- \"$current\")); return; fi\n  case $previous in\n", out);
  for (int o = 0; o < TG_OPTION_COUNT; o++) {
    const tg_option_info *info = tg_option_get((tg_option_id)o);
    const char *words = words_of(o);
    bool file = is_file(info) || strstr(info->argument, "FILE");
    if (info->kind == TG_OPTION_FLAG || (file && !*words)) continue;
    if (info->letter)
      fprintf(out, "    --%s|-%c) COMPREPLY=($(compgen ", info->name, info->letter);
    else
      fprintf(out, "    --%s) COMPREPLY=($(compgen ", info->name);
    if (info->kind == TG_OPTION_FOLDER)
      fputs("-d", out);
    else
      fprintf(out, "%s-W \"", file ? "-f " : ""), spaced(out, words), fputs("\"", out);
    fputs(" -- \"$current\"))", out);
    if (o == TG_OPT_SET) fputs("; compopt -o nospace 2>/dev/null", out); /* "rows=" goes on */
    fputs("; return ;;\n", out);
  }
  fputs("  esac\n  local flags=\n  case ${COMP_WORDS[1]} in\n", out);
  for (int c = 0; c < TG_COMMAND_COUNT; c++) {
    fprintf(out, "    %s) flags=\"", tg_command_get((tg_command_id)c)->name);
    for (int o = 0; o < TG_OPTION_COUNT; o++)
      if (applies(o, c)) fprintf(out, "--%s ", tg_option_get((tg_option_id)o)->name);
    fputs("\" ;;\n", out);
  }
  fputs("  esac\n  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
        "  elif [[ ${COMP_WORDS[1]} == zoo ]]; then\n"
        "    COMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" zoo --list 2>/dev/null | cut -d ' ' -f 1)\" -- "
        "\"$current\"))\n"
        "  else COMPREPLY=($(compgen -f -- \"$current\")); fi\n}\ncomplete -o filenames -F _tegula tegula\n",
        out);
}

/* Inside '...' of zsh, and of _arguments' brackets and colons. */
static void zsh_text(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", out);
    else if (strchr("[]:\\", *text))
      fprintf(out, "\\%c", *text);
    else
      fputc(*text, out);
  }
}

static void zsh_option(FILE *out, int option) {
  const tg_option_info *info = tg_option_get((tg_option_id)option);
  const char *words = words_of(option);
  fprintf(out, "      '%s--%s[", info->repeats ? "*" : "", info->name);
  zsh_text(out, info->help);
  fputc(']', out);
  if (info->kind != TG_OPTION_FLAG) fprintf(out, ":%s:", info->argument);
  bool file = is_file(info) || strstr(info->argument, "FILE");
  if (*words && file)
    fputs("{_files; compadd ", out), spaced(out, words), fputc('}', out);
  else if (*words)
    fputc('(', out), spaced(out, words), fputc(')', out);
  else if (file)
    fputs("_files", out);
  if (info->kind == TG_OPTION_FOLDER) fputs("_files -/", out);
  fputs("' \\\n", out);
}

static void zsh(FILE *out) {
  fputs("#compdef tegula\nif (( CURRENT == 2 )); then\n  local -a commands=(\n", out);
  for (int c = 0; c < TG_COMMAND_COUNT; c++) {
    fprintf(out, "    '%s:", tg_command_get((tg_command_id)c)->name);
    zsh_text(out, tg_command_get((tg_command_id)c)->summary);
    fputs("'\n", out);
  }
  fputs("  )\n  _describe command commands\n  return\nfi\nlocal command=$words[2]\nshift words; (( CURRENT-- "
        "))\n"
        "case $command in\n",
        out);
  for (int c = 0; c < TG_COMMAND_COUNT; c++) {
    fprintf(out, "  %s)\n    _arguments \\\n", tg_command_get((tg_command_id)c)->name);
    for (int o = 0; o < TG_OPTION_COUNT; o++)
      if (applies(o, c)) zsh_option(out, o);
    fputs("      '*:file:_files' ;;\n", out);
  }
  fputs("esac\n", out);
}

static void finish(tg_output_file *file) {
  tg_diag diag = {""};
  if (tg_output_commit(file, &diag)) tg_die("%s", diag.message);
}

static tg_output_file begin(tg_arena *arena, const char *folder, const char *name) {
  tg_output_file file;
  tg_diag diag = {""};
  if (tg_output_open(tg_arena_printf(arena, "%s/%s", folder, name), &file, &diag)) tg_die("%s", diag.message);
  return file;
}

int main(int argc, char **argv) {
  if (argc != 3) tg_die("usage: gen_docs VERSION FOLDER");
  tg_arena arena = {0};
  tg_output_file file = begin(&arena, argv[2], "tegula.1");
  man_overview(file.stream, argv[1]);
  finish(&file);
  for (int c = 0; c < TG_COMMAND_COUNT; c++) {
    file = begin(&arena, argv[2],
                 tg_arena_printf(&arena, "tegula-%s.1", tg_command_get((tg_command_id)c)->name));
    man_command(file.stream, argv[1], &arena, c);
    finish(&file);
  }
  file = begin(&arena, argv[2], "tegula.bash");
  bash(file.stream);
  finish(&file);
  file = begin(&arena, argv[2], "_tegula");
  zsh(file.stream);
  finish(&file);
  tg_arena_release(&arena);
  return 0;
}
