/* Values as the mapper sees them: how they are stored, where they lie, which are numbers. */
#ifndef TEGULA_MAPPER_KERNEL_VALUE_H
#define TEGULA_MAPPER_KERNEL_VALUE_H

#include "mapper/kernel/plan.h"

tg_storage tg_value_storage(const tg_value *value);
static inline uint32_t tg_value_bytes_each(const tg_value *value) {
  return tg_storage_bytes(tg_value_storage(value));
}
/* The matrix unit's format, TG_FMT_*, for operands of a type. */
static inline int tg_mx_format(tg_dtype dtype) {
  switch (dtype) {
  case TG_BF16: return TG_FMT_BF16;
  case TG_F16: return TG_FMT_FP16;
  case TG_TF32: return TG_FMT_TF32;
  default: return TG_FMT_FP32;
  }
}
/* The tensor of a placed value. */
tg_dram_tensor *tg_place_of(const tg_compile *c, const tg_value *value);

/* The value whose memory it has: that which Reshapes made it of, or itself. */
static inline tg_value *tg_owner(const tg_compile *c, tg_value *value) {
  tg_value *root = c->places[value->index].root;
  return root ? root : value;
}

/* An elementwise operand that is one number: a constant of one element. */
bool tg_is_scalar_constant(const tg_value *value);
float tg_scalar_value(const tg_value *value);

#endif
