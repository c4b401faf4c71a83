/* Operators on quantized tensors of the domain com.microsoft, as ONNX Runtime's quantization tools write them. */
#include "frontend/base/math.h"
#include "frontend/decompose/quantize.h"

#include <inttypes.h>

/* A scale or a zero point: one for all of x, or one for each position of its last dimension. */
static tg_status check_beside(const tg_node *node, int first, int last, const tg_value *x, bool columns,
                              tg_diag *diag) {
  for (int i = first; i <= last; i++) {
    const tg_value *value = tg_in(node, i);
    if (!value) continue;
    bool one = value->rank <= 1 && tg_value_elements(value) == 1,
         each = columns && value->rank == 1 && x->rank && value->dims[0].size == x->dims[x->rank - 1].size;
    if (!one && !each)
      return tg_fail(diag, TG_INVALID, "its operand %d is no scale or zero point of one number", i);
  }
  return TG_OK;
}

static tg_value *single(tg_build *b, tg_value *x) {
  return tg_value_elements(x) == 1 ? tg_build_reshape(b, x, 0, NULL) : x;
}

/* (x - zero) scale, of operands i, i + 1, i + 2 of the node: NULL where they do not fit. */
static tg_value *dequantized(tg_build *b, const tg_node *node, int i, tg_diag *diag) {
  tg_value *x = tg_in(node, i), *scale = tg_in(node, i + 1), *zero = tg_in(node, i + 2);
  if (!x || !scale || !tg_dtype_is_integer(x->dtype) || tg_dtype_size(x->dtype) != 1 ||
      !tg_dtype_is_float(scale->dtype) || (zero && zero->dtype != x->dtype)) {
    tg_fail(diag, TG_INVALID, "its operands %d to %d are no tensor of 8 bits, scale and zero point", i,
            i + 2);
    return NULL;
  }
  if (check_beside(node, i + 1, i + 2, x, false, diag)) return NULL;
  tg_value *y = f32(b, x);
  if (zero) y = sub(b, y, f32(b, single(b, zero)));
  return mul(b, y, f32(b, single(b, scale)));
}

/* x by scale and zero point in operands i and i + 1. */
static tg_status requantized(tg_build *b, const tg_node *node, tg_value *x, int i, tg_dtype dtype,
                             tg_value **out, tg_diag *diag) {
  tg_value *scale = tg_in(node, i), *zero = tg_in(node, i + 1);
  if (!scale || !tg_dtype_is_float(scale->dtype) || (zero && zero->dtype != dtype))
    return tg_fail(diag, TG_INVALID, "its operands %d and %d are no scale and zero point of its result", i,
                   i + 1);
  if (check_beside(node, i, i + 1, x, false, diag)) return TG_INVALID;
  *out = tg_quantized(b, tg_exact_quotient(b, x, f32(b, single(b, scale))), zero ? single(b, zero) : NULL,
                      dtype);
  return TG_OK;
}

tg_status tg_make_qlinear_binary(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = dequantized(b, node, 0, diag), *y = x ? dequantized(b, node, 3, diag) : NULL;
  if (!y) return TG_INVALID;
  x = tg_build_binary(b, node->op == TG_OP_Q_LINEAR_ADD ? TG_OP_ADD : TG_OP_MUL, x, y);
  if (b->failed) return TG_OK;
  return requantized(b, node, x, 6, tg_in(node, 0)->dtype, results, diag);
}

tg_status tg_make_qlinear_where(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = dequantized(b, node, 1, diag), *y = x ? dequantized(b, node, 4, diag) : NULL;
  if (!y) return TG_INVALID;
  if (tg_in(node, 0)->dtype != TG_BOOL) return tg_fail(diag, TG_INVALID, "its condition is no bool");
  x = tg_build_where(b, tg_in(node, 0), x, y);
  if (b->failed) return TG_OK;
  return requantized(b, node, x, 7, tg_in(node, 1)->dtype, results, diag);
}

tg_status tg_make_qlinear_unary(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = dequantized(b, node, 0, diag);
  if (!x) return TG_INVALID;
  if (node->op == TG_OP_Q_LINEAR_SIGMOID) {
    x = tg_build_unary(b, TG_OP_SIGMOID, x);
  } else {
    double alpha = tg_attr_float(node, TG_ATTR_ALPHA);
    x = tg_build_where(b, with(b, TG_OP_LESS, x, 0), times(b, x, alpha), x);
  }
  return requantized(b, node, x, 3, tg_in(node, 0)->dtype, results, diag);
}

/* Before opset 13 a Softmax is of all dimensions from its axis on. */
tg_status tg_make_qlinear_softmax(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  tg_value *numbers = dequantized(b, node, 0, diag);
  int axis;
  if (!numbers || tg_compose_axis(node, x->rank, &axis, diag)) return TG_INVALID;
  if (tg_attr_int(node, TG_ATTR_OPSET) < 13) {
    int64_t matrix[] = {tg_value_elements_between(x, 0, axis), tg_value_elements_between(x, axis, x->rank)};
    numbers = tg_build_reshape(b, numbers, 2, matrix);
    axis = 1;
  }
  tg_node *softmax = tg_graph_add_node(b->graph, TG_OP_SOFTMAX, b->name, &numbers, 1, b->before, -1);
  tg_attr_set_int(softmax, TG_ATTR_AXIS, axis);
  tg_value *y = tg_build_finish(b, softmax);
  return b->failed ? TG_OK : requantized(b, node, tg_build_reshape_like(b, y, x), 3, x->dtype, results, diag);
}

/* Of the numbers that the integers stand for, as ONNX Runtime pools them. */
tg_status tg_make_qlinear_pool(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  static const tg_attr_key lists[] = {TG_ATTR_KERNEL_SHAPE, TG_ATTR_STRIDES, TG_ATTR_PADS};
  tg_value *x = dequantized(b, node, 0, diag), *y;
  if (!x) return TG_INVALID;
  bool global = node->op == TG_OP_Q_LINEAR_GLOBAL_AVERAGE_POOL;
  tg_node *pool = tg_graph_add_node(b->graph, global ? TG_OP_GLOBAL_AVERAGE_POOL : TG_OP_AVERAGE_POOL,
                                    b->name, &x, 1, b->before, -1);
  for (int i = 0; !global && i < 3; i++) {
    int count;
    const int64_t *list = tg_attr_ints(node, lists[i], &count);
    if (count) tg_attr_set_ints(b->graph, pool, lists[i], list, count);
  }
  if (!global) {
    tg_attr_set_text(b->graph, pool, TG_ATTR_AUTO_PAD, tg_attr_text(node, TG_ATTR_AUTO_PAD));
    tg_attr_set_int(pool, TG_ATTR_CEIL_MODE, tg_attr_int(node, TG_ATTR_CEIL_MODE));
    tg_attr_set_int(pool, TG_ATTR_COUNT_INCLUDE_PAD, tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD));
  }
  y = tg_build_finish(b, pool);
  if (b->failed) return TG_OK;
  return requantized(b, node, y, 3, tg_in(node, 0)->dtype, results, diag);
}

/* Scale and zero point of the result, then three operands for each part. */
tg_status tg_make_qlinear_concat(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  int count = (node->input_count - 2) / 3, axis;
  tg_value *zero = tg_in(node, 1);
  if (count < 1 || 2 + 3 * count != node->input_count || !zero || !tg_in(node, 2))
    return tg_fail(diag, TG_INVALID, "its parts do not each have a scale and a zero point");
  tg_value **parts = TG_NEW_ARRAY(b->graph->arena, tg_value *, (size_t)count);
  if (tg_compose_axis(node, tg_in(node, 2)->rank, &axis, diag)) return TG_INVALID;
  for (int i = 0; i < count; i++) {
    tg_value *x = dequantized(b, node, 2 + 3 * i, diag);
    if (!x || requantized(b, node, x, 0, zero->dtype, &parts[i], diag)) return TG_INVALID;
  }
  results[0] = count > 1 ? tg_build_concat(b, parts, count, axis) : parts[0];
  return TG_OK;
}

/* A scale that the integers' product is multiplied with: of both operands. */
static tg_value *scaled(tg_build *b, tg_value *sum, tg_value *scale_x, tg_value *scale_w) {
  return mul(b, sum, mul(b, f32(b, single(b, scale_x)), f32(b, single(b, scale_w))));
}

static tg_status check_matrices(const tg_value *x, const tg_value *w, tg_diag *diag) {
  return x->rank && w->rank >= 2 ? TG_OK : tg_fail(diag, TG_INVALID, "an operand is no matrix");
}

/* A B scale_A scale_B [zero_A] [zero_B] [bias], in FP32; or A in FP32, quantized by its range. */
tg_status tg_make_matmul_integer_to_float(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  bool dynamic = node->op == TG_OP_DYNAMIC_QUANTIZE_MAT_MUL;
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1), *scale_x = tg_in(node, 2),
           *scale_w = tg_in(node, dynamic ? 2 : 3), *bias = tg_in(node, dynamic ? 4 : 6);
  tg_integer_pair p = {x, w, tg_in(node, 4), tg_in(node, dynamic ? 3 : 5)};
  if (check_matrices(x, w, diag) || check_beside(node, dynamic ? 2 : 3, 3, w, true, diag) ||
      (!dynamic && (check_beside(node, 2, 2, x, false, diag) || check_beside(node, 4, 4, x, false, diag) ||
                    check_beside(node, 5, 5, w, true, diag))))
    return TG_INVALID;
  if (dynamic) {
    if (x->dtype != TG_F32 || !tg_value_elements(x))
      return tg_fail(diag, TG_INVALID, "its data is empty or not FP32");
    tg_dynamic_range(b, x, &scale_x, &p.zero_x);
    p.x = tg_dynamically_quantized(b, x, scale_x, p.zero_x);
  }
  int parts;
  tg_value *sum = tg_integer_product(b, &p, &parts, diag);
  if (!sum) return TG_INVALID;
  tg_value *y = scaled(b, sum, scale_x, scale_w);
  results[0] = bias ? add(b, y, f32(b, bias)) : y;
  return TG_OK;
}

/* A scale zero B scale zero [C] [scale of Y] [zero of Y]: alpha op(A) op(B) + C, of integers in the scale of both. */
tg_status tg_make_qgemm(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 3), *c = tg_in(node, 6);
  if (x->rank != 2 || w->rank != 2) return tg_fail(diag, TG_INVALID, "an operand is no matrix");
  if (tg_attr_int(node, TG_ATTR_TRANS_A)) x = tg_build_swap(b, x);
  if (tg_attr_int(node, TG_ATTR_TRANS_B)) w = tg_build_swap(b, w);
  if (check_beside(node, 1, 2, x, false, diag) || check_beside(node, 4, 5, w, true, diag)) return TG_INVALID;
  tg_integer_pair p = {x, w, tg_in(node, 2), tg_in(node, 5)};
  int parts;
  tg_value *sum = tg_integer_product(b, &p, &parts, diag);
  if (!sum) return TG_INVALID;
  if (c && c->dtype != TG_I32) return tg_fail(diag, TG_INVALID, "C is not of 32 bits");
  if (c) sum = add(b, sum, f32(b, c));
  tg_value *y = times(b, scaled(b, sum, tg_in(node, 1), tg_in(node, 4)), tg_attr_float(node, TG_ATTR_ALPHA));
  if (b->failed) return TG_OK;
  if (tg_in(node, 7)) return requantized(b, node, y, 7, tg_in(node, 0)->dtype, results, diag);
  results[0] = y;
  return TG_OK;
}

/* --- GatherBlockQuantized --- */

/* Constants in blocks along `axis`, each with a scale and a zero point; those of uint8 are packed along their last
 * dimension, which is that axis. */
typedef struct blocked_table {
  const tg_value *data, *scales, *zeros;
  bool packed;
  int axis, bits;
  int64_t block, blocks, sizes[TG_MAX_RANK];
} blocked_table;

static bool has_sizes(const tg_value *x, int rank, const int64_t *sizes) {
  bool fits = x->rank == rank;
  for (int d = 0; fits && d < rank; d++) fits = x->dims[d].size == sizes[d];
  return fits;
}

static tg_status read_blocks(const tg_node *node, blocked_table *t, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *zeros = tg_in(node, 3);
  int64_t bits = tg_attr_int(node, TG_ATTR_BITS), axis = tg_attr_int(node, TG_ATTR_QUANTIZE_AXIS);
  *t = (blocked_table){.data = x,
                       .scales = tg_in(node, 2),
                       .zeros = zeros,
                       .packed = x->dtype == TG_U8,
                       .axis = (int)tg_min(tg_max(axis < 0 ? axis + x->rank : axis, -1), TG_MAX_RANK),
                       .bits = (int)bits,
                       .block = tg_attr_int(node, TG_ATTR_BLOCK_SIZE)};
  bool typed = x->dtype == TG_I4 || x->dtype == TG_U4;
  if (!(t->packed && (bits == 4 || bits == 8)) && !(typed && bits == 4))
    return tg_fail(diag, TG_INVALID, "data of %s with %" PRId64 " bits are not supported",
                   tg_dtype_name(x->dtype), bits);
  if (!tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "its data is empty");
  if (!x->rank || t->axis < 0 || t->axis >= x->rank || (t->packed && t->axis != x->rank - 1) ||
      t->block < 1 || t->block > 1 << 24)
    return tg_fail(diag, TG_INVALID, "blocks of %" PRId64 " along axis %" PRId64 " are not supported",
                   t->block, axis);
  int64_t beside[TG_MAX_RANK], packed[TG_MAX_RANK];
  tg_value_sizes(x, t->sizes);
  if (t->packed) t->sizes[t->axis] *= 8 / bits;
  for (int d = 0; d < x->rank; d++) beside[d] = packed[d] = t->sizes[d];
  beside[t->axis] = packed[t->axis] = t->blocks = tg_div_up(t->sizes[t->axis], t->block);
  if (t->packed) packed[t->axis] = tg_div_up(t->blocks * bits, 8);
  bool fits = tg_is_constant(x) && tg_is_constant(t->scales) && tg_dtype_is_float(t->scales->dtype) &&
              has_sizes(t->scales, x->rank, beside);
  if (zeros)
    fits = fits && tg_is_constant(zeros) && zeros->dtype == x->dtype && has_sizes(zeros, x->rank, packed);
  return fits ? TG_OK
              : tg_fail(diag, TG_INVALID, "its data, scales or zero points are not constant, or do not fit");
}

/* Number `along` of the axis in line `line` of `length` numbers each. */
static float code_of(const blocked_table *t, const tg_value *from, int64_t line, int64_t along, int64_t inner,
                     int64_t length) {
  if (!t->packed)
    return (float)tg_load_i64(from->data, from->dtype,
                              (size_t)((line / inner * length + along) * inner + line % inner));
  return (float)tg_unpacked((const uint8_t *)from->data + line * from->dims[t->axis].size, along, t->bits);
}

tg_status tg_make_gather_block_quantized(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  blocked_table t;
  int64_t axis = tg_attr_int(node, TG_ATTR_GATHER_AXIS), inner = 1, lines = 1;
  if (read_blocks(node, &t, diag)) return TG_INVALID;
  int rank = t.data->rank;
  if (axis < -rank || axis >= rank)
    return tg_fail(diag, TG_INVALID, "gather_axis %" PRId64 " is outside of rank %d", axis, rank);
  for (int d = 0; d < rank; d++) {
    if (d != t.axis) lines *= t.sizes[d];
    if (d > t.axis) inner *= t.sizes[d];
  }
  int64_t length = t.sizes[t.axis];
  if (tg_compose_bounded((double)lines * (double)length, diag)) return TG_INVALID;
  tg_value *table = tg_build_made(b, t.scales->dtype, rank, t.sizes);
  if (b->failed) return TG_OK;
  float none = t.packed ? (float)(1 << (t.bits - 1)) : 0;
  for (int64_t line = 0; line < lines; line++)
    for (int64_t i = 0; i < length; i++) {
      int64_t at = line / inner * inner, block = i / t.block, in = line % inner;
      float zero = t.zeros ? code_of(&t, t.zeros, line, block, inner, t.blocks) : none,
            scale =
                tg_load_f32(t.scales->data, t.scales->dtype, (size_t)(at * t.blocks + block * inner + in));
      tg_store_f32((void *)table->data, table->dtype, (size_t)(at * length + i * inner + in),
                   (code_of(&t, t.data, line, i, inner, length) - zero) * scale);
    }
  table->initializer = true;
  tg_value *operands[] = {table, tg_in(node, 1)};
  tg_node *gather = tg_graph_add_node(b->graph, TG_OP_GATHER, b->name, operands, 2, b->before, -1);
  tg_attr_set_int(gather, TG_ATTR_AXIS, axis);
  results[0] = tg_build_finish(b, gather);
  return TG_OK;
}
