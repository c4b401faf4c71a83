/* Iteration spaces: the dimensions of an output with each operand's strides, merged where all operands allow
 * it. */
#ifndef TEGULA_MAPPER_KERNEL_SPACE_H
#define TEGULA_MAPPER_KERNEL_SPACE_H

#include "mapper/kernel/kernel.h"

enum { TG_SPACE_OPERANDS = 16 };

typedef struct tg_space {
  int rank, operands;
  int64_t dims[TG_MAX_RANK];                       /* outermost first */
  int64_t strides[TG_SPACE_OPERANDS][TG_MAX_RANK]; /* elements; 0 where the operand is broadcast */
  int64_t
      inner; /* > 0: the last dimension is runs of so many elements, which begin `outer` elements apart; 0: one run */
  int64_t outer[TG_SPACE_OPERANDS];
} tg_space;

void tg_space_begin(tg_space *space, const tg_value *output);
/* An operand with given strides for the output's dimensions; returns its number. */
int tg_space_add_strided(tg_space *space, const int64_t *strides);
/* Drops dimensions of size 1 and merges neighbours that every operand walks as one. The rank is at least 1
 * after. */
void tg_space_merge(tg_space *space);
/* Makes rows of two digits of the last two dimensions of five or more, of which walks have room for four, where at least
 * `rows` rows are left and no operand has one element for a run of them. */
void tg_space_fold(tg_space *space, int64_t rows);
/* Dimensions `first` to the last but one of `value`, walked by `stride`, as digits of a walk, merged where
 * they follow each other: rows of one matrix, or of all batches. */
void tg_merge_rows(const tg_value *value, const int64_t *stride, int first, int64_t out_radix[3],
                   int64_t out_stride[3]);
/* The space as spaces of at most four dimensions, one after the other, as few as there can be; or, `in_order`, each
 * of elements that follow each other in all of it. `offsets` of their operands, in elements. TG_INVALID, naming
 * `what`, if those would be too many. */
typedef tg_status tg_space_visit(void *user, const tg_space *space, const int64_t *offsets);
tg_status tg_space_in_fours(const tg_compile *c, const char *what, const tg_space *space, bool in_order,
                            tg_space_visit *visit, void *user);
/* Element [i0, .., in] of the result of a Transpose, Slice or Expand (of a Pad: inside the frame, whose
 * origin the offset does not count) is element offset + sum i_d * out_strides[d] of its input, which lies by
 * `strides`. They may be negative. */
void tg_view(const tg_node *node, const int64_t *strides, int64_t *out_offset, int64_t *out_strides);
/* Element of a Concat's result, which lies by `strides`, that the first one of its input number `part` is. */
int64_t tg_concat_offset(const tg_node *concat, int part, const int64_t *strides);
/* Row-major strides of a shape. */
void tg_dense_strides(const int64_t *dims, int rank, int64_t *out_strides);
/* Strides of elements, which lie by `stride` of dimensions `from`, by other dimensions of as many elements in the
 * same order; of size 1: 0. False: a dimension would be no walk of one stride. */
bool tg_restride(const int64_t *from, const int64_t *stride, int from_rank, const int64_t *dims, int rank,
                 int64_t *out_strides);
/* Strides of dimensions of size 1, along which nobody takes a step, as if they followed each other. */
void tg_complete_strides(const int64_t *dims, int rank, int64_t *strides);

#endif
