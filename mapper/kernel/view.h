/* Views: values that lie in the memory of another one. What a Slice makes is part of what it reads, and what a
 * Concat reads is part of what it makes; with rows that may lie apart neither needs a kernel. memory/views.c
 * decides which they are. */
#ifndef TEGULA_MAPPER_KERNEL_VIEW_H
#define TEGULA_MAPPER_KERNEL_VIEW_H

#include "mapper/kernel/kernel.h"

/* Element [i0, .., in] of a value is element first + sum i_d * stride[d] of `whole`, which is of the same type,
 * owns its memory, and is dense. Strides are positive, and that of the last dimension of more than one element
 * is 1. */
typedef struct tg_value_view {
  tg_value *whole;
  int64_t first, stride[TG_MAX_RANK];
  tg_dram_tensor tensor; /* the memory from `first` on, once it is planned */
} tg_value_view;

/* The value whose memory it has a part of, or all: its owner, or what that is a view of. */
tg_value *tg_memory_of(const tg_compile *c, tg_value *value);
/* Strides of a value, by the dimensions of `shape`, which has as many elements in the same order: elements from
 * one to the next as they lie in memory. False: they do not lie by such strides. */
bool tg_strides_as(const tg_compile *c, const tg_value *value, const tg_value *shape, int64_t *out_strides);
static inline bool tg_value_strides(const tg_compile *c, const tg_value *value, int64_t *out_strides) {
  return tg_strides_as(c, value, value, out_strides);
}
/* Do elements lie one behind the other? So they do, if they are no view. */
bool tg_is_contiguous(const tg_compile *c, const tg_value *value);

#endif
