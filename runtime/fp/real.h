/* Real numbers as the results of single operations: exact where they are dyadic, else cut off after so many
 * bits that rounding to any of our formats, and 40 decimal digits, are still right. */
#ifndef TEGULA_RUNTIME_FP_REAL_H
#define TEGULA_RUNTIME_FP_REAL_H

#include "frontend/base/arena.h"
#include "runtime/fp/natural.h"

typedef enum tg_real_kind { TG_REAL_FINITE, TG_REAL_INFINITE, TG_REAL_NAN } tg_real_kind;

/* (-1)^negative * mantissa * 2^exponent. */
typedef struct tg_real {
  tg_real_kind kind;
  bool negative;
  bool more; /* the magnitude is larger, by less than 2^exponent */
  int exponent;
  tg_natural mantissa;
} tg_real;

typedef enum tg_real_rounding { TG_TO_NEAREST, TG_TO_ODD } tg_real_rounding;

/* Of the bits of an FP32 number. */
void tg_real_from_f32(tg_real *out, uint32_t bits);
/* Decimal (12, -0.5e-3) or hexadecimal (0x1.8p-3) notation, inf, nan. Returns NULL, or what is wrong with it:
 * at most 1000 digits, magnitudes within 10^-1000 .. 10^1000. */
const char *tg_real_parse(tg_real *out, const char *text);

/* IEEE operations without rounding. Operands are exact (not `more`); out is none of them. */
void tg_real_add(tg_real *out, const tg_real *a, const tg_real *b);
void tg_real_multiply(tg_real *out, const tg_real *a, const tg_real *b);
void tg_real_divide(tg_real *out, const tg_real *a, const tg_real *b); /* of two FP32 numbers */
void tg_real_square_root(tg_real *out, const tg_real *a);              /* of an FP32 number */

static inline bool tg_real_is_zero(const tg_real *a) {
  return a->kind == TG_REAL_FINITE && !a->mantissa.count && !a->more;
}

/* FP32 bits, to nearest even, or to odd: cut off, the last bit set if that lost something. What is rounded to
 * odd can be rounded once more, to 22 bits or fewer, as if it had been rounded only once. */
uint32_t tg_real_to_f32(const tg_real *a, tg_real_rounding rounding);
/* a * 2^-exponent as a double, to about 15 digits; a is finite. */
double tg_real_scaled(const tg_real *a, int exponent);

/* Decimal text: `digits` significant digits, cut off, with "..." if that lost something; 0: all (a is
 * exact). */
const char *tg_real_text(tg_arena *arena, const tg_real *a, int digits);

#endif
