/* Quantized tensors, as the operators of ONNX and of com.microsoft share them. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_QUANTIZE_H
#define TEGULA_FRONTEND_DECOMPOSE_QUANTIZE_H

#include "frontend/decompose/exact.h"

/* Element `i` of a stream of elements of `bits`, the low bits of a byte first. */
static inline unsigned tg_unpacked(const uint8_t *bytes, int64_t i, int bits) {
  int64_t at = i * bits;
  return (unsigned)bytes[at / 8] >> at % 8 & ((1u << bits) - 1);
}

/* round(x) + zero, held to a type of at most 16 bits; zero NULL: 0. */
tg_value *tg_quantized(tg_build *b, tg_value *x, tg_value *zero, tg_dtype dtype);

/* Operands of a product and their zero points, or NULL. */
typedef struct tg_integer_pair {
  tg_value *x, *w, *zero_x, *zero_w;
} tg_integer_pair;

/* x w of matrices of 8-bit integers, in FP32, as a sum of *out_parts parts that is rounded once; NULL: it is refused. */
tg_value *tg_integer_product(tg_build *b, const tg_integer_pair *p, int *out_parts, tg_diag *diag);

/* Scale and zero point of x of FP32: the smallest range of uint8 with 0 in it. */
void tg_dynamic_range(tg_build *b, tg_value *x, tg_value **out_scale, tg_value **out_zero);
/* x in that range. */
tg_value *tg_dynamically_quantized(tg_build *b, tg_value *x, tg_value *scale, tg_value *zero);

#endif
