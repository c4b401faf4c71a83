/* Passes over an inferred graph. Each needs every type known and leaves every type known; none fails on user
 * input. Nodes that a pass replaces hand their id and name to what computes their value now. pipeline.c has
 * the order. */
#ifndef TEGULA_FRONTEND_PASSES_PASSES_H
#define TEGULA_FRONTEND_PASSES_PASSES_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Simplification: the same values, bit for bit. */
void tg_pass_remove_dead(tg_graph *graph); /* nodes whose results nobody uses; compacts the values */
void tg_pass_remove_identity(
    tg_graph *graph); /* Identity, Dropout, casts, reshapes, transposes that change nothing */
void tg_pass_fold_constants(tg_graph *graph); /* nodes of constants, as far as that is cheap */
void tg_pass_share_casts(tg_graph *graph);    /* one cast for each value and format; exact round trips */
void tg_pass_absorb_casts(tg_graph *graph);   /* casts into the operators around them, where the bits stay */

/* Lowering: one operator into others, to rounding. */
void tg_pass_lower_batch_normalization(tg_graph *graph); /* into the convolution before, or Mul and Add */
void tg_pass_lower_gemm(tg_graph *graph);  /* Gemm to MatMul, Mul, Add; ReducePartials; vectors to matrices */
void tg_pass_lower_shape(tg_graph *graph); /* Flatten, Squeeze, Unsqueeze to Reshape */
void tg_pass_lower_narrow(
    tg_graph *graph); /* floats of 8 and 4 bits to their numbers in fp32, but for constant outputs */
/* Float64 to fp32, but for outputs that are constants. TG_INVALID, of a pass alone: a node decides by such a number, or
 * a constant is beyond fp32; the line names it. */
tg_status tg_lower_float64(tg_graph *graph, tg_diag *diag);
void tg_pass_lower_float64(tg_graph *graph); /* the same of a graph that has no such node */
/* Integers to fp32. Known outputs (graph.h) and the limits of inputs are noted. TG_INVALID, of a pass alone:
 * a node computes with integers in a way that the array does not, or not exactly; the line names it. */
tg_status tg_lower_integers(tg_graph *graph, tg_diag *diag);
void tg_pass_lower_integers(tg_graph *graph);  /* the same of a graph that has no such node */
bool tg_gather_is_slices(const tg_node *node); /* a Gather of constant positions that lower_gather slices */
void tg_pass_lower_gather(tg_graph *graph);    /* Gather, ScatterAdd to Slices or rows by index */
void tg_pass_slice_gather(tg_graph *graph);    /* Gather to Slices, where its numbers are constant */
void tg_pass_lower_pieces(tg_graph *graph); /* Split to Slices; DepthToSpace, SpaceToDepth to a Transpose */
void tg_pass_lower_repeats(
    tg_graph *graph); /* Tile, Resize to Expand; Pad's edge and reflect to Concat, its crops to Slice */
void tg_pass_lower_layer_normalization(tg_graph *graph); /* over the last axis */
void tg_pass_lower_softmax(tg_graph *graph);             /* to the last axis */
void tg_pass_lower_sum(tg_graph *graph);                 /* Sum and Mean to chains of Add */
void tg_pass_lower_logic(tg_graph *graph);               /* bools to 0 and 1 in bf16 */
void tg_pass_lower_reduce(tg_graph *graph); /* to sums, products, maxima and minima that keep dimensions */
void tg_pass_split_reduce(tg_graph *graph); /* those to rows and to blocks of columns */
void tg_pass_lower_global_pool(tg_graph *graph);    /* to ReduceMean, ReduceMax */
void tg_pass_lower_conv_transpose(tg_graph *graph); /* to ConvInputGradient */
void tg_pass_lower_pool_gradient(tg_graph *graph);  /* to MaxPoolIndex, Mul, WindowGradient */

/* Weight gradients of convolutions to one channel to Mul, ReduceSum; behind channels_last; not where
 * accumulation rounds (--tiling-accum) */
void tg_pass_lower_conv_gradient(tg_graph *graph);
/* Weight gradients of depthwise convolutions, whatever accumulation does; behind channels_last, in front of split_reduce. */
void tg_pass_lower_depthwise_gradient(tg_graph *graph);

/* Layout: convolution and pooling to channels-last, transposes moved until they meet. */
void tg_pass_channels_last(tg_graph *graph);
void tg_pass_hoist_casts(tg_graph *graph); /* casts above moves, towards the producer */
void tg_pass_sink_transposes(
    tg_graph *graph); /* below elementwise operators, Concat, moves by axis, Reshapes */
void tg_pass_sink_squeezes(
    tg_graph *graph); /* of operators of one dimension, below elementwise ones and Concat */
void tg_pass_sink_planes(tg_graph *graph);    /* of operators of volumes, below elementwise ones */
void tg_pass_slice_pads(tg_graph *graph);     /* Slice(Pad(x)) to Pad(Slice(x)) */
void tg_pass_slice_reshapes(tg_graph *graph); /* Slice(Reshape(x)) to Reshape(Slice(x)), of columns */
void tg_pass_scale_columns(tg_graph *graph);  /* Mul of parts of a product's columns to one of all */
void tg_pass_sink_reshapes(tg_graph *graph);  /* of reductions, below what scales them */
void tg_pass_merge_moves(tg_graph *graph);  /* chains of transposes or reshapes; like transposes of a value */
void tg_pass_merge_chains(tg_graph *graph); /* of transposes and reshapes that keep rows together */
void tg_pass_permute_weights(
    tg_graph *graph); /* Transpose, Reshape, MatMul: into the rows of constant weights */
void tg_pass_permute_channels(
    tg_graph *graph); /* Conv, Reshape, Transpose: into the columns of constant weights; not
                                                   where accumulation rounds by column (--tiling-accum) */
/* Reshape, Transpose, Reshape of channels, below which are Convs: into the rows of constant weights; not where accumulation
 * rounds. */
void tg_pass_absorb_shuffles(tg_graph *graph);
void tg_pass_nest_concats(tg_graph *graph); /* Concat of another's inputs, and more, to one of that Concat */
void tg_pass_transpose_to_reshape(tg_graph *graph); /* where only dimensions of size 1 move */
/* Products of one tensor to one product, in which accumulation that rounds has other places. */
void tg_pass_merge_products(tg_graph *graph);
void tg_merge_scaled_products(tg_graph *graph); /* those of which some result is scaled behind moves */
void tg_pass_transpose_products(
    tg_graph *graph); /* Transpose(A B) to B^T A^T; not where accumulation rounds by
                                                row and column of the product (--tiling-accum) */

/* What products give to BF16, behind bias and activation, where all that read it widen it; where accumulation rounds
 * (--tiling-accum), and nothing is trained. */
void tg_narrow_products(tg_graph *graph, int64_t k_tile);
void tg_pass_narrow_products(tg_graph *graph); /* of K tiles of 128 */

/* Softmax and the MatMul that reads it, alone but for gradients, which go by blocks, too (block_gradient.h), to
 * BlockedAttention, of rows of more than `block` columns, blocks of which have at most so many, or TG_ATTENTION_BLOCK
 * (--attention blocked); `log`, or NULL, hears which stay whole, and why. The pass by name: of the
 * latter. */
typedef void tg_pass_log(void *user, bool warning, const char *line); /* a line without a newline */
void tg_block_attention(tg_graph *graph, int64_t block, tg_pass_log *log, void *log_user);
void tg_pass_block_attention(tg_graph *graph);

/* By name, as golden tests and --dump know them: tg_pass_ without the prefix. NULL: no such pass. */
typedef void tg_pass(tg_graph *graph);
tg_pass *tg_pass_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
