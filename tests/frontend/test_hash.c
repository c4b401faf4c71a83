/* The hash against what xxHash's own command prints (`xxhsum -H3`), and parts against wholes. */
#include "frontend/base/hash.h"
#include "tests/harness.h"

#include <string.h>

TG_TEST(hash, is_xxh3) {
  char text[1200];
  for (size_t i = 0; i < sizeof text; i++) text[i] = "tegula"[i % 6];
  EXPECT(tg_hash(NULL, 0) == 0x2d06800538d394c2u);
  EXPECT(tg_hash_text("abc") == 0x78af5f94892f3950u);
  EXPECT(tg_hash(text, sizeof text) == 0x6c0db733e6e5e0e7u);
}

TG_TEST(hash, does_not_depend_on_parts) {
  char text[3000];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * i >> 3);
  uint64_t whole = tg_hash(text, sizeof text);
  for (size_t part = 1; part <= sizeof text; part += 1 + part / 3) {
    tg_hasher hasher;
    tg_hasher_start(&hasher);
    for (size_t at = 0; at < sizeof text; at += part)
      tg_hasher_add(&hasher, text + at, part < sizeof text - at ? part : sizeof text - at);
    EXPECT(tg_hasher_sum(&hasher) == whole);
  }
}
