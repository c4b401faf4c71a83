/* Operands of kernels that compute on rows, or blocks of them: tensors and how each goes along, each once. */
#ifndef TEGULA_MAPPER_VECTOR_SOURCES_H
#define TEGULA_MAPPER_VECTOR_SOURCES_H

#include "mapper/kernel/access.h"
#include "mapper/microcode/microcode.h"

enum { TG_ROW_RANK = 3 }; /* dimensions at most: rows, and what there may be several of */

typedef struct tg_source {
  tg_value *value;                    /* that owns the memory */
  tg_along along;                     /* of a single row: full, if it is not a scalar */
  int64_t stride[TG_ROW_RANK], first; /* elements; the first of the tensor that is read */
  int number;                         /* number among inputs, and what is loaded once behind them */
  tg_mc_ref held;
} tg_source;

typedef struct tg_sources {
  tg_source of[TG_STREAMS];
  int count, most; /* at most TG_STREAMS */
} tg_sources;

/* The operand as it goes along with `rank` dimensions, rows and elements of them last. False: it does not by
 * strides, or its rows do not lie element by element. */
bool tg_source_of(const tg_compile *c, const tg_access *access, const int64_t *dims, int rank,
                  tg_source *out);
/* Its number among those that are there, or as one more; -1: there is no room. */
int tg_add_source(tg_sources *operands, const tg_source *operand);
bool tg_is_same_source(const tg_source *a, const tg_source *b);

#endif
