#include "runtime/zoo_layers.h"

#include <math.h>

tg_value *tg_zoo_weights(tg_zoo_model *z, const char *name, int rank, const int64_t *sizes, int64_t fan_in) {
  return tg_builder_seeded(z->builder, name, TG_F32, rank, sizes, z->seed++, sqrtf(6.0f / (float)fan_in));
}

tg_value *tg_zoo_bias(tg_zoo_model *z, const char *name, int64_t size) {
  return tg_builder_seeded(z->builder, name, TG_F32, 1, &size, z->seed++, 0.1f);
}

const char *tg_zoo_part(tg_zoo_model *z, const char *layer, const char *suffix) {
  return tg_arena_printf(z->arena, "%s.%s", layer, suffix);
}

tg_value *tg_zoo_linear(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out) {
  tg_value *w = tg_zoo_weights(z, tg_zoo_part(z, layer, "weight"), 2, (int64_t[]){out, in}, in);
  return tg_builder_linear(z->builder, layer, x, w, tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), out));
}

tg_value *tg_zoo_conv(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out,
                      tg_window window, bool biased) {
  int64_t kernel = window.kernel;
  tg_value *w = tg_zoo_weights(z, tg_zoo_part(z, layer, "weight"), 4, (int64_t[]){out, in, kernel, kernel},
                               in * kernel * kernel);
  tg_value *b = biased ? tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), out) : NULL;
  window.kernel = 0; /* the builder takes it from the weights */
  return tg_builder_conv(z->builder, layer, x, w, b, window);
}

tg_value *tg_zoo_relu(tg_zoo_model *z, const char *layer, tg_value *x) {
  return tg_builder_unary(z->builder, TG_OP_RELU, tg_zoo_part(z, layer, "relu"), x);
}

tg_value *tg_zoo_pool(tg_zoo_model *z, const char *layer, tg_value *x) {
  return tg_builder_pool(z->builder, TG_OP_MAX_POOL, layer, x, (tg_window){.kernel = 2, .stride = 2});
}

tg_value *tg_zoo_batched(tg_zoo_model *z, const char *name, int64_t batch, int rank, const int64_t *rest) {
  tg_dim dims[TG_MAX_RANK] = {{batch ? batch : -1, batch ? NULL : "N"}};
  for (int d = 1; d < rank; d++) dims[d].size = rest[d - 1];
  return tg_builder_open_input(z->builder, name, TG_F32, rank, dims);
}

tg_zoo_model tg_zoo_begin(tg_arena *arena, const char *name, const tg_zoo_options *options) {
  return (tg_zoo_model){
      .builder = tg_builder_create(arena, name), .arena = arena, .seed = options->seed * 1000 + 1};
}
