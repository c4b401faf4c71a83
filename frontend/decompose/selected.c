/* Operators whose results are as large as values say: computed when the model is compiled, of constants, or in the host's part of
 * a run, where they are such (host_part.c). */
#include "frontend/decompose/compose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 24 };
#define MOST_COMPARED (INT64_C(1) << 28) /* pairs of boxes, which take some 5 to 10 seconds */

static tg_status check_constant(const tg_build *b, const tg_node *node, const tg_value *x, const char *what,
                                tg_diag *diag) {
  if (b && !tg_is_constant(x)) b->graph->undecided = node->id;
  if (!tg_is_constant(x) || x->elided)
    return tg_fail(diag, TG_INVALID, "%s decides the size of its result, and is not constant", what);
  if (tg_value_elements(x) <= MOST) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%s has more than %d elements", what, MOST);
}

static tg_value *integers(tg_build *b, int rank, const int64_t *sizes, const int64_t *data) {
  tg_value *made = tg_build_made(b, TG_I64, rank, sizes);
  if (!b->failed && tg_value_elements(made))
    memcpy((void *)made->data, data, (size_t)tg_value_elements(made) * sizeof *data);
  return made;
}

/* As a number; integers beyond 2^53 are compared by order(). */
static double number(const tg_value *x, int64_t i) {
  if (x->dtype == TG_F64) return ((const double *)x->data)[i];
  if (tg_dtype_is_float(x->dtype)) return (double)tg_load_f32(x->data, x->dtype, (size_t)i);
  return (double)tg_load_i64(x->data, x->dtype, (size_t)i);
}

/* --- NonZero, Compress --- */

tg_status tg_make_non_zero(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (check_constant(b, node, x, "its data", diag)) return TG_INVALID;
  if (!x->rank) return tg_fail(diag, TG_INVALID, "a scalar is not supported");
  int64_t count = tg_value_elements(x), found = 0, sizes[] = {x->rank, 0};
  for (int64_t i = 0; i < count; i++) found += number(x, i) != 0;
  sizes[1] = found;
  results[0] = tg_build_made(b, TG_I64, 2, sizes);
  if (b->failed) return TG_OK;
  int64_t *places = (int64_t *)results[0]->data, at = 0;
  for (int64_t i = 0; i < count; i++) {
    if (number(x, i) == 0) continue;
    int64_t rest = i;
    for (int d = x->rank - 1; d >= 0; d--) {
      places[d * found + at] = rest % x->dims[d].size;
      rest /= x->dims[d].size;
    }
    at++;
  }
  return TG_OK;
}

/* Slices of which the condition is true; what it does not reach is left out. */
tg_status tg_make_compress(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  enum { NO_AXIS = INT32_MIN };
  tg_value *x = tg_in(node, 0), *condition = tg_in(node, 1);
  int axis = 0;
  if (check_constant(b, node, condition, "its condition", diag)) return TG_INVALID;
  if (condition->rank != 1 || condition->dtype != TG_BOOL)
    return tg_fail(diag, TG_INVALID, "its condition is no list of bools");
  if (tg_attr_int(node, TG_ATTR_AXIS) == NO_AXIS) {
    int64_t flat = tg_value_elements(x);
    x = tg_build_reshape(b, x, 1, &flat);
  } else if (tg_compose_axis(node, x->rank, &axis, diag)) {
    return TG_INVALID;
  }
  int64_t size = x->dims[axis].size, known = condition->dims[0].size, count = 0,
          *chosen = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)known + 1);
  for (int64_t i = 0; i < known; i++) {
    if (!((const uint8_t *)condition->data)[i]) continue;
    if (i >= size)
      return tg_fail(diag, TG_INVALID, "its condition is true beyond the %" PRId64 " slices", size);
    chosen[count++] = i;
  }
  tg_value *operands[] = {x, integers(b, 1, &count, chosen)};
  tg_node *gather = tg_graph_add_node(b->graph, TG_OP_GATHER, b->name, operands, 2, b->before, -1);
  tg_attr_set_int(gather, TG_ATTR_AXIS, axis);
  results[0] = tg_build_finish(b, gather);
  return TG_OK;
}

/* --- Unique --- */

/* Slices of a constant along an axis: slice i has the elements [o, i, k] of [outer, count, inner]. */
typedef struct slices {
  const tg_value *x;
  int64_t outer, count, inner;
} slices;

static int compare_elements(const tg_value *x, int64_t a, int64_t b) {
  if (tg_dtype_is_float(x->dtype)) {
    double p = number(x, a), q = number(x, b);
    return (p > q) - (p < q);
  }
  int64_t p = tg_load_i64(x->data, x->dtype, (size_t)a), q = tg_load_i64(x->data, x->dtype, (size_t)b);
  if (x->dtype == TG_U64) return ((uint64_t)p > (uint64_t)q) - ((uint64_t)p < (uint64_t)q);
  return (p > q) - (p < q);
}

static int compare_slices(const slices *s, int64_t a, int64_t b) {
  for (int64_t o = 0; o < s->outer; o++)
    for (int64_t k = 0; k < s->inner; k++) {
      int64_t row = o * s->count;
      int order = compare_elements(s->x, (row + a) * s->inner + k, (row + b) * s->inner + k);
      if (order) return order;
    }
  return 0;
}

static int by_order(const void *a, const void *b, void *user) {
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  int order = compare_slices(user, i, j);
  return order ? order : (i > j) - (i < j);
}

static int by_place(const void *a, const void *b) {
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  return (i > j) - (i < j);
}

/* The first slice of each kind into `first`: in their order, or that of their places. Which of them each slice is of. The
 * number of kinds. */
static int64_t find_kinds(tg_build *b, slices *s, bool sorted, int64_t *first, int64_t *kind_of) {
  int64_t *order = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)s->count + 1), kinds = 0;
  for (int64_t i = 0; i < s->count; i++) order[i] = i;
  qsort_r(order, (size_t)s->count, sizeof *order, by_order, s);
  for (int64_t i = 0; i < s->count; i++) {
    if (!i || compare_slices(s, order[i - 1], order[i])) first[kinds++] = order[i];
    kind_of[order[i]] = kinds - 1;
  }
  if (sorted) return kinds;
  int64_t *place_of = order; /* of a kind's first slice: which kind it is now */
  int64_t *old = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)kinds + 1);
  memcpy(old, first, (size_t)kinds * sizeof *first);
  qsort(first, (size_t)kinds, sizeof *first, by_place);
  for (int64_t k = 0; k < kinds; k++) place_of[first[k]] = k;
  for (int64_t i = 0; i < s->count; i++) kind_of[i] = place_of[old[kind_of[i]]];
  return kinds;
}

static void take_slices(const slices *s, const int64_t *first, int64_t kinds, char *to) {
  size_t size = tg_dtype_size(s->x->dtype) * (size_t)s->inner;
  for (int64_t o = 0; o < s->outer; o++)
    for (int64_t i = 0; i < kinds; i++, to += size)
      if (size) memcpy(to, (const char *)s->x->data + (size_t)(o * s->count + first[i]) * size, size);
}

tg_status tg_make_unique(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  enum { NO_AXIS = INT32_MIN, MOST_SLICES = 1 << 14 };
  const tg_value *x = tg_in(node, 0);
  int axis = 0, rank = x->rank;
  bool flat = tg_attr_int(node, TG_ATTR_AXIS) == NO_AXIS;
  if (check_constant(b, node, x, "its data", diag) || (!flat && tg_compose_axis(node, rank, &axis, diag)))
    return TG_INVALID;
  int64_t count = tg_value_elements(x), sizes[TG_MAX_RANK];
  for (int64_t i = 0; i < count; i++)
    if (isnan(number(x, i))) return tg_fail(diag, TG_INVALID, "its data holds NaN");
  tg_value_sizes(x, sizes);
  slices s = {x, 1, count, 1};
  if (!flat)
    s = (slices){x, tg_value_elements_between(x, 0, axis), sizes[axis],
                 tg_value_elements_between(x, axis + 1, rank)};
  if (s.count > MOST_SLICES) return tg_fail(diag, TG_INVALID, "%" PRId64 " slices are too many", s.count);
  if (!count) s.outer = 0; /* sizes of nothing are any numbers */
  int64_t *first = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)s.count + 1);
  int64_t *kind_of = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)s.count + 1);
  int64_t kinds = find_kinds(b, &s, tg_attr_int(node, TG_ATTR_SORTED) != 0, first, kind_of);
  int64_t *counts = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)kinds + 1);
  for (int64_t i = 0; i < s.count; i++) counts[kind_of[i]]++;
  if (flat) rank = 1;
  sizes[axis] = kinds;
  results[0] = tg_build_made(b, x->dtype, rank, sizes);
  if (b->failed) return TG_OK;
  take_slices(&s, first, kinds, (char *)results[0]->data);
  results[1] = integers(b, 1, &kinds, first);
  results[2] = integers(b, 1, &s.count, kind_of);
  results[3] = integers(b, 1, &kinds, counts);
  return TG_OK;
}

/* --- NonMaxSuppression --- */

typedef struct boxes {
  const tg_value *at, *scores;
  bool centred;
  int64_t batches, classes, count;
  int64_t row;      /* of scores, that is looked at */
  int64_t compared; /* pairs of boxes so far */
} boxes;

typedef struct box {
  double low[2], high[2];
} box;

static box box_of(const boxes *s, int64_t batch, int64_t i) {
  double v[4];
  box made;
  for (int k = 0; k < 4; k++) v[k] = number(s->at, (batch * s->count + i) * 4 + k);
  for (int k = 0; k < 2; k++) {
    made.low[k] = s->centred ? v[k] - v[k + 2] / 2 : fmin(v[k], v[k + 2]);
    made.high[k] = s->centred ? v[k] + v[k + 2] / 2 : fmax(v[k], v[k + 2]);
  }
  return made;
}

static double overlap(box a, box b) {
  double both_sides = 1, first = 1, second = 1;
  for (int k = 0; k < 2; k++) {
    both_sides *= fmax(fmin(a.high[k], b.high[k]) - fmax(a.low[k], b.low[k]), 0);
    first *= a.high[k] - a.low[k];
    second *= b.high[k] - b.low[k];
  }
  double all = first + second - both_sides;
  return all > 0 ? both_sides / all : 0;
}

static int by_score(const void *a, const void *b, void *user) {
  const boxes *s = user;
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  double p = number(s->scores, s->row + i), q = number(s->scores, s->row + j);
  return p != q ? (p < q) - (p > q) : (i > j) - (i < j);
}

/* The boxes of one class, from the best score on, that overlap none chosen before; their number, or -1: that takes too long.
 * `order` and `room` have a place for each. */
static int64_t choose_boxes(boxes *s, int64_t batch, int64_t class, double threshold, double lowest,
                            int64_t most, int64_t *order, box *room, int64_t *out) {
  int64_t chosen = 0, count = 0;
  s->row = (batch * s->classes + class) * s->count;
  for (int64_t i = 0; i < s->count; i++)
    if (number(s->scores, s->row + i) > lowest) order[count++] = i;
  qsort_r(order, (size_t)count, sizeof *order, by_score, s);
  for (int64_t i = 0; i < count && chosen < most; i++) {
    box next = box_of(s, batch, order[i]);
    bool open = true;
    for (int64_t k = 0; open && k < chosen; k++, s->compared++) open = overlap(room[k], next) <= threshold;
    if (s->compared > MOST_COMPARED) return -1;
    if (!open) continue;
    room[chosen] = next;
    out[chosen++] = order[i];
  }
  return chosen;
}

static tg_status scalar(const tg_value *x, double absent, double *out, tg_diag *diag) {
  *out = absent;
  if (!x) return TG_OK;
  if (tg_value_elements(x) != 1) return tg_fail(diag, TG_INVALID, "a limit is no single number");
  *out = number(x, 0);
  return TG_OK;
}

tg_status tg_make_non_max_suppression(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  boxes s = {.at = tg_in(node, 0),
             .scores = tg_in(node, 1),
             .centred = tg_attr_int(node, TG_ATTR_CENTER_POINT_BOX) != 0};
  double most, threshold, lowest;
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) &&
        check_constant(b, node, tg_in(node, i), i < 2 ? "what are its boxes and scores" : "a limit", diag))
      return TG_INVALID;
  if (s.at->rank != 3 || s.scores->rank != 3 || s.at->dims[2].size != 4 ||
      s.at->dims[0].size != s.scores->dims[0].size || s.at->dims[1].size != s.scores->dims[2].size)
    return tg_fail(diag, TG_INVALID, "its boxes and scores do not fit");
  if (scalar(tg_in(node, 2), 0, &most, diag) || scalar(tg_in(node, 3), 0, &threshold, diag) ||
      scalar(tg_in(node, 4), -INFINITY, &lowest, diag))
    return TG_INVALID;
  s.batches = s.scores->dims[0].size;
  s.classes = s.scores->dims[1].size;
  s.count = s.at->dims[1].size;
  int64_t limit = most < 0 ? 0 : most > (double)s.count ? s.count : (int64_t)most, found = 0;
  if (tg_graph_count_made(b->graph, TG_I64, 4, (int64_t[]){s.batches, s.classes, limit, 3}, diag))
    return TG_INVALID;
  int64_t *list = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)(s.batches * s.classes * limit * 3) + 1),
          *one = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)limit + 1),
          *order = TG_NEW_ARRAY(b->graph->arena, int64_t, (size_t)s.count + 1);
  box *room = TG_NEW_ARRAY(b->graph->arena, box, (size_t)limit + 1);
  for (int64_t n = 0; limit && n < s.batches; n++)
    for (int64_t c = 0; c < s.classes; c++) {
      int64_t count = choose_boxes(&s, n, c, threshold, lowest, limit, order, room, one);
      if (count < 0)
        return tg_fail(diag, TG_INVALID, "it compares more than %" PRId64 " pairs of boxes", MOST_COMPARED);
      for (int64_t i = 0; i < count; i++, found++)
        memcpy(list + 3 * found, (int64_t[]){n, c, one[i]}, 3 * sizeof *list);
    }
  results[0] = integers(b, 2, (int64_t[]){found, 3}, list);
  return TG_OK;
}

/* --- Dropout with its mask, or a mode that is an operand --- */

tg_status tg_make_dropout_mask(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  const tg_value *ratio = tg_in(node, 1), *mode = tg_in(node, 2);
  if (mode && (check_constant(NULL, node, mode, "its training_mode", diag) || tg_value_elements(mode) != 1))
    return tg_fail(diag, TG_INVALID, "training_mode must be a constant");
  if (mode && number(mode, 0) != 0) {
    double share = 0.5;
    if (ratio && (!tg_is_constant(ratio) || scalar(ratio, 0.5, &share, diag)))
      return tg_fail(diag, TG_INVALID, "ratio must be a constant");
    if (share != 0) return tg_fail(diag, TG_INVALID, "training_mode = 1 is for training");
  }
  int64_t sizes[TG_MAX_RANK], count = tg_value_elements(x);
  tg_value_sizes(x, sizes);
  results[0] = tg_build_unary(b, TG_OP_IDENTITY, x);
  results[1] = tg_build_made(b, TG_BOOL, x->rank, sizes);
  if (b->failed) return TG_OK;
  memset((void *)results[1]->data, 1, (size_t)count);
  return TG_OK;
}
