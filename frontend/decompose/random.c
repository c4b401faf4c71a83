/* Random numbers: drawn when the model is compiled, from the node's seed or else its number, and the same in each run. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST = 1 << 24 };

static uint64_t seed_of(const tg_node *node) {
  float seed = (float)tg_attr_float(node, TG_ATTR_SEED);
  uint32_t bits;
  memcpy(&bits, &seed, sizeof bits);
  return seed == (float)INT32_MIN ? (uint64_t)node->id + 1 : (uint64_t)1 << 32 | bits; /* none is given */
}

/* Number `i` of a stream of the node's: in [0, 1), of 24 bits. */
static double drawn(uint64_t seed, uint64_t stream, int64_t i) {
  return (double)((tg_seeded_number(seed ^ stream << 40, i) + 1) / 2);
}

static tg_status count_elements(int rank, const int64_t *sizes, int64_t *out_count, tg_diag *diag) {
  int64_t count = 1;
  for (int d = 0; d < rank; d++) {
    if (sizes[d] < 0 || sizes[d] > MOST || (count *= sizes[d]) > MOST)
      return tg_fail(diag, TG_INVALID, "its shape is not of 0 to %d elements", MOST);
  }
  *out_count = count;
  return TG_OK;
}

/* Element `i` becomes the next number of its type below it. */
static void step_down(void *data, tg_dtype dtype, size_t i) {
  uint16_t *bits = (uint16_t *)data + i;
  if (tg_dtype_size(dtype) == sizeof *bits)
    *bits = (uint16_t)(!(*bits & 0x7fff) ? 0x8001 : *bits & 0x8000 ? *bits + 1 : *bits - 1);
  else
    tg_store_f32(data, dtype, i, nextafterf(tg_load_f32(data, dtype, i), -INFINITY));
}

/* Uniform in [low, high), also where the type would round up, or normal by Box and Muller's transform of two such numbers. */
static tg_status draw(tg_build *b, const tg_node *node, tg_dtype dtype, int rank, const int64_t *sizes,
                      tg_value **out, tg_diag *diag) {
  const double two_pi = 6.28318530717958647692;
  bool normal = node->op == TG_OP_RANDOM_NORMAL || node->op == TG_OP_RANDOM_NORMAL_LIKE;
  int64_t count;
  if (count_elements(rank, sizes, &count, diag)) return TG_INVALID;
  if (!tg_dtype_is_float(dtype))
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(dtype));
  double first = tg_attr_float(node, normal ? TG_ATTR_MEAN : TG_ATTR_LOW),
         second = tg_attr_float(node, normal ? TG_ATTR_SCALE : TG_ATTR_HIGH);
  uint64_t seed = seed_of(node);
  *out = tg_build_made(b, dtype, rank, sizes);
  if (b->failed) return TG_OK;
  for (int64_t i = 0; i < count; i++) {
    double u = drawn(seed, 0, i), unit = normal ? sqrt(-2 * log(1 - u)) * cos(two_pi * drawn(seed, 1, i)) : u;
    double number = normal ? first + second * unit : first + (second - first) * unit;
    tg_store_f32((void *)(*out)->data, dtype, (size_t)i, (float)number);
    if (!normal && first < second && (double)tg_load_f32((*out)->data, dtype, (size_t)i) >= second)
      step_down((void *)(*out)->data, dtype, (size_t)i);
  }
  return TG_OK;
}

static tg_dtype wanted(const tg_node *node, tg_dtype otherwise) {
  tg_dtype dtype = (tg_dtype)tg_attr_int(node, TG_ATTR_DTYPE);
  return dtype ? dtype : otherwise;
}

tg_status tg_make_random(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  int rank;
  const int64_t *sizes = tg_attr_ints(node, TG_ATTR_SHAPE, &rank);
  if (!sizes) return tg_fail(diag, TG_INVALID, "shape is missing");
  if (rank > TG_MAX_RANK) return tg_fail(diag, TG_INVALID, "rank %d is above %d", rank, TG_MAX_RANK);
  return draw(b, node, wanted(node, TG_F32), rank, sizes, &results[0], diag);
}

tg_status tg_make_random_like(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  return draw(b, node, wanted(node, x->dtype), x->rank, sizes, &results[0], diag);
}

/* 1 where the number that is drawn is below the probability. */
tg_status tg_make_bernoulli(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  int64_t count;
  if (count_elements(x->rank, sizes, &count, diag)) return TG_INVALID;
  if (!tg_dtype_is_float(x->dtype))
    return tg_fail(diag, TG_INVALID, "data of type %s are not supported",
                   tg_value_type_text(x, b->graph->arena));
  tg_value *numbers = tg_build_made(b, TG_F32, x->rank, sizes);
  if (b->failed) return TG_OK;
  for (int64_t i = 0; i < count; i++)
    tg_store_f32((void *)numbers->data, TG_F32, (size_t)i, (float)drawn(seed_of(node), 0, i));
  tg_value *hit = tg_build_binary(b, TG_OP_LESS, numbers, f32(b, x));
  results[0] = tg_build_cast(b, hit, wanted(node, x->dtype));
  return TG_OK;
}

/* -log(-log u) for u of the middle of each step, which is neither 0 nor 1: the largest of X and such is drawn as often as
 * exp(X) has weight. */
tg_status tg_make_multinomial(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  tg_dtype dtype = wanted(node, TG_I32);
  int64_t samples = tg_attr_int(node, TG_ATTR_SAMPLE_SIZE), count = 0;
  if (x->rank != 2 || !tg_dtype_is_float(x->dtype) || !x->dims[1].size)
    return tg_fail(diag, TG_INVALID, "data of type %s are not supported",
                   tg_value_type_text(x, b->graph->arena));
  if (dtype != TG_I32 && dtype != TG_I64)
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(dtype));
  int64_t sizes[] = {x->dims[0].size, samples, x->dims[1].size};
  if (count_elements(3, sizes, &count, diag)) return TG_INVALID;
  if (!count) {
    results[0] = tg_build_made(b, dtype, 2, sizes);
    return TG_OK;
  }
  tg_value *numbers = tg_build_made(b, TG_F32, 3, sizes);
  if (b->failed) return TG_OK;
  for (int64_t i = 0; i < count; i++)
    tg_store_f32((void *)numbers->data, TG_F32, (size_t)i,
                 (float)-log(-log(drawn(seed_of(node), 0, i) + 0x1p-25)));
  tg_value *all = add(b, tg_build_insert(b, f32(b, x), 1), numbers);
  results[0] = tg_build_cast(b, tg_build_drop(b, tg_compose_place(b, all, 2, true, false), 2), dtype);
  return TG_OK;
}
