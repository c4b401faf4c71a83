#include "mapper/kernel/operand.h"

#include "mapper/kernel/space.h"
#include "mapper/kernel/view.h"
#include "mapper/kernel/window.h"

/* The Cast that the AGCU does while loading, perhaps behind Reshapes, or NULL; not one whose result a kernel
 * stores. */
static tg_node *cast_before(const bool *stored, const tg_value *operand) {
  const tg_value *value = operand;
  while (value->producer && value->producer->op == TG_OP_RESHAPE) value = tg_in(value->producer, 0);
  tg_node *cast = value->producer;
  if (!tg_is_plain_cast(cast) || (stored && stored[value->index])) return NULL;
  tg_dtype from = tg_in(cast, 0)->dtype, to = operand->dtype;
  bool narrows = from == TG_F32 && (to == TG_BF16 || to == TG_F16 || to == TG_TF32),
       widens = (from == TG_BF16 || from == TG_F16) && (to == TG_F32 || to == TG_TF32);
  return narrows || widens ? cast : NULL;
}

/* The rows of all batches must be three digits at most: those of a walk. */
static bool few_digits(const tg_value *value, const int64_t *stride) {
  tg_space space = {.rank = value->rank - 1, .operands = 1};
  for (int d = 0; d < space.rank; d++) {
    space.dims[d] = value->dims[d].size;
    space.strides[0][d] = stride[d];
  }
  tg_space_merge(&space);
  return space.rank <= 3;
}

/* As it lies in memory, or what its Cast reads does. */
static tg_operand plain_operand(const tg_compile *c, const bool *stored, tg_value *value) {
  tg_node *cast = cast_before(stored, value);
  tg_operand operand = {.source = cast ? tg_in(cast, 0) : value, .cast = cast, .made = value};
  if (!tg_strides_as(c, operand.source, value, operand.stride) || !few_digits(value, operand.stride))
    operand.source = NULL;
  return operand;
}

static bool all_are(const int64_t *values, int count, int64_t wanted) {
  for (int i = 0; i < count; i++)
    if (values[i] != wanted) return false;
  return true;
}

bool tg_gemm_is_pointwise(const tg_node *node) {
  bool window = node->op == TG_OP_CONV || node->op == TG_OP_CONV_WEIGHT_GRADIENT ||
                node->op == TG_OP_CONV_INPUT_GRADIENT;
  return window && tg_attr_int(node, TG_ATTR_GROUP) == 1 &&
         all_are(tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL), 2, 1) &&
         all_are(tg_attr_ints(node, TG_ATTR_STRIDES, NULL), 2, 1) &&
         all_are(tg_attr_ints(node, TG_ATTR_PADS, NULL), 4, 0);
}

bool tg_lies_by_pixels(const tg_value *value, const int64_t *stride) {
  for (int d = 0; d < 2; d++)
    if (value->dims[d].size > 1 && stride[d] != stride[d + 1] * value->dims[d + 1].size) return false;
  return true;
}

tg_operand tg_resolve_operand(const tg_compile *c, const bool *stored, const tg_node *node, int input) {
  tg_value *value = tg_in(node, input);
  tg_operand plain = plain_operand(c, stored, value);
  const tg_node *transpose = value->producer;
  if (!tg_is_product_operand(node, input)) { /* scores are loaded as they are stored */
    tg_operand scores = {.source = value, .made = value};
    (void)tg_strides_as(c, value, value, scores.stride);
    return scores;
  }
  bool matrix = node->op == TG_OP_MATMUL || node->op == TG_OP_BLOCKED_ATTENTION ||
                (input == 0 && node->op != TG_OP_CONV_INPUT_GRADIENT && tg_gemm_is_pointwise(node));
  if (!matrix || value->rank < 2 || !transpose || transpose->op != TG_OP_TRANSPOSE) return plain;
  tg_operand before = plain_operand(c, stored, tg_in(transpose, 0)), moved = before;
  const int64_t *perm = tg_attr_ints(transpose, TG_ATTR_PERM, NULL);
  for (int d = 0; d < value->rank; d++) moved.stride[d] = before.stride[perm[d]];
  int64_t row = moved.stride[value->rank - 2], column = moved.stride[value->rank - 1];
  moved.transposed = column != 1;
  if ((moved.transposed && row != 1) || (!moved.transposed && value->dims[value->rank - 1].size == 1) ||
      !few_digits(value, moved.stride))
    return plain;
  bool image = node->op != TG_OP_MATMUL && node->op != TG_OP_BLOCKED_ATTENTION && !moved.transposed;
  return image && !tg_lies_by_pixels(value, moved.stride) ? plain : moved;
}

const tg_operand *tg_resolve_operands(const tg_compile *c, const tg_node *node) {
  if (!node || !tg_is_product_operand(node, 1)) return NULL;
  tg_operand *operands = TG_NEW_ARRAY(c->arena, tg_operand, 2);
  for (int i = 0; i < 2; i++) operands[i] = tg_resolve_operand(c, c->stored, node, i);
  return operands;
}

const tg_operand *tg_operands_behind(const tg_compile *c, const tg_operand *operands, const tg_node *cast) {
  tg_operand *behind = TG_NEW_ARRAY(c->arena, tg_operand, 2);
  for (int i = 0; i < 2; i++) {
    behind[i] = operands[i];
    if (behind[i].cast != cast) continue;
    behind[i].source = behind[i].made;
    behind[i].cast = NULL;
  }
  return behind;
}

bool tg_product_loads(const tg_compile *c, const tg_kernel *product, int first, const tg_value *value) {
  const tg_node *root = product->root;
  for (int i = first; i < root->input_count; i++) {
    tg_value *operand = i < 2 ? product->operands[i].source : tg_in(root, i);
    if (operand && tg_owner(c, operand) == value) return true;
  }
  return false;
}

bool tg_rounds_accumulation(const tg_compile *c, const tg_node *node) {
  const tg_attr *own = tg_attr_find(node, TG_ATTR_ACCUMULATION);
  return c->options.accum_bf16sr && (!own || own->i == TG_ACCUMULATE_AS_ASKED);
}

int64_t tg_gemm_phases(const tg_node *node) {
  if (node->op != TG_OP_CONV_INPUT_GRADIENT) return 1;
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  return tg_reach_phases(tg_out(node)->dims[1].size, strides[0]) *
         tg_reach_phases(tg_out(node)->dims[2].size, strides[1]);
}

int tg_operand_conversion(const tg_value *source, const tg_value *operand) {
  if (source->dtype == operand->dtype) return tg_value_bytes_each(operand) == 4 ? TG_CVT_32 : TG_CVT_16;
  if (tg_value_bytes_each(source) == 2) return source->dtype == TG_BF16 ? TG_CVT_BF16_FP32 : TG_CVT_FP16_FP32;
  return operand->dtype == TG_BF16  ? TG_CVT_FP32_BF16
         : operand->dtype == TG_F16 ? TG_CVT_FP32_FP16
                                    : TG_CVT_FP32_TF32;
}
