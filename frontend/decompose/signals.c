/* Fourier transforms of known lengths as products with a constant matrix; counts of n-grams. */
#include "frontend/base/math.h"
#include "frontend/decompose/compose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- transforms --- */

/* One line of a transform: `in` numbers of `in_parts` (1: real, 2: and imaginary) of a signal of `length`, to `out` of
 * `out_parts`. */
typedef struct transform {
  int64_t length, in, out;
  int in_parts, out_parts;
  bool inverse, half; /* half: of conjugate pairs one */
} transform;

/* [in in_parts, out out_parts], computed in double precision. */
static tg_value *matrix_of(tg_build *b, const transform *t, const tg_value *window) {
  const double two_pi = 6.28318530717958647692;
  int64_t sizes[] = {t->in * t->in_parts, t->out * t->out_parts};
  tg_value *made = tg_build_made(b, TG_F32, 2, sizes);
  if (b->failed) return made;
  float *to = (float *)made->data;
  for (int64_t n = 0; n < t->in; n++)
    for (int64_t k = 0; k < t->out; k++) {
      double turn = two_pi * (double)(n * k % t->length) / (double)t->length, c = cos(turn), s = sin(turn),
             factor = 1;
      if (t->inverse) factor = 1 / (double)t->length;
      if (t->inverse && t->half && n && 2 * n != t->length) factor *= 2;
      if (window) factor *= (double)tg_load_f32(window->data, window->dtype, (size_t)n);
      if (!t->inverse) s = -s;
      /* (re + i im)(c + i s) */
      float *at = to + n * t->in_parts * sizes[1] + k * t->out_parts;
      at[0] = (float)(factor * c);
      if (t->out_parts > 1) at[1] = (float)(factor * s);
      if (t->in_parts > 1) at[sizes[1]] = (float)(factor * -s);
      if (t->in_parts > 1 && t->out_parts > 1) at[sizes[1] + 1] = (float)(factor * c);
    }
  return made;
}

/* x [.., in, in_parts] to [.., out, out_parts]. */
static tg_value *transformed(tg_build *b, tg_value *x, const transform *t, const tg_value *window) {
  int64_t sizes[TG_MAX_RANK];
  if (b->failed) return x;
  tg_value_sizes(x, sizes);
  sizes[x->rank - 2] = t->in * t->in_parts;
  tg_value *y =
      tg_build_matmul(b, tg_build_reshape(b, f32(b, x), x->rank - 1, sizes), matrix_of(b, t, window));
  sizes[x->rank - 2] = t->out;
  sizes[x->rank - 1] = t->out_parts;
  return tg_build_reshape(b, y, x->rank, sizes);
}

static tg_status check_signal(const tg_value *x, int fewest, int most, tg_diag *diag) {
  if (!tg_dtype_is_float(x->dtype) || x->rank < fewest || x->rank > most || !tg_value_elements(x))
    return tg_fail(diag, TG_INVALID, "data of rank %d and type %s is not supported", x->rank,
                   tg_dtype_name(x->dtype));
  int64_t parts = x->dims[x->rank - 1].size;
  if (parts == 1 || parts == 2) return TG_OK;
  return tg_fail(diag, TG_INVALID, "its last dimension is %" PRId64 ", not 1 or 2", parts);
}

static tg_status constant_number(const tg_value *x, int64_t absent, int64_t *out, const char *what,
                                 tg_diag *diag) {
  *out = absent;
  if (!x || tg_compose_ints(x, 1, out) == 1) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%s is not constant", what);
}

static tg_status check_length(int64_t length, tg_diag *diag) {
  enum { MOST = 1 << 13 };
  if (length >= 1 && length <= MOST) return TG_OK;
  return tg_fail(diag, TG_INVALID, "a transform of length %" PRId64 " is not supported, 1 to %d are", length,
                 MOST);
}

tg_status tg_make_dft(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  transform t = {.inverse = tg_attr_int(node, TG_ATTR_INVERSE) != 0,
                 .half = tg_attr_int(node, TG_ATTR_ONESIDED) != 0};
  int64_t axis;
  if (check_signal(x, 2, TG_MAX_RANK, diag) ||
      constant_number(tg_in(node, 2), tg_attr_int(node, TG_ATTR_AXIS), &axis, "axis", diag))
    return TG_INVALID;
  if (axis < 0) axis += x->rank;
  if (axis < 0 || axis >= x->rank - 1) return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside", axis);
  int64_t size = x->dims[axis].size, pads[2 * TG_MAX_RANK] = {0};
  bool back = t.inverse && t.half;
  if (constant_number(tg_in(node, 1), back ? 2 * (size - 1) : size, &t.length, "dft_length", diag) ||
      check_length(t.length, diag))
    return TG_INVALID;
  t.in_parts = (int)x->dims[x->rank - 1].size;
  t.out_parts = back ? 1 : 2;
  t.in = back ? t.length / 2 + 1 : t.length;
  t.out = t.half && !t.inverse ? t.length / 2 + 1 : t.length;
  if (t.half && !t.inverse && t.in_parts == 2)
    return tg_fail(diag, TG_INVALID, "onesided of complex data is not supported");
  pads[x->rank + axis] = t.in - size; /* with zeros, or cut */
  tg_value *moved = tg_build_move(b, tg_build_pad(b, x, pads), (int)axis, x->rank - 2);
  tg_value *y = transformed(b, moved, &t, NULL);
  if (b->failed) return TG_OK;
  results[0] = tg_build_cast(b, tg_build_move(b, y, x->rank - 2, (int)axis), x->dtype);
  return TG_OK;
}

/* x [batch, samples, parts]: frames [batch, frames, length, parts], each `step` behind the one before. */
static tg_value *frames_of(tg_build *b, tg_value *x, int64_t count, int64_t length, int64_t step) {
  enum { MOST = 4096 };
  tg_value *parts[MOST];
  int64_t chunks = tg_div_up(length, step), pads[6] = {0}, batch = x->dims[0].size, width = x->dims[2].size;
  int64_t needed = (count + chunks - 1) * step;
  pads[4] = needed > x->dims[1].size ? needed - x->dims[1].size : 0;
  x = tg_build_pad(b, x, pads);
  for (int64_t j = 0; j < chunks; j++) {
    int64_t sizes[] = {batch, count, step, width}, kept = length - j * step;
    parts[j] = tg_build_reshape(b, tg_build_slice(b, x, 1, j * step, (j + count) * step, 1), 4, sizes);
    if (kept < step) parts[j] = tg_build_slice(b, parts[j], 2, 0, kept, 1);
  }
  return chunks > 1 ? tg_build_concat(b, parts, (int)chunks, 2) : parts[0];
}

tg_status tg_make_stft(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *window = tg_in(node, 2);
  int64_t step;
  transform t = {.half = tg_attr_int(node, TG_ATTR_ONESIDED) != 0};
  if (check_signal(x, 3, 3, diag) || constant_number(tg_in(node, 1), 0, &step, "frame_step", diag) ||
      constant_number(tg_in(node, 3), window ? tg_value_elements(window) : x->dims[1].size, &t.length,
                      "frame_length", diag) ||
      check_length(t.length, diag))
    return TG_INVALID;
  if (window && (window->rank != 1 || window->dims[0].size != t.length || !tg_dtype_is_float(window->dtype)))
    return tg_fail(diag, TG_INVALID, "its window is not one number for each of a frame's %" PRId64, t.length);
  if (step < 1 || t.length > x->dims[1].size || t.length / step >= 4096)
    return tg_fail(diag, TG_INVALID, "frames of %" PRId64 " by steps of %" PRId64 " are not supported",
                   t.length, step);
  t.in_parts = (int)x->dims[2].size;
  if (t.half && t.in_parts == 2)
    return tg_fail(diag, TG_INVALID, "onesided of complex data is not supported");
  t.in = t.length;
  t.out = t.half ? t.length / 2 + 1 : t.length;
  t.out_parts = 2;
  int64_t count = (x->dims[1].size - t.length) / step + 1;
  tg_value *frames = frames_of(b, x, count, t.length, step);
  if (window && !tg_is_constant(window))
    frames = mul(b, f32(b, frames), f32(b, tg_build_insert(b, window, 1)));
  tg_value *y = transformed(b, frames, &t, tg_is_constant(window) ? window : NULL);
  results[0] = tg_build_cast(b, y, x->dtype);
  return TG_OK;
}

/* --- TfIdfVectorizer --- */

/* Attributes: the n-grams of the pool, by their length; where each is counted. */
typedef struct pool {
  const int64_t *starts, *indexes, *numbers;
  int lengths, index_count, number_count;
  int64_t outputs;
} pool;

static tg_status read_pool(const tg_node *node, pool *p, tg_diag *diag) {
  p->starts = tg_attr_ints(node, TG_ATTR_NGRAM_COUNTS, &p->lengths);
  p->indexes = tg_attr_ints(node, TG_ATTR_NGRAM_INDEXES, &p->index_count);
  p->numbers = tg_attr_ints(node, TG_ATTR_POOL_INT64S, &p->number_count);
  int64_t grams = 0;
  bool fits = p->lengths > 0 && p->number_count > 0;
  for (int n = 1; fits && n <= p->lengths; n++) {
    int64_t end = n < p->lengths ? p->starts[n] : p->number_count, from = p->starts[n - 1];
    fits = from >= 0 && from <= end && end <= p->number_count && (end - from) % n == 0;
    grams += fits ? (end - from) / n : 0;
  }
  if (!fits || grams != p->index_count) return tg_fail(diag, TG_INVALID, "its pool of n-grams is not one");
  for (int i = 0; i < p->index_count; i++) {
    if (p->indexes[i] < 0 || p->indexes[i] > 1 << 20)
      return tg_fail(diag, TG_INVALID, "ngram_indexes are outside");
    for (int k = 0; k < i; k++)
      if (p->indexes[k] == p->indexes[i]) return tg_fail(diag, TG_INVALID, "two n-grams have one index");
    if (p->indexes[i] >= p->outputs) p->outputs = p->indexes[i] + 1;
  }
  return TG_OK;
}

/* How often each gram of length n stands in the rows of x [rows, size], its numbers `skip` apart: [rows, grams]. */
static tg_value *count_grams(tg_build *b, tg_value *x, const int64_t *grams, int64_t count, int n,
                             int64_t skip) {
  int64_t windows = x->dims[1].size - (n - 1) * (skip + 1);
  tg_value *all = NULL;
  if (windows < 1) return NULL;
  for (int j = 0; j < n; j++) {
    int64_t sizes[] = {1, 1, count}, from = j * (skip + 1);
    tg_value *wanted = tg_build_made(b, x->dtype, 3, sizes);
    if (b->failed) return NULL;
    for (int64_t g = 0; g < count; g++)
      tg_store_i64((void *)wanted->data, x->dtype, (size_t)g, grams[g * n + j]);
    tg_value *here = tg_build_insert(b, tg_build_slice(b, x, 1, from, from + windows, 1), 2);
    tg_value *equal = tg_build_binary(b, TG_OP_EQUAL, here, wanted);
    all = all ? both(b, all, equal) : equal;
  }
  all = tg_build_where(b, all, tg_build_number(b, 1), tg_build_number(b, 0));
  return tg_build_drop(b, tg_build_reduce(b, TG_OP_REDUCE_SUM, all, 1u << 1), 1);
}

tg_status tg_make_tf_idf(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *columns[64];
  pool p = {0};
  int64_t shortest = tg_attr_int(node, TG_ATTR_MIN_GRAM_LENGTH),
          longest = tg_attr_int(node, TG_ATTR_MAX_GRAM_LENGTH),
          skips = tg_attr_int(node, TG_ATTR_MAX_SKIP_COUNT), place = 0;
  const char *mode = tg_attr_text(node, TG_ATTR_MODE);
  bool single = x->rank == 1;
  int made = 0;
  if ((x->dtype != TG_I32 && x->dtype != TG_I64) || x->rank < 1 || x->rank > 2 || !tg_value_elements(x))
    return tg_fail(diag, TG_INVALID, "data of rank %d and type %s is not supported", x->rank,
                   tg_dtype_name(x->dtype));
  if (strcmp(mode, "TF") && strcmp(mode, "IDF") && strcmp(mode, "TFIDF"))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" is not known", mode);
  if (read_pool(node, &p, diag)) return TG_INVALID;
  if (shortest < 1 || longest < shortest || longest > 32 || skips < 0 || skips > 1024)
    return tg_fail(diag, TG_INVALID, "its lengths of n-grams or skips are not supported");
  if (single) x = tg_build_insert(b, x, 0);
  int64_t zeros[] = {x->dims[0].size, 1}, column = 1;
  tg_value *order = tg_build_made(b, TG_I64, 1, &p.outputs);
  columns[made++] = tg_build_made(b, TG_F32, 2, zeros); /* of indexes that no n-gram has */
  if (b->failed) return TG_OK;
  for (int n = 1; n <= p.lengths; n++) {
    int64_t from = p.starts[n - 1], end = n < p.lengths ? p.starts[n] : p.number_count,
            count = (end - from) / n;
    place += count;
    if (!count || n < shortest || n > longest) continue;
    tg_value *sum = NULL;
    for (int64_t skip = 0; skip <= (n > 1 ? skips : 0); skip++) {
      tg_value *one = count_grams(b, x, p.numbers + from, count, n, skip);
      if (one) sum = sum ? add(b, sum, one) : one;
    }
    if (!sum) continue;
    for (int64_t g = 0; g < count; g++) ((int64_t *)order->data)[p.indexes[place - count + g]] = column + g;
    columns[made++] = sum;
    column += count;
  }
  tg_value *all = made > 1 ? tg_build_concat(b, columns, made, 1) : columns[0];
  if (!strcmp(mode, "IDF")) /* weights are 1: is it there? */
    all = tg_build_where(b, with(b, TG_OP_GREATER, all, 0), tg_build_number(b, 1), tg_build_number(b, 0));
  tg_value *operands[] = {all, order};
  tg_node *gather = tg_graph_add_node(b->graph, TG_OP_GATHER, b->name, operands, 2, b->before, -1);
  tg_attr_set_int(gather, TG_ATTR_AXIS, 1);
  tg_value *y = tg_build_finish(b, gather);
  results[0] = single ? tg_build_drop(b, y, 0) : y;
  return TG_OK;
}
