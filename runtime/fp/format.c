#include "runtime/fp/format.h"

#include "frontend/base/float_formats.h"

const tg_fp_format tg_fp_formats[TG_FP_FORMATS] = {
    [TG_FP_FP32] = {"fp32", 32, 8, 23, 0},
    [TG_FP_TF32] = {"tf32", 32, 8, 10, 13},
    [TG_FP_BF16] = {"bf16", 16, 8, 7, 0},
    [TG_FP_FP16] = {"fp16", 16, 5, 10, 0},
};

uint32_t tg_fp_widened(tg_fp_format_id format, uint32_t bits) {
  if (format == TG_FP_BF16) return tg_bf16_to_f32((uint16_t)bits);
  return format == TG_FP_FP16 ? tg_fp16_to_f32((uint16_t)bits) : bits;
}

uint32_t tg_fp_narrowed(tg_fp_format_id format, uint32_t f32) {
  switch (format) {
  case TG_FP_TF32: return tg_tf32_from_f32(f32);
  case TG_FP_BF16: return tg_bf16_from_f32(f32);
  case TG_FP_FP16: return tg_fp16_from_f32(f32);
  default: return tg_canonical(f32);
  }
}

uint32_t tg_fp_rounded(tg_fp_format_id format, const tg_real *real) {
  if (format == TG_FP_FP32) return tg_real_to_f32(real, TG_TO_NEAREST);
  return tg_fp_narrowed(format, tg_real_to_f32(real, TG_TO_ODD));
}

void tg_fp_real(tg_fp_format_id format, uint32_t bits, tg_real *out) {
  tg_real_from_f32(out, tg_fp_widened(format, bits));
}

/* Without the sign: exponent, fraction and pad. */
static uint32_t magnitude(tg_fp_format_id format, uint32_t bits) {
  return bits & ((1u << (tg_fp_formats[format].bits - 1)) - 1);
}
static uint32_t infinity(tg_fp_format_id format) {
  const tg_fp_format *f = &tg_fp_formats[format];
  return ((1u << f->exponent_bits) - 1) << (f->fraction_bits + f->pad);
}
static uint32_t exponent_field(tg_fp_format_id format, uint32_t bits) {
  const tg_fp_format *f = &tg_fp_formats[format];
  return magnitude(format, bits) >> (f->fraction_bits + f->pad);
}

tg_fp_class tg_fp_classify(tg_fp_format_id format, uint32_t bits) {
  uint32_t m = magnitude(format, bits);
  if (m >= infinity(format)) return m == infinity(format) ? TG_FP_INFINITE : TG_FP_NAN;
  if (exponent_field(format, bits)) return TG_FP_NORMAL;
  return m ? TG_FP_SUBNORMAL : TG_FP_ZERO;
}

bool tg_fp_negative(tg_fp_format_id format, uint32_t bits) {
  return bits >> (tg_fp_formats[format].bits - 1) & 1;
}

int tg_fp_ulp(tg_fp_format_id format, uint32_t bits) {
  const tg_fp_format *f = &tg_fp_formats[format];
  int exponent = (int)exponent_field(format, bits), bias = (1 << (f->exponent_bits - 1)) - 1;
  return (exponent ? exponent : 1) - bias - f->fraction_bits;
}

bool tg_fp_neighbour(tg_fp_format_id format, uint32_t bits, bool up, uint32_t *out_bits) {
  const tg_fp_format *f = &tg_fp_formats[format];
  uint32_t m = magnitude(format, bits), step = 1u << f->pad, sign = 1u << (f->bits - 1);
  bool negative = tg_fp_negative(format, bits);
  if (m > infinity(format)) return false;
  if (m && negative == up) { /* towards zero */
    *out_bits = bits - step;
    return true;
  }
  *out_bits = (m + step) | (up ? 0 : sign);
  return m < infinity(format);
}
