/* Row kernels while they are described and written. */
#ifndef TEGULA_MAPPER_VECTOR_ROWWISE_H
#define TEGULA_MAPPER_VECTOR_ROWWISE_H

#include "mapper/microcode/row_sums.h"
#include "mapper/stream/stream.h"
#include "mapper/vector/sources.h"

enum {
  TG_ROWWISE_STEPS = 64,
  TG_ROWWISE_NAMES = 2 * TG_STREAMS,
  TG_ROWWISE_REPEAT = 1 << 1 | 1 << 3 | 1 << 5 /* segments: the passes */
};

/* A node of the kernel. */
typedef struct tg_row_step {
  tg_node *node;
  enum {
    TG_STEP_VECTOR, /* element by element: computed in each pass that uses it */
    TG_STEP_NUMBER, /* one a row, between two passes */
    TG_STEP_REDUCTION
  } kind;
  int ready; /* the first pass that may use it, or compute it */
  int due;   /* the pass that needs it; one behind the last: the end of the row */
  int gap;   /* TG_STEP_NUMBER, TG_STEP_REDUCTION: the pass before which it is complete */
  tg_mc_ref held;
} tg_row_step;

/* An operand as a node names it: loaded, or a number that a step makes. */
typedef struct tg_row_name {
  tg_value *value;
  int operand, step; /* one of them; the other is -1 */
} tg_row_name;

typedef struct tg_rowwise {
  tg_compile *c;
  const tg_kernel *kernel;
  int64_t dims[2];
  tg_row_step steps[TG_ROWWISE_STEPS];
  int count, passes;
  bool scalars; /* all results are one scalar a row; else there is one, element by element */
  bool behind;  /* numbers are made after the last pass */
  tg_sources operands;
  tg_row_name names[TG_ROWWISE_NAMES];
  int name_count;
  tg_stream_kernel plan;
  tg_row_sums sums[TG_ROWWISE_STEPS]; /* of reductions */
  tg_mc mc;
  tg_shortage lacks; /* what keeps it from being one section */
} tg_rowwise;

/* The step that makes a value, or -1: it is loaded. */
static inline int tg_row_maker_of(const tg_rowwise *r, tg_value *value) {
  value = tg_owner(r->c, value);
  for (int i = 0; i < r->count; i++)
    if (tg_out(r->steps[i].node) == value) return i;
  return -1;
}
/* Does the kernel store what the step makes? */
static inline bool tg_row_is_result(const tg_rowwise *r, const tg_row_step *s) {
  return tg_kernel_makes(r->kernel, tg_out(s->node));
}
/* One number a row, or one for all? */
static inline bool tg_row_is_number(const tg_source *o) { return tg_is_splat(o->along); }

/* rowwise_code.c: the microcode, a vector for each register of partial sums at a time, if there are streams for them,
 * and if the code fits; and words of its segments, unless NULL. False: it fits in no way. */
bool tg_rowwise_write(tg_rowwise *r, int *out_lengths);

#endif
