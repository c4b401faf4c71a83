/* Convolutions and their gradients as products of matrices. Rows of the implicit product are formed by the
 * walk that loads them: one goes over the pixels of a result, the other over the positions of the kernel and
 * the channels.
 *
 *   Conv                Y[pixel, cout] = sum over (kh, kw, cin) of X[..] W[(kh, kw, cin), cout]
 *   ConvWeightGradient  dW[(kh, kw, cin), cout] = sum over pixels of X[..] dY[pixel, cout]: A stored by k
 *   ConvInputGradient   the input's pixels of one remainder modulo the strides are a convolution of dY with
 *                       those positions of the kernel that reach them, last first, and with the channels
 *                       exchanged: B stored by n. A phase for each remainder, or for those of pixels side by side,
 *                       which are columns of one product where windows do not overlap. */
#include "frontend/base/math.h"
#include "mapper/gemm/product.h"
#include "mapper/kernel/window.h"

/* A convolution of `image` as walks see it. */
typedef struct walks {
  const tg_value *image;
  int64_t pixels[3];                             /* batch, rows, columns of results */
  int64_t taps[2];                               /* positions of the kernel */
  int64_t origin[2], pixel_step[2], tap_step[2]; /* image coordinates: of the first, from each to the next */
  int64_t group, packs, channels;                /* groups; those in one product; channels of one */
  int64_t depth;                                 /* elements from one pixel to the next */
} walks;

static void walk_pixels(const walks *w, tg_gemm *g, int64_t radix[3], int64_t stride[3], int64_t y[3],
                        int64_t x[3]) {
  int64_t depth = w->depth, row = w->image->dims[2].size * depth;
  for (int d = 0; d < 3; d++) radix[d] = w->pixels[d];
  stride[0] = w->image->dims[1].size * row;
  stride[1] = w->pixel_step[0] * row;
  stride[2] = w->pixel_step[1] * depth;
  y[1] = w->pixel_step[0];
  x[2] = w->pixel_step[1];
  g->a_origin = w->origin[0] * row + w->origin[1] * depth;
  g->y_org = w->origin[0];
  g->x_org = w->origin[1];
  g->y_size = w->image->dims[1].size;
  g->x_size = w->image->dims[2].size;
}

static void walk_taps(const walks *w, int64_t radix[3], int64_t stride[3], int64_t y[3], int64_t x[3]) {
  int64_t depth = w->depth;
  radix[0] = w->taps[0];
  radix[1] = w->taps[1];
  radix[2] = w->channels;
  stride[0] = w->tap_step[0] * w->image->dims[2].size * depth;
  stride[1] = w->tap_step[1] * depth;
  stride[2] = 1;
  y[0] = w->tap_step[0];
  x[1] = w->tap_step[1];
}

/* Pixels of a kernel row that lie next to each other are one run: x counts elements of an image row. */
static void join_taps(const walks *w, tg_gemm *g, int64_t radix[3], int64_t pixel_x[3], int64_t tap_x[3]) {
  if (w->channels != w->depth || w->tap_step[1] != 1) return;
  radix[2] *= radix[1];
  radix[1] = 1;
  pixel_x[2] *= w->channels;
  tap_x[1] = 0;
  tap_x[2] = 1;
  g->x_org *= w->channels;
  g->x_size *= w->channels;
}

static tg_gemm_image image_of(const walks *w) {
  tg_gemm_image image = {.images = w->pixels[0],
                         .depth = w->depth,
                         .channels = w->channels,
                         .groups = w->packs,
                         .own = w->channels};
  for (int d = 0; d < 2; d++) {
    image.size[d] = w->image->dims[1 + d].size;
    image.pixels[d] = w->pixels[1 + d];
    image.taps[d] = w->taps[d];
    image.origin[d] = w->origin[d];
    image.step[d] = w->pixel_step[d];
    image.tap_step[d] = w->tap_step[d];
  }
  return image;
}

/* Rows of A are pixels, or, transposed, positions of the kernel and channels. */
static void set_a(const walks *w, tg_gemm *g) {
  bool transposed = g->a_transposed;
  int64_t *pixels = transposed ? g->a_k_radix : g->a_m_radix,
          *taps = transposed ? g->a_m_radix : g->a_k_radix;
  int64_t *pixel_stride = transposed ? g->a_k_stride : g->a_m_stride,
          *tap_stride = transposed ? g->a_m_stride : g->a_k_stride;
  int64_t *pixel_y = transposed ? g->y_k : g->y_m, *tap_y = transposed ? g->y_m : g->y_k;
  int64_t *pixel_x = transposed ? g->x_k : g->x_m, *tap_x = transposed ? g->x_m : g->x_k;
  walk_pixels(w, g, pixels, pixel_stride, pixel_y, pixel_x);
  walk_taps(w, taps, tap_stride, tap_y, tap_x);
  join_taps(w, g, taps, pixel_x, tap_x);
  if (!transposed) g->image = image_of(w);
}

/* An image of which each channel lies by itself. */
static void set_planes(tg_gemm *g, bool pixels_are_rows) {
  const tg_value *image = tg_in(g->node, 0);
  const int64_t *stride = g->a_operand.stride;
  g->a_transposed = pixels_are_rows;
  tg_merge_rows(image, stride, 0, pixels_are_rows ? g->a_m_radix : g->a_k_radix,
                pixels_are_rows ? g->a_m_stride : g->a_k_stride);
  int64_t *radix = pixels_are_rows ? g->a_k_radix : g->a_m_radix;
  radix[0] = radix[1] = 1;
  radix[2] = image->dims[3].size;
  (pixels_are_rows ? g->a_k_stride : g->a_m_stride)[2] = stride[3];
  g->y_size = g->x_size = 1;
}

/* The walks of the forward convolution over the node's input 0. */
static walks forward_walks(const tg_gemm *g, const tg_value *result, int64_t packs) {
  const tg_node *node = g->node;
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL),
                *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL);
  walks w = {.image = tg_in(node, 0), .group = tg_attr_int(node, TG_ATTR_GROUP), .packs = packs};
  w.channels = w.image->dims[3].size / w.group;
  w.depth = g->a_operand.transposed ? w.image->dims[3].size : g->a_operand.stride[2];
  for (int d = 0; d < 3; d++) w.pixels[d] = result->dims[d].size;
  for (int d = 0; d < 2; d++) {
    w.taps[d] = kernel[d];
    w.origin[d] = -pads[d];
    w.pixel_step[d] = strides[d];
    w.tap_step[d] = dilations[d];
  }
  return w;
}

/* B[k, n] as stored by k: `radix` rows of all groups' columns. */
static void set_b(tg_gemm *g, int64_t rows0, int64_t rows1, int64_t rows2, int64_t row) {
  int64_t radix[3] = {rows0, rows1, rows2};
  for (int d = 2; d >= 0; d--) {
    g->b_k_radix[d] = radix[d];
    g->b_k_stride[d] = row;
    row *= radix[d];
    g->b_n_radix[d] = 1;
  }
  g->b_n_radix[2] = g->n;
  g->b_n_stride[2] = 1;
}

/* `a_step`, `b_step`: elements from group to group. */
static void set_products(tg_compile *c, tg_gemm *g, const walks *w, int64_t a_step, int64_t b_step,
                         int64_t b_first) {
  g->products = w->group / w->packs;
  g->sr_col_step = g->n;
  g->partials = 1;
  tg_gemm_allocate_products(c, g);
  for (int64_t i = 0; i < g->products; i++) {
    g->a_offsets[i] = i * w->packs * a_step;
    g->b_offsets[i] = b_first + i * w->packs * b_step;
  }
}

static void describe_forward(tg_compile *c, tg_gemm *g, int64_t packs) {
  const tg_value *out = tg_out(g->node);
  walks w = forward_walks(g, out, packs);
  int64_t columns = out->dims[3].size;
  g->m = w.pixels[0] * w.pixels[1] * w.pixels[2];
  g->n = columns / w.group * packs;
  g->k = w.taps[0] * w.taps[1] * w.channels;
  if (g->a_operand.transposed)
    set_planes(g, true);
  else
    set_a(&w, g);
  set_b(g, 1, 1, g->k, columns);
  set_products(c, g, &w, w.channels, columns / w.group, 0);
  g->b_alone = w.group == 1 && tg_gemm_alone_reads_b(g);
}

static void describe_weight_gradient(tg_compile *c, tg_gemm *g) {
  const tg_value *dy = tg_in(g->node, 1);
  walks w = forward_walks(g, dy, 1);
  int64_t columns = dy->dims[3].size;
  g->m = w.taps[0] * w.taps[1] * w.channels;
  g->n = columns / w.group;
  g->k = w.pixels[0] * w.pixels[1] * w.pixels[2];
  g->a_transposed = true;
  if (g->a_operand.transposed)
    set_planes(g, false);
  else
    set_a(&w, g);
  set_b(g, w.pixels[0], w.pixels[1], w.pixels[2], columns);
  set_products(c, g, &w, w.channels, g->n, 0);
}

/* Does each column of a window reach other columns of the result, as many as there are of the image? Then pixels side by side
 * are columns of one product: of the same A, with weights that follow each other. No store rounds by their places. */
static bool joins_columns(const tg_gemm *g, const walks *w, int64_t kernel, int64_t stride, int64_t dilation,
                          int64_t pad) {
  int64_t from = w->image->dims[2].size, to = tg_out(g->node)->dims[2].size;
  return stride > 1 && kernel == stride && dilation == 1 && pad == 0 && to == stride * from &&
         w->group == 1 && !tg_gemm_rounds_results(g);
}

static void describe_input_gradient(tg_compile *c, int64_t phase, tg_gemm *g, tg_conv_rows *out) {
  const tg_value *weights = tg_in(g->node, 1), *dx = tg_out(g->node);
  const int64_t *strides = tg_attr_ints(g->node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(g->node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(g->node, TG_ATTR_PADS, NULL);
  walks w = {.image = tg_in(g->node, 0),
             .group = tg_attr_int(g->node, TG_ATTR_GROUP),
             .packs = out->packs ? out->packs : 1,
             .pixels = {dx->dims[0].size}};
  int64_t wide = tg_reach_phases(dx->dims[2].size, strides[1]), remainder[2] = {phase / wide, phase % wide};
  int64_t in = weights->dims[2].size, columns = weights->dims[3].size;
  int64_t tap[2] = {weights->dims[1].size * in * columns, in * columns}, b_first = 0;
  w.channels = columns / w.group;
  w.depth = w.image->dims[3].size;
  g->n = in * w.packs;
  g->b_transposed = true;
  if (out->joins && joins_columns(g, &w, weights->dims[1].size, strides[1], dilations[1], pads[1])) {
    out->joined = strides[1];
    out->elsewhere = remainder[1] > 0;
    remainder[1] = 0;
    g->n = in * out->joined;
  }
  for (int d = 0; d < 2; d++) {
    tg_reach p = tg_reach_of(remainder[d], dx->dims[1 + d].size, weights->dims[d].size, strides[d],
                             dilations[d], pads[d]);
    w.pixels[1 + d] = out->rows[d] = p.count;
    w.taps[d] = p.taps;
    w.origin[d] = p.origin;
    w.pixel_step[d] = 1;
    w.tap_step[d] = p.tap_step;
    out->first[d] = p.first;
    out->step[d] = strides[d];
    g->b_k_radix[d] = p.taps;
    g->b_k_stride[d] = -p.step * tap[d];
    b_first += p.last * tap[d];
  }
  g->m = w.pixels[0] * w.pixels[1] * w.pixels[2];
  g->k = w.taps[0] * w.taps[1] * w.channels;
  /* Rows of the rows of pixels before, as if each had as many as the longest, and columns of the pixels beside: no two
   * elements draw the same random numbers, whether or not pixels side by side are columns of one product. */
  g->sr_row = dx->dims[0].size * tg_reach_before(remainder[0], dx->dims[1].size, strides[0]) *
              tg_div_up(dx->dims[2].size, strides[1]);
  g->sr_col = remainder[1] * dx->dims[3].size;
  set_a(&w, g);
  g->b_k_radix[2] = w.channels;
  g->b_k_stride[2] = 1;
  g->b_n_radix[0] = 1;
  g->b_n_radix[1] = w.packs;
  g->b_n_radix[2] = g->n / w.packs;
  if (w.packs > 1) g->b_n_stride[1] = w.channels;
  g->b_n_stride[2] = columns;
  set_products(c, g, &w, w.channels, w.channels, g->k ? b_first : 0);
}

void tg_describe_conv(tg_compile *c, int64_t phase, tg_gemm *g, tg_conv_rows *out) {
  switch (g->node->op) {
  case TG_OP_CONV_WEIGHT_GRADIENT: describe_weight_gradient(c, g); break;
  case TG_OP_CONV_INPUT_GRADIENT: describe_input_gradient(c, phase, g, out); break;
  default: describe_forward(c, g, out->packs ? out->packs : 1);
  }
}
