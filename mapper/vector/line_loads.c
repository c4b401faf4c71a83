/* Walks and loads of a section of line buffers: what its tensors are, which block of each a tile has, and rows of channels. */
#include "mapper/section/marks.h"
#include "mapper/vector/line_buffers_emission.h"

typedef tg_line_emission emission;

const tg_dram_tensor *tg_line_tensor(const emission *e, int number) {
  const tg_line_kernel *k = e->k;
  const tg_line_product *p = k->product;
  switch (number) {
  case TG_LINE_TENSOR_IMAGE: return p ? NULL : k->image;
  case TG_LINE_TENSOR_WEIGHTS: return k->weights;
  case TG_LINE_TENSOR_BIAS: return k->bias;
  case TG_LINE_TENSOR_PRODUCT_BIAS: return p ? p->bias : NULL;
  case TG_LINE_TENSOR_FILTERS: return p ? p->filters : NULL;
  case TG_LINE_TENSOR_PIXELS: return p ? p->pixels : NULL;
  case TG_LINE_TENSOR_MARKS: return p && tg_line_has_marks(k, e->t) ? tg_marks_of(e->b.c->program) : NULL;
  case TG_LINE_TENSOR_TOTAL: return k->total;
  default: return k->result;
  }
}

int64_t tg_line_tensor_bytes(const emission *e, int number) {
  return tg_storage_bytes(tg_line_tensor(e, number)->storage);
}

/* ---- which block ---- */

/* Blocks of channels are counted up to whole rounds, so that those behind the last one have no channels. Rounds are loops of
 * levels 1 and 2, or, where drain tiles leave, 0 and 1. */
static void set_made_blocks(const emission *e, tg_agcu_instr *in, int number, uint32_t tile) {
  const tg_params *m = e->b.m;
  const tg_line_tiling *t = e->t;
  int level = number == TG_LINE_TENSOR_RESULT || number == TG_LINE_TENSOR_TOTAL ? 0 : 1;
  int64_t channels = (int64_t)tg_line_channel_blocks(m, t) * tg_line_channel_rounds(m, t);
  uint32_t r = tile / m->cols, col = tile % m->cols;
  in->m_radix[2] = channels;
  in->m_first = tg_line_row_block(m, t, r, col) * channels + tg_line_channel_block(m, t, r, col);
  in->m_delta[1] = 0;
  in->m_delta[level] = tg_line_channel_blocks(m, t);
  in->m_delta[level + 1] = tg_line_row_blocks(m, t) * channels;
}

void tg_line_set_blocks(const emission *e, tg_agcu_instr *in, int number, uint32_t tile,
                        tg_line_digits elements) {
  const tg_line_tiling *t = e->t;
  int64_t bytes = tg_line_tensor_bytes(e, number);
  bool cut = t->blocks[1] > 1;
  in->base = e->entry[number];
  in->offset = e->residue[number];
  in->rows = 1;
  in->m_first = tile;
  in->m_delta[1] = tg_tiles(e->b.m);
  in->m_radix[0] = cut ? t->blocks[0] : e->k->windows->image->dims[0].size;
  in->m_radix[1] = cut ? t->blocks[1] : t->blocks[0];
  in->m_radix[2] = t->blocks[2];
  in->stride[0] = (cut ? elements.rows : elements.image) * bytes;
  in->stride[1] = (cut ? elements.columns : elements.rows) * bytes;
  in->stride[2] = elements.channels * bytes;
  in->stride[5] = bytes;
  if (cut) in->offset_delta[0] = elements.image * bytes;
  in->y_size = in->x_size = 1;
  if (e->k->product) set_made_blocks(e, in, number, tile);
}

void tg_line_set_steps(const emission *e, tg_agcu_instr *in, tg_line_digits y, tg_line_digits x) {
  bool cut = e->t->blocks[1] > 1;
  in->y_inc[0] = cut ? y.rows : 0;
  in->y_inc[1] = cut ? 0 : y.rows;
  in->x_inc[1] = cut ? x.columns : 0;
  in->x_inc[2] = x.channels;
  in->x_inc[5] = 1;
}

/* ---- loads ---- */

tg_instr *tg_line_push_load(const emission *e, tg_queue *queue, int convert, const tg_buffer *to,
                            int64_t mask) {
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_agcu_load);
  tg_agcu_instr *load = &in->agcu;
  load->convert = convert;
  tg_set_operand(&load->dst, to, false);
  load->dst_inner = 65535;
  load->dst_mask = mask;
  return in;
}

void tg_line_walk_rows(const emission *e, tg_agcu_instr *load, int number, int64_t rows, uint32_t tile) {
  int64_t channels = e->k->windows->image->dims[3].size, take = tg_line_take_of(e->b.m, e->t),
          bytes = tg_line_tensor_bytes(e, number);
  tg_line_set_blocks(e, load, number, tile, (tg_line_digits){.channels = take});
  load->k_radix[0] = 1;
  load->k_radix[1] = rows;
  load->k_radix[2] = take;
  load->stride[4] = channels * bytes;
  load->take = rows * take;
  load->x_inc[2] = take;
  load->x_inc[4] = channels;
  load->x_inc[5] = 1;
  load->x_size = rows * channels;
}

/* Positions of a window, of which neighbours may lie apart in the weights, or the other way round; what lies behind the last
 * channel is out of bounds. */
static void walk_positions(const emission *e, tg_agcu_instr *load) {
  const tg_windows *w = e->k->windows;
  int64_t bytes = tg_line_tensor_bytes(e, TG_LINE_TENSOR_WEIGHTS);
  for (int d = 0; d < 2; d++) {
    load->k_radix[d] = e->k->transposed ? e->k->transposed->positions[d] : w->taps[d];
    load->stride[3 + d] = w->weight_step[d] * bytes;
  }
  load->offset += w->weight_first * bytes;
  load->x_inc[4] = 0;
  load->x_size = w->image->dims[3].size;
}

tg_instr *tg_line_load_weights(const emission *e, tg_queue *queue, int number, uint32_t tile, int64_t mask) {
  const tg_windows *w = e->k->windows;
  const tg_params *m = e->b.m;
  uint32_t first = 0, flits = 0;
  int64_t rows = 0;
  int kind = 0;
  for (int i = TG_LINE_TENSOR_WEIGHTS; i <= number; i++) {
    if (!tg_line_tensor(e, i)) continue;
    first += flits;
    kind = i == TG_LINE_TENSOR_WEIGHTS ? e->k->weights_kind
           : i == TG_LINE_TENSOR_BIAS  ? e->k->bias_kind
                                       : e->k->product->bias_kind;
    rows = i == TG_LINE_TENSOR_WEIGHTS ? tg_line_weights_positions(e->k) : 1;
    flits = (uint32_t)rows * tg_line_position(m, e->t, kind);
  }
  tg_buffer to = tg_buffer_part(m, &e->channels[TG_LINE_WEIGHTS].ring, first, flits);
  tg_instr *in = tg_line_push_load(e, queue, tg_stream_convert(tg_line_tensor(e, number), kind), &to, mask);
  tg_line_walk_rows(e, &in->agcu, number, rows, tile);
  if (number == TG_LINE_TENSOR_WEIGHTS && !tg_windows_weights_follow(w)) walk_positions(e, &in->agcu);
  return in;
}
