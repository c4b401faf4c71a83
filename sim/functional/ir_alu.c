/* ALU operations that take more than a line of IR, as templates: $ is the result's name and the prefix of all
 * others,
 * @ and ? the operands, ^ an @, ! the number of lanes, #i #f #l #d #b vectors of i32, float, i64, double,
 * i1. */
#include "sim/functional/ir.h"

#include <string.h>

static void vector_type(tg_text *t, unsigned n, char element) {
  const char *name = element == 'i'   ? "i32"
                     : element == 'f' ? "float"
                     : element == 'l' ? "i64"
                     : element == 'd' ? "double"
                                      : "i1";
  tg_text_add(t, "<%u x %s>", n, name);
}

static void expand(tg_text *t, unsigned n, const char *name, const char *a, const char *b, const char *text) {
  while (*text) {
    size_t plain = strcspn(text, "$@?!^#");
    tg_text_add(t, "%.*s", (int)plain, text);
    text += plain;
    switch (*text) {
    case '$': tg_text_add(t, "%s", name); break;
    case '@': tg_text_add(t, "%s", a); break;
    case '?': tg_text_add(t, "%s", b); break;
    case '^': tg_text_add(t, "@"); break;
    case '!': tg_text_add(t, "%u", n); break;
    case '#': vector_type(t, n, *++text); break;
    default: return;
    }
    text++;
  }
}

/* 1/a of the middle of the piece, on the host a division; rounded to 10 bits, the exponent moved. */
void tg_ir_rcpseed(tg_text *t, unsigned n, const char *name, const char *in) {
  expand(t, n, name, in, "",
         "  %$.s = and #i @, splat (i32 -2147483648)\n"
         "  %$.e = and #i @, splat (i32 2139095040)\n"
         "  %$.k = and #i @, splat (i32 8355840)\n"
         "  %$.m = or #i %$.k, splat (i32 1065369600)\n"
         "  %$.mf = bitcast #i %$.m to #f\n"
         "  %$.y = fdiv #f splat (float 1.0), %$.mf\n"
         "  %$.yb = bitcast #f %$.y to #i\n"
         "  %$.yr = add #i %$.yb, splat (i32 8192)\n"
         "  %$.yt = and #i %$.yr, splat (i32 -16384)\n"
         "  %$.u = add #i %$.yt, splat (i32 1065353216)\n"
         "  %$.r = sub #i %$.u, %$.e\n"
         "  %$.low = icmp eq #i %$.e, zeroinitializer\n"
         "  %$.high = icmp uge #i %$.e, splat (i32 2122317824)\n"
         "  %$.r1 = select #b %$.low, #i splat (i32 2139095040), #i %$.r\n"
         "  %$.r2 = select #b %$.high, #i zeroinitializer, #i %$.r1\n"
         "  %$.r3 = or #i %$.r2, %$.s\n"
         "  %$.f = bitcast #i @ to #f\n"
         "  %$.n = fcmp uno #f %$.f, zeroinitializer\n"
         "  %$ = select #b %$.n, #i splat (i32 2143289344), #i %$.r3\n");
}

void tg_ir_rsqseed(tg_text *t, unsigned n, const char *name, const char *in) {
  expand(t, n, name, in, "",
         "  %$.s = and #i @, splat (i32 -2147483648)\n"
         "  %$.es = lshr #i @, splat (i32 23)\n"
         "  %$.e = and #i %$.es, splat (i32 255)\n"
         "  %$.o = and #i %$.e, splat (i32 1)\n"
         "  %$.odd = icmp ne #i %$.o, zeroinitializer\n"
         "  %$.base = select #b %$.odd, #i splat (i32 1065353216), #i splat (i32 1073741824)\n"
         "  %$.k = and #i @, splat (i32 8323072)\n"
         "  %$.k1 = or #i %$.k, splat (i32 32768)\n"
         "  %$.m = or #i %$.k1, %$.base\n"
         "  %$.mf = bitcast #i %$.m to #f\n"
         "  %$.q = call #f ^llvm.sqrt.v!f32(#f %$.mf)\n"
         "  %$.y = fdiv #f splat (float 1.0), %$.q\n"
         "  %$.yb = bitcast #f %$.y to #i\n"
         "  %$.yr = add #i %$.yb, splat (i32 8192)\n"
         "  %$.yt = and #i %$.yr, splat (i32 -16384)\n"
         "  %$.e1 = add #i %$.e, splat (i32 1)\n"
         "  %$.e2 = lshr #i %$.e1, splat (i32 1)\n"
         "  %$.e3 = sub #i %$.e2, splat (i32 64)\n"
         "  %$.h = shl #i %$.e3, splat (i32 23)\n"
         "  %$.r = sub #i %$.yt, %$.h\n"
         "  %$.inf = or #i %$.s, splat (i32 2139095040)\n"
         "  %$.low = icmp eq #i %$.e, zeroinitializer\n"
         "  %$.high = icmp eq #i @, splat (i32 2139095040)\n"
         "  %$.r1 = select #b %$.high, #i zeroinitializer, #i %$.r\n"
         "  %$.r2 = select #b %$.low, #i %$.inf, #i %$.r1\n"
         "  %$.f = bitcast #i @ to #f\n"
         "  %$.n = fcmp ult #f %$.f, zeroinitializer\n"
         "  %$ = select #b %$.n, #i splat (i32 2143289344), #i %$.r2\n");
}

/* %$.m: magnitude; %$.t: subnormal; %$.x: the magnitude normalised by 2^24 where it is. */
static const char normalise[] = "  %$.m = and #i @, splat (i32 2147483647)\n"
                                "  %$.t = icmp ult #i %$.m, splat (i32 8388608)\n"
                                "  %$.mf = bitcast #i %$.m to #f\n"
                                "  %$.up = fmul #f %$.mf, splat (float 16777216.0)\n"
                                "  %$.ub = bitcast #f %$.up to #i\n"
                                "  %$.x = select #b %$.t, #i %$.ub, #i %$.m\n"
                                "  %$.n = icmp ugt #i %$.m, splat (i32 2139095040)\n";

void tg_ir_exponent(tg_text *t, unsigned n, const char *name, const char *in) {
  expand(t, n, name, in, "", normalise);
  expand(t, n, name, in, "",
         "  %$.e = lshr #i %$.x, splat (i32 23)\n"
         "  %$.b = select #b %$.t, #i splat (i32 151), #i splat (i32 127)\n"
         "  %$.k = sub #i %$.e, %$.b\n"
         "  %$.kf = sitofp #i %$.k to #f\n"
         "  %$.kb = bitcast #f %$.kf to #i\n"
         "  %$.z = icmp eq #i %$.m, zeroinitializer\n"
         "  %$.i = icmp eq #i %$.m, splat (i32 2139095040)\n"
         "  %$.r = select #b %$.z, #i splat (i32 -8388608), #i %$.kb\n"
         "  %$.r1 = select #b %$.i, #i splat (i32 2139095040), #i %$.r\n"
         "  %$ = select #b %$.n, #i splat (i32 2143289344), #i %$.r1\n");
}

void tg_ir_mantissa(tg_text *t, unsigned n, const char *name, const char *in) {
  expand(t, n, name, in, "", normalise);
  expand(t, n, name, in, "",
         "  %$.s = and #i @, splat (i32 -2147483648)\n"
         "  %$.k = and #i %$.x, splat (i32 8388607)\n"
         "  %$.r = or #i %$.k, splat (i32 1065353216)\n"
         "  %$.r1 = or #i %$.r, %$.s\n"
         "  %$ = select #b %$.n, #i splat (i32 2143289344), #i %$.r1\n");
}

/* In double precision, where no product of a float with 2^-512..2^512 rounds; the integer is read off a sum,
 * which is defined for NaN as well. */
void tg_ir_scale(tg_text *t, unsigned n, const char *name, const char *in, const char *by) {
  expand(t, n, name, in, by,
         "  %$.a = bitcast #i @ to #f\n"
         "  %$.b = bitcast #i ? to #f\n"
         "  %$.fl = call #f ^llvm.floor.v!f32(#f %$.b)\n"
         "  %$.lo = call #f ^llvm.maximum.v!f32(#f %$.fl, #f splat (float -512.0))\n"
         "  %$.hi = call #f ^llvm.minimum.v!f32(#f %$.lo, #f splat (float 512.0))\n"
         "  %$.w = fpext #f %$.hi to #d\n"
         "  %$.g = fadd #d %$.w, splat (double 4503599627371519.0)\n" /* 2^52 + 1023 */
         "  %$.gb = bitcast #d %$.g to #l\n"
         "  %$.pb = shl #l %$.gb, splat (i64 52)\n"
         "  %$.p = bitcast #l %$.pb to #d\n"
         "  %$.x = fpext #f %$.a to #d\n"
         "  %$.y = fmul #d %$.x, %$.p\n"
         "  %$.r = fptrunc #d %$.y to #f\n"
         "  %$.rb = bitcast #f %$.r to #i\n"
         "  %$.n = fcmp uno #f %$.b, zeroinitializer\n"
         "  %$ = select #b %$.n, #i splat (i32 2143289344), #i %$.rb\n");
}
