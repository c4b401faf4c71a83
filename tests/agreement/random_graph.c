#include "tests/agreement/random_graph.h"

#include "frontend/builder.h"
#include "frontend/infer.h"

uint64_t tg_random_next(tg_random *random) {
  uint64_t z = random->state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

int64_t tg_random_range(tg_random *random, int64_t low, int64_t high) {
  return low + (int64_t)(tg_random_next(random) % (uint64_t)(high - low + 1));
}

/* Sizes that tilings trip over: 1, primes, one more and one less than powers of two. */
static int64_t size(tg_random *random, int64_t most) {
  static const int64_t awkward[] = {1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 19, 23, 31, 32, 33, 37};
  int64_t pick = awkward[tg_random_range(random, 0, 16)];
  return pick <= most ? pick : tg_random_range(random, 1, most);
}

typedef struct maker {
  tg_random *random;
  tg_builder *b;
  uint64_t seed; /* of the next constant */
  int outputs;
} maker;

static tg_value *input(maker *m, const char *name, int rank, const int64_t *sizes) {
  return tg_builder_input(m->b, name, TG_F32, rank, sizes);
}

/* A second operand: an input or a constant. */
static tg_value *operand(maker *m, const char *name, int rank, const int64_t *sizes) {
  if (tg_random_range(m->random, 0, 1)) return input(m, name, rank, sizes);
  return tg_builder_seeded(m->b, name, TG_F32, rank, sizes, ++m->seed, 0.5f);
}

/* One elementwise operator on x, its other operand of x's shape or broadcast along some dimensions. */
static tg_value *elementwise(maker *m, tg_value *x, const char *name) {
  static const tg_op unary[] = {TG_OP_RELU,       TG_OP_SIGMOID,
                                TG_OP_TANH,       TG_OP_NEG,
                                TG_OP_ABS,        TG_OP_LEAKY_RELU,
                                TG_OP_CLIP,       TG_OP_RELU,
                                TG_OP_ERF,        TG_OP_GELU,
                                TG_OP_EXP,        TG_OP_LOG,
                                TG_OP_SQRT,       TG_OP_RECIPROCAL,
                                TG_OP_FLOOR,      TG_OP_CEIL,
                                TG_OP_ROUND,      TG_OP_SIGN,
                                TG_OP_ELU,        TG_OP_SELU,
                                TG_OP_SOFTPLUS,   TG_OP_SOFTSIGN,
                                TG_OP_MISH,       TG_OP_HARD_SIGMOID,
                                TG_OP_HARD_SWISH, TG_OP_THRESHOLDED_RELU};
  static const tg_op binary[] = {TG_OP_ADD, TG_OP_SUB, TG_OP_MUL,  TG_OP_MAX,
                                 TG_OP_MIN, TG_OP_DIV, TG_OP_PRELU};
  static const tg_op comparison[] = {TG_OP_LESS, TG_OP_LESS_OR_EQUAL, TG_OP_GREATER, TG_OP_EQUAL};
  if (tg_random_range(m->random, 0, 1))
    return tg_builder_unary(m->b, unary[tg_random_range(m->random, 0, sizeof unary / sizeof *unary - 1)],
                            name, x);
  int64_t sizes[TG_MAX_RANK];
  tg_graph *graph = tg_builder_graph(m->b);
  const char *of = x->name; /* a decomposition may give it to another value */
  if (tg_graph_infer(graph, NULL)) return NULL;
  x = tg_graph_find_value(graph, of);
  tg_value_sizes(x, sizes);
  for (int d = 0; d < x->rank; d++)
    if (tg_random_range(m->random, 0, 2) == 0) sizes[d] = 1;
  tg_value *other = operand(m, "operand", x->rank, sizes);
  if (tg_random_range(m->random, 0, 3))
    return tg_builder_binary(m->b, binary[tg_random_range(m->random, 0, 6)], name, x, other);
  tg_value *is = tg_builder_binary(m->b, comparison[tg_random_range(m->random, 0, 3)], name, x, other);
  if (tg_random_range(m->random, 0, 1)) is = tg_builder_unary(m->b, TG_OP_NOT, name, is);
  return tg_builder_op(m->b, TG_OP_WHERE, name, (tg_value *[]){is, x, other}, 3);
}

/* A matrix (or one for each batch) of these sizes, perhaps stored the other way round, perhaps behind a
 * Cast. */
static tg_value *matrix(maker *m, const char *name, bool constant, int rank, const int64_t *sizes,
                        bool tf32) {
  int64_t stored[3];
  static const int64_t perms[2][3] = {{1, 0}, {0, 2, 1}};
  bool transposed = tg_random_range(m->random, 0, 2) == 0;
  for (int d = 0; d < rank; d++) stored[d] = sizes[d];
  if (transposed) stored[rank - 1] = sizes[rank - 2], stored[rank - 2] = sizes[rank - 1];
  tg_value *value = constant ? operand(m, name, rank, stored) : input(m, name, rank, stored);
  if (tf32 && tg_random_range(m->random, 0, 1)) {
    value = tg_builder_cast(m->b, name, value, TG_TF32);
    tf32 = false;
  }
  if (transposed) value = tg_builder_transpose(m->b, name, value, rank, perms[rank - 2]);
  return tf32 ? tg_builder_cast(m->b, name, value, TG_TF32) : value;
}

static tg_value *matmul(maker *m) {
  int64_t rows = size(m->random, 40), k = size(m->random, 40), columns = size(m->random, 40);
  bool tf32 = tg_random_range(m->random, 0, 3) == 0;
  tg_value *a, *b;
  if (tg_random_range(m->random, 0, 3)) {
    a = matrix(m, "a", false, 2, (int64_t[]){rows, k}, tf32);
    b = matrix(m, "b", true, 2, (int64_t[]){k, columns}, tf32);
  } else {
    int64_t batch = tg_random_range(m->random, 1, 3), own = tg_random_range(m->random, 0, 1) ? batch : 1;
    a = matrix(m, "a", false, 3, (int64_t[]){batch, rows / 2 + 1, k}, tf32);
    b = matrix(m, "b", true, 3, (int64_t[]){own, k, columns / 2 + 1}, tf32);
  }
  tg_value *y = tg_builder_matmul(m->b, "matmul", a, b);
  if (y && tg_random_range(m->random, 0, 3) == 0) {
    tg_attr_set_int(y->producer, TG_ATTR_PARTIALS, tg_random_range(m->random, 1, 7));
    tg_attr_set_int(y->producer, TG_ATTR_REDUCE, tg_random_range(m->random, 0, 1));
  }
  return tf32 ? tg_builder_cast(m->b, "widen", y, TG_F32) : y;
}

static tg_value *conv(maker *m) {
  tg_random *r = m->random;
  int kernel = (int)tg_random_range(r, 1, 3), group = (int)tg_random_range(r, 1, 2);
  tg_window window = {.stride = (int)tg_random_range(r, 1, 2),
                      .padding = (int)tg_random_range(r, 0, kernel - 1),
                      .dilation = (int)tg_random_range(r, 1, 2),
                      .group = group};
  int64_t cin = group * tg_random_range(r, 1, 5), cout = group * tg_random_range(r, 1, 9),
          extent = (kernel - 1) * window.dilation + 1;
  if (tg_random_range(r, 0, 4) == 0)
    window.group = group = (int)tg_random_range(r, 2, 20), cin = cout = group;
  tg_value *x = input(m, "x", 4,
                      (int64_t[]){tg_random_range(r, 1, 2), cin, extent + tg_random_range(r, 0, 6),
                                  extent + tg_random_range(r, 0, 6)});
  tg_value *w = tg_builder_seeded(m->b, "w", TG_F32, 4, (int64_t[]){cout, cin / group, kernel, kernel},
                                  ++m->seed, 0.5f);
  tg_value *bias =
      tg_random_range(r, 0, 1) ? tg_builder_seeded(m->b, "bias", TG_F32, 1, &cout, ++m->seed, 0.5f) : NULL;
  return tg_builder_conv(m->b, "conv", x, w, bias, window);
}

/* Of a convolution with as many windows as fit, and perhaps elements that none reads. */
static tg_value *conv_gradient(maker *m) {
  tg_random *r = m->random;
  tg_window window = {.kernel = (int)tg_random_range(r, 1, 3),
                      .stride = (int)tg_random_range(r, 1, 3),
                      .dilation = (int)tg_random_range(r, 1, 2),
                      .group = (int)tg_random_range(r, 1, 2)};
  window.padding = (int)tg_random_range(r, 0, window.kernel - 1);
  int extent = (window.kernel - 1) * window.dilation + 1;
  int64_t n = tg_random_range(r, 1, 2), cin = window.group * tg_random_range(r, 1, 5),
          cout = window.group * tg_random_range(r, 1, 9), in[2], out[2];
  for (int d = 0; d < 2; d++) {
    in[d] = extent + tg_random_range(r, 0, 6);
    out[d] = (in[d] + 2 * window.padding - extent) / window.stride + 1;
  }
  tg_value *dy = input(m, "dy", 4, (int64_t[]){n, cout, out[0], out[1]});
  if (tg_random_range(r, 0, 1))
    return tg_builder_conv_weight_gradient(m->b, "dw", input(m, "x", 4, (int64_t[]){n, cin, in[0], in[1]}),
                                           dy, window);
  int64_t weights[] = {cout, cin / window.group, window.kernel, window.kernel};
  return tg_builder_conv_input_gradient(m->b, "dx", dy, operand(m, "w", 4, weights), window, in);
}

static tg_value *pool(maker *m) {
  static const tg_op ops[] = {TG_OP_MAX_POOL, TG_OP_AVERAGE_POOL, TG_OP_GLOBAL_AVERAGE_POOL};
  tg_random *r = m->random;
  int kernel = (int)tg_random_range(r, 1, 3);
  tg_window window = {.kernel = kernel,
                      .stride = (int)tg_random_range(r, 1, 2),
                      .padding = (int)tg_random_range(r, 0, kernel / 2)};
  tg_value *x = input(m, "x", 4,
                      (int64_t[]){1, tg_random_range(r, 1, 12), kernel + tg_random_range(r, 0, 6),
                                  kernel + tg_random_range(r, 0, 6)});
  tg_op op = ops[tg_random_range(r, 0, 2)];
  return op == TG_OP_GLOBAL_AVERAGE_POOL ? tg_builder_unary(m->b, op, "pool", x)
                                         : tg_builder_pool(m->b, op, "pool", x, window);
}

static tg_value *pool_gradient(maker *m) {
  tg_random *r = m->random;
  int kernel = (int)tg_random_range(r, 1, 3);
  tg_window window = {.kernel = kernel,
                      .stride = (int)tg_random_range(r, 1, 3),
                      .padding = (int)tg_random_range(r, 0, kernel / 2)};
  int64_t channels = tg_random_range(r, 1, 20), in[2], out[2];
  for (int d = 0; d < 2; d++) {
    in[d] = kernel + tg_random_range(r, 0, 6);
    out[d] = (in[d] + 2 * window.padding - kernel) / window.stride + 1;
  }
  tg_value *dy = input(m, "dy", 4, (int64_t[]){1, channels, out[0], out[1]});
  return tg_random_range(r, 0, 1)
             ? tg_builder_max_pool_gradient(
                   m->b, "dx", input(m, "x", 4, (int64_t[]){1, channels, in[0], in[1]}), dy, window)
             : tg_builder_average_pool_gradient(m->b, "dx", dy, window, in);
}

static tg_value *move(maker *m) {
  tg_random *r = m->random;
  int64_t sizes[] = {size(r, 5), size(r, 6), size(r, 9)};
  tg_value *x = input(m, "x", 3, sizes);
  if (tg_random_range(r, 0, 1)) {
    static const int64_t perms[][3] = {{0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0}};
    return tg_builder_transpose(m->b, "transpose", x, 3, perms[tg_random_range(r, 0, 4)]);
  }
  int axis = (int)tg_random_range(r, 0, 2);
  sizes[axis] = size(r, 7);
  tg_value *parts[] = {x, input(m, "y", 3, sizes)};
  return tg_builder_concat(m->b, "concat", parts, 2, axis);
}

static tg_value *layer_normalization(maker *m) {
  int64_t sizes[] = {size(m->random, 5), size(m->random, 9), size(m->random, 40)};
  int axis = (int)tg_random_range(m->random, 1, 2);
  tg_value *x = input(m, "x", 3, sizes), *scale = operand(m, "scale", 3 - axis, sizes + axis);
  tg_value *bias = tg_random_range(m->random, 0, 1) ? operand(m, "bias", 3 - axis, sizes + axis) : NULL;
  return tg_builder_layer_normalization(m->b, "normalized", x, scale, bias, axis, 1e-5);
}

static tg_value *reduction(maker *m) {
  static const tg_op ops[] = {TG_OP_REDUCE_SUM, TG_OP_REDUCE_MEAN, TG_OP_REDUCE_MAX,
                              TG_OP_REDUCE_MIN, TG_OP_REDUCE_L2,   TG_OP_REDUCE_LOG_SUM_EXP};
  int64_t sizes[] = {size(m->random, 4), size(m->random, 33), size(m->random, 37)}, axes[3];
  int count = 0;
  for (int d = 0; d < 3; d++)
    if (tg_random_range(m->random, 0, 1)) axes[count++] = d;
  tg_value *y =
      tg_builder_unary(m->b, ops[tg_random_range(m->random, 0, 5)], "reduction", input(m, "x", 3, sizes));
  if (!y) return NULL;
  tg_attr_set_ints(tg_builder_graph(m->b), y->producer, TG_ATTR_AXES, axes, count);
  tg_attr_set_int(y->producer, TG_ATTR_KEEPDIMS, tg_random_range(m->random, 0, 1));
  return y;
}

static tg_value *softmax(maker *m) {
  tg_value *x = input(m, "x", 2, (int64_t[]){size(m->random, 19), size(m->random, 70)});
  return tg_builder_unary(m->b, tg_random_range(m->random, 0, 1) ? TG_OP_SOFTMAX : TG_OP_LOG_SOFTMAX,
                          "softmax", x);
}

static tg_value *root(maker *m) {
  switch (tg_random_range(m->random, 0, 14)) {
  case 13: return pool_gradient(m);
  case 14: return reduction(m);
  case 12:
  case 11: return conv_gradient(m);
  case 10: return layer_normalization(m);
  case 0:
  case 1:
  case 2:
  case 3: return matmul(m);
  case 4:
  case 5: return conv(m);
  case 6: return pool(m);
  case 7: return move(m);
  case 8: return softmax(m);
  default:
    return elementwise(
        m, input(m, "x", 3, (int64_t[]){size(m->random, 4), size(m->random, 9), size(m->random, 33)}),
        "elementwise");
  }
}

tg_status tg_random_graph(tg_random *random, tg_arena *arena, tg_graph **out_graph, tg_diag *diag) {
  maker m = {.random = random, .b = tg_builder_create(arena, "random")};
  tg_value *x = root(&m);
  for (int64_t more = tg_random_range(random, 0, 2); more > 0 && x; more--) x = elementwise(&m, x, "more");
  tg_builder_output(m.b, "y", x);
  return tg_builder_finish(m.b, out_graph, diag);
}
