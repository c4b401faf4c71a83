/* Operations of the ALU slot as vector IR. */
#include "sim/functional/ir.h"
#include "sim/functional/vop_values.h"

static tg_vop_value float2(tg_vop_emitter *e, const char *op, tg_vop_value a, tg_vop_value b) {
  tg_vop_value x = tg_vop_as_float(e, a), y = tg_vop_as_float(e, b), v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = %s <%u x float> %s, %s\n", v.name, op, e->n, x.name, y.name);
  return tg_vop_from_float(e, v);
}

static tg_vop_value call2(tg_vop_emitter *e, const char *function, tg_vop_value a, tg_vop_value b) {
  tg_vop_value x = tg_vop_as_float(e, a), y = tg_vop_as_float(e, b), v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = call <%u x float> @llvm.%s.v%uf32(<%u x float> %s, <%u x float> %s)\n", v.name,
              e->n, function, e->n, e->n, x.name, e->n, y.name);
  return tg_vop_from_float(e, v);
}

static tg_vop_value fma3(tg_vop_emitter *e, tg_vop_value a, tg_vop_value b, tg_vop_value c) {
  tg_vop_value x = tg_vop_as_float(e, a), y = tg_vop_as_float(e, b), z = tg_vop_as_float(e, c),
               v = tg_vop_fresh(e);
  tg_text_add(
      e->t, "  %s = call <%u x float> @llvm.fma.v%uf32(<%u x float> %s, <%u x float> %s, <%u x float> %s)\n",
      v.name, e->n, e->n, e->n, x.name, e->n, y.name, e->n, z.name);
  return tg_vop_from_float(e, v);
}

static tg_vop_value mask(tg_vop_emitter *e, tg_vop_value condition) {
  tg_vop_value v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = sext <%u x i1> %s to %s\n", v.name, e->n, condition.name, tg_vop_type(e));
  return v;
}

static tg_vop_value compare_float(tg_vop_emitter *e, const char *condition, tg_vop_value a, tg_vop_value b) {
  tg_vop_value x = tg_vop_as_float(e, a), y = tg_vop_as_float(e, b), v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = fcmp %s <%u x float> %s, %s\n", v.name, condition, e->n, x.name, y.name);
  return mask(e, v);
}

static tg_vop_value compare_integer(tg_vop_emitter *e, const char *condition, tg_vop_value a,
                                    tg_vop_value b) {
  tg_vop_value v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = icmp %s %s %s, %s\n", v.name, condition, tg_vop_type(e), a.name, b.name);
  return v;
}

static tg_vop_value choose(tg_vop_emitter *e, tg_vop_value condition, tg_vop_value a, tg_vop_value b) {
  tg_vop_value x = tg_vop_canonical(e, a), y = tg_vop_canonical(e, b), v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = select <%u x i1> %s, %s %s, ", v.name, e->n, condition.name, tg_vop_type(e),
              x.name);
  tg_text_add(e->t, "%s %s\n", tg_vop_type(e), y.name);
  return v;
}

static uint32_t rotated(const tg_vop_emitter *e, uint32_t lane, uint32_t c) { return (lane + c) % e->n; }

static uint32_t broadcast(const tg_vop_emitter *e, uint32_t lane, uint32_t c) {
  (void)lane;
  return c % e->n;
}

static tg_vop_value tail(tg_vop_emitter *e, uint32_t c, tg_vop_value a, tg_vop_value b) {
  tg_vop_value product = tg_vop_fresh(e), first = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = mul i32 %s, %%tail.step\n", product.name, e->j);
  tg_text_add(e->t, "  %s = add i32 %s, %u\n", first.name, product.name, c * e->n);
  tg_vop_value element = tg_vop_count_up(e, first.name), limit = tg_vop_splat(e, "%tail.n");
  return choose(e, compare_integer(e, "ult", element, limit), a, b);
}

/* fptosi.sat of the nearest even integer. */
static tg_vop_value to_integer(tg_vop_emitter *e, tg_vop_value a) {
  tg_vop_value x = tg_vop_as_float(e, a), r = tg_vop_fresh(e), v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = call <%u x float> @llvm.roundeven.v%uf32(<%u x float> %s)\n", r.name, e->n, e->n,
              e->n, x.name);
  tg_text_add(e->t, "  %s = call %s @llvm.fptosi.sat.v%ui32.v%uf32(<%u x float> %s)\n", v.name,
              tg_vop_type(e), e->n, e->n, e->n, r.name);
  return v;
}

static tg_vop_value to_float(tg_vop_emitter *e, tg_vop_value a) {
  tg_vop_value f = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = sitofp %s %s to <%u x float>\n", f.name, tg_vop_type(e), a.name, e->n);
  tg_vop_value v = tg_vop_from_float(e, f);
  v.raw = false;
  return v;
}

static tg_vop_value scale(tg_vop_emitter *e, tg_vop_value a, tg_vop_value b) {
  tg_vop_value v = tg_vop_fresh(e);
  tg_ir_scale(e->t, e->n, v.name + 1, a.name, b.name);
  v.raw = true;
  return v;
}

static tg_vop_value lookup(tg_vop_emitter *e, tg_vop_value a) {
  tg_vop_value low = tg_vop_integer(e, "and", a, "splat (i32 31)"),
               index = tg_vop_integer(e, "or", low, "splat (i32 32)"), at = tg_vop_fresh(e),
               v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = getelementptr i32, ptr %%constants, %s %s\n", at.name, tg_vop_type(e),
              index.name);
  tg_text_add(e->t, "  %s = call %s @llvm.masked.gather.v%ui32.v%up0(<%u x ptr> %s, i32 4, ", v.name,
              tg_vop_type(e), e->n, e->n, e->n, at.name);
  tg_text_add(e->t, "<%u x i1> splat (i1 true), %s poison)\n", e->n, tg_vop_type(e));
  return v;
}

static tg_vop_value shift(tg_vop_emitter *e, const char *op, tg_vop_value a, tg_vop_value b) {
  tg_vop_value by = tg_vop_integer(e, "and", b, "splat (i32 31)");
  return tg_vop_integer(e, op, a, by.name);
}

/* Operations that keep or read bits; their operands are canonical. */
static tg_vop_value bits(tg_vop_emitter *e, const tg_ucode *w, tg_vop_value a, tg_vop_value b,
                         tg_vop_value c) {
  switch ((tg_alu)w->alu_op) {
  case TG_ALU_icmplt: return mask(e, compare_integer(e, "slt", a, b));
  case TG_ALU_select: return choose(e, compare_integer(e, "slt", a, tg_vop_zero), b, c);
  case TG_ALU_and: return tg_vop_integer(e, "and", a, b.name);
  case TG_ALU_or: return tg_vop_integer(e, "or", a, b.name);
  case TG_ALU_xor: return tg_vop_integer(e, "xor", a, b.name);
  case TG_ALU_shl: return shift(e, "shl", a, b);
  case TG_ALU_shr: return shift(e, "lshr", a, b);
  case TG_ALU_sra: return shift(e, "ashr", a, b);
  case TG_ALU_iadd: return tg_vop_integer(e, "add", a, b.name);
  case TG_ALU_isub: return tg_vop_integer(e, "sub", a, b.name);
  case TG_ALU_i2f: return to_float(e, a);
  case TG_ALU_rcpseed: return tg_vop_piece(e, tg_ir_rcpseed, a);
  case TG_ALU_rsqseed: return tg_vop_piece(e, tg_ir_rsqseed, a);
  case TG_ALU_scale: return scale(e, a, b);
  case TG_ALU_exponent: return tg_vop_piece(e, tg_ir_exponent, a);
  case TG_ALU_mantissa: return tg_vop_piece(e, tg_ir_mantissa, a);
  case TG_ALU_lut: return lookup(e, a);
  default: return tg_vop_zero;
  }
}

tg_vop_value tg_vop_alu(tg_vop_emitter *e, const tg_ucode *w) {
  tg_vop_value a = tg_vop_operand(e, w->alu_a), b = tg_vop_operand(e, w->alu_b),
               c = tg_vop_operand(e, w->alu_c);
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
  case TG_ALU_rot: return tg_vop_shuffle(e, a, tg_vop_zero, rotated, w->alu_c);
  case TG_ALU_bcast: return tg_vop_shuffle(e, a, tg_vop_zero, broadcast, w->alu_c);
  case TG_ALU_tail: return tail(e, w->alu_c, a, b);
  case TG_ALU_rndbf16: return tg_vop_integer(e, "shl", tg_vop_narrow(e, a, true), "splat (i32 16)");
  case TG_ALU_rndsr: return tg_vop_stochastic(e, tg_vop_canonical(e, a), w->alu_c);
  case TG_ALU_rndtf32: return tg_vop_piece(e, tg_ir_tf32_round, a);
  case TG_ALU_rndfp16: return tg_vop_widen(e, tg_vop_truncate(e, tg_vop_narrow(e, a, false)), false);
  default: return bits(e, w, tg_vop_canonical(e, a), tg_vop_canonical(e, b), tg_vop_canonical(e, c));
  }
}
