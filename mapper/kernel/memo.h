/* Answers that a compilation has found, by what they follow from: bytes, all of them. */
#ifndef TEGULA_MAPPER_KERNEL_MEMO_H
#define TEGULA_MAPPER_KERNEL_MEMO_H

#include "frontend/base/arena.h"

typedef struct tg_memo tg_memo;

tg_memo *tg_memo_new(tg_arena *arena);
/* The answer; NULL: there is none yet. */
const void *tg_memo_find(const tg_memo *memo, const void *key, size_t size);
/* Keeps copies of both; the answer takes the place of one that it has for that key. */
void tg_memo_add(tg_memo *memo, const void *key, size_t size, const void *answer, size_t answer_size);

#endif
