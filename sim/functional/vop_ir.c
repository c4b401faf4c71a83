/* A microprogram as vector IR. Rows are independent, so the function goes row by row instead of slot by slot:
 * registers are SSA values, those that a repeated segment writes are phi nodes of its loop.
 *
 * Values are <2P x i32>. An arithmetic result may be a NaN that is not canonical yet (`raw`); it becomes
 * canonical before an operation that keeps bits sees it. */
#include "sim/functional/ir.h"
#include "sim/functional/vop.h"
#include "sim/machine/numerics.h"

#include <stdio.h>
#include <string.h>

typedef struct value {
  char name[24]; /* "%v12", or a constant */
  bool raw;
} value;

typedef struct emitter {
  tg_text *t;
  const tg_vx_instr *in;
  const uint64_t *words;
  uint32_t p, n; /* n = 2P lanes */
  uint32_t next; /* number of the next value */
  value reg[TG_VX_REGS];
  const char *j, *j0, *j1; /* in the current segment */
} emitter;

static const value zero = {"zeroinitializer", false};

static value fresh(emitter *e) {
  value v = {"", false};
  snprintf(v.name, sizeof v.name, "%%v%u", e->next++);
  return v;
}

/* The type of a value; two may stand in one line. */
static const char *type(const emitter *e) {
  static _Thread_local char text[2][24];
  static _Thread_local int turn;
  char *out = text[turn ^= 1];
  snprintf(out, sizeof text[0], "<%u x i32>", e->n);
  return out;
}

static value as_float(emitter *e, value a) {
  value f = fresh(e);
  tg_text_add(e->t, "  %s = bitcast %s %s to <%u x float>\n", f.name, type(e), a.name, e->n);
  return f;
}

static value from_float(emitter *e, value f) {
  value v = fresh(e);
  tg_text_add(e->t, "  %s = bitcast <%u x float> %s to %s\n", v.name, e->n, f.name, type(e));
  v.raw = true;
  return v;
}

static value canonical(emitter *e, value a) {
  if (!a.raw) return a;
  value v = fresh(e);
  tg_ir_canonical(e->t, e->n, v.name + 1, a.name);
  return v;
}

static value integer2(emitter *e, const char *op, value a, const char *b) {
  value v = fresh(e);
  tg_text_add(e->t, "  %s = %s %s %s, %s\n", v.name, op, type(e), a.name, b);
  return v;
}

static value operand(const emitter *e, uint32_t which) {
  if (which < TG_VX_REGS) return e->reg[which];
  if (which < TG_CONST0) return zero;
  value v = {"", false};
  snprintf(v.name, sizeof v.name, "%%con%u", which - TG_CONST0);
  return v;
}

static value float2(emitter *e, const char *op, value a, value b) {
  value x = as_float(e, a), y = as_float(e, b), v = fresh(e);
  tg_text_add(e->t, "  %s = %s <%u x float> %s, %s\n", v.name, op, e->n, x.name, y.name);
  return from_float(e, v);
}

static value call2(emitter *e, const char *function, value a, value b) {
  value x = as_float(e, a), y = as_float(e, b), v = fresh(e);
  tg_text_add(e->t, "  %s = call <%u x float> @llvm.%s.v%uf32(<%u x float> %s, <%u x float> %s)\n", v.name,
              e->n, function, e->n, e->n, x.name, e->n, y.name);
  return from_float(e, v);
}

static value fma3(emitter *e, value a, value b, value c) {
  value x = as_float(e, a), y = as_float(e, b), z = as_float(e, c), v = fresh(e);
  tg_text_add(
      e->t, "  %s = call <%u x float> @llvm.fma.v%uf32(<%u x float> %s, <%u x float> %s, <%u x float> %s)\n",
      v.name, e->n, e->n, e->n, x.name, e->n, y.name, e->n, z.name);
  return from_float(e, v);
}

static value mask(emitter *e, value condition) {
  value v = fresh(e);
  tg_text_add(e->t, "  %s = sext <%u x i1> %s to %s\n", v.name, e->n, condition.name, type(e));
  return v;
}

static value compare_float(emitter *e, const char *condition, value a, value b) {
  value x = as_float(e, a), y = as_float(e, b), v = fresh(e);
  tg_text_add(e->t, "  %s = fcmp %s <%u x float> %s, %s\n", v.name, condition, e->n, x.name, y.name);
  return mask(e, v);
}

static value compare_integer(emitter *e, const char *condition, value a, value b) {
  value v = fresh(e);
  tg_text_add(e->t, "  %s = icmp %s %s %s, %s\n", v.name, condition, type(e), a.name, b.name);
  return v;
}

static value choose(emitter *e, value condition, value a, value b) {
  value x = canonical(e, a), y = canonical(e, b), v = fresh(e);
  tg_text_add(e->t, "  %s = select <%u x i1> %s, %s %s, ", v.name, e->n, condition.name, type(e), x.name);
  tg_text_add(e->t, "%s %s\n", type(e), y.name);
  return v;
}

/* A vector of which lane i is lane index(i) of a (below N) or b (above). */
static value shuffle(emitter *e, value a, value b,
                     uint32_t (*index)(const emitter *e, uint32_t lane, uint32_t c), uint32_t c) {
  value v = fresh(e);
  tg_text_add(e->t, "  %s = shufflevector %s %s, ", v.name, type(e), a.name);
  tg_text_add(e->t, "%s %s, %s <", type(e), b.name, type(e));
  for (uint32_t i = 0; i < e->n; i++) tg_text_add(e->t, "%si32 %u", i ? ", " : "", index(e, i, c));
  tg_text_add(e->t, ">\n");
  v.raw = a.raw;
  return v;
}
static uint32_t rotated(const emitter *e, uint32_t lane, uint32_t c) { return (lane + c) % e->n; }
static uint32_t broadcast(const emitter *e, uint32_t lane, uint32_t c) {
  (void)lane;
  return c % e->n;
}
/* Half c from the second vector. */
static uint32_t half_of(const emitter *e, uint32_t lane, uint32_t c) {
  return lane / e->p == c ? e->n + lane : lane;
}

static value splat_scalar(emitter *e, const char *scalar) {
  value i = fresh(e), v = fresh(e);
  tg_text_add(e->t, "  %s = insertelement %s poison, i32 %s, i64 0\n", i.name, type(e), scalar);
  tg_text_add(e->t, "  %s = shufflevector %s %s, ", v.name, type(e), i.name);
  tg_text_add(e->t, "%s poison, %s zeroinitializer\n", type(e), type(e));
  return v;
}

/* Lane 0, 1, 2 ... of a vector that begins with `first`. */
static value count_up(emitter *e, const char *first) {
  value all = splat_scalar(e, first), v = fresh(e);
  tg_text_add(e->t, "  %s = add %s %s, <", v.name, type(e), all.name);
  for (uint32_t i = 0; i < e->n; i++) tg_text_add(e->t, "%si32 %u", i ? ", " : "", i);
  tg_text_add(e->t, ">\n");
  return v;
}

static value tail(emitter *e, uint32_t c, value a, value b) {
  value product = fresh(e), first = fresh(e);
  tg_text_add(e->t, "  %s = mul i32 %s, %%tail.step\n", product.name, e->j);
  tg_text_add(e->t, "  %s = add i32 %s, %u\n", first.name, product.name, c * e->n);
  value element = count_up(e, first.name), limit = splat_scalar(e, "%tail.n");
  return choose(e, compare_integer(e, "ult", element, limit), a, b);
}

/* fptosi.sat of the nearest even integer. */
static value to_integer(emitter *e, value a) {
  value x = as_float(e, a), r = fresh(e), v = fresh(e);
  tg_text_add(e->t, "  %s = call <%u x float> @llvm.roundeven.v%uf32(<%u x float> %s)\n", r.name, e->n, e->n,
              e->n, x.name);
  tg_text_add(e->t, "  %s = call %s @llvm.fptosi.sat.v%ui32.v%uf32(<%u x float> %s)\n", v.name, type(e), e->n,
              e->n, e->n, r.name);
  return v;
}

static value to_float(emitter *e, value a) {
  value f = fresh(e);
  tg_text_add(e->t, "  %s = sitofp %s %s to <%u x float>\n", f.name, type(e), a.name, e->n);
  value v = from_float(e, f);
  v.raw = false;
  return v;
}

static value narrow_bits(emitter *e, value a, bool bf16) {
  value v = fresh(e);
  (bf16 ? tg_ir_bf16_round : tg_ir_fp16_round)(e->t, e->n, v.name + 1, a.name);
  return v;
}

/* A piece of ir.h with one operand. */
static value piece1(emitter *e, void (*piece)(tg_text *, unsigned, const char *, const char *), value a) {
  value v = fresh(e);
  piece(e->t, e->n, v.name + 1, a.name);
  return v;
}

static value scale(emitter *e, value a, value b) {
  value v = fresh(e);
  tg_ir_scale(e->t, e->n, v.name + 1, a.name, b.name);
  v.raw = true;
  return v;
}

static value truncate(emitter *e, value a) {
  value v = fresh(e);
  tg_text_add(e->t, "  %s = trunc %s %s to <%u x i16>\n", v.name, type(e), a.name, e->n);
  return v;
}

static value widen(emitter *e, value halves, bool bf16) {
  value v = fresh(e);
  (bf16 ? tg_ir_bf16_widen : tg_ir_fp16_widen)(e->t, e->n, v.name + 1, halves.name);
  return v;
}

static value lookup(emitter *e, value a) {
  value low = integer2(e, "and", a, "splat (i32 31)"), index = integer2(e, "or", low, "splat (i32 32)"),
        at = fresh(e), v = fresh(e);
  tg_text_add(e->t, "  %s = getelementptr i32, ptr %%constants, %s %s\n", at.name, type(e), index.name);
  tg_text_add(e->t, "  %s = call %s @llvm.masked.gather.v%ui32.v%up0(<%u x ptr> %s, i32 4, ", v.name, type(e),
              e->n, e->n, e->n, at.name);
  tg_text_add(e->t, "<%u x i1> splat (i1 true), %s poison)\n", e->n, type(e));
  return v;
}

static value shift(emitter *e, const char *op, value a, value b) {
  value by = integer2(e, "and", b, "splat (i32 31)");
  return integer2(e, op, a, by.name);
}

/* Operations that keep or read bits; their operands are canonical. */
static value bits(emitter *e, const tg_ucode *w, value a, value b, value c) {
  switch ((tg_alu)w->alu_op) {
  case TG_ALU_icmplt: return mask(e, compare_integer(e, "slt", a, b));
  case TG_ALU_select: return choose(e, compare_integer(e, "slt", a, zero), b, c);
  case TG_ALU_and: return integer2(e, "and", a, b.name);
  case TG_ALU_or: return integer2(e, "or", a, b.name);
  case TG_ALU_xor: return integer2(e, "xor", a, b.name);
  case TG_ALU_shl: return shift(e, "shl", a, b);
  case TG_ALU_shr: return shift(e, "lshr", a, b);
  case TG_ALU_sra: return shift(e, "ashr", a, b);
  case TG_ALU_iadd: return integer2(e, "add", a, b.name);
  case TG_ALU_isub: return integer2(e, "sub", a, b.name);
  case TG_ALU_i2f: return to_float(e, a);
  case TG_ALU_rcpseed: return piece1(e, tg_ir_rcpseed, a);
  case TG_ALU_rsqseed: return piece1(e, tg_ir_rsqseed, a);
  case TG_ALU_scale: return scale(e, a, b);
  case TG_ALU_exponent: return piece1(e, tg_ir_exponent, a);
  case TG_ALU_mantissa: return piece1(e, tg_ir_mantissa, a);
  case TG_ALU_lut: return lookup(e, a);
  default: return zero;
  }
}

/* Rounded to BF16 stochastically, widened again: row and j give the row, and the column of lane 0. */
static value stochastic(emitter *e, value a, uint32_t further) {
  value j0 = fresh(e), j1 = fresh(e), sum = fresh(e), wide = fresh(e), first = fresh(e), row = fresh(e),
        place = fresh(e);
  tg_text_add(e->t, "  %s = mul i64 %s, %%sr.j0\n", j0.name, e->j0);
  tg_text_add(e->t, "  %s = mul i64 %s, %%sr.j1\n", j1.name, e->j1);
  tg_text_add(e->t, "  %s = add i64 %s, %s\n", sum.name, j0.name, j1.name);
  tg_text_add(e->t, "  %s = add i64 %s, %%sr.at\n", wide.name, sum.name);
  tg_text_add(e->t, "  %s = trunc i64 %s to i32\n", first.name, wide.name);
  tg_text_add(e->t, "  %s = add i64 %%sr.row, %u\n", place.name, further);
  tg_text_add(e->t, "  %s = trunc i64 %s to i32\n", row.name, place.name);
  value column = piece1(e, tg_ir_mix, count_up(e, first.name)), v = fresh(e);
  value rows = piece1(e, tg_ir_mix, splat_scalar(e, row.name));
  value hashes = integer2(e, "add", column, rows.name);
  tg_ir_bf16_stochastic(e->t, e->n, v.name + 1, a.name, hashes.name);
  return v;
}

static value alu(emitter *e, const tg_ucode *w) {
  value a = operand(e, w->alu_a), b = operand(e, w->alu_b), c = operand(e, w->alu_c);
  switch ((tg_alu)w->alu_op) {
  case TG_ALU_mov: return a;
  case TG_ALU_fma: return fma3(e, a, b, c);
  case TG_ALU_add: return float2(e, "fadd", a, b);
  case TG_ALU_sub: return float2(e, "fsub", a, b);
  case TG_ALU_mul: return float2(e, "fmul", a, b);
  case TG_ALU_min: return call2(e, "minimum", a, b);
  case TG_ALU_max: return call2(e, "maximum", a, b);
  case TG_ALU_clamp: return call2(e, "minimum", call2(e, "maximum", a, b), c);
  case TG_ALU_cmplt: return compare_float(e, "olt", a, b);
  case TG_ALU_cmple: return compare_float(e, "ole", a, b);
  case TG_ALU_cmpeq: return compare_float(e, "oeq", a, b);
  case TG_ALU_f2i: return to_integer(e, a);
  case TG_ALU_rot: return shuffle(e, a, zero, rotated, w->alu_c);
  case TG_ALU_bcast: return shuffle(e, a, zero, broadcast, w->alu_c);
  case TG_ALU_tail: return tail(e, w->alu_c, a, b);
  case TG_ALU_rndbf16: return integer2(e, "shl", narrow_bits(e, a, true), "splat (i32 16)");
  case TG_ALU_rndsr: return stochastic(e, canonical(e, a), w->alu_c);
  case TG_ALU_rndtf32: return piece1(e, tg_ir_tf32_round, a);
  case TG_ALU_rndfp16: return widen(e, truncate(e, narrow_bits(e, a, false)), false);
  default: return bits(e, w, canonical(e, a), canonical(e, b), canonical(e, c));
  }
}

/* Pointer to what stream t addresses in this row and j. */
static value stream_pointer(emitter *e, uint32_t t, uint32_t half) {
  const tg_stream *s = tg_stream_of(e->in, (int)t);
  value o0 = fresh(e), o1 = fresh(e), a0 = fresh(e), a1 = fresh(e), row = fresh(e), byte = fresh(e),
        at = fresh(e);
  bool acc = s->kind == TG_STREAM_ACC;
  tg_text_add(e->t, "  %s = mul i64 %s, %%s%u.j0\n", o0.name, e->j0, t);
  tg_text_add(e->t, "  %s = mul i64 %s, %%s%u.j1\n", o1.name, e->j1, t);
  tg_text_add(e->t, "  %s = add i64 %%s%u.at, %s\n", a0.name, t, o0.name);
  tg_text_add(e->t, "  %s = add i64 %s, %s\n", a1.name, a0.name, o1.name);
  tg_text_add(e->t, "  %s = add i64 %s, %u\n", row.name, a1.name, s->kind == TG_STREAM_FP32 ? half : 0);
  tg_text_add(e->t, "  %s = mul i64 %s, %u\n", byte.name, row.name, acc ? 8 * e->p : 4 * e->p);
  tg_text_add(e->t, "  %s = getelementptr i8, ptr %%%s, i64 %s\n", at.name, acc ? "acc" : "pad", byte.name);
  return at;
}

static value load_half(emitter *e, value at, uint32_t half, value old) {
  value part = fresh(e), wide = fresh(e);
  tg_text_add(e->t, "  %s = load <%u x i32>, ptr %s, align 4\n", part.name, e->p, at.name);
  tg_text_add(e->t, "  %s = shufflevector <%u x i32> %s, <%u x i32> poison, %s <", wide.name, e->p, part.name,
              e->p, type(e));
  for (uint32_t i = 0; i < e->n; i++) tg_text_add(e->t, "%si32 %u", i ? ", " : "", i % e->p);
  tg_text_add(e->t, ">\n");
  return shuffle(e, canonical(e, old), wide, half_of, half);
}

static value load(emitter *e, const tg_ucode *w) {
  const tg_stream *s = tg_stream_of(e->in, w->ld_stream);
  value at = stream_pointer(e, w->ld_stream, w->ld_half), v = fresh(e);
  switch (s->kind) {
  case TG_STREAM_FP32: return load_half(e, at, w->ld_half, e->reg[w->ld_dst]);
  case TG_STREAM_ACC:
    tg_text_add(e->t, "  %s = load %s, ptr %s, align 4\n", v.name, type(e), at.name);
    return v;
  case TG_STREAM_SPLAT32: {
    value lane = fresh(e);
    tg_text_add(e->t, "  %s = getelementptr i32, ptr %s, i64 %u\n", lane.name, at.name, (unsigned)s->lane);
    tg_text_add(e->t, "  %s = load i32, ptr %s, align 4\n", v.name, lane.name);
    return splat_scalar(e, v.name);
  }
  default:
    tg_text_add(e->t, "  %s = load <%u x i16>, ptr %s, align 2\n", v.name, e->n, at.name);
    return widen(e, v, s->kind == TG_STREAM_BF16);
  }
}

static void store(emitter *e, const tg_ucode *w, value a) {
  const tg_stream *s = tg_stream_of(e->in, w->st_stream);
  value at = stream_pointer(e, w->st_stream, w->st_half);
  if (s->kind != TG_STREAM_FP32) {
    value halves =
        truncate(e, s->kind == TG_STREAM_BF16SR ? integer2(e, "lshr", stochastic(e, a, 0), "splat (i32 16)")
                                                : narrow_bits(e, a, s->kind == TG_STREAM_BF16));
    tg_text_add(e->t, "  store <%u x i16> %s, ptr %s, align 2\n", e->n, halves.name, at.name);
    return;
  }
  a.raw = true; /* what was loaded or made of bits may be any NaN */
  value v = canonical(e, a), part = fresh(e);
  tg_text_add(e->t, "  %s = shufflevector %s %s, ", part.name, type(e), v.name);
  tg_text_add(e->t, "%s poison, <%u x i32> <", type(e), e->p);
  for (uint32_t i = 0; i < e->p; i++)
    tg_text_add(e->t, "%si32 %u", i ? ", " : "", i + (w->st_half ? e->p : 0));
  tg_text_add(e->t, ">\n  store <%u x i32> %s, ptr %s, align 4\n", e->p, part.name, at.name);
}

/* All slots read the state before the word. */
static void word(emitter *e, const tg_ucode *w) {
  value result = zero, loaded = zero, stored = w->st_on ? operand(e, w->st_src) : zero;
  if (w->alu_op != TG_ALU_nop) result = alu(e, w);
  if (w->ld_on) loaded = load(e, w);
  if (w->st_on) store(e, w, stored);
  if (w->ld_on) e->reg[w->ld_dst] = loaded;
  if (w->alu_op != TG_ALU_nop) e->reg[w->alu_dst] = result;
}

static void segment_words(emitter *e, int q) {
  for (int64_t i = 0; i < e->in->seg_len[q]; i++) {
    tg_ucode w = tg_ucode_decode(e->words[e->in->seg_begin[q] + i]);
    word(e, &w);
  }
}

static uint32_t written(const emitter *e, int q) {
  uint32_t set = 0;
  for (int64_t i = 0; i < e->in->seg_len[q]; i++) {
    tg_ucode w = tg_ucode_decode(e->words[e->in->seg_begin[q] + i]);
    if (w.ld_on) set |= 1u << w.ld_dst;
    if (w.alu_op != TG_ALU_nop) set |= 1u << w.alu_dst;
  }
  return set;
}

/* A loop over j with the written registers as phi nodes; their values at its end have names known
 * beforehand. */
static void repeated_segment(emitter *e, int q, const char *before) {
  uint32_t set = written(e, q);
  for (int r = 0; r < TG_VX_REGS; r++)
    if (set >> r & 1) e->reg[r] = canonical(e, e->reg[r]);
  tg_text_add(e->t, "  br label %%seg%d\nseg%d:\n", q, q);
  for (int r = 0; r < TG_VX_REGS; r++) {
    if (!(set >> r & 1)) continue;
    value v = fresh(e);
    tg_text_add(e->t, "  %s = phi %s [ %s, %%%s ], [ %%end%d.%d, %%seg%d ]\n", v.name, type(e),
                e->reg[r].name, before, q, r, q);
    e->reg[r] = v;
  }
  tg_text_add(e->t, "  %%q%d.j = phi i32 [ 0, %%%s ], [ %%q%d.jn, %%seg%d ]\n", q, before, q, q);
  tg_text_add(e->t, "  %%q%d.j0 = phi i64 [ 0, %%%s ], [ %%q%d.j0n, %%seg%d ]\n", q, before, q, q);
  tg_text_add(e->t, "  %%q%d.j1 = phi i64 [ 0, %%%s ], [ %%q%d.j1n, %%seg%d ]\n", q, before, q, q);
  char j[3][16];
  for (int i = 0; i < 3; i++)
    snprintf(j[i], sizeof j[i], i == 0 ? "%%q%d.j" : i == 1 ? "%%q%d.j0" : "%%q%d.j1", q);
  e->j = j[0];
  e->j0 = j[1];
  e->j1 = j[2];
  segment_words(e, q);
  for (int r = 0; r < TG_VX_REGS; r++) {
    if (!(set >> r & 1)) continue;
    value v = canonical(e, e->reg[r]);
    tg_text_add(e->t, "  %%end%d.%d = bitcast %s %s to ", q, r, type(e), v.name);
    tg_text_add(e->t, "%s\n", type(e));
    snprintf(e->reg[r].name, sizeof e->reg[r].name, "%%end%d.%d", q, r);
    e->reg[r].raw = false;
  }
  tg_text_add(e->t, "  %%q%d.jn = add i32 %%q%d.j, 1\n  %%q%d.j1i = add i64 %%q%d.j1, 1\n", q, q, q, q);
  tg_text_add(e->t, "  %%q%d.wrap = icmp eq i64 %%q%d.j1i, %%j.count1\n", q, q);
  tg_text_add(e->t, "  %%q%d.j1n = select i1 %%q%d.wrap, i64 0, i64 %%q%d.j1i\n", q, q, q);
  tg_text_add(e->t, "  %%q%d.carry = zext i1 %%q%d.wrap to i64\n", q, q);
  tg_text_add(e->t, "  %%q%d.j0n = add i64 %%q%d.j0, %%q%d.carry\n", q, q, q);
  tg_text_add(e->t, "  %%q%d.last = icmp eq i64 %%q%d.j0n, %%j.count0\n", q, q);
  tg_text_add(e->t, "  br i1 %%q%d.last, label %%after%d, label %%seg%d\nafter%d:\n", q, q, q, q);
}

static void segments(emitter *e) {
  char before[16] = "row";
  for (int q = 0; q < TG_SEGMENTS; q++) {
    if (!e->in->seg_len[q]) continue;
    e->j = e->j0 = e->j1 = "0";
    if (!(e->in->seg_repeat >> q & 1)) {
      segment_words(e, q);
      continue;
    }
    repeated_segment(e, q, before);
    snprintf(before, sizeof before, "after%d", q);
  }
  tg_text_add(e->t, "  br label %%next\n");
}

static void argument(emitter *e, const char *name, size_t offset) {
  tg_text_add(e->t, "  %%%s.p = getelementptr i8, ptr %%arguments, i64 %zu\n", name, offset);
  tg_text_add(e->t, "  %%%s = load i64, ptr %%%s.p, align 8\n", name, name);
}

static void arguments(emitter *e) {
  argument(e, "rows", offsetof(tg_vop_arguments, rows));
  argument(e, "radix1", offsetof(tg_vop_arguments, row_count[0]));
  argument(e, "radix2", offsetof(tg_vop_arguments, row_count[1]));
  argument(e, "j.count0", offsetof(tg_vop_arguments, j_count[0]));
  argument(e, "j.count1", offsetof(tg_vop_arguments, j_count[1]));
  argument(e, "tail.step.l", offsetof(tg_vop_arguments, tail_step));
  argument(e, "tail.n.l", offsetof(tg_vop_arguments, tail_n));
  tg_text_add(e->t,
              "  %%tail.step = trunc i64 %%tail.step.l to i32\n  %%tail.n = trunc i64 %%tail.n.l to i32\n");
  argument(e, "sr.first", offsetof(tg_vop_arguments, row_key));
  argument(e, "sr.base", offsetof(tg_vop_arguments, col_key));
  for (size_t d = 0; d < 3; d++) {
    char name[] = {'s', 'r', '.', 'r', (char)('0' + d), 0};
    argument(e, name, offsetof(tg_vop_arguments, col_row) + 8 * d);
    name[3] = 'd';
    argument(e, name, offsetof(tg_vop_arguments, row_row) + 8 * d);
  }
  argument(e, "sr.j0", offsetof(tg_vop_arguments, col_j[0]));
  argument(e, "sr.j1", offsetof(tg_vop_arguments, col_j[1]));
  static const char *const members[] = {"base", "r0", "r1", "r2", "j0", "j1"};
  for (size_t s = 0; s < TG_STREAMS; s++)
    for (size_t i = 0; i < 6; i++) {
      char name[16];
      snprintf(name, sizeof name, "s%zu.%s", s, members[i]);
      argument(e, name, offsetof(tg_vop_arguments, stream) + s * sizeof(tg_vop_stream_arguments) + 8 * i);
    }
}

/* Splats of the constants that the microprogram names. */
static void constants(emitter *e) {
  uint64_t used = 0;
  for (int q = 0; q < TG_SEGMENTS; q++)
    for (int64_t i = 0; i < e->in->seg_len[q]; i++) {
      tg_ucode w = tg_ucode_decode(e->words[e->in->seg_begin[q] + i]);
      uint32_t operands[] = {w.alu_a, w.alu_b, w.alu_c, w.st_src};
      for (int o = 0; o < 4; o++)
        if (operands[o] >= TG_CONST0) used |= 1ull << (operands[o] - TG_CONST0);
    }
  for (unsigned c = 0; c < 64; c++) {
    if (!(used >> c & 1)) continue;
    tg_text_add(e->t, "  %%con%u.p = getelementptr i32, ptr %%constants, i64 %u\n", c, c);
    tg_text_add(e->t, "  %%con%u.s = load i32, ptr %%con%u.p, align 4\n", c, c);
    tg_text_add(e->t, "  %%con%u.i = insertelement %s poison, i32 %%con%u.s, i64 0\n", c, type(e), c);
    tg_text_add(e->t, "  %%con%u = shufflevector %s %%con%u.i, ", c, type(e), c);
    tg_text_add(e->t, "%s poison, %s zeroinitializer\n", type(e), type(e));
  }
}

static void row_addresses(emitter *e) {
  for (int s = 0; s < TG_STREAMS; s++) {
    for (int d = 0; d < 3; d++) tg_text_add(e->t, "  %%s%d.m%d = mul i64 %%r%d, %%s%d.r%d\n", s, d, d, s, d);
    tg_text_add(e->t, "  %%s%d.a0 = add i64 %%s%d.base, %%s%d.m0\n", s, s, s);
    tg_text_add(e->t, "  %%s%d.a1 = add i64 %%s%d.a0, %%s%d.m1\n", s, s, s);
    tg_text_add(e->t, "  %%s%d.at = add i64 %%s%d.a1, %%s%d.m2\n", s, s, s);
  }
  for (int d = 0; d < 3; d++) tg_text_add(e->t, "  %%sr.m%d = mul i64 %%r%d, %%sr.r%d\n", d, d, d);
  tg_text_add(e->t, "  %%sr.a0 = add i64 %%sr.base, %%sr.m0\n  %%sr.a1 = add i64 %%sr.a0, %%sr.m1\n"
                    "  %%sr.at = add i64 %%sr.a1, %%sr.m2\n");
  for (int d = 0; d < 3; d++) tg_text_add(e->t, "  %%sr.n%d = mul i64 %%r%d, %%sr.d%d\n", d, d, d);
  tg_text_add(e->t, "  %%sr.b0 = add i64 %%sr.first, %%sr.n0\n  %%sr.b1 = add i64 %%sr.b0, %%sr.n1\n"
                    "  %%sr.row = add i64 %%sr.b1, %%sr.n2\n");
}

/* Counts r2, r1, r0 up; the outermost is not wrapped. */
static void next_row(emitter *e) {
  tg_text_add(e->t, "next:\n  %%rho.n = add i64 %%rho, 1\n  %%r2.i = add i64 %%r2, 1\n"
                    "  %%w2 = icmp eq i64 %%r2.i, %%radix2\n  %%r2.n = select i1 %%w2, i64 0, i64 %%r2.i\n"
                    "  %%c2 = zext i1 %%w2 to i64\n  %%r1.i = add i64 %%r1, %%c2\n"
                    "  %%w1 = icmp eq i64 %%r1.i, %%radix1\n  %%r1.n = select i1 %%w1, i64 0, i64 %%r1.i\n"
                    "  %%c1 = zext i1 %%w1 to i64\n  %%r0.n = add i64 %%r0, %%c1\n"
                    "  %%more = icmp slt i64 %%rho.n, %%rows\n  br i1 %%more, label %%row, label %%done\n"
                    "done:\n  ret void\n}\n");
}

void tg_vop_emit(tg_text *text, const tg_params *params, const tg_vx_instr *in, const uint64_t *words) {
  emitter e = {.t = text, .in = in, .words = words, .p = params->p, .n = 2 * params->p};
  for (int r = 0; r < TG_VX_REGS; r++) e.reg[r] = zero;
  tg_text_add(text, "define void @" TG_KERNEL
                    "(ptr %%pad, ptr %%acc, ptr %%constants, ptr %%arguments) {\nentry:\n");
  arguments(&e);
  constants(&e);
  tg_text_add(text, "  %%any = icmp sgt i64 %%rows, 0\n  br i1 %%any, label %%row, label %%done\nrow:\n");
  static const char *const counters[] = {"rho", "r0", "r1", "r2"};
  for (int i = 0; i < 4; i++)
    tg_text_add(text, "  %%%s = phi i64 [ 0, %%entry ], [ %%%s.n, %%next ]\n", counters[i], counters[i]);
  row_addresses(&e);
  segments(&e);
  next_row(&e);
}

static void set_rounding(const tg_machine_state *state, const tg_execution *x, tg_vop_arguments *a) {
  const tg_vx_instr *in = &x->in->vx;
  uint32_t tile = (uint32_t)in->sr_tile + tg_execution_advance(x, in->sr_tile_delta);
  uint32_t key = tg_sr_tile_key(state->keys[in->sr_key], tile);
  a->row_key = (int64_t)key + in->sr_row + tg_execution_advance(x, in->sr_row_delta);
  memcpy(a->row_row, in->sr_row_row, sizeof a->row_row);
  a->col_key = (int64_t)tg_sr_col_key(key) + in->sr_col + tg_execution_advance(x, in->sr_col_delta);
  memcpy(a->col_row, in->sr_col_row, sizeof a->col_row);
  memcpy(a->col_j, in->sr_col_j, sizeof a->col_j);
}

void tg_vop_run(tg_vop_function *function, tg_machine_state *state, uint32_t tile, const tg_execution *x) {
  const tg_vx_instr *in = &x->in->vx;
  tg_vop_arguments a = {.rows = in->rows,
                        .row_count = {in->row_count[1], in->row_count[2]},
                        .j_count = {in->j_count[0], in->j_count[1]},
                        .tail_step = in->tail_step,
                        .tail_n = in->tail_n};
  for (int t = 0; t < TG_STREAMS; t++) {
    const tg_stream *s = tg_stream_of(in, t);
    a.stream[t].base = x->address[t];
    memcpy(a.stream[t].row, s->row, sizeof a.stream[t].row);
    memcpy(a.stream[t].j, s->j, sizeof a.stream[t].j);
  }
  set_rounding(state, x, &a);
  function(state->tiles[tile].pad, state->tiles[tile].acc, state->tiles[tile].constants, &a);
}
