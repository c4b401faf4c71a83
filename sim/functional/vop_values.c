/* Values of a microprogram as vector IR, and the operations on them that more than one part of the code needs. */
#include "sim/functional/vop_values.h"
#include "sim/functional/ir.h"

#include <stdio.h>

tg_vop_value tg_vop_fresh(tg_vop_emitter *e) {
  tg_vop_value v = {"", false};
  snprintf(v.name, sizeof v.name, "%%v%u", e->next++);
  return v;
}

const char *tg_vop_type(const tg_vop_emitter *e) {
  static _Thread_local char text[2][24];
  static _Thread_local int turn;
  char *out = text[turn ^= 1];
  snprintf(out, sizeof text[0], "<%u x i32>", e->n);
  return out;
}

tg_vop_value tg_vop_as_float(tg_vop_emitter *e, tg_vop_value a) {
  tg_vop_value f = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = bitcast %s %s to <%u x float>\n", f.name, tg_vop_type(e), a.name, e->n);
  return f;
}

tg_vop_value tg_vop_from_float(tg_vop_emitter *e, tg_vop_value f) {
  tg_vop_value v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = bitcast <%u x float> %s to %s\n", v.name, e->n, f.name, tg_vop_type(e));
  v.raw = true;
  return v;
}

tg_vop_value tg_vop_canonical(tg_vop_emitter *e, tg_vop_value a) {
  if (!a.raw) return a;
  tg_vop_value v = tg_vop_fresh(e);
  tg_ir_canonical(e->t, e->n, v.name + 1, a.name);
  return v;
}

tg_vop_value tg_vop_integer(tg_vop_emitter *e, const char *op, tg_vop_value a, const char *b) {
  tg_vop_value v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = %s %s %s, %s\n", v.name, op, tg_vop_type(e), a.name, b);
  return v;
}

tg_vop_value tg_vop_operand(const tg_vop_emitter *e, uint32_t which) {
  if (which < TG_VX_REGS) return e->reg[which];
  if (which < TG_CONST0) return tg_vop_zero;
  tg_vop_value v = {"", false};
  snprintf(v.name, sizeof v.name, "%%con%u", which - TG_CONST0);
  return v;
}

tg_vop_value tg_vop_shuffle(tg_vop_emitter *e, tg_vop_value a, tg_vop_value b,
                            uint32_t (*index)(const tg_vop_emitter *e, uint32_t lane, uint32_t c),
                            uint32_t c) {
  tg_vop_value v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = shufflevector %s %s, ", v.name, tg_vop_type(e), a.name);
  tg_text_add(e->t, "%s %s, %s <", tg_vop_type(e), b.name, tg_vop_type(e));
  for (uint32_t i = 0; i < e->n; i++) tg_text_add(e->t, "%si32 %u", i ? ", " : "", index(e, i, c));
  tg_text_add(e->t, ">\n");
  v.raw = a.raw;
  return v;
}

tg_vop_value tg_vop_splat(tg_vop_emitter *e, const char *scalar) {
  tg_vop_value i = tg_vop_fresh(e), v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = insertelement %s poison, i32 %s, i64 0\n", i.name, tg_vop_type(e), scalar);
  tg_text_add(e->t, "  %s = shufflevector %s %s, ", v.name, tg_vop_type(e), i.name);
  tg_text_add(e->t, "%s poison, %s zeroinitializer\n", tg_vop_type(e), tg_vop_type(e));
  return v;
}

tg_vop_value tg_vop_count_up(tg_vop_emitter *e, const char *first) {
  tg_vop_value all = tg_vop_splat(e, first), v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = add %s %s, <", v.name, tg_vop_type(e), all.name);
  for (uint32_t i = 0; i < e->n; i++) tg_text_add(e->t, "%si32 %u", i ? ", " : "", i);
  tg_text_add(e->t, ">\n");
  return v;
}

tg_vop_value tg_vop_narrow(tg_vop_emitter *e, tg_vop_value a, bool bf16) {
  tg_vop_value v = tg_vop_fresh(e);
  (bf16 ? tg_ir_bf16_round : tg_ir_fp16_round)(e->t, e->n, v.name + 1, a.name);
  return v;
}

tg_vop_value tg_vop_piece(tg_vop_emitter *e, void (*piece)(tg_text *, unsigned, const char *, const char *),
                          tg_vop_value a) {
  tg_vop_value v = tg_vop_fresh(e);
  piece(e->t, e->n, v.name + 1, a.name);
  return v;
}

tg_vop_value tg_vop_truncate(tg_vop_emitter *e, tg_vop_value a) {
  tg_vop_value v = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = trunc %s %s to <%u x i16>\n", v.name, tg_vop_type(e), a.name, e->n);
  return v;
}

tg_vop_value tg_vop_widen(tg_vop_emitter *e, tg_vop_value halves, bool bf16) {
  tg_vop_value v = tg_vop_fresh(e);
  (bf16 ? tg_ir_bf16_widen : tg_ir_fp16_widen)(e->t, e->n, v.name + 1, halves.name);
  return v;
}

tg_vop_value tg_vop_stochastic(tg_vop_emitter *e, tg_vop_value a, uint32_t further) {
  tg_vop_value j0 = tg_vop_fresh(e), j1 = tg_vop_fresh(e), sum = tg_vop_fresh(e), wide = tg_vop_fresh(e),
               first = tg_vop_fresh(e), row = tg_vop_fresh(e), place = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = mul i64 %s, %%sr.j0\n", j0.name, e->j0);
  tg_text_add(e->t, "  %s = mul i64 %s, %%sr.j1\n", j1.name, e->j1);
  tg_text_add(e->t, "  %s = add i64 %s, %s\n", sum.name, j0.name, j1.name);
  tg_text_add(e->t, "  %s = add i64 %s, %%sr.at\n", wide.name, sum.name);
  tg_text_add(e->t, "  %s = trunc i64 %s to i32\n", first.name, wide.name);
  tg_text_add(e->t, "  %s = add i64 %%sr.row, %u\n", place.name, further);
  tg_text_add(e->t, "  %s = trunc i64 %s to i32\n", row.name, place.name);
  tg_vop_value column = tg_vop_piece(e, tg_ir_mix, tg_vop_count_up(e, first.name)), v = tg_vop_fresh(e);
  tg_vop_value rows = tg_vop_piece(e, tg_ir_mix, tg_vop_splat(e, row.name));
  tg_vop_value hashes = tg_vop_integer(e, "add", column, rows.name);
  tg_ir_bf16_stochastic(e->t, e->n, v.name + 1, a.name, hashes.name);
  return v;
}
