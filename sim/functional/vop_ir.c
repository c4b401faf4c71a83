/* A microprogram as vector IR. Rows are independent, so the function goes row by row instead of slot by slot:
 * registers are SSA values (vop_values.h), those that a repeated segment writes are phi nodes of its loop. */
#include "sim/functional/ir.h"
#include "sim/functional/vop.h"
#include "sim/functional/vop_values.h"

#include <stdio.h>
#include <string.h>

/* Half c from the second vector. */
static uint32_t half_of(const tg_vop_emitter *e, uint32_t lane, uint32_t c) {
  return lane / e->p == c ? e->n + lane : lane;
}

/* Pointer to what stream t addresses in this row and j. */
static tg_vop_value stream_pointer(tg_vop_emitter *e, uint32_t t, uint32_t half) {
  const tg_stream *s = tg_stream_of(e->in, (int)t);
  tg_vop_value o0 = tg_vop_fresh(e), o1 = tg_vop_fresh(e), a0 = tg_vop_fresh(e), a1 = tg_vop_fresh(e),
               row = tg_vop_fresh(e), byte = tg_vop_fresh(e), at = tg_vop_fresh(e);
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

static tg_vop_value load_half(tg_vop_emitter *e, tg_vop_value at, uint32_t half, tg_vop_value old) {
  tg_vop_value part = tg_vop_fresh(e), wide = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = load <%u x i32>, ptr %s, align 4\n", part.name, e->p, at.name);
  tg_text_add(e->t, "  %s = shufflevector <%u x i32> %s, <%u x i32> poison, %s <", wide.name, e->p, part.name,
              e->p, tg_vop_type(e));
  for (uint32_t i = 0; i < e->n; i++) tg_text_add(e->t, "%si32 %u", i ? ", " : "", i % e->p);
  tg_text_add(e->t, ">\n");
  return tg_vop_shuffle(e, tg_vop_canonical(e, old), wide, half_of, half);
}

static tg_vop_value load(tg_vop_emitter *e, const tg_ucode *w) {
  const tg_stream *s = tg_stream_of(e->in, w->ld_stream);
  tg_vop_value at = stream_pointer(e, w->ld_stream, w->ld_half), v = tg_vop_fresh(e);
  switch (s->kind) {
  case TG_STREAM_FP32: return load_half(e, at, w->ld_half, e->reg[w->ld_dst]);
  case TG_STREAM_ACC:
    tg_text_add(e->t, "  %s = load %s, ptr %s, align 4\n", v.name, tg_vop_type(e), at.name);
    return v;
  case TG_STREAM_SPLAT32: {
    tg_vop_value lane = tg_vop_fresh(e);
    tg_text_add(e->t, "  %s = getelementptr i32, ptr %s, i64 %u\n", lane.name, at.name, (unsigned)s->lane);
    tg_text_add(e->t, "  %s = load i32, ptr %s, align 4\n", v.name, lane.name);
    return tg_vop_splat(e, v.name);
  }
  default:
    tg_text_add(e->t, "  %s = load <%u x i16>, ptr %s, align 2\n", v.name, e->n, at.name);
    return tg_vop_widen(e, v, s->kind == TG_STREAM_BF16);
  }
}

static void store(tg_vop_emitter *e, const tg_ucode *w, tg_vop_value a) {
  const tg_stream *s = tg_stream_of(e->in, w->st_stream);
  tg_vop_value at = stream_pointer(e, w->st_stream, w->st_half);
  if (s->kind != TG_STREAM_FP32) {
    tg_vop_value halves =
        tg_vop_truncate(e, s->kind == TG_STREAM_BF16SR
                               ? tg_vop_integer(e, "lshr", tg_vop_stochastic(e, a, 0), "splat (i32 16)")
                               : tg_vop_narrow(e, a, s->kind == TG_STREAM_BF16));
    tg_text_add(e->t, "  store <%u x i16> %s, ptr %s, align 2\n", e->n, halves.name, at.name);
    return;
  }
  a.raw = true; /* what was loaded or made of bits may be any NaN */
  tg_vop_value v = tg_vop_canonical(e, a), part = tg_vop_fresh(e);
  tg_text_add(e->t, "  %s = shufflevector %s %s, ", part.name, tg_vop_type(e), v.name);
  tg_text_add(e->t, "%s poison, <%u x i32> <", tg_vop_type(e), e->p);
  for (uint32_t i = 0; i < e->p; i++)
    tg_text_add(e->t, "%si32 %u", i ? ", " : "", i + (w->st_half ? e->p : 0));
  tg_text_add(e->t, ">\n  store <%u x i32> %s, ptr %s, align 4\n", e->p, part.name, at.name);
}

/* All slots read the state before the word. */
static void word(tg_vop_emitter *e, const tg_ucode *w) {
  tg_vop_value result = tg_vop_zero, loaded = tg_vop_zero,
               stored = w->st_on ? tg_vop_operand(e, w->st_src) : tg_vop_zero;
  if (w->alu_op != TG_ALU_nop) result = tg_vop_alu(e, w);
  if (w->ld_on) loaded = load(e, w);
  if (w->st_on) store(e, w, stored);
  if (w->ld_on) e->reg[w->ld_dst] = loaded;
  if (w->alu_op != TG_ALU_nop) e->reg[w->alu_dst] = result;
}

static void segment_words(tg_vop_emitter *e, int q) {
  for (int64_t i = 0; i < e->in->seg_len[q]; i++) {
    tg_ucode w = tg_ucode_decode(e->words[e->in->seg_begin[q] + i]);
    word(e, &w);
  }
}

static uint32_t written(const tg_vop_emitter *e, int q) {
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
static void repeated_segment(tg_vop_emitter *e, int q, const char *before) {
  uint32_t set = written(e, q);
  for (int r = 0; r < TG_VX_REGS; r++)
    if (set >> r & 1) e->reg[r] = tg_vop_canonical(e, e->reg[r]);
  tg_text_add(e->t, "  br label %%seg%d\nseg%d:\n", q, q);
  for (int r = 0; r < TG_VX_REGS; r++) {
    if (!(set >> r & 1)) continue;
    tg_vop_value v = tg_vop_fresh(e);
    tg_text_add(e->t, "  %s = phi %s [ %s, %%%s ], [ %%end%d.%d, %%seg%d ]\n", v.name, tg_vop_type(e),
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
    tg_vop_value v = tg_vop_canonical(e, e->reg[r]);
    tg_text_add(e->t, "  %%end%d.%d = bitcast %s %s to ", q, r, tg_vop_type(e), v.name);
    tg_text_add(e->t, "%s\n", tg_vop_type(e));
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

static void segments(tg_vop_emitter *e) {
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

/* Splats of the constants that the microprogram names. */
static void constants(tg_vop_emitter *e) {
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
    tg_text_add(e->t, "  %%con%u.i = insertelement %s poison, i32 %%con%u.s, i64 0\n", c, tg_vop_type(e), c);
    tg_text_add(e->t, "  %%con%u = shufflevector %s %%con%u.i, ", c, tg_vop_type(e), c);
    tg_text_add(e->t, "%s poison, %s zeroinitializer\n", tg_vop_type(e), tg_vop_type(e));
  }
}

static void row_addresses(tg_vop_emitter *e) {
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
static void next_row(tg_vop_emitter *e) {
  tg_text_add(e->t, "next:\n  %%rho.n = add i64 %%rho, 1\n  %%r2.i = add i64 %%r2, 1\n"
                    "  %%w2 = icmp eq i64 %%r2.i, %%radix2\n  %%r2.n = select i1 %%w2, i64 0, i64 %%r2.i\n"
                    "  %%c2 = zext i1 %%w2 to i64\n  %%r1.i = add i64 %%r1, %%c2\n"
                    "  %%w1 = icmp eq i64 %%r1.i, %%radix1\n  %%r1.n = select i1 %%w1, i64 0, i64 %%r1.i\n"
                    "  %%c1 = zext i1 %%w1 to i64\n  %%r0.n = add i64 %%r0, %%c1\n"
                    "  %%more = icmp slt i64 %%rho.n, %%rows\n  br i1 %%more, label %%row, label %%done\n"
                    "done:\n  ret void\n}\n");
}

void tg_vop_emit(tg_text *text, const tg_params *params, const tg_vx_instr *in, const uint64_t *words) {
  tg_vop_emitter e = {.t = text, .in = in, .words = words, .p = params->p, .n = 2 * params->p};
  for (int r = 0; r < TG_VX_REGS; r++) e.reg[r] = tg_vop_zero;
  tg_text_add(text, "define void @" TG_KERNEL
                    "(ptr %%pad, ptr %%acc, ptr %%constants, ptr %%arguments) {\nentry:\n");
  tg_vop_emit_arguments(&e);
  constants(&e);
  tg_text_add(text, "  %%any = icmp sgt i64 %%rows, 0\n  br i1 %%any, label %%row, label %%done\nrow:\n");
  static const char *const counters[] = {"rho", "r0", "r1", "r2"};
  for (int i = 0; i < 4; i++)
    tg_text_add(text, "  %%%s = phi i64 [ 0, %%entry ], [ %%%s.n, %%next ]\n", counters[i], counters[i]);
  row_addresses(&e);
  segments(&e);
  next_row(&e);
}
