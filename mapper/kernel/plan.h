/* What the mapper's passes share: kernels, where values live, and the compilation's state. */
#ifndef TEGULA_MAPPER_KERNEL_PLAN_H
#define TEGULA_MAPPER_KERNEL_PLAN_H

#include "frontend/base/stochastic.h"
#include "mapper/mapper.h"

/* Elementwise nodes that a kernel computes while it loads an operand of its root, in order. Only the kernel
 * sees their results; the root reads one of them, perhaps by another shape. */
typedef struct tg_node_list {
  tg_node **nodes;
  size_t count, capacity;
} tg_node_list;

/* An operand of a product as it lies in DRAM: what Casts and Transposes stand between costs nothing if the
 * load can do it. Element [i0, .., in] is element sum i_d * stride[d] of `source`, converted to the operand's
 * type. */
typedef struct tg_operand {
  tg_value *source;            /* owns memory, or shares it by Reshapes */
  tg_node *cast;               /* the Cast that loads do, or NULL */
  tg_value *made;              /* what it makes, perhaps reshaped: the source, were it stored */
  int64_t stride[TG_MAX_RANK]; /* elements, by the operand's dimensions */
  bool transposed;             /* consecutive elements run along the last dimension but one */
} tg_operand;

typedef enum tg_kernel_kind {
#define KERNEL(ID, class, what) TG_KERNEL_##ID,
#include "mapper/kernel/kernels.def"
#undef KERNEL
  TG_KERNEL_KINDS
} tg_kernel_kind;

/* Operand B of products as it stays in scratchpads from section to section: a section puts it there, and those of
 * products that read it find it (gemm/keep.c). */
typedef struct tg_kept {
  int split;            /* tg_split: which tiles have which columns */
  uint32_t columns;     /* of a tile */
  uint32_t alike;       /* rows of tiles that have a product, of several; else 1 */
  uint32_t bank, banks; /* of every tile: the first, and how many */
} tg_kept;

/* Operations that run as one section (or several of the same kind): a prologue of elementwise nodes, the
 * root, then elementwise nodes fused behind it. */
enum { TG_MORE_RESULTS = 2, TG_PROLOGUES = 2 };
typedef struct tg_kernel {
  tg_kernel_kind kind;
  tg_node *root;
  const tg_operand *operands; /* A and B of a root that is a MatMul, a Conv or a gradient of one; else NULL */
  tg_node *more_roots[TG_MORE_RESULTS]; /* REDUCE: of the same shapes, each of which makes one of `more` */
  tg_node_list prologue[TG_PROLOGUES]; /* by operand of the root; REDUCE: the first, for all roots together */
  tg_value *prologue_result;           /* GEMM: what the prologue of A or B makes; NULL: there are none */
  bool stores_prologue;                /* others read it, too */
  const tg_kept *kept;                 /* GEMM: where B lies when its section begins; NULL: it is loaded */
  int part;                            /* input of a Concat */
  tg_node **fused; /* elementwise nodes in order; what is not a result is used by the next ones only */
  size_t fused_count, fused_capacity;
  tg_value *source; /* MOVE: what is moved */
  tg_value *output; /* what is written to DRAM */
  /* GEMM, ELEMENTWISE, REDUCE, ROWWISE: and what else is, of the same shape */
  tg_value *more[TG_MORE_RESULTS];
  int more_count;
  tg_value *beside;  /* REDUCE: what a node of the prologue makes and is written as well, or NULL */
  tg_value **inputs; /* what is read from DRAM, each once; casts on GEMM operands are looked through */
  size_t input_count, input_capacity;
  /* GEMM: reductions of its results by blocks of rows, computed with it: the kernel that would be alone, or NULL.
   * DEPTHWISE: by blocks of each image's positions. */
  const struct tg_kernel *column_sums;
  const struct tg_kernel
      *pool; /* GEMM: the MaxPool of its result, computed with it, whose output is the kernel's: the
                                   kernel that would be alone, or NULL */
  const struct tg_kernel
      *second; /* GEMM: another product, whose result `fused` takes as that of the root: the kernel
                                     that would be alone, or NULL */
  const struct tg_kernel
      *product; /* DEPTHWISE: the convolution of one position whose result is its image, computed
                                      with it: the kernel that would be alone, or NULL */
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

/* All that it writes: its results, then those of `column_sums`, then what the prologue makes. */
static inline int tg_kernel_writes(const tg_kernel *kernel) {
  return tg_kernel_results(kernel) + (kernel->column_sums ? tg_kernel_results(kernel->column_sums) : 0) +
         kernel->stores_prologue;
}
static inline tg_value *tg_kernel_written(const tg_kernel *kernel, int index) {
  int own = tg_kernel_results(kernel),
      column_sums = kernel->column_sums ? tg_kernel_results(kernel->column_sums) : 0;
  if (index < own) return tg_kernel_result(kernel, index);
  return index < own + column_sums ? tg_kernel_result(kernel->column_sums, index - own)
                                   : kernel->prologue_result;
}

/* REDUCE: the reductions, each of which makes the result of its number. */
static inline int tg_kernel_roots(const tg_kernel *kernel) { return 1 + kernel->more_count; }
static inline tg_node *tg_kernel_root(const tg_kernel *kernel, int index) {
  return index ? kernel->more_roots[index - 1] : kernel->root;
}

/* Where a value lies in DRAM. Reshapes share the place of what they reshape. */
typedef struct tg_place {
  tg_value *root;             /* the value whose place it is, NULL: its own */
  int tensor;                 /* of the program; -1: not planned yet */
  struct tg_value_view *view; /* part of the memory of another value (view.h), or NULL: memory of its own */
} tg_place;

/* What a section needs more of than the array has: semaphores, bases ... */
typedef struct tg_shortage {
  const char *of; /* NULL: of nothing */
  uint32_t needed, available;
  uint32_t section;
} tg_shortage;

/* What is kept while kernels `first` to `last` run, the first and last one that read it. */
typedef struct tg_keeping {
  size_t first, last;
  const tg_kept *kept;
} tg_keeping;

typedef struct tg_compile {
  const tg_graph *graph;
  const tg_params *m;
  tg_map_options options;
  tg_arena *arena; /* dies with the compilation */
  tg_program *program;
  const struct tg_kernel_class *const *classes; /* by kind (class.h) */
  tg_kernel *kernels;
  size_t kernel_count, kernel_capacity;
  tg_place *places;     /* by value->index */
  bool *stored;         /* by value->index: the output of a kernel */
  tg_keeping *keepings; /* memory/keep.c */
  size_t keeping_count, keeping_capacity;
  bool narrow;         /* m has fewer banks than the array, since others keep what they hold */
  uint32_t kept_banks; /* while sections are emitted: of every tile, which the next one keeps, a bit each */
  int *output_tensors; /* by output of the graph */
  struct tg_memo *tilings;    /* of products (memo.h), by all that they follow from */
  struct tg_memo *rehearsals; /* cycles of kernels, by their signature.h */
  int *carried_into;          /* by output of the graph: the input whose memory it ends up in, -1: none */
  tg_queue beyond;            /* stands for queues of contexts that the AGCUs do not have */
  int beyond_context;         /* the one asked for last */
  tg_shortage shortage;       /* the first one, which refuses the model once the kernel is emitted */
  tg_diag *diag;
} tg_compile;

/* Estimated cycles: of what does not fit; of a section's first loads and the wait between two, roughly. */
#define TG_NEVER 1e30
enum { TG_SECTION_CYCLES = 300 };

/* A compilation of the graph without kernels, its program empty: the caller's to destroy. `arena` lives as
 * long. */
void tg_compile_begin(tg_compile *c, const tg_graph *graph, const tg_params *params,
                      const tg_map_options *options, tg_arena *arena, tg_diag *diag);
/* A Cast of integers that arrive with a run: they lie in memory as the floats that the graph makes
 * of them. */
bool tg_reads_integers(const tg_node *node);

/* In place of an estimate of cycles, where tilings are randomized (tg_map_options.any_tiling): from 0 to
 * 2^24, of a product of m x n, for the tiling considered as number `index`. */
static inline double tg_randomized_cycles(const tg_compile *c, uint32_t m, uint32_t n, uint32_t index) {
  uint32_t seed = tg_mix((uint32_t)c->options.any_tiling ^ (uint32_t)(c->options.any_tiling >> 32));
  return tg_mix(tg_mix(tg_mix(seed + m) + n) + index) >> 8;
}

#endif
