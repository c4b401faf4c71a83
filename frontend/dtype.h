/* Element types of tensors and the scalar conversions between them (docs/numerics.md). */
#ifndef TEGULA_FRONTEND_DTYPE_H
#define TEGULA_FRONTEND_DTYPE_H

#include "frontend/base/narrow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_dtype {
  TG_NONE = 0, /* not inferred yet */
#define TG_DTYPE_ROW(id, name, bytes, onnx, class) TG_##id,
#include "frontend/dtypes.def"
#undef TG_DTYPE_ROW
  TG_DTYPE_COUNT
} tg_dtype;

const char *tg_dtype_name(tg_dtype dtype); /* "f32", "none" for TG_NONE */
int tg_dtype_bits(tg_dtype dtype);         /* of an element */
size_t tg_dtype_size(tg_dtype dtype);      /* bytes an element is stored in */
bool tg_dtype_is_float(tg_dtype dtype);    /* f32 tf32 bf16 f16 f64 */
bool tg_dtype_is_narrow(tg_dtype dtype);   /* floats of 8 and 4 bits */
tg_narrow_format tg_dtype_narrow(tg_dtype dtype);
bool tg_dtype_is_integer(tg_dtype dtype);      /* i* and u*, not bool */
bool tg_dtype_is_signed(tg_dtype dtype);       /* i* */
tg_dtype tg_dtype_from_name(const char *name); /* TG_NONE when unknown */
tg_dtype tg_dtype_from_onnx(int64_t number);   /* TG_NONE when unknown */
int tg_dtype_to_onnx(tg_dtype dtype);          /* 0 where ONNX has none */
/* The largest finite number of f32, bf16, f16; of f64, which is rounded to FP32, infinity. */
double tg_largest_float(tg_dtype dtype);
/* A number of the format that no model gives in all of an output: integers passed what the array computes exactly. */
float tg_inexact_mark(tg_dtype dtype);

/* Exact widening and RNE narrowing between fp32 and the 16-bit formats; NaN becomes the canonical quiet
 * NaN. */
uint16_t tg_f32_to_bf16(float value);
uint16_t tg_f32_to_f16(float value);
float tg_f32_from_bf16(uint16_t bits);
float tg_f32_from_f16(uint16_t bits);

/* Element `index` of a buffer of `dtype`, as fp32 (exact for the narrow formats; integers and f64 round to
 * nearest even) and back (RNE; bool is value != 0; to integers as docs/numerics.md says: toward zero, NaN
 * gives 0, to at most 16 bits modulo 2^bits, else saturating; to narrow floats saturating, too). */
float tg_load_f32(const void *data, tg_dtype dtype, size_t index);
void tg_store_f32(void *data, tg_dtype dtype, size_t index, float value);
/* The same for integers: a float element truncates toward zero and saturates, NaN gives 0; an integer is
 * stored modulo 2^bits. An element of u64 above the largest int64_t loads as that less 2^64. */
int64_t tg_load_i64(const void *data, tg_dtype dtype, size_t index);
void tg_store_i64(void *data, tg_dtype dtype, size_t index, int64_t value);

/* Does a double hold it? */
static inline bool tg_is_double(int64_t number) {
  double nearest = (double)number;
  return nearest < 0x1p63 && (int64_t)nearest == number;
}

/* As tg_store_f32, of a double, which rounds once. */
void tg_store_f64(void *data, tg_dtype dtype, size_t index, double value);

#ifdef __cplusplus
}
#endif
#endif
