/* Parts of the zoo's models. */
#ifndef TEGULA_RUNTIME_ZOO_LAYERS_H
#define TEGULA_RUNTIME_ZOO_LAYERS_H

#include "frontend/builder.h"
#include "runtime/zoo.h"

/* A model under construction: every weight has its own seed. */
typedef struct tg_zoo_model {
  tg_builder *builder;
  tg_arena *arena;
  uint64_t seed;
} tg_zoo_model;

/* Uniform with the variance that keeps activations of rectified layers in range: 2 / fan_in. */
tg_value *tg_zoo_weights(tg_zoo_model *z, const char *name, int rank, const int64_t *sizes, int64_t fan_in);
tg_value *tg_zoo_bias(tg_zoo_model *z, const char *name, int64_t size);
const char *tg_zoo_part(tg_zoo_model *z, const char *layer, const char *suffix);
tg_value *tg_zoo_linear(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out);
/* `window` with its kernel; `biased`: with a bias, or what follows has one. */
tg_value *tg_zoo_conv(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out,
                      tg_window window, bool biased);
tg_value *tg_zoo_relu(tg_zoo_model *z, const char *layer, tg_value *x);
tg_value *tg_zoo_pool(tg_zoo_model *z, const char *layer, tg_value *x);
/* An input whose first dimension is the batch. */
tg_value *tg_zoo_batched(tg_zoo_model *z, const char *name, int64_t batch, int rank, const int64_t *rest);
tg_zoo_model tg_zoo_begin(tg_arena *arena, const char *name, const tg_zoo_options *options);

/* Models of zoo_images.c and zoo_transformers.c. */
tg_status tg_zoo_convmodel(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                           tg_diag *diag);
tg_status tg_zoo_resnet18(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                          tg_diag *diag);
tg_status tg_zoo_attention(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                           tg_diag *diag);
tg_status tg_zoo_bert_layer(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                            tg_diag *diag);
tg_status tg_zoo_bert_base(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                           tg_diag *diag);
tg_status tg_zoo_bert_mlm(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                          tg_diag *diag);

#endif
