#include "runtime/zoo_layers.h"

#include <inttypes.h>
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

tg_value *tg_zoo_norm(tg_zoo_model *z, const char *layer, tg_value *x, int64_t channels, float gain) {
  float *weight = TG_NEW_ARRAY(z->arena, float, (size_t)channels),
        *ones = TG_NEW_ARRAY(z->arena, float, (size_t)channels);
  for (int64_t i = 0; i < channels; i++) weight[i] = gain, ones[i] = 1;
  tg_value *inputs[] = {
      x, tg_builder_constant(z->builder, tg_zoo_part(z, layer, "weight"), TG_F32, 1, &channels, weight),
      tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), channels),
      tg_zoo_bias(z, tg_zoo_part(z, layer, "running_mean"), channels),
      tg_builder_constant(z->builder, tg_zoo_part(z, layer, "running_var"), TG_F32, 1, &channels, ones)};
  return tg_builder_batch_normalization(z->builder, layer, inputs, 1e-5);
}

tg_value *tg_zoo_layer_norm(tg_zoo_model *z, const char *layer, tg_value *x, int64_t width, double epsilon) {
  tg_value *scale =
      tg_builder_seeded(z->builder, tg_zoo_part(z, layer, "weight"), TG_F32, 1, &width, z->seed++, 1);
  return tg_builder_layer_normalization(z->builder, layer, x, scale,
                                        tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), width), -1, epsilon);
}

tg_value *tg_zoo_silu(tg_zoo_model *z, const char *layer, tg_value *x) {
  tg_value *gate = tg_builder_unary(z->builder, TG_OP_SIGMOID, tg_zoo_part(z, layer, "sigmoid"), x);
  return tg_builder_binary(z->builder, TG_OP_MUL, tg_zoo_part(z, layer, "silu"), x, gate);
}

tg_value *tg_zoo_project(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out,
                         bool biased) {
  tg_value *w = tg_zoo_weights(z, tg_zoo_part(z, layer, "weight"), 2, (int64_t[]){in, out}, 6 * in);
  tg_value *y = tg_builder_matmul(z->builder, tg_zoo_part(z, layer, "matmul"), x, w);
  if (!biased) return y;
  return tg_builder_binary(z->builder, TG_OP_ADD, layer, y,
                           tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), out));
}

/* [N, tokens, width] to [N, heads, tokens, width / heads], or with its two last dimensions swapped. */
static tg_value *split_heads(tg_zoo_model *z, const char *name, tg_value *x, int64_t tokens,
                             const tg_zoo_attention_sizes *s, bool keys) {
  static const int64_t perms[2][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}};
  int64_t sizes[] = {0, tokens, s->heads, s->width / s->heads};
  x = tg_builder_reshape(z->builder, tg_zoo_part(z, name, "split"), x, 4, sizes);
  return tg_builder_transpose(z->builder, tg_zoo_part(z, name, "heads"), x, 4, perms[keys]);
}

static tg_value *causal_mask(tg_zoo_model *z, const char *name, int64_t tokens) {
  float *mask = TG_NEW_ARRAY(z->arena, float, (size_t)(tokens * tokens));
  for (int64_t i = 0; i < tokens * tokens; i++) mask[i] = i % tokens > i / tokens ? -1e9f : 0;
  return tg_builder_constant(z->builder, name, TG_F32, 2, (int64_t[]){tokens, tokens}, mask);
}

tg_value *tg_zoo_heads(tg_zoo_model *z, const char *layer, tg_value *x, tg_value *from,
                       const tg_zoo_attention_sizes *s) {
  tg_builder *b = z->builder;
  const char *query = tg_zoo_part(z, layer, s->query), *key = tg_zoo_part(z, layer, s->key),
             *value = tg_zoo_part(z, layer, s->value);
  tg_value *q =
      split_heads(z, query, tg_zoo_project(z, query, x, s->width, s->width, true), s->tokens, s, false);
  tg_value *k =
      split_heads(z, key, tg_zoo_project(z, key, from, s->width, s->width, s->key_bias), s->keys, s, true);
  tg_value *v =
      split_heads(z, value, tg_zoo_project(z, value, from, s->width, s->width, true), s->keys, s, false);
  tg_value *scale = tg_builder_scalar(b, tg_zoo_part(z, layer, "scale"), TG_F32,
                                      1 / sqrt((double)s->width / (double)s->heads));
  tg_value *scores = tg_builder_matmul(b, tg_zoo_part(z, layer, "scores"), q, k);
  scores = tg_builder_binary(b, TG_OP_MUL, tg_zoo_part(z, layer, "scaled"), scores, scale);
  if (s->causal)
    scores = tg_builder_binary(b, TG_OP_ADD, tg_zoo_part(z, layer, "masked"), scores,
                               causal_mask(z, tg_zoo_part(z, layer, "mask"), s->tokens));
  scores = tg_builder_softmax(b, tg_zoo_part(z, layer, "softmax"), scores, -1);
  tg_value *y = tg_builder_matmul(b, tg_zoo_part(z, layer, "context"), scores, v);
  y = tg_builder_transpose(b, tg_zoo_part(z, layer, "context.heads"), y, 4, (int64_t[]){0, 2, 1, 3});
  y = tg_builder_reshape(b, tg_zoo_part(z, layer, "context.join"), y, 3, (int64_t[]){0, s->tokens, s->width});
  return tg_zoo_project(z, tg_zoo_part(z, layer, s->output), y, s->width, s->width, true);
}

tg_status tg_zoo_check_sizes(const char *name, int64_t side, int64_t width, int factor, tg_diag *diag) {
  enum { MOST_SIDE = 8192, MOST_CHANNELS = 16384 };
  if (side <= MOST_SIDE && width <= MOST_CHANNELS / factor) return TG_OK;
  return tg_fail(diag, TG_INVALID,
                 "%s: images of side %" PRId64 " or a width of %" PRId64 " channels are too large", name,
                 side, width);
}

tg_zoo_model tg_zoo_begin(tg_arena *arena, const char *name, const tg_zoo_options *options) {
  return (tg_zoo_model){
      .builder = tg_builder_create(arena, name), .arena = arena, .seed = options->seed * 1000 + 1};
}
