/* Values as the mapper sees them: how they are stored, where they lie, which are numbers. */
#include "mapper/kernel/kernel.h"
#include "mapper/kernel/view.h"

tg_storage tg_value_storage(const tg_value *value) {
  switch (value->dtype) {
  case TG_BF16: return TG_STORE_BF16;
  case TG_F16: return TG_STORE_FP16;
  case TG_TF32: return TG_STORE_TF32;
  default: return TG_STORE_FP32;
  }
}

tg_dram_tensor *tg_place_of(const tg_compile *c, const tg_value *value) {
  static tg_dram_tensor anywhere = {.storage = TG_STORE_FP32}; /* of a value that has no place yet */
  const tg_place *place = &c->places[value->index];
  if (place->root) place = &c->places[place->root->index];
  if (place->view) return &place->view->tensor;
  return place->tensor < 0 ? &anywhere : &c->program->tensors[place->tensor];
}

bool tg_is_scalar_constant(const tg_value *value) {
  return tg_is_constant(value) && tg_dtype_is_float(value->dtype) && tg_value_elements(value) == 1;
}

float tg_scalar_value(const tg_value *value) { return tg_load_f32(value->data, value->dtype, 0); }
