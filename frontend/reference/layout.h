/* Data and weights of window operators in either layout. */
#ifndef TEGULA_FRONTEND_REFERENCE_LAYOUT_H
#define TEGULA_FRONTEND_REFERENCE_LAYOUT_H

#include "frontend/reference/internal.h"

/* Sizes and strides of data in the order n c h w, of weights in the order out in kh kw. One spatial dimension
 * is two, the first of extent 1. */
typedef struct tg_layout {
  int64_t size[4], stride[4];
} tg_layout;

tg_layout tg_layout_of(const tg_value *value, bool weights, bool channels_last);

static inline int64_t tg_layout_at(const tg_layout *l, int64_t a, int64_t b, int64_t c, int64_t d) {
  return a * l->stride[0] + b * l->stride[1] + c * l->stride[2] + d * l->stride[3];
}

/* The windows of a node, two dimensions. */
typedef struct tg_window_steps {
  int64_t stride[2], dilation[2], pad[2]; /* pad: before the data */
} tg_window_steps;
tg_window_steps tg_window_steps_of(const tg_node *node, int rank);
bool tg_is_channels_last(const tg_node *node);

#endif
