/* Gradients of pooling: windows in ascending order add to the elements they hold, in fp32. */
#include "frontend/reference/layout.h"

#include <math.h>
#include <stdlib.h>

/* Windows over an image. */
typedef struct windows {
  tg_layout image, result; /* of what windows read, of what there is one of a window */
  tg_window_steps steps;
  int64_t kernel[2], end[2]; /* end: padding behind the image */
} windows;

static windows windows_of(const tg_node *node, const tg_value *image, const tg_value *result) {
  bool last = tg_is_channels_last(node), flat = image->rank == 3;
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  windows w = {.image = tg_layout_of(image, false, last),
               .result = tg_layout_of(result, false, last),
               .steps = tg_window_steps_of(node, image->rank),
               .kernel = {flat ? 1 : kernel[0], kernel[!flat]}};
  w.end[0] = flat ? 0 : pads[2];
  w.end[1] = pads[flat ? 1 : 3];
  return w;
}

typedef struct place {
  int64_t n, c, oh, ow;
} place;

/* Coordinates of position (kh, kw) of a window; false: in the padding. */
static bool element_at(const windows *w, const place *p, int64_t kh, int64_t kw, int64_t out[2]) {
  out[0] = p->oh * w->steps.stride[0] - w->steps.pad[0] + kh * w->steps.dilation[0];
  out[1] = p->ow * w->steps.stride[1] - w->steps.pad[1] + kw * w->steps.dilation[1];
  return out[0] >= 0 && out[0] < w->image.size[2] && out[1] >= 0 && out[1] < w->image.size[3];
}

/* Of the first maximum; 0 where no element is above -infinity. NaN is no maximum. */
static int64_t first_maximum(const windows *w, const float *x, const place *p) {
  float best = -INFINITY;
  int64_t found = 0, at[2];
  for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {
    if (!element_at(w, p, k / w->kernel[1], k % w->kernel[1], at)) continue;
    float value = x[tg_layout_at(&w->image, p->n, p->c, at[0], at[1])];
    if (!(value > best)) continue;
    best = value;
    found = k;
  }
  return found;
}

static void add(const windows *w, const place *p, int64_t k, float value, float *dx) {
  int64_t at[2];
  if (element_at(w, p, k / w->kernel[1], k % w->kernel[1], at))
    dx[tg_layout_at(&w->image, p->n, p->c, at[0], at[1])] += value;
}

/* 1 / the number of elements of an average. */
static float share(const windows *w, const tg_node *node, const place *p) {
  bool padding = tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD);
  int64_t count = 0, at[2];
  for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {
    bool inside = element_at(w, p, k / w->kernel[1], k % w->kernel[1], at);
    count += padding ? at[0] < w->image.size[2] + w->end[0] && at[1] < w->image.size[3] + w->end[1] : inside;
  }
  return 1.0f / (float)count;
}

typedef void visit_window(const windows *w, const tg_node *node, const place *p, const float *const *inputs,
                          void *result);

static void visit_all(const windows *w, const tg_node *node, const void *const *inputs, visit_window *visit,
                      void *result) {
  const float *wide[2] = {NULL, NULL};
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i)) wide[i] = tg_reference_widen(tg_in(node, i), inputs[i]);
  place p;
  for (p.n = 0; p.n < w->result.size[0]; p.n++)
    for (p.c = 0; p.c < w->result.size[1]; p.c++)
      for (p.oh = 0; p.oh < w->result.size[2]; p.oh++)
        for (p.ow = 0; p.ow < w->result.size[3]; p.ow++) visit(w, node, &p, wide, result);
  for (int i = 0; i < 2; i++) free((void *)wide[i]);
}

static void visit_maximum(const windows *w, const tg_node *node, const place *p, const float *const *inputs,
                          void *dx) {
  (void)node;
  add(w, p, first_maximum(w, inputs[0], p), inputs[1][tg_layout_at(&w->result, p->n, p->c, p->oh, p->ow)],
      dx);
}

static void visit_average(const windows *w, const tg_node *node, const place *p, const float *const *inputs,
                          void *dx) {
  float each = inputs[0][tg_layout_at(&w->result, p->n, p->c, p->oh, p->ow)] * share(w, node, p);
  for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) add(w, p, k, each, dx);
}

static void visit_gradient(const windows *w, const tg_node *node, const place *p, const float *const *inputs,
                           void *dx) {
  (void)node;
  int64_t at = tg_layout_at(&w->result, p->n, p->c, p->oh, p->ow);
  for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++)
    if (!inputs[1] || inputs[1][at] == (float)k) add(w, p, k, inputs[0][at], dx);
}

static void visit_index(const windows *w, const tg_node *node, const place *p, const float *const *inputs,
                        void *output) {
  tg_store_f32(output, tg_out(node)->dtype, (size_t)tg_layout_at(&w->result, p->n, p->c, p->oh, p->ow),
               (float)first_maximum(w, inputs[0], p));
}

void tg_reference_max_pool_index(const tg_node *node, const void *const *inputs, void *output) {
  windows w = windows_of(node, tg_in(node, 0), tg_out(node));
  visit_all(&w, node, inputs, visit_index, output);
}

void tg_reference_pool_gradient(const tg_node *node, const void *const *inputs, void *output) {
  const tg_value *dx = tg_out(node), *dy = tg_in(node, node->op == TG_OP_MAX_POOL_GRADIENT ? 1 : 0);
  size_t count = (size_t)tg_value_elements(dx);
  float *sums = calloc(count + 1, sizeof *sums);
  if (!sums) tg_die("out of memory (%zu elements)", count);
  windows w = windows_of(node, dx, dy);
  visit_all(&w, node, inputs,
            node->op == TG_OP_MAX_POOL_GRADIENT       ? visit_maximum
            : node->op == TG_OP_AVERAGE_POOL_GRADIENT ? visit_average
                                                      : visit_gradient,
            sums);
  for (size_t i = 0; i < count; i++) tg_store_f32(output, dx->dtype, i, sums[i]);
  free(sums);
}
