/* Resize in any mode: each element of the result is a sum of neighbours along the dimensions (interpolate.h), or, of very many, as
 * where an image becomes smaller without gaps, a product with a matrix of their weights; or, in mode nearest, one of them. */
#include "frontend/decompose/resize.h"
#include "frontend/base/math.h"
#include "frontend/decompose/compose.h"
#include "frontend/decompose/interpolate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FEW_CHANNELS = 8 };
#define FAR 0x1p30 /* from the data: neither weights nor elements change beyond */

/* --- weights --- */

static double cubic(double a, double x) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static int64_t nearest(const tg_resize *r, double x) {
  return (int64_t)(!strcmp(r->nearest, "floor")               ? floor(x)
                   : !strcmp(r->nearest, "ceil")              ? ceil(x)
                   : !strcmp(r->nearest, "round_prefer_ceil") ? floor(x + 0.5)
                                                              : ceil(x - 0.5));
}

/* What element i of the result, which lies at x, is a sum of: calls take(user, position, weight) for each neighbour of x in order,
 * which may lie beyond the ends of the data, and have no weight. */
static void each_weight(const tg_resize *r, const tg_resize_axis *p, double x,
                        void (*take)(void *user, int64_t position, double weight), void *user) {
  bool linear = tg_resize_is(r, "linear");
  x = fmin(fmax(x, -FAR), FAR);
  double narrow = r->antialias ? fmin(p->scale, 1) : 1, first = ceil(x) - 1, ratio = x - first, sum = 0;
  int64_t begin = (int64_t)floor((linear ? -1 : -2) / narrow) + 1, end = 2 - begin;
  if (linear) end = begin + 2 - 2 * begin;
  for (int pass = 0; pass < 2; pass++)
    for (int64_t k = begin; k < end; k++) {
      double distance = ((double)k - ratio) * narrow;
      double weight = linear ? fmax(1 - fabs(distance), 0) : cubic(r->cubic, distance);
      int64_t at = (int64_t)first + k;
      if (r->exclude && (at < 0 || at >= p->from)) continue;
      if (pass)
        take(user, at, r->antialias || r->exclude ? weight / sum : weight);
      else
        sum += weight;
    }
}

static tg_value *chosen(tg_build *b, const tg_resize *r, const tg_resize_axis *p, tg_value *x, int axis) {
  tg_value *indices = tg_build_made(b, TG_I64, 1, &p->to);
  if (b->failed) return indices;
  for (int64_t i = 0; i < p->to; i++)
    ((int64_t *)indices->data)[i] = tg_clamp(nearest(r, tg_resize_place(r, p, i)), 0, p->from - 1);
  tg_value *operands[] = {x, indices};
  tg_node *gather = tg_graph_add_node(b->graph, TG_OP_GATHER, b->name, operands, 2, b->before, -1);
  tg_attr_set_int(gather, TG_ATTR_AXIS, axis);
  return tg_build_finish(b, gather);
}

/* The one element that there is. */
static tg_value *repeated(tg_build *b, const tg_resize_axis *p, tg_value *x, int axis) {
  int64_t sizes[TG_MAX_RANK];
  if (b->failed) return x;
  tg_value_sizes(x, sizes);
  sizes[axis] = p->to;
  return tg_build_expand(b, x, x->rank, sizes);
}

typedef struct column {
  float *at;
  int64_t from, step;
} column;

static void add_to_column(void *user, int64_t position, double weight) {
  const column *c = user;
  c->at[tg_clamp(position, 0, c->from - 1) * c->step] += (float)weight;
}

static tg_value *weighed(tg_build *b, const tg_resize *r, const tg_resize_axis *p, tg_value *x, int axis) {
  tg_value *weights = tg_build_made(b, TG_F32, 2, (int64_t[]){p->from, p->to});
  if (b->failed) return weights;
  for (int64_t i = 0; i < p->to; i++) {
    column c = {(float *)weights->data + i, p->from, p->to};
    each_weight(r, p, tg_resize_place(r, p, i), add_to_column, &c);
  }
  tg_value *rows = tg_build_move(b, x, axis, x->rank - 1);
  return tg_build_move(b, tg_build_matmul(b, rows, weights), x->rank - 1, axis);
}

/* ---- neighbours ---- */

typedef struct terms {
  int64_t first, last;
  bool any;
  double *weights; /* NULL: they are counted */
} terms;

static void take_term(void *user, int64_t position, double weight) {
  terms *t = user;
  if (weight == 0 && !t->weights) return;
  if (t->weights) {
    if (position >= t->first && position <= t->last) t->weights[position - t->first] = weight;
    return;
  }
  if (!t->any) t->first = position;
  t->last = position;
  t->any = true;
}

/* False: they are very many. */
static bool find_neighbours(tg_arena *arena, const tg_resize *r, const tg_resize_axis *p,
                            tg_neighbours *out) {
  *out = (tg_neighbours){.from = p->from, .to = p->to, .terms = 1};
  out->first = TG_NEW_ARRAY(arena, int64_t, (size_t)p->to);
  int64_t most = 1;
  for (int64_t i = 0; i < p->to; i++) {
    terms t = {0};
    each_weight(r, p, tg_resize_place(r, p, i), take_term, &t);
    out->first[i] = t.first;
    most = tg_max(most, t.last - t.first + 1);
  }
  if (most > TG_MOST_NEIGHBOURS) return false;
  out->terms = (int)most;
  out->weights = TG_NEW_ARRAY(arena, double, (size_t)(p->to * most));
  for (int64_t i = 0; i < p->to; i++) {
    terms t = {.first = out->first[i], .last = out->first[i] + most - 1, .weights = out->weights + i * most};
    each_weight(r, p, tg_resize_place(r, p, i), take_term, &t);
  }
  return true;
}

/* What lies outside of the data where it is cropped. */
static tg_value *extrapolated(tg_build *b, const tg_resize *r, const tg_resize_axis *p, tg_value *y,
                              int axis) {
  int64_t sizes[TG_MAX_RANK];
  bool any = false;
  for (int d = 0; d < y->rank; d++) sizes[d] = d == axis ? p->to : 1;
  tg_value *outside = tg_build_made(b, TG_BOOL, y->rank, sizes);
  if (b->failed) return outside;
  for (int64_t i = 0; i < p->to; i++) {
    double x = tg_resize_place(r, p, i);
    any |= ((uint8_t *)outside->data)[i] = x < 0 || x > (double)(p->from - 1);
  }
  tg_value *value =
      tg_graph_add_scalar(b->graph, "number", y->dtype, tg_attr_float(r->node, TG_ATTR_EXTRAPOLATION_VALUE));
  return any ? tg_build_cast(b, tg_build_where(b, outside, value, y), y->dtype) : y;
}

static tg_value *of_nothing(tg_build *b, const tg_value *x, const tg_resize_axis *axes) {
  int64_t sizes[TG_MAX_RANK];
  for (int d = 0; d < x->rank; d++) sizes[d] = axes[d].to;
  return tg_build_made(b, x->dtype, x->rank, sizes);
}

/* ---- all dimensions ---- */

static bool changes(const tg_resize *r, const tg_resize_axis *p) {
  return p->from != p->to || p->scale != 1 || (tg_resize_crops(r) && (p->roi[0] != 0 || p->roi[1] != 1));
}

static tg_value *along(tg_build *b, const tg_resize *r, const tg_resize_axis *p, tg_value *x, int axis) {
  tg_neighbours n;
  if (p->from == 1 && !tg_resize_is(r, "cubic")) /* there is nothing between one element and itself */
    return repeated(b, p, x, axis);
  if (tg_resize_is(r, "nearest")) return chosen(b, r, p, x, axis);
  if (!find_neighbours(b->graph->arena, r, p, &n)) return weighed(b, r, p, x, axis);
  if (axis + 1 < x->rank) return tg_interpolate(b, &n, x, axis);
  if (!axis) return tg_build_drop(b, tg_interpolate(b, &n, tg_build_insert(b, x, 1), 0), 1);
  int beside = x->rank > 2 && x->dims[1].size >= FEW_CHANNELS ? 1 : axis - 1;
  return tg_build_move(b, tg_interpolate(b, &n, tg_build_move(b, x, beside, axis), axis - 1), axis, beside);
}

static tg_value *along_axis(tg_build *b, const tg_resize *r, const tg_resize_axis *axes, tg_value *x,
                            int axis) {
  tg_value *y = along(b, r, &axes[axis], x, axis);
  return tg_resize_crops(r) ? extrapolated(b, r, &axes[axis], y, axis) : y;
}

/* Are neighbours gathered along some dimension? */
static bool gathers(const tg_build *b, const tg_resize *r, const tg_resize_axis *axes, int rank) {
  tg_neighbours n;
  for (int d = 0; d < rank; d++)
    if (changes(r, &axes[d]) && find_neighbours(b->graph->arena, r, &axes[d], &n) &&
        tg_interpolate_gathers(&n))
      return true;
  return false;
}

/* Is dimension d to come before another one, behind it? The one that grows least leaves the others the least to gather. Of two that
 * grow alike the last one has the shorter vectors, which so are fewer. */
static bool comes_before(const tg_resize_axis *axes, int d, int other) {
  double own = (double)axes[d].to / (double)axes[d].from,
         its = (double)axes[other].to / (double)axes[other].from;
  return own != its ? own < its : own < 1;
}

/* Of sums the last dimension first, for which vectors are to be moved: there is less to move as long as the others are small. */
static tg_value *each_along(tg_build *b, const tg_resize *r, const tg_resize_axis *axes, tg_value *x) {
  int order[TG_MAX_RANK], count = 0, first = tg_resize_is(r, "nearest") ? 0 : x->rank - 1;
  bool sorted = first > 0 && gathers(b, r, axes, x->rank);
  tg_value *y = x;
  for (int i = 0; i < x->rank; i++) {
    int d = sorted ? i : (first + i) % x->rank, at = count;
    if (!changes(r, &axes[d])) continue;
    while (sorted && at > 0 && !comes_before(axes, order[at - 1], d)) at--;
    memmove(order + at + 1, order + at, (size_t)(count - at) * sizeof *order);
    order[at] = d;
    count++;
  }
  for (int i = 0; i < count && !b->failed; i++) y = along_axis(b, r, axes, y, order[i]);
  return y;
}

/* An image [N, C, ..] of one or two dimensions with regular weights; what is so resized stays as it is. */
static tg_value *as_plane(tg_build *b, const tg_resize *r, tg_resize_axis *axes, tg_value *x) {
  const bool line = x->rank == 3;
  tg_neighbours own[2];
  const tg_neighbours *n[2] = {NULL, NULL};
  tg_value *y = line ? tg_build_insert(b, x, 2) : x;
  for (int d = 0; d < x->rank - 2; d++) {
    const tg_resize_axis *p = &axes[2 + d];
    int at = d + line;
    if (changes(r, p) && p->from > 1 && !tg_resize_crops(r) &&
        find_neighbours(b->graph->arena, r, p, &own[at]))
      n[at] = &own[at];
  }
  bool both = n[0] && n[1] && tg_interpolate_plane(b, n, y, &y), any = both;
  for (int d = 0; d < 2; d++) {
    const tg_neighbours *one[2] = {d ? NULL : n[0], d ? n[1] : NULL};
    if (!n[d] || (!both && !tg_interpolate_plane(b, one, y, &y))) continue;
    axes[2 + d - line] = (tg_resize_axis){n[d]->to, n[d]->to, 1, false, {0, 1}};
    any = true;
  }
  if (!any) return x;
  return line && !b->failed ? tg_build_drop(b, y, 2) : y;
}

/* The dimension of channels, beside those that change; -1: there is none. */
static int channels_of(const tg_resize *r, const tg_value *x, const tg_resize_axis *axes) {
  bool second = x->rank > 2, last = x->rank > 2;
  for (int d = 0; d < x->rank; d++) {
    bool changed = changes(r, &axes[d]);
    second = second && (d > 1 || !changed);
    last = last && ((d > 0 && d < x->rank - 1) || !changed);
  }
  return second ? 1 : last ? x->rank - 1 : -1;
}

static void move_plan(tg_resize_axis *axes, int from, int to) {
  tg_resize_axis moved = axes[from];
  for (int d = from; d != to; d += from < to ? 1 : -1) axes[d] = axes[d + (from < to ? 1 : -1)];
  axes[to] = moved;
}

static bool is_window(const tg_node *node) {
  switch (node->op) {
  case TG_OP_CONV:
  case TG_OP_CONV_TRANSPOSE:
  case TG_OP_MAX_POOL:
  case TG_OP_AVERAGE_POOL: return true;
  default: return false;
  }
}

/* Does a convolution read it, or what is made of it element by element? Then its channels will lie side by side. */
static bool is_convolved(const tg_value *x, int *budget) {
  for (const tg_use *use = x->uses; use && *budget > 0; use = use->next) {
    const tg_node *node = use->node;
    --*budget;
    if (is_window(node)) return true;
    bool same = node->op == TG_OP_CONCAT || (tg_out(node) && tg_value_same_shape(tg_out(node), x));
    if (same && is_convolved(tg_out(node), budget)) return true;
  }
  return false;
}

/* Sums are made of vectors of channels where these are many and lie side by side; else of what lies behind the dimension. */
static tg_value *summed(tg_build *b, const tg_resize *r, tg_resize_axis *axes, tg_value *x) {
  int rank = x->rank, channels = channels_of(r, x, axes), at = channels, budget = 64;
  tg_value *y = f32(b, x);
  bool many = channels > 0 && x->dims[channels].size >= FEW_CHANNELS;
  if (channels > 1) {
    y = tg_build_move(b, y, channels, at = 1);
    move_plan(axes, channels, 1);
  }
  if (many && (channels > 1 || is_convolved(tg_out(r->node), &budget))) {
    if (rank <= 4) y = as_plane(b, r, axes, y);
    bool more = false;
    for (int d = 0; d < rank; d++) more |= changes(r, &axes[d]);
    if (more) {
      y = tg_build_move(b, y, 1, at = rank - 1);
      move_plan(axes, 1, rank - 1);
    }
  }
  y = each_along(b, r, axes, y);
  return at == channels || b->failed ? y : tg_build_move(b, y, at, channels);
}

tg_status tg_make_resize(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_resize r;
  tg_resize_axis axes[TG_MAX_RANK];
  tg_value *x = tg_in(node, 0);
  if (tg_resize_read(node, &r, axes, diag)) return TG_INVALID;
  bool picks = tg_resize_is(&r, "nearest");
  if (!picks && !tg_dtype_is_float(x->dtype))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" of %s is not supported", r.mode, tg_dtype_name(x->dtype));
  double elements = 1;
  for (int d = 0; d < x->rank; d++) elements *= (double)axes[d].to;
  if (tg_compose_bounded(elements, diag)) return TG_INVALID;
  if (!elements) {
    results[0] = of_nothing(b, x, axes);
    return TG_OK;
  }
  tg_value *y = picks ? each_along(b, &r, axes, x) : summed(b, &r, axes, x);
  results[0] = y == x ? tg_build_unary(b, TG_OP_IDENTITY, x) : tg_build_cast(b, y, x->dtype);
  return TG_OK;
}
