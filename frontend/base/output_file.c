#include "frontend/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that are not renamed yet, for tg_output_remove_unfinished, which may interrupt anything. */
enum { MOST_UNFINISHED = 64 };
static _Atomic(char *) unfinished[MOST_UNFINISHED];

void tg_output_remember(char *path) {
  for (int i = 0; i < MOST_UNFINISHED; i++) {
    char *none = NULL;
    if (atomic_compare_exchange_strong(&unfinished[i], &none, path)) return;
  }
}

void tg_output_forget(char *path) {
  for (int i = 0; path && i < MOST_UNFINISHED; i++) {
    char *found = path;
    if (atomic_compare_exchange_strong(&unfinished[i], &found, NULL)) return;
  }
}

void tg_output_remove_unfinished(void) {
  for (int i = 0; i < MOST_UNFINISHED; i++) {
    const char *path = atomic_load(&unfinished[i]);
    if (path) (void)unlink(path);
  }
}

static void release(tg_output_file *file) {
  tg_output_forget(file->beside);
  free(file->path);
  free(file->target);
  free(file->beside);
  *file = (tg_output_file){0};
}

static tg_status cannot_write(const char *path, tg_diag *diag) {
  return tg_fail(diag, TG_INVALID, "%s: cannot be written: %s", path, strerror(errno));
}

static int standard_output = STDOUT_FILENO;

/* The descriptor that a name of the process's own stands for, "-" for standard output; -1: it is another
 * name. */
static int own_descriptor(const char *path) {
  static const char prefix[] = "/dev/fd/";
  if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout")) return standard_output;
  if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
  if (strncmp(path, prefix, sizeof prefix - 1)) return -1;
  char *end;
  long number = strtol(path + sizeof prefix - 1, &end, 10);
  if (*end || end == path + sizeof prefix - 1 || number < 0 || number > INT_MAX) return -1;
  return number == STDOUT_FILENO ? standard_output : (int)number;
}

bool tg_output_is_standard(const char *path) { return own_descriptor(path) == standard_output; }

tg_status tg_output_keep_apart(tg_diag *diag) {
  int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fcntl(STDERR_FILENO, F_GETFD) < 0)
    (void)open("/dev/null", O_WRONLY); /* is closed: that takes its place */
  if (fflush(stdout) || kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return tg_fail(diag, TG_INVALID, "standard output: cannot be written: %s", strerror(errno));
  standard_output = kept;
  return TG_OK;
}

/* What links lead to, whether it is there or not; malloc'd, NULL: they lead nowhere. */
static char *behind_links(const char *path) {
  enum { MOST_LINKS = 40 };
  char target[PATH_MAX], *at = strdup(path);
  for (int i = 0; at && i < MOST_LINKS; i++) {
    ssize_t length = readlink(at, target, sizeof target - 1);
    if (length < 0) return at;
    target[length] = 0;
    const char *slash = strrchr(at, '/');
    int folder = *target == '/' || !slash ? 0 : (int)(slash - at) + 1;
    char *next = NULL;
    if (asprintf(&next, "%.*s%s", folder, at, target) < 0) next = NULL;
    free(at);
    at = next;
  }
  errno = at ? ELOOP : ENOMEM;
  free(at);
  return NULL;
}

/* It is made private; what it stands for keeps mode and owner, or has the usual ones of a new
 * file. */
static void set_permissions(int descriptor, const struct stat *there) {
  mode_t mask = umask(0);
  umask(mask);
  if (there && fchown(descriptor, there->st_uid, there->st_gid)) errno = 0; /* it may not be ours to give */
  (void)!fchmod(descriptor, there ? there->st_mode & 07777 : 0666 & ~mask);
}

/* A new file whose name ends in the six characters at `end`. It is remembered before it is there: a signal may come
 * in between. A name that somebody else has is none of ours to remove. */
static int create_remembered(char *path, char *end) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
  enum { TRIES = 100 };
  for (int i = 0; i < TRIES; i++) {
    unsigned char random[6];
    if (getrandom(random, sizeof random, 0) != sizeof random) return -1;
    for (int c = 0; c < 6; c++) end[c] = letters[random[c] % 32];
    if (!access(path, F_OK)) continue;
    tg_output_remember(path);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    tg_output_forget(path);
    if (errno != EEXIST) return -1;
  }
  return -1;
}

/* A short name beside the file: the longest name has no room for more. */
static FILE *open_beside(tg_output_file *file, const struct stat *there) {
  const char *slash = strrchr(file->target, '/');
  int folder = slash ? (int)(slash - file->target) + 1 : 0;
  char *beside = NULL;
  if (asprintf(&beside, "%.*s.tegula-XXXXXX", folder, file->target) < 0) tg_die("out of memory");
  int descriptor = create_remembered(beside, beside + strlen(beside) - 6);
  FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
  if (!stream) {
    int error = errno;
    if (descriptor >= 0) (void)close(descriptor), (void)unlink(beside);
    tg_output_forget(beside);
    free(beside);
    errno = error;
    return NULL;
  }
  set_permissions(descriptor, there);
  file->beside = beside;
  return stream;
}

tg_status tg_output_open(const char *path, tg_output_file *out_file, tg_diag *diag) {
  *out_file = (tg_output_file){0};
  int own = own_descriptor(path);
  tg_output_file file = {.path = strdup(path), .target = own < 0 ? behind_links(path) : NULL};
  struct stat there;
  if (!file.path || (own < 0 && !file.target)) {
    if (!file.path) errno = ENOMEM;
    tg_status status = cannot_write(path, diag);
    release(&file);
    return status;
  }
  bool exists = own < 0 && stat(file.target, &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) {
    release(&file);
    return tg_fail(diag, TG_INVALID, "%s: is a folder", path);
  }
  if (own >= 0) {
    int copy = dup(own);
    file.stream = copy < 0 ? NULL : fdopen(copy, "wb");
  } else if (exists && !S_ISREG(there.st_mode)) {
    file.stream = fopen(file.target, "wb");
  } else {
    file.stream = open_beside(&file, exists ? &there : NULL);
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
  if (own_descriptor(path) >= 0) return TG_OK;
  if (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) return TG_OK;
  tg_status status = tg_output_open(path, &file, diag);
  if (!status) tg_output_abandon(&file);
  return status;
}

/* On the disk before it takes its name. Some file systems cannot say so. */
static bool is_stored(FILE *stream) {
  return !fsync(fileno(stream)) || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
}

tg_status tg_output_commit(tg_output_file *file, tg_diag *diag) {
  bool good = !ferror(file->stream) && fflush(file->stream) == 0;
  if (good && file->beside) good = is_stored(file->stream);
  int error = errno;
  good = fclose(file->stream) == 0 && good;
  if (good && file->beside) good = rename(file->beside, file->target) == 0;
  if (!good && error) errno = error;
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
