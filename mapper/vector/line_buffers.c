/* Numbers of streams, and sizes of blocks, of pools and depthwise convolutions from line buffers. */
#include "mapper/vector/line_buffers.h"

#include <string.h>

/* ---- streams ---- */

int tg_line_columns(const tg_line_kernel *k, const tg_line_tiling *t, int64_t *out_offsets) {
  int count = 0;
  const tg_windows *w = tg_line_window_set(k, 0);
  for (uint32_t u = 0; u < t->unroll; u++)
    for (uint32_t q = 0; q < t->taps; q++) {
      int64_t offset = u * w->row_step[1] + q * w->tap_step[1];
      int at = 0;
      while (at < count && out_offsets[at] < offset) at++;
      if (at < count && out_offsets[at] == offset) continue;
      if (count == TG_STREAMS) return TG_STREAMS + 1;
      memmove(&out_offsets[at + 1], &out_offsets[at], sizeof *out_offsets * (size_t)(count - at));
      out_offsets[at] = offset;
      count++;
    }
  return count;
}

int tg_line_weights_stream(const tg_line_kernel *k, const tg_line_tiling *t, uint32_t tap) {
  int64_t offsets[TG_STREAMS];
  return tg_line_columns(k, t, offsets) + (int)tap;
}

int tg_line_bias_stream(const tg_line_kernel *k, const tg_line_tiling *t) {
  return tg_line_weights_stream(k, t, k->weights ? t->taps : 0);
}

int tg_line_result_stream(const tg_line_kernel *k, const tg_line_tiling *t, uint32_t u) {
  return tg_line_bias_stream(k, t) + (k->bias ? 1 : 0) + (int)u;
}

void tg_line_each_tap(const tg_line_kernel *k, const tg_line_tiling *t, tg_line_take *take, void *user) {
  int64_t offsets[TG_STREAMS];
  int columns = tg_line_columns(k, t, offsets);
  const tg_windows *w = tg_line_window_set(k, 0);
  for (int s = 0; s < columns; s++)
    for (uint32_t u = 0; u < t->unroll; u++)
      for (uint32_t q = 0; q < t->taps; q++)
        if (u * w->row_step[1] + q * w->tap_step[1] == offsets[s]) take(user, s, u, q);
}

/* ---- sizes ---- */

uint32_t tg_line_run_columns(const tg_line_tiling *t) {
  return t->through > 1 ? (t->through - 1) * t->pitch + t->columns : t->run;
}

uint32_t tg_line_row_runs(const tg_line_tiling *t) {
  return t->through > 1 ? (t->rows + t->through - 1) / t->through : t->rows;
}

uint32_t tg_line_groups(const tg_line_tiling *t) {
  return (tg_line_run_columns(t) + t->lead + t->unroll - 1) / t->unroll;
}

static int64_t reach(const tg_windows *w, int d, int64_t results) {
  return (results - 1) * w->row_step[d] + (w->taps[d] - 1) * w->tap_step[d] + 1;
}

uint32_t tg_line_loaded_columns(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)reach(k->windows, 1, t->columns);
}

uint32_t tg_line_image_columns(const tg_line_kernel *k, const tg_line_tiling *t) {
  if (t->through > 1) return t->pitch;
  return t->depth ? tg_line_loaded_columns(k, t)
                  : (uint32_t)reach(k->windows, 1, (int64_t)tg_line_groups(t) * t->unroll);
}

uint32_t tg_line_image_rows(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)reach(k->windows, 0, t->rows);
}

uint32_t tg_line_take_of(const tg_params *m, const tg_line_tiling *t) { return t->vectors * tg_lanes(m); }

uint32_t tg_line_position(const tg_params *m, const tg_line_tiling *t, int kind) {
  return tg_kind_flits(m, kind, tg_line_take_of(m, t));
}

/* Flits of a run go to positions of whole vectors, or come from them, in equal parts: of rows without a gap. */
bool tg_line_is_joined(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  int64_t channels = k->windows->image->dims[3].size;
  bool whole = channels % (tg_stream_is_wide(k->image_kind) ? m->p : tg_lanes(m)) == 0 &&
               channels % (tg_stream_is_wide(k->result_kind) ? m->p : tg_lanes(m)) == 0 &&
               k->image_stride[2] == channels && k->result_stride[2] == channels;
  /* of a run, no channel is out of bounds: no tile has a block behind the last one */
  bool one = t->blocks[2] == 1 && (!k->product || tg_line_channel_blocks(m, t) == 1);
  return one && whole && (channels == tg_line_take_of(m, t) || tg_line_is_dense(t));
}

uint32_t tg_line_moved(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t, int kind) {
  if (!tg_line_is_joined(m, k, t)) return tg_line_position(m, t, kind);
  return tg_kind_flits(m, kind, (uint32_t)k->windows->image->dims[3].size);
}
