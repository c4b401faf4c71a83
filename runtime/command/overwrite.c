/* Files that a command reads are not what it writes, and no two outputs are one file. */
#include "frontend/base/output_file.h"
#include "runtime/command/command.h"

#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *path, struct stat *out_info) {
  return *path && !stat(path, out_info) && S_ISREG(out_info->st_mode);
}

static bool is_same(const struct stat *written, const char *path) {
  struct stat read;
  return is_file(path, &read) && read.st_dev == written->st_dev && read.st_ino == written->st_ino;
}

/* NAME=FILE, FILE.npz:ARRAY, or FILE,KEY=VALUE. */
static bool names(tg_context *context, const char *text, const struct stat *written) {
  const char *equals = strchr(text, '='), *path = equals ? equals + 1 : text, *array = strstr(path, ".npz:");
  if (array) path = tg_arena_strndup(&context->arena, path, (size_t)(array + 4 - path));
  return is_same(written, path) || is_same(written, text) ||
         is_same(written, tg_arena_strndup(&context->arena, text, strcspn(text, ",")));
}

static bool reads(tg_context *context, const struct stat *written) {
  const tg_options *o = &context->options;
  for (int i = 0; i < TG_OPTION_COUNT; i++) {
    tg_option_kind kind = tg_option_get((tg_option_id)i)->kind;
    for (size_t v = 0; v < o->counts[i]; v++) {
      if (kind == TG_OPTION_FILE && is_same(written, o->values[i][v])) return true;
      if (kind == TG_OPTION_NAMED_FILE && names(context, o->values[i][v], written)) return true;
    }
  }
  for (size_t i = 0; o->command != TG_COMMAND_ZOO && i < o->operand_count; i++)
    if (is_same(written, o->operands[i])) return true;
  return false;
}

/* The one line of all of these. */
static tg_status refuse(tg_context *context, tg_option_id option, const char *path) {
  return tg_fail(&context->diag, TG_INVALID, "--%s: \"%s\" is read, and would be overwritten",
                 tg_option_get(option)->name, path);
}

tg_status tg_check_unread(tg_context *context, tg_option_id option, const char *path) {
  struct stat info;
  return is_file(path, &info) && reads(context, &info) ? refuse(context, option, path) : TG_OK;
}

tg_status tg_check_unwritten(tg_context *context, const char *path) {
  const tg_options *o = &context->options;
  struct stat info;
  if (!is_file(path, &info)) return TG_OK;
  for (int i = 0; i < TG_OPTION_COUNT; i++)
    for (size_t v = 0; tg_option_is_written(tg_option_get((tg_option_id)i)) && v < o->counts[i]; v++)
      if (is_same(&info, o->values[i][v])) return refuse(context, (tg_option_id)i, o->values[i][v]);
  return TG_OK;
}

typedef struct output {
  tg_option_id option;
  const char *path;
  struct stat info;
  bool there; /* a regular file stands there */
} output;

static tg_status check_output(tg_context *context, const output *before, size_t count, const output *one) {
  if (one->there && reads(context, &one->info)) return refuse(context, one->option, one->path);
  for (size_t i = 0; i < count; i++)
    if (one->there && before[i].there ? is_same(&one->info, before[i].path)
                                      : !strcmp(one->path, before[i].path))
      return tg_fail(&context->diag, TG_INVALID, "--%s: \"%s\" is written by --%s, too",
                     tg_option_get(one->option)->name, one->path, tg_option_get(before[i].option)->name);
  return TG_OK;
}

tg_status tg_check_overwriting(tg_context *context) {
  const tg_options *o = &context->options;
  output *outputs = NULL;
  size_t count = 0, capacity = 0;
  for (int i = 0; i < TG_OPTION_COUNT; i++) {
    const tg_option_info *info = tg_option_get((tg_option_id)i);
    for (size_t v = 0; tg_option_is_written(info) && v < o->counts[i]; v++) {
      output one = {.option = (tg_option_id)i, .path = o->values[i][v]};
      if (!*one.path || tg_output_is_standard(one.path)) continue;
      one.there = is_file(one.path, &one.info);
      if (!one.there && !stat(one.path, &one.info)) continue; /* devices and pipes are written as they are */
      if (check_output(context, outputs, count, &one)) return TG_INVALID;
      TG_PUSH(&context->arena, outputs, count, capacity, one);
    }
  }
  return TG_OK;
}
