/* A permutation of lanes takes a rotation and a choice for each of its steps, in each of which whole classes of lanes
 * move by one distance: log2 of the lanes for a multiplication of their numbers, as of a perfect shuffle. */
#include "mapper/vector/shuffle.h"

#include <assert.h>

static void add_step(tg_shuffle *s, tg_shuffle_step step) {
  assert(s->step_count < TG_SHUFFLE_STEPS);
  if (step.moves) s->steps[s->step_count++] = step;
}

static int bits_of(int power) {
  int bits = 0;
  while (1 << bits < power) bits++;
  return bits;
}

/* Lanes whose numbers have bit `low` but not `high` change places with those that have `high` but not `low`. */
static tg_shuffle_step exchange(int lanes, int low, int high) {
  int distance = (1 << high) - (1 << low);
  tg_shuffle_step step = {.from = {lanes - distance, distance}, .moves = 2};
  for (int i = 0; i < lanes; i++) {
    bool has_low = i >> low & 1, has_high = i >> high & 1;
    if (has_high && !has_low) step.lanes[0] |= 1u << i;
    if (has_low && !has_high) step.lanes[1] |= 1u << i;
  }
  return step;
}

/* Lane (run, element) becomes lane (element, run): the bits of a lane's number are rotated. */
static void plan_granules(tg_shuffle *s) {
  int bits = bits_of(s->lanes), by = bits_of(s->even), now[5] = {0, 1, 2, 3, 4};
  for (int b = 0; b < bits; b++) {
    int wanted = (b - by + bits) % bits, at = b;
    while (now[at] != wanted) at++;
    if (at == b) continue;
    add_step(s, exchange(s->lanes, b, at));
    now[at] = now[b];
    now[b] = wanted;
  }
}

/* Granule g goes to place by * g: for each bit of g, from the lowest, all granules that have it move by (by - 1) times its
 * value. As `by` is odd, that is a multiple of twice its value, so classes modulo this move as a whole. */
static void plan_places(tg_shuffle *s, int by) {
  for (int bit = 1; bit < s->part; bit *= 2) {
    int distance = (by - 1) * bit % s->part;
    tg_shuffle_step step = {.from = {s->lanes - distance * s->even}, .moves = distance != 0};
    for (int g = 0; g < s->part; g++) {
      int place = (g + (by - 1) * (g % (2 * bit))) % s->part;
      if (g & bit) step.lanes[0] |= ((1u << s->even) - 1) << place * s->even;
    }
    add_step(s, step);
  }
}

static int inverse_of(int odd, int modulus) {
  int inverse = 1;
  while (odd * inverse % modulus != 1 % modulus) inverse += 2;
  return inverse;
}

/* Lanes of vector 0 of `odd` that hold granules of the shared vector `c` then. Vector w has those of vector 0 that are
 * w * part granules further. */
static uint32_t lanes_of(const tg_shuffle *s, int c) {
  uint32_t lanes = 0;
  for (int i = 0; i < s->lanes; i++)
    if (i / s->even % s->odd == c) lanes |= 1u << i;
  return lanes;
}

/* Lanes of part `k` of a vector. */
static uint32_t lanes_of_part(const tg_shuffle *s, int k) {
  return (uint32_t)(((UINT64_C(1) << s->part) - 1) << k * s->part);
}

static void need_mask(tg_shuffle *s, uint32_t bits) {
  for (int k = 0; k < s->mask_count; k++)
    if (s->bits[k] == bits) return;
  assert(s->mask_count < TG_SHUFFLE_MASKS);
  s->bits[s->mask_count++] = bits;
}

bool tg_shuffle_plan(int lanes, int runs, bool together, tg_shuffle *out) {
  *out = (tg_shuffle){.lanes = lanes, .runs = runs, .odd = runs, .even = 1};
  for (; out->odd % 2 == 0; out->odd /= 2) out->even *= 2;
  if (runs < 2 || runs > TG_SHUFFLE_RUNS || lanes > 32 || out->even > lanes) return false;
  out->part = lanes / out->even;
  if (together) plan_granules(out);
  plan_places(out, together ? out->odd : inverse_of(out->odd, out->part));
  if (!together) {
    int places = out->step_count;
    plan_granules(out);
    for (int a = places, b = out->step_count - 1; a < b; a++, b--) { /* exchanges undo themselves */
      tg_shuffle_step step = out->steps[a];
      out->steps[a] = out->steps[b];
      out->steps[b] = step;
    }
  }
  for (int k = 0; k < out->step_count; k++)
    for (int move = 0; move < out->steps[k].moves; move++) need_mask(out, out->steps[k].lanes[move]);
  for (int c = 0; c + 1 < out->odd; c++) need_mask(out, lanes_of(out, c));
  for (int k = 0; k + 1 < out->even; k++) need_mask(out, lanes_of_part(out, k));
  return true;
}

/* ---- microcode ---- */

void tg_shuffle_begin(tg_shuffle *s, tg_mc *mc) {
  tg_mc_ref zero = tg_mc_bits(mc, 0), own = tg_mc_alu_imm(mc, TG_ALU_tail, tg_mc_bits(mc, 1), zero, 0);
  for (int by = 1; by < s->lanes; by *= 2) { /* lane i has bit i */
    tg_mc_ref moved = tg_mc_alu_imm(mc, TG_ALU_rot, own, TG_MC_NONE, s->lanes - by);
    own = tg_mc_alu(mc, TG_ALU_or, own,
                    tg_mc_alu(mc, TG_ALU_shl, moved, tg_mc_bits(mc, (uint32_t)by), TG_MC_NONE), TG_MC_NONE);
  }
  for (int k = 0; k < s->mask_count; k++) /* a number below 0 where the bit is set */
    s->masks[k] =
        tg_mc_alu(mc, TG_ALU_isub, zero,
                  tg_mc_alu(mc, TG_ALU_and, own, tg_mc_bits(mc, s->bits[k]), TG_MC_NONE), TG_MC_NONE);
}

static tg_mc_ref choose(const tg_shuffle *s, tg_mc *mc, uint32_t lanes, tg_mc_ref these, tg_mc_ref others) {
  int k = 0;
  while (s->bits[k] != lanes) k++;
  return tg_mc_alu(mc, TG_ALU_select, s->masks[k], these, others);
}

/* Lane i gets lane i + from. */
static tg_mc_ref rotate(const tg_shuffle *s, tg_mc *mc, tg_mc_ref x, int from) {
  from = (from % s->lanes + s->lanes) % s->lanes;
  return from ? tg_mc_alu_imm(mc, TG_ALU_rot, x, TG_MC_NONE, from) : x;
}

static tg_mc_ref permute(const tg_shuffle *s, tg_mc *mc, tg_mc_ref x) {
  for (int k = 0; k < s->step_count; k++) {
    tg_mc_ref from = x;
    for (int move = 0; move < s->steps[k].moves; move++)
      x = choose(s, mc, s->steps[k].lanes[move], rotate(s, mc, from, s->steps[k].from[move]), x);
  }
  return x;
}

/* Of vectors number 0 to odd - 1 the lanes that belong together: of vector k those of class (k * step + first) mod odd. */
static tg_mc_ref gather(const tg_shuffle *s, tg_mc *mc, const tg_mc_ref *vectors, int first, int step) {
  tg_mc_ref all = TG_MC_NONE;
  for (int c = s->odd - 1; c >= 0; c--)
    for (int k = 0; k < s->odd; k++) {
      if ((k * step + first) % s->odd != c) continue;
      all = all == TG_MC_NONE ? vectors[k] : choose(s, mc, lanes_of(s, c), vectors[k], all);
    }
  return all;
}

/* Part k of result is part `part` of vector k, or the other way. */
static tg_mc_ref gather_parts(const tg_shuffle *s, tg_mc *mc, const tg_mc_ref *vectors, int stride,
                              int part) {
  tg_mc_ref all = TG_MC_NONE;
  for (int k = s->even - 1; k >= 0; k--) {
    tg_mc_ref one = rotate(s, mc, vectors[k * stride], (part - k) * s->part);
    all = all == TG_MC_NONE ? one : choose(s, mc, lanes_of_part(s, k), one, all);
  }
  return all;
}

void tg_shuffle_together(const tg_shuffle *s, tg_mc *mc, const tg_mc_ref *sources, tg_mc_ref *out) {
  tg_mc_ref placed[TG_SHUFFLE_RUNS];
  for (int part = 0; part < s->even; part++) {
    for (int c = 0; c < s->odd; c++) {
      tg_mc_ref shared = gather_parts(s, mc, &sources[c * s->even], 1, part);
      placed[c] = rotate(s, mc, permute(s, mc, shared), -c * s->even);
    }
    /* granule i of vector w is number w * part + i of all, which is of shared vector (w * part + i) mod odd */
    for (int w = 0; w < s->odd; w++)
      out[part * s->odd + w] = gather(s, mc, placed, (s->odd - w * s->part % s->odd) % s->odd, 1);
  }
}

void tg_shuffle_apart(const tg_shuffle *s, tg_mc *mc, const tg_mc_ref *sources, tg_mc_ref *out) {
  tg_mc_ref shared[TG_SHUFFLE_RUNS];
  for (int part = 0; part < s->even; part++)
    for (int c = 0; c < s->odd; c++) {
      tg_mc_ref own = gather(s, mc, &sources[part * s->odd], c, s->odd - s->part % s->odd);
      shared[part * s->odd + c] = permute(s, mc, rotate(s, mc, own, c * s->even));
    }
  for (int c = 0; c < s->odd; c++)
    for (int k = 0; k < s->even; k++) out[c * s->even + k] = gather_parts(s, mc, &shared[c], s->odd, k);
}
