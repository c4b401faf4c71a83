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

/* `count` numbers of [0, 1), each of 24 bits. */
static float *drawn(tg_build *b, const tg_node *node, int64_t count, uint64_t stream) {
  float *to = TG_NEW_ARRAY(b->graph->arena, float, (size_t)count + 1);
  tg_seeded_fill(to, TG_F32, count, seed_of(node) ^ stream << 40, 1);
  for (int64_t i = 0; i < count; i++) to[i] = (to[i] + 1) / 2;
  return to;
}

static int64_t elements_of(int rank, const int64_t *sizes) {
  int64_t count = 1;
  for (int d = 0; d < rank; d++)
    if (sizes[d] < 0 || __builtin_mul_overflow(count, sizes[d], &count) || count > MOST) return -1;
  return count;
}

/* Uniform in [low, high), or normal by Box and Muller's transform of two such numbers. */
static tg_status draw(tg_build *b, const tg_node *node, tg_dtype dtype, int rank, const int64_t *sizes,
                      tg_value **out, tg_diag *diag) {
  const double two_pi = 6.28318530717958647692;
  bool normal = node->op == TG_OP_RANDOM_NORMAL || node->op == TG_OP_RANDOM_NORMAL_LIKE;
  int64_t count = elements_of(rank, sizes);
  if (count < 0) return tg_fail(diag, TG_INVALID, "its shape has more than %d elements", MOST);
  if (!tg_dtype_is_float(dtype))
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(dtype));
  double first = tg_attr_float(node, normal ? TG_ATTR_MEAN : TG_ATTR_LOW),
         second = tg_attr_float(node, normal ? TG_ATTR_SCALE : TG_ATTR_HIGH);
  const float *u = drawn(b, node, count, 0), *v = normal ? drawn(b, node, count, 1) : u;
  *out = tg_build_constant(b, dtype, rank, sizes, NULL);
  for (int64_t i = 0; i < count; i++) {
    double unit = normal ? sqrt(-2 * log(1 - (double)u[i])) * cos(two_pi * (double)v[i]) : (double)u[i];
    double number = normal ? first + second * unit : first + (second - first) * unit;
    tg_store_f32((void *)(*out)->data, dtype, (size_t)i, (float)number);
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
  int64_t count = elements_of(x->rank, sizes);
  if (count < 0 || !tg_dtype_is_float(x->dtype))
    return tg_fail(diag, TG_INVALID, "data of type %s are not supported",
                   tg_value_type_text(x, b->graph->arena));
  tg_value *drawn_numbers = tg_build_constant(b, TG_F32, x->rank, sizes, drawn(b, node, count, 0));
  tg_value *hit = tg_build_binary(b, TG_OP_LESS, drawn_numbers, f32(b, x));
  results[0] = tg_build_cast(b, hit, wanted(node, x->dtype));
  return TG_OK;
}
