#include "sim/functional/code_store.h"

#include "frontend/base/hash.h"
#include "sim/functional/code_limit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file: this, then the bytes of host, text and object. */
typedef struct header {
  char magic[8];
  uint64_t host, text, object; /* their lengths */
  uint64_t hash;               /* of all bytes that follow */
} header;
static const char magic[8] = "TGCODE1";

enum { MAX_FILE = 64 << 20 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *host; /* NULL where memory ended */

static void find_host(void) { host = tg_jit_host(); }

/* NULL: none was named. */
static const char *folder_named(void) {
  const char *folder = getenv("TEGULA_CODE_CACHE");
  return folder && *folder ? folder : NULL;
}

/* Release with free; NULL where there is no folder. */
static char *path_of(uint64_t hash) {
  const char *folder = folder_named();
  if (!folder) return NULL;
  pthread_once(&once, find_host);
  char *path = NULL;
  if (host && asprintf(&path, "%s/" TG_CODE_FILE, folder, (unsigned long long)tg_hash_text(host),
                       (unsigned long long)hash) < 0)
    path = NULL;
  return path;
}

static bool read_all(int fd, void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = read(fd, (char *)bytes + done, size - done);
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* The bytes of a file, to be released with free, which counts as used from now on; NULL if it is no regular file of a size
 * that one of ours may have. */
static unsigned char *read_file(const char *path, size_t *out_size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  struct stat info;
  unsigned char *bytes = NULL;
  if (!fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_size > (off_t)sizeof(header) &&
      info.st_size <= MAX_FILE) {
    *out_size = (size_t)info.st_size;
    bytes = malloc(*out_size);
    if (bytes && !read_all(fd, bytes, *out_size)) {
      free(bytes);
      bytes = NULL;
    }
    (void)futimens(fd, NULL); /* not ours to write: it is as old as it was */
  }
  close(fd);
  return bytes;
}

/* The object in a file's bytes; NULL unless they are whole and were made from this text on such a host. */
static const unsigned char *object_in(const unsigned char *bytes, size_t size, const tg_text *text,
                                      size_t *out_size) {
  header h;
  memcpy(&h, bytes, sizeof h);
  const unsigned char *rest = bytes + sizeof h;
  size_t left = size - sizeof h;
  if (memcmp(h.magic, magic, sizeof magic) || h.host != strlen(host) || h.text != text->length) return NULL;
  if (left <= h.host + h.text || h.object != left - h.host - h.text || h.hash != tg_hash(rest, left))
    return NULL;
  if (memcmp(rest, host, h.host) || memcmp(rest + h.host, text->text, h.text)) return NULL;
  *out_size = h.object;
  return rest + h.host + h.text;
}

bool tg_code_load(const tg_text *text, uint64_t hash, tg_object *out_object) {
  *out_object = (tg_object){0};
  char *path = path_of(hash);
  size_t size;
  unsigned char *bytes = path ? read_file(path, &size) : NULL;
  const unsigned char *object = bytes ? object_in(bytes, size, text, &out_object->size) : NULL;
  if (object) {
    memmove(bytes, object, out_object->size);
    out_object->bytes = bytes;
  } else {
    free(bytes);
  }
  free(path);
  return object != NULL;
}

static bool write_all(int fd, const void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(fd, (const char *)bytes + done, size - done);
    if (n < 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* Written beside and renamed: a reader finds a whole file or none. What a crash of the host tears is found by its hash. */
static void write_file(const char *path, const void *bytes, size_t size) {
  char *beside = NULL;
  if (asprintf(&beside, "%s.XXXXXX", path) < 0) return;
  int fd = mkostemp(beside, O_CLOEXEC);
  if (fd >= 0) {
    bool whole = write_all(fd, bytes, size);
    if (close(fd) || !whole || rename(beside, path)) unlink(beside);
  }
  free(beside);
}

tg_status tg_code_store_check(tg_diag *diag) {
  uint64_t unused;
  return folder_named() ? tg_code_limit(&unused, diag) : TG_OK;
}

void tg_code_keep(const tg_text *text, uint64_t hash, const tg_object *object) {
  uint64_t limit;
  tg_diag unused = {""};
  char *path = path_of(hash);
  if (!path) return;
  header h = {.host = strlen(host), .text = text->length, .object = object->size};
  memcpy(h.magic, magic, sizeof magic);
  size_t left = h.host + h.text + h.object;
  bool fits = !tg_code_limit(&limit, &unused) && sizeof h + left <= limit;
  unsigned char *bytes = fits ? malloc(sizeof h + left) : NULL, *rest = bytes ? bytes + sizeof h : NULL;
  if (bytes) {
    memcpy(rest, host, h.host);
    memcpy(rest + h.host, text->text, h.text);
    memcpy(rest + h.host + h.text, object->bytes, h.object);
    h.hash = tg_hash(rest, left);
    memcpy(bytes, &h, sizeof h);
    write_file(path, bytes, sizeof h + left);
    if (tg_code_looks_after(hash, sizeof h + left, limit)) tg_code_trim(folder_named(), limit);
  }
  free(bytes);
  free(path);
}
