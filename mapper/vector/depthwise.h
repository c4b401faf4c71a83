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

/* Operand `i` of the products from what was loaded of its source; or loaded from a stream. */
tg_mc_ref tg_depthwise_rounded(tg_mc *mc, const tg_kernel *kernel, int i, tg_mc_ref value);
tg_mc_ref tg_depthwise_load(tg_mc *mc, const tg_kernel *kernel, int i, int stream);
/* Adds the bias, if the kernel has one, to a sum, and stores what becomes of it; the program overflows if it has no
 * room for that. */
void tg_depthwise_end(const tg_depthwise *d, const tg_line_kernel *lines, tg_mc *mc, tg_mc_ref sum,
                      tg_mc_ref bias, int stream);

/* `write` of the kernel. depthwise_code.c */
void tg_depthwise_write(const void *user, const tg_line_kernel *lines, const tg_line_tiling *t, tg_mc *mc);
/* `write_passes` of the kernel. depthwise_passes.c */
void tg_depthwise_write_passes(const void *user, const tg_line_kernel *lines, const tg_line_tiling *t,
                               tg_mc *mc);

#endif
