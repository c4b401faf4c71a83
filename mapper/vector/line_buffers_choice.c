/* From line buffers or as streams: which of them walks views, and which one is faster. */
#include "mapper/kernel/view.h"
#include "mapper/vector/line_buffers.h"

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

bool tg_line_set_strides(const tg_compile *c, const tg_value *image, const tg_value *result,
                         tg_line_kernel *out) {
  int64_t from[TG_MAX_RANK], to[TG_MAX_RANK];
  if (!tg_value_strides(c, image, from) || !tg_value_strides(c, result, to)) return false;
  memcpy(out->image_stride, from, sizeof out->image_stride);
  memcpy(out->result_stride, to, sizeof out->result_stride);
  return true;
}

/* Streamed windows walk pixels that follow each other. */
static bool can_stream(const tg_line_kernel *lines) {
  const tg_windows *w = lines->windows;
  int64_t channels = w->image->dims[3].size, row = w->image->dims[2].size * channels,
          out_row = w->rows[1] * channels;
  const int64_t *image = lines->image_stride, *result = lines->result_stride;
  return image[2] == channels && image[1] == row && image[0] == w->image->dims[1].size * row &&
         result[2] == channels && result[1] == out_row && result[0] == w->rows[0] * out_row;
}

bool tg_line_walks_views(tg_compile *c, const tg_line_kernel *lines) {
  static const tg_dram_tensor anywhere = {.storage =
                                              TG_STORE_FP32}; /* places come later, and change no room */
  tg_line_tiling t;
  tg_line_kernel placed = *lines;
  placed.image = placed.result = &anywhere;
  if (placed.weights) placed.weights = &anywhere;
  if (placed.bias) placed.bias = &anywhere;
  return can_stream(lines) || tg_line_tile(c, &placed, &t);
}

tg_status tg_emit_windows(tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                          const tg_stream_kernel *streamed) {
  tg_line_tiling t;
  if (tg_line_tile(c, lines, &t) &&
      (!can_stream(lines) || c->options.any_tiling || t.cycles <= streamed_cycles(c, lines, streamed)))
    return tg_emit_lines(c, kernel, lines, &t);
  tg_mc mc;
  lines->write(lines->user, lines, &one_by_one, &mc);
  return tg_emit_stream_kernel(c, kernel, streamed, &mc, 1 << 1);
}
