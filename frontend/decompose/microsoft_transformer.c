/* What ONNX Runtime's optimizer fuses of transformers, in the domain com.microsoft: Attention with its projections,
 * MultiHeadAttention, EmbedLayerNormalization. */
#include "frontend/decompose/attention.h"

#include <inttypes.h>

static bool is_float(const tg_value *x) { return tg_dtype_is_float(x->dtype); }
static bool is_row(const tg_value *x, int64_t size) {
  return is_float(x) && x->rank == 1 && x->dims[0].size == size;
}

/* Sizes that masks are checked against. */
typedef struct scores {
  int64_t batch, queries, keys;
} scores;

/* Which keys count, as bools that broadcast to [batch, heads, queries, keys]: by how many (or from where to where), by a
 * flag of each key, or of each query and key; NULL: of no form that is known. */
static tg_value *kept(tg_build *b, tg_value *mask, const scores *s) {
  int64_t batch = s->batch, first = mask->rank ? mask->dims[0].size : 0;
  if (mask->rank == 1 && (first == batch || first == 2 * batch)) {
    tg_value *place = tg_build_positions(b, mask, s->keys, 3, 4);
    int64_t sizes[] = {batch, 1, 1, 1};
    tg_value *end = tg_build_reshape(b, tg_build_slice(b, mask, 0, 0, batch, 1), 4, sizes);
    tg_value *keep = tg_build_binary(b, TG_OP_LESS, place, end);
    if (first == batch) return keep;
    tg_value *start = tg_build_reshape(b, tg_build_slice(b, mask, 0, batch, first, 1), 4, sizes);
    return both(b, keep, tg_build_binary(b, TG_OP_GREATER_OR_EQUAL, place, start));
  }
  int64_t last = mask->rank ? mask->dims[mask->rank - 1].size : 0;
  if (first != batch) return NULL;
  if (mask->rank == 2 && last == s->keys) {
    mask = tg_build_reshape(b, mask, 4, (int64_t[]){batch, 1, 1, last});
  } else if (mask->rank == 3 && last == s->keys && mask->dims[1].size == s->queries) {
    mask = tg_build_insert(b, mask, 1);
  } else if (mask->rank == 4 && mask->dims[1].size == 1 && last >= s->keys && mask->dims[2].size == last) {
    mask = tg_build_slice(b, mask, 2, s->keys - s->queries, s->keys, 1);
    mask = tg_build_slice(b, mask, 3, 0, s->keys, 1);
  } else {
    return NULL;
  }
  return with(b, TG_OP_GREATER, mask, 0);
}

/* The node of Attention in terms of ONNX, and what masks add to its scores. */
typedef struct attention {
  tg_value *q, *k, *v, *past_key, *past_value;
  tg_value *mask, *bias; /* or NULL */
  int64_t heads;
  scores sizes;
} attention;

static tg_status attend(tg_build *b, const tg_node *node, const attention *a, tg_value **made,
                        tg_diag *diag) {
  tg_value *mask = a->bias;
  const scores *s = &a->sizes;
  bool causal = tg_attr_int(node, TG_ATTR_UNIDIRECTIONAL) != 0;
  int64_t before = a->past_key ? a->past_key->dims[2].size : 0;
  if (causal && s->queries > 1 && s->queries < s->keys - before)
    return tg_fail(diag, TG_INVALID,
                   "%" PRId64 " queries of %" PRId64 " keys have no order, which unidirectional needs",
                   s->queries, s->keys - before);
  bool dummy = a->mask && a->mask->rank == 2 && a->mask->dims[1].size == 1 && s->keys > 1;
  if (a->bias && (a->bias->rank != 4 || !is_float(a->bias)))
    return tg_fail(diag, TG_INVALID, "attention_bias does not have rank 4");
  if (a->mask && !dummy) {
    tg_value *keep = tg_dtype_is_integer(a->mask->dtype) ? kept(b, a->mask, s) : NULL;
    if (!keep)
      return tg_fail(diag, TG_INVALID, "the mask %s is not supported",
                     tg_value_type_text(a->mask, b->graph->arena));
    double filter = tg_attr_float(node, TG_ATTR_MASK_FILTER_VALUE);
    mask = tg_build_where(b, keep, tg_build_number(b, 0), tg_build_number(b, filter));
    if (a->bias) mask = add(b, mask, a->bias);
  }
  if (b->failed) return TG_OK;
  tg_value *operands[] = {a->q, a->k, a->v, mask, a->past_key, a->past_value};
  tg_node *onnx = tg_graph_add_node(b->graph, TG_OP_ATTENTION, b->name, operands, 6, b->before, -1);
  tg_attr_set_int(onnx, TG_ATTR_IS_CAUSAL,
                  causal && s->queries > 1); /* one query is the last: all keys are before it */
  tg_attr_set_int(onnx, TG_ATTR_Q_NUM_HEADS, a->heads);
  tg_attr_set_int(onnx, TG_ATTR_KV_NUM_HEADS, a->heads);
  double scale = tg_attr_float(node, TG_ATTR_SCALE); /* 0: not given */
  if (scale != 0) tg_attr_set_float(onnx, TG_ATTR_SCALE, scale);
  tg_attention_more more = {NULL, !a->bias};
  tg_status status = tg_compose_attention(b, onnx, more, made, diag);
  tg_graph_remove_node(b->graph, onnx);
  return status;
}

/* --- Attention: projections of one operand, attention of its own positions --- */

/* Widths of queries, keys and values among the columns of the weights. */
static tg_status read_widths(const tg_node *node, int64_t columns, int64_t widths[3], tg_diag *diag) {
  int count;
  const int64_t *given = tg_attr_ints(node, TG_ATTR_QKV_HIDDEN_SIZES, &count);
  int64_t heads = tg_attr_int(node, TG_ATTR_NUM_HEADS), sum = 0;
  bool fits = heads > 0 && (!count || count == 3);
  for (int i = 0; i < 3 && fits; i++) {
    widths[i] = count ? given[i] : columns / 3;
    fits = widths[i] > 0 && widths[i] <= columns && widths[i] % heads == 0;
    sum += widths[i];
  }
  if (fits && sum == columns && widths[0] == widths[1]) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%" PRId64 " columns of weights do not fit %" PRId64 " heads", columns,
                 heads);
}

/* Keys (0) or values (1) of past [2, batch, heads, positions, size]. */
static tg_value *past_of(tg_build *b, tg_value *past, int which) {
  return past ? tg_build_drop(b, tg_build_slice(b, past, 0, which, which + 1, 1), 0) : NULL;
}

tg_status tg_make_microsoft_attention(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1), *bias = tg_in(node, 2), *past = tg_in(node, 4), *part[3];
  int64_t widths[3], from = 0;
  if (!is_float(x) || x->rank != 3 || !tg_value_elements(x) || !is_float(w) || w->rank != 2 ||
      w->dims[0].size != x->dims[2].size || (bias && !is_row(bias, w->dims[1].size)))
    return tg_fail(diag, TG_INVALID, "its data, weights and bias do not fit");
  if (read_widths(node, w->dims[1].size, widths, diag)) return TG_INVALID;
  if (past && (past->rank != 5 || past->dims[0].size != 2 || !is_float(past) || widths[2] != widths[0]))
    return tg_fail(diag, TG_INVALID, "past does not fit");
  if (tg_in(node, 6)) return tg_fail(diag, TG_INVALID, "past_sequence_length is not supported");
  tg_value *y = tg_build_matmul(b, x, w);
  y = tg_build_cast(b, bias ? add(b, y, bias) : y, x->dtype);
  for (int i = 0; i < 3; from += widths[i++]) part[i] = tg_build_slice(b, y, 2, from, from + widths[i], 1);
  int64_t queries = x->dims[1].size, before = past ? past->dims[3].size : 0;
  attention a = {.q = part[0],
                 .k = part[1],
                 .v = part[2],
                 .past_key = past_of(b, past, 0),
                 .past_value = past_of(b, past, 1),
                 .mask = tg_in(node, 3),
                 .bias = tg_in(node, 5),
                 .heads = tg_attr_int(node, TG_ATTR_NUM_HEADS),
                 .sizes = {x->dims[0].size, queries, before + queries}};
  tg_value *made[4] = {NULL};
  if (b->failed) return TG_OK;
  if (attend(b, node, &a, made, diag)) return TG_INVALID;
  if (b->failed) return TG_OK;
  results[0] = made[0];
  if (widths[2] != widths[0]) return TG_OK; /* keys and values are no one tensor */
  tg_value *present[] = {tg_build_insert(b, made[1], 0), tg_build_insert(b, made[2], 0)};
  results[1] = tg_build_concat(b, present, 2, 0);
  return TG_OK;
}

/* --- MultiHeadAttention: projections are made --- */

/* Parts of a packed operand [batch, positions, heads, count, size], each as [batch, positions, heads * size]. */
static void unpack(tg_build *b, tg_value *packed, int count, tg_value **parts) {
  int64_t sizes[] = {packed->dims[0].size, packed->dims[1].size, packed->dims[2].size * packed->dims[4].size};
  for (int i = 0; i < count; i++)
    parts[i] = tg_build_reshape(b, tg_build_slice(b, packed, 3, i, i + 1, 1), 3, sizes);
}

/* Queries, keys and values, of rank 3, but for keys and values that come as heads. */
static tg_status read_parts(tg_build *b, const tg_node *node, int64_t heads, tg_value *part[3],
                            tg_diag *diag) {
  for (int i = 0; i < 3; i++) {
    part[i] = tg_in(node, i);
    if (part[i] && (!is_float(part[i]) || !tg_value_elements(part[i])))
      return tg_fail(diag, TG_INVALID, "input %d is empty or no float", i);
  }
  int packed = part[0]->rank == 5 ? 0 : part[1] && part[1]->rank == 5 ? 1 : -1;
  if (packed >= 0) {
    int count = 3 - packed;
    const tg_value *x = part[packed];
    if (part[2] || (!packed && part[1]) || x->dims[3].size != count || x->dims[2].size != heads)
      return tg_fail(diag, TG_INVALID, "its packed operand does not fit");
    unpack(b, part[packed], count, part + packed);
  }
  bool fits = heads > 0 && part[1] && part[2] && part[0]->rank == 3 && part[1]->rank == part[2]->rank &&
              (part[1]->rank == 3 || part[1]->rank == 4);
  return fits ? TG_OK : tg_fail(diag, TG_INVALID, "its queries, keys and values do not fit");
}

/* One bias for all three; keys that come as heads have theirs. */
static tg_status add_biases(tg_build *b, tg_value *bias, tg_value *part[3], tg_diag *diag) {
  int64_t ends[4] = {0};
  for (int i = 0; i < 3; i++)
    ends[i + 1] = ends[i] + (part[i]->rank == 3 ? part[i]->dims[2].size
                                                : part[i]->dims[1].size * part[i]->dims[3].size);
  if (!is_row(bias, ends[3])) return tg_fail(diag, TG_INVALID, "the bias does not fit");
  for (int i = 0; i < 3; i++)
    if (part[i]->rank == 3)
      part[i] = tg_build_cast(b, add(b, part[i], tg_build_slice(b, bias, 0, ends[i], ends[i + 1], 1)),
                              part[i]->dtype);
  return TG_OK;
}

static tg_value *as_heads(tg_build *b, tg_value *x, int64_t heads) {
  if (x->rank == 4) return x;
  int64_t sizes[] = {x->dims[0].size, x->dims[1].size, heads, x->dims[2].size / heads};
  return tg_build_transpose(b, tg_build_reshape(b, x, 4, sizes), (int64_t[]){0, 2, 1, 3});
}

tg_status tg_make_multi_head_attention(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  int64_t heads = tg_attr_int(node, TG_ATTR_NUM_HEADS);
  tg_value *part[3], *past = tg_in(node, 6);
  if (read_parts(b, node, heads, part, diag)) return TG_INVALID;
  if (b->failed) return TG_OK;
  for (int i = 8; i < node->input_count; i++)
    if (tg_in(node, i)) return tg_fail(diag, TG_INVALID, "operand %d (of shared caches) is not supported", i);
  if ((past != NULL) != (tg_in(node, 7) != NULL) || (past && past->rank != 4))
    return tg_fail(diag, TG_INVALID, "past_key and past_value do not fit");
  if (tg_in(node, 3) && add_biases(b, tg_in(node, 3), part, diag)) return TG_INVALID;
  if (b->failed) return TG_OK;
  bool as_caches = part[1]->rank == 4;
  for (int i = 0; i < 3; i++) {
    if (part[i]->rank == 3 && part[i]->dims[2].size % heads)
      return tg_fail(diag, TG_INVALID, "its operands do not fit %" PRId64 " heads", heads);
    if (as_caches) part[i] = as_heads(b, part[i], heads);
  }
  int d = as_caches ? 2 : 1;
  int64_t batch = part[0]->dims[0].size, queries = part[0]->dims[d].size;
  attention a = {.q = part[0],
                 .k = part[1],
                 .v = part[2],
                 .past_key = past,
                 .past_value = tg_in(node, 7),
                 .mask = tg_in(node, 4),
                 .bias = tg_in(node, 5),
                 .heads = heads,
                 .sizes = {batch, queries, part[1]->dims[d].size + (past ? past->dims[2].size : 0)}};
  tg_value *made[4] = {NULL};
  if (attend(b, node, &a, made, diag)) return TG_INVALID;
  if (b->failed) return TG_OK;
  for (int i = 0; i < 3; i++) results[i] = made[i];
  if (!as_caches) return TG_OK;
  int64_t joined[] = {batch, queries, made[0]->dims[1].size * made[0]->dims[3].size};
  results[0] = tg_build_reshape(b, tg_build_transpose(b, made[0], (int64_t[]){0, 2, 1, 3}), 3, joined);
  return TG_OK;
}

/* --- EmbedLayerNormalization --- */

static tg_status check_embedding(const tg_node *node, tg_diag *diag) {
  const tg_value *ids = tg_in(node, 0), *words = tg_in(node, 2), *places = tg_in(node, 3),
                 *mask = tg_in(node, 7);
  bool fits = ids->rank == 2 && tg_dtype_is_integer(ids->dtype) && words && words->rank == 2 && places;
  for (int i = 2; fits && i < 5; i++) {
    const tg_value *table = tg_in(node, i);
    if (table) fits = is_float(table) && table->rank == 2 && table->dims[1].size == words->dims[1].size;
  }
  for (int i = 5; fits && i < 7; i++) fits = tg_in(node, i) && is_row(tg_in(node, i), words->dims[1].size);
  if (fits && tg_in(node, 1))
    fits = tg_in(node, 4) && tg_dtype_is_integer(tg_in(node, 1)->dtype) &&
           tg_value_same_shape(ids, tg_in(node, 1));
  if (fits && mask) fits = tg_dtype_is_integer(mask->dtype) && tg_value_same_shape(ids, mask);
  const tg_value *at = tg_in(node, 8);
  if (fits && at)
    fits = tg_dtype_is_integer(at->dtype) && at->rank == 2 && at->dims[1].size == ids->dims[1].size &&
           (at->dims[0].size == 1 || at->dims[0].size == ids->dims[0].size);
  if (fits && !at) fits = places->dims[0].size >= ids->dims[1].size;
  return fits ? TG_OK : tg_fail(diag, TG_INVALID, "its indices and tables do not fit");
}

tg_status tg_make_embed_normalization(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  if (check_embedding(node, diag)) return TG_INVALID;
  tg_value *ids = tg_in(node, 0), *places = tg_in(node, 3), *mask = tg_in(node, 7), *at = tg_in(node, 8);
  tg_dtype dtype = tg_in(node, 2)->dtype;
  tg_value *sum = tg_build_binary(b, TG_OP_GATHER, tg_in(node, 2), ids);
  sum = add(b, sum,
            at ? tg_build_binary(b, TG_OP_GATHER, places, at)
               : tg_build_slice(b, places, 0, 0, ids->dims[1].size, 1));
  if (tg_in(node, 1)) sum = add(b, sum, tg_build_binary(b, TG_OP_GATHER, tg_in(node, 4), tg_in(node, 1)));
  tg_value *operands[] = {sum, f32(b, tg_in(node, 5)), f32(b, tg_in(node, 6))};
  tg_node *norm = tg_graph_add_node(b->graph, TG_OP_LAYER_NORMALIZATION, b->name, operands, 3, b->before, -1);
  tg_attr_set_float(norm, TG_ATTR_EPSILON, tg_attr_float(node, TG_ATTR_EPSILON));
  results[0] = tg_build_cast(b, tg_build_finish(b, norm), dtype);
  results[2] = tg_build_cast(b, sum, dtype);
  int64_t batch = ids->dims[0].size;
  results[1] = tg_build_made(b, TG_I32, 1, &batch); /* how many words of each sequence count */
  if (!mask) return TG_OK;
  tg_value *counts = tg_build_cast(b, with(b, TG_OP_EQUAL, mask, 1), TG_I32);
  results[1] = tg_build_reshape(b, tg_build_reduce(b, TG_OP_REDUCE_SUM, counts, 1u << 1), 1, &batch);
  return TG_OK;
}
