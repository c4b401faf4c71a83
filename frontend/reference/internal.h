/* Shared by the files of this folder. */
#ifndef TEGULA_FRONTEND_REFERENCE_INTERNAL_H
#define TEGULA_FRONTEND_REFERENCE_INTERNAL_H

#include "frontend/reference.h"

void tg_reference_matmul(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_gemm(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_reduce_partials(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_conv(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_elementwise(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_pool(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_global_pool(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_softmax(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_batch_normalization(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_layer_normalization(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_copy(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_transpose(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_concat(const tg_node *node, const void *const *inputs, void *output);
void tg_reference_cast(const tg_node *node, const void *const *inputs, void *output);

/* The elements of a tensor widened to fp32, in memory the caller frees. */
float *tg_reference_widen(const tg_value *value, const void *data);

#endif
