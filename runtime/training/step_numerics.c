/* Where values go wrong in a training step. */
#include "runtime/numerics/numerics.h"
#include "runtime/training/trainer_state.h"

/* What the device's memory has for an input of the step. */
static const float *values_of(const tg_trainer *t, tg_arena *arena, int input) {
  const tg_dram_tensor *tensor = tg_trainer_tensor(t, input);
  size_t count = tensor->bytes / tg_storage_bytes(tensor->storage);
  float *values = TG_NEW_ARRAY(arena, float, count + 1);
  for (size_t e = 0; e < count; e++)
    values[e] = tg_load_f32(t->dram->bytes + tensor->address, tg_storage_dtype(tensor->storage), e);
  return values;
}

tg_status tg_trainer_numerics(tg_trainer *t, double bound, tg_diag *diag) {
  tg_session *s = t->session;
  if (!t->steps)
    return tg_fail(diag, TG_INVALID, "%s: no step has been run whose errors could be told", s->path);
  tg_arena arena = {0};
  const float **inputs = TG_NEW_ARRAY(&arena, const float *, (size_t)t->decided->input_count + 1);
  for (int i = 0; i < t->decided->input_count; i++) inputs[i] = values_of(t, &arena, i);
  const tg_numerics_model model = {t->decided, s->path, s->precision, inputs};
  json_decref(s->numerics);
  tg_status status = tg_numerics_of(&model, bound, &s->numerics, diag);
  tg_arena_release(&arena);
  return status;
}
