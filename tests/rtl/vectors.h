/* Operands of multiply-adds in every format, and the outside oracles: the host's FMA, and conversions made of
 * nothing but double arithmetic. */
#ifndef TEGULA_TESTS_RTL_VECTORS_H
#define TEGULA_TESTS_RTL_VECTORS_H

#include "tests/rtl/random.h"

#include <stdbool.h>

typedef struct tg_rtl_format {
  const char *name;
  uint32_t code;                         /* TG_FMT_... */
  uint32_t bits;                         /* of a stored operand */
  uint32_t exponent_bits, fraction_bits; /* the sign is the top bit ... */
  uint32_t ignored;                      /* ... and these are below the fraction */
} tg_rtl_format;

enum { TG_RTL_FORMATS = 4 };
extern const tg_rtl_format tg_rtl_formats[TG_RTL_FORMATS];
extern const tg_rtl_format tg_rtl_fp32;
const tg_rtl_format *tg_rtl_format_named(const char *name); /* NULL: there is none */

/* The number that a stored operand is, as FP32 bits (a NaN as some NaN). */
uint32_t tg_widened(const tg_rtl_format *f, uint32_t stored);
/* x rounded to nearest even in a format, as stored bits; `x` is exact. NaN becomes canonical. */
uint32_t tg_rounded(const tg_rtl_format *f, double x);
/* fmaf on FP32 bits, NaN canonical. */
uint32_t tg_host_fma(uint32_t a, uint32_t b, uint32_t c);

typedef struct tg_fma_vector {
  uint32_t a, b; /* as stored in the format */
  uint32_t c;    /* FP32 */
} tg_fma_vector;

/* Directed ones: specials with specials, boundary exponents with boundary significands, every distance of the
 * addend from the product, subnormal results, ties. `index` counts from 0 to the count less one. */
uint64_t tg_fma_directed_count(const tg_rtl_format *f);
tg_fma_vector tg_fma_directed(const tg_rtl_format *f, uint64_t index);
/* A random one: sparse and dense significands; in most, the addend is near the product, cancels it or is a
 * tie. */
tg_fma_vector tg_fma_random(const tg_rtl_format *f, tg_random *r);

#endif
