#include "frontend/dtype.h"

#include "frontend/base/float_formats.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FLOAT = 1, NARROW, INTEGER, BOOLEAN };

static const struct {
  const char *name;
  int bits, onnx, class;
} table[] = {
    [TG_NONE] = {"none", 0, 0, 0},
#define TG_DTYPE_ROW(id, name, bits, onnx, class) [TG_##id] = {#name, bits, onnx, class},
#include "frontend/dtypes.def"
#undef TG_DTYPE_ROW
};

const char *tg_dtype_name(tg_dtype dtype) { return table[dtype].name; }
int tg_dtype_bits(tg_dtype dtype) { return table[dtype].bits; }
size_t tg_dtype_size(tg_dtype dtype) { return (size_t)(table[dtype].bits + 7) / 8; }
bool tg_dtype_is_float(tg_dtype dtype) { return table[dtype].class == FLOAT; }
bool tg_dtype_is_narrow(tg_dtype dtype) { return table[dtype].class == NARROW; }
tg_narrow_format tg_dtype_narrow(tg_dtype dtype) {
  switch (dtype) {
  case TG_F8E4M3FNUZ: return TG_NARROW_E4M3FNUZ;
  case TG_F8E5M2: return TG_NARROW_E5M2;
  case TG_F8E5M2FNUZ: return TG_NARROW_E5M2FNUZ;
  case TG_F4E2M1: return TG_NARROW_E2M1;
  case TG_F8E8M0: return TG_NARROW_E8M0;
  default: return TG_NARROW_E4M3FN;
  }
}
bool tg_dtype_is_integer(tg_dtype dtype) { return table[dtype].class == INTEGER; }
bool tg_dtype_is_signed(tg_dtype dtype) { return tg_dtype_is_integer(dtype) && table[dtype].name[0] == 'i'; }
double tg_largest_float(tg_dtype dtype) {
  return dtype == TG_F64    ? INFINITY
         : dtype == TG_F16  ? 65504
         : dtype == TG_BF16 ? 0x1.fep127
                            : (double)FLT_MAX;
}

float tg_inexact_mark(tg_dtype dtype) {
  return dtype == TG_F16 ? -0x1.5ap-14f : dtype == TG_BF16 ? -0x1.5ap-97f : -0x1.5a5a5ap-97f;
}

int tg_dtype_to_onnx(tg_dtype dtype) { return table[dtype].onnx; }

tg_dtype tg_dtype_from_name(const char *name) {
  for (int d = 1; d < TG_DTYPE_COUNT; d++)
    if (!strcmp(table[d].name, name)) return (tg_dtype)d;
  return TG_NONE;
}

tg_dtype tg_dtype_from_onnx(int64_t number) {
  for (int d = 1; number && d < TG_DTYPE_COUNT; d++)
    if (table[d].onnx == number) return (tg_dtype)d;
  return TG_NONE;
}

uint16_t tg_f32_to_bf16(float value) { return tg_bf16_from_f32(tg_f32_bits(value)); }
uint16_t tg_f32_to_f16(float value) { return tg_fp16_from_f32(tg_f32_bits(value)); }
static float f32_to_tf32(float value) { return tg_bits_f32(tg_tf32_from_f32(tg_f32_bits(value))); }
float tg_f32_from_bf16(uint16_t bits) { return tg_bits_f32(tg_bf16_to_f32(bits)); }
float tg_f32_from_f16(uint16_t bits) { return tg_bits_f32(tg_fp16_to_f32(bits)); }

#define AT(type) (((const type *)data)[index])
float tg_load_f32(const void *data, tg_dtype dtype, size_t index) {
  switch (dtype) {
  case TG_F32:
  case TG_TF32: return AT(float);
  case TG_BF16: return tg_f32_from_bf16(AT(uint16_t));
  case TG_F16: return tg_f32_from_f16(AT(uint16_t));
  case TG_F64: return (float)AT(double);
  case TG_U64: return (float)AT(uint64_t);
  default:
    if (tg_dtype_is_narrow(dtype)) return tg_narrow_decode(tg_dtype_narrow(dtype), AT(uint8_t));
    return (float)tg_load_i64(data, dtype, index);
  }
}

/* The number that the low `bits` of a byte stand for. */
static int64_t low_bits(uint8_t byte, int bits, bool is_signed) {
  int64_t span = (int64_t)1 << bits, value = byte & (span - 1);
  return is_signed && value >= span / 2 ? value - span : value;
}

static int64_t truncate_f64(double value) {
  if (isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value <= -0x1p63) return INT64_MIN;
  return (int64_t)value;
}

int64_t tg_load_i64(const void *data, tg_dtype dtype, size_t index) {
  switch (dtype) {
  case TG_I64: return AT(int64_t);
  case TG_I32: return AT(int32_t);
  case TG_I16: return AT(int16_t);
  case TG_I8: return AT(int8_t);
  case TG_U64: return (int64_t)AT(uint64_t);
  case TG_U32: return AT(uint32_t);
  case TG_U16: return AT(uint16_t);
  case TG_U8: return AT(uint8_t);
  case TG_I4:
  case TG_U4:
  case TG_I2:
  case TG_U2: return low_bits(AT(uint8_t), tg_dtype_bits(dtype), tg_dtype_is_signed(dtype));
  case TG_BOOL: return AT(uint8_t) != 0;
  case TG_F64: return truncate_f64(AT(double));
  default: return truncate_f64((double)tg_load_f32(data, dtype, index));
  }
}
#undef AT

/* To an integer type, as docs/numerics.md has it. */
static int64_t integer_of(double value, tg_dtype dtype) {
  double span = ldexp(1, tg_dtype_bits(dtype));
  if (!isfinite(value) && (isnan(value) || tg_dtype_size(dtype) <= 2)) return 0;
  if (tg_dtype_size(dtype) <= 2) return (int64_t)fmod(trunc(value), span);
  switch (dtype) {
  case TG_U64: return value >= 0x1p64 ? -1 : value <= 0 ? 0 : (int64_t)(uint64_t)value;
  case TG_U32: return value >= span ? UINT32_MAX : value <= 0 ? 0 : (int64_t)value;
  case TG_I32: return value >= span / 2 ? INT32_MAX : value <= -span / 2 ? INT32_MIN : (int64_t)value;
  default: return truncate_f64(value);
  }
}

#define AT(type) (((type *)data)[index])
void tg_store_f32(void *data, tg_dtype dtype, size_t index, float value) {
  switch (dtype) {
  case TG_F32: AT(float) = isnan(value) ? tg_bits_f32(0x7fc00000) : value; break;
  case TG_TF32: AT(float) = f32_to_tf32(value); break;
  case TG_BF16: AT(uint16_t) = tg_f32_to_bf16(value); break;
  case TG_F16: AT(uint16_t) = tg_f32_to_f16(value); break;
  case TG_F64: AT(double) = (double)value; break;
  case TG_BOOL: AT(uint8_t) = value != 0; break;
  case TG_F8E4M3FN:
  case TG_F8E4M3FNUZ:
  case TG_F8E5M2:
  case TG_F8E5M2FNUZ:
  case TG_F8E8M0:
  case TG_F4E2M1: AT(uint8_t) = tg_narrow_encode(tg_dtype_narrow(dtype), value); break;
  default: tg_store_i64(data, dtype, index, integer_of((double)value, dtype)); break;
  }
}

void tg_store_i64(void *data, tg_dtype dtype, size_t index, int64_t value) {
  switch (dtype) {
  case TG_I64: AT(int64_t) = value; break;
  case TG_U64: AT(uint64_t) = (uint64_t)value; break;
  case TG_I32:
  case TG_U32: AT(uint32_t) = (uint32_t)(uint64_t)value; break;
  case TG_I16:
  case TG_U16: AT(uint16_t) = (uint16_t)(uint64_t)value; break;
  case TG_I8:
  case TG_U8: AT(uint8_t) = (uint8_t)(uint64_t)value; break;
  case TG_I4: /* in a byte, its sign extended */
  case TG_U4:
  case TG_I2:
  case TG_U2:
    AT(uint8_t) =
        (uint8_t)low_bits((uint8_t)(uint64_t)value, tg_dtype_bits(dtype), tg_dtype_is_signed(dtype));
    break;
  case TG_BOOL: AT(uint8_t) = value != 0; break;
  case TG_F64: AT(double) = (double)value; break;
  default: tg_store_f32(data, dtype, index, (float)value); break;
  }
}
#undef AT

void tg_store_f64(void *data, tg_dtype dtype, size_t index, double value) {
  if (tg_dtype_is_integer(dtype))
    tg_store_i64(data, dtype, index, integer_of(value, dtype));
  else if (dtype == TG_F64)
    ((double *)data)[index] = value;
  else if (dtype == TG_BOOL)
    ((uint8_t *)data)[index] = value != 0;
  else
    tg_store_f32(data, dtype, index, (float)value);
}
