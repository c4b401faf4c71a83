#include "frontend/base/arena.h"

#include "frontend/base/status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* With checks of addresses, what lies behind an allocation is nobody's: they see each allocation, not only blocks. */
#ifdef __SANITIZE_ADDRESS__
#define CHECKED_ADDRESSES 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define CHECKED_ADDRESSES 1
#endif
#endif

#ifdef CHECKED_ADDRESSES
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)   ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)0)
#define CHECKED_ADDRESSES                           0
#endif

enum { ALIGN = 64, BLOCK = 1 << 16, HUGE = 1 << 21 /* bytes */ };
enum { GUARD = CHECKED_ADDRESSES ? ALIGN : 0 /* bytes behind each allocation */ };

struct tg_arena_block {
  struct tg_arena_block *next;
  void *memory; /* that it lies in, to be freed */
  size_t capacity, used;
  char padding[ALIGN - 2 * sizeof(void *) - 2 * sizeof(size_t)];
};

static void free_blocks(struct tg_arena_block *blocks) {
  for (struct tg_arena_block *b = blocks, *next; b; b = next) {
    next = b->next;
    free(b->memory);
  }
}

tg_arena tg_arena_within(tg_arena *whole) { return (tg_arena){.whole = whole->whole ? whole->whole : whole}; }

void tg_arena_release(tg_arena *arena) {
  tg_arena *whole = arena->whole;
  for (struct tg_arena_block *b; whole && (b = arena->blocks);) {
    arena->blocks = b->next;
    ASAN_UNPOISON_MEMORY_REGION(b + 1, b->used);
    memset(b + 1, 0, b->used);
    ASAN_POISON_MEMORY_REGION(b + 1, b->used);
    b->used = 0;
    b->next = whole->spare;
    whole->spare = b;
  }
  free_blocks(arena->blocks);
  free_blocks(arena->spare);
  *arena = (tg_arena){.whole = whole};
}

/* The smallest of the spare ones that is large enough; NULL: there is none. */
static struct tg_arena_block *take_spare(tg_arena *whole, size_t bytes) {
  struct tg_arena_block **best = NULL;
  for (struct tg_arena_block **at = &whole->spare; *at; at = &(*at)->next)
    if ((*at)->capacity >= bytes && (!best || (*at)->capacity < (*best)->capacity)) best = at;
  if (!best) return NULL;
  struct tg_arena_block *b = *best;
  *best = b->next;
  return b;
}

/* Zeroes throughout: calloc knows which memory is fresh from the system and need not be written once more. */
static struct tg_arena_block *new_block(const tg_arena *arena, size_t bytes) {
  struct tg_arena_block *spare = arena->whole ? take_spare(arena->whole, bytes) : NULL;
  if (spare) return spare;
  size_t capacity = bytes > BLOCK ? bytes : BLOCK, align = capacity < HUGE ? ALIGN : HUGE;
  size_t size = (sizeof(struct tg_arena_block) + capacity + align - 1) / align * align;
  char *memory = calloc(1, size + align);
  if (!memory) tg_die("out of memory (%zu bytes)", bytes);
  struct tg_arena_block *b = (void *)(memory + (align - (uintptr_t)memory % align) % align);
  if (capacity >= HUGE) (void)madvise(b, size, MADV_HUGEPAGE); /* a page fault for 2 MB, not for each 4 KB */
  *b = (struct tg_arena_block){.memory = memory, .capacity = capacity};
  ASAN_POISON_MEMORY_REGION(b + 1, capacity);
  return b;
}

void *tg_arena_alloc(tg_arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
    tg_die("out of memory (%zu x %zu bytes)", count, size);
  size_t room = ((bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + GUARD;
  struct tg_arena_block *b = arena->blocks;
  if (!b || b->capacity - b->used < room) {
    struct tg_arena_block *fresh = new_block(arena, room);
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
  b->used += room;
  arena->used += room - GUARD;
  ASAN_UNPOISON_MEMORY_REGION(p, bytes);
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
