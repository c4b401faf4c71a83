/* Shared by the files of this folder. */
#ifndef TEGULA_FRONTEND_INFER_INTERNAL_H
#define TEGULA_FRONTEND_INFER_INTERNAL_H

#include "frontend/infer.h"

/* The type of the first result. A dtype that is set already stays. */
tg_status tg_infer_result(tg_node *node, tg_dtype dtype, int rank, const int64_t *sizes, tg_diag *diag);

/* The same of result `output`. */
tg_status tg_infer_result_at(tg_node *node, int output, tg_dtype dtype, int rank, const int64_t *sizes,
                             tg_diag *diag);

/* Attribute AXIS in [0, limit), negative ones counted from `rank`. */
tg_status tg_infer_axis(tg_node *node, int rank, int limit, tg_diag *diag);

/* "node \"fc1\" (Gemm)", on the graph's arena. */
const char *tg_infer_where(const tg_graph *graph, const tg_node *node);

/* Operands of types that the operator takes, agreeing as long as the result's type is open. */
tg_status tg_infer_check_dtypes(const tg_node *node, tg_diag *diag);
tg_dtype tg_infer_elementwise_dtype(const tg_node *node);

/* Attribute AXES as a set of positions in a shape of `rank`, written back ascending and from 0. */
tg_status tg_infer_axes(tg_graph *graph, tg_node *node, int rank, bool out_set[TG_MAX_RANK], tg_diag *diag);

tg_status tg_infer_reduce(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_shape_of(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_constant_of_shape(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_range(tg_graph *graph, tg_node *node, tg_diag *diag);
/* Constant operand `input` becomes attribute `key`, of kind INTS (a list, or one number) or INT (one number).
 * An absent operand leaves the attribute as it is. The operand stays in place: the caller truncates. */
tg_status tg_infer_absorb(tg_graph *graph, tg_node *node, int input, tg_attr_key key, tg_diag *diag);
tg_status tg_infer_absorb_pads(tg_graph *graph, tg_node *node, tg_diag *diag);    /* of Pad, all operands */
tg_status tg_infer_absorb_factors(tg_graph *graph, tg_node *node, tg_diag *diag); /* of Resize */

tg_status tg_infer_conv(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_conv_transpose(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_conv_input_gradient(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_conv_weight_gradient(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_max_pool_gradient(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_average_pool_gradient(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_window_gradient(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_pool(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_global_pool(tg_graph *graph, tg_node *node, tg_diag *diag);

tg_status tg_infer_reshape(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_flatten(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_squeeze(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_unsqueeze(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_transpose(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_concat(tg_graph *graph, tg_node *node, tg_diag *diag);

tg_status tg_infer_split(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_slice(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_pad(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_gather(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_gather_rows(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_scatter_rows(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_scatter_add(tg_graph *graph, tg_node *node, tg_diag *diag);

tg_status tg_infer_expand(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_tile(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_infer_resize(tg_node *node, tg_diag *diag);
/* Is this Resize, with its operands, the repetition of elements that tg_infer_resize takes? */
bool tg_infer_repeats(const tg_node *node);
tg_status tg_infer_blocks(tg_node *node, tg_diag *diag); /* DepthToSpace, SpaceToDepth */
tg_status tg_infer_trilu(tg_graph *graph, tg_node *node, tg_diag *diag);

#endif
