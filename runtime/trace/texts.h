/* Texts that have numbers from 1 on, in the order in which they come. */
#ifndef TEGULA_RUNTIME_TRACE_TEXTS_H
#define TEGULA_RUNTIME_TRACE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tg_numbered {
  char *text; /* owned; NULL: a free slot */
  uint64_t hash, iid;
} tg_numbered;

typedef struct tg_texts {
  tg_numbered *slots; /* a power of two of them, at most half of them in use */
  size_t capacity, count;
} tg_texts;

/* The entry of a text, whether it was there or not; until the next one is entered. */
const tg_numbered *tg_texts_enter(tg_texts *t, const char *text, bool *out_new);
void tg_texts_release(tg_texts *t);

#endif
