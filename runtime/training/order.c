#include "runtime/training/order.h"

#include <assert.h>
#include <string.h>

void tg_order_begin(tg_order *order, int64_t rows, int64_t batch) {
  *order = (tg_order){.rows = rows, .batch = batch, .epoch = -1};
}

void tg_order_shuffle(tg_order *order, uint64_t seed, tg_arena *arena) {
  order->shuffled = true;
  order->seed = seed;
  order->permutation = TG_NEW_ARRAY(arena, int64_t, (size_t)order->rows);
}

void tg_order_fix(tg_order *order, const int64_t *indices, int64_t steps) {
  order->fixed = indices;
  order->fixed_steps = steps;
}

/* splitmix64 */
static uint64_t draw(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Uniform in [0, count): draws that would favour small numbers are thrown away. */
static uint64_t draw_below(uint64_t *state, uint64_t count) {
  uint64_t limit = UINT64_MAX - UINT64_MAX % count, number = draw(state);
  while (number >= limit) number = draw(state);
  return number % count;
}

static void permute(tg_order *order, int64_t epoch) {
  if (order->epoch == epoch) return;
  uint64_t mixed = order->seed, state = draw(&mixed) ^ (uint64_t)epoch * 0xd1342543de82ef95u;
  for (int64_t i = 0; i < order->rows; i++) order->permutation[i] = i;
  for (int64_t i = order->rows - 1; i > 0; i--) {
    int64_t other = (int64_t)draw_below(&state, (uint64_t)i + 1), kept = order->permutation[i];
    order->permutation[i] = order->permutation[other];
    order->permutation[other] = kept;
  }
  order->epoch = epoch;
}

void tg_order_rows(tg_order *order, int64_t step, int64_t *out_rows) {
  if (order->fixed) {
    assert(step < order->fixed_steps);
    memcpy(out_rows, order->fixed + step * order->batch, (size_t)order->batch * sizeof *out_rows);
    return;
  }
  int64_t steps = order->rows / order->batch, first = step % steps * order->batch;
  if (order->shuffled) permute(order, step / steps);
  for (int64_t i = 0; i < order->batch; i++)
    out_rows[i] = order->shuffled ? order->permutation[first + i] : first + i;
}
