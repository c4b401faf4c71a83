/* Text printed into memory: nothing of it is lost in silence. */
#ifndef TEGULA_BASE_TEXT_STREAM_H
#define TEGULA_BASE_TEXT_STREAM_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stays where it is from the beginning to the end. */
typedef struct tg_text_stream {
  FILE *stream;
  char *text;  /* after the end: all of it, NUL-terminated, for free() */
  size_t size; /* bytes, without the NUL; current after tg_text_flush */
  size_t capacity;
  bool lost; /* some found no memory */
} tg_text_stream;

/* Like tg_arena_alloc, these end the process with one line when the host has no more memory. */
FILE *tg_text_begin(tg_text_stream *text);
void tg_text_flush(tg_text_stream *text);
char *tg_text_end(tg_text_stream *text);
/* The end, with the text on an arena. */
char *tg_text_end_on(tg_text_stream *text, tg_arena *arena);

#ifdef __cplusplus
}
#endif
#endif
