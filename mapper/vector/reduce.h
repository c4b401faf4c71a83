/* A reduction while it is described, planned and written. */
#ifndef TEGULA_MAPPER_VECTOR_REDUCE_H
#define TEGULA_MAPPER_VECTOR_REDUCE_H

#include "mapper/expression/expression.h"
#include "mapper/stream/stream.h"
#include "mapper/vector/sources.h"

enum {
  TG_REDUCE_NAMES = 2 * TG_STREAMS,
  TG_REDUCE_VECTORS = 4, /* vectors of a column block: a few atoms, so that runs stay long */
  TG_REDUCE_PARTS = 8,   /* of N for each tile, that share out well */
  TG_REDUCE_ROUNDS = 4,  /* of blocks, at least, where column blocks can be narrower */
};

typedef struct tg_reduce {
  tg_compile *c;
  const tg_kernel *kernel;
  int roots, outs; /* results: of the roots, and perhaps what they read */
  bool rows;
  bool moments;           /* a root at least is a moment */
  bool keeps_rows;        /* blocks: vectors along N are loaded once, and parts of N are column blocks */
  int64_t dims[3];        /* [A, M, N]; over N, with A = 1, if rows, else over M */
  int64_t block, results; /* elements of a result, and how many there are of a row, or a column */
  int64_t from;           /* the first of them that is computed */
  tg_sources operands;    /* along [M, N] */
  tg_operand_stream names[TG_REDUCE_NAMES]; /* of operands: one may be read by several shapes */
  int owner[TG_REDUCE_NAMES];               /* number of the operand */
  int name_count;
  tg_stream_kernel plan;
  int64_t length; /* elements of the results at hand */
  tg_mc mc;
} tg_reduce;

/* Is root number `root` a moment; and the root of whose moments it takes another, or -1. */
static inline bool tg_reduce_is_moment(const tg_reduce *r, int root) {
  return tg_is_moment(tg_kernel_root(r->kernel, root));
}
static inline int tg_reduce_twin(const tg_reduce *r, int root) {
  return tg_moment_twin(r->c, r->kernel, root);
}

static inline int tg_reduce_unroll(const tg_reduce *r) { return r->plan.unroll ? r->plan.unroll : 1; }

/* Does the operand's vector, or number, change along a row, or down a block? */
static inline bool tg_reduce_changes(const tg_reduce *r, const tg_source *o) {
  return o->along == TG_ALONG_FULL || o->along == (r->rows ? TG_ALONG_ROW : TG_ALONG_COLUMN);
}

/* Nothing is computed before, so what is not there may load as what changes nothing. */
static inline bool tg_reduce_is_plain(const tg_reduce *r) {
  return r->roots == 1 && !r->kernel->prologue[0].count && !r->from && !r->moments;
}

/* Plans results first .. first + count - 1 of each row, or column, of `length` elements each, as a section.
 * reduce_walks.c */
void tg_reduce_plan(tg_reduce *r, int64_t first, int64_t count, int64_t length);
/* Where the plan walks an operand. */
tg_walk_plan *tg_reduce_walk(tg_reduce *r, const tg_source *o);

/* The microcode of its plan into `mc`: several vectors an iteration if that fits. False: it cannot be
 * written. */
bool tg_reduce_write(tg_reduce *r);

#endif
