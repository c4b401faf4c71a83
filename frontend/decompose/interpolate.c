#include "frontend/decompose/interpolate.h"
#include "frontend/base/math.h"
#include "frontend/decompose/compose.h"
#include "frontend/infer/window.h"

#include <math.h>
#include <string.h>

enum {
  MOST_PHASES = 8,     /* sections that are stored between each other; more are gathered */
  MOST_REMAINDERS = 16 /* sections of a transposed convolution */
};

static double weight_of(const tg_neighbours *n, int64_t j, int term) {
  return n->weights[j * n->terms + term];
}

static int terms_of(const tg_neighbours *n, int64_t j) {
  int count = n->terms;
  while (count > 1 && weight_of(n, j, count - 1) == 0) count--;
  return count;
}

static int64_t held(const tg_neighbours *n, int64_t position) { return tg_clamp(position, 0, n->from - 1); }

/* x with `before` and `behind` copies of its ends. */
static tg_value *framed(tg_build *b, tg_value *x, int axis, int64_t before, int64_t behind) {
  tg_value *parts[2 * TG_MOST_NEIGHBOURS + 1];
  int64_t size = x->dims[axis].size;
  int count = 0;
  for (int64_t i = 0; i < before; i++) parts[count++] = tg_build_slice(b, x, axis, 0, 1, 1);
  parts[count++] = x;
  for (int64_t i = 0; i < behind; i++) parts[count++] = tg_build_slice(b, x, axis, size - 1, size, 1);
  return count > 1 ? tg_build_concat(b, parts, count, axis) : x;
}

/* ---- phases: elements whose remainder modulo the scale is the same have neighbours at the same distance ---- */

typedef struct phase {
  int64_t base; /* position of the first neighbour of element i of the phase, less i */
  int terms;
} phase;

static bool find_phase(const tg_neighbours *n, int64_t scale, int64_t number, phase *out) {
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (int64_t i = 0; i < n->from; i++) {
    int64_t j = i * scale + number, first = n->first[j] - i;
    least = tg_min(least, first);
    most = tg_max(most, first + terms_of(n, j) - 1);
  }
  *out = (phase){least, (int)(most - least + 1)};
  return most - least < n->terms && -least <= TG_MOST_NEIGHBOURS && most <= TG_MOST_NEIGHBOURS;
}

/* How many phases there are; 0: neighbours lie otherwise. */
static int64_t find_phases(const tg_neighbours *n, phase out[MOST_PHASES]) {
  int64_t scale = n->to / n->from;
  if (n->to % n->from || scale > MOST_PHASES) return 0;
  for (int64_t k = 0; k < scale; k++)
    if (!find_phase(n, scale, k, &out[k])) return 0;
  return scale;
}

/* The weight of the term at `position` of those from `first` on: of what is the same element an equal part each. */
static double share(const tg_neighbours *n, int64_t j, int64_t first, int terms, int64_t position) {
  double sum = 0;
  int same = 0;
  for (int t = 0; t < n->terms; t++)
    if (held(n, n->first[j] + t) == held(n, position)) sum += weight_of(n, j, t);
  for (int t = 0; t < terms; t++) same += held(n, first + t) == held(n, position);
  return sum / same;
}

/* A number for each element along the axis of x. */
static tg_value *numbers(tg_build *b, const tg_value *x, int axis, int64_t count) {
  int64_t sizes[TG_MAX_RANK];
  for (int d = 0; d < x->rank; d++) sizes[d] = d == axis ? count : 1;
  return tg_build_made(b, TG_F32, x->rank, sizes);
}

static tg_value *phase_of(tg_build *b, const tg_neighbours *n, tg_value *whole, int axis, int64_t before,
                          int64_t scale, int64_t number, const phase *p) {
  tg_value *sum = NULL;
  for (int t = 0; t < p->terms; t++) {
    int64_t from = before + p->base + t;
    tg_value *weights = numbers(b, whole, axis, n->from);
    if (b->failed) return whole;
    for (int64_t i = 0; i < n->from; i++)
      ((float *)weights->data)[i] =
          (float)share(n, i * scale + number, i + p->base, p->terms, i + p->base + t);
    tg_value *term = mul(b, tg_build_slice(b, whole, axis, from, from + n->from, 1), weights);
    sum = sum ? add(b, sum, term) : term;
  }
  return sum;
}

/* Phase by phase, of views of the data, into places between each other. */
static tg_value *interleaved(tg_build *b, const tg_neighbours *n, tg_value *x, int axis, int64_t scale,
                             const phase *phases) {
  tg_value *parts[MOST_PHASES];
  int64_t before = 0, behind = 0, sizes[TG_MAX_RANK];
  for (int64_t k = 0; k < scale; k++) {
    before = tg_max(before, -phases[k].base);
    behind = tg_max(behind, phases[k].base + phases[k].terms - 1);
  }
  tg_value_sizes(x, sizes);
  sizes[axis] = n->to;
  tg_value *whole = framed(b, x, axis, before, behind);
  for (int64_t k = 0; k < scale; k++) {
    parts[k] = phase_of(b, n, whole, axis, before, scale, k, &phases[k]);
    if (b->failed) return x;
    if (scale > 1) parts[k] = tg_build_insert(b, parts[k], axis + 1);
  }
  if (scale == 1) return parts[0];
  return tg_build_reshape(b, tg_build_concat(b, parts, (int)scale, axis + 1), x->rank, sizes);
}

/* ---- anywhere ---- */

/* Position of a term; those that an element has no term for are its first one, which shares its weight with them. */
static int64_t gathered(const tg_neighbours *n, int64_t j, int term) {
  int first = 0, last = terms_of(n, j) - 1;
  while (first < last && weight_of(n, j, first) == 0) first++;
  return held(n, n->first[j] + (term < first || term > last ? first : term));
}

static tg_value *term_of(tg_build *b, const tg_neighbours *n, tg_value *x, int axis, int term) {
  tg_value *indices = tg_build_made(b, TG_I64, 1, &n->to), *weights = numbers(b, x, axis, n->to);
  if (b->failed) return x;
  for (int64_t j = 0; j < n->to; j++) {
    int64_t at = gathered(n, j, term);
    double sum = 0;
    int same = 0;
    for (int t = 0; t < n->terms; t++) {
      if (held(n, n->first[j] + t) == at) sum += weight_of(n, j, t);
      same += gathered(n, j, t) == at;
    }
    ((int64_t *)indices->data)[j] = at;
    ((float *)weights->data)[j] = (float)(sum / same);
  }
  tg_value *operands[] = {x, indices};
  tg_node *gather = tg_graph_add_node(b->graph, TG_OP_GATHER, b->name, operands, 2, b->before, -1);
  tg_attr_set_int(gather, TG_ATTR_AXIS, axis);
  return mul(b, tg_build_finish(b, gather), weights);
}

/* ---- as a transposed convolution ---- */

/* Along a dimension: copies of the data's ends in front and behind; the kernel, whose position p has element scale i + first + p
 * of the result for element i of the data. The first `scale` elements have neighbours at all positions. */
typedef struct stencil {
  int64_t scale, before, behind, first, positions;
  double weights[MOST_REMAINDERS * (TG_MOST_NEIGHBOURS + 1)];
} stencil;

static const stencil same = {.scale = 1, .positions = 1, .weights = {1}};

/* Are the weights of the elements of a phase those of the first one? Positions were computed in FP32, perhaps. */
static bool is_regular(const tg_neighbours *n, int64_t scale) {
  double close = 0x1p-20 + 0x1p-22 * (double)n->from;
  for (int64_t j = scale; j < n->to; j++) {
    int64_t first = n->first[j] - j / scale, own = n->first[j % scale];
    for (int64_t at = tg_min(first, own); at < tg_max(first, own) + n->terms; at++) {
      double mine = at < first || at >= first + n->terms ? 0 : weight_of(n, j, (int)(at - first)),
             other = at < own || at >= own + n->terms ? 0 : weight_of(n, j % scale, (int)(at - own));
      if (fabs(mine - other) > close) return false;
    }
  }
  return true;
}

/* Positions of the kernel, and how far it reaches beyond the data. */
static bool place_stencil(const tg_neighbours *n, stencil *out) {
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (int64_t j = 0; j < n->to; j++)
    for (int t = 0; t < n->terms; t++) {
      int64_t at = n->first[j] + t, position = j - out->scale * at;
      if (weight_of(n, j, t) == 0) continue;
      out->before = tg_max(out->before, -at);
      out->behind = tg_max(out->behind, at - n->from + 1);
      least = tg_min(least, position);
      most = tg_max(most, position);
    }
  out->first = least;
  out->positions = most - least + 1;
  return most - least < (int64_t)(sizeof out->weights / sizeof *out->weights) &&
         out->before <= TG_MOST_NEIGHBOURS && out->behind <= TG_MOST_NEIGHBOURS;
}

static bool find_stencil_of(const tg_neighbours *n, int64_t scale, stencil *out) {
  *out = (stencil){.scale = scale};
  if (scale > MOST_REMAINDERS || !is_regular(n, scale) || !place_stencil(n, out)) return false;
  for (int64_t k = 0; k < scale; k++)
    for (int t = 0; t < n->terms; t++)
      if (weight_of(n, k, t) != 0)
        out->weights[k - scale * (n->first[k] + t) - out->first] = weight_of(n, k, t);
  return true;
}

/* The result has `scale` elements for each of the data; or, where corners are aligned, for each step between two of them. */
static bool find_stencil(const tg_neighbours *n, stencil *out) {
  if (n->to % n->from == 0 && find_stencil_of(n, n->to / n->from, out)) return true;
  int64_t steps = n->from - 1;
  return steps > 0 && n->to > 1 && (n->to - 1) % steps == 0 && find_stencil_of(n, (n->to - 1) / steps, out);
}

/* What of the whole result lies in front of what is asked for, and behind it. */
static void crop(const stencil *s, int64_t from, int64_t to, int64_t *begin, int64_t *end) {
  *begin = s->scale * s->before - s->first;
  *end = (from + s->before + s->behind - 1) * s->scale + s->positions - *begin - to;
}

bool tg_interpolate_plane(tg_build *b, const tg_neighbours *const n[2], tg_value *x, tg_value **out) {
  stencil s[2] = {same, same};
  int64_t channels = x->dims[1].size, pads[4];
  if (channels > TG_MOST_GROUPS) return false;
  for (int d = 0; d < 2; d++) {
    int64_t from = x->dims[2 + d].size;
    if (n[d] && !find_stencil(n[d], &s[d])) return false;
    crop(&s[d], from, n[d] ? n[d]->to : from, &pads[d], &pads[2 + d]);
    if (pads[d] < 0 || pads[2 + d] < 0) return false;
  }
  if (s[0].scale * s[1].scale > MOST_REMAINDERS) return false;
  const int64_t kernel[] = {s[0].positions, s[1].positions}, strides[] = {s[0].scale, s[1].scale},
                sizes[] = {channels, 1, kernel[0], kernel[1]};
  tg_value *weights = tg_build_made(b, TG_F32, 4, sizes);
  *out = x;
  if (b->failed) return true;
  for (int64_t i = 0; i < channels * kernel[0] * kernel[1]; i++)
    ((float *)weights->data)[i] =
        (float)(s[0].weights[i / kernel[1] % kernel[0]] * s[1].weights[i % kernel[1]]);
  tg_value *whole = x;
  for (int d = 0; d < 2; d++) whole = framed(b, whole, 2 + d, s[d].before, s[d].behind);
  tg_value *operands[] = {whole, weights};
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_CONV_TRANSPOSE, b->name, operands, 2, b->before, -1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_KERNEL_SHAPE, kernel, 2);
  tg_attr_set_ints(b->graph, node, TG_ATTR_STRIDES, strides, 2);
  tg_attr_set_ints(b->graph, node, TG_ATTR_DILATIONS, (int64_t[]){1, 1}, 2);
  tg_attr_set_ints(b->graph, node, TG_ATTR_PADS, pads, 4);
  tg_attr_set_int(node, TG_ATTR_GROUP, channels);
  *out = tg_build_finish(b, node);
  return true;
}

/* Vectors of what lies behind the axis are channels, or, where there is very much, pixels of as many columns with their channels. */
static bool as_image(tg_build *b, const tg_neighbours *n, tg_value *x, int axis, tg_value **out) {
  const tg_neighbours *rows[2] = {n, NULL};
  int64_t sizes[TG_MAX_RANK], image[4] = {1, n->from, 1, 1};
  if (b->failed) return false;
  tg_value_sizes(x, sizes);
  for (int d = 0; d < axis; d++) image[0] *= sizes[d];
  for (int d = x->rank - 1; d > axis; d--)
    image[image[2] == 1 && image[3] * sizes[d] <= TG_MOST_GROUPS ? 3 : 2] *= sizes[d];
  if (image[3] < 2) return false;
  tg_value *y = tg_build_move(b, tg_build_reshape(b, x, 4, image), 3, 1);
  if (!tg_interpolate_plane(b, rows, y, &y)) return false;
  sizes[axis] = n->to;
  *out = b->failed ? x : tg_build_reshape(b, tg_build_move(b, y, 1, 3), x->rank, sizes);
  return true;
}

/* ---- either way ---- */

bool tg_interpolate_gathers(const tg_neighbours *n) {
  phase phases[MOST_PHASES];
  stencil s;
  return !find_phases(n, phases) && !find_stencil(n, &s);
}

tg_value *tg_interpolate(tg_build *b, const tg_neighbours *n, tg_value *x, int axis) {
  phase phases[MOST_PHASES];
  tg_value *y;
  if (as_image(b, n, x, axis, &y)) return y;
  int64_t scale = find_phases(n, phases);
  if (scale) return interleaved(b, n, x, axis, scale, phases);
  tg_value *sum = NULL;
  for (int term = 0; term < n->terms && !b->failed; term++) {
    tg_value *next = term_of(b, n, x, axis, term);
    sum = sum && !b->failed ? add(b, sum, next) : next;
  }
  return sum;
}
