/* Window operators: what their shapes have in common. */
#ifndef TEGULA_FRONTEND_INFER_WINDOW_H
#define TEGULA_FRONTEND_INFER_WINDOW_H

#include "frontend/infer/internal.h"

enum {
  TG_MOST_GROUPS = 1 << 13
}; /* of a convolution: each is a product of its own, but those of a depthwise one */
enum {
  TG_MAX_SPATIAL = 2, /* of operators that passes know */
  TG_MAX_EXTENTS = 3  /* of those that are made of others, too */
};

/* The spatial part of a window operator, in the attributes' order. */
typedef struct tg_window_shape {
  int rank;                                        /* spatial dimensions */
  int first;                                       /* the first of them in the data */
  int64_t in[TG_MAX_EXTENTS], out[TG_MAX_EXTENTS]; /* extents: of the data, of the windows' results */
  int64_t kernel[TG_MAX_EXTENTS], stride[TG_MAX_EXTENTS], dilation[TG_MAX_EXTENTS];
  int64_t begin[TG_MAX_EXTENTS], end[TG_MAX_EXTENTS]; /* padding */
} tg_window_shape;

/* Rank, layout, `in` of input 0, strides, dilations and pads; what is not given is 1, 1 and 0. */
tg_status tg_window_read(const tg_node *node, tg_window_shape *out, tg_diag *diag);
/* The same of up to TG_MAX_EXTENTS spatial dimensions. */
tg_status tg_window_read_any(const tg_node *node, tg_window_shape *out, tg_diag *diag);
/* Paddings that were computed are as bounded as those that are given. */
tg_status tg_window_check_pads(const tg_window_shape *w, tg_diag *diag);
/* `rank` values of an attribute, or `initial` where it is not given; each at least `fewest`. */
tg_status tg_window_read_extents(const tg_node *node, tg_attr_key key, int rank, int64_t initial,
                                 int64_t fewest, int64_t *out, tg_diag *diag);
/* kernel from the spatial dimensions of weights [KH,KW,Cin/group,Cout] or [Cout,Cin/group,KH,KW]; it must be
 * that of the attribute, where this is given. */
tg_status tg_window_read_kernel(const tg_node *node, const tg_value *weights, tg_window_shape *w,
                                tg_diag *diag);
/* `out` from all others. */
tg_status tg_window_place(tg_window_shape *w, bool ceil_mode, tg_diag *diag);
/* kernel and `out` of a pool, from its attributes. */
tg_status tg_window_place_pool(const tg_node *node, tg_window_shape *w, tg_diag *diag);
/* kernel, padding and `out` of a ConvTranspose, of its pads, auto_pad, output_padding and output_shape. `out_added`: what
 * its result has behind the last window. */
tg_status tg_window_place_transposed(tg_graph *graph, tg_node *node, tg_window_shape *w, int64_t *out_added,
                                     tg_diag *diag);
/* Do weights of `out` channels, `in_of_group` inputs each, fit `in` channels? A bias (or NULL) must have
 * `biased` elements. */
tg_status tg_window_check_groups(const tg_node *node, int64_t in, int64_t in_of_group, int64_t out,
                                 int64_t biased, tg_diag *diag);
/* Extents and pads back into the attributes, explicit. */
void tg_window_write(tg_graph *graph, tg_node *node, const tg_window_shape *w);
/* The result: batch of input 0, spatial extents `sizes`, `channels`. */
tg_status tg_window_result(tg_node *node, const tg_window_shape *w, const int64_t *sizes, int64_t channels,
                           tg_diag *diag);

static inline int64_t tg_window_extent(const tg_window_shape *w, int i) {
  return (w->kernel[i] - 1) * w->dilation[i] + 1;
}
/* Where the channels of data of this layout are. */
static inline int tg_window_channels(const tg_window_shape *w) { return w->first == 1 ? w->rank + 1 : 1; }

#endif
