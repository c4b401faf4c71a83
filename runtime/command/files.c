/* Files of tensors. */
#include "runtime/command/command.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

const char *tg_tensor_file(tg_arena *arena, const char *folder, const char *tensor, const char **taken,
                           int count) {
  char *base = tg_arena_strdup(arena, tensor);
  for (char *c = base; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
  if (*base == '.') *base = '_';
  if (strlen(base) > 200) base[200] = 0;
  const char *name = base;
  for (int i = 0, suffix = 2; i < count; i++)
    if (!strcmp(taken[i], name)) {
      name = tg_arena_printf(arena, "%s_%d", base, suffix++);
      i = -1; /* look again from the start */
    }
  taken[count] = name;
  return tg_arena_printf(arena, "%s/%s.npy", folder, name);
}

tg_status tg_check_reports(tg_context *context) {
  const tg_options *o = &context->options;
  for (size_t i = 0; i < o->counts[TG_OPT_REPORT]; i++) {
    const char *path = o->values[TG_OPT_REPORT][i], *dot = strrchr(path, '.');
    if (!dot || (strcmp(dot, ".json") && strcmp(dot, ".html")))
      return tg_fail(&context->diag, TG_INVALID, "--report: \"%s\" ends neither in .json nor in .html", path);
  }
  return TG_OK;
}

tg_status tg_make_folder(tg_context *context, const char *folder) {
  struct stat there;
  if (!mkdir(folder, 0777)) return TG_OK;
  if (errno == EEXIST && !stat(folder, &there) && !S_ISDIR(there.st_mode))
    return tg_fail(&context->diag, TG_INVALID, "%s: is no folder", folder);
  if (errno == EEXIST) return TG_OK;
  return tg_fail(&context->diag, TG_INVALID, "%s: cannot be made: %s", folder, strerror(errno));
}
