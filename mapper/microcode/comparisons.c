/* What a comparison with a constant does not need: whether a value is positive shows before a relu or a
 * rounding made it another. `c < max(x, d)` is `c < x` where d does not satisfy it; and a rounding is
 * monotone, so that `c < round(x)` is `t < x` with t the largest number that rounds to c or less. NaN
 * satisfies neither. */
#include "mapper/microcode/microcode.h"
#include "sim/machine/numerics.h"

/* One operation of the microprogram: constant < x, or x < constant, or <=. */
typedef struct comparison {
  tg_mc *mc;
  tg_mc_op *op;
  int side; /* of x: 0 or 1 */
} comparison;

static bool is_constant(tg_mc_ref ref) { return ref < 0 && ref != TG_MC_NONE; }

static float constant(const tg_mc *mc, tg_mc_ref ref) { return tg_bits_f32(mc->constants[-1 - ref]); }

/* The operation before `reader` that is the only one to write `ref`; NULL: there is none. */
static tg_mc_op *writer_of(tg_mc *mc, tg_mc_ref ref, const tg_mc_op *reader) {
  tg_mc_op *writer = NULL;
  for (tg_mc_op *op = mc->ops; op < mc->ops + mc->count; op++) {
    if (op->dst != ref || op->half) continue;
    if (writer) return NULL;
    writer = op;
  }
  return writer && writer < reader ? writer : NULL;
}

/* The ALU operation of its segment that makes what `reader` reads in `ref`, of a register that still is what
 * it was then; NULL: there is none. */
static tg_mc_op *maker_of(tg_mc *mc, tg_mc_ref ref, const tg_mc_op *reader) {
  tg_mc_op *maker = ref < 0 ? NULL : writer_of(mc, ref, reader);
  bool good = maker && maker->kind == TG_MC_ALU && maker->segment == reader->segment && maker->a[0] >= 0 &&
              writer_of(mc, maker->a[0], maker);
  return good ? maker : NULL;
}

static int uses_of(const tg_mc *mc, tg_mc_ref ref) {
  int uses = 0;
  for (size_t i = 0; i < mc->count; i++)
    for (int s = 0; s < 3; s++) uses += mc->ops[i].a[s] == ref;
  return uses;
}

static bool holds(const comparison *c, float x) {
  float bound = constant(c->mc, c->op->a[1 - c->side]), a = c->side ? bound : x, b = c->side ? x : bound;
  return c->op->alu == TG_ALU_cmplt ? a < b : a <= b;
}

/* Of max(x, d) and min(x, d): d is what all x beyond it become, and satisfies the comparison as they do if it
 * does like the infinity beyond it. */
static bool looks_through_extreme(const comparison *c, const tg_mc_op *maker) {
  if (!is_constant(maker->a[1])) return false;
  float d = constant(c->mc, maker->a[1]);
  return d == d && holds(c, d) == holds(c, maker->alu == TG_ALU_max ? -INFINITY : INFINITY);
}

static float rounded(tg_alu alu, float x) {
  uint32_t bits = tg_f32_bits(x);
  if (alu == TG_ALU_rndbf16) return tg_bits_f32(tg_bf16_to_f32(tg_bf16_from_f32(bits)));
  if (alu == TG_ALU_rndfp16) return tg_bits_f32(tg_fp16_to_f32(tg_fp16_from_f32(bits)));
  return tg_bits_f32(tg_tf32_from_f32(bits));
}

/* Numbers in their order, and the inverse. */
static int64_t ordinal(float x) {
  uint32_t bits = tg_f32_bits(x);
  return bits >> 31 ? -(int64_t)(bits & 0x7fffffffu) : bits;
}
static float of_ordinal(int64_t n) { return tg_bits_f32(n < 0 ? 0x80000000u | (uint32_t)-n : (uint32_t)n); }

/* The comparison of x that is true where that of the rounded x is. False: it is one for all x. */
static bool bound_before_rounding(const comparison *c, tg_alu rounding, float *out_bound) {
  bool above = holds(c, INFINITY);
  if (above == holds(c, -INFINITY)) return false;
  int64_t low = ordinal(-INFINITY), high = ordinal(INFINITY);
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (holds(c, rounded(rounding, of_ordinal(middle))) == above)
      high = middle;
    else
      low = middle;
  }
  *out_bound = of_ordinal((c->op->alu == TG_ALU_cmple) == above ? high : low);
  return true;
}

/* Looks through what made x. `constants`: most that there may be. */
static bool simplify(comparison *c, int constants) {
  tg_mc *mc = c->mc;
  tg_mc_ref x = c->op->a[c->side];
  tg_mc_op *maker = maker_of(mc, x, c->op);
  if (!maker || uses_of(mc, x) != 1) return false;
  float bound;
  switch (maker->alu) {
  case TG_ALU_max:
  case TG_ALU_min:
    if (!looks_through_extreme(c, maker)) return false;
    break;
  case TG_ALU_rndbf16:
  case TG_ALU_rndfp16:
  case TG_ALU_rndtf32:
    if (mc->constant_count >= constants || !bound_before_rounding(c, maker->alu, &bound)) return false;
    c->op->a[1 - c->side] = tg_mc_const(mc, bound);
    break;
  default: return false;
  }
  c->op->a[c->side] = maker->a[0];
  *maker = (tg_mc_op){.kind = TG_MC_ALU, .alu = TG_ALU_nop, .dst = -1};
  return true;
}

static bool is_with_constant(tg_mc *mc, tg_mc_op *op, comparison *out) {
  if (op->kind != TG_MC_ALU || (op->alu != TG_ALU_cmplt && op->alu != TG_ALU_cmple) ||
      is_constant(op->a[0]) == is_constant(op->a[1]))
    return false;
  *out = (comparison){mc, op, is_constant(op->a[0])};
  return true;
}

void tg_mc_simplify_comparisons(tg_mc *mc, int constants) {
  size_t kept = 0;
  for (size_t i = 0; i < mc->count; i++) {
    comparison c;
    while (is_with_constant(mc, &mc->ops[i], &c) && simplify(&c, constants)) {
    }
  }
  for (size_t i = 0; i < mc->count; i++)
    if (mc->ops[i].kind != TG_MC_ALU || mc->ops[i].alu != TG_ALU_nop) mc->ops[kept++] = mc->ops[i];
  mc->count = kept;
}
