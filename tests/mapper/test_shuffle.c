/* Shuffles of runs: every vector's lanes, for every number of lanes and runs, against where each element belongs; and
 * how many operations they take. */
#include "mapper/vector/shuffle.h"
#include "tests/harness.h"

#include <stdio.h>

enum { MOST_LANES = 32, MOST_REGISTERS = 512 };

typedef struct machine {
  int lanes;
  uint32_t registers[MOST_REGISTERS][MOST_LANES];
} machine;

static uint32_t read_lane(const machine *x, const tg_mc *mc, tg_mc_ref ref, int lane) {
  if (ref == TG_MC_NONE) return 0;
  return ref < 0 ? mc->constants[-1 - ref] : x->registers[ref][lane];
}

/* The operations that occur here, as sim/machine/alu.def has them; tail_n is 1. */
static uint32_t apply(const machine *x, const tg_mc *mc, const tg_mc_op *op, int lane) {
  uint32_t a = read_lane(x, mc, op->a[0], lane), b = read_lane(x, mc, op->a[1], lane),
           c = read_lane(x, mc, op->a[2], lane);
  switch (op->alu) {
  case TG_ALU_tail: return lane + op->immediate * x->lanes < 1 ? a : b;
  case TG_ALU_rot: return read_lane(x, mc, op->a[0], (lane + op->immediate) % x->lanes);
  case TG_ALU_select: return a >> 31 ? b : c;
  case TG_ALU_and: return a & b;
  case TG_ALU_or: return a | b;
  case TG_ALU_shl: return a << (b & 31);
  case TG_ALU_isub: return a - b;
  default: tg_test_fail(__FILE__, __LINE__, "operation %d", (int)op->alu); return 0;
  }
}

static void run(machine *x, const tg_mc *mc) {
  for (size_t i = 0; i < mc->count; i++) {
    const tg_mc_op *op = &mc->ops[i];
    for (int lane = 0; lane < x->lanes; lane++)
      x->registers[op->dst][lane] =
          op->kind == TG_MC_LOAD ? (uint32_t)(op->stream * x->lanes + lane) : apply(x, mc, op, lane);
  }
}

/* Returns the operations of what is repeated. */
static int check(int lanes, int runs, bool together) {
  static machine x;
  tg_arena arena = {0};
  tg_mc mc;
  tg_shuffle shuffle;
  tg_mc_ref in[TG_SHUFFLE_RUNS], out[TG_SHUFFLE_RUNS];
  if (!tg_shuffle_plan(lanes, runs, together, &shuffle)) {
    tg_test_fail(__FILE__, __LINE__, "%d runs of %d lanes are not planned", runs, lanes);
    return 0;
  }
  tg_mc_begin(&mc, &arena);
  tg_shuffle_begin(&shuffle, &mc);
  int before = tg_mc_operations(&mc), wrong = 0;
  for (int k = 0; k < runs; k++)
    in[k] = tg_mc_load(&mc, k, false); /* lane i of vector k is element k * lanes + i */
  (together ? tg_shuffle_together : tg_shuffle_apart)(&shuffle, &mc, in, out);
  x.lanes = lanes;
  run(&x, &mc);
  for (int k = 0; k < runs; k++)
    for (int i = 0; i < lanes; i++) {
      int at = k * lanes + i, of = together ? at % runs * lanes + at / runs : i * runs + k;
      wrong += x.registers[out[k]][i] != (uint32_t)of;
    }
  if (wrong || mc.overflow)
    tg_test_fail(__FILE__, __LINE__, "%d runs of %d lanes, %s: %d elements are not in their place", runs,
                 lanes, together ? "together" : "apart", wrong);
  int operations = tg_mc_operations(&mc) - before;
  tg_arena_release(&arena);
  return operations;
}

TG_TEST(shuffle, every_element_is_in_its_place) {
  for (int lanes = 4; lanes <= MOST_LANES; lanes *= 2)
    for (int runs = 2; runs <= TG_SHUFFLE_RUNS; runs++)
      for (int together = 0; together < 2; together++) {
        int one_by_one = runs * (2 * lanes - 1), operations = check(lanes, runs, together);
        if (lanes > 4 && operations >= one_by_one)
          tg_test_fail(__FILE__, __LINE__, "%d runs of %d lanes take %d operations, one by one %d", runs,
                       lanes, operations, one_by_one);
      }
}

/* Three channels of 16 lanes: three steps of each vector, two rotations, two choices a result. */
TG_TEST(shuffle, three_channels_take_26_operations) {
  EXPECT_EQ(check(16, 3, true), 26);
  EXPECT_EQ(check(16, 3, false), 26);
}

TG_TEST(shuffle, what_is_no_shuffle_is_not_planned) {
  tg_shuffle shuffle;
  EXPECT(!tg_shuffle_plan(16, 1, true, &shuffle));
  EXPECT(!tg_shuffle_plan(16, TG_SHUFFLE_RUNS + 1, true, &shuffle));
  EXPECT(!tg_shuffle_plan(2, 4, true, &shuffle));
}
