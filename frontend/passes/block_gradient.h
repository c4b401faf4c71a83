/* Attention by blocks in a training step (block_attention.c). */
#ifndef TEGULA_FRONTEND_PASSES_BLOCK_GRADIENT_H
#define TEGULA_FRONTEND_PASSES_BLOCK_GRADIENT_H

#include "frontend/graph.h"

/* What nodes of backward compute of a softmax's rows and of its operand's, in blocks of keys. */
typedef struct tg_key_blocks tg_key_blocks;

/* How the readers of `softmax` besides `product`, the MatMul of forward, compute by blocks of `block` columns. NULL: there
 * are others than those of the gradients of both, or they do other things. On graph->arena; changes nothing. */
tg_key_blocks *tg_find_key_blocks(const tg_graph *graph, tg_node *softmax, tg_node *product, int64_t block);
/* Puts that in the place of these readers: `y`, in FP32, is softmax(X) V, `logsum` [..,M,1] the logarithm of the sum of
 * exp(X) of each row. Each block's scores are computed anew. */
void tg_use_key_blocks(tg_graph *graph, tg_key_blocks *blocks, tg_value *y, tg_value *logsum);

#endif
