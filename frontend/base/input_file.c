#include "frontend/base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty file to all who read it. */
static bool is_null_device(const struct stat *info) {
  struct stat null;
  return S_ISCHR(info->st_mode) && !stat("/dev/null", &null) && null.st_rdev == info->st_rdev;
}

tg_status tg_input_open(const char *path, FILE **out_file, uint64_t *out_size, tg_diag *diag) {
  struct stat info;
  *out_file = NULL;
  int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return tg_fail(diag, TG_INVALID, "%s: cannot be read: %s", path, strerror(errno));
  bool known = !fstat(descriptor, &info), regular = known && (S_ISREG(info.st_mode) || is_null_device(&info));
  errno = 0;
  if (regular) *out_file = fdopen(descriptor, "rb");
  if (*out_file) {
    if (out_size) *out_size = (uint64_t)info.st_size;
    return TG_OK;
  }
  tg_fail(diag, TG_INVALID, "%s: cannot be read: %s", path,
          known && !regular ? "it is no regular file" : strerror(errno));
  close(descriptor);
  return TG_INVALID;
}
