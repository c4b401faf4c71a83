/* Shared by the files of this folder. */
#ifndef TEGULA_FRONTEND_INFER_INTERNAL_H
#define TEGULA_FRONTEND_INFER_INTERNAL_H

#include "frontend/infer.h"

/* The type of the first result. A dtype that is set already stays. */
tg_status tg_infer_result(tg_node *node, tg_dtype dtype, int rank, const int64_t *sizes, tg_diag *diag);

/* Attribute AXIS in [0, limit), negative ones counted from `rank`. */
tg_status tg_infer_axis(tg_node *node, int rank, int limit, tg_diag *diag);

/* Operands of types that the operator takes, agreeing as long as the result's type is open. */
tg_status tg_infer_check_dtypes(const tg_node *node, tg_diag *diag);
tg_dtype tg_infer_elementwise_dtype(const tg_node *node);

/* Attribute AXES as a set of positions in a shape of `rank`, written back ascending and from 0. */
tg_status tg_infer_axes(tg_graph *graph, tg_node *node, int rank, bool out_set[TG_MAX_RANK], tg_diag *diag);

tg_status tg_infer_reduce(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_shape_of(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_constant_of_shape(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_range(tg_graph *graph, tg_node *node, tg_diag *diag);

tg_status tg_infer_conv(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_conv_transpose(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_conv_input_gradient(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_conv_weight_gradient(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_pool(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_global_pool(tg_graph *graph, tg_node *node, tg_diag *diag);

tg_status tg_infer_reshape(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_flatten(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_squeeze(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_unsqueeze(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_transpose(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_concat(tg_graph *graph, tg_node *node, tg_diag *diag);

#endif
