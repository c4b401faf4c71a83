#include "runtime/trace/gzip.h"
#include "frontend/base/status.h"

#include <stdlib.h>
#include <zlib.h>

enum { PART = 1 << 16, GZIP = 16 /* zlib: a gzip header, not its own */, FAST = 3 };

typedef struct packer {
  z_stream z;
  FILE *to;
  unsigned char part[PART];
} packer;

/* Packs what the stream has in front of it, and writes what comes of it. */
static void pack(packer *p, int flush) {
  int result;
  do {
    p->z.next_out = p->part;
    p->z.avail_out = PART;
    result = deflate(&p->z, flush);
    fwrite(p->part, 1, PART - p->z.avail_out, p->to);
  } while (p->z.avail_in || (flush == Z_FINISH && result == Z_OK));
}

static ssize_t pack_text(void *cookie, const char *text, size_t size) {
  packer *p = cookie;
  p->z.next_in = (unsigned char *)(uintptr_t)text;
  p->z.avail_in = (uInt)size;
  pack(p, Z_NO_FLUSH);
  return (ssize_t)size;
}

static int finish(void *cookie) {
  packer *p = cookie;
  pack(p, Z_FINISH);
  deflateEnd(&p->z);
  free(p);
  return 0;
}

FILE *tg_gzip_writer(FILE *to) {
  packer *p = calloc(1, sizeof *p);
  FILE *stream = NULL;
  if (p && deflateInit2(&p->z, FAST, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) == Z_OK) {
    p->to = to;
    stream = fopencookie(p, "w", (cookie_io_functions_t){.write = pack_text, .close = finish});
    if (!stream) deflateEnd(&p->z);
  }
  if (!stream) {
    free(p);
    tg_die("out of memory");
  }
  return stream;
}

static ssize_t unpack(void *cookie, char *text, size_t size) {
  return gzread(cookie, text, size < PART ? (unsigned)size : PART);
}

static int close_packed(void *cookie) { return gzclose_r(cookie) == Z_OK ? 0 : EOF; }

FILE *tg_gzip_reader(const char *path) {
  gzFile file = gzopen(path, "rb");
  FILE *stream =
      file ? fopencookie(file, "r", (cookie_io_functions_t){.read = unpack, .close = close_packed}) : NULL;
  if (file && !stream) gzclose_r(file);
  return stream;
}
