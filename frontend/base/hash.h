/* One hash for all that tells whether bytes changed (files, digests of outputs and data) and for tables: XXH3 of
 * xxHash, 64 bits. It detects damage and change, not malice. Results depend on the bytes alone, not on how
 * they are cut into parts. */
#ifndef TEGULA_FRONTEND_BASE_HASH_H
#define TEGULA_FRONTEND_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Of `size` bytes. */
uint64_t tg_hash(const void *data, size_t size);
uint64_t tg_hash_text(const char *text);

/* A part at a time. The hasher owns nothing and may live on the stack; XXH3's state, whose alignment it needs. */
typedef struct tg_hasher {
  _Alignas(64) unsigned char state[576];
} tg_hasher;

void tg_hasher_start(tg_hasher *hasher);
void tg_hasher_add(tg_hasher *hasher, const void *data, size_t size);
/* Of all that was added; more may follow. */
uint64_t tg_hasher_sum(const tg_hasher *hasher);

#endif
