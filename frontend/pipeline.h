/* The frontend's way of a graph, from import to what the mapper takes. */
#ifndef TEGULA_FRONTEND_PIPELINE_H
#define TEGULA_FRONTEND_PIPELINE_H

#include "frontend/graph.h"
#include "frontend/precision/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called after each pass with the graph as it then is (`tegula inspect --dump PASS`, golden tests). */
typedef void tg_pass_observer(void *user, const char *pass, const tg_graph *graph);

typedef struct tg_frontend_options {
  tg_precision_options precision;
  tg_pass_observer *observe; /* or NULL */
  void *observe_user;
  bool for_cpu; /* for the host's CPU: rows that are chosen by numbers that arrive stay Gather and ScatterAdd,
                   their numbers in f32 */
  bool
      products_apart; /* products of one tensor are not made one, but where accumulation rounds by places in them */
} tg_frontend_options;

void tg_frontend_defaults(tg_frontend_options *options);

/* Shapes, precision, simplification and lowering, in place. Symbols still open are bound to 1. Graph inputs
 * and outputs keep their order, names, layout and dtypes.
 *
 * Afterwards every value is known, every size explicit, and there are only these nodes (TG_IS_DEVICE), on
 * f32, bf16 and f16; a model that leaves another element type is TG_INVALID:
 *
 * - MatMul: A[..,M,K] B[..,K,N], ranks >= 2, batch dimensions broadcast; both operands one float dtype, the
 *   result's dtype is its own (bf16 in, f32 out under mp1). K may be 0: the result is +0.
 * - Conv: channels_last=1, X[N,H,W,Cin] W[KH,KW,Cin/group,Cout] and optional bias[Cout], which is added after
 *   the chain; strides, dilations [2], pads [top,left,bottom,right] explicit. W may be any value.
 * - ConvInputGradient: channels_last=1, dY[N,OH,OW,Cout] W[KH,KW,Cin/group,Cout] and optional bias[Cin];
 *   ConvWeightGradient: channels_last=1, X[N,H,W,Cin] dY[N,OH,OW,Cout], the result as the W of Conv.
 * Attributes are those of the Conv, explicit; output_shape [H,W] of the former.
 * - MaxPool, AveragePool: channels_last=1, X[N,H,W,C]; kernel_shape, strides, dilations, pads explicit; the
 *   output size is already that of ceil_mode, whose windows may pass the end of the padding.
 * - MaxPoolIndex: as MaxPool, the result counts the kernel's positions row by row. WindowGradient:
 * channels_last=1, dY[N,OH,OW,C] and perhaps positions of that shape; output_shape [H,W] explicit, also
 * kernel_shape etc.
 * - elementwise: numpy broadcasting; computed in fp32, rounded once to the result's dtype. LeakyRelu and Clip
 *   carry their constants. Max and Min have two inputs or more.
 * - comparisons, And, Or, Xor, Not give 0 or 1 in bf16; they and Where take what is not 0 for true.
 * - Softmax, LogSoftmax: over the last dimension, flatten=0.
 * - BlockedAttention: X[..,M,N] in any format, V[..,N,D], batch dimensions broadcast; made where it is asked for; logsum 0, or
 *   1 for results in f32.
 * - ReduceSum, ReduceMax, ReduceMin, ReduceProd, keepdims=1: over the last dimension of X[M,N], with
 * block > 0 so many elements of a row to a result; or over blocks of the middle dimension of X[A,M,N] with
 * block > 0, the last of which may be shorter.
 * - Transpose, Concat, Reshape, Cast.
 * - Slice: starts, steps explicit for all dimensions. Expand: of a tensor of the result's rank. Pad: mode
 *   constant, a frame around two dimensions at most, no crops.
 * - Integers: graph inputs alone, read by Casts to f32. What the model computes as integers are whole numbers
 *   in f32, all of them exact if elements of an input stay below its `limit`; a NaN is one that is not. An
 *   output of such a type that is constant is in `known_outputs`, exactly.
 *
 * Operands of elementwise operators, Softmax and reductions may be of any of the formats, mixed, and differ
 * from the result's; so may an AveragePool's. */
tg_status tg_frontend_lower(tg_graph *graph, const tg_frontend_options *options, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
