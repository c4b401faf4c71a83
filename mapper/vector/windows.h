/* Windows of images as walks: a load goes over the positions of all windows, one after the other. */
#ifndef TEGULA_MAPPER_VECTOR_WINDOWS_H
#define TEGULA_MAPPER_VECTOR_WINDOWS_H

#include "mapper/stream/stream.h"

enum { TG_WINDOW_POSITIONS = 65535 }; /* of a window: repeats of a segment */

/* What loads go over: `taps` positions of `image`, from `origin`, `tap_step` apart; the windows of
 * neighbouring rows of the kernel are `row_step` apart. Positions outside the image load the fill. */
typedef struct tg_windows {
  const tg_value *image;
  int64_t rows[2]; /* of the kernel's output, by image row and column */
  int64_t taps[2], origin[2], tap_step[2], row_step[2];
  int64_t fill[TG_STREAMS];
  /* Of a depthwise convolution's weights: elements to those of the first position, and from position to position. */
  int64_t weight_first, weight_step[2];
  int inputs; /* the first ones that are images of this kind; number 1 may be weights */
} tg_windows;

/* Do the weights of a window's positions lie one after the other, from the first on? */
static inline bool tg_windows_weights_follow(const tg_windows *w) {
  int64_t channels = w->image->dims[3].size;
  return !w->weight_first && w->weight_step[1] == channels && w->weight_step[0] == w->taps[1] * channels;
}

/* Those that a pool, or a convolution of one channel a group, takes of its image. */
tg_windows tg_windows_forward(const tg_node *node);
/* Bits of the lowest number of a stream kind: what is outside changes no maximum. */
int64_t tg_windows_lowest(int kind);
/* Has a window no more positions than loads can repeat? */
bool tg_windows_have_room(const tg_node *node);
tg_status tg_windows_check(const tg_compile *c, const tg_node *node);

/* The walk of an input that windows go over; its tensor is left open. */
tg_walk_plan tg_windows_walk(const tg_windows *w);
/* adjust_load of a stream kernel whose `user` they are. */
void tg_windows_adjust(const void *user, int input, tg_agcu_instr *load);
/* A stream kernel whose first inputs are those of the node, by windows. */
void tg_windows_plan(const tg_compile *c, const tg_windows *w, const tg_node *node, tg_stream_kernel *plan);

#endif
