/* The four float formats as bits: their fields, and rounding to them by the conversions of the numerics
 * contract. */
#ifndef TEGULA_RUNTIME_FP_FORMAT_H
#define TEGULA_RUNTIME_FP_FORMAT_H

#include "runtime/fp/real.h"

typedef enum tg_fp_format_id {
  TG_FP_FP32,
  TG_FP_TF32,
  TG_FP_BF16,
  TG_FP_FP16,
  TG_FP_FORMATS
} tg_fp_format_id;

typedef struct tg_fp_format {
  const char *name;
  int bits, exponent_bits, fraction_bits;
  int pad; /* bits below the fraction, always 0 */
} tg_fp_format;

typedef enum tg_fp_class { TG_FP_ZERO, TG_FP_SUBNORMAL, TG_FP_NORMAL, TG_FP_INFINITE, TG_FP_NAN } tg_fp_class;

extern const tg_fp_format tg_fp_formats[TG_FP_FORMATS];

uint32_t tg_fp_widened(tg_fp_format_id format, uint32_t bits); /* as FP32 */
uint32_t tg_fp_narrowed(tg_fp_format_id format, uint32_t f32); /* to nearest even */
/* To nearest even with one rounding, whatever the real is. */
uint32_t tg_fp_rounded(tg_fp_format_id format, const tg_real *real);
void tg_fp_real(tg_fp_format_id format, uint32_t bits, tg_real *out);

tg_fp_class tg_fp_classify(tg_fp_format_id format, uint32_t bits);
bool tg_fp_negative(tg_fp_format_id format, uint32_t bits);
/* Power of two of the last place; of a finite number. */
int tg_fp_ulp(tg_fp_format_id format, uint32_t bits);
/* The next number towards +inf or -inf; false if there is none. */
bool tg_fp_neighbour(tg_fp_format_id format, uint32_t bits, bool up, uint32_t *out_bits);

#endif
