/* Depthwise convolutions: convolutions of one channel a group. */
#ifndef TEGULA_MAPPER_VECTOR_DEPTHWISE_H
#define TEGULA_MAPPER_VECTOR_DEPTHWISE_H

#include "mapper/vector/line_buffers.h"

enum { TG_DEPTHWISE_IMAGE, TG_DEPTHWISE_WEIGHTS, TG_DEPTHWISE_BIAS }; /* inputs of the root */

/* `user` of the kernel from line buffers. */
typedef struct tg_depthwise {
  tg_compile *c;
  const tg_kernel *kernel;
} tg_depthwise;

/* Input `i` of the root as it lies in memory, before a Cast that happens on the way. */
tg_value *tg_depthwise_source(const tg_kernel *kernel, int i);

/* `write` of the kernel. depthwise_code.c */
void tg_depthwise_write(const void *user, const tg_line_kernel *lines, const tg_line_tiling *t, tg_mc *mc);

#endif
