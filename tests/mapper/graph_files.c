#include "tests/mapper/graph_files.h"

#include "frontend/base/stochastic.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 16, SMALLEST = 9, LARGE = 400, MOST_SIZES = 64 };

char *read_graph_file(const char *path, tg_arena *arena, double *out_tolerance) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = tg_arena_alloc(arena, MOST_BYTES, 1);
  size_t n = fread(text, 1, MOST_BYTES - 1, file);
  text[n] = 0;
  fclose(file);
  *out_tolerance = 0;
  sscanf(text, "# tolerance %lf", out_tolerance);
  return text;
}

typedef struct sizes {
  uint32_t drawn;
  int count;
  long from[MOST_SIZES], to[MOST_SIZES];
} sizes;

static long below(sizes *s, long n) {
  s->drawn = tg_mix(s->drawn + 0x9e3779b9u);
  return (long)(s->drawn >> 8) % n;
}

/* As it is, one more, whole vectors, or anything; of large sizes nothing much larger. */
static long draw(sizes *s, long size) {
  bool large = size > LARGE;
  switch (below(s, 5)) {
  case 0: return size;
  case 1: return size + 1;
  case 2: return 16 * (1 + below(s, large ? 40 : 16));
  case 3: return large ? size / 2 + below(s, size / 2) : SMALLEST + below(s, 300);
  default: return large ? size / 2 + below(s, size / 2) : SMALLEST + below(s, 2 * size);
  }
}

static long other_size(sizes *s, long size) {
  if (size < SMALLEST) return size;
  int i = 0;
  while (i < s->count && s->from[i] != size) i++;
  if (i == MOST_SIZES) return size;
  if (i == s->count) s->from[i] = size, s->to[s->count++] = draw(s, size);
  return s->to[i];
}

/* Is it the bracket behind an element type, or behind "shape="? */
static bool holds_sizes(const char *text, const char *bracket) {
  static const char *const before[] = {"f32", "f16", "bf16", "i64", "i32", "bool", "shape="};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    size_t length = strlen(before[i]);
    if ((size_t)(bracket - text) >= length && !strncmp(bracket - length, before[i], length)) return true;
  }
  return false;
}

char *resize_graph(const char *text, uint32_t seed, tg_arena *arena) {
  sizes s = {.drawn = tg_mix(seed)};
  char *out = tg_arena_alloc(arena, 4 * strlen(text) + 1, 1), *o = out; /* at most 4 characters a digit */
  bool inside = false;
  for (const char *p = text; *p;) {
    if (*p == '[') inside = holds_sizes(text, p);
    if (*p == ']') inside = false;
    char *end = NULL;
    if (inside && isdigit((unsigned char)*p)) {
      o += sprintf(o, "%ld", other_size(&s, strtol(p, &end, 10)));
      p = end;
    } else {
      *o++ = *p++;
    }
  }
  *o = 0;
  return out;
}
