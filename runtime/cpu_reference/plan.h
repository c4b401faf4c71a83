/* What the planners of the CPU reference share. Every tensor is dense and row-major in the graph's
 * dimensions; a convolution sees the same bytes with permuted dimensions. */
#ifndef TEGULA_RUNTIME_CPU_REFERENCE_PLAN_H
#define TEGULA_RUNTIME_CPU_REFERENCE_PLAN_H

#include "runtime/cpu_reference/cpu_reference.h"

#include <oneapi/dnnl/dnnl.h>

typedef struct tg_cpu_step {
  dnnl_primitive_t primitive; /* NULL: `run` */
  /* On inputs and outputs in the plan's formats; NULL: `node` in plain C, in those of the graph. */
  void (*run)(const tg_cpu_reference *plan, const struct tg_cpu_step *step);
  float *scratch; /* of `run` */
  dnnl_exec_arg_t *args;
  int arg_count;
  const tg_node *node;
  const void **inputs;
  void **outputs;
} tg_cpu_step;

/* Memory that results take one after the other. */
typedef struct tg_cpu_block {
  void *base;
  size_t bytes;
} tg_cpu_block;

/* Where a value lies, and those that are the same bytes under other names, or are computed in place. */
typedef struct tg_cpu_storage {
  tg_cpu_block block;
  int readers;   /* uses of its values by nodes that are not planned yet */
  bool kept;     /* an input, a constant or an output of the graph lies here: never given back */
  bool returned; /* its block may be another's by now */
} tg_cpu_storage;

struct tg_cpu_reference {
  tg_arena arena;
  const tg_graph *graph;
  tg_dtype dtype;
  int threads, plain_nodes;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  tg_cpu_storage **storage; /* of each value, by index; NULL until its producer is planned */
  bool *done;               /* of each value: nodes whose result is there were fused into an earlier one */
  tg_cpu_block *spare;      /* blocks that nobody reads any more */
  size_t spare_count, spare_capacity;
  tg_cpu_block *scratch; /* blocks of the node that is being planned */
  size_t scratch_count, scratch_capacity;
  tg_cpu_step *steps;
  size_t step_count, step_capacity;
  dnnl_memory_t *memories;
  size_t memory_count, memory_capacity;
  dnnl_primitive_t *primitives;
  size_t primitive_count, primitive_capacity;
};

typedef struct tg_cpu_arg {
  int id; /* DNNL_ARG_x */
  dnnl_memory_t memory;
} tg_cpu_arg;

/* Floats are stored in the plan's dtype, all else in its own. */
tg_dtype tg_cpu_dtype(const tg_cpu_reference *plan, const tg_value *value);
dnnl_data_type_t tg_cpu_dnnl_type(tg_dtype dtype);
/* The value's elements: constants are the graph's, or converted once; a result has memory until the last node
 * that reads it is planned, which may be another's before it and behind it. */
void *tg_cpu_data(tg_cpu_reference *plan, const tg_value *value);
/* `value` lies where `with` does. */
void tg_cpu_share(tg_cpu_reference *plan, const tg_value *value, const tg_value *with);
/* Only one use of what lies where the result `value` does is not planned yet: who makes it may overwrite it. */
bool tg_cpu_is_last_use(const tg_cpu_reference *plan, const tg_value *value);
/* Memory of the steps of the node that is being planned, of undefined contents. */
void *tg_cpu_scratch(tg_cpu_reference *plan, size_t bytes);
/* The node is planned: what it was the last to read, and its scratch, may be others'. */
void tg_cpu_end_node(tg_cpu_reference *plan, const tg_node *node);
/* Row-major descriptor of the value's storage; scalars have one dimension. `rank` 0: the value's own, else
 * leading ones are added. */
dnnl_memory_desc_t tg_cpu_desc(const tg_cpu_reference *plan, const tg_value *value, int rank);
dnnl_memory_t tg_cpu_memory(tg_cpu_reference *plan, const dnnl_memory_desc_t *desc, void *data);

/* Makes the primitive of `op_desc` and appends it; `attr` may be NULL. false: oneDNN does not have it. */
bool tg_cpu_describe(tg_cpu_reference *plan, const void *op_desc, dnnl_primitive_attr_t attr,
                     dnnl_primitive_desc_t *out);
bool tg_cpu_append(tg_cpu_reference *plan, dnnl_primitive_desc_t description, const tg_cpu_arg *args,
                   int count);
/* Appends a copy into another layout or type; with `now` it runs at once and never again. */
bool tg_cpu_reorder(tg_cpu_reference *plan, const dnnl_memory_desc_t *from, void *source,
                    const dnnl_memory_desc_t *to, void *target, bool now);

/* Elementwise functions of one operand as oneDNN knows them. */
typedef struct tg_cpu_eltwise {
  dnnl_alg_kind_t alg;
  float alpha, beta;
} tg_cpu_eltwise;
bool tg_cpu_eltwise_of(const tg_node *node, tg_cpu_eltwise *out);
bool tg_cpu_binary_of(tg_op op, dnnl_alg_kind_t *out);

/* Planners: append the steps of a node (and of nodes fused into it). false: nothing was appended. */
bool tg_cpu_plan_product(tg_cpu_reference *plan, const tg_node *node); /* MatMul, Conv */
bool tg_cpu_plan_pool(tg_cpu_reference *plan, const tg_node *node);    /* MaxPool, AveragePool */
bool tg_cpu_plan_elementwise(tg_cpu_reference *plan,
                             const tg_node *node);                    /* unary, binary, Max, Min, Softmax */
bool tg_cpu_plan_move(tg_cpu_reference *plan, const tg_node *node);   /* Transpose, Concat, reshapes, casts */
bool tg_cpu_plan_gather(tg_cpu_reference *plan, const tg_node *node); /* Gather, ScatterAdd */

/* Descriptor of a [N,C,H,W] view of an image value in either layout. */
dnnl_memory_desc_t tg_cpu_image(const tg_cpu_reference *plan, const tg_value *value, bool channels_last);

#endif
