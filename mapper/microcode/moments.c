/* Distances are from the mean of a few elements of the block, which one pass knows when it begins: of n
 * elements the mean of k is so near that of all that the sum of squares is at most n / k times that of the
 * distances from the mean of all, which is what is left. */
#include "mapper/microcode/moments.h"

int tg_moment_first(int64_t count) { return count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1; }

static tg_mc_ref sum(tg_mc *mc, tg_mc_ref a, tg_mc_ref b) {
  return tg_mc_alu(mc, TG_ALU_add, a, b, TG_MC_NONE);
}

static tg_mc_ref pivot_of(tg_mc *mc, const tg_mc_ref *x, int count) {
  if (count == 1) return x[0];
  tg_mc_ref all = sum(mc, x[0], x[1]);
  if (count == 4) all = sum(mc, all, sum(mc, x[2], x[3]));
  return tg_mc_alu(mc, TG_ALU_mul, all, tg_mc_const(mc, 1.0f / (float)count), TG_MC_NONE);
}

static tg_mc_ref held(tg_mc *mc, tg_mc_ref value) {
  tg_mc_ref made = tg_mc_new(mc);
  tg_mc_assign(mc, made, TG_ALU_mov, value, TG_MC_NONE, TG_MC_NONE);
  return made;
}

tg_moment tg_moment_begin(tg_mc *mc, const tg_mc_ref *first, int64_t count) {
  tg_mc_ref zero = tg_mc_const(mc, 0);
  return (tg_moment){pivot_of(mc, first, tg_moment_first(count)), held(mc, zero), held(mc, zero)};
}

void tg_moment_add_distance(tg_mc *mc, const tg_moment *m, tg_mc_ref x, tg_mc_ref distance) {
  tg_mc_assign(mc, distance, TG_ALU_sub, x, m->pivot, TG_MC_NONE);
  tg_mc_assign(mc, m->sum, TG_ALU_add, m->sum, distance, TG_MC_NONE);
}

void tg_moment_add_square(tg_mc *mc, const tg_moment *m, tg_mc_ref distance) {
  tg_mc_assign(mc, m->squares, TG_ALU_fma, distance, distance, m->squares);
}

void tg_moment_add(tg_mc *mc, const tg_moment *m, tg_mc_ref x) {
  tg_mc_ref distance = tg_mc_new(mc);
  tg_moment_add_distance(mc, m, x, distance);
  tg_moment_add_square(mc, m, distance);
}

tg_mc_ref tg_moment_end(tg_mc *mc, const tg_moment *m, const tg_node *node, int64_t count) {
  float number = (float)count;
  if (tg_attr_int(node, TG_ATTR_ORDER) == 1)
    return tg_mc_alu(mc, TG_ALU_fma, m->pivot, tg_mc_const(mc, number), m->sum);
  tg_mc_ref mean = tg_mc_alu(mc, TG_ALU_mul, m->sum, tg_mc_const(mc, -1 / number), TG_MC_NONE);
  return tg_mc_alu(mc, TG_ALU_fma, m->sum, mean, m->squares);
}
