#include "runtime/trace/texts.h"
#include "frontend/base/hash.h"
#include "frontend/base/status.h"

#include <stdlib.h>
#include <string.h>

static void *allocated(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (!memory) tg_die("out of memory");
  return memory;
}

static tg_numbered *slot_of(const tg_texts *t, uint64_t hash, const char *text) {
  size_t at = hash & (t->capacity - 1);
  while (t->slots[at].text && (t->slots[at].hash != hash || strcmp(t->slots[at].text, text) != 0))
    at = (at + 1) & (t->capacity - 1);
  return &t->slots[at];
}

static void enlarge(tg_texts *t) {
  tg_texts old = *t;
  t->capacity = old.capacity ? 2 * old.capacity : 64;
  t->slots = allocated(t->capacity, sizeof *t->slots);
  for (size_t i = 0; i < old.capacity; i++)
    if (old.slots[i].text) *slot_of(t, old.slots[i].hash, old.slots[i].text) = old.slots[i];
  free(old.slots);
}

const tg_numbered *tg_texts_enter(tg_texts *t, const char *text, bool *out_new) {
  if (2 * t->count >= t->capacity) enlarge(t);
  uint64_t hash = tg_hash_text(text);
  tg_numbered *slot = slot_of(t, hash, text);
  *out_new = !slot->text;
  if (*out_new) {
    size_t size = strlen(text) + 1;
    *slot = (tg_numbered){memcpy(allocated(size, 1), text, size), hash, ++t->count};
  }
  return slot;
}

void tg_texts_release(tg_texts *t) {
  for (size_t i = 0; i < t->capacity; i++) free(t->slots[i].text);
  free(t->slots);
}
