/* Samples of images between their elements: of regions (RoiAlign), and where offsets say (DeformConv). */
#include "frontend/base/math.h"
#include "frontend/decompose/compose.h"
#include "frontend/infer/window.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- RoiAlign --- */

enum { MOST_SAMPLES = 64, MOST_PARTS = 64, EACH_PART = 1 << 26 /* elements */ };

typedef struct regions {
  tg_value *x, *rois, *images;     /* FP32: [N, C, H, W]; [regions, 4]; the image of each region */
  int64_t channels, count, out[2]; /* the latter: regions; results along height and width */
  int64_t samples[2];              /* of a result along height and width: the most of any region */
  int64_t *counts[2];              /* of each region, where they differ; else NULL */
  bool half_pixel, maximum; /* positions are half an element less; the largest term in place of the mean */
  double scale;
} regions;

/* As many as elements of the image lie in a result of the region, which must be known. */
static tg_status count_samples(tg_arena *arena, const tg_value *rois, regions *r, tg_diag *diag) {
  if (!tg_is_constant(rois) || rois->elided)
    return tg_fail(diag, TG_INVALID, "sampling_ratio = 0 needs rois that are constant");
  float offset = r->half_pixel ? 0.5f : 0, scale = (float)r->scale;
  for (int d = 0; d < 2; d++) {
    r->counts[d] = TG_NEW_ARRAY(arena, int64_t, (size_t)r->count);
    r->samples[d] = 1;
    for (int64_t i = 0; i < r->count; i++) { /* in FP32, as the places are */
      float begin = tg_load_f32(rois->data, rois->dtype, (size_t)(4 * i + 1 - d)) * scale - offset,
            end = tg_load_f32(rois->data, rois->dtype, (size_t)(4 * i + 3 - d)) * scale - offset,
            size = r->half_pixel ? end - begin : fmaxf(end - begin, 1),
            count = ceilf(size / (float)r->out[d]);
      if (!(count <= MOST_SAMPLES))
        return tg_fail(diag, TG_INVALID,
                       "region %" PRId64 " asks for %g samples of a result, %d are possible", i,
                       (double)count, MOST_SAMPLES);
      r->counts[d][i] = count > 0 ? (int64_t)count : 0;
      if (r->counts[d][i] > r->samples[d]) r->samples[d] = r->counts[d][i];
    }
  }
  return TG_OK;
}

/* What is gathered for all regions. */
static double elements_of(const regions *r) {
  return (double)r->count * (double)r->channels * 4 * (double)(r->out[0] * r->samples[0]) *
         (double)(r->out[1] * r->samples[1]);
}

/* Reads and checks a RoiAlign: x [n, c, h, w], rois [count, 4] as two corners, the image of each. A sampling ratio of 0 takes as many
 * samples as a region's bin has pixels, so the regions must be known then (count_samples). */
static tg_status read_regions(tg_arena *arena, const tg_node *node, regions *r, tg_diag *diag) {
  enum { MOST = 1 << 12 };
  const tg_value *x = tg_in(node, 0), *rois = tg_in(node, 1), *batch = tg_in(node, 2);
  const char *mode = tg_attr_text(node, TG_ATTR_MODE), *how = tg_attr_text(node, TG_ATTR_COORDINATE_MODE);
  r->out[0] = tg_attr_int(node, TG_ATTR_OUTPUT_HEIGHT);
  r->out[1] = tg_attr_int(node, TG_ATTR_OUTPUT_WIDTH);
  r->samples[0] = r->samples[1] = tg_attr_int(node, TG_ATTR_SAMPLING_RATIO);
  r->scale = tg_attr_float(node, TG_ATTR_SPATIAL_SCALE);
  r->maximum = !strcmp(mode, "max");
  r->half_pixel = !*how || !strcmp(how, "half_pixel");
  if ((*mode && !r->maximum && strcmp(mode, "avg")) || (!r->half_pixel && strcmp(how, "output_half_pixel")))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" with coordinates \"%s\" is not known", mode, how);
  bool fits = x->rank == 4 && rois->rank == 2 && rois->dims[1].size == 4 && batch->rank == 1 &&
              batch->dims[0].size == rois->dims[0].size && tg_dtype_is_float(x->dtype) &&
              tg_dtype_is_float(rois->dtype) && tg_dtype_is_integer(batch->dtype) && tg_value_elements(x) &&
              tg_value_elements(rois);
  if (!fits) return tg_fail(diag, TG_INVALID, "data, rois and batch_indices do not fit");
  r->count = rois->dims[0].size;
  r->channels = x->dims[1].size;
  if (r->samples[0] < 0 || r->samples[0] > MOST_SAMPLES)
    return tg_fail(diag, TG_INVALID, "sampling_ratio = %" PRId64 " is not supported", r->samples[0]);
  if (r->out[0] < 1 || r->out[1] < 1 || r->out[0] > MOST || r->out[1] > MOST)
    return tg_fail(diag, TG_INVALID, "a result of %" PRId64 " x %" PRId64 " is not supported", r->out[0],
                   r->out[1]);
  if (!r->samples[0] && count_samples(arena, rois, r, diag)) return TG_INVALID;
  if ((double)x->dims[0].size * (double)x->dims[2].size * (double)x->dims[3].size >= 1 << 24)
    return tg_fail(diag, TG_INVALID, "an image of more than 2^24 elements is not supported");
  double most = elements_of(r) / MOST_PARTS;
  return tg_compose_bounded(fmax(most, elements_of(r) / (double)r->count), diag);
}

/* For each sample of each region along a dimension: where in its result it is, or its share of the mean: [regions, out
 * samples]. What a region has fewer than others has no share. */
static tg_value *samples_along(tg_build *b, const regions *r, int d, bool share) {
  int64_t each = r->samples[d], n = r->out[d] * each, sizes[] = {r->count, n};
  tg_value *made = tg_build_made(b, TG_F32, 2, sizes);
  if (b->failed) return made;
  float *to = (float *)made->data;
  for (int64_t i = 0; i < r->count; i++)
    for (int64_t k = 0; k < n; k++) {
      int64_t count = r->counts[d][i];
      bool is = k % each < count;
      *to++ = !is ? 0 : share ? 1.0f / (float)count : ((float)(k % each) + 0.5f) / (float)count;
    }
  return made;
}

/* Where the samples along height (d = 0) or width are: [regions, out samples, 1]. */
static tg_value *places_along(tg_build *b, const regions *r, int d) {
  int64_t n = r->out[d] * r->samples[d], row[] = {1, n};
  double offset = r->half_pixel ? 0.5 : 0;
  tg_value *ends[2];
  for (int e = 0; e < 2; e++) { /* x1, y1, x2, y2 */
    ends[e] = times(b, tg_build_slice(b, r->rois, 1, 2 * e + 1 - d, 2 * e + 2 - d, 1), r->scale);
    if (offset != 0) ends[e] = plus(b, ends[e], -offset);
  }
  tg_value *size = sub(b, ends[1], ends[0]);
  if (!r->half_pixel) size = with(b, TG_OP_MAX, size, 1);
  tg_value *bin = with(b, TG_OP_DIV, size, (double)r->out[d]);
  tg_value *result = tg_build_made(b, TG_F32, 2, row);
  if (b->failed) return result;
  for (int64_t i = 0; i < n; i++) ((float *)result->data)[i] = (float)(i / r->samples[d]);
  tg_value *place = add(b, ends[0], mul(b, bin, result)), *inner;
  if (r->counts[d]) {
    inner = mul(b, bin, samples_along(b, r, d, false));
  } else {
    tg_value *at = tg_build_made(b, TG_F32, 2, row);
    if (b->failed) return at;
    for (int64_t i = 0; i < n; i++) ((float *)at->data)[i] = (float)(i % r->samples[d]) + 0.5f;
    inner = with(b, TG_OP_DIV, mul(b, bin, at), (double)r->samples[d]);
  }
  return tg_build_insert(b, add(b, place, inner), 2);
}

/* For each result along a dimension what is read for its samples, two neighbours each: positions, held to 0 .. size - 1, and their
 * weights, [regions, out, 2 samples]. Places beyond an element outside have no weight. */
typedef struct along {
  tg_value *position, *weight;
} along;

static along read_along(tg_build *b, const regions *r, int d) {
  int64_t size = r->x->dims[2 + d].size, sizes[] = {r->count, r->out[d], 2 * r->samples[d]};
  tg_value *place = places_along(b, r, d), *position[2], *weight[2];
  tg_value *inside =
      both(b, with(b, TG_OP_GREATER_OR_EQUAL, place, -1), with(b, TG_OP_LESS_OR_EQUAL, place, (double)size));
  tg_value *held = tg_build_clip(b, place, 0, (double)size - 1), *zero = tg_build_number(b, 0);
  position[0] = tg_build_unary(b, TG_OP_FLOOR, held);
  position[1] = tg_build_clip(b, plus(b, position[0], 1), 0, (double)size - 1);
  tg_value *upper = sub(b, held, position[0]);
  weight[0] = tg_build_where(b, inside, sub(b, tg_build_number(b, 1), upper), zero);
  weight[1] = tg_build_where(b, inside, upper, zero);
  return (along){.position = tg_build_reshape(b, tg_build_concat(b, position, 2, 2), 3, sizes),
                 .weight = tg_build_reshape(b, tg_build_concat(b, weight, 2, 2), 3, sizes)};
}

/* Of a number for each sample along a dimension, [regions, out samples], one for each of its neighbours. */
static tg_value *twice(tg_build *b, const regions *r, int d, tg_value *x) {
  int64_t two[] = {r->count, r->out[d] * r->samples[d], 2},
          sizes[] = {r->count, r->out[d], 2 * r->samples[d]};
  return tg_build_reshape(b, tg_build_expand(b, tg_build_insert(b, x, 2), 3, two), 3, sizes);
}

/* op(rows, columns) of what is known along height, [regions, out, n], and along width: [regions out out, n n]. */
static tg_value *crossed(tg_build *b, const regions *r, tg_op op, tg_value *rows, tg_value *columns) {
  int64_t sizes[] = {r->count * r->out[0] * r->out[1], 4 * r->samples[0] * r->samples[1]};
  rows = tg_build_insert(b, tg_build_insert(b, rows, 2), 4);
  columns = tg_build_insert(b, tg_build_insert(b, columns, 1), 3);
  return tg_build_reshape(b, tg_build_binary(b, op, rows, columns), 2, sizes);
}

/* The weight of what each result reads, and these rows of channels: [results, neighbours], [results, neighbours, channels]. */
static tg_value *neighbour_rows_of(tg_build *b, const regions *r, tg_value **out_weight) {
  along rows = read_along(b, r, 0), columns = read_along(b, r, 1);
  int64_t n = r->x->dims[0].size, c = r->x->dims[1].size, h = r->x->dims[2].size, w = r->x->dims[3].size,
          planes[] = {n, c, h * w}, table[] = {n * h * w, c}, image[] = {r->count, 1, 1};
  tg_value *first = times(b, tg_build_reshape(b, f32(b, r->images), 3, image), (double)(h * w));
  tg_value *index =
      crossed(b, r, TG_OP_ADD, add(b, first, times(b, rows.position, (double)w)), columns.position);
  *out_weight = crossed(b, r, TG_OP_MUL, rows.weight, columns.weight);
  tg_value *pixels = tg_build_reshape(b, tg_build_swap(b, tg_build_reshape(b, r->x, 3, planes)), 2, table);
  return tg_build_binary(b, TG_OP_GATHER, pixels, tg_build_cast(b, index, TG_I64));
}

/* Neighbours times their weights, of which those without one are 0, whatever lies there: [results, neighbours, channels]. */
static tg_value *weighed_rows(tg_build *b, tg_value *rows, tg_value *weight) {
  if (b->failed) return rows;
  tg_value *each = tg_build_insert(b, weight, 2);
  return tg_build_where(b, with(b, TG_OP_EQUAL, each, 0), tg_build_number(b, 0), mul(b, rows, each));
}

/* Of each result's neighbours the share of the mean that their samples have, [results, neighbours]: 0 for those that a region has
 * fewer than others. */
static tg_value *shares(tg_build *b, const regions *r) {
  return crossed(b, r, TG_OP_MUL, twice(b, r, 0, samples_along(b, r, 0, true)),
                 twice(b, r, 1, samples_along(b, r, 1, true)));
}

/* The mean of all samples. */
static tg_value *mean_of_regions(tg_build *b, const regions *r) {
  tg_value *weight, *rows = neighbour_rows_of(b, r, &weight);
  if (r->counts[0]) weight = mul(b, weight, shares(b, r));
  tg_value *terms = weighed_rows(b, rows, weight);
  if (b->failed) return rows;
  tg_value *sum = tg_build_reduce(b, TG_OP_REDUCE_SUM, terms, 1u << 1);
  return r->counts[0] ? sum : with(b, TG_OP_DIV, sum, (double)(r->samples[0] * r->samples[1]));
}

/* The largest of the four terms of all samples, as ONNX has it. */
static tg_value *maximum_of_regions(tg_build *b, const regions *r) {
  tg_value *weight, *rows = neighbour_rows_of(b, r, &weight), *terms = weighed_rows(b, rows, weight);
  if (b->failed) return rows;
  if (!r->counts[0]) return tg_build_reduce(b, TG_OP_REDUCE_MAX, terms, 1u << 1);
  tg_value *is = tg_build_insert(b, with(b, TG_OP_GREATER, shares(b, r), 0), 2);
  tg_value *best = tg_build_reduce(b, TG_OP_REDUCE_MAX,
                                   tg_build_where(b, is, terms, tg_build_number(b, -INFINITY)), 1u << 1);
  return tg_build_where(b, with(b, TG_OP_EQUAL, best, -INFINITY), tg_build_number(b, 0),
                        best); /* no sample */
}

/* Region after region, as many at a time as there is room for. */
static tg_value *of_regions(tg_build *b, const regions *r) {
  tg_value *parts[MOST_PARTS];
  int64_t count = tg_clamp((int64_t)ceil(elements_of(r) / EACH_PART), 1, tg_min(r->count, MOST_PARTS)),
          each = tg_div_up(r->count, count);
  int made = 0;
  for (int64_t first = 0; first < r->count && !b->failed; first += each) {
    regions part = *r;
    int64_t end = tg_min(first + each, r->count);
    part.count = end - first;
    part.rois = tg_build_slice(b, r->rois, 0, first, end, 1);
    part.images = tg_build_slice(b, r->images, 0, first, end, 1);
    for (int d = 0; d < 2 && r->counts[d]; d++) part.counts[d] = r->counts[d] + first;
    parts[made++] = r->maximum ? maximum_of_regions(b, &part) : mean_of_regions(b, &part);
  }
  return made > 1 && !b->failed ? tg_build_concat(b, parts, made, 0) : parts[0];
}

tg_status tg_make_roi_align(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  regions r = {0};
  tg_value *x = tg_in(node, 0);
  if (read_regions(b->graph->arena, node, &r, diag)) return TG_INVALID;
  r.rois = f32(b, tg_in(node, 1));
  r.x = f32(b, x);
  r.images = tg_in(node, 2);
  tg_value *y = of_regions(b, &r);
  if (b->failed) return TG_OK;
  int64_t list[] = {r.count, r.out[0] * r.out[1], x->dims[1].size},
          sizes[] = {r.count, x->dims[1].size, r.out[0], r.out[1]};
  y = tg_build_swap(b, tg_build_reshape(b, y, 3, list));
  results[0] = tg_build_cast(b, tg_build_reshape(b, y, 4, sizes), x->dtype);
  return TG_OK;
}

/* --- DeformConv --- */

typedef struct deformed {
  tg_window_shape w;
  int64_t n, c, h, wide, group, offset_group, kernel,
      places;     /* positions of the kernel, results of an image */
  tg_value *rows; /* [n offset_group H W, C / offset_group] */
} deformed;

/* Reads and checks a DeformConv: x [n, c, h, wide], weights [o, c / group, kernel], offsets [n, 2 offset_group kernel, out] (row, then
 * column, of each place of the window), an optional mask of half as many, a bias [o]. An image's elements
 * are addressed by numbers in FP32, hence the bound of 2^24. */
static tg_status read_deformed(const tg_node *node, deformed *s, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *w = tg_in(node, 1), *offset = tg_in(node, 2), *bias = tg_in(node, 3),
                 *mask = tg_in(node, 4);
  if (x->rank != 4 || w->rank != 4 || offset->rank != 4 || (mask && mask->rank != 4))
    return tg_fail(diag, TG_INVALID, "only images are supported");
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) && (!tg_dtype_is_float(tg_in(node, i)->dtype) || !tg_value_elements(tg_in(node, i))))
      return tg_fail(diag, TG_INVALID, "input %d is empty or no float", i);
  if (tg_window_read(node, &s->w, diag) || tg_window_read_kernel(node, w, &s->w, diag) ||
      tg_window_place(&s->w, false, diag))
    return TG_INVALID;
  s->n = x->dims[0].size, s->c = x->dims[1].size, s->h = x->dims[2].size, s->wide = x->dims[3].size;
  s->group = tg_attr_int(node, TG_ATTR_GROUP);
  s->offset_group = tg_attr_int(node, TG_ATTR_OFFSET_GROUP);
  s->kernel = s->w.kernel[0] * s->w.kernel[1];
  s->places = s->w.out[0] * s->w.out[1];
  bool fits = s->group > 0 && s->offset_group > 0 && s->c % s->offset_group == 0 && s->c % s->group == 0 &&
              w->dims[1].size == s->c / s->group && w->dims[0].size % s->group == 0 &&
              offset->dims[0].size == s->n && offset->dims[1].size == 2 * s->offset_group * s->kernel &&
              offset->dims[2].size == s->w.out[0] && offset->dims[3].size == s->w.out[1] &&
              (!bias || (bias->rank == 1 && bias->dims[0].size == w->dims[0].size)) &&
              (!mask || (mask->dims[0].size == s->n && mask->dims[1].size == s->offset_group * s->kernel &&
                         mask->dims[2].size == s->w.out[0] && mask->dims[3].size == s->w.out[1]));
  if (!fits) return tg_fail(diag, TG_INVALID, "weights, offsets, bias or mask do not fit");
  if ((double)(s->n * s->offset_group) * (double)(s->h * s->wide) >= 1 << 24)
    return tg_fail(diag, TG_INVALID, "an image of more than 2^24 elements is not supported");
  return tg_compose_bounded(4 * (double)(s->n * s->c) * (double)s->kernel * (double)s->places, diag);
}

/* Along one dimension the places of each kernel position: [n offset_group, kernel, places]. */
static tg_value *deformed_places(tg_build *b, const deformed *s, tg_value *offset, int d) {
  int64_t split[] = {s->n * s->offset_group, s->kernel, 2, s->places}, sizes[] = {1, s->kernel, s->places};
  tg_value *regular = tg_build_made(b, TG_F32, 3, sizes);
  if (b->failed) return regular;
  float *to = (float *)regular->data;
  for (int64_t k = 0; k < s->kernel; k++)
    for (int64_t p = 0; p < s->places; p++) {
      int64_t at = d ? k % s->w.kernel[1] : k / s->w.kernel[1], out = d ? p % s->w.out[1] : p / s->w.out[1];
      *to++ = (float)(out * s->w.stride[d] - s->w.begin[d] + at * s->w.dilation[d]);
    }
  tg_value *moved = tg_build_slice(b, tg_build_reshape(b, f32(b, offset), 4, split), 2, d, d + 1, 1);
  return add(b, tg_build_drop(b, moved, 2), regular);
}

/* The rows of one of the four neighbours times its weight, which are 0 outside of the image, wherever the place is: [n offset_group, kernel, places, C / ..]. */
static tg_value *neighbour_rows(tg_build *b, const deformed *s, tg_value *y, tg_value *x, tg_value *weight) {
  tg_value *inside = both(b, with(b, TG_OP_GREATER_OR_EQUAL, y, 0), with(b, TG_OP_LESS, y, (double)s->h));
  inside = both(b, inside, with(b, TG_OP_GREATER_OR_EQUAL, x, 0));
  inside = both(b, inside, with(b, TG_OP_LESS, x, (double)s->wide));
  y = tg_build_clip(b, y, 0, (double)s->h - 1);
  x = tg_build_clip(b, x, 0, (double)s->wide - 1);
  tg_value *images =
      times(b, tg_build_positions(b, y, s->n * s->offset_group, 0, 3), (double)(s->h * s->wide));
  tg_value *row = add(b, images, add(b, times(b, y, (double)s->wide), x));
  tg_value *there = tg_build_binary(b, TG_OP_GATHER, s->rows, tg_build_cast(b, row, TG_I64));
  if (b->failed) return there;
  there = mul(b, there, tg_build_insert(b, weight, 3));
  return tg_build_where(b, tg_build_insert(b, inside, 3), there, tg_build_number(b, 0));
}

/* Between four neighbours of each place: [n offset_group, kernel, places, C / offset_group]. */
static tg_value *deformed_samples(tg_build *b, const deformed *s, tg_value *offset) {
  tg_value *from[2], *share[2][2], *sum = NULL;
  for (int d = 0; d < 2; d++) {
    tg_value *place = deformed_places(b, s, offset, d);
    from[d] = tg_build_unary(b, TG_OP_FLOOR, place);
    share[d][1] = sub(b, place, from[d]);
    share[d][0] = sub(b, tg_build_number(b, 1), share[d][1]);
  }
  for (int k = 0; k < 4; k++) {
    tg_value *weight = mul(b, share[0][k / 2], share[1][k % 2]);
    tg_value *one = neighbour_rows(b, s, plus(b, from[0], k / 2), plus(b, from[1], k % 2), weight);
    if (b->failed) return one;
    sum = sum ? add(b, sum, one) : one;
  }
  return sum;
}

/* The convolution is a product with what is sampled for each kernel position. */
tg_status tg_make_deform_conv(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  deformed s = {0};
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1), *bias = tg_in(node, 3), *mask = tg_in(node, 4);
  if (read_deformed(node, &s, diag)) return TG_INVALID;
  int64_t out = w->dims[0].size, part = s.c / s.offset_group, pixels = s.h * s.wide,
          planes[] = {s.n * s.offset_group, part, pixels}, table[] = {s.n * s.offset_group * pixels, part},
          one[] = {s.n * s.offset_group, s.kernel, s.places, 1},
          columns[] = {s.n, s.group, s.c / s.group * s.kernel, s.places},
          weights[] = {s.group, out / s.group, s.c / s.group * s.kernel}, channels[] = {out, 1, 1},
          image[] = {s.n, out, s.w.out[0], s.w.out[1]};
  s.rows = tg_build_reshape(b, tg_build_swap(b, tg_build_reshape(b, f32(b, x), 3, planes)), 2, table);
  tg_value *samples = deformed_samples(b, &s, tg_in(node, 2));
  if (b->failed) return TG_OK;
  if (mask) samples = mul(b, samples, tg_build_reshape(b, f32(b, mask), 4, one));
  samples = tg_build_transpose(b, samples, (int64_t[]){0, 3, 1, 2}); /* channels, kernel, places */
  tg_value *y = tg_build_matmul(b, tg_build_reshape(b, f32(b, w), 3, weights),
                                tg_build_reshape(b, samples, 4, columns));
  y = tg_build_reshape(b, y, 4, image);
  if (bias) y = add(b, y, tg_build_reshape(b, f32(b, bias), 3, channels));
  results[0] = tg_build_cast(b, y, x->dtype);
  return TG_OK;
}
