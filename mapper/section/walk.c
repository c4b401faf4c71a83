#include "mapper/section/walk.h"

#include <assert.h>

uint32_t tg_kind_flits(const tg_params *m, int kind, uint32_t elements) {
  uint32_t each = tg_stream_is_wide(kind) ? m->p : 2 * m->p;
  return (elements + each - 1) / each;
}

int tg_stream_convert(const tg_dram_tensor *tensor, int kind) {
  if (!tg_stream_is_wide(kind)) return TG_CVT_16;
  return tensor->storage == TG_STORE_BF16   ? TG_CVT_BF16_FP32
         : tensor->storage == TG_STORE_FP16 ? TG_CVT_FP16_FP32
                                            : TG_CVT_32;
}

void tg_fill_walk(tg_agcu_instr *in, const tg_walk_plan *walk, int entry, int64_t residue) {
  int64_t bytes = tg_storage_bytes(walk->tensor->storage);
  in->base = entry;
  in->offset = residue;
  for (int d = 0; d < 3; d++) {
    in->m_radix[d] = walk->radix[d];
    in->stride[d] = walk->stride[d] * bytes;
    in->k_radix[d] = 1;
  }
  in->k_radix[2] = walk->columns;
  in->stride[5] = walk->element_stride * bytes;
  if (walk->inner) {
    in->k_radix[1] = walk->columns / walk->inner;
    in->k_radix[2] = walk->inner;
    in->stride[4] = walk->outer * bytes;
  }
  in->y_size = 1;
  in->x_size = 1;
  if (walk->bounded) {
    static const int digit[] = {0, 1, 2, 5};
    for (int d = 0; d < 4; d++) {
      in->x_inc[digit[d]] = walk->x.step[d];
      in->y_inc[digit[d]] = walk->y.step[d];
    }
    in->x_org = walk->x.origin;
    in->y_org = walk->y.origin;
    in->x_size = walk->x.size;
    in->y_size = walk->y.size;
  }
  in->fill = walk->fill;
  if (walk->linear_size) { /* x is the position in the run */
    in->x_inc[2] = walk->columns;
    in->x_inc[5] = 1;
    in->x_size = walk->linear_size;
  }
}

void tg_space_walk_row(const tg_space *space, int operand, tg_walk_plan *walk) {
  int last = space->rank - 1;
  int64_t step = space->strides[operand][last];
  walk->columns = space->dims[last];
  walk->element_stride = step;
  if (!space->inner || space->outer[operand] == step * space->inner) return;
  walk->inner = space->inner;
  walk->outer = space->outer[operand];
}

void tg_space_walk(const tg_space *space, int operand, const tg_dram_tensor *tensor, int64_t offset,
                   int64_t column_block, tg_walk_plan *out_walk) {
  assert(space->rank <= 4);
  *out_walk = (tg_walk_plan){.tensor = tensor, .offset = offset, .radix = {1, 1, 1}};
  const int64_t *strides = space->strides[operand];
  if (space->rank == 1) {
    int64_t size = space->dims[0], columns = column_block < size ? column_block : size;
    out_walk->columns = columns;
    out_walk->element_stride = strides[0];
    out_walk->radix[2] = (size + columns - 1) / columns;
    out_walk->stride[2] = strides[0] * columns;
    out_walk->linear_size = size;
    return;
  }
  int last = space->rank - 1;
  tg_space_walk_row(space, operand, out_walk);
  for (int d = 0; d < last; d++) {
    out_walk->radix[3 - last + d] = space->dims[d];
    out_walk->stride[3 - last + d] = strides[d];
  }
}
