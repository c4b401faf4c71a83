/* From line buffers or as streams: which of them walks views, and which one is faster. */
#include "mapper/kernel/view.h"
#include "mapper/section/rehearsal.h"
#include "mapper/vector/line_product.h"

#include <string.h>

static const tg_line_tiling one_by_one = {.unroll = 1, .taps = 1};

/* With the latency of the first load, which estimates of streams leave out. */
static double streamed_cycles(tg_compile *c, const tg_line_kernel *lines, const tg_stream_kernel *streamed) {
  tg_mc mc;
  int words[TG_SEGMENTS] = {0};
  lines->write(lines->user, lines, &one_by_one, &mc);
  if (!tg_mc_fits(&mc, c->m, words)) return TG_NEVER;
  return c->m->dram_latency + tg_stream_cycles(c, streamed, words, 1 << 1);
}

/* Do the pixels of images, and these, follow each other? */
static bool lies_densely(const tg_value *image, const int64_t *stride) {
  int64_t dense = image->dims[3].size;
  for (int d = 2; d >= 0; d--) {
    if (stride[d] != dense) return false;
    dense *= image->dims[d].size;
  }
  return true;
}

bool tg_line_set_strides(const tg_compile *c, const tg_node *root, const tg_value *image,
                         const tg_value *result, tg_line_kernel *out) {
  int64_t from[TG_MAX_RANK], to[TG_MAX_RANK];
  if (!tg_strides_as(c, image, tg_in(root, 0), from) || !tg_strides_as(c, result, tg_out(root), to))
    return false;
  memcpy(out->image_stride, from, sizeof out->image_stride);
  memcpy(out->result_stride, to, sizeof out->result_stride);
  out->dense = lies_densely(tg_in(root, 0), from) && lies_densely(tg_out(root), to);
  return true;
}

/* Streamed windows walk pixels that follow each other. */
static bool can_stream(const tg_line_kernel *lines) {
  return lines->dense && !lines->totals && !lines->product;
}

bool tg_line_walks_views(tg_compile *c, const tg_line_kernel *lines) {
  static const tg_dram_tensor anywhere = {.storage =
                                              TG_STORE_FP32}; /* places come later, and change no room */
  tg_line_tilings unused;
  tg_line_kernel placed = *lines;
  tg_line_product product;
  if (lines->product) {
    product = *lines->product;
    product.pixels = product.filters = &anywhere;
    if (product.bias) product.bias = &anywhere;
    placed.product = &product;
  }
  placed.image = placed.result = &anywhere;
  if (placed.weights) placed.weights = &anywhere;
  if (placed.bias) placed.bias = &anywhere;
  return can_stream(lines) || tg_line_tile(c, &placed, &unused);
}

/* ---- which tiling ---- */

enum { REPLAYED_STEPS = 1 << 14 };
/* Of the best time so far: what a replay errs by, which is more with a memory device. */
#define CLEARLY             0.995
#define CLEARLY_OF_A_DEVICE 0.97
#define A_DEVICES_OWN       256 /* cycles: its refresh and its turnarounds come when they come */

/* A section so tiled that nobody gets. */
typedef struct rehearsed {
  const tg_kernel *kernel;
  const tg_line_kernel *lines;
  const tg_line_tiling *t;
} rehearsed;

static tg_status emit_one(tg_compile *c, const void *user) {
  const rehearsed *r = user;
  return tg_emit_lines(c, r->kernel, r->lines, r->t);
}

/* Its cycles; TG_NEVER: it is refused, or takes longer than `limit`. */
static double rehearsed_cycles(const tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                               const tg_line_tiling *t, double limit) {
  const rehearsed one = {kernel, lines, t};
  const tg_rehearsal rehearsal = {.emit = emit_one, .user = &one, .limit = limit, .steps = REPLAYED_STEPS};
  return tg_rehearse_sections(c, &rehearsal);
}

/* The one whose section is replayed fastest. */
static const tg_line_tiling *settle(const tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                                    const tg_line_tilings *all) {
  bool simple = tg_dram_is_simple(&c->m->dram);
  double best = TG_NEVER, margin = simple ? CLEARLY : CLEARLY_OF_A_DEVICE, slack = simple ? 0 : A_DEVICES_OWN;
  const tg_line_tiling *chosen = &all->tiling[0];
  for (int i = 0; i < all->count && all->count > 1; i++) {
    if (all->tiling[i].cycles > TG_LINE_WORTH_A_REPLAY * chosen->cycles) continue;
    double limit = best < TG_NEVER ? tg_max_double(margin * best - slack, 0) : TG_NEVER,
           cycles = rehearsed_cycles(c, kernel, lines, &all->tiling[i], limit);
    if (cycles >= limit) continue;
    best = cycles;
    chosen = &all->tiling[i];
  }
  return chosen;
}

bool tg_emit_fitting_lines(tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                           tg_status *out_status) {
  tg_line_tilings all;
  if (!tg_line_tile(c, lines, &all)) return false;
  *out_status = tg_emit_lines(c, kernel, lines, settle(c, kernel, lines, &all));
  return true;
}

tg_status tg_emit_windows(tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                          const tg_stream_kernel *streamed) {
  tg_line_tilings all;
  if (tg_line_tile(c, lines, &all) && (!can_stream(lines) || c->options.any_tiling ||
                                       all.tiling[0].cycles <= streamed_cycles(c, lines, streamed)))
    return tg_emit_lines(c, kernel, lines, settle(c, kernel, lines, &all));
  if (lines->totals || lines->product)
    return tg_fail(c->diag, TG_INVALID, "%s: no block of its results %s", tg_kernel_name(c, kernel),
                   lines->totals ? "has whole blocks of its reduction" : "has room for its image");
  tg_mc mc;
  lines->write(lines->user, lines, &one_by_one, &mc);
  return tg_emit_stream_kernel(c, kernel, streamed, &mc, 1 << 1);
}
