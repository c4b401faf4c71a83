/* Graphs from C: the same graphs that an ONNX file gives, without a file.
 *
 *   tg_builder *b = tg_builder_create(&arena, "mlp");
 *   tg_value *x = tg_builder_input(b, "x", TG_F32, 2, (int64_t[]){8, 4});
 *   tg_value *w = tg_builder_seeded(b, "w", TG_F32, 2, (int64_t[]){4, 2}, 1, 0.5f);
 *   tg_value *y = tg_builder_unary(b, TG_OP_RELU, "relu", tg_builder_matmul(b, "fc", x, w));
 *   tg_builder_output(b, "y", y);
 *   tg_status status = tg_builder_finish(b, &graph, &diag);
 *
 * Values belong to the builder's graph, which lives on the arena. A call with a NULL operand, or on operands
 * of another builder, returns NULL and the builder remembers the first such call: only tg_builder_finish need
 * be checked. Not thread-safe; distinct builders are independent.
 *
 * A call for which the host has no memory ends the process, but within tg_builder_guarded, where programs that use the
 * library build. */
#ifndef TEGULA_FRONTEND_BUILDER_H
#define TEGULA_FRONTEND_BUILDER_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_builder tg_builder;

/* `arena` must outlive builder and graph. */
tg_builder *tg_builder_create(tg_arena *arena, const char *name);

/* The graph under construction: for asking (shapes, by tg_graph_infer), not for changing. */
tg_graph *tg_builder_graph(tg_builder *builder);

/* Hands over the graph, with every type inferred if no dimension is open. TG_INVALID: the first misuse, an
 * operand that does not fit, or a graph without output. */
tg_status tg_builder_finish(tg_builder *builder, tg_graph **out_graph, tg_diag *diag);

/* Calls `build(user, diag)` and returns what it does. TG_INVALID, too, with a line in `diag`: the host had no memory for a
 * call of this header or of frontend/base/arena.h in it, which did not return; the arena can be released. `build` must hold
 * nothing that it alone can free. */
tg_status tg_builder_guarded(tg_status (*build)(void *user, tg_diag *diag), void *user, tg_diag *diag);

/* Rank at most 8. The form with dims may leave sizes open by symbol (size -1). */
tg_value *tg_builder_input(tg_builder *builder, const char *name, tg_dtype dtype, int rank,
                           const int64_t *sizes);
tg_value *tg_builder_open_input(tg_builder *builder, const char *name, tg_dtype dtype, int rank,
                                const tg_dim *dims);
/* `data` is copied; NULL gives zeros. */
tg_value *tg_builder_constant(tg_builder *builder, const char *name, tg_dtype dtype, int rank,
                              const int64_t *sizes, const void *data);
/* scale * uniform [-1, 1), a function of the seed (not 0) alone. */
tg_value *tg_builder_seeded(tg_builder *builder, const char *name, tg_dtype dtype, int rank,
                            const int64_t *sizes, uint64_t seed, float scale);
tg_value *tg_builder_scalar(tg_builder *builder, const char *name, tg_dtype dtype, double value);
void tg_builder_output(tg_builder *builder, const char *name, tg_value *value);

/* Operators between begin and end keep the dtypes given here, whatever the precision policy. Regions may
 * nest. */
void tg_builder_begin_disable_graphamp(tg_builder *builder);
void tg_builder_end_disable_graphamp(tg_builder *builder);

/* Any operator of ops.def, attributes at their defaults; set others with tg_attr_set_* on the result's
 * producer. */
tg_value *tg_builder_op(tg_builder *builder, tg_op op, const char *name, tg_value *const *inputs, int count);

tg_value *tg_builder_unary(tg_builder *builder, tg_op op, const char *name, tg_value *x);
tg_value *tg_builder_binary(tg_builder *builder, tg_op op, const char *name, tg_value *a, tg_value *b);
tg_value *tg_builder_matmul(tg_builder *builder, const char *name, tg_value *a, tg_value *b);
/* x W^T + bias, as a linear layer stores them: W[out,in]; bias may be NULL. */
tg_value *tg_builder_linear(tg_builder *builder, const char *name, tg_value *x, tg_value *weights,
                            tg_value *bias);

/* Window of a two-dimensional convolution or pool: the same in both directions; zeros mean 1 (padding: 0). */
typedef struct tg_window {
  int kernel, stride, padding, dilation, group; /* kernel: not of convolutions; group: convolutions only */
} tg_window;
tg_value *tg_builder_conv(tg_builder *builder, const char *name, tg_value *x, tg_value *weights,
                          tg_value *bias, tg_window window);
/* Gradients of that convolution: of an input of extents[0] x extents[1], of weights of window.kernel. */
tg_value *tg_builder_conv_input_gradient(tg_builder *builder, const char *name, tg_value *dy,
                                         tg_value *weights, tg_window window, const int64_t extents[2]);
tg_value *tg_builder_conv_weight_gradient(tg_builder *builder, const char *name, tg_value *x, tg_value *dy,
                                          tg_window window);
tg_value *tg_builder_pool(tg_builder *builder, tg_op op, const char *name, tg_value *x, tg_window window);
tg_value *tg_builder_max_pool_gradient(tg_builder *builder, const char *name, tg_value *x, tg_value *dy,
                                       tg_window window);
tg_value *tg_builder_average_pool_gradient(tg_builder *builder, const char *name, tg_value *dy,
                                           tg_window window, const int64_t extents[2]);

/* inputs: x scale bias mean variance. */
tg_value *tg_builder_batch_normalization(tg_builder *builder, const char *name, tg_value *const inputs[5],
                                         double epsilon);
/* Over the dimensions from `axis` on; scale and bias have their shape, bias may be NULL. */
tg_value *tg_builder_layer_normalization(tg_builder *builder, const char *name, tg_value *x, tg_value *scale,
                                         tg_value *bias, int axis, double epsilon);
tg_value *tg_builder_softmax(tg_builder *builder, const char *name, tg_value *x, int axis);
/* Sizes as ONNX: 0 copies, one may be -1. */
tg_value *tg_builder_reshape(tg_builder *builder, const char *name, tg_value *x, int rank,
                             const int64_t *sizes);
tg_value *tg_builder_transpose(tg_builder *builder, const char *name, tg_value *x, int rank,
                               const int64_t *perm);
tg_value *tg_builder_concat(tg_builder *builder, const char *name, tg_value *const *inputs, int count,
                            int axis);
tg_value *tg_builder_cast(tg_builder *builder, const char *name, tg_value *x, tg_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
