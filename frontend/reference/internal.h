/* Shared by the files of this folder. */
#ifndef TEGULA_FRONTEND_REFERENCE_INTERNAL_H
#define TEGULA_FRONTEND_REFERENCE_INTERNAL_H

#include "frontend/reference.h"

void tg_reference_matmul(const tg_node *node, const tg_reference_draw *draw, const void *const *inputs,
                         void *output);
void tg_reference_gemm(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_reduce_partials(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_conv(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_conv_input_gradient(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_conv_weight_gradient(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_max_pool_index(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_pool_gradient(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_elementwise(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_logic(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_reduction(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_generate(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_pool(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_global_pool(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_softmax(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_blocked_attention(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_batch_normalization(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_layer_normalization(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_copy(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_transpose(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_concat(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_split(const tg_node *node, const void *const *inputs, void *const *outputs);
void tg_reference_by_axis(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_blocks(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_trilu(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_gather(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_scatter_rows(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_scatter_add(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_cast(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_stochastic_cast(const tg_node *node, const tg_reference_draw *draw,
                                  const void *const *inputs, void *output);

/* Zeroed memory that the caller frees. */
void *tg_reference_scratch(size_t count, size_t size);

/* The elements of a tensor widened to fp32, in memory the caller frees. */
float *tg_reference_widen(const tg_value *value, const void *data);

/* IEEE 754-2019 maximum and minimum: NaN wins, +0 is above -0. */
float tg_reference_maximum(float a, float b);
float tg_reference_minimum(float a, float b);

/* The activation functions of one operand, and PRelu, on one element. */
float tg_reference_activation(const tg_node *node, float x, float slope);

/* An operand, walked in the order of the elements of the result that it is broadcast to. */
typedef struct tg_broadcast_walk {
  const void *data;
  tg_dtype dtype;
  size_t at; /* the element of the operand */
  int rank; /* 1 or more: dimensions of the result, innermost first, neighbours joined that are both broadcast or both not */
  int64_t size[TG_MAX_RANK], left[TG_MAX_RANK];
  int64_t
      step[TG_MAX_RANK]; /* what `at` grows by where this dimension advances and the inner ones begin anew */
} tg_broadcast_walk;

/* One walk for each input of a node, at the first element of its result, in memory the caller frees. */
tg_broadcast_walk *tg_broadcast_walks(const tg_node *node, const void *const *inputs);

/* To the next element. */
static inline void tg_broadcast_step(tg_broadcast_walk *walk) {
  int d = 0;
  for (; --walk->left[d] == 0 && d + 1 < walk->rank; d++) walk->left[d] = walk->size[d];
  walk->at += (size_t)walk->step[d];
}

#endif
