#include "runtime/regress/fingerprint.h"
#include "frontend/base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct tg_file_sum {
  const char *path;
  uint64_t sum;
} tg_file_sum;

static void add_text(tg_hasher *s, const char *text) { tg_hasher_add(s, text, strlen(text) + 1); }

static bool sum_of_file(tg_fingerprints *f, const char *path, uint64_t *found);

/* Files that an ONNX model keeps weights in: entries of a "location" key, as protobuf writes them. What only
 * looks like one costs a look for a file. */
static void add_external(tg_fingerprints *f, tg_hasher *s, const uint8_t *bytes, size_t size,
                         const char *model) {
  static const char key[] = "\x0a\x08location\x12";
  const uint8_t *at = bytes, *end = bytes + size;
  const char *slash = strrchr(model, '/');
  char last[256] = "";
  while ((at = memmem(at, (size_t)(end - at), key, sizeof key - 1))) {
    at += sizeof key - 1;
    if (at == end || *at > 127 || *at > end - at - 1 || !*at) continue; /* names are short */
    char name[256] = {0};
    memcpy(name, at + 1, *at);
    if (!strcmp(name, last)) continue; /* one file of many weights */
    memcpy(last, name, sizeof last);
    uint64_t other;
    int folder = slash ? (int)(slash - model + 1) : 0;
    if (sum_of_file(f, tg_arena_printf(&f->arena, "%.*s%s", folder, model, name), &other)) {
      add_text(s, name);
      tg_hasher_add(s, &other, sizeof other);
    }
  }
}

static uint8_t *read_all(const char *path, size_t *out_size) {
  struct stat info;
  if (stat(path, &info) || !S_ISREG(info.st_mode)) return NULL; /* opening a pipe would block */
  FILE *file = fopen(path, "rb");
  if (!file && errno != ENOMEM) return NULL;
  uint8_t *bytes = malloc((size_t)info.st_size + 1);
  if (!file || !bytes) tg_die("%s: out of memory", path); /* not the sum of a case without this file */
  (void)setvbuf(file, NULL, _IONBF, 0);                   /* a buffer would be memory, too */
  *out_size = fread(bytes, 1, (size_t)info.st_size, file);
  fclose(file);
  return bytes;
}

/* False: no regular file. */
static bool sum_of_file(tg_fingerprints *f, const char *path, uint64_t *found) {
  for (size_t i = 0; i < f->count; i++)
    if (!strcmp(f->files[i].path, path)) return *found = f->files[i].sum, true;
  size_t size;
  uint8_t *bytes = read_all(path, &size);
  if (!bytes) return false;
  tg_hasher s;
  tg_hasher_start(&s);
  tg_hasher_add(&s, bytes, size);
  size_t length = strlen(path);
  if (length > 5 && !strcmp(path + length - 5, ".onnx")) add_external(f, &s, bytes, size, path);
  free(bytes);
  *found = tg_hasher_sum(&s);
  tg_file_sum one = {tg_arena_strdup(&f->arena, path), *found};
  TG_PUSH(&f->arena, f->files, f->count, f->capacity, one);
  return true;
}

static void add_place(tg_fingerprints *f, tg_hasher *s, const char *path) {
  uint64_t content;
  if (sum_of_file(f, path, &content)) tg_hasher_add(s, &content, sizeof content);
}

static const char *place_of(tg_fingerprints *f, const char *folder, const char *path) {
  return *path == '/' ? path : tg_arena_printf(&f->arena, "%s/%s", folder, path);
}

/* Files that an array's YAML names, from its folder on: its memory, and what its actions cost. */
static void add_named(tg_fingerprints *f, tg_hasher *s, const tg_suite *suite, const char *path) {
  size_t size, length = strlen(path);
  if (length < 5 || (strcmp(path + length - 5, ".yaml") != 0 && strcmp(path + length - 4, ".yml") != 0))
    return;
  const char *place = place_of(f, suite->folder, path);
  uint8_t *bytes = read_all(place, &size);
  if (!bytes) return;
  const char *folder = tg_arena_printf(&f->arena, "%.*s", (int)(strrchr(place, '/') - place), place);
  bytes[size] = 0;
  for (char *rest, *line = strtok_r((char *)bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char key[16], value[256];
    if (sscanf(line, " %15[a-z] : \"%255[^\",]", key, value) != 2 &&
        sscanf(line, " %15[a-z] : %255[^, #\r]", key, value) != 2)
      continue;
    if (!strcmp(key, "dram") || !strcmp(key, "energy")) add_place(f, s, place_of(f, folder, value));
  }
  free(bytes);
}

static void add_file(tg_fingerprints *f, tg_hasher *s, const tg_suite *suite, const char *path) {
  add_place(f, s, place_of(f, suite->folder, path));
}

const char *tg_case_fingerprint(tg_fingerprints *f, tg_suite *suite, const tg_case *c, const char *command) {
  tg_hasher s;
  tg_hasher_start(&s);
  add_text(&s, c->id);
  add_file(f, &s, suite, command);
  add_text(&s, tg_words_line(&suite->arena, &c->zoo));
  add_text(&s, tg_words_line(&suite->arena, &c->run));
  add_text(&s, tg_words_line(&suite->arena, &c->verify));
  tg_hasher_add(&s, &c->bounds.of[TG_BOUND_time_limit].real, sizeof(double));
  tg_hasher_add(&s, &c->bounds.of[TG_BOUND_memory_limit].bytes, sizeof(uint64_t));
  for (size_t i = 0; i < c->files.count; i++) {
    add_text(&s, c->files.word[i]);
    add_file(f, &s, suite, c->files.word[i]);
    add_named(f, &s, suite, c->files.word[i]);
  }
  return tg_arena_printf(&suite->arena, "%016" PRIx64, tg_hasher_sum(&s));
}

void tg_fingerprints_release(tg_fingerprints *f) {
  tg_arena_release(&f->arena);
  *f = (tg_fingerprints){0};
}
