#include "mapper/rows/rows.h"

enum { NOT_AN_INDEX = 0x7FC00000 }; /* NaN */

tg_rows_tensor tg_rows_open(tg_build *b, const tg_dram_tensor *tensor) {
  tg_rows_tensor opened = {.tensor = tensor};
  opened.entry = tg_build_base(b, tensor, 0, &opened.residue);
  return opened;
}

static void open_walk(tg_agcu_instr *in, const tg_rows_tensor *t, int64_t rows, int64_t columns) {
  int64_t bytes = tg_storage_bytes(t->tensor->storage);
  in->base = t->entry;
  in->offset = t->residue;
  for (int d = 0; d < 3; d++) in->m_radix[d] = in->k_radix[d] = 1;
  in->m_radix[0] = rows;
  in->k_radix[2] = columns;
  in->stride[5] = bytes;
  in->y_size = in->x_size = 1;
  in->dst_inner = 65535;
}

void tg_rows_walk(tg_agcu_instr *in, const tg_rows_tensor *matrix, int64_t rows, int64_t columns) {
  open_walk(in, matrix, rows, columns);
  in->stride[0] = columns * (int64_t)tg_storage_bytes(matrix->tensor->storage);
}

void tg_rows_walk_indices(tg_agcu_instr *in, const tg_rows_tensor *indices, int64_t count, uint32_t take) {
  open_walk(in, indices, 1, count);
  in->rows = 1;
  in->take = take;
  in->fill = NOT_AN_INDEX;
  in->convert = TG_CVT_32;
}

void tg_rows_choose(tg_agcu_instr *in, const tg_rows_tensor *table, int64_t size, int64_t columns) {
  in->stride[0] = 0;
  in->index_size = size;
  in->index_stride = columns * (int64_t)tg_storage_bytes(table->tensor->storage);
}

int64_t tg_rows_widening(const tg_dram_tensor *tensor) { return tg_stream_convert(tensor, TG_STREAM_FP32); }

tg_instr *tg_rows_send(const tg_build *b, tg_queue *queue, tg_rows_way way, const tg_buffer *from,
                       const tg_buffer *to, uint32_t flits, const tg_channel *away) {
  tg_instr *in = tg_build_push(b, queue, TG_OP_tx_send);
  tg_tx_instr *tx = &in->tx;
  tx->dir = way.west ? TG_DIR_WEST : TG_DIR_NORTH;
  tx->flits = flits;
  tg_set_operand(&tx->src, from, false);
  tg_set_operand(&tx->dst, to, false);
  tx->src_inner = tx->dst_inner = 65535;
  tx->dst_mask = 1; /* position 0 */
  tx->dst_post = 1;
  tx->dst_sem = tg_channel_at_agcu(away, way.west, way.r, way.col);
  return in;
}
