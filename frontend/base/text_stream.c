#include "frontend/base/text_stream.h"

#include "frontend/base/status.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* open_memstream does not tell, not even ferror, when it finds no memory in between. */
static ssize_t add(void *cookie, const char *bytes, size_t count) {
  tg_text_stream *text = cookie;
  if (text->size + count >= text->capacity) {
    size_t capacity = 2 * (text->size + count) + 256;
    char *larger = realloc(text->text, capacity);
    text->lost = text->lost || !larger;
    if (text->lost) return 0;
    text->text = larger;
    text->capacity = capacity;
  }
  memcpy(text->text + text->size, bytes, count);
  text->size += count;
  text->text[text->size] = 0;
  return (ssize_t)count;
}

FILE *tg_text_begin(tg_text_stream *text) {
  *text = (tg_text_stream){0};
  text->stream = fopencookie(text, "w", (cookie_io_functions_t){.write = add});
  if (!text->stream) tg_die("out of memory");
  return text->stream;
}

void tg_text_flush(tg_text_stream *text) {
  if (fflush(text->stream) || ferror(text->stream)) text->lost = true;
  if (!text->lost && !text->text) (void)add(text, "", 0); /* nothing was printed */
  if (text->lost) tg_die("out of memory (%zu bytes of text)", text->size);
}

char *tg_text_end(tg_text_stream *text) {
  tg_text_flush(text);
  (void)fclose(text->stream);
  text->stream = NULL;
  return text->text;
}

char *tg_text_end_on(tg_text_stream *text, tg_arena *arena) {
  tg_text_end(text);
  char *copy = tg_arena_strndup(arena, text->text, text->size);
  free(text->text);
  return copy;
}
