#include "mapper/fusion/fusion.h"

static bool merge_backwards(tg_compile *c, size_t b, size_t window, tg_merge_pair *merge) {
  for (size_t a = b, from = b > window ? b - window : 0; a-- > from;)
    if (merge(c, a, b)) return true;
  return false;
}

tg_status tg_merge_pairs(tg_compile *c, size_t window, tg_merge_pair *merge) {
  for (size_t b = 0; b < c->kernel_count;)
    if (merge_backwards(c, b, window, merge))
      b -= b > 0;
    else
      b++;
  return TG_OK;
}
