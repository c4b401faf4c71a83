/* Samples of images at places that arrive: sums of the rows of channels that lie beside the place, by their weights. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef enum padding { ZEROS, BORDER, REFLECTION } padding;
typedef enum kernel { LINEAR, NEAREST, CUBIC } kernel;

typedef struct sampling {
  kernel kernel;
  padding padding;
  bool corners; /* -1 and 1 are the middles of the outer elements, not their edges */
} sampling;

static tg_value *floor_of(tg_build *b, tg_value *x) { return tg_build_unary(b, TG_OP_FLOOR, x); }

/* Back and forth between the two ends, which are -0.5 and size - 0.5, or 0 and size - 1. */
static tg_value *reflected(tg_build *b, tg_value *x, const sampling *s, int64_t size) {
  double low = s->corners ? 0 : -0.5, span = s->corners ? (double)size - 1 : (double)size;
  if (span == 0) return times(b, x, 0);
  tg_value *y = tg_build_unary(b, TG_OP_ABS, plus(b, x, -low));
  tg_value *turns = floor_of(b, with(b, TG_OP_DIV, y, span));
  tg_value *rest = sub(b, y, times(b, turns, span));
  tg_value *even = tg_build_binary(b, TG_OP_EQUAL, times(b, floor_of(b, times(b, turns, 0.5)), 2), turns);
  tg_value *back = sub(b, tg_build_number(b, span), rest);
  return plus(b, tg_build_where(b, even, rest, back), low);
}

static tg_value *within(tg_build *b, tg_value *x, const sampling *s, int64_t size) {
  if (s->padding == ZEROS) return x;
  if (s->padding == REFLECTION) x = reflected(b, x, s, size);
  return tg_build_clip(b, x, 0, (double)size - 1);
}

/* Weight of a neighbour at distance t, 0 <= t. */
static tg_value *cubic(tg_build *b, tg_value *t, bool near) {
  const double a = -0.75;
  if (near) {
    tg_value *y = plus(b, times(b, t, a + 2), -(a + 3));
    return plus(b, mul(b, mul(b, y, t), t), 1);
  }
  tg_value *y = plus(b, times(b, t, a), -5 * a);
  y = plus(b, mul(b, y, t), 8 * a);
  return plus(b, mul(b, y, t), -4 * a);
}

/* What is summed along a dimension for each place, [n, places]: position of the neighbour, held to 0 .. size - 1; its weight, NULL: 1;
 * and whether it lies there, NULL: always. */
typedef struct neighbour {
  tg_value *position, *weight, *inside;
} neighbour;

enum { MOST_NEIGHBOURS = 4 };

static neighbour neighbour_at(tg_build *b, const sampling *s, tg_value *position, tg_value *weight,
                              int64_t size) {
  neighbour n = {.position = tg_build_clip(b, position, 0, (double)size - 1), .weight = weight};
  if (s->padding == ZEROS)
    n.inside = both(b, with(b, TG_OP_GREATER_OR_EQUAL, position, 0),
                    with(b, TG_OP_LESS_OR_EQUAL, position, (double)size - 1));
  return n;
}

/* Those of x [n, places], which goes from -1 to 1 along the dimension; how many. */
static int neighbours(tg_build *b, tg_value *x, const sampling *s, int64_t size,
                      neighbour out[MOST_NEIGHBOURS]) {
  double half = 0.5 * (s->corners ? (double)size - 1 : (double)size);
  x = times(b, plus(b, x, 1), half);
  if (!s->corners) x = plus(b, x, -0.5);
  if (s->kernel != CUBIC) x = within(b, x, s, size);
  if (s->kernel == NEAREST) {
    out[0] = neighbour_at(b, s, tg_build_unary(b, TG_OP_ROUND, x), NULL, size);
    return 1;
  }
  tg_value *from = floor_of(b, x), *t = sub(b, x, from), *rest = sub(b, tg_build_number(b, 1), t);
  if (s->kernel == LINEAR) {
    out[0] = neighbour_at(b, s, from, rest, size);
    out[1] = neighbour_at(b, s, plus(b, from, 1), t, size);
    return 2;
  }
  tg_value *each[] = {cubic(b, plus(b, t, 1), false), cubic(b, t, true), cubic(b, rest, true),
                      cubic(b, plus(b, rest, 1), false)};
  for (int k = 0; k < 4; k++)
    out[k] = neighbour_at(b, s, within(b, plus(b, from, k - 1), s, size), each[k], size);
  return 4;
}

static tg_value *all_of(tg_build *b, tg_value *x, tg_value *y,
                        tg_value *(*join)(tg_build *, tg_value *, tg_value *)) {
  return !x ? y : !y ? x : join(b, x, y);
}

/* The row of a neighbour along each dimension, times its weight, which is no number where the place is none; 0 outside: [n, places,
 * channels]. rows [n positions, channels]. */
static tg_value *sample(tg_build *b, tg_value *rows, tg_value *images, const neighbour *const along[],
                        int dims, const int64_t *sizes) {
  tg_value *row = images, *weight = NULL, *inside = NULL;
  int64_t stride = 1;
  for (int d = dims - 1; d >= 0; stride *= sizes[d--]) {
    row = add(b, row, times(b, along[d]->position, (double)stride));
    weight = all_of(b, weight, along[d]->weight, mul);
    inside = all_of(b, inside, along[d]->inside, both);
  }
  tg_value *there = tg_build_binary(b, TG_OP_GATHER, rows, tg_build_cast(b, row, TG_I64));
  if (b->failed) return there;
  if (weight) there = mul(b, there, tg_build_insert(b, weight, 2));
  return inside ? tg_build_where(b, tg_build_insert(b, inside, 2), there, tg_build_number(b, 0)) : there;
}

static tg_status read_sampling(const tg_node *node, sampling *s, tg_diag *diag) {
  static const char *const modes[][3] = {{"linear", "nearest", "cubic"}, {"bilinear", "nearest", "bicubic"}};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  const char *mode = tg_attr_text(node, TG_ATTR_MODE), *beyond = tg_attr_text(node, TG_ATTR_PADDING_MODE);
  int k = 0, p = 0;
  while (*mode && k < 3 && strcmp(mode, modes[0][k]) && strcmp(mode, modes[1][k])) k++;
  while (*beyond && p < 3 && strcmp(beyond, paddings[p])) p++;
  if (k == 3 || p == 3)
    return tg_fail(diag, TG_INVALID, "mode \"%s\" with padding_mode \"%s\" is not known", mode, beyond);
  *s = (sampling){(kernel)k, (padding)p, tg_attr_int(node, TG_ATTR_ALIGN_CORNERS) != 0};
  return TG_OK;
}

/* X [N, C, D..], grid [N, places.., dims], the last dimension first. Rows are addressed by numbers in FP32, hence the bound of 2^24. */
tg_status tg_make_grid_sample(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *grid = tg_in(node, 1), *sum = NULL;
  sampling s = {LINEAR, ZEROS, false};
  int dims = x->rank - 2, count = 0, combinations = 1;
  if (read_sampling(node, &s, diag)) return TG_INVALID;
  bool fits = (dims == 2 || dims == 3) && grid->rank == x->rank && grid->dims[dims + 1].size == dims &&
              grid->dims[0].size == x->dims[0].size && tg_dtype_is_float(x->dtype) &&
              tg_dtype_is_float(grid->dtype);
  if (!fits || (s.kernel == CUBIC && dims == 3) || !tg_value_elements(x) || !tg_value_elements(grid))
    return tg_fail(diag, TG_INVALID, "data and grid of types %s and %s are not supported",
                   tg_value_type_text(x, b->graph->arena), tg_value_type_text(grid, b->graph->arena));
  int64_t n = x->dims[0].size, c = x->dims[1].size, places = tg_value_elements_between(grid, 1, dims + 1),
          positions = tg_value_elements_between(x, 2, x->rank), list[] = {n, places, dims},
          planes[] = {n, c, positions}, table[] = {n * positions, c}, sizes[3], out[TG_MAX_RANK] = {n, c};
  if ((double)n * (double)positions >= 1 << 24)
    return tg_fail(diag, TG_INVALID, "an image of more than 2^24 elements is not supported");
  if (tg_compose_bounded((double)n * (double)places * (double)c, diag)) return TG_INVALID;
  tg_value *at = tg_build_reshape(b, f32(b, grid), 3, list),
           *rows = tg_build_reshape(b, tg_build_swap(b, tg_build_reshape(b, f32(b, x), 3, planes)), 2, table),
           *images = times(b, tg_build_positions(b, at, n, 0, 2), (double)positions);
  neighbour beside[3][MOST_NEIGHBOURS];
  for (int d = 0; d < dims; d++) {
    sizes[d] = x->dims[2 + d].size;
    out[2 + d] = grid->dims[1 + d].size;
    tg_value *one = tg_build_slice(b, at, 2, dims - 1 - d, dims - d, 1);
    count = neighbours(b, tg_build_reshape(b, one, 2, list), &s, sizes[d], beside[d]);
    combinations *= count;
  }
  for (int k = 0; k < combinations && !b->failed; k++) {
    const neighbour *along[3];
    for (int d = dims - 1, rest = k; d >= 0; rest /= count, d--) along[d] = &beside[d][rest % count];
    tg_value *one = sample(b, rows, images, along, dims, sizes);
    sum = sum && !b->failed ? add(b, sum, one) : one;
  }
  if (b->failed) return TG_OK;
  results[0] = tg_build_cast(b, tg_build_reshape(b, tg_build_swap(b, sum), x->rank, out), x->dtype);
  return TG_OK;
}

/* theta [N, dims, dims + 1] by the places of a regular grid and 1. */
tg_status tg_make_affine_grid(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *theta = tg_in(node, 0);
  int64_t size[5];
  int count = tg_compose_ints(tg_in(node, 1), 5, size), dims = count - 2;
  bool corners = tg_attr_int(node, TG_ATTR_ALIGN_CORNERS) != 0;
  if (count != 4 && count != 5)
    return tg_fail(diag, TG_INVALID, "size is not constant, four or five numbers");
  if (theta->rank != 3 || theta->dims[0].size != size[0] || theta->dims[1].size != dims ||
      theta->dims[2].size != dims + 1 || !tg_dtype_is_float(theta->dtype))
    return tg_fail(diag, TG_INVALID, "theta does not fit size");
  double places = 1;
  for (int d = 2; d < count; d++)
    if (size[d] < 1 || (places *= (double)size[d]) > 1 << 24)
      return tg_fail(diag, TG_INVALID, "a grid of this size is not supported");
  for (int d = 2; d < count; d++)
    if (corners && size[d] == 1)
      return tg_fail(diag, TG_INVALID, "align_corners of one place is not supported");
  int64_t sizes[] = {(int64_t)places, dims + 1}, out[TG_MAX_RANK] = {size[0]};
  tg_value *regular = tg_build_made(b, TG_F32, 2, sizes);
  if (b->failed) return TG_OK;
  float *to = (float *)regular->data;
  for (int64_t p = 0; p < sizes[0]; p++) {
    int64_t rest = p;
    for (int d = dims - 1; d >= 0; d--) { /* coordinates: the last dimension first */
      int64_t n = size[2 + d], i = rest % n;
      rest /= n;
      double at = corners ? 2.0 * (double)i / (double)(n - 1) - 1 : (2.0 * (double)i + 1) / (double)n - 1;
      to[p * (dims + 1) + dims - 1 - d] = (float)at;
    }
    to[p * (dims + 1) + dims] = 1;
  }
  for (int d = 0; d < dims; d++) out[1 + d] = size[2 + d];
  out[1 + dims] = dims;
  tg_value *y = tg_build_matmul(b, regular, tg_build_swap(b, f32(b, theta)));
  results[0] = tg_build_cast(b, tg_build_reshape(b, y, dims + 2, out), theta->dtype);
  return TG_OK;
}
