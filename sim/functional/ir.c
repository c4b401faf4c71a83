#include "sim/functional/ir.h"

void tg_ir_declare(tg_text *t, unsigned n) {
  tg_text_add(t, "declare <%u x float> @llvm.fma.v%uf32(<%u x float>, <%u x float>, <%u x float>)\n", n, n, n,
              n, n);
  const char *const two[] = {"minimum", "maximum"};
  for (int i = 0; i < 2; i++)
    tg_text_add(t, "declare <%u x float> @llvm.%s.v%uf32(<%u x float>, <%u x float>)\n", n, two[i], n, n, n);
  const char *const one[] = {"roundeven", "floor", "sqrt"};
  for (int i = 0; i < 3; i++)
    tg_text_add(t, "declare <%u x float> @llvm.%s.v%uf32(<%u x float>)\n", n, one[i], n, n);
  tg_text_add(t, "declare <%u x i32> @llvm.fptosi.sat.v%ui32.v%uf32(<%u x float>)\n", n, n, n, n);
  tg_text_add(t,
              "declare <%u x i32> @llvm.masked.gather.v%ui32.v%up0(<%u x ptr>, i32, <%u x i1>, <%u x i32>)\n",
              n, n, n, n, n, n);
}

/* One binary operation with a constant, the most common line. */
static void with(tg_text *t, unsigned n, const char *name, const char *suffix, const char *op, const char *in,
                 const char *in_suffix, unsigned constant) {
  tg_text_add(t, "  %%%s%s = %s <%u x i32> %s%s, splat (i32 %d)\n", name, suffix, op, n, in, in_suffix,
              (int)constant);
}

static void compare(tg_text *t, unsigned n, const char *name, const char *suffix, const char *condition,
                    const char *in, const char *in_suffix, unsigned constant) {
  tg_text_add(t, "  %%%s%s = icmp %s <%u x i32> %s%s, splat (i32 %d)\n", name, suffix, condition, n, in,
              in_suffix, (int)constant);
}

/* %name<s> for later lines of the same piece. */
#define OWN(buffer, name)                                                                                    \
  char buffer[64];                                                                                           \
  snprintf(buffer, sizeof buffer, "%%%s", name)

#include <stdio.h>

void tg_ir_canonical(tg_text *t, unsigned n, const char *name, const char *in) {
  tg_text_add(t, "  %%%s.f = bitcast <%u x i32> %s to <%u x float>\n", name, n, in, n);
  tg_text_add(t, "  %%%s.n = fcmp uno <%u x float> %%%s.f, zeroinitializer\n", name, n, name);
  tg_text_add(t, "  %%%s = select <%u x i1> %%%s.n, <%u x i32> splat (i32 2143289344), <%u x i32> %s\n", name,
              n, name, n, n, in);
}

void tg_ir_bf16_widen(tg_text *t, unsigned n, const char *name, const char *in) {
  OWN(own, name);
  tg_text_add(t, "  %%%s.z = zext <%u x i16> %s to <%u x i32>\n", name, n, in, n);
  with(t, n, name, "", "shl", own, ".z", 16);
}

/* The magnitude, moved to FP32's fields, times 2^112: exact also for subnormals. Infinities and NaNs
 * apart. */
void tg_ir_fp16_widen(tg_text *t, unsigned n, const char *name, const char *in) {
  OWN(own, name);
  tg_text_add(t, "  %%%s.z = zext <%u x i16> %s to <%u x i32>\n", name, n, in, n);
  with(t, n, name, ".s", "and", own, ".z", 0x8000);
  with(t, n, name, ".sh", "shl", own, ".s", 16);
  with(t, n, name, ".m", "and", own, ".z", 0x7fff);
  with(t, n, name, ".mh", "shl", own, ".m", 13);
  tg_text_add(t, "  %%%s.mf = bitcast <%u x i32> %%%s.mh to <%u x float>\n", name, n, name, n);
  tg_text_add(t, "  %%%s.p = fmul <%u x float> %%%s.mf, splat (float 0x46F0000000000000)\n", name, n, name);
  tg_text_add(t, "  %%%s.pb = bitcast <%u x float> %%%s.p to <%u x i32>\n", name, n, name, n);
  with(t, n, name, ".i", "or", own, ".mh", 0x7f800000);
  compare(t, n, name, ".big", "uge", own, ".m", 0x7c00);
  tg_text_add(t, "  %%%s.v = select <%u x i1> %%%s.big, <%u x i32> %%%s.i, <%u x i32> %%%s.pb\n", name, n,
              name, n, name, n, name);
  tg_text_add(t, "  %%%s = or <%u x i32> %%%s.v, %%%s.sh\n", name, n, name, name);
}

/* %NAME.r: the bits plus what rounds the `drop` lowest of them to nearest even once they are cut off;
 * %NAME.nan. */
static void add_rounding(tg_text *t, unsigned n, const char *name, const char *in, unsigned drop) {
  OWN(own, name);
  with(t, n, name, ".m", "and", in, "", 0x7fffffff);
  compare(t, n, name, ".nan", "ugt", own, ".m", 0x7f800000);
  with(t, n, name, ".h", "lshr", in, "", drop);
  with(t, n, name, ".o", "and", own, ".h", 1);
  with(t, n, name, ".b", "add", own, ".o", (1u << (drop - 1)) - 1);
  tg_text_add(t, "  %%%s.r = add <%u x i32> %s, %%%s.b\n", name, n, in, name);
}

static void choose_nan(tg_text *t, unsigned n, const char *name, unsigned nan) {
  tg_text_add(t, "  %%%s = select <%u x i1> %%%s.nan, <%u x i32> splat (i32 %u), <%u x i32> %%%s.v\n", name,
              n, name, n, nan, n, name);
}

void tg_ir_bf16_round(tg_text *t, unsigned n, const char *name, const char *in) {
  OWN(own, name);
  add_rounding(t, n, name, in, 16);
  with(t, n, name, ".v", "lshr", own, ".r", 16);
  choose_nan(t, n, name, 0x7fc0);
}

void tg_ir_tf32_round(tg_text *t, unsigned n, const char *name, const char *in) {
  OWN(own, name);
  add_rounding(t, n, name, in, 13);
  with(t, n, name, ".v", "and", own, ".r", 0xffffe000u);
  choose_nan(t, n, name, 0x7fc00000);
}

/* As tg_fp16_from_f32; subnormal results by adding 0.5, whose ulp is the smallest FP16. */
void tg_ir_fp16_round(tg_text *t, unsigned n, const char *name, const char *in) {
  OWN(own, name);
  with(t, n, name, ".sh", "lshr", in, "", 16);
  with(t, n, name, ".s", "and", own, ".sh", 0x8000);
  with(t, n, name, ".m", "and", in, "", 0x7fffffff);
  compare(t, n, name, ".nan", "ugt", own, ".m", 0x7f800000);
  compare(t, n, name, ".inf", "uge", own, ".m", 0x477ff000);
  compare(t, n, name, ".sub", "ult", own, ".m", 0x38800000);
  with(t, n, name, ".t", "lshr", own, ".m", 13);
  with(t, n, name, ".o", "and", own, ".t", 1);
  with(t, n, name, ".b", "add", own, ".m", 0xc8000fffu);
  tg_text_add(t, "  %%%s.r = add <%u x i32> %%%s.b, %%%s.o\n", name, n, name, name);
  with(t, n, name, ".q", "lshr", own, ".r", 13);
  tg_text_add(t, "  %%%s.mf = bitcast <%u x i32> %%%s.m to <%u x float>\n", name, n, name, n);
  tg_text_add(t, "  %%%s.a = fadd <%u x float> %%%s.mf, splat (float 5.000000e-01)\n", name, n, name);
  tg_text_add(t, "  %%%s.ab = bitcast <%u x float> %%%s.a to <%u x i32>\n", name, n, name, n);
  with(t, n, name, ".d", "sub", own, ".ab", 0x3f000000);
  tg_text_add(t, "  %%%s.v0 = select <%u x i1> %%%s.sub, <%u x i32> %%%s.d, <%u x i32> %%%s.q\n", name, n,
              name, n, name, n, name);
  tg_text_add(t, "  %%%s.v1 = select <%u x i1> %%%s.inf, <%u x i32> splat (i32 31744), <%u x i32> %%%s.v0\n",
              name, n, name, n, n, name);
  tg_text_add(t, "  %%%s.v2 = or <%u x i32> %%%s.v1, %%%s.s\n", name, n, name, name);
  tg_text_add(t, "  %%%s = select <%u x i1> %%%s.nan, <%u x i32> splat (i32 32256), <%u x i32> %%%s.v2\n",
              name, n, name, n, n, name);
}

void tg_ir_mix(tg_text *t, unsigned n, const char *name, const char *in) {
  static const struct {
    const char *shift, *combine;
    unsigned by;
  } steps[] = {{"lshr", "xor", 16}, {"shl", "add", 14}, {"lshr", "xor", 4}, {"shl", "add", 8},
               {"lshr", "xor", 2},  {"shl", "add", 7},  {"lshr", "xor", 15}};
  enum { STEPS = sizeof steps / sizeof *steps };
  char from[64];
  snprintf(from, sizeof from, "%s", in);
  for (unsigned i = 0; i < STEPS; i++) {
    char suffix[8] = "";
    if (i + 1 < STEPS) snprintf(suffix, sizeof suffix, ".x%u", i);
    tg_text_add(t, "  %%%s.y%u = %s <%u x i32> %s, splat (i32 %u)\n", name, i, steps[i].shift, n, from,
                steps[i].by);
    tg_text_add(t, "  %%%s%s = %s <%u x i32> %s, %%%s.y%u\n", name, suffix, steps[i].combine, n, from, name,
                i);
    snprintf(from, sizeof from, "%%%s%s", name, suffix);
  }
}

void tg_ir_bf16_stochastic(tg_text *t, unsigned n, const char *name, const char *in, const char *hashes) {
  OWN(own, name);
  char mixed[72], kept[72];
  snprintf(mixed, sizeof mixed, "%s.x", name);
  snprintf(kept, sizeof kept, "%s.k", own);
  tg_ir_mix(t, n, mixed, hashes);
  with(t, n, name, ".r", "lshr", own, ".x", 16);
  tg_text_add(t, "  %%%s.s = add <%u x i32> %s, %%%s.r\n", name, n, in, name);
  with(t, n, name, ".c", "and", own, ".s", 0xffff0000u);
  with(t, n, name, ".m", "and", in, "", 0x7fffffff);
  compare(t, n, name, ".e", "uge", own, ".m", 0x7f800000);
  tg_text_add(t, "  %%%s.k = select <%u x i1> %%%s.e, <%u x i32> %s, <%u x i32> %%%s.c\n", name, n, name, n,
              in, n, name);
  tg_ir_canonical(t, n, name, kept);
}
