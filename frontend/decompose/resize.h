/* What a Resize asks for: its mode, and for each dimension sizes and where elements of the result lie. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_RESIZE_H
#define TEGULA_FRONTEND_DECOMPOSE_RESIZE_H

#include "frontend/graph.h"

#include <string.h>

typedef struct tg_resize_axis {
  int64_t from, to; /* sizes */
  double scale;
  bool given;    /* the scale, in FP32: else it is the quotient of sizes */
  double roi[2]; /* of tf_crop_and_resize */
} tg_resize_axis;

typedef struct tg_resize {
  const tg_node *node;
  const char *mode, *coordinates, *nearest; /* as ONNX has them */
  bool antialias, exclude;
  double cubic; /* cubic_coeff_a */
} tg_resize;

static inline bool tg_resize_is(const tg_resize *r, const char *mode) { return !strcmp(r->mode, mode); }
static inline bool tg_resize_crops(const tg_resize *r) {
  return !strcmp(r->coordinates, "tf_crop_and_resize");
}

/* Reads the node: one axis for each dimension of its data, of which those that it does not name stay. Refuses modes and sizes
 * that are not known. */
tg_status tg_resize_read(const tg_node *node, tg_resize *out, tg_resize_axis axes[TG_MAX_RANK],
                         tg_diag *diag);
/* Where element i of the result lies among the elements of the data. */
double tg_resize_place(const tg_resize *r, const tg_resize_axis *p, int64_t i);

#endif
