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
