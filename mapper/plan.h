/* What the mapper's passes share: kernels, where values live, and the compilation's state. */
#ifndef TEGULA_MAPPER_PLAN_H
#define TEGULA_MAPPER_PLAN_H

#include "frontend/base/stochastic.h"
#include "mapper/mapper.h"

/* Elementwise nodes that a kernel computes while it loads an operand of its root, in order. Only the kernel
 * sees their results; the root reads one of them, perhaps by another shape. */
typedef struct tg_front {
  tg_node **nodes;
  size_t count, capacity;
} tg_front;

/* Operations that run as one section (or several of the same kind): elementwise nodes in front of a root, the
 * root, then elementwise nodes fused behind it. */
enum { TG_MORE_RESULTS = 2, TG_FRONTS = 2 };
typedef struct tg_kernel {
  enum {
    TG_KERNEL_GEMM,          /* root MatMul or Conv on mx; fused nodes drain the accumulator */
    TG_KERNEL_ELEMENTWISE,   /* no root: only fused nodes */
    TG_KERNEL_SOFTMAX,       /* root Softmax or LogSoftmax */
    TG_KERNEL_NORMALIZATION, /* root LayerNormalization over the last dimension */
    TG_KERNEL_REDUCE,        /* root ReduceSum, ReduceMax, ReduceMin or ReduceProd */
    TG_KERNEL_ROWWISE,       /* no root: fused nodes, reductions of rows among them */
    TG_KERNEL_POOL,
    TG_KERNEL_POOL_GRADIENT, /* root WindowGradient */
    TG_KERNEL_DEPTHWISE,     /* root Conv with a channel a group */
    TG_KERNEL_ATTENTION,     /* root MatMul, of what `softmax` makes of the product `scores` */
    TG_KERNEL_MOVE,          /* root Transpose, or one input of a Concat, or a plain copy (root NULL) */
  } kind;
  tg_node *root;
  tg_node *more_roots[TG_MORE_RESULTS]; /* REDUCE: of the same shapes, each of which makes one of `more` */
  tg_front front[TG_FRONTS]; /* by operand of the root; REDUCE: the first, for all roots together */
  tg_value *front_result;    /* GEMM: what the nodes in front of A or B make; NULL: there are none */
  bool stores_front;         /* others read it, too */
  int part;                  /* input of a Concat */
  tg_node **fused; /* elementwise nodes in order; what is not a result is used by the next ones only */
  size_t fused_count, fused_capacity;
  tg_value *source; /* MOVE: what is moved */
  tg_value *output; /* what is written to DRAM */
  tg_value
      *more[TG_MORE_RESULTS]; /* GEMM, ELEMENTWISE, REDUCE, ROWWISE: and what else is, of the same shape */
  int more_count;
  tg_value *beside;  /* REDUCE: what a node in front makes and is written as well, or NULL */
  tg_value **inputs; /* what is read from DRAM, each once; casts on GEMM operands are looked through */
  size_t input_count, input_capacity;
  const struct tg_kernel *totals; /* GEMM: reductions of its results by blocks of rows, computed with it: the
                                     kernel that would be alone, or NULL */
  const struct tg_kernel *scores, *softmax; /* ATTENTION: kernels that would be alone, outputs and all */
} tg_kernel;

/* Results of a kernel, of one shape, that it writes to DRAM: tg_kernel_result(kernel, i) with i less than
 * tg_kernel_results(kernel). None: a copy to an output of the graph. */
static inline int tg_kernel_results(const tg_kernel *kernel) {
  return kernel->output ? 1 + kernel->more_count + (kernel->beside != NULL) : 0;
}
static inline tg_value *tg_kernel_result(const tg_kernel *kernel, int index) {
  if (index > kernel->more_count) return kernel->beside;
  return index ? kernel->more[index - 1] : kernel->output;
}

/* What a product, or attention, computes for the result: itself, or what the Transpose reads that the stores
 * do. */
static inline tg_value *tg_kernel_computes(const tg_kernel *kernel, int index) {
  tg_value *result = tg_kernel_result(kernel, index);
  bool moved = kernel->kind != TG_KERNEL_MOVE && result->producer->op == TG_OP_TRANSPOSE;
  return moved ? tg_in(result->producer, 0) : result;
}

/* All that it writes: its results, then those of `totals`, then what nodes in front make. */
static inline int tg_kernel_writes(const tg_kernel *kernel) {
  return tg_kernel_results(kernel) + (kernel->totals ? tg_kernel_results(kernel->totals) : 0) +
         kernel->stores_front;
}
static inline tg_value *tg_kernel_written(const tg_kernel *kernel, int index) {
  int own = tg_kernel_results(kernel), totals = kernel->totals ? tg_kernel_results(kernel->totals) : 0;
  if (index < own) return tg_kernel_result(kernel, index);
  return index < own + totals ? tg_kernel_result(kernel->totals, index - own) : kernel->front_result;
}

/* REDUCE: the reductions, each of which makes the result of its number. */
static inline int tg_kernel_roots(const tg_kernel *kernel) { return 1 + kernel->more_count; }
static inline tg_node *tg_kernel_root(const tg_kernel *kernel, int index) {
  return index ? kernel->more_roots[index - 1] : kernel->root;
}

/* Where a value lies in DRAM. Reshapes share the place of what they reshape. */
typedef struct tg_place {
  tg_value *root; /* the value that owns the memory, NULL: none yet */
  int tensor;     /* of the program; -1: not planned yet */
} tg_place;

typedef struct tg_compile {
  const tg_graph *graph;
  const tg_params *m;
  tg_map_options options;
  tg_arena *arena; /* dies with the compilation */
  tg_program *program;
  tg_kernel *kernels;
  size_t kernel_count, kernel_capacity;
  tg_place *places;    /* by value->index */
  bool *stored;        /* by value->index: the output of a kernel */
  int *output_tensors; /* by output of the graph */
  int *carried_into;   /* by output of the graph: the input whose memory it ends up in, -1: none */
  tg_diag *diag;
} tg_compile;

/* In place of an estimate of cycles, where tilings are drawn (tg_map_options.any_tiling): from 0 to 2^24, of
 * a product of m x n, for the tiling considered as number `index`. */
static inline double tg_drawn_cycles(const tg_compile *c, uint32_t m, uint32_t n, uint32_t index) {
  uint32_t seed = tg_mix((uint32_t)c->options.any_tiling ^ (uint32_t)(c->options.any_tiling >> 32));
  return tg_mix(tg_mix(tg_mix(seed + m) + n) + index) >> 8;
}

tg_storage tg_value_storage(const tg_value *value);
static inline uint32_t tg_value_bytes_each(const tg_value *value) {
  return tg_storage_bytes(tg_value_storage(value));
}
/* The tensor of a placed value. */
tg_dram_tensor *tg_place_of(const tg_compile *c, const tg_value *value);

/* The value whose memory it has: that which Reshapes made it of, or itself. */
static inline tg_value *tg_owner(const tg_compile *c, tg_value *value) {
  tg_value *root = c->places[value->index].root;
  return root ? root : value;
}

/* What kernels have to do with each other (kernel.c). */
bool tg_kernel_reads(const tg_kernel *kernel, const tg_value *value);
bool tg_kernel_makes(const tg_kernel *kernel, const tg_value *value);
bool tg_kernel_reads_any_of(const tg_kernel *reader, const tg_kernel *maker);
/* Do both read a tensor of so many elements in common? */
bool tg_kernels_share_input(const tg_kernel *a, const tg_kernel *b, int64_t elements);
/* May kernel `a` run as late as kernel `to`, kernel `b` as early as kernel `to`? */
bool tg_kernel_can_wait(const tg_compile *c, size_t a, size_t to);
bool tg_kernel_can_hurry(const tg_compile *c, size_t b, size_t to);
/* Is the value still needed in memory when kernels a and b are none? */
bool tg_needed_beside(const tg_compile *c, const tg_value *value, size_t a, size_t b);
/* The shape, of `elements` elements, by which the operands of nodes[n] go along with a kernel: a cast of a
 * row is broadcast as the node is that uses it. */
const tg_value *tg_shape_around(tg_node *const *nodes, size_t count, size_t n, int64_t elements);
/* Do all that use nodes[n] take its result along with `dims`, the kernel's elements, by the same strides? Two
 * shapes may broadcast a cast of a row in two ways, and there is one register. */
bool tg_goes_along_one_way(const tg_compile *c, tg_node *const *nodes, size_t count, size_t n,
                           const int64_t *dims, int rank);
bool tg_has_node(tg_node *const *nodes, size_t count, const tg_node *node);
/* Those that are not there yet, in order, behind those that are. */
void tg_add_nodes(tg_arena *arena, tg_front *to, tg_node *const *nodes, size_t count);
/* The nodes are the kernel's fused ones. */
void tg_set_fused(tg_kernel *kernel, const tg_front *nodes);
void tg_kernel_remove(tg_compile *c, size_t k);
/* What others than kernels a and b need of the results of kernel `from` are results of `to` as well. False:
 * they are too many. */
bool tg_kernel_add_results(tg_compile *c, tg_kernel *to, size_t from, size_t a, size_t b);
/* Kernel `a` and kernel `b`, one of which is `at`, become `both` in that one's place; what it does not make
 * is stored no longer. */
void tg_kernels_become(tg_compile *c, size_t a, size_t b, size_t at, const tg_kernel *both);
/* Sets the nodes of a kernel, before its roots or without any, in order, and with them what is loaded. */
void tg_kernel_set_nodes(tg_compile *c, tg_kernel *kernel, tg_front *nodes); /* front.c */
/* Two reductions of the same shapes as one kernel of as many results. False: they are none, or it does not
 * fit. */
bool tg_reductions_together(tg_compile *c, const tg_kernel *first, const tg_kernel *second,
                            tg_kernel *out); /* front.c */
/* The kernel loads what `node`, one of `nodes` or their reader, takes of others than these. */
void tg_kernel_add_loads(tg_compile *c, tg_kernel *kernel, const tg_front *nodes, const tg_node *node);
/* The kernel reads `value` from DRAM, or what it reshapes. */
void tg_kernel_add_input(tg_compile *c, tg_kernel *kernel, tg_value *value);

/* An elementwise operand that is one number: a constant of one element. */
bool tg_is_scalar_constant(const tg_value *value);
float tg_scalar_value(const tg_value *value);

/* Passes, in order. */
tg_status tg_form_kernels(tg_compile *c);   /* kernels.c: graph -> kernels */
void tg_form_fronts(tg_compile *c);         /* front.c: nodes in front of reductions */
void tg_merge_elementwise(tg_compile *c);   /* merge.c: those that share */
void tg_merge_rowwise(tg_compile *c);       /* row_merge.c: reductions of rows and what goes with them */
void tg_merge_into_products(tg_compile *c); /* merge.c: elementwise ones that read their results */
/* front.c: nodes in front of a reduction, whose result is stored, too */
void tg_reduce_and_store(tg_compile *c);
/* Is `both`, `update` done in the drain of `product`, faster than one after the other? gemm_merge.c */
bool tg_update_gains(tg_compile *c, const tg_kernel *product, const tg_kernel *update, const tg_kernel *both);
/* Elementwise nodes in front of products: product_front.c. */
void tg_front_products(tg_compile *c);
void tg_join_totals(tg_compile *c); /* totals.c: reductions join the products that make what they read */
void tg_recompute_in_products(tg_compile *c);    /* recompute.c: what they would load */
void tg_recompute_small_products(tg_compile *c); /* ... and products of few k */
void tg_narrow_stores(tg_compile *c);            /* narrow.c: what is loaded through a Cast only */
tg_status tg_settle_carries(tg_compile *c);      /* carry.c: updates in place, or moved */
tg_status tg_plan_memory(tg_compile *c);         /* memory.c: values -> DRAM tensors */
tg_status tg_emit_kernel(tg_compile *c, const tg_kernel *kernel); /* dispatches to those below */
tg_status tg_emit_gemm(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_elementwise(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_softmax(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_normalization(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_reduce(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_rowwise(tg_compile *c, const tg_kernel *kernel);
/* Do streams, scratchpads and microcode suffice for a kernel of this kind? */
bool tg_elementwise_fits(tg_compile *c, const tg_kernel *kernel);
bool tg_reduce_fits(tg_compile *c, const tg_kernel *kernel);
/* Estimates; infinite if it does not fit. Of reductions those over blocks. */
double tg_elementwise_cycles(tg_compile *c, const tg_kernel *kernel);
double tg_reduce_cycles(tg_compile *c, const tg_kernel *kernel);
/* Of a reduction of [1, M, N] by blocks, the last one alone, which is shorter. */
double tg_rest_cycles(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_rest(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_pool(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_pool_gradient(tg_compile *c, const tg_kernel *kernel);
/* Does the vector unit compute the Conv? It accumulates in FP32, and multiplies as exactly as mx. */
bool tg_is_depthwise(const tg_compile *c, const tg_node *node);
tg_status tg_emit_depthwise(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_move(tg_compile *c, const tg_kernel *kernel);
/* Casts that products load through, as kernels where that is faster (stored_casts.c); before the next. */
void tg_store_casts(tg_compile *c);
/* Transposes behind products, done by their stores where that is faster (stored_moves.c). */
void tg_store_moves(tg_compile *c);
/* The kernel of a Transpose that keeps the rows of `result`, which nothing else reads; or NULL. */
tg_kernel *tg_storable_move(const tg_compile *c, const tg_value *result);
/* Where the elements of what a kernel computes are stored, by its dimensions. */
void tg_stored_strides(const tg_kernel *kernel, int64_t *out_strides);
/* Estimate of a pass over memory that moves runs of `value`. */
double tg_move_cycles(const tg_compile *c, const tg_value *value);
/* The Cast that the kernel, a product, loads `value` through, if it reads it in no other way, or NULL; and
 * the kernel as it loads what the Cast makes, which c->stored tells to be stored. */
tg_node *tg_cast_of_loads(const tg_compile *c, const tg_kernel *kernel, const tg_value *value);
void tg_load_stored_cast(tg_compile *c, tg_kernel *kernel, tg_node *cast);
/* The Cast that all kernels but number `except` load `value` through, if it makes less to store, or NULL; and
 * they load what it makes, which is stored in place of the value. */
tg_node *tg_cast_of_all_loads(const tg_compile *c, const tg_value *value, size_t except);
void tg_store_cast_only(tg_compile *c, tg_node *cast, const tg_value *value, size_t except);
/* Products with a softmax between them, as one kernel: before tg_merge_elementwise. */
void tg_fuse_attention(tg_compile *c);
tg_status tg_emit_attention(tg_compile *c, const tg_kernel *kernel);

/* Text naming a kernel's nodes, for sections and diagnostics. */
const char *tg_kernel_name(const tg_compile *c, const tg_kernel *kernel);

#endif
