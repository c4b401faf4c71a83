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
