/* The words of a command line. */
#ifndef TEGULA_RUNTIME_WORDS_H
#define TEGULA_RUNTIME_WORDS_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tg_words {
  const char **word;
  size_t count, capacity;
} tg_words;

/* The word is not copied. */
void tg_words_add(tg_arena *arena, tg_words *words, const char *word);
void tg_words_append(tg_arena *arena, tg_words *words, const tg_words *more);
bool tg_words_have(const tg_words *words, const char *word);
/* The words as a shell would read them, quoted where it matters. On the arena. */
const char *tg_words_line(tg_arena *arena, const tg_words *words);
/* Adds the words of a text as a shell would split it: blanks, '...', "...", backslashes. Returns 0, or the quote
 * that is not closed. */
char tg_words_split(tg_arena *arena, const char *text, tg_words *words);

#endif
