#include "frontend/onnx/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static tg_status map_open_file(int fd, const char *path, bool forbid_hard_links, tg_file *out_file,
                               tg_diag *diag) {
  struct stat st;
  if (fstat(fd, &st)) return tg_fail(diag, TG_INVALID, "%s: %s", path, strerror(errno));
  if (!S_ISREG(st.st_mode)) return tg_fail(diag, TG_INVALID, "%s: not a regular file", path);
  if (forbid_hard_links && st.st_nlink > 1)
    return tg_fail(diag, TG_INVALID, "%s: has hard links, so it may be a file of another folder", path);
  *out_file = (tg_file){NULL, (size_t)st.st_size};
  if (!st.st_size) return TG_OK;
  void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return tg_fail(diag, TG_INVALID, "%s: %s", path, strerror(errno));
  out_file->data = data;
  return TG_OK;
}

tg_status tg_file_map(const char *path, tg_file *out_file, tg_diag *diag) {
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return tg_fail(diag, TG_INVALID, "%s: %s", path, strerror(errno));
  tg_status status = map_open_file(fd, path, false, out_file, diag);
  close(fd);
  return status;
}

void tg_file_unmap(tg_file *file) {
  if (file->data) munmap((void *)file->data, file->size);
  *file = (tg_file){NULL, 0};
}

/* The folder is opened first and the name looked up in it, so no path is ever composed from the model's
 * text. */
static int open_folder_of(const char *model_path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(model_path, '/');
  size_t length = slash ? (size_t)(slash - model_path) : 0;
  if (length >= sizeof folder) return -1;
  if (!slash)
    strcpy(folder, ".");
  else if (!length)
    strcpy(folder, "/");
  else {
    memcpy(folder, model_path, length);
    folder[length] = 0;
  }
  return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

tg_status tg_file_map_external(const char *model_path, const char *location, tg_file *out_file,
                               tg_diag *diag) {
  *out_file = (tg_file){NULL, 0};
  if (!strncmp(location, "./", 2)) location += 2;
  if (!*location || strchr(location, '/') || strchr(location, '\\') || !strcmp(location, ".") ||
      !strcmp(location, ".."))
    return tg_fail(diag, TG_INVALID, "external data \"%s\" is not a file of the model's folder", location);
  if (!model_path) return tg_fail(diag, TG_INVALID, "external data \"%s\": the model is no file", location);
  int folder = open_folder_of(model_path);
  if (folder < 0) return tg_fail(diag, TG_INVALID, "%s: cannot open its folder", model_path);
  int fd = openat(folder, location, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  int error = errno;
  close(folder);
  if (fd < 0) return tg_fail(diag, TG_INVALID, "external data \"%s\": %s", location, strerror(error));
  tg_status status = map_open_file(fd, location, true, out_file, diag);
  close(fd);
  return status;
}
