#include "frontend/base/arena.h"
#include "tests/harness.h"

TG_TEST(arena, keeps_small_and_large_blocks_apart_and_zeroed) {
  tg_arena arena = {0};
  unsigned char *last = NULL;
  for (int i = 0; i < 1000; i++) {
    size_t n = i % 7 ? 100 : 200000;
    unsigned char *p = tg_arena_alloc(&arena, n, 1);
    EXPECT(p != last && ((uintptr_t)p & 63) == 0);
    for (size_t k = 0; k < n; k += 99) EXPECT_EQ(p[k], 0);
    memset(p, 0xff, n);
    last = p;
  }
  tg_arena_release(&arena);
  EXPECT_EQ(arena.used, 0);
}

TG_TEST(arena, push_keeps_what_was_pushed) {
  tg_arena arena = {0};
  int *list = NULL;
  size_t count = 0, capacity = 0;
  for (int i = 0; i < 1000; i++) TG_PUSH(&arena, list, count, capacity, i);
  EXPECT_EQ(count, 1000);
  for (int i = 0; i < 1000; i++) EXPECT_EQ(list[i], i);
  tg_arena_release(&arena);
}

TG_TEST(arena, memory_within_another_comes_back_zeroed) {
  tg_arena whole = {0};
  const void *first[2] = {NULL, NULL};
  for (int round = 0; round < 4; round++) {
    tg_arena inner = tg_arena_within(&whole), innermost = tg_arena_within(&inner);
    unsigned char *small = tg_arena_alloc(&inner, 100, 1), *large = tg_arena_alloc(&innermost, 200000, 1);
    for (int i = 0; i < 100; i++) EXPECT_EQ(small[i], 0);
    for (int i = 0; i < 200000; i += 97) EXPECT_EQ(large[i], 0);
    if (!round) first[0] = small, first[1] = large;
    EXPECT(small == first[0] && large == first[1]); /* the smallest block that is large enough */
    memset(small, 0xff, 100);
    memset(large, 0xff, 200000);
    tg_arena_release(&innermost);
    tg_arena_release(&inner);
  }
  tg_arena_release(&whole);
}
