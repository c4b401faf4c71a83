#include "frontend/base/output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(tg_output_file *file) {
  free(file->path);
  free(file->beside);
  *file = (tg_output_file){0};
}

static tg_status cannot_write(const char *path, tg_diag *diag) {
  return tg_fail(diag, TG_INVALID, "%s: cannot be written: %s", path, strerror(errno));
}

/* mkstemp makes private files; what it stands for has the permissions of any new file. */
static void usual_permissions(int descriptor) {
  mode_t mask = umask(0);
  umask(mask);
  (void)!fchmod(descriptor, 0666 & ~mask);
}

tg_status tg_output_open(const char *path, tg_output_file *out_file, tg_diag *diag) {
  *out_file = (tg_output_file){0};
  struct stat there;
  bool exists = stat(path, &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) return tg_fail(diag, TG_INVALID, "%s: is a folder", path);
  tg_output_file file = {.path = strdup(path)};
  if (exists && !S_ISREG(there.st_mode)) {
    file.stream = fopen(path, "wb");
  } else {
    if (asprintf(&file.beside, "%s.XXXXXX", path) < 0) tg_die("out of memory");
    int descriptor = mkstemp(file.beside);
    if (descriptor >= 0) {
      usual_permissions(descriptor);
      file.stream = fdopen(descriptor, "wb");
    }
  }
  if (!file.stream) {
    tg_status status = cannot_write(path, diag);
    release(&file);
    return status;
  }
  *out_file = file;
  return TG_OK;
}

tg_status tg_output_check(const char *path, tg_diag *diag) {
  struct stat there;
  tg_output_file file;
  if (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) return TG_OK;
  tg_status status = tg_output_open(path, &file, diag);
  if (!status) tg_output_abandon(&file);
  return status;
}

tg_status tg_output_commit(tg_output_file *file, tg_diag *diag) {
  bool good = !ferror(file->stream) && fflush(file->stream) == 0;
  good = fclose(file->stream) == 0 && good;
  if (good && file->beside) good = rename(file->beside, file->path) == 0;
  tg_status status = good ? TG_OK : cannot_write(file->path, diag);
  if (!good && file->beside) unlink(file->beside);
  release(file);
  return status;
}

void tg_output_abandon(tg_output_file *file) {
  fclose(file->stream);
  if (file->beside) unlink(file->beside);
  release(file);
}
