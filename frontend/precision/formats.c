/* Formats of values, as all policies see them. */
#include "frontend/precision/policy.h"

tg_dtype tg_widest(tg_dtype a, tg_dtype b) {
  if (a == b || b == TG_NONE) return a;
  if (a == TG_NONE) return b;
  return a == TG_F64 || b == TG_F64 ? TG_F64 : TG_F32;
}

bool tg_is_number(const tg_value *value) { return tg_is_constant(value) && value->rank == 0; }
