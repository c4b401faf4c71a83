/* Formats of elements: kinds of streams, and roundings between operations. */
#include "mapper/expression/expression.h"

int tg_stream_kind(const tg_value *value) {
  switch (tg_value_storage(value)) {
  case TG_STORE_BF16: return TG_STREAM_BF16;
  case TG_STORE_FP16: return TG_STREAM_FP16;
  default: return TG_STREAM_FP32;
  }
}

int tg_result_kind(const tg_value *value) {
  return tg_is_stochastic_cast(value->producer) ? TG_STREAM_BF16SR : tg_stream_kind(value);
}

tg_mc_ref tg_round_to(tg_mc *mc, tg_dtype dtype, tg_mc_ref value, bool stored) {
  switch (dtype) {
  case TG_TF32: return tg_mc_alu(mc, TG_ALU_rndtf32, value, TG_MC_NONE, TG_MC_NONE);
  case TG_BF16: return stored ? value : tg_mc_alu(mc, TG_ALU_rndbf16, value, TG_MC_NONE, TG_MC_NONE);
  case TG_F16: return stored ? value : tg_mc_alu(mc, TG_ALU_rndfp16, value, TG_MC_NONE, TG_MC_NONE);
  default: return value;
  }
}
