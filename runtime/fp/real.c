#include "runtime/fp/real.h"

#include "frontend/base/float_formats.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTIENT_BITS = 256, MOST_DIGITS = 1000, MOST_EXPONENT = 1000 };

static void special(tg_real *out, tg_real_kind kind, bool negative) {
  *out = (tg_real){.kind = kind, .negative = negative};
}

void tg_real_from_f32(tg_real *out, uint32_t bits) {
  uint32_t exponent = bits >> 23 & 255, fraction = bits & 0x7fffffu;
  special(out, exponent < 255 ? TG_REAL_FINITE : fraction ? TG_REAL_NAN : TG_REAL_INFINITE, bits >> 31);
  if (exponent == 255) return;
  out->exponent = exponent ? (int)exponent - 150 : -149;
  tg_natural_set(&out->mantissa, fraction | (exponent ? 0x800000u : 0));
}

/* --- text */

/* Digits of a base with at most one point, from *text on, which is moved behind them. Returns their number,
 * and how many follow the point. */
static int read_digits(tg_real *out, const char **text, int base, int *out_after) {
  int digits = 0;
  bool point = false;
  for (*out_after = 0;; ++*text) {
    int c = tolower((unsigned char)**text);
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (!(base == 16 ? isxdigit(c) : isdigit(c)) || digits > MOST_DIGITS) return digits;
    tg_natural_scale(&out->mantissa, (uint32_t)base, (uint32_t)(isdigit(c) ? c - '0' : c - 'a' + 10));
    digits++;
    *out_after += point;
  }
}

/* *out_exponent is 0 without one. */
static bool read_exponent(const char *text, const char *letters, int *out_exponent) {
  *out_exponent = 0;
  if (!*text) return true;
  if (!strchr(letters, *text)) return false;
  text++;
  const char *digits = text + (*text == '-' || *text == '+');
  size_t length = strspn(digits, "0123456789");
  if (!length || digits[length]) return false;
  *out_exponent = length > 9 ? (*text == '-' ? -999999999 : 999999999) : atoi(text);
  return true;
}

/* mantissa * 10^power, divided with QUOTIENT_BITS bits to spare. */
static void times_power_of_ten(tg_real *out, int power) {
  for (; power > 0; power--) tg_natural_scale(&out->mantissa, 10, 0);
  if (!power) return;
  int room = -power * 10 / 3 + QUOTIENT_BITS; /* at least what the divisions take */
  tg_natural_shift_left(&out->mantissa, room);
  out->exponent -= room;
  for (; power < 0; power++) out->more |= tg_natural_divide(&out->mantissa, 10) != 0;
}

static const char *parse_number(tg_real *out, const char *text) {
  bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  int after, exponent;
  text += hexadecimal ? 2 : 0;
  int digits = read_digits(out, &text, hexadecimal ? 16 : 10, &after);
  if (digits > MOST_DIGITS) return "has more than 1000 digits";
  if (!digits || !read_exponent(text, hexadecimal ? "pP" : "eE", &exponent)) return "is no number";
  if (!out->mantissa.count) return NULL;
  int power = exponent - (hexadecimal ? 4 * after : after);
  int bits = tg_natural_bits(&out->mantissa) - 1;
  int magnitude = power + (hexadecimal ? bits : (int)(bits * 0.30103)); /* of the leading digit, nearly */
  int most = hexadecimal ? MOST_EXPONENT * 10 / 3 : MOST_EXPONENT;
  if (exponent > 100000 || exponent < -100000 || magnitude > most || magnitude < -most)
    return "is beyond 10^-1000 to 10^1000";
  if (hexadecimal)
    out->exponent = power;
  else
    times_power_of_ten(out, power);
  return NULL;
}

const char *tg_real_parse(tg_real *out, const char *text) {
  bool negative = *text == '-';
  special(out, TG_REAL_FINITE, negative);
  text += *text == '-' || *text == '+';
  if (!strcasecmp(text, "inf") || !strcasecmp(text, "infinity"))
    special(out, TG_REAL_INFINITE, negative);
  else if (!strcasecmp(text, "nan"))
    special(out, TG_REAL_NAN, false);
  else
    return parse_number(out, text);
  return NULL;
}

static void drop_zeros(char *digits) {
  size_t length = strlen(digits);
  while (length > 1 && digits[length - 1] == '0') digits[--length] = 0;
}

/* Significant digits of a finite number above 0 without zeros at the end; returns the power of ten of the
 * first. */
static int decimal_digits(tg_arena *arena, const tg_real *a, char **out_digits) {
  tg_natural n = a->mantissa;
  int power = a->exponent < 0 ? a->exponent : 0;
  if (a->exponent > 0) tg_natural_shift_left(&n, a->exponent);
  for (int i = power; i < 0; i++) tg_natural_scale(&n, 5, 0); /* n / 2^k = n * 5^k / 10^k */
  size_t room = (size_t)n.count * 10 + 9, at = room;
  char *text = TG_NEW_ARRAY(arena, char, room + 1);
  text[room] = 0;
  while (n.count) {
    uint32_t rest = tg_natural_divide(&n, 1000000000);
    for (int i = 0; i < 9; i++, rest /= 10) text[--at] = (char)('0' + rest % 10);
  }
  at += strspn(text + at, "0");
  *out_digits = text + at;
  power += (int)(room - at) - 1;
  drop_zeros(*out_digits);
  return power;
}

/* Digits d.ddd * 10^power as people write them. */
static const char *written(tg_arena *arena, const char *sign, const char *digits, int power,
                           const char *dots) {
  int count = (int)strlen(digits);
  if (power < -5 || power >= 40)
    return tg_arena_printf(arena, "%s%c%s%s%se%+d", sign, *digits, count > 1 ? "." : "", digits + 1, dots,
                           power);
  if (power < 0) return tg_arena_printf(arena, "%s0.%.*s%s%s", sign, -power - 1, "0000", digits, dots);
  if (count <= power + 1)
    return tg_arena_printf(arena, "%s%s%.*s%s", sign, digits, power + 1 - count,
                           "0000000000000000000000000000000000000000", dots);
  return tg_arena_printf(arena, "%s%.*s.%s%s", sign, power + 1, digits, digits + power + 1, dots);
}

const char *tg_real_text(tg_arena *arena, const tg_real *a, int digits) {
  const char *sign = a->negative ? "-" : "";
  char *text;
  if (a->kind == TG_REAL_NAN) return "NaN";
  if (a->kind == TG_REAL_INFINITE) return a->negative ? "-inf" : "inf";
  if (!a->mantissa.count) return a->negative ? "-0" : "0";
  int power = decimal_digits(arena, a, &text);
  bool cut = a->more;
  if (digits && (int)strlen(text) > digits) {
    text[digits] = 0;
    drop_zeros(text);
    cut = true;
  }
  return written(arena, sign, text, power, cut ? "..." : "");
}

/* --- operations */

static bool handle_nan(tg_real *out, const tg_real *a, const tg_real *b) {
  if (a->kind != TG_REAL_NAN && b->kind != TG_REAL_NAN) return false;
  special(out, TG_REAL_NAN, false);
  return true;
}

void tg_real_add(tg_real *out, const tg_real *a, const tg_real *b) {
  if (handle_nan(out, a, b)) return;
  if (a->kind == TG_REAL_INFINITE || b->kind == TG_REAL_INFINITE) {
    bool cancel = a->kind == b->kind && a->negative != b->negative;
    special(out, cancel ? TG_REAL_NAN : TG_REAL_INFINITE,
            !cancel && (a->kind == TG_REAL_INFINITE ? a : b)->negative);
    return;
  }
  tg_real aligned = *b;
  const tg_real *low = a->exponent < b->exponent ? a : b; /* of the lower exponent */
  *out = *a;
  tg_natural_shift_left(&out->mantissa, a->exponent - low->exponent);
  tg_natural_shift_left(&aligned.mantissa, b->exponent - low->exponent);
  out->exponent = low->exponent;
  if (a->negative == b->negative) {
    tg_natural_add(&out->mantissa, &aligned.mantissa);
  } else if (tg_natural_compare(&out->mantissa, &aligned.mantissa) >= 0) {
    tg_natural_subtract(&out->mantissa, &aligned.mantissa);
  } else {
    tg_natural_subtract(&aligned.mantissa, &out->mantissa);
    out->mantissa = aligned.mantissa;
    out->negative = b->negative;
  }
  if (!out->mantissa.count) out->negative = a->negative && b->negative;
}

void tg_real_multiply(tg_real *out, const tg_real *a, const tg_real *b) {
  if (handle_nan(out, a, b)) return;
  bool infinite = a->kind == TG_REAL_INFINITE || b->kind == TG_REAL_INFINITE,
       zero = tg_real_is_zero(a) || tg_real_is_zero(b), negative = a->negative != b->negative;
  if (infinite) {
    special(out, zero ? TG_REAL_NAN : TG_REAL_INFINITE, negative && !zero);
    return;
  }
  special(out, TG_REAL_FINITE, negative);
  tg_natural_multiply(&out->mantissa, &a->mantissa, &b->mantissa);
  out->exponent = a->exponent + b->exponent;
}

void tg_real_divide(tg_real *out, const tg_real *a, const tg_real *b) {
  if (handle_nan(out, a, b)) return;
  bool negative = a->negative != b->negative, zeros = tg_real_is_zero(a) && tg_real_is_zero(b);
  if (zeros || (a->kind == TG_REAL_INFINITE && b->kind == TG_REAL_INFINITE)) {
    special(out, TG_REAL_NAN, false);
  } else if (a->kind == TG_REAL_INFINITE || tg_real_is_zero(b)) {
    special(out, TG_REAL_INFINITE, negative);
  } else {
    special(out, TG_REAL_FINITE, negative);
    if (b->kind == TG_REAL_INFINITE || tg_real_is_zero(a)) return;
    out->mantissa = a->mantissa;
    tg_natural_shift_left(&out->mantissa, QUOTIENT_BITS);
    out->more = tg_natural_divide(&out->mantissa, (uint32_t)tg_natural_low(&b->mantissa)) != 0;
    out->exponent = a->exponent - b->exponent - QUOTIENT_BITS;
  }
}

void tg_real_square_root(tg_real *out, const tg_real *a) {
  *out = *a;
  if (a->kind == TG_REAL_NAN || tg_real_is_zero(a)) return;
  if (a->negative) {
    special(out, TG_REAL_NAN, false);
  } else if (a->kind == TG_REAL_FINITE) {
    int room = 2 * QUOTIENT_BITS + (a->exponent & 1);
    tg_natural_shift_left(&out->mantissa, room);
    out->more = tg_natural_square_root(&out->mantissa);
    out->exponent = (a->exponent - room) / 2;
  }
}

/* --- rounding */

/* mantissa * 2^-shift to an integer. */
static uint32_t rounded(const tg_real *a, int shift, tg_real_rounding rounding) {
  tg_natural n = a->mantissa;
  bool rest = a->more, half = false;
  if (shift <= 0) {
    tg_natural_shift_left(&n, -shift);
  } else {
    rest |= tg_natural_shift_right(&n, shift - 1);
    half = tg_natural_shift_right(&n, 1);
  }
  uint32_t kept = (uint32_t)tg_natural_low(&n);
  if (rounding == TG_TO_ODD) return kept | (half || rest);
  return kept + (half && (rest || (kept & 1)));
}

uint32_t tg_real_to_f32(const tg_real *a, tg_real_rounding rounding) {
  uint32_t sign = (uint32_t)a->negative << 31, bits;
  if (a->kind == TG_REAL_NAN) return 0x7fc00000u;
  if (a->kind == TG_REAL_INFINITE) return sign | 0x7f800000u;
  int top = tg_natural_bits(&a->mantissa) - 1 + a->exponent; /* power of two of the leading bit */
  if (tg_real_is_zero(a)) return sign;
  if (top > 127) return sign | (rounding == TG_TO_ODD ? 0x7f7fffffu : 0x7f800000u);
  int last = top - 23 > -149 ? top - 23 : -149; /* of the last bit kept */
  uint32_t kept = rounded(a, last - a->exponent, rounding);
  bits = kept < 0x800000u ? kept : ((uint32_t)(last + 150) << 23) + (kept - 0x800000u);
  return sign | bits; /* a carry out of the significand is the next exponent, or infinity */
}

double tg_real_scaled(const tg_real *a, int exponent) {
  tg_natural n = a->mantissa;
  int drop = tg_natural_bits(&n) - 53;
  if (drop < 0) drop = 0;
  tg_natural_shift_right(&n, drop);
  double value = ldexp((double)tg_natural_low(&n), a->exponent + drop - exponent);
  return a->negative ? -value : value;
}
