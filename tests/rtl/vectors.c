#include "tests/rtl/vectors.h"

#include "sim/machine/isa.h"
#include "sim/machine/numerics.h"

#include <math.h>
#include <string.h>

const tg_rtl_format tg_rtl_formats[TG_RTL_FORMATS] = {
    {"fp32", TG_FMT_FP32, 32, 8, 23, 0},
    {"bf16", TG_FMT_BF16, 16, 8, 7, 0},
    {"fp16", TG_FMT_FP16, 16, 5, 10, 0},
    {"tf32", TG_FMT_TF32, 32, 8, 10, 13},
};
const tg_rtl_format tg_rtl_fp32 = {"fp32", TG_FMT_FP32, 32, 8, 23, 0};

const tg_rtl_format *tg_rtl_format_named(const char *name) {
  for (int i = 0; i < TG_RTL_FORMATS; i++)
    if (!strcmp(tg_rtl_formats[i].name, name)) return &tg_rtl_formats[i];
  return NULL;
}

static uint32_t infinite(const tg_rtl_format *f) { return (1u << f->exponent_bits) - 1; }
static int bias(const tg_rtl_format *f) { return (1 << (f->exponent_bits - 1)) - 1; }

static uint32_t assemble(const tg_rtl_format *f, uint32_t sign, uint32_t exponent, uint32_t fraction) {
  return (sign & 1) << (f->bits - 1) | (exponent << f->fraction_bits | fraction) << f->ignored;
}

uint32_t tg_widened(const tg_rtl_format *f, uint32_t stored) {
  uint32_t exponent = stored >> (f->ignored + f->fraction_bits) & infinite(f);
  uint32_t fraction = stored >> f->ignored & ((1u << f->fraction_bits) - 1);
  float x;
  if (exponent == infinite(f))
    x = fraction ? NAN : INFINITY;
  else
    x = (float)ldexp(exponent ? fraction + (1u << f->fraction_bits) : fraction,
                     (int)(exponent ? exponent : 1) - bias(f) - (int)f->fraction_bits);
  return tg_f32_bits(stored >> (f->bits - 1) & 1 ? -x : x);
}

/* 2^e as a double, -1022 <= e <= 1023. */
static double power(int e) {
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double x;
  memcpy(&x, &bits, 8);
  return x;
}

/* The host's adder rounds: a number 2^52 times as large as the last place that is kept is added and taken
 * away. */
uint32_t tg_rounded(const tg_rtl_format *f, double x) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  uint32_t sign = (uint32_t)(bits >> 63);
  if (x != x) return assemble(f, 0, infinite(f), 1u << (f->fraction_bits - 1));
  double magnitude = sign ? -x : x;
  int exponent = (int)(bits >> 52 & 2047) - 1023;
  if (exponent < 1 - bias(f)) exponent = 1 - bias(f);
  if (exponent > bias(f)) return assemble(f, sign, infinite(f), 0);
  volatile double large = power(exponent - (int)f->fraction_bits + 52);
  double rounded = (magnitude + large) - large;
  if (rounded >= power(bias(f)) * 2) return assemble(f, sign, infinite(f), 0);
  /* in units of the smallest subnormal of its binade this is a whole number */
  double units = rounded * power((int)f->fraction_bits - exponent);
  uint32_t whole = (uint32_t)units, biased = (uint32_t)(exponent + bias(f) - 1);
  return assemble(f, sign, 0, whole + (biased << f->fraction_bits));
}

uint32_t tg_host_fma(uint32_t a, uint32_t b, uint32_t c) {
  return tg_canonical(tg_f32_bits(fmaf(tg_bits_f32(a), tg_bits_f32(b), tg_bits_f32(c))));
}

/* ---- directed ---- */

enum { FRACTIONS = 7, EXPONENTS = 8, ADDENDS = 24, DISTANCES = 161, LOWS = 48, TIES = 24 };

static uint32_t fraction(const tg_rtl_format *f, uint64_t which) {
  uint32_t all = (1u << f->fraction_bits) - 1;
  const uint32_t of[FRACTIONS] = {0, 1, all >> 1, all / 2 + 1, all / 2 + 2, all - 1, all};
  return of[which];
}
static uint32_t exponent(const tg_rtl_format *f, uint64_t which) {
  uint32_t middle = (uint32_t)bias(f);
  const uint32_t of[EXPONENTS] = {0, 1, 2, middle - 1, middle, middle + 1, infinite(f) - 1, infinite(f)};
  return of[which];
}

/* Specials are the boundary exponents with three fractions: zeros, subnormals, powers of two, the largest,
 * infinities, NaN. */
enum { SPECIALS = EXPONENTS * 3 };
static uint32_t special(const tg_rtl_format *f, uint64_t sign, uint64_t which) {
  static const uint8_t of[] = {0, 1, FRACTIONS - 1};
  return assemble(f, (uint32_t)sign, exponent(f, which / 3), fraction(f, of[which % 3]));
}

static uint32_t addend(uint64_t sign, uint64_t which) {
  static const uint32_t of[ADDENDS] = {
      0,          1,          2,          0x3fffff,   0x400000,   0x7ffffe,   0x7fffff,   0x800000,
      0x800001,   0xffffff,   0x1000000,  0x33800000, 0x34000000, 0x3effffff, 0x3f7fffff, 0x3f800000,
      0x3f800001, 0x4b7fffff, 0x7effffff, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fffffff};
  return of[which] | (uint32_t)sign << 31;
}

/* Takes the digit of radix `n` off an index. */
static uint64_t digit(uint64_t *index, uint64_t n) {
  uint64_t d = *index % n;
  *index /= n;
  return d;
}

static const uint64_t sections[] = {
    8ull * SPECIALS * SPECIALS * ADDENDS,
    2ull * EXPONENTS *EXPONENTS *FRACTIONS *FRACTIONS *EXPONENTS *FRACTIONS,
    2ull * DISTANCES *FRACTIONS *FRACTIONS *FRACTIONS,
    4ull * LOWS *FRACTIONS *FRACTIONS *ADDENDS,
    4ull * TIES *FRACTIONS *FRACTIONS * 2,
};

uint64_t tg_fma_directed_count(const tg_rtl_format *f) {
  (void)f;
  uint64_t count = 0;
  for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) count += sections[s];
  return count;
}

/* Two operands with this sum of unbiased exponents, or as near as the format comes. */
static void share(const tg_rtl_format *f, int sum, uint32_t *a, uint32_t *b) {
  int low = 1 - bias(f), high = bias(f), x = sum / 2;
  x = x < low ? low : x > high ? high : x;
  int y = sum - x;
  y = y < low ? low : y > high ? high : y;
  *a = (uint32_t)(x + bias(f));
  *b = (uint32_t)(y + bias(f));
}
static uint32_t clamped(int biased) { return (uint32_t)(biased < 0 ? 0 : biased > 254 ? 254 : biased); }

tg_fma_vector tg_fma_directed(const tg_rtl_format *f, uint64_t index) {
  const tg_rtl_format *w = &tg_rtl_fp32;
  int kind = 0;
  while (index >= sections[kind]) index -= sections[kind++];
  uint64_t sign = digit(&index, kind == 0 ? 8 : kind < 3 ? 2 : 4);
  tg_fma_vector v;
  uint32_t ea, eb;
  switch (kind) {
  case 0: /* specials with specials */
    v.a = special(f, sign & 1, digit(&index, SPECIALS));
    v.b = special(f, sign >> 1 & 1, digit(&index, SPECIALS));
    v.c = addend(sign >> 2, index);
    break;
  case 1: /* boundary exponents with boundary significands */
    v.a = assemble(f, 0, exponent(f, digit(&index, EXPONENTS)), fraction(f, digit(&index, FRACTIONS)));
    v.b = assemble(f, 0, exponent(f, digit(&index, EXPONENTS)), fraction(f, digit(&index, FRACTIONS)));
    v.c = assemble(w, (uint32_t)sign, exponent(w, digit(&index, EXPONENTS)), fraction(w, index));
    break;
  case 2: /* every distance of the addend from the product */
    v.a = assemble(f, 0, (uint32_t)bias(f), fraction(f, digit(&index, FRACTIONS)));
    v.b = assemble(f, (uint32_t)sign, (uint32_t)bias(f), fraction(f, digit(&index, FRACTIONS)));
    v.c = (uint32_t)digit(&index, DISTANCES);
    v.c = assemble(w, 0, 127 + v.c - DISTANCES / 2, fraction(w, index));
    break;
  case 3: /* subnormal results and their neighbourhood */
    share(f, (int)digit(&index, LOWS) - 160, &ea, &eb);
    v.a = assemble(f, (uint32_t)sign & 1, ea, fraction(f, digit(&index, FRACTIONS)));
    v.b = assemble(f, 0, eb, fraction(f, digit(&index, FRACTIONS)));
    v.c = addend(sign >> 1, index);
    if (index >= 11 && index < 19) v.c = (uint32_t)(sign >> 1) << 31 | 0x400000u << (index - 11); /* small */
    break;
  default: /* the product is half a unit in the last place of the addend, or of itself */
    share(f, (int)digit(&index, TIES) * 11 - 130, &ea, &eb);
    v.a = assemble(f, (uint32_t)sign & 1, ea, fraction(f, digit(&index, FRACTIONS)));
    v.b = assemble(f, 0, eb, 0);
    uint64_t which = digit(&index, FRACTIONS);
    int product = (int)ea + (int)eb - 2 * bias(f);
    v.c = assemble(w, (uint32_t)sign >> 1, clamped(product + 24 + (int)index + 127), fraction(w, which));
    break;
  }
  return v;
}

/* ---- random ---- */

static uint32_t random_fraction(const tg_rtl_format *f, tg_random *r) {
  return tg_draw_fraction(r) >> (23 - f->fraction_bits);
}

static uint32_t random_operand(const tg_rtl_format *f, tg_random *r, bool middling) {
  uint32_t e;
  switch (middling ? 1 : tg_below(r, 4)) {
  case 0: e = exponent(f, tg_below(r, EXPONENTS)); break;
  case 1: e = (uint32_t)bias(f) - 4 + tg_below(r, 8); break;
  default: e = tg_below(r, infinite(f) + 1); break;
  }
  uint32_t x = assemble(f, tg_draw(r), e, random_fraction(f, r));
  return x | (tg_draw(r) & ((1u << f->ignored) - 1)); /* bits that do not count */
}

tg_fma_vector tg_fma_random(const tg_rtl_format *f, tg_random *r) {
  uint32_t kind = tg_below(r, 8);
  tg_fma_vector v;
  v.a = random_operand(f, r, kind == 5);
  v.b = random_operand(f, r, kind == 5);
  double product = (double)tg_bits_f32(tg_widened(f, v.a)) * tg_bits_f32(tg_widened(f, v.b)); /* exact */
  uint32_t near = tg_f32_bits((float)-product);
  switch (kind) {
  case 0: /* cancels all but the last places */ v.c = near + tg_below(r, 5) - 2; break;
  case 1: /* leaves the lower places of the product */ v.c = near & ~0u << tg_below(r, 23); break;
  case 2:
  case 3: /* near the product */
    v.c = assemble(&tg_rtl_fp32, tg_draw(r), clamped((int)(near >> 23 & 255) + (int)tg_below(r, 61) - 30),
                   tg_draw_fraction(r));
    break;
  case 4: /* a subnormal or the smallest normals */ v.c = tg_draw(r) >> tg_below(r, 24) >> 7; break;
  case 5: /* about half a unit in the last place of the addend */
    v.c = assemble(&tg_rtl_fp32, tg_draw(r), clamped((int)(near >> 23 & 255) + 23 + (int)tg_below(r, 3)),
                   tg_draw_fraction(r));
    break;
  default: v.c = tg_draw_f32(r); break;
  }
  return v;
}
