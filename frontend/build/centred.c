#include "frontend/build/centred.h"

void tg_centred_note(tg_build *b, const tg_value *x, unsigned axes) {
  tg_centred centred = {x, axes};
  if (axes) TG_PUSH(b->graph->arena, b->centred, b->centred_count, b->centred_capacity, centred);
}

/* 0: nothing is known. */
static unsigned axes_of(const tg_build *b, const tg_value *x) {
  for (size_t i = 0; i < b->centred_count; i++)
    if (b->centred[i].value == x) return b->centred[i].axes;
  return 0;
}

/* Dimensions of one element count for any side. */
static unsigned single_axes(const tg_value *x) {
  unsigned axes = 0;
  for (int i = 0; i < x->rank; i++) axes |= (unsigned)(x->dims[i].size == 1) << i;
  return axes;
}

bool tg_centred_sums_to_zero(const tg_build *b, const tg_value *x, unsigned axes) {
  unsigned centred = axes_of(b, x);
  return centred && !(centred & ~(axes | single_axes(x)));
}

/* Goes over the smallest groups of dimensions that become each other: all of a group is centred, or none. */
void tg_centred_reshaped(tg_build *b, const tg_value *x, const tg_value *y) {
  unsigned axes = axes_of(b, x), single = single_axes(x), out = 0;
  if (!axes || x == y) return;
  for (int i = 0, j = 0; i < x->rank && j < y->rank;) {
    int64_t p = x->dims[i].size, q = y->dims[j].size;
    unsigned from = 1u << i++, to = 1u << j++;
    while (p != q)
      if (p < q)
        p *= x->dims[i].size, from |= 1u << i++;
      else
        q *= y->dims[j].size, to |= 1u << j++;
    from &= ~single;
    if ((from & axes) == from)
      out |= to;
    else if (from & axes)
      return;
  }
  tg_centred_note(b, y, out);
}

void tg_centred_transposed(tg_build *b, const tg_value *x, const int64_t *perm, const tg_value *y) {
  unsigned axes = axes_of(b, x), out = 0;
  for (int i = 0; axes && x != y && i < y->rank; i++) out |= (axes >> perm[i] & 1) << i;
  tg_centred_note(b, y, out);
}

void tg_centred_cast(tg_build *b, const tg_value *x, const tg_value *y) {
  if (x != y) tg_centred_note(b, y, axes_of(b, x));
}
