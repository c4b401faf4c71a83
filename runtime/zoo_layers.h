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
/* Batch normalisation: weights `gain`, running_mean and bias small, running_var 1. */
tg_value *tg_zoo_norm(tg_zoo_model *z, const char *layer, tg_value *x, int64_t channels, float gain);
tg_value *tg_zoo_layer_norm(tg_zoo_model *z, const char *layer, tg_value *x, int64_t width, double epsilon);
/* x sigmoid(x). */
tg_value *tg_zoo_silu(tg_zoo_model *z, const char *layer, tg_value *x);
/* x[N, seq, in] W + b, W[in, out]. */
tg_value *tg_zoo_project(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out,
                         bool biased);

typedef struct tg_zoo_attention_sizes {
  int64_t tokens, keys, width, heads;
  const char *query, *key, *value, *output; /* names of the projections, behind that of the layer */
  bool key_bias, causal;
} tg_zoo_attention_sizes;
/* Multi-head attention of x[N, tokens, width] to from[N, keys, width]: softmax(Q K^T / sqrt(d)) V, projected. */
tg_value *tg_zoo_heads(tg_zoo_model *z, const char *layer, tg_value *x, tg_value *from,
                       const tg_zoo_attention_sizes *sizes);
/* TG_INVALID: images of this side, or `factor` times `width` channels, are beyond what a model may have. */
tg_status tg_zoo_check_sizes(const char *name, int64_t side, int64_t width, int factor, tg_diag *diag);
tg_zoo_model tg_zoo_begin(tg_arena *arena, const char *name, const tg_zoo_options *options);

/* Models of zoo_images.c, zoo_classifiers.c, zoo_dense.c, zoo_transformers.c and zoo_sequences.c. */
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
tg_status tg_zoo_resnet50(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                          tg_diag *diag);
tg_status tg_zoo_vgg16(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph, tg_diag *diag);
tg_status tg_zoo_mobilenetv2(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                             tg_diag *diag);
tg_status tg_zoo_mobilenetv3(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                             tg_diag *diag);
tg_status tg_zoo_efficientnet(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                              tg_diag *diag);
tg_status tg_zoo_unet(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph, tg_diag *diag);
tg_status tg_zoo_diffusion_block(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                                 tg_diag *diag);
tg_status tg_zoo_lstm_lm(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph, tg_diag *diag);
tg_status tg_zoo_vit_tiny(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                          tg_diag *diag);
tg_status tg_zoo_whisper_encoder(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                                 tg_diag *diag);
tg_status tg_zoo_whisper_decoder(tg_arena *arena, const tg_zoo_options *options, tg_graph **out_graph,
                                 tg_diag *diag);

#endif
