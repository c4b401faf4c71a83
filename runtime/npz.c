#include "runtime/npz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum {
  LOCAL = 0x04034b50, /* signatures of a zip archive's records */
  CENTRAL = 0x02014b50,
  END = 0x06054b50,
  LOCAL_BYTES = 30,
  CENTRAL_BYTES = 46,
  END_BYTES = 22,
  LONGEST_COMMENT = 65535,
  MOST_EXPANSION = 1032,   /* of deflate */
  MOST_UNPACKED = 1 << 28, /* bytes that any archive may ask for */
};

typedef struct archive {
  const uint8_t *bytes;
  uint64_t size;
  tg_diag *diag;
} archive;

/* A member as the central directory has it. */
typedef struct member {
  const uint8_t *name;
  uint32_t name_length, method, checksum;
  uint64_t packed, size, offset; /* bytes, bytes, of the local header */
} member;

static uint64_t number(const uint8_t *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
  return value;
}

static tg_status damaged(const archive *a) { return tg_fail(a->diag, TG_INVALID, "is a damaged archive"); }

/* Sizes of 4 GiB and more stand in an extra field, in the order of those that the entry leaves out. */
static void take_long_sizes(member *m, const uint8_t *extra, uint64_t length) {
  while (length >= 4) {
    uint64_t id = number(extra, 2), size = number(extra + 2, 2);
    if (size > length - 4) return;
    const uint8_t *at = extra + 4, *end = at + size;
    uint64_t *fields[] = {&m->size, &m->packed, &m->offset};
    for (int i = 0; id == 1 && i < 3; i++)
      if (*fields[i] == UINT32_MAX && end - at >= 8) {
        *fields[i] = number(at, 8);
        at += 8;
      }
    extra += 4 + size;
    length -= 4 + size;
  }
}

/* The entry at *at, which moves to the next. */
static tg_status next_member(const archive *a, uint64_t *at, member *out) {
  const uint8_t *entry = a->bytes + *at;
  if (*at > a->size || a->size - *at < CENTRAL_BYTES || number(entry, 4) != CENTRAL) return damaged(a);
  uint64_t name = number(entry + 28, 2), extra = number(entry + 30, 2), comment = number(entry + 32, 2);
  if (a->size - *at - CENTRAL_BYTES < name + extra + comment) return damaged(a);
  *out = (member){.name = entry + CENTRAL_BYTES,
                  .name_length = (uint32_t)name,
                  .method = (uint32_t)number(entry + 10, 2),
                  .checksum = (uint32_t)number(entry + 16, 4),
                  .packed = number(entry + 20, 4),
                  .size = number(entry + 24, 4),
                  .offset = number(entry + 42, 4)};
  take_long_sizes(out, entry + CENTRAL_BYTES + name, extra);
  *at += CENTRAL_BYTES + name + extra + comment;
  return TG_OK;
}

/* Entries and where the first one stands. */
static tg_status find_directory(const archive *a, uint64_t *out_count, uint64_t *out_at) {
  if (a->size < END_BYTES) return damaged(a);
  uint64_t at = a->size - END_BYTES, lowest = at > LONGEST_COMMENT ? at - LONGEST_COMMENT : 0;
  while (number(a->bytes + at, 4) != END && at > lowest) at--;
  if (number(a->bytes + at, 4) != END) return damaged(a);
  *out_count = number(a->bytes + at + 10, 2);
  *out_at = number(a->bytes + at + 16, 4);
  return TG_OK;
}

static bool is_named(const member *m, const char *name) {
  size_t length = strlen(name);
  return m->name_length == length + 4 && !memcmp(m->name, name, length) &&
         !memcmp(m->name + length, ".npy", 4);
}

static tg_status no_such_array(const archive *a, const char *name, uint64_t count, uint64_t at) {
  char list[160] = "";
  size_t used = 0;
  member m;
  for (uint64_t i = 0; i < count && used < sizeof list - 40 && !next_member(a, &at, &m); i++) {
    int length = m.name_length > 4 ? (int)m.name_length - 4 : (int)m.name_length;
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", i ? ", " : "",
                             length < 30 ? length : 30, (const char *)m.name);
  }
  if (name) return tg_fail(a->diag, TG_INVALID, "has no array \"%s\"; there are: %s", name, list);
  return tg_fail(a->diag, TG_INVALID, "holds %llu arrays; say which, as in FILE.npz:NAME: %s",
                 (unsigned long long)count, list);
}

static tg_status find_member(const archive *a, const char *name, member *out) {
  uint64_t count = 0, first = 0;
  if (find_directory(a, &count, &first)) return TG_INVALID;
  uint64_t at = first;
  for (uint64_t i = 0; i < count; i++) {
    if (next_member(a, &at, out)) return TG_INVALID;
    if (name ? is_named(out, name) : count == 1) return TG_OK;
  }
  return no_such_array(a, name, count, first);
}

static bool inflate_all(const uint8_t *from, uint64_t packed, uint8_t *to, uint64_t size) {
  z_stream z = {0};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) tg_die("out of memory");
  int result = Z_OK;
  uint64_t in = 0, out = 0;
  while (result == Z_OK) {
    uint64_t give = packed - in < 1u << 30 ? packed - in : 1u << 30,
             room = size - out < 1u << 30 ? size - out : 1u << 30;
    z.next_in = (uint8_t *)(uintptr_t)(from + in);
    z.avail_in = (uInt)give;
    z.next_out = to + out;
    z.avail_out = (uInt)room;
    result = inflate(&z, Z_NO_FLUSH);
    in += give - z.avail_in;
    out += room - z.avail_out;
    if (result == Z_OK && give == z.avail_in && room == z.avail_out) break; /* it stands still */
  }
  inflateEnd(&z);
  return result == Z_STREAM_END && out == size;
}

static bool checksum_fits(const uint8_t *bytes, const member *m) {
  uLong sum = crc32(0, NULL, 0);
  for (uint64_t at = 0; at < m->size;) {
    uint64_t part = m->size - at < 1u << 30 ? m->size - at : 1u << 30;
    sum = crc32(sum, bytes + at, (uInt)part);
    at += part;
  }
  return sum == m->checksum;
}

/* The member's bytes, in the archive or on the arena. */
static tg_status unpack(const archive *a, const member *m, tg_arena *arena, const uint8_t **out_bytes) {
  if (m->offset > a->size || a->size - m->offset < LOCAL_BYTES) return damaged(a);
  const uint8_t *local = a->bytes + m->offset;
  if (number(local, 4) != LOCAL) return damaged(a);
  uint64_t before = LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
  if (a->size - m->offset < before || a->size - m->offset - before < m->packed) return damaged(a);
  const uint8_t *from = local + before;
  if (m->method == 0 && m->packed == m->size)
    *out_bytes = from;
  else if (m->method == 8 && m->size > MOST_UNPACKED && m->size / 16 > a->size)
    return tg_fail(a->diag, TG_INVALID,
                   "holds an array of %llu bytes, more than 256 MiB and than 16 times its own size",
                   (unsigned long long)m->size);
  else if (m->method == 8 && m->size / MOST_EXPANSION <= m->packed) {
    uint8_t *to = tg_arena_alloc(arena, (size_t)m->size + 1, 1);
    if (!inflate_all(from, m->packed, to, m->size)) return damaged(a);
    *out_bytes = to;
  } else if (m->method == 0 || m->method == 8)
    return damaged(a);
  else
    return tg_fail(a->diag, TG_INVALID, "is packed with method %u; stored and deflated are supported",
                   m->method);
  return checksum_fits(*out_bytes, m) ? TG_OK : damaged(a);
}

static tg_status read_member(const archive *a, tg_arena *arena, const char *name, tg_npy *out_array) {
  member m;
  const uint8_t *bytes = NULL;
  if (find_member(a, name, &m) || unpack(a, &m, arena, &bytes)) return TG_INVALID;
  FILE *stream = fmemopen((void *)(uintptr_t)bytes, m.size ? (size_t)m.size : 1, "rb");
  if (!stream) tg_die("out of memory");
  tg_status status = tg_npy_read_stream(arena, stream, m.size, out_array, a->diag);
  fclose(stream);
  if (status)
    tg_diag_prefix(a->diag, "array \"%.*s\"", (int)(m.name_length < 60 ? m.name_length : 60), m.name);
  return status;
}

/* Opens a regular file; its first bytes, up to `most`, on the arena. */
static tg_status slurp(tg_arena *arena, const char *path, uint64_t most, archive *out, tg_diag *diag) {
  struct stat info;
  if (stat(path, &info)) return tg_fail(diag, TG_INVALID, "cannot be read: %s", strerror(errno));
  if (!S_ISREG(info.st_mode)) return tg_fail(diag, TG_INVALID, "is no regular file");
  FILE *file = fopen(path, "rb");
  if (!file) return tg_fail(diag, TG_INVALID, "cannot be read: %s", strerror(errno));
  uint64_t size = (uint64_t)info.st_size < most ? (uint64_t)info.st_size : most;
  uint8_t *bytes = tg_arena_alloc(arena, (size_t)size + 1, 1);
  bool good = fread(bytes, 1, (size_t)size, file) == size;
  fclose(file);
  *out = (archive){bytes, size, diag};
  return good ? TG_OK : tg_fail(diag, TG_INVALID, "cannot be read");
}

bool tg_is_npz_file(const char *path) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  archive a;
  bool is = !slurp(&arena, path, 4, &a, &diag) && a.size == 4 &&
            (number(a.bytes, 4) == LOCAL || number(a.bytes, 4) == END);
  tg_arena_release(&arena);
  return is;
}

tg_status tg_npz_read(tg_arena *arena, const char *path, const char *name, tg_npy *out_array, tg_diag *diag) {
  tg_arena whole = {0};
  tg_diag inner = {""};
  archive a;
  tg_status status = slurp(&whole, path, UINT64_MAX, &a, &inner);
  if (!status) status = read_member(&a, arena, name, out_array);
  tg_arena_release(&whole);
  if (status) tg_fail(diag, status, "%s: %s", path, inner.message);
  return status;
}

bool tg_npz_has(const char *path, const char *name) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  archive a;
  member m;
  bool has = !slurp(&arena, path, UINT64_MAX, &a, &diag) && !find_member(&a, name, &m);
  tg_arena_release(&arena);
  return has;
}

static tg_status list_members(const archive *a, tg_arena *arena, const char *const **out_names,
                              size_t *out_count) {
  uint64_t count = 0, at = 0;
  member m;
  if (find_directory(a, &count, &at)) return TG_INVALID;
  const char **names = TG_NEW_ARRAY(arena, const char *, (size_t)count + 1); /* at most 65535 */
  for (uint64_t i = 0; i < count; i++) {
    if (next_member(a, &at, &m)) return TG_INVALID;
    bool array = m.name_length > 4 && !memcmp(m.name + m.name_length - 4, ".npy", 4);
    names[i] = tg_arena_strndup(arena, (const char *)m.name, m.name_length - (array ? 4 : 0));
  }
  *out_names = names;
  *out_count = (size_t)count;
  return TG_OK;
}

tg_status tg_npz_names(tg_arena *arena, const char *path, const char *const **out_names, size_t *out_count,
                       tg_diag *diag) {
  tg_arena whole = {0};
  tg_diag inner = {""};
  archive a;
  tg_status status = slurp(&whole, path, UINT64_MAX, &a, &inner);
  if (!status) status = list_members(&a, arena, out_names, out_count);
  tg_arena_release(&whole);
  if (status) tg_fail(diag, status, "%s: %s", path, inner.message);
  return status;
}
