/* Attention and products of quantized weights in the domain com.microsoft, as decoders of ONNX Runtime's tools have them. */
#include "frontend/base/math.h"
#include "frontend/decompose/attention.h"
#include "frontend/decompose/quantize.h"

#include <inttypes.h>
#include <math.h>

/* --- MatMulNBits --- */

/* Operands B [N, blocks, bytes], scales and zero points as the weights [K, N] that they stand for; K in blocks. */
typedef struct quantized {
  int64_t k, n, blocks, block;
  int bits;
  const tg_value *groups; /* or NULL: a block each */
} quantized;

/* g_idx: which scale and zero point each row of the weights has, in any order. */
static tg_status read_groups(quantized *q, const tg_value *groups, tg_diag *diag) {
  q->groups = groups;
  if (!groups) return TG_OK;
  int64_t count = tg_is_constant(groups) && groups->dtype == TG_I32 ? tg_value_elements(groups) : 0;
  if (count != q->k && count != q->blocks * q->block)
    return tg_fail(diag, TG_INVALID, "g_idx is not constant, one for each row of the weights");
  for (int64_t i = 0; i < count; i++) {
    int64_t group = tg_load_i64(groups->data, TG_I32, (size_t)i);
    if (group < 0 || group >= q->blocks)
      return tg_fail(diag, TG_INVALID, "g_idx has group %" PRId64 " of %" PRId64, group, q->blocks);
  }
  return TG_OK;
}

static int64_t group_of(const quantized *q, int64_t k) {
  return q->groups ? tg_load_i64(q->groups->data, TG_I32, (size_t)k) : k / q->block;
}

static tg_status read_quantized(const tg_node *node, quantized *q, tg_diag *diag) {
  const tg_value *w = tg_in(node, 1), *scales = tg_in(node, 2), *zeros = tg_in(node, 3);
  int64_t bits = tg_attr_int(node, TG_ATTR_BITS);
  *q = (quantized){tg_attr_int(node, TG_ATTR_K_SIZE),
                   tg_attr_int(node, TG_ATTR_N_SIZE),
                   0,
                   tg_attr_int(node, TG_ATTR_BLOCK_SIZE),
                   (int)bits,
                   NULL};
  if ((bits != 2 && bits != 4 && bits != 8) || q->k < 1 || q->n < 1 || q->block < 16 || q->block > 1 << 20 ||
      q->k > 1 << 24 || q->n > 1 << 24)
    return tg_fail(diag, TG_INVALID, "weights of %" PRId64 " bits in blocks of %" PRId64 " are not supported",
                   bits, q->block);
  q->blocks = tg_div_up(q->k, q->block);
  if (tg_in(node, 4) && zeros) /* which ONNX Runtime leaves out then */
    return tg_fail(diag, TG_INVALID, "g_idx beside zero points is not supported");
  if (read_groups(q, tg_in(node, 4), diag)) return TG_INVALID;
  bool fits = tg_is_constant(w) && tg_is_constant(scales) && w->dtype == TG_U8 &&
              tg_dtype_is_float(scales->dtype) &&
              tg_value_elements(w) == q->n * q->blocks * (q->block * bits / 8) &&
              tg_value_elements(scales) == q->n * q->blocks;
  if (!fits) return tg_fail(diag, TG_INVALID, "its weights or scales are not constant, or do not fit");
  if (!zeros) return TG_OK;
  int64_t wanted = zeros->dtype == TG_U8 ? q->n * ((q->blocks * bits + 7) / 8) : q->n * q->blocks;
  fits = tg_is_constant(zeros) && (zeros->dtype == TG_U8 || tg_dtype_is_float(zeros->dtype));
  if (fits && tg_value_elements(zeros) == wanted) return TG_OK;
  return tg_fail(diag, TG_INVALID, "its zero points are not constant, or do not fit");
}

static float zero_point(const quantized *q, const tg_value *zeros, int64_t row, int64_t block) {
  if (!zeros) return (float)(1 << (q->bits - 1));
  if (zeros->dtype != TG_U8) return tg_load_f32(zeros->data, zeros->dtype, (size_t)(row * q->blocks + block));
  const uint8_t *bytes = zeros->data;
  return (float)tg_unpacked(bytes + row * ((q->blocks * q->bits + 7) / 8), block, q->bits);
}

tg_status tg_make_matmul_bits(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *bias = tg_in(node, 5);
  const tg_value *scales = tg_in(node, 2);
  quantized q;
  if (read_quantized(node, &q, diag)) return TG_INVALID;
  if (!tg_dtype_is_float(x->dtype) || !x->rank || x->dims[x->rank - 1].size != q.k)
    return tg_fail(diag, TG_INVALID, "its data does not have %" PRId64 " columns of floats", q.k);
  if (tg_compose_bounded((double)q.k * (double)q.n, diag)) return TG_INVALID;
  int64_t sizes[] = {q.k, q.n}, bytes = q.block * q.bits / 8;
  tg_value *weights = tg_build_made(b, x->dtype, 2, sizes);
  if (b->failed) return TG_OK;
  for (int64_t row = 0; row < q.n; row++)
    for (int64_t k = 0; k < q.k; k++) {
      int64_t group = group_of(&q, k);
      const uint8_t *at = (const uint8_t *)tg_in(node, 1)->data + (row * q.blocks + k / q.block) * bytes;
      float code = (float)tg_unpacked(at, k % q.block, q.bits),
            scale = tg_load_f32(scales->data, scales->dtype, (size_t)(row * q.blocks + group));
      tg_store_f32((void *)weights->data, x->dtype, (size_t)(k * q.n + row),
                   (code - zero_point(&q, tg_in(node, 3), row, group)) * scale);
    }
  weights->initializer = true;
  tg_value *y = tg_build_matmul(b, x, weights);
  results[0] = tg_build_cast(b, bias ? add(b, y, bias) : y, x->dtype);
  return TG_OK;
}

/* --- RotaryEmbedding --- */

/* As ONNX has it: operands x, cosines, sines, positions (or NULL). */
static tg_status rotated(tg_build *b, tg_value *const operands[4], int64_t heads, int64_t dim,
                         bool interleaved, tg_value **out, tg_diag *diag) {
  tg_node *onnx = tg_graph_add_node(b->graph, TG_OP_ROTARY_EMBEDDING, b->name, operands, operands[3] ? 4 : 3,
                                    b->before, -1);
  tg_attr_set_int(onnx, TG_ATTR_NUM_HEADS, heads);
  tg_attr_set_int(onnx, TG_ATTR_ROTARY_DIM, dim);
  tg_attr_set_int(onnx, TG_ATTR_INTERLEAVED, interleaved);
  tg_status status = tg_make_rotary_embedding(b, onnx, out, diag);
  tg_graph_remove_node(b->graph, onnx);
  return status;
}

tg_status tg_make_microsoft_rotary(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *at = tg_in(node, 1), *cosines = tg_in(node, 2), *sines = tg_in(node, 3);
  int64_t heads = tg_attr_int(node, TG_ATTR_NUM_HEADS), dim = tg_attr_int(node, TG_ATTR_ROTARY_DIM);
  if ((x->rank != 3 && x->rank != 4) || cosines->rank != 2 || sines->rank != 2 ||
      !tg_value_elements(cosines) || !tg_dtype_is_integer(at->dtype))
    return tg_fail(diag, TG_INVALID, "its operands do not fit");
  if (x->rank == 3 && !heads) heads = x->dims[2].size / (2 * cosines->dims[1].size);
  int64_t sizes[] = {x->dims[0].size, x->dims[x->rank - 2].size};
  if (tg_value_elements(at) == 1) { /* of the first */
    tg_value *first = tg_build_reshape(b, at, 0, NULL);
    at = tg_build_expand(b, add(b, tg_build_positions(b, at, sizes[1], 1, 2), first), 2, sizes);
  }
  tg_value *operands[] = {x, cosines, sines, at};
  return rotated(b, operands, heads, dim, tg_attr_int(node, TG_ATTR_INTERLEAVED) != 0, results, diag);
}

/* --- GroupQueryAttention --- */

/* seqlens_k and total_sequence_length must say what the shapes do: every sequence is as long as all. */
static tg_status check_lengths(const tg_node *node, int64_t batch, int64_t keys, tg_diag *diag) {
  enum { MOST = 1024 };
  int64_t last[MOST], total;
  if (!tg_in(node, 5) || tg_compose_ints(tg_in(node, 5), MOST, last) != batch)
    return tg_fail(diag, TG_INVALID, "seqlens_k is not constant, one for each of the batch");
  if (tg_in(node, 6) && (tg_compose_ints(tg_in(node, 6), 1, &total) != 1 || total != keys))
    return tg_fail(diag, TG_INVALID, "total_sequence_length is not constant, or not %" PRId64, keys);
  for (int64_t i = 0; i < batch; i++)
    if (last[i] + 1 != keys)
      return tg_fail(diag, TG_INVALID,
                     "sequence %" PRId64 " has %" PRId64 " keys, only %" PRId64 " are supported", i,
                     last[i] + 1, keys);
  return TG_OK;
}

/* Rows [first, first + count) of a cache, for each of the batch. */
static tg_value *rows_of(tg_build *b, tg_value *cache, int64_t batch, int64_t first, int64_t count) {
  int64_t sizes[] = {batch, count, cache->dims[1].size};
  return tg_build_expand(b, tg_build_slice(b, cache, 0, first, first + count, 1), 3, sizes);
}

/* As ONNX Runtime reads position_ids: without a past the first of all says where every sequence starts, else each is as it
 * stands. */
static tg_value *positions(tg_build *b, tg_value *at, bool first_prompt, int64_t batch, int64_t queries) {
  int64_t sizes[] = {batch, queries}, all = batch * queries;
  if (!at || !first_prompt) return at;
  tg_value *first = tg_build_slice(b, tg_build_reshape(b, at, 1, &all), 0, 0, 1, 1);
  return tg_build_expand(b, add(b, tg_build_positions(b, at, queries, 1, 2), first), 2, sizes);
}

/* GroupQueryAttention is ONNX's Attention behind two steps of its own: queries, keys and values that come packed
 * in one operand are cut apart, and positions rotate queries and keys, by the rows of the caches from `past` on or by position_ids.
 * What is left, the causal mask, the window, a softcap, sinks, and the keys and values that the past has, are attributes and operands of
 * Attention, so a node of that is made, composed, and removed again. */
tg_status tg_make_group_query(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *part[] = {tg_in(node, 0), tg_in(node, 1), tg_in(node, 2)};
  int64_t heads[] = {tg_attr_int(node, TG_ATTR_NUM_HEADS), tg_attr_int(node, TG_ATTR_KV_NUM_HEADS)},
          window = tg_attr_int(node, TG_ATTR_LOCAL_WINDOW_SIZE);
  const tg_value *past = tg_in(node, 3), *x = part[0];
  if (x->rank != 3 || heads[0] < 1 || heads[1] < 1 || heads[0] % heads[1] ||
      (part[1] != NULL) != (part[2] != NULL) || (part[1] && (part[1]->rank != 3 || part[2]->rank != 3)) ||
      (past && past->rank != 4))
    return tg_fail(diag, TG_INVALID, "its operands do not fit");
  if (!part[1]) { /* all in one */
    int64_t all = heads[0] + 2 * heads[1], size = x->dims[2].size / all;
    if (x->dims[2].size % all) return tg_fail(diag, TG_INVALID, "its packed operand does not fit");
    int64_t ends[] = {0, heads[0] * size, (heads[0] + heads[1]) * size, all * size};
    tg_value *packed = part[0];
    for (int i = 0; i < 3; i++) part[i] = tg_build_slice(b, packed, 2, ends[i], ends[i + 1], 1);
    if (b->failed) return TG_OK;
  }
  int64_t batch = x->dims[0].size, queries = x->dims[1].size, before = past ? past->dims[2].size : 0;
  if (part[1]->dims[1].size != queries) return tg_fail(diag, TG_INVALID, "queries and keys differ in number");
  if (check_lengths(node, batch, before + queries, diag)) return TG_INVALID;
  const tg_value *ids = tg_in(node, 9);
  if (ids && (ids->rank != 2 || ids->dims[0].size != batch || ids->dims[1].size != queries ||
              !tg_dtype_is_integer(ids->dtype)))
    return tg_fail(diag, TG_INVALID, "position_ids do not fit");
  for (int i = 0; i < 2 && tg_attr_int(node, TG_ATTR_DO_ROTARY); i++) {
    tg_value *cosines = tg_in(node, 7), *sines = tg_in(node, 8);
    if (!cosines || !sines || cosines->rank != 2 || sines->rank != 2 ||
        cosines->dims[0].size < before + queries || !tg_value_same_shape(cosines, sines))
      return tg_fail(diag, TG_INVALID, "its caches of cosines and sines do not fit");
    tg_value *at = positions(b, tg_in(node, 9), !before, batch, queries);
    tg_value *operands[] = {part[i], at ? cosines : rows_of(b, cosines, batch, before, queries),
                            at ? sines : rows_of(b, sines, batch, before, queries), at};
    if (b->failed) return TG_OK;
    if (rotated(b, operands, heads[i], 2 * cosines->dims[1].size,
                tg_attr_int(node, TG_ATTR_ROTARY_INTERLEAVED) != 0, &part[i], diag))
      return TG_INVALID;
  }
  for (int i = 12; i < node->input_count; i++)
    if (tg_in(node, i)) return tg_fail(diag, TG_INVALID, "operand %d (k_scale, v_scale) is not supported", i);
  tg_attention_more more = {tg_in(node, 11), false};
  if (more.sink &&
      (more.sink->rank != 1 || more.sink->dims[0].size != heads[0] || !tg_dtype_is_float(more.sink->dtype)))
    return tg_fail(diag, TG_INVALID, "head_sink is not one number for each head");
  if (!more.sink && tg_attr_int(node, TG_ATTR_SMOOTH_SOFTMAX) > 0)
    more.sink = tg_build_made(b, TG_F32, 1, heads);
  tg_value *operands[] = {part[0], part[1], part[2], tg_in(node, 10), tg_in(node, 3), tg_in(node, 4)};
  tg_node *onnx = tg_graph_add_node(b->graph, TG_OP_ATTENTION, b->name, operands, 6, b->before, -1);
  tg_attr_set_int(onnx, TG_ATTR_IS_CAUSAL, 1);
  tg_attr_set_int(onnx, TG_ATTR_Q_NUM_HEADS, heads[0]);
  tg_attr_set_int(onnx, TG_ATTR_KV_NUM_HEADS, heads[1]);
  tg_attr_set_int(onnx, TG_ATTR_LEFT_WINDOW_SIZE, window > 0 ? window - 1 : -1);
  double scale = tg_attr_float(node, TG_ATTR_SCALE); /* 0: not given */
  if (scale != 0) tg_attr_set_float(onnx, TG_ATTR_SCALE, scale);
  tg_attr_set_float(onnx, TG_ATTR_SOFTCAP, tg_attr_float(node, TG_ATTR_SOFTCAP));
  tg_value *made[4] = {NULL};
  tg_status status = tg_compose_attention(b, onnx, more, made, diag);
  tg_graph_remove_node(b->graph, onnx);
  for (int i = 0; i < 3; i++) results[i] = made[i];
  return status;
}
