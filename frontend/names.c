#include "frontend/names.h"
#include "frontend/base/hash.h"

#include <stdint.h>
#include <string.h>

typedef struct entry {
  const char *name; /* NULL: free. It stays when removed, so that probing goes on */
  void *owner;      /* NULL: removed */
  uint64_t hash;
  uint64_t suffix; /* the next suffix to try for this name */
} entry;

struct tg_name_set {
  tg_arena *arena;
  entry *entries;
  size_t capacity, used; /* capacity is a power of two */
};

tg_name_set *tg_name_set_create(tg_arena *arena) {
  tg_name_set *set = TG_NEW(arena, tg_name_set);
  *set = (tg_name_set){arena, TG_NEW_ARRAY(arena, entry, 64), 64, 0};
  return set;
}

static entry *probe(entry *entries, size_t capacity, const char *name, uint64_t hash) {
  size_t at = hash & (capacity - 1);
  while (entries[at].name && (entries[at].hash != hash || strcmp(entries[at].name, name)))
    at = (at + 1) & (capacity - 1);
  return &entries[at];
}

static void grow(tg_name_set *set) {
  size_t capacity = set->capacity * 2;
  entry *entries = TG_NEW_ARRAY(set->arena, entry, capacity);
  for (size_t i = 0; i < set->capacity; i++)
    if (set->entries[i].name)
      *probe(entries, capacity, set->entries[i].name, set->entries[i].hash) = set->entries[i];
  set->entries = entries;
  set->capacity = capacity;
}

const char *tg_name_set_add(tg_name_set *set, const char *name, void *owner) {
  if (set->used * 2 >= set->capacity) grow(set);
  uint64_t hash = tg_hash_text(name);
  entry *e = probe(set->entries, set->capacity, name, hash);
  if (e->name && e->owner) return NULL;
  if (!e->name) {
    *e = (entry){tg_arena_strdup(set->arena, name), NULL, hash, 1};
    set->used++;
  }
  e->owner = owner;
  return e->name;
}

const char *tg_name_set_add_fresh(tg_name_set *set, const char *name, void *owner) {
  const char *added = tg_name_set_add(set, name, owner);
  while (!added) {
    entry *e = probe(set->entries, set->capacity, name, tg_hash_text(name));
    added = tg_name_set_add(
        set, tg_arena_printf(set->arena, "%s_%llu", name, (unsigned long long)e->suffix++), owner);
  }
  return added;
}

void tg_name_set_remove(tg_name_set *set, const char *name) {
  entry *e = probe(set->entries, set->capacity, name, tg_hash_text(name));
  if (e->name) e->owner = NULL;
}

void *tg_name_set_find(const tg_name_set *set, const char *name) {
  return probe(set->entries, set->capacity, name, tg_hash_text(name))->owner;
}
