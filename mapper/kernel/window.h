/* Windows seen from the elements they hold, in one dimension. */
#ifndef TEGULA_MAPPER_KERNEL_WINDOW_H
#define TEGULA_MAPPER_KERNEL_WINDOW_H

#include <stdint.h>

/* Elements first + i * stride, i < count, of one remainder modulo the stride are reached by window
 * origin + i + j * tap_step at its kernel position last - j * step, j < taps; by no other. */
typedef struct tg_reach {
  int64_t first, count;
  int64_t taps, last, step;
  int64_t origin, tap_step;
} tg_reach;

/* `size`: elements; `pad`: before them. remainder < stride. */
tg_reach tg_reach_of(int64_t remainder, int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                     int64_t pad);
/* Elements of lower remainders than this one. */
int64_t tg_reach_before(int64_t remainder, int64_t size, int64_t stride);
/* Remainders that there are elements of. */
static inline int64_t tg_reach_phases(int64_t size, int64_t stride) { return size < stride ? size : stride; }

#endif
