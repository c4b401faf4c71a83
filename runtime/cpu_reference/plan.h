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

struct tg_cpu_reference {
  tg_arena arena;
  const tg_graph *graph;
  tg_dtype dtype;
  int threads, plain_nodes;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  void **data; /* of each value, by index; NULL until its producer is planned */
  void **wide; /* its copy in the graph's own dtype, for plain C */
  bool *done;  /* of each value: nodes whose result is there were fused into an earlier one */
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
/* The storage of a value: constants are converted once, results get a buffer. NULL: a float format not
 * handled. */
void *tg_cpu_data(tg_cpu_reference *plan, const tg_value *value);
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
