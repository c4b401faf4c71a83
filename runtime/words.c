#include "runtime/words.h"

#include <string.h>

void tg_words_add(tg_arena *arena, tg_words *words, const char *word) {
  TG_PUSH(arena, words->word, words->count, words->capacity, word);
}

void tg_words_append(tg_arena *arena, tg_words *words, const tg_words *more) {
  for (size_t i = 0; i < more->count; i++) tg_words_add(arena, words, more->word[i]);
}

bool tg_words_have(const tg_words *words, const char *word) {
  for (size_t i = 0; i < words->count; i++)
    if (!strcmp(words->word[i], word)) return true;
  return false;
}

static const char *quoted(tg_arena *arena, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:{}@%";
  if (*word && !word[strspn(word, plain)]) return word;
  size_t length = strlen(word), at = 0;
  char *text = TG_NEW_ARRAY(arena, char, 4 * length + 3);
  text[at++] = '\'';
  for (; *word; word++)
    for (const char *c = *word == '\'' ? "'\\''" : (const char[]){*word, 0}; *c; c++) text[at++] = *c;
  text[at] = '\'';
  return text;
}

const char *tg_words_line(tg_arena *arena, const tg_words *words) {
  const char *line = "";
  for (size_t i = 0; i < words->count; i++)
    line = tg_arena_printf(arena, "%s%s%s", line, i ? " " : "", quoted(arena, words->word[i]));
  return line;
}

char tg_words_split(tg_arena *arena, const char *text, tg_words *words) {
  char *word = TG_NEW_ARRAY(arena, char, strlen(text) + 1);
  size_t length = 0;
  char quote = 0;
  bool open = false; /* a word, perhaps an empty one in quotes */
  for (const char *c = text;; c++) {
    bool blank = !quote && strchr(" \t\n", *c); /* the end too */
    if (!*c && quote) return quote;
    if (blank && open) tg_words_add(arena, words, tg_arena_strndup(arena, word, length));
    if (blank) length = 0, open = false;
    if (!*c) return 0;
    if (blank) continue;
    open = true;
    if (quote ? *c == quote : *c == '\'' || *c == '"')
      quote = quote ? 0 : *c;
    else if (*c == '\\' && quote != '\'' && c[1])
      word[length++] = *++c;
    else
      word[length++] = *c;
  }
}
