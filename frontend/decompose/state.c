/* Operators of decoders that carry a state from call to call: linear attention, causal convolutions, caches. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static tg_value *zeros(tg_build *b, tg_dtype dtype, int rank, const int64_t *sizes) {
  return tg_build_made(b, dtype, rank, sizes);
}

static bool has_sizes(const tg_value *x, int rank, const int64_t *sizes) {
  if (x->rank != rank) return false;
  for (int d = 0; d < rank; d++)
    if (x->dims[d].size != sizes[d]) return false;
  return true;
}

/* --- LinearAttention --- */

typedef struct linear {
  int64_t batch, steps, kv_heads, shared; /* heads of queries that read the state of one of keys */
  int64_t key, value;                     /* elements of a head */
  tg_value *q, *k, *v;    /* [batch, kv_heads, steps, shared, key] and without `shared`, FP32 */
  tg_value *decay, *beta; /* [batch, kv_heads, steps, key or 1], [batch, kv_heads or 1, steps, 1]; NULL */
} linear;

static tg_status read_linear(const tg_node *node, linear *l, tg_diag *diag) {
  enum { MOST_STEPS = 1024 };
  const tg_value *q = tg_in(node, 0), *k = tg_in(node, 1), *v = tg_in(node, 2);
  int64_t heads = tg_attr_int(node, TG_ATTR_Q_NUM_HEADS);
  l->kv_heads = tg_attr_int(node, TG_ATTR_KV_NUM_HEADS);
  if (heads < 1 || l->kv_heads < 1 || heads % l->kv_heads)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " heads of queries and %" PRId64 " of keys are not supported",
                   heads, l->kv_heads);
  for (int i = 0; i < 3; i++)
    if (tg_in(node, i)->rank != 3 || !tg_dtype_is_float(tg_in(node, i)->dtype) ||
        !tg_value_elements(tg_in(node, i)))
      return tg_fail(diag, TG_INVALID, "input %d is empty, no float, or not of three dimensions", i);
  l->batch = q->dims[0].size;
  l->steps = q->dims[1].size;
  l->shared = heads / l->kv_heads;
  l->key = q->dims[2].size / heads;
  l->value = v->dims[2].size / l->kv_heads;
  int64_t qs[] = {l->batch, l->steps, heads * l->key}, ks[] = {l->batch, l->steps, l->kv_heads * l->key},
          vs[] = {l->batch, l->steps, l->kv_heads * l->value},
          ss[] = {l->batch, l->kv_heads, l->key, l->value};
  const tg_value *past = tg_in(node, 3);
  if (!has_sizes(q, 3, qs) || !has_sizes(k, 3, ks) || !has_sizes(v, 3, vs) ||
      (past && (!has_sizes(past, 4, ss) || !tg_dtype_is_float(past->dtype))))
    return tg_fail(diag, TG_INVALID, "query, key, value and past_state do not fit");
  if (l->steps > MOST_STEPS)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " steps are more than %d", l->steps, MOST_STEPS);
  return tg_compose_bounded((double)l->steps * (double)(l->batch * l->kv_heads) * (double)(l->key * l->value),
                            diag);
}

/* Does the rule forget (decay), and does it write only what the state does not hold yet (beta)? */
static tg_status read_rule(const tg_node *node, const linear *l, tg_diag *diag) {
  static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
  const char *text = tg_attr_text(node, TG_ATTR_UPDATE_RULE);
  int rule = *text ? 0 : 3;
  while (*text && rule < 4 && strcmp(text, rules[rule])) rule++;
  if (rule == 4) return tg_fail(diag, TG_INVALID, "update_rule \"%s\" is not known", text);
  for (int i = 0; i < 2; i++) {
    const tg_value *x = tg_in(node, 4 + i);
    const char *name = i ? "beta" : "decay";
    if ((x != NULL) != (rule >> i & 1))
      return tg_fail(diag, TG_INVALID, "update_rule \"%s\" and input \"%s\" do not fit", rules[rule], name);
    if (!x) continue;
    int64_t last = x->rank == 3 ? x->dims[2].size : 0;
    bool fits = tg_dtype_is_float(x->dtype) && last && x->dims[0].size == l->batch &&
                x->dims[1].size == l->steps &&
                (last == l->kv_heads || last == (i ? 1 : l->kv_heads * l->key));
    if (!fits) return tg_fail(diag, TG_INVALID, "input \"%s\" does not fit", name);
  }
  return TG_OK;
}

/* [batch, steps, heads * size] to [batch, heads, steps, size], FP32. */
static tg_value *by_head(tg_build *b, tg_value *x, int64_t heads) {
  int64_t sizes[] = {x->dims[0].size, x->dims[1].size, heads, x->dims[2].size / heads};
  return tg_build_transpose(b, tg_build_reshape(b, f32(b, x), 4, sizes), (int64_t[]){0, 2, 1, 3});
}

/* Step t of [batch, heads, steps, ..], without that dimension where something follows it. */
static tg_value *at_step(tg_build *b, tg_value *x, int64_t t) { return tg_build_slice(b, x, 2, t, t + 1, 1); }

/* One step: the state [batch, kv_heads, key, value] after it, and what queries read of it. */
static tg_value *step_linear(tg_build *b, const linear *l, int64_t t, tg_value **state) {
  tg_value *k = at_step(b, l->k, t), *v = at_step(b, l->v, t), *s = *state; /* [.., 1, key], [.., 1, value] */
  if (l->decay) s = mul(b, s, tg_build_swap(b, at_step(b, l->decay, t)));
  if (l->beta) v = mul(b, at_step(b, l->beta, t), sub(b, v, tg_build_matmul(b, k, s)));
  *state = add(b, s, mul(b, tg_build_swap(b, k), v));
  tg_value *q = tg_build_drop(b, at_step(b, l->q, t), 2); /* [.., shared, key] */
  return tg_build_insert(b, tg_build_matmul(b, q, *state), 1);
}

/* The state decays by exp(decay), takes k (beta) (v - S k) or k v, and is read by q. */
tg_status tg_make_linear_attention(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  linear l = {0};
  if (read_linear(node, &l, diag) || read_rule(node, &l, diag)) return TG_INVALID;
  tg_value *query = tg_in(node, 0), *past = tg_in(node, 3);
  double scale = tg_attr_float(node, TG_ATTR_SCALE);
  int64_t grouped[] = {l.batch, l.steps, l.kv_heads, l.shared, l.key};
  tg_value *q = times(b, f32(b, query), scale != 0 ? scale : 1 / sqrt((double)l.key));
  l.q = tg_build_transpose(b, tg_build_reshape(b, q, 5, grouped), (int64_t[]){0, 2, 1, 3, 4});
  l.k = by_head(b, tg_in(node, 1), l.kv_heads);
  l.v = by_head(b, tg_in(node, 2), l.kv_heads);
  if (tg_in(node, 4)) l.decay = tg_build_unary(b, TG_OP_EXP, by_head(b, tg_in(node, 4), l.kv_heads));
  if (tg_in(node, 5)) l.beta = by_head(b, tg_in(node, 5), tg_in(node, 5)->dims[2].size == 1 ? 1 : l.kv_heads);
  int64_t sizes[] = {l.batch, l.kv_heads, l.key, l.value};
  tg_value *state = past ? f32(b, past) : zeros(b, TG_F32, 4, sizes);
  tg_value **out = TG_NEW_ARRAY(b->graph->arena, tg_value *, (size_t)l.steps);
  for (int64_t t = 0; t < l.steps; t++) out[t] = step_linear(b, &l, t, &state);
  /* [batch, steps, kv_heads, shared, value] */
  tg_value *y = l.steps > 1 ? tg_build_concat(b, out, (int)l.steps, 1) : out[0];
  int64_t flat[] = {l.batch, l.steps, l.kv_heads * l.shared * l.value};
  results[0] = tg_build_cast(b, tg_build_reshape(b, y, 3, flat), query->dtype);
  results[1] = tg_build_cast(b, state, past ? past->dtype : query->dtype);
  return TG_OK;
}

/* --- CausalConvWithState --- */

/* A depthwise convolution over what was before and now is; the last positions of both are the next state. */
tg_status tg_make_causal_conv(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1), *bias = tg_in(node, 2), *past = tg_in(node, 3);
  const char *activation = tg_attr_text(node, TG_ATTR_ACTIVATION);
  bool silu = !strcmp(activation, "silu") || !strcmp(activation, "swish");
  if (*activation && !silu && strcmp(activation, "none"))
    return tg_fail(diag, TG_INVALID, "activation \"%s\" is not known", activation);
  if (x->rank != 3 || w->rank != 3 || !tg_dtype_is_float(x->dtype) || w->dtype != x->dtype ||
      !tg_value_elements(x) || !tg_value_elements(w))
    return tg_fail(diag, TG_INVALID, "data and weights of ranks %d and %d are not supported", x->rank,
                   w->rank);
  int64_t channels = x->dims[1].size, length = x->dims[2].size, before = w->dims[2].size - 1,
          ws[] = {channels, 1, before + 1}, state[] = {x->dims[0].size, channels, before};
  if (!has_sizes(w, 3, ws) || (bias && (!has_sizes(bias, 1, ws) || bias->dtype != x->dtype)) ||
      (past && (!has_sizes(past, 3, state) || past->dtype != x->dtype)))
    return tg_fail(diag, TG_INVALID, "weight, bias or past_state does not fit");
  tg_value *all = x;
  if (before) all = tg_build_concat(b, (tg_value *[]){past ? past : zeros(b, x->dtype, 3, state), x}, 2, 2);
  tg_value *operands[] = {all, w, bias};
  tg_node *conv = tg_graph_add_node(b->graph, TG_OP_CONV, b->name, operands, bias ? 3 : 2, b->before, -1);
  tg_attr_set_int(conv, TG_ATTR_GROUP, channels);
  tg_value *y = tg_build_finish(b, conv);
  if (silu) y = mul(b, y, tg_build_unary(b, TG_OP_SIGMOID, y));
  results[0] = tg_build_cast(b, y, x->dtype);
  results[1] = before ? tg_build_slice(b, all, 2, length, length + before, 1) : zeros(b, x->dtype, 3, state);
  return TG_OK;
}

/* --- TensorScatter --- */

/* Row numbers of the update's rows for all places of the cache, and which places have one: of batch n place p takes
 * row p - write_indices[n]. */
static tg_value *update_rows(tg_build *b, tg_value *at, int64_t places, int64_t rows, bool circular,
                             tg_value **inside) {
  tg_value *row = sub(b, tg_build_positions(b, at, places, 1, 2), tg_build_insert(b, at, 1));
  if (circular) {
    row = with(b, TG_OP_REMAINDER, row, (double)places);
    row = tg_build_where(b, with(b, TG_OP_LESS, row, 0), plus(b, row, (double)places), row);
  }
  *inside = both(b, with(b, TG_OP_GREATER_OR_EQUAL, row, 0), with(b, TG_OP_LESS, row, (double)rows));
  return with(b, TG_OP_MIN, with(b, TG_OP_MAX, row, 0), (double)rows - 1);
}

/* The update's rows are gathered by place, and the cache's stay where there is none. */
tg_status tg_make_tensor_scatter(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *cache = tg_in(node, 0), *update = tg_in(node, 1), *at = tg_in(node, 2), *inside;
  const char *mode = tg_attr_text(node, TG_ATTR_MODE);
  bool circular = !strcmp(mode, "circular");
  int axis;
  if (*mode && !circular && strcmp(mode, "linear"))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" is not known", mode);
  if (tg_compose_axis(node, cache->rank, &axis, diag)) return TG_INVALID;
  bool fits = axis > 0 && update->rank == cache->rank && update->dtype == cache->dtype &&
              tg_value_elements(cache) && tg_value_elements(update) && cache->dtype != TG_BOOL;
  for (int d = 0; fits && d < cache->rank; d++)
    fits =
        d == axis ? update->dims[d].size <= cache->dims[d].size : update->dims[d].size == cache->dims[d].size;
  if (!fits) return tg_fail(diag, TG_INVALID, "the update does not fit the cache");
  int64_t batch = cache->dims[0].size, places = cache->dims[axis].size, rows = update->dims[axis].size,
          prefix = tg_value_elements_between(cache, 1, axis),
          inner = tg_value_elements_between(cache, axis + 1, cache->rank);
  if (!at) at = zeros(b, TG_I64, 1, &batch);
  if (!has_sizes(at, 1, &batch) || !tg_dtype_is_integer(at->dtype))
    return tg_fail(diag, TG_INVALID, "write_indices are not one integer for each of the batch");
  if ((double)batch * (double)prefix * (double)rows >= TG_MOST_POSITIONS || places >= TG_MOST_POSITIONS)
    return tg_fail(diag, TG_INVALID, "the update has too many rows");
  tg_value *row = tg_build_insert(b, update_rows(b, at, places, rows, circular, &inside), 1);
  tg_value *table =
      tg_build_positions(b, at, batch * prefix, 0, 1); /* rows of one prefix follow each other */
  int64_t tables[] = {batch, prefix, 1}, list[] = {batch * prefix * rows, inner},
          mask[] = {batch, 1, places, 1}, whole[] = {batch, prefix, places, inner};
  row = add(b, row, times(b, tg_build_reshape(b, table, 3, tables), (double)rows));
  tg_value *there = tg_build_binary(b, TG_OP_GATHER, tg_build_reshape(b, update, 2, list), row);
  tg_value *y =
      tg_build_where(b, tg_build_reshape(b, inside, 4, mask), there, tg_build_reshape(b, cache, 4, whole));
  results[0] = tg_build_cast(b, tg_build_reshape_like(b, y, cache), cache->dtype);
  return TG_OK;
}
