/* Depthwise convolutions: convolutions of one channel a group, and what transposes them. */
#ifndef TEGULA_MAPPER_VECTOR_DEPTHWISE_H
#define TEGULA_MAPPER_VECTOR_DEPTHWISE_H

#include "mapper/vector/line_buffers.h"

enum { TG_DEPTHWISE_IMAGE, TG_DEPTHWISE_WEIGHTS, TG_DEPTHWISE_BIAS }; /* inputs of the root */

/* The results of one section, whose windows go over input 0 of the root: pixels `first`, first + step .. of the root's
 * result, and their place among those that rounding counts. */
typedef struct tg_depthwise_part {
  tg_windows windows;
  int64_t first[2], step[2]; /* rows, columns */
  int64_t first_row, first_column;
} tg_depthwise_part;

/* Can a section read and write its tensors as they lie? And its section. depthwise.c */
bool tg_depthwise_walks_views(tg_compile *c, const tg_kernel *kernel, const tg_depthwise_part *part);
tg_status tg_depthwise_emit(tg_compile *c, const tg_kernel *kernel, const tg_depthwise_part *part);
/* A section for several, whose results lie between each other; false: it does not fit, and nothing was emitted. `part`: what its
 * windows read, all results. */
bool tg_depthwise_emit_transposed(tg_compile *c, const tg_kernel *kernel, const tg_depthwise_part *part,
                                  const tg_line_transposed *transposed, tg_status *out_status);

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
