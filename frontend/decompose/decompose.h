/* Operators made of others, shared by the files of this folder. tg_infer_* checks such a node and types its
 * results; tg_expand_* replaces it, inferred. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_DECOMPOSE_H
#define TEGULA_FRONTEND_DECOMPOSE_DECOMPOSE_H

#include "frontend/build/build.h"
#include "frontend/infer/internal.h"

/* Einsum; the second replaces such a node, inferred, by a transpose or a product. */
tg_status tg_infer_einsum(tg_node *node, tg_diag *diag);
void tg_expand_einsum(tg_graph *graph, tg_node *node);
tg_status tg_infer_recurrent(tg_node *node, tg_diag *diag); /* RNN, GRU, LSTM */
/* Replaces such a node, inferred, by one product of all inputs and the operators of each step. */
void tg_unroll_recurrent(tg_graph *graph, tg_node *node);
/* GatherElements (gather_elements.c), normalisations of channels (normalizations.c), losses (losses.c) and
 * operators of the training domain (optimizers.c, gradient.c), and what they are made of. */
tg_status tg_infer_gather_elements(tg_node *node, tg_diag *diag);
tg_status tg_infer_grouped_normalization(tg_node *node, tg_diag *diag);
tg_status tg_infer_loss(tg_node *node, tg_diag *diag);
tg_status tg_infer_optimizer(tg_node *node, tg_diag *diag);
tg_status tg_infer_gradient(tg_node *node, tg_diag *diag);
void tg_expand_gather_elements(tg_graph *graph, tg_node *node);
void tg_expand_grouped_normalization(tg_graph *graph, tg_node *node);
void tg_expand_loss(tg_graph *graph, tg_node *node);
void tg_expand_optimizer(tg_graph *graph, tg_node *node);
/* TG_INVALID: an operator on the way has no gradient. */
tg_status tg_expand_gradient(tg_graph *graph, tg_node *node, tg_diag *diag);

#endif
