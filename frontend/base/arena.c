#include "frontend/base/arena.h"

#include "frontend/base/status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64, BLOCK = 1 << 16, HUGE = 1 << 21 /* bytes */ };

struct tg_arena_block {
  struct tg_arena_block *next;
  void *memory; /* that it lies in, to be freed */
  size_t capacity, used;
  char padding[ALIGN - 2 * sizeof(void *) - 2 * sizeof(size_t)];
};

void tg_arena_release(tg_arena *arena) {
  for (struct tg_arena_block *b = arena->blocks, *next; b; b = next) {
    next = b->next;
    free(b->memory);
  }
  *arena = (tg_arena){0};
}

/* Zeroes throughout: calloc knows which memory is fresh from the system and need not be written once more. */
static struct tg_arena_block *new_block(size_t bytes) {
  size_t capacity = bytes > BLOCK ? bytes : BLOCK, align = capacity < HUGE ? ALIGN : HUGE;
  size_t size = (sizeof(struct tg_arena_block) + capacity + align - 1) / align * align;
  char *memory = calloc(1, size + align);
  if (!memory) tg_die("out of memory (%zu bytes)", bytes);
  struct tg_arena_block *b = (void *)(memory + (align - (uintptr_t)memory % align) % align);
  if (capacity >= HUGE) (void)madvise(b, size, MADV_HUGEPAGE); /* a page fault for 2 MB, not for each 4 KB */
  *b = (struct tg_arena_block){.memory = memory, .capacity = capacity};
  return b;
}

void *tg_arena_alloc(tg_arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
    tg_die("out of memory (%zu x %zu bytes)", count, size);
  bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  struct tg_arena_block *b = arena->blocks;
  if (!b || b->capacity - b->used < bytes) {
    struct tg_arena_block *fresh = new_block(bytes);
    if (b && fresh->capacity > BLOCK) { /* keep filling the current block after one large allocation */
      fresh->next = b->next;
      b->next = fresh;
    } else {
      fresh->next = b;
      arena->blocks = fresh;
    }
    b = fresh;
  }
  void *p = (char *)(b + 1) + b->used;
  b->used += bytes;
  arena->used += bytes;
  return p;
}

char *tg_arena_strndup(tg_arena *arena, const char *text, size_t length) {
  char *copy = tg_arena_alloc(arena, length + 1, 1);
  if (length) memcpy(copy, text, length); /* NULL may be an empty text */
  return copy;
}

char *tg_arena_strdup(tg_arena *arena, const char *text) {
  return tg_arena_strndup(arena, text, strlen(text));
}

char *tg_arena_printf(tg_arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  size_t length = n < 0 ? 0 : (size_t)n;
  char *text = tg_arena_alloc(arena, length + 1, 1);
  vsnprintf(text, length + 1, format, again);
  va_end(again);
  return text;
}

void *tg_arena_grow(tg_arena *arena, void *array, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return array;
  size_t larger = *capacity ? *capacity * 2 : 8;
  void *fresh = tg_arena_alloc(arena, larger, size);
  if (count) memcpy(fresh, array, count * size);
  *capacity = larger;
  return fresh;
}
