#include "frontend/base/hash.h"

#include <string.h>

#define XXH_INLINE_ALL /* the state's layout is this header's, whatever library is installed where we run */
#include <xxhash.h>

_Static_assert(sizeof(tg_hasher) == sizeof(XXH3_state_t), "a hasher has room for xxHash's state");

uint64_t tg_hash(const void *data, size_t size) { return XXH3_64bits(data, size); }
uint64_t tg_hash_text(const char *text) { return tg_hash(text, strlen(text)); }

static XXH3_state_t *state_of(tg_hasher *hasher) { return (XXH3_state_t *)(void *)hasher->state; }

void tg_hasher_start(tg_hasher *hasher) {
  memset(hasher, 0, sizeof *hasher);
  XXH3_64bits_reset(state_of(hasher));
}

void tg_hasher_add(tg_hasher *hasher, const void *data, size_t size) {
  XXH3_64bits_update(state_of(hasher), data, size);
}

uint64_t tg_hasher_sum(const tg_hasher *hasher) {
  return XXH3_64bits_digest((const XXH3_state_t *)(const void *)hasher->state);
}
