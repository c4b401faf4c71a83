/* The typed graph: what every pass of the frontend reads and writes, and what the mapper receives.
 *
 * Everything lives on the graph's arena and dies with it; pointers stay valid for the arena's life, also
 * those of removed nodes. Nodes are kept in a list that is always in topological order. The functions below
 * keep producers, uses and names consistent; never write the fields of a value's use list or a node's inputs
 * directly. Functions here do not fail on user input: they assert their preconditions. tg_graph_verify checks
 * a whole graph. */
#ifndef TEGULA_FRONTEND_GRAPH_H
#define TEGULA_FRONTEND_GRAPH_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"
#include "frontend/dtype.h"
#include "frontend/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_MAX_RANK = 8 };
#define TG_MAX_ELEMENTS ((int64_t)1 << 34) /* of one tensor: hostile sizes are refused */

typedef struct tg_graph tg_graph;
typedef struct tg_node tg_node;
typedef struct tg_value tg_value;

/* One dimension. `symbol` names what the model left open (the batch); its size is -1 until it is bound, after
 * which the name stays as information. */
typedef struct tg_dim {
  int64_t size;
  const char *symbol; /* or NULL */
} tg_dim;

/* Node `node` reads the value as its input number `input`. */
typedef struct tg_use {
  tg_value *value; /* the value read, NULL for an absent optional input */
  tg_node *node;
  int input;
  struct tg_use *next, *previous; /* other uses of the same value */
} tg_use;

typedef enum tg_value_kind { TG_VALUE_INPUT, TG_VALUE_CONSTANT, TG_VALUE_RESULT } tg_value_kind;

/* Sizes that a model declares. rank -1: none are; a size of -1: open. */
typedef struct tg_shape {
  int rank;
  int64_t sizes[TG_MAX_RANK];
} tg_shape;

/* A tensor, dense and row-major. */
struct tg_value {
  const char *name; /* unique in the graph, any bytes but NUL, never empty */
  int index;        /* graph->values[index] is this value; renumbered only by tg_graph_compact */
  tg_value_kind kind;
  tg_dtype dtype; /* TG_NONE until inferred; for a result, the dtype its producer rounds to */
  int rank;       /* -1 until inferred */
  tg_dim dims[TG_MAX_RANK];
  bool initializer; /* constants: given by the model as such, perhaps a parameter; others are numbers of the
                       program: ONNX's Constant, or made by a pass */
  const tg_shape
      *default_of;  /* initializers: the shape of the model's input of this name, whose value this is unless
                                 another is given; NULL: there is none, or the graph was made of this value */
  const void *data; /* constants: elements of dtype, 64-byte aligned if the graph copied them; else NULL */
  uint64_t seed;    /* constants: tg_seeded_fill(seed, seed_scale) made the data; 0: it did not */
  float seed_scale;
  /* constants parsed from a text that kept only this hash of the data; 0: the data is here */
  uint64_t elided;
  int64_t limit; /* integer inputs of a lowered graph: elements must be below this in magnitude, so that all
                    that is computed of them is exact; else 0 */
  tg_node *producer;   /* results: the node; else NULL */
  int producer_output; /* and which of its outputs */
  tg_use *uses;        /* list by use->next, in no meaningful order */
  int use_count;
  int output_count; /* how many times the value stands in graph->outputs */
};

/* An attribute's value; which member counts is tg_attr_get(key)->kind. */
typedef struct tg_attr {
  tg_attr_key key;
  int64_t i;
  double f;
  const int64_t *ints;
  int count;        /* of ints; 0: not given */
  const char *text; /* "" when not given */
} tg_attr;

enum { TG_SUM_OF_GRADIENTS = -2 };

struct tg_node {
  tg_op op;
  int64_t id; /* graph-node id of the stochastic-rounding hash: the same for the same model, kept by passes */
  const char *name; /* of the model's node, for diagnostics and reports; "" allowed, not unique */
  tg_use *inputs;   /* inputs[i].value, NULL where an optional input is absent */
  int input_count;
  tg_value **outputs;
  int output_count;
  tg_attr *attrs; /* one for each of tg_op_get(op)->attrs, in that order */
  int attr_count;
  bool disable_graphamp; /* metadata tegula.disable_graphamp, or the builder's region */
  const char *origin; /* what a framework called it (add_, batch_matmul), metadata tegula.origin; or NULL */
  const char
      *casts; /* a cast rule of the model's own (precision/cast_rules.h), metadata tegula.casts; or NULL */
  const char *rule; /* which precision rule decided, for `inspect`; NULL before the cast pass */
  /* Of a backward node: the id of the node whose gradient it computes, whose formats it follows, and the
   * operand of that node whose gradient its result is (-1: a step on the way; TG_SUM_OF_GRADIENTS: gradients
   * of one tensor added, in the format they have). -1, -1: not backward. */
  int64_t forward;
  int forward_operand;
  tg_graph *bodies[2]; /* of If (then, else), Loop and Scan, which copies of the graph share; else NULL */
  tg_node *next, *previous;
};

/* A tensor that stays on the device from one run to the next: what a run leaves in output `output` the next
 * one finds in input `input`. Parameters and optimizer state of a training step. Indices into graph->inputs
 * and graph->outputs, of equal types; an input or an output belongs to at most one. */
typedef struct tg_carry {
  int input, output;
} tg_carry;

/* What the precision pass decided on one operand or result. Texts live as long as the graph. */
typedef struct tg_cast_record {
  const char *node, *op; /* the model's node; of an output: its name and "output" */
  int64_t id;            /* the node's; -1 for an output */
  int operand;           /* -1: the node's result; of an output: which */
  const char *tensor;
  tg_dtype before, after;    /* as it arrived (of a result: as the model has it), and as it is now */
  const char *rule, *source; /* what decided, and where that rule is from */
  bool inserted;             /* a cast was made for it; false: none is needed, or it reads that of another */
} tg_cast_record;

/* A size that the model leaves open. */
typedef struct tg_symbol {
  const char *name;
  int64_t size; /* -1 until bound */
} tg_symbol;

struct tg_graph {
  tg_arena *arena;
  const char *name;
  tg_value **inputs,
      **outputs; /* in the model's order; an output may be an input, a constant, or stand twice */
  int input_count, output_count;
  const char **output_names;      /* the names the user sees: passes may replace the values, never these */
  tg_dtype *output_dtypes;        /* as the model declares them; TG_NONE: not declared */
  tg_shape *output_shapes;        /* as the model declares them */
  const tg_value **known_outputs; /* of a lowered graph: by output, the constant of another type than the
                                     array's that it is, exactly; NULL: it is computed. NULL before */
  /* of a lowered graph: by output, does it say where an integer passed what is exact: NaN in it, or of
   * floats tg_inexact_mark in all of it? NULL before */
  bool *guarded_outputs;
  const char *
      *data_files; /* beside the model, that its constants were read from: paths, each once; not cloned */
  size_t data_file_count, data_files_capacity;
  tg_value **values; /* every value, also dead ones until tg_graph_compact */
  int value_count;
  tg_carry *carries; /* empty but for training steps */
  size_t carry_count, carry_capacity;
  tg_node *first, *last; /* topological order */
  int node_count;
  int64_t held;         /* bytes of constants that the model's file has */
  int64_t made;         /* and of those that tg_graph_count_made counted */
  int64_t listed_count; /* elements of all sequences that sequences.c made */
  int64_t next_id;
  /* id of the node in which inference ended because values decide its result's size; else -1 */
  int64_t undecided;
  const char *disable_graphamp; /* model metadata of that key: node names, comma-separated; or NULL */
  tg_cast_record *casts;        /* in order of the nodes, outputs last; NULL before the precision pass */
  size_t cast_count, cast_capacity;
  tg_symbol *symbols;
  int symbol_count;
  size_t inputs_capacity, outputs_capacity, names_capacity, dtypes_capacity, shapes_capacity, values_capacity,
      symbols_capacity;
  struct tg_name_set *names;
};

#define TG_FOR_NODES(graph, node) for (tg_node *node = (graph)->first; node; node = node->next)
/* `node` may be removed, and nodes inserted, in the body. */
#define TG_FOR_NODES_SAFE(graph, node)                                                                       \
  for (tg_node *node = (graph)->first, *node##_next = node ? node->next : NULL; node;                        \
       node = node##_next, node##_next = node ? node->next : NULL)

/* --- construction */

/* An empty graph. `arena` must outlive it. */
tg_graph *tg_graph_create(tg_arena *arena, const char *name);

/* A copy on `arena` that shares nothing with `graph` but the constants' data and the bodies of nodes. */
tg_graph *tg_graph_clone(const tg_graph *graph, tg_arena *arena);

/* Names are copied and made unique (a suffix is appended to a taken one). rank -1: not known. dims are copied
 * with their symbols, which become symbols of the graph. */
tg_value *tg_graph_add_input(tg_graph *graph, const char *name, tg_dtype dtype, int rank, const tg_dim *dims);

/* Input number `input`, whose sizes are known, is a constant from now on, with these elements, which are
 * copied; the inputs behind it move up. It must not be carried. */
void tg_graph_fix_input(tg_graph *graph, int input, const void *data);
/* The initializer of this name that is the default of an input, or NULL. */
tg_value *tg_graph_find_default(const tg_graph *graph, const char *name);
/* Before shapes are inferred: it has these sizes, which fit its default_of, and elements, which are copied; it is no default
 * any more. */
void tg_graph_replace_default(tg_graph *graph, tg_value *value, int rank, const int64_t *sizes,
                              const void *data);

/* data NULL: zeros. Otherwise the elements are copied, or kept where they are when `borrow` (they must then
 * live as long as the graph). The element count must be at most TG_MAX_ELEMENTS. */
tg_value *tg_graph_add_constant(tg_graph *graph, const char *name, tg_dtype dtype, int rank,
                                const int64_t *sizes, const void *data, bool borrow);
tg_value *tg_graph_add_scalar(tg_graph *graph, const char *name, tg_dtype dtype, double value);
/* Some constants have no data in the model: attributes and shapes name their sizes, and a few bytes may name any. Together
 * they take no more than TG_MOST_MADE_BYTES and TG_MADE_FOR_EACH times what the model has of data. Counts another one, before
 * there is memory for it; an element takes four bytes at least, which passes widen it to. */
enum { TG_MOST_MADE_BYTES = 1 << 28, TG_MADE_FOR_EACH = 32 };
tg_status tg_graph_count_made(tg_graph *graph, tg_dtype dtype, int rank, const int64_t *sizes, tg_diag *diag);

/* A node with tg_op_get(op)->outputs (1 if that is any number) fresh results of unknown type, the first named
 * `name` (or "<op>" if NULL or empty), and every attribute at its default. `before` NULL: at the end. `id`
 * -1: the next free one; passes that replace a node hand on its id. */
tg_node *tg_graph_add_node(tg_graph *graph, tg_op op, const char *name, tg_value *const *inputs,
                           int input_count, tg_node *before, int64_t id);
/* Gives a fresh node of an operator with any number of results so many (one before). */
void tg_node_set_outputs(tg_graph *graph, tg_node *node, int count);

/* `name` is what the user sees. */
void tg_graph_add_output(tg_graph *graph, tg_value *value, const char *name, tg_dtype declared);
/* Then the graph has no outputs; what computed them stays. */
void tg_graph_forget_outputs(tg_graph *graph);

/* The shape that the model declares for output number `output`; those open have size -1. */
void tg_graph_declare_output(tg_graph *graph, int output, int rank, const tg_dim *dims);
/* Output number `output` is `value` from now on; its name and what the model declares stay. */
void tg_graph_set_output(tg_graph *graph, int output, tg_value *value);

/* Input number `input` takes over output number `output` of the run before. */
void tg_graph_add_carry(tg_graph *graph, int input, int output);

/* --- change */

void tg_node_set_input(tg_node *node, int input, tg_value *value); /* value may be NULL */
/* Keeps the first `count` inputs. */
void tg_node_truncate_inputs(tg_node *node, int count);
/* Every use of `from`, also as a graph output, becomes one of `to`. */
void tg_value_replace(tg_graph *graph, tg_value *from, tg_value *to);
/* The same but for uses in `except`. */
void tg_value_replace_except(tg_graph *graph, tg_value *from, tg_value *to, const tg_node *except);
/* The outputs must be unused. The values stay in graph->values, dead, until tg_graph_compact. */
void tg_graph_remove_node(tg_graph *graph, tg_node *node);
/* Moves `node` in the list before `before` (NULL: to the end). */
void tg_graph_move_node(tg_graph *graph, tg_node *node, tg_node *before);
/* Forgets dead values (graph inputs and outputs stay) and renumbers value->index. */
void tg_graph_compact(tg_graph *graph);
/* Changes the name if the new one is free, otherwise leaves it. */
void tg_value_rename(tg_graph *graph, tg_value *value, const char *name);

/* The attribute `accumulation` of products: as --tiling-accum says, FP32 whatever it says, rounded to BF16 stochastically
 * after each k; or, of a single K tile, where its result is rounded, which is BF16, and nowhere before. The latter is
 * the only one of the others that a Conv, or a gradient of its input, may have. */
typedef enum tg_accumulation {
  TG_ACCUMULATE_AS_ASKED,
  TG_ACCUMULATE_FP32,
  TG_ACCUMULATE_BF16SR_EACH,
  TG_ACCUMULATE_TO_RESULT,
} tg_accumulation;

/* MatMul's attribute `partials`, N: K is cut into N parts of ceil(K/N) (the last ones shorter or empty), each
 * a chain of its own from +0; the results are added in ascending order, from +0 if there are several. */
enum { TG_MOST_PARTIALS = 4096 };
static inline int64_t tg_partial_length(int64_t k, int64_t partials) { return (k + partials - 1) / partials; }

/* MatMul's attribute `reduce`: the running sum of partials in FP32, or rounded to BF16 stochastically after
 * each addition. */
typedef enum tg_reduction { TG_REDUCE_FP32, TG_REDUCE_BF16SR } tg_reduction;

/* BlockedAttention's attribute `block`: a multiple of TG_ATTENTION_BLOCKS_OF, up to TG_MOST_ATTENTION_BLOCK; as an
 * option, TG_ATTENTION_BLOCK: 256 where rows of V have at most 128 bytes, else 128. */
enum { TG_ATTENTION_BLOCKS_OF = 64, TG_MOST_ATTENTION_BLOCK = 4096, TG_ATTENTION_BLOCK = -1 };

/* Columns of BlockedAttention's result, of `columns` of V: with `logsum` rows are whole flits of 64 bytes, and the last
 * one is behind all columns of V. */
enum { TG_LOGSUM_COLUMNS = 16 };
static inline int64_t tg_blocked_columns(int64_t columns, bool logsum) {
  return logsum ? columns / TG_LOGSUM_COLUMNS * TG_LOGSUM_COLUMNS + TG_LOGSUM_COLUMNS : columns;
}

/* --- attributes */

/* The operator must have the attribute. */
int64_t tg_attr_int(const tg_node *node, tg_attr_key key);
double tg_attr_float(const tg_node *node, tg_attr_key key);
const tg_attr *tg_attr_find(const tg_node *node,
                            tg_attr_key key); /* NULL: the operator has none of that key */
const int64_t *tg_attr_ints(const tg_node *node, tg_attr_key key, int *out_count); /* out_count may be NULL */
const char *tg_attr_text(const tg_node *node, tg_attr_key key);
void tg_attr_set_int(tg_node *node, tg_attr_key key, int64_t value);
void tg_attr_set_float(tg_node *node, tg_attr_key key, double value);
void tg_attr_set_ints(tg_graph *graph, tg_node *node, tg_attr_key key, const int64_t *values, int count);
void tg_attr_set_text(tg_graph *graph, tg_node *node, tg_attr_key key, const char *text);

/* --- questions */

static inline tg_value *tg_in(const tg_node *node, int input) {
  return input < node->input_count ? node->inputs[input].value : NULL;
}
static inline tg_value *tg_out(const tg_node *node) { return node->outputs[0]; }
static inline bool tg_is_constant(const tg_value *value) { return value && value->kind == TG_VALUE_CONSTANT; }
/* A Cast that rounds stochastically stands for random numbers of its own: it is never shared, nor left
 * out. */
static inline bool tg_rounds_sums(const tg_node *matmul) {
  return tg_attr_int(matmul, TG_ATTR_PARTIALS) > 1 && tg_attr_int(matmul, TG_ATTR_REDUCE) == TG_REDUCE_BF16SR;
}
static inline bool tg_is_stochastic_cast(const tg_node *node) {
  return node && node->op == TG_OP_CAST && tg_attr_int(node, TG_ATTR_STOCHASTIC);
}
/* A convolution of one channel a group, in the array's layout: the vector unit's own, no product of mx. */
static inline bool tg_is_depthwise(const tg_node *node) {
  if (node->op != TG_OP_CONV) return false;
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP);
  return group > 1 && group == tg_in(node, 0)->dims[3].size && group == tg_out(node)->dims[3].size;
}
static inline bool tg_is_plain_cast(const tg_node *node) {
  return node && node->op == TG_OP_CAST && !tg_attr_int(node, TG_ATTR_STOCHASTIC);
}

/* Elements of a value whose sizes are all known; of dimensions [from, to). */
int64_t tg_value_elements(const tg_value *value);
int64_t tg_value_elements_between(const tg_value *value, int from, int to);
bool tg_value_is_known(const tg_value *value); /* dtype, rank and all sizes */
bool tg_value_same_shape(const tg_value *a, const tg_value *b);
void tg_value_sizes(const tg_value *value, int64_t out_sizes[TG_MAX_RANK]);
/* Sets dtype and sizes of a result; symbols are dropped. */
void tg_value_set_type(tg_value *value, tg_dtype dtype, int rank, const int64_t *sizes);
/* "f32[N,3,224,224]", on `arena`. */
const char *tg_value_type_text(const tg_value *value, tg_arena *arena);

bool tg_graph_is_carried(const tg_graph *graph, const tg_value *input); /* an input that is carried into */
tg_value *tg_graph_find_value(const tg_graph *graph, const char *name); /* NULL: there is none */

/* --- symbols */

/* Gives symbol `name` a size, in every dimension that carries it. TG_INVALID: there is no such symbol, the
 * size is negative, or it is bound to another one. */
tg_status tg_graph_bind_symbol(tg_graph *graph, const char *name, int64_t size, tg_diag *diag);
/* Binds all symbols that are still open. */
void tg_graph_bind_rest(tg_graph *graph, int64_t size);

/* --- whole graphs */

/* What a legal graph is (verify.c). TG_INVALID with the first violation. */
tg_status tg_graph_verify(const tg_graph *graph, tg_diag *diag);
/* The same, and every node is flagged DEVICE and in the form docs/machine.md and pipeline.h promise. */
tg_status tg_graph_verify_lowered(const tg_graph *graph, tg_diag *diag);

/* A number uniform in [-1, 1) of 24 bits, a function of the seed and the index. */
float tg_seeded_number(uint64_t seed, int64_t index);
/* Fills `data` with `scale` times such numbers of a seed, not 0. */
void tg_seeded_fill(void *data, tg_dtype dtype, int64_t count, uint64_t seed, float scale);
/* A constant so filled, which the text form prints as its seed. */
tg_value *tg_graph_add_seeded(tg_graph *graph, const char *name, tg_dtype dtype, int rank,
                              const int64_t *sizes, uint64_t seed, float scale);

#ifdef __cplusplus
}
#endif
#endif
