#include "frontend/ops.h"

#include "frontend/dtype.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define TG_REQUIRED NAN
#define TG_UNSET    0

static const tg_attr_info attr_table[] = {
#define ONNX                                0
#define INTERNAL                            1
#define TG_ATTR_KEY(id, name, kind, origin) [TG_ATTR_##id] = {#name, TG_KIND_##kind, origin},
#include "frontend/attrs.def"
#undef TG_ATTR_KEY
#undef ONNX
#undef INTERNAL
};

/* All attributes of all operators in the order of ops.def: an operator's are neighbours. */
static const struct {
  tg_op op;
  tg_op_attr attr;
} attr_rows[] = {
#define TG_OP(id, name, fewest, most, outputs, flags, effect)
#define TG_OP_ATTR(id, key, initial) {TG_OP_##id, {TG_ATTR_##key, initial}},
#include "frontend/ops.def"
#undef TG_OP
#undef TG_OP_ATTR
};
enum { ATTR_ROWS = sizeof attr_rows / sizeof *attr_rows };

enum {
  ELEMENTWISE = TG_IS_ELEMENTWISE,
  UNARY = TG_IS_UNARY,
  BINARY = TG_IS_BINARY,
  GEMM = TG_IS_GEMM,
  MOVE = TG_IS_MOVE,
  POOL = TG_IS_POOL,
  WINDOW = TG_IS_WINDOW,
  COMMUTES = TG_IS_COMMUTES,
  DEVICE = TG_IS_DEVICE,
  INTERNAL = TG_IS_INTERNAL,
  COMPARE = TG_IS_COMPARE,
  LOGIC = TG_IS_LOGIC,
  REDUCE = TG_IS_REDUCE,
  GENERATES = TG_IS_GENERATES,
  BY_AXIS = TG_IS_BY_AXIS,
  RECURRENT = TG_IS_RECURRENT,
  EXPANDED = TG_IS_EXPANDED,
  TRAINING = TG_IS_TRAINING,
  MICROSOFT = TG_IS_MICROSOFT,
  CONTROL = TG_IS_CONTROL,
  PREVIEW = TG_IS_PREVIEW,
  SEQUENCE = TG_IS_SEQUENCE,
};

static tg_op_attr attr_list[ATTR_ROWS];
static tg_op_info op_table[] = {
#define TG_OP(id, name, fewest, most, outputs, flags, effect)                                                \
  [TG_OP_##id] = {#name, fewest, most, outputs, flags, effect, NULL, 0},
#define TG_OP_ATTR(id, key, initial)
#include "frontend/ops.def"
#undef TG_OP
#undef TG_OP_ATTR
};

/* Runs before main, so that the table is constant for every reader and thread. */
__attribute__((constructor)) static void link_attributes(void) {
  for (int i = 0; i < ATTR_ROWS; i++) {
    attr_list[i] = attr_rows[i].attr;
    tg_op_info *info = &op_table[attr_rows[i].op];
    if (!info->attr_count++) info->attrs = &attr_list[i];
  }
}

const tg_op_info *tg_op_get(tg_op op) { return &op_table[op]; }
const tg_attr_info *tg_attr_get(tg_attr_key key) { return &attr_table[key]; }

tg_op tg_op_from_name(const char *name) {
  int op = 0;
  while (op < TG_OP_COUNT && strcmp(op_table[op].name, name)) op++;
  return (tg_op)op;
}

tg_attr_key tg_attr_from_name(const char *name) {
  int key = 0;
  while (key < TG_ATTR_KEY_COUNT && strcmp(attr_table[key].name, name)) key++;
  return (tg_attr_key)key;
}

unsigned tg_op_deciding_operands(tg_op op) {
  enum { ALL_BUT_FIRST = ~1 };
  if (tg_op_is(op, TG_IS_REDUCE)) return ALL_BUT_FIRST;
  switch (op) {
  case TG_OP_RESHAPE:
  case TG_OP_EXPAND:
  case TG_OP_TILE:
  case TG_OP_SPLIT:
  case TG_OP_TRILU:
  case TG_OP_SLICE:
  case TG_OP_PAD:
  case TG_OP_RESIZE:
  case TG_OP_SQUEEZE:
  case TG_OP_UNSQUEEZE:
  case TG_OP_CLIP: return ALL_BUT_FIRST;
  case TG_OP_POW:
  case TG_OP_TOP_K:
  case TG_OP_ONE_HOT:
  case TG_OP_CUM_SUM:
  case TG_OP_CUM_PROD:
  case TG_OP_SPLIT_TO_SEQUENCE:
  case TG_OP_SEQUENCE_AT:
  case TG_OP_SEQUENCE_ERASE:
  case TG_OP_CENTER_CROP_PAD:
  case TG_OP_REVERSE_SEQUENCE: return 1 << 1;
  case TG_OP_BIT_CAST: return 1 << 0;
  case TG_OP_NON_ZERO:
  case TG_OP_UNIQUE:
  case TG_OP_NON_MAX_SUPPRESSION: return ~0u;
  case TG_OP_SEQUENCE_INSERT:
  case TG_OP_MAX_UNPOOL: return 1 << 2;
  case TG_OP_COL2IM: return 1 << 1 | 1 << 2;
  case TG_OP_GROUP_QUERY_ATTENTION: return 1 << 5 | 1 << 6;
  case TG_OP_COMPRESS:
  case TG_OP_AFFINE_GRID: return 1 << 1;
  case TG_OP_DROPOUT_MASK:
  case TG_OP_DFT: return 1 << 1 | 1 << 2;
  case TG_OP_STFT: return 1 << 1 | 1 << 3;
  case TG_OP_IF: return 1 << 0;
  case TG_OP_LOOP: return 1 << 0;
  case TG_OP_ATTENTION: return 1 << 6; /* how many of the keys count */
  case TG_OP_MEL_WEIGHT_MATRIX:
  case TG_OP_HANN_WINDOW:
  case TG_OP_HAMMING_WINDOW:
  case TG_OP_BLACKMAN_WINDOW:
  case TG_OP_CONSTANT_OF_SHAPE:
  case TG_OP_RANGE: return ~0u;
  default: return 0;
  }
}
