#include "mapper/kernel/memo.h"

#include "frontend/base/hash.h"

#include <string.h>

enum { BUCKETS = 256 };

typedef struct entry {
  struct entry *next;
  uint64_t hash;
  size_t size;
  const void *key, *answer;
} entry;

struct tg_memo {
  tg_arena *arena;
  entry *buckets[BUCKETS];
};

tg_memo *tg_memo_new(tg_arena *arena) {
  tg_memo *memo = TG_NEW(arena, tg_memo);
  memo->arena = arena;
  return memo;
}

const void *tg_memo_find(const tg_memo *memo, const void *key, size_t size) {
  uint64_t hash = tg_hash(key, size);
  for (const entry *e = memo->buckets[hash % BUCKETS]; e; e = e->next)
    if (e->hash == hash && e->size == size && !memcmp(e->key, key, size)) return e->answer;
  return NULL;
}

static const void *copy_of(tg_memo *memo, const void *data, size_t size) {
  return memcpy(tg_arena_alloc(memo->arena, size, 1), data, size);
}

void tg_memo_add(tg_memo *memo, const void *key, size_t size, const void *answer, size_t answer_size) {
  uint64_t hash = tg_hash(key, size);
  entry *e = TG_NEW(memo->arena, entry), **bucket = &memo->buckets[hash % BUCKETS];
  *e = (entry){*bucket, hash, size, copy_of(memo, key, size), copy_of(memo, answer, answer_size)};
  *bucket = e;
}
