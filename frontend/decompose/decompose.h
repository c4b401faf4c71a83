/* Operators made of others, shared by the files of this folder. tg_infer_* checks such a node and types its
 * results; tg_expand_* replaces it, inferred. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_DECOMPOSE_H
#define TEGULA_FRONTEND_DECOMPOSE_DECOMPOSE_H

#include "frontend/build/build.h"
#include "frontend/infer/internal.h"

/* Is it one of letters that tg_infer_einsum takes? Such are put before any other, which goes. They have no types yet. */
bool tg_is_plain_einsum(const tg_node *node);
tg_status tg_split_einsum(tg_graph *graph, tg_node *node, tg_diag *diag);
/* Einsum; the second replaces such a node, inferred, by a transpose or a product. */
tg_status tg_infer_einsum(tg_node *node, tg_diag *diag);
void tg_expand_einsum(tg_graph *graph, tg_node *node);
tg_status tg_infer_recurrent(tg_node *node, tg_diag *diag); /* RNN, GRU, LSTM */
/* Its function number `which` of a direction: alpha x + beta (ADD), alpha tanh(beta x) (MUL), or an operator of one
 * operand, with these attributes if it has any. TG_OP_COUNT: it is not supported. */
typedef struct tg_recurrent {
  tg_op op;
  bool has_alpha;
  double alpha, beta;
} tg_recurrent;
tg_recurrent tg_recurrent_function(const tg_node *node, int direction, int which);
/* Have both directions of a bidirectional layer the same functions? */
bool tg_recurrent_alike(const tg_node *node);
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

/* A graph is not unrolled or split up beyond so many nodes. */
enum { TG_MOST_NODES = 1 << 17 };

/* If, Loop, Scan, SequenceMap (control.c) and FlexAttention: each puts the nodes of a body, or one step of it, before the node and removes
 * it, perhaps for another one. They have no types yet. */
tg_status tg_expand_control(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_expand_flex_attention(tg_graph *graph, tg_node *node, tg_diag *diag);
/* The body's nodes before `before`, its results of these inputs, those that it captures included. */
tg_status tg_put_body(tg_graph *graph, const tg_graph *body, tg_node *before, tg_value *const *inputs,
                      tg_value **out_results, tg_diag *diag);

/* Operators that make or read sequences (sequences.c): in place of each but SequenceConstruct, what it does with the
 * elements. Other nodes read none; in the end none is left. */
tg_status tg_expand_sequence(tg_graph *graph, tg_node *node, tg_diag *diag);
tg_status tg_check_no_sequence(const tg_graph *graph, const tg_node *node, tg_diag *diag);
tg_status tg_remove_sequences(tg_graph *graph, tg_diag *diag);
/* Is it one, of elements that are known: the operands of its producer? */
bool tg_is_sequence(const tg_value *x);
/* Are `nodes` more and, in sequences, `elements` more within the limits of a graph? These are then counted. */
tg_status tg_check_sequence_room(tg_graph *graph, int nodes, int elements, tg_diag *diag);

/* A composition builds what the node computes before it, in results[0 ..] of its results (NULL: it has no such
 * result). It checks all that it reads; what an operator of its own refuses is refused. */
enum { TG_MOST_RESULTS = 256 };
typedef tg_status tg_composition(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag);
#define TG_COMPOSITION(op, make) tg_composition tg_make_##make;
#include "frontend/decompose/compositions.def"
#undef TG_COMPOSITION
/* Pools of floats of three spatial dimensions. */
tg_composition tg_make_pool_3d;
/* Of a node with a composition: false, it is in the form that inference and passes know. */
bool tg_must_compose(const tg_node *node);

/* Attribute AXIS in [0, rank). */
tg_status tg_compose_axis(const tg_node *node, int rank, int *out_axis, tg_diag *diag);
/* The first or last place along axis of the largest or smallest element, of the first NaN if there is one: I64,
 * the axis kept. */
tg_value *tg_compose_place(tg_build *b, tg_value *x, int axis, bool largest, bool last);
/* So many elements are built with at most; more is refused. */
tg_status tg_compose_bounded(double elements, tg_diag *diag);
/* The elements of a constant operand as integers, at most `most`: their count; -1: it is none. */
int tg_compose_ints(const tg_value *value, int most, int64_t *out);

#endif
