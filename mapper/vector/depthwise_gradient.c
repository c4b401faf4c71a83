/* Input gradients of depthwise convolutions, and so transposed ones: the pixels of each remainder modulo the strides are a
 * depthwise convolution of what comes in with those positions of the kernel that reach them, last first. All of them are
 * one section, whose blocks are loaded once, or each is one of its own. */
#include "frontend/base/math.h"
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/window.h"
#include "mapper/vector/depthwise.h"

/* Remainders that there are pixels of, rows by columns. */
static void set_remainders(const tg_node *node, int64_t out[2]) {
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  for (int d = 0; d < 2; d++) out[d] = tg_reach_phases(tg_out(node)->dims[1 + d].size, strides[d]);
}

/* The pixels of which the remainders are `remainder`; false: no position of the kernel reaches them. */
static bool set_part(const tg_node *node, const int64_t remainder[2], tg_depthwise_part *out) {
  const tg_value *dx = tg_out(node), *weights = tg_in(node, 1);
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  int64_t channels = dx->dims[3].size, position[2] = {weights->dims[1].size * channels, channels};
  *out = (tg_depthwise_part){.windows = {.image = tg_in(node, 0), .inputs = 1}};
  tg_windows *w = &out->windows;
  for (int d = 0; d < 2; d++) {
    tg_reach reach = tg_reach_of(remainder[d], dx->dims[1 + d].size, weights->dims[d].size, strides[d],
                                 dilations[d], pads[d]);
    if (!reach.taps) return false;
    w->rows[d] = reach.count;
    w->taps[d] = reach.taps;
    w->origin[d] = reach.origin;
    w->tap_step[d] = reach.tap_step;
    w->row_step[d] = 1;
    w->weight_first += reach.last * position[d];
    w->weight_step[d] = -reach.step * position[d];
    out->first[d] = reach.first;
    out->step[d] = strides[d];
  }
  out->first_row = dx->dims[0].size * tg_reach_before(remainder[0], dx->dims[1].size, strides[0]) *
                   tg_div_up(dx->dims[2].size, strides[1]);
  out->first_column = remainder[1] * channels;
  return true;
}

static bool has_all_parts(const tg_node *node) {
  int64_t count[2], remainder[2];
  tg_depthwise_part unused;
  set_remainders(node, count);
  for (remainder[0] = 0; remainder[0] < count[0]; remainder[0]++)
    for (remainder[1] = 0; remainder[1] < count[1]; remainder[1]++)
      if (!set_part(node, remainder, &unused)) return false;
  return true;
}

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  if (node->op != TG_OP_CONV_INPUT_GRADIENT) return false;
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP);
  return group > 1 && group == tg_in(node, 0)->dims[3].size && group == tg_out(node)->dims[3].size &&
         tg_windows_have_room(node) && has_all_parts(node);
}

static bool walks_views(tg_compile *c, const tg_kernel *kernel) {
  int64_t count[2], remainder[2];
  set_remainders(kernel->root, count);
  for (remainder[0] = 0; remainder[0] < count[0]; remainder[0]++)
    for (remainder[1] = 0; remainder[1] < count[1]; remainder[1]++) {
      tg_depthwise_part part;
      if (!set_part(kernel->root, remainder, &part) || !tg_depthwise_walks_views(c, kernel, &part))
        return false;
    }
  return true;
}

/* ---- several remainders in one section ---- */

enum { MOST_TOGETHER = 64, ALL_ROWS = -1 };

typedef struct joint {
  tg_windows windows[MOST_TOGETHER];
  tg_line_transposed transposed;
  tg_depthwise_part all; /* what windows read together */
} joint;

static void widen(tg_windows *all, const tg_windows *w) {
  for (int d = 0; d < 2; d++) {
    int64_t end = tg_max(all->origin[d] + all->taps[d], w->origin[d] + (w->taps[d] - 1) * w->tap_step[d] + 1);
    all->origin[d] = tg_min(all->origin[d], w->origin[d]);
    all->taps[d] = end - all->origin[d];
  }
}

/* Weights in the order in which they are loaded, the last one first. */
static void turn_weights(const int64_t positions[2], int64_t channels, tg_windows *w) {
  w->weight_first = (positions[0] * positions[1] - 1) * channels - w->weight_first;
  for (int d = 0; d < 2; d++) w->weight_step[d] = -w->weight_step[d];
}

/* Those of one remainder of rows, or of all. False: there are too many, or results of a row do not come out even. */
static bool join(const tg_node *node, int64_t row, joint *out) {
  const tg_value *dx = tg_out(node), *weights = tg_in(node, 1);
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  int64_t channels = dx->dims[3].size, count[2], remainder[2];
  set_remainders(node, count);
  if (count[0] != strides[0] || count[1] != strides[1] || dx->dims[2].size % count[1]) return false;
  int64_t first = row == ALL_ROWS ? 0 : row, end = row == ALL_ROWS ? count[0] : row + 1, rows = end - first;
  if (rows > MOST_TOGETHER || count[1] > MOST_TOGETHER || rows * count[1] > MOST_TOGETHER) return false;
  *out = (joint){.transposed = {.windows = out->windows, .step = {rows, count[1]}, .rows = dx->dims[1].size},
                 .all = {.first = {first}, .step = {count[0] / rows, 1}}};
  tg_windows *all = &out->all.windows;
  for (remainder[0] = first; remainder[0] < end; remainder[0]++)
    for (remainder[1] = 0; remainder[1] < count[1]; remainder[1]++) {
      tg_depthwise_part part;
      tg_windows *own = &out->windows[(remainder[0] - first) * count[1] + remainder[1]];
      (void)set_part(node, remainder, &part);
      *own = part.windows;
      if (!all->image) *all = *own, all->taps[0] = all->taps[1] = 1;
      widen(all, own);
    }
  if (row != ALL_ROWS) out->transposed.rows = out->windows[0].rows[0];
  for (int d = 0; d < 2; d++) {
    out->transposed.positions[d] = weights->dims[d].size;
    all->tap_step[d] = 1;
  }
  all->rows[0] = out->windows[0].rows[0]; /* as many as any remainder has */
  all->rows[1] = dx->dims[2].size / count[1];
  all->weight_first = (out->transposed.positions[0] * out->transposed.positions[1] - 1) * channels;
  all->weight_step[0] = -out->transposed.positions[1] * channels;
  all->weight_step[1] = -channels;
  for (int64_t i = 0; i < rows * count[1]; i++)
    turn_weights(out->transposed.positions, channels, &out->windows[i]);
  return true;
}

static bool emit_joint(tg_compile *c, const tg_kernel *kernel, int64_t row, tg_status *out_status) {
  joint together;
  return join(kernel->root, row, &together) &&
         tg_depthwise_emit_transposed(c, kernel, &together.all, &together.transposed, out_status);
}

/* All in one section, those of a row's remainder in one, or each in its own. */
static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  int64_t count[2], remainder[2];
  tg_status status = TG_OK;
  if (emit_joint(c, kernel, ALL_ROWS, &status)) return status;
  set_remainders(kernel->root, count);
  for (remainder[0] = 0; remainder[0] < count[0] && !status; remainder[0]++) {
    if (emit_joint(c, kernel, remainder[0], &status)) continue;
    for (remainder[1] = 0; remainder[1] < count[1] && !status; remainder[1]++) {
      tg_depthwise_part part;
      (void)set_part(kernel->root, remainder, &part); /* it was asked when the node was accepted */
      status = tg_depthwise_emit(c, kernel, &part);
    }
  }
  return status;
}

const tg_kernel_class tg_depthwise_gradient_class = {
    .name = "depthwise_gradient",
    .accepts = accepts,
    .takes = tg_takes_fused_out_of_order,
    .walks_views = walks_views,
    .emit = emit,
};
