/* Comparisons with a constant that look through relus and roundings are those that they were, for every kind,
 * side and special value. */
#include "mapper/microcode/microcode.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"

enum { MOST = 64, SAMPLES = 3000 };

static uint32_t maximum(uint32_t a, uint32_t b, bool less) {
  float x = tg_bits_f32(a), y = tg_bits_f32(b);
  if (x != x || y != y) return 0x7fc00000u;
  return (less ? x < y : x > y) ? a : b;
}

/* The operations that occur here, as sim/machine/alu.def has them. */
static uint32_t apply(tg_alu alu, uint32_t a, uint32_t b) {
  float x = tg_bits_f32(a), y = tg_bits_f32(b);
  switch (alu) {
  case TG_ALU_max: return maximum(a, b, false);
  case TG_ALU_min: return maximum(a, b, true);
  case TG_ALU_rndbf16: return tg_bf16_to_f32(tg_bf16_from_f32(a));
  case TG_ALU_rndfp16: return tg_fp16_to_f32(tg_fp16_from_f32(a));
  case TG_ALU_rndtf32: return tg_tf32_from_f32(a);
  case TG_ALU_cmplt: return x < y ? UINT32_MAX : 0;
  case TG_ALU_cmple: return x <= y ? UINT32_MAX : 0;
  default: tg_test_fail(__FILE__, __LINE__, "operation %d", (int)alu); return 0;
  }
}

/* What the program stores last, of one input. */
static uint32_t run(const tg_mc *mc, uint32_t x) {
  uint32_t registers[MOST] = {0}, stored = 0;
  for (size_t i = 0; i < mc->count; i++) {
    const tg_mc_op *op = &mc->ops[i];
    uint32_t a[2] = {0, 0};
    for (int s = 0; s < 2; s++)
      if (op->a[s] != TG_MC_NONE) a[s] = op->a[s] < 0 ? mc->constants[-1 - op->a[s]] : registers[op->a[s]];
    if (op->kind == TG_MC_STORE)
      stored = a[0];
    else
      registers[op->dst] = op->kind == TG_MC_LOAD ? x : apply(op->alu, a[0], a[1]);
  }
  return stored;
}

typedef struct shape {
  tg_alu compare, maker;
  bool constant_first, store_made;
  uint32_t c, d;
} shape;

static const uint32_t bounds[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00010000, 0x80000001,
                                  0x00008000, 0x7f7f0000, 0x7f7fffff, 0x477fe000, 0x33800000, 0x7f800000,
                                  0xff800000, 0x7fc00000, 0x3f808000, 0xc0490fdb};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static tg_mc_ref make(tg_mc *mc, const shape *s, tg_mc_ref x) {
  bool extreme = s->maker == TG_ALU_max || s->maker == TG_ALU_min;
  return tg_mc_alu(mc, s->maker, x, extreme ? tg_mc_bits(mc, s->d) : TG_MC_NONE, TG_MC_NONE);
}

static void write_program(tg_mc *mc, tg_arena *arena, const shape *s) {
  tg_mc_begin(mc, arena);
  tg_mc_ref y = make(mc, s, tg_mc_load(mc, 0, true)), c = tg_mc_bits(mc, s->c);
  if (s->store_made) tg_mc_store(mc, 2, true, y);
  tg_mc_store(mc, 1, true,
              tg_mc_alu(mc, s->compare, s->constant_first ? c : y, s->constant_first ? y : c, TG_MC_NONE));
}

/* Around each bound and each number of BF16 that is tried: neighbours, and what lies between two of BF16. */
static uint32_t sample(int i) {
  static const int32_t beside[] = {0, 1, -1, 0x7fff, 0x8000, 0x8001, 0xfff, 0x1000, 0x1001, -0x8000};
  int place = i / 10;
  uint32_t base = place < BOUNDS ? bounds[place] : (uint32_t)(place - BOUNDS) * 0x9e370000u;
  return base + (uint32_t)beside[i % 10];
}

static void expect_the_same(const shape *s) {
  tg_arena arena = {0};
  tg_mc plain, simple;
  write_program(&plain, &arena, s);
  write_program(&simple, &arena, s);
  tg_mc_simplify_comparisons(&simple, 64);
  if (s->store_made) EXPECT_EQ(simple.count, plain.count);
  for (int i = 0; i < SAMPLES; i++)
    if (run(&plain, sample(i)) != run(&simple, sample(i))) {
      tg_test_fail(__FILE__, __LINE__, "%d of %d, %d: %08x and %08x, input %08x", (int)s->compare,
                   (int)s->maker, s->constant_first, s->c, s->d, sample(i));
      break;
    }
  tg_arena_release(&arena);
}

TG_TEST(comparisons, keep_their_results) {
  static const tg_alu compares[] = {TG_ALU_cmplt, TG_ALU_cmple},
                      makers[] = {TG_ALU_max, TG_ALU_min, TG_ALU_rndbf16, TG_ALU_rndfp16, TG_ALU_rndtf32};
  for (int k = 0; k < 2 * 5 * 2; k++)
    for (int i = 0; i < BOUNDS; i++)
      for (int j = 0; j < (k % 10 < 4 ? BOUNDS : 1); j++) {
        shape s = {compares[k / 10], makers[k % 10 / 2], k % 2, false, bounds[i], bounds[j]};
        expect_the_same(&s);
      }
}

/* Is x positive, after a rounding and a relu: one operation; also as part of a program that has no room for
 * another constant, if it needs none. */
TG_TEST(comparisons, look_through_relu_and_rounding) {
  tg_arena arena = {0};
  tg_mc mc;
  tg_mc_begin(&mc, &arena);
  tg_mc_ref zero = tg_mc_const(&mc, 0), x = tg_mc_load(&mc, 0, true);
  tg_mc_ref rounded = tg_mc_alu(&mc, TG_ALU_rndbf16, x, TG_MC_NONE, TG_MC_NONE);
  tg_mc_ref relu = tg_mc_alu(&mc, TG_ALU_max, rounded, zero, TG_MC_NONE);
  tg_mc_store(&mc, 1, true, tg_mc_alu(&mc, TG_ALU_cmplt, zero, relu, TG_MC_NONE));
  tg_mc_simplify_comparisons(&mc, mc.constant_count);
  EXPECT_EQ(tg_mc_operations(&mc), 2);
  tg_mc_simplify_comparisons(&mc, mc.constant_count + 1);
  EXPECT_EQ(tg_mc_operations(&mc), 1);
  EXPECT_EQ(run(&mc, 0x00008000), 0); /* rounds to 0 */
  EXPECT_EQ(run(&mc, 0x00008001), UINT32_MAX);
  tg_arena_release(&arena);
}

/* What others read is made all the same. */
TG_TEST(comparisons, leave_what_others_read) {
  shape s = {TG_ALU_cmplt, TG_ALU_max, true, true, 0, 0};
  expect_the_same(&s);
  s.maker = TG_ALU_rndbf16;
  expect_the_same(&s);
}
