#include "sim/functional/code_limit.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  NAME = 16 + 1 + 16 + 2,        /* characters of a file's name, */
  BESIDE = sizeof ".XXXXXX" - 1, /* and behind it, while it is written */
  OLD = 3600,                    /* seconds after which nobody writes it any more */
  LOOKS = 16,                    /* one file in so many */
};
#define DEFAULT_LIMIT (UINT64_C(1) << 30)

tg_status tg_code_limit(uint64_t *out_bytes, tg_diag *diag) {
  static const char units[] = "KMG";
  const char *text = getenv("TEGULA_CODE_CACHE_SIZE"), *unit = NULL;
  *out_bytes = DEFAULT_LIMIT;
  if (!text || !*text) return TG_OK;
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (*end && !end[1]) unit = strchr(units, *end);
  int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (!isdigit((unsigned char)*text) || (*end && !unit) || errno || number > UINT64_MAX >> shift) {
    *out_bytes = 0;
    return tg_fail(diag, TG_INVALID,
                   "TEGULA_CODE_CACHE_SIZE: \"%.40s\" is no size: a number of bytes, with K, M or G behind "
                   "it or nothing",
                   text);
  }
  *out_bytes = number ? (uint64_t)number << shift : UINT64_MAX;
  return TG_OK;
}

bool tg_code_looks_after(uint64_t hash, uint64_t bytes, uint64_t limit) {
  return limit < UINT64_MAX && (hash % LOOKS == 0 || bytes > limit / 64);
}

typedef struct kept {
  char name[NAME + 1];
  uint64_t bytes;
  struct timespec used;
} kept;

typedef struct folder {
  int fd;
  kept *files;
  size_t count, capacity;
  uint64_t bytes;
} folder;

static bool is_ours(const char *name) {
  for (int i = 0; i < NAME - 2; i++)
    if (i == 16 ? name[i] != '-' : !isxdigit((unsigned char)name[i])) return false;
  return !strncmp(name + NAME - 2, ".o", 2);
}

/* False where memory ends. */
static bool add_file(folder *f, const char *name, const struct stat *info) {
  if (f->count == f->capacity) {
    size_t capacity = 2 * f->capacity + 64;
    kept *files = realloc(f->files, capacity * sizeof *files);
    if (!files) return false;
    f->files = files;
    f->capacity = capacity;
  }
  kept *file = &f->files[f->count++];
  *file = (kept){.bytes = (uint64_t)info->st_size, .used = info->st_mtim};
  memcpy(file->name, name, NAME);
  f->bytes += file->bytes;
  return true;
}

static bool look_at(folder *f, const char *name, time_t now) {
  size_t length = strlen(name);
  struct stat info;
  if ((length != NAME && length != NAME + BESIDE) || !is_ours(name) ||
      fstatat(f->fd, name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
    return true;
  if (length == NAME) return add_file(f, name, &info);
  if (now - info.st_mtim.tv_sec > OLD) unlinkat(f->fd, name, 0);
  return true;
}

static int by_use(const void *left, const void *right) {
  const kept *a = left, *b = right;
  if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* Others that do the same at once have the same list, so that together they remove no more. */
static void remove_oldest(folder *f, uint64_t limit) {
  if (f->bytes <= limit) return;
  qsort(f->files, f->count, sizeof *f->files, by_use);
  for (size_t i = 0; i < f->count && f->bytes > limit - limit / 16; i++) {
    unlinkat(f->fd, f->files[i].name, 0);
    f->bytes -= f->files[i].bytes;
  }
}

void tg_code_trim(const char *path, uint64_t limit) {
  DIR *listing = opendir(path);
  if (!listing) return;
  folder f = {.fd = dirfd(listing)};
  time_t now = time(NULL);
  bool room = true;
  for (struct dirent *entry; room && (entry = readdir(listing));) room = look_at(&f, entry->d_name, now);
  if (room) remove_oldest(&f, limit);
  free(f.files);
  closedir(listing);
}
