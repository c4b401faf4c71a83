/* Arena: memory of one lifetime, released at once. One per compilation, one per pass for scratch. */
#ifndef TEGULA_BASE_ARENA_H
#define TEGULA_BASE_ARENA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_arena {
  struct tg_arena_block *blocks; /* newest first */
  size_t used;                   /* bytes handed out, for reports */
  struct tg_arena *whole;        /* that its blocks come from and go back to; NULL: the system */
  struct tg_arena_block *spare;  /* that others within this one gave back, zeroed */
} tg_arena;

/* A zeroed tg_arena is empty and ready. Not thread-safe. */
void tg_arena_release(tg_arena *arena);

/* An empty arena whose memory goes back to `whole`, for others within it, not to the system: for what is made and
 * thrown away again and again. It is released before `whole` is, which may be within another one itself. */
tg_arena tg_arena_within(tg_arena *whole);

/* `count * size` zeroed bytes aligned to 64; never NULL: ends the process with one line when the host has no
 * more memory or the product overflows. count == 0 gives a valid pointer that must not be dereferenced. */
void *tg_arena_alloc(tg_arena *arena, size_t count, size_t size);

/* Copies; the result is NUL-terminated. */
char *tg_arena_strdup(tg_arena *arena, const char *text);
char *tg_arena_strndup(tg_arena *arena, const char *text, size_t length);
char *tg_arena_printf(tg_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define TG_NEW(arena, type)              ((type *)tg_arena_alloc((arena), 1, sizeof(type)))
#define TG_NEW_ARRAY(arena, type, count) ((type *)tg_arena_alloc((arena), (count), sizeof(type)))

/* Grows `*array` (element size `size`, `count` in use, `*capacity` allocated) for one more element, on the
 * arena. */
void *tg_arena_grow(tg_arena *arena, void *array, size_t count, size_t *capacity, size_t size);
#define TG_PUSH(arena, array, count, capacity, value)                                                        \
  do {                                                                                                       \
    (array) = tg_arena_grow((arena), (array), (count), &(capacity), sizeof *(array));                        \
    (array)[(count)++] = (value);                                                                            \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
