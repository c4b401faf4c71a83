#include "runtime/json_text.h"
#include "frontend/base/status.h"

#include <stdlib.h>
#include <string.h>

json_t *tg_json_text(const char *bytes) {
  json_t *string = json_string(bytes);
  if (string) return string;
  char *copy = strdup(bytes);
  if (!copy) tg_die("out of memory");
  for (char *c = copy; *c; c++)
    if (*c & 0x80) *c = '?';
  string = json_string(copy);
  free(copy);
  return string;
}

static void *json_memory(size_t size) {
  void *memory = malloc(size ? size : 1);
  if (!memory) tg_die("out of memory (%zu bytes)", size);
  return memory;
}

void tg_json_needs_memory(void) {
  json_malloc_t allocate;
  json_free_t release;
  json_get_alloc_funcs(&allocate, &release);
  if (allocate == malloc) json_set_alloc_funcs(json_memory, free);
}
