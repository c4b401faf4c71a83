/* Attention and rotary embeddings as products, masks and a softmax, which the mapper finds again where it can. */
#include "frontend/decompose/attention.h"

#include <inttypes.h>
#include <math.h>

typedef struct heads {
  int64_t batch, queries, keys; /* positions, past ones included */
  int64_t q_heads, kv_heads;
} heads;

/* [batch, positions, heads * size] to [batch, heads, positions, size]. */
static tg_value *split_heads(tg_build *b, tg_value *x, int64_t count) {
  if (x->rank == 4) return x;
  int64_t sizes[] = {x->dims[0].size, x->dims[1].size, count, x->dims[2].size / count};
  return tg_build_transpose(b, tg_build_reshape(b, x, 4, sizes), (int64_t[]){0, 2, 1, 3});
}

static tg_value *join_heads(tg_build *b, tg_value *x) {
  int64_t sizes[] = {x->dims[0].size, x->dims[2].size, x->dims[1].size * x->dims[3].size};
  return tg_build_reshape(b, tg_build_transpose(b, x, (int64_t[]){0, 2, 1, 3}), 3, sizes);
}

static tg_status check_operands(const tg_node *node, heads *h, tg_diag *diag) {
  const tg_value *q = tg_in(node, 0), *k = tg_in(node, 1), *v = tg_in(node, 2), *past = tg_in(node, 4);
  bool flat = q->rank == 3;
  if (q->rank != k->rank || q->rank != v->rank || (q->rank != 3 && q->rank != 4))
    return tg_fail(diag, TG_INVALID, "Q, K and V of ranks %d, %d and %d", q->rank, k->rank, v->rank);
  for (int i = 0; i < 3; i++)
    if (!tg_dtype_is_float(tg_in(node, i)->dtype) || !tg_value_elements(tg_in(node, i)))
      return tg_fail(diag, TG_INVALID, "input %d is empty or no float", i);
  h->batch = q->dims[0].size;
  h->queries = q->dims[flat ? 1 : 2].size;
  h->keys = k->dims[flat ? 1 : 2].size;
  h->q_heads = flat ? tg_attr_int(node, TG_ATTR_Q_NUM_HEADS) : q->dims[1].size;
  h->kv_heads = flat ? tg_attr_int(node, TG_ATTR_KV_NUM_HEADS) : k->dims[1].size;
  bool fits = h->q_heads > 0 && h->kv_heads > 0 && h->q_heads % h->kv_heads == 0 &&
              k->dims[0].size == h->batch && v->dims[0].size == h->batch &&
              v->dims[flat ? 1 : 2].size == h->keys;
  if (flat)
    fits = fits && q->dims[2].size % h->q_heads == 0 && k->dims[2].size % h->kv_heads == 0 &&
           v->dims[2].size % h->kv_heads == 0;
  else
    fits = fits && v->dims[1].size == h->kv_heads;
  if (!fits)
    return tg_fail(diag, TG_INVALID,
                   "Q, K and V do not fit %" PRId64 " heads of queries and %" PRId64 " of keys", h->q_heads,
                   h->kv_heads);
  if ((past != NULL) != (tg_in(node, 5) != NULL) || (past && (past->rank != 4 || tg_in(node, 5)->rank != 4)))
    return tg_fail(diag, TG_INVALID, "past_key and past_value do not fit");
  if (past) h->keys += past->dims[2].size;
  return TG_OK;
}

tg_value *tg_repeat_heads(tg_build *b, tg_value *x, int64_t times_each) {
  if (times_each == 1) return x;
  int64_t sizes[] = {x->dims[0].size, x->dims[1].size, times_each, x->dims[2].size, x->dims[3].size},
          joined[] = {sizes[0], sizes[1] * times_each, sizes[3], sizes[4]};
  return tg_build_reshape(b, tg_build_expand(b, tg_build_insert(b, x, 2), 5, sizes), 4, joined);
}

/* 0 where key j may be seen by query i of a batch, j <= i + offset, among the first `counted` keys and in its window; else
 * -infinity. [batch or 1, 1, queries, keys] `out_blind`: has a query no key? */
static tg_value *visible(tg_build *b, const tg_node *node, const heads *h, int64_t past,
                         const int64_t *counted, bool *out_blind) {
  bool causal = tg_attr_int(node, TG_ATTR_IS_CAUSAL) != 0;
  int64_t left = tg_attr_int(node, TG_ATTR_LEFT_WINDOW_SIZE),
          right = tg_attr_int(node, TG_ATTR_RIGHT_WINDOW_SIZE);
  int64_t batch = counted ? h->batch : 1, sizes[] = {batch, 1, h->queries, h->keys};
  tg_value *mask = tg_build_made(b, TG_F32, 4, sizes);
  if (b->failed) return mask;
  float *at = (float *)mask->data;
  for (int64_t n = 0; n < batch; n++)
    for (int64_t i = 0; i < h->queries; i++) {
      int64_t count = 0;
      for (int64_t j = 0; j < h->keys; j++) {
        int64_t place = i + (counted ? counted[n] - h->queries : past);
        bool seen = (!causal || j <= place) && (!counted || j < counted[n]) &&
                    (left < 0 || place - j <= left) && (right < 0 || j - place <= right);
        *at++ = seen ? 0 : -INFINITY;
        count += seen;
      }
      *out_blind |= !count;
    }
  return mask;
}

static tg_status add_mask(tg_build *b, const heads *h, tg_value *mask, tg_value **bias, tg_diag *diag) {
  int64_t missing = mask->rank ? h->keys - mask->dims[mask->rank - 1].size : -1, pads[2 * TG_MAX_RANK] = {0};
  if (mask->rank < 1 || mask->rank > 4 || missing < 0)
    return tg_fail(diag, TG_INVALID, "the mask %s does not fit", tg_value_type_text(mask, b->graph->arena));
  if (mask->dtype == TG_BOOL)
    mask = tg_build_where(b, mask, tg_build_number(b, 0), tg_build_number(b, -INFINITY));
  else if (!tg_dtype_is_float(mask->dtype))
    return tg_fail(diag, TG_INVALID, "the mask is neither bools nor floats");
  if (missing) {
    pads[2 * mask->rank - 1] = missing;
    tg_node *pad = tg_graph_add_node(b->graph, TG_OP_PAD, b->name, &mask, 1, b->before, -1);
    tg_attr_set_ints(b->graph, pad, TG_ATTR_PADS, pads, 2 * mask->rank);
    tg_attr_set_float(pad, TG_ATTR_VALUE, -INFINITY);
    mask = tg_build_finish(b, pad);
  }
  *bias = *bias ? add(b, *bias, mask) : mask;
  return TG_OK;
}

/* Rows of which nothing is seen are 0. */
static tg_value *softmax(tg_build *b, tg_value *x, bool blind, tg_value *sink) {
  tg_value *y;
  if (sink) { /* which every row sees */
    int64_t keys = x->dims[3].size, sizes[] = {x->dims[0].size, x->dims[1].size, x->dims[2].size, 1};
    tg_value *column = tg_build_reshape(b, f32(b, sink), 4, (int64_t[]){1, sizes[1], 1, 1});
    tg_value *parts[] = {f32(b, x), tg_build_expand(b, column, 4, sizes)};
    y = tg_build_unary(b, TG_OP_SOFTMAX, tg_build_concat(b, parts, 2, 3));
    return tg_build_slice(b, y, 3, 0, keys, 1);
  }
  if (blind) {
    tg_value *top = tg_build_reduce(b, TG_OP_REDUCE_MAX, x, 1u << (x->rank - 1));
    tg_value *none = with(b, TG_OP_EQUAL, top, -INFINITY);
    y = tg_build_unary(b, TG_OP_SOFTMAX, tg_build_where(b, none, tg_build_number(b, 0), x));
    return tg_build_where(b, none, tg_build_number(b, 0), y);
  }
  return tg_build_unary(b, TG_OP_SOFTMAX, x);
}

static tg_value *joined_past(tg_build *b, tg_value *past, tg_value *now) {
  return past ? tg_build_concat(b, (tg_value *[]){past, now}, 2, 2) : now;
}

tg_score_factors tg_attention_factors(double scale, int64_t size) {
  double by = scale > TG_NOT_GIVEN ? scale : 1 / sqrt((double)size), root = sqrt(fabs(by));
  return (tg_score_factors){copysign(root, by), root};
}

tg_status tg_make_attention(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  return tg_compose_attention(b, node, (tg_attention_more){NULL, false}, results, diag);
}

tg_status tg_compose_attention(tg_build *b, const tg_node *node, tg_attention_more more, tg_value **results,
                               tg_diag *diag) {
  enum { MOST_BATCH = 1024 };
  heads h = {0};
  tg_value *q = tg_in(node, 0), *k = tg_in(node, 1), *v = tg_in(node, 2), *bias = NULL;
  int64_t counted[MOST_BATCH], mode = tg_attr_int(node, TG_ATTR_QK_MODE),
                               precision = tg_attr_int(node, TG_ATTR_SOFTMAX_PRECISION);
  bool flat = q->rank == 3, causal = tg_attr_int(node, TG_ATTR_IS_CAUSAL) != 0;
  double scale = tg_attr_float(node, TG_ATTR_SCALE), softcap = tg_attr_float(node, TG_ATTR_SOFTCAP);
  if (check_operands(node, &h, diag)) return TG_INVALID;
  if (mode < 0 || mode > 3)
    return tg_fail(diag, TG_INVALID, "qk_matmul_output_mode = %" PRId64 " is not known", mode);
  if (precision && precision != 1 && precision != 10 && precision != 11 && precision != 16)
    return tg_fail(diag, TG_INVALID, "softmax_precision = %" PRId64 " is not supported", precision);
  if (softcap < 0) return tg_fail(diag, TG_INVALID, "a softcap below 0 is not supported");
  tg_value *count = tg_in(node, 6);
  if (count && (h.batch > MOST_BATCH || tg_compose_ints(count, MOST_BATCH, counted) != h.batch))
    return tg_fail(diag, TG_INVALID, "nonpad_kv_seqlen is not constant, one for each of the batch");
  if (tg_compose_bounded((double)h.queries * (double)h.keys * (count ? (double)h.batch : 1), diag))
    return TG_INVALID;
  q = split_heads(b, q, h.q_heads);
  k = joined_past(b, tg_in(node, 4), split_heads(b, k, h.kv_heads));
  v = joined_past(b, tg_in(node, 5), split_heads(b, v, h.kv_heads));
  results[1] = k;
  results[2] = v;
  int64_t past = tg_in(node, 4) ? tg_in(node, 4)->dims[2].size : 0;
  bool windowed =
      tg_attr_int(node, TG_ATTR_LEFT_WINDOW_SIZE) >= 0 || tg_attr_int(node, TG_ATTR_RIGHT_WINDOW_SIZE) >= 0;
  bool blind = tg_in(node, 3) && !more.finite_mask; /* who knows */
  if (causal || count || windowed) bias = visible(b, node, &h, past, count ? counted : NULL, &blind);
  if (tg_in(node, 3) && add_mask(b, &h, tg_in(node, 3), &bias, diag)) return TG_INVALID;
  tg_score_factors by = tg_attention_factors(scale, q->dims[3].size);
  k = tg_repeat_heads(b, k, h.q_heads / h.kv_heads);
  v = tg_repeat_heads(b, v, h.q_heads / h.kv_heads);
  tg_value *scores = tg_build_matmul(b, times(b, q, by.queries), tg_build_swap(b, times(b, k, by.keys)));
  tg_value *stages[4] = {scores};
  if (softcap > 0) scores = times(b, tg_build_unary(b, TG_OP_TANH, times(b, scores, 1 / softcap)), softcap);
  stages[1] = scores;
  if (bias) scores = add(b, scores, bias);
  stages[2] = scores;
  stages[3] = softmax(b, scores, blind, more.sink);
  results[3] = tg_build_cast(b, stages[mode], tg_in(node, 0)->dtype);
  tg_value *y = tg_build_matmul(b, stages[3], f32(b, v));
  y = tg_build_cast(b, y, tg_in(node, 0)->dtype);
  results[0] = flat ? join_heads(b, y) : y;
  return TG_OK;
}

/* --- RotaryEmbedding --- */

/* Rows of a cache by positions, or as they are: [batch, positions, 1, half]. */
static tg_value *cache_of(tg_build *b, tg_value *cache, tg_value *positions) {
  if (positions) cache = tg_build_binary(b, TG_OP_GATHER, cache, positions);
  return tg_build_insert(b, cache, 2);
}

tg_status tg_make_rotary_embedding(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *positions = tg_in(node, 3);
  int64_t count = tg_attr_int(node, TG_ATTR_NUM_HEADS), dim = tg_attr_int(node, TG_ATTR_ROTARY_DIM);
  if ((x->rank != 3 && x->rank != 4) || !tg_dtype_is_float(x->dtype) || !tg_value_elements(x))
    return tg_fail(diag, TG_INVALID, "data of rank %d are not supported", x->rank);
  if (x->rank == 3 && (count < 1 || x->dims[2].size % count))
    return tg_fail(diag, TG_INVALID, "num_heads = %" PRId64 " does not fit", count);
  tg_value *y =
      x->rank == 4
          ? tg_build_transpose(b, x, (int64_t[]){0, 2, 1, 3})
          : tg_build_reshape(b, x, 4,
                             (int64_t[]){x->dims[0].size, x->dims[1].size, count, x->dims[2].size / count});
  int64_t size = y->dims[3].size;
  if (!dim) dim = size;
  if (dim < 2 || dim > size || dim % 2)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " of %" PRId64 " elements", dim, size);
  for (int i = 1; i < 3; i++) {
    const tg_value *cache = tg_in(node, i);
    int rank = positions ? 2 : 3;
    bool fits =
        cache->rank == rank && cache->dims[rank - 1].size == dim / 2 && tg_dtype_is_float(cache->dtype);
    for (int d = 0; fits && !positions && d < 2; d++) fits = cache->dims[d].size == y->dims[d].size;
    if (!fits) return tg_fail(diag, TG_INVALID, "input %d does not fit", i);
  }
  if (positions && (positions->rank != 2 || positions->dims[0].size != y->dims[0].size ||
                    positions->dims[1].size != y->dims[1].size || !tg_dtype_is_integer(positions->dtype)))
    return tg_fail(diag, TG_INVALID, "position_ids do not fit");
  tg_value *cosine = cache_of(b, tg_in(node, 1), positions), *sine = cache_of(b, tg_in(node, 2), positions);
  bool interleaved = tg_attr_int(node, TG_ATTR_INTERLEAVED) != 0;
  tg_value *turned = dim < size ? tg_build_slice(b, y, 3, 0, dim, 1) : y, *half[2], *out[2];
  for (int i = 0; i < 2; i++)
    half[i] = interleaved ? tg_build_slice(b, turned, 3, i, dim, 2)
                          : tg_build_slice(b, turned, 3, i * dim / 2, (i + 1) * dim / 2, 1);
  out[0] = sub(b, mul(b, cosine, half[0]), mul(b, sine, half[1]));
  out[1] = add(b, mul(b, sine, half[0]), mul(b, cosine, half[1]));
  int64_t whole[] = {y->dims[0].size, y->dims[1].size, y->dims[2].size, dim};
  for (int i = 0; i < 2 && interleaved; i++) out[i] = tg_build_insert(b, out[i], 4);
  turned = tg_build_reshape(b, tg_build_concat(b, out, 2, interleaved ? 4 : 3), 4, whole);
  turned = tg_build_cast(b, turned, x->dtype);
  if (dim < size)
    turned = tg_build_concat(b, (tg_value *[]){turned, tg_build_slice(b, y, 3, dim, size, 1)}, 2, 3);
  results[0] = x->rank == 4 ? tg_build_transpose(b, turned, (int64_t[]){0, 2, 1, 3})
                            : tg_build_reshape_like(b, turned, x);
  return TG_OK;
}
