/* Moves: Transpose, Slice, Expand, Pad, an input of a Concat, a copy. The load of each row walks the input as
 * the result's dimensions want it; the vector unit passes rows on, converting where a cast is taken along. */
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/view.h"
#include "mapper/section/rehearsal.h"
#include "mapper/stream/stream.h"
#include "mapper/vector/vector.h"
#include "mapper/vector/vector_move.h"

#include <string.h>

enum { INPUT, OUTPUT, X, Y }; /* operands of the space; x and y are coordinates of a Pad's input */

typedef struct move {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_space space;
  const tg_dram_tensor *tensors[2];
  int kinds[2];
  int64_t offsets[4]; /* elements; of X and Y: the coordinate at the origin */
  int64_t x_size, y_size;
  uint32_t fill; /* bits of an element outside, in the input's format */
  int copies;    /* of an Expand, that are stored of what is loaded once, and elements from one to the next */
  int64_t copy;
  tg_mc *mc;
} move;

/* ---- where elements come from ---- */

/* Elements of one input of a Concat, to their place in the result. */
static void join(move *v, const int64_t *in_strides, const int64_t *out_strides) {
  const tg_node *root = v->kernel->root;
  tg_space_begin(&v->space, v->kernel->source);
  tg_space_add_strided(&v->space, in_strides);
  tg_space_add_strided(&v->space, out_strides);
  if (root) v->offsets[OUTPUT] = tg_concat_offset(root, v->kernel->part, out_strides);
}

/* The frame is where a coordinate is out of bounds: x along the innermost padded dimension, counted in
 * elements, so that it merges with those inside; y along the other. */
static void bound(move *v, const int64_t *in_strides) {
  const tg_node *root = v->kernel->root;
  const tg_value *in = tg_in(root, 0);
  int64_t sizes[TG_MAX_RANK], in_dense[TG_MAX_RANK] = {0};
  tg_value_sizes(in, sizes);
  tg_dense_strides(sizes, in->rank, in_dense);
  const int64_t *pads = tg_attr_ints(root, TG_ATTR_PADS, NULL);
  int64_t x[TG_MAX_RANK] = {0}, y[TG_MAX_RANK] = {0};
  int last = -1, other = -1;
  for (int d = 0; d < in->rank; d++) {
    v->offsets[INPUT] -= pads[d] * in_strides[d];
    if (pads[d] || pads[in->rank + d]) other = last, last = d;
  }
  v->y_size = 1;
  for (int d = last; d < in->rank; d++) x[d] = in_dense[d];
  v->x_size = in->dims[last].size * in_dense[last];
  v->offsets[X] = -pads[last] * in_dense[last];
  if (other >= 0) {
    y[other] = 1;
    v->y_size = in->dims[other].size;
    v->offsets[Y] = -pads[other];
  }
  tg_space_add_strided(&v->space, x);
  tg_space_add_strided(&v->space, y);
  tg_store_f32(&v->fill, v->kernel->source->dtype, 0, (float)tg_attr_float(root, TG_ATTR_VALUE));
}

/* False: a view that it reads or writes does not lie by strides. */
static bool describe(move *v) {
  const tg_kernel *kernel = v->kernel;
  const tg_node *root = kernel->root;
  const tg_value *in = kernel->source, *out = root ? tg_out(root) : in;
  int64_t sizes[TG_MAX_RANK], in_strides[TG_MAX_RANK] = {0}, out_strides[TG_MAX_RANK] = {0},
                              strides[TG_MAX_RANK];
  tg_value_sizes(out, sizes);
  tg_dense_strides(sizes, out->rank, out_strides); /* a copy is to memory of its own */
  if (!tg_value_strides(v->c, in, in_strides) || (root && !tg_value_strides(v->c, out, out_strides)))
    return false;
  v->kinds[INPUT] = tg_stream_kind(in);
  v->kinds[OUTPUT] = tg_stream_kind(out);
  if (!root || root->op == TG_OP_CONCAT) {
    join(v, in_strides, out_strides);
  } else {
    tg_space_begin(&v->space, out);
    tg_view(root, in_strides, &v->offsets[INPUT], strides);
    tg_space_add_strided(&v->space, strides);
    tg_space_add_strided(&v->space, out_strides);
    if (root->op == TG_OP_PAD) bound(v, in_strides);
  }
  tg_space_merge(&v->space);
  return true;
}

/* What an Expand makes several times of the same elements is stored several times where it was loaded once: two or three of
 * the copies along the outermost such dimension, whose rows are the longest. */
static void take_copies(move *v) {
  tg_space *space = &v->space;
  v->copies = 1;
  if (!v->kernel->root || v->kernel->root->op != TG_OP_EXPAND || tg_stochastic_store(v->kernel)) return;
  for (int d = 0; d + 1 < space->rank && v->copies == 1; d++) {
    for (int copies = 1 + TG_MORE_RESULTS; copies > 1 && v->copies == 1 && !space->strides[INPUT][d];
         copies--)
      if (space->dims[d] % copies == 0) v->copies = copies;
    if (v->copies == 1) continue;
    v->copy = space->strides[OUTPUT][d];
    space->strides[OUTPUT][d] *= v->copies;
    space->dims[d] /= v->copies;
  }
  tg_space_merge(space);
}

/* ---- emission ---- */

static void set_coordinate(const tg_space *space, int operand, int64_t origin, int64_t block,
                           tg_coordinate *out) {
  tg_walk_plan walk;
  tg_space_walk(space, operand, NULL, 0, block, &walk);
  out->origin = origin;
  memcpy(out->step, walk.stride, sizeof walk.stride);
  out->step[3] = walk.element_stride;
}

static tg_status emit_four(void *user, const tg_space *space, const int64_t *offsets) {
  const move *v = user;
  const tg_params *m = v->c->m;
  tg_stream_kernel plan = {
      .inputs = 1, .window = {1}, .input_kind = {v->kinds[INPUT]}, .output_kind = v->kinds[OUTPUT]};
  plan.more = v->copies - 1;
  int64_t block = tg_space_block(m, space);
  tg_choose_columns(m, &plan, block);
  if (space->rank == 1) block = plan.take, plan.column_blocks = 1;
  tg_space_walk(space, INPUT, v->tensors[INPUT], v->offsets[INPUT] + offsets[INPUT], block, &plan.input[0]);
  tg_space_walk(space, OUTPUT, v->tensors[OUTPUT], v->offsets[OUTPUT] + offsets[OUTPUT], block, &plan.output);
  for (int i = 0; i < plan.more; i++) {
    plan.more_kind[i] = plan.output_kind;
    plan.more_output[i] = plan.output;
    plan.more_output[i].offset += (i + 1) * v->copy;
  }
  if (space->operands > X) {
    tg_walk_plan *in = &plan.input[0];
    in->linear_size = 0;
    in->fill = v->fill;
    in->bounded = true;
    in->x.size = v->x_size;
    in->y.size = v->y_size;
    set_coordinate(space, X, v->offsets[X] + offsets[X], block, &in->x);
    set_coordinate(space, Y, v->offsets[Y] + offsets[Y], block, &in->y);
  }
  plan.rows = plan.output.radix[0] * plan.output.radix[1] * plan.output.radix[2];
  return tg_emit_stream_kernel(v->c, v->kernel, &plan, v->mc, 0);
}

/* By a walk; by vectors of a few runs; by blocks that are transposed. */
typedef struct way {
  enum { WALKED, INTERLEAVED, TRANSPOSED } kind;
  tg_transpose_blocks blocks;
  double cycles; /* estimated */
} way;
enum { MOST_WAYS = 2 + TG_TRANSPOSES };

static tg_vector_move by_vectors(const move *v) {
  const tg_kernel *kernel = v->kernel;
  const tg_value *out = kernel->root ? tg_out(kernel->root) : kernel->source;
  return (tg_vector_move){.c = v->c,
                          .kernel = kernel,
                          .space = v->space,
                          .tensors = {v->tensors[INPUT], v->tensors[OUTPUT]},
                          .kinds = {v->kinds[INPUT], v->kinds[OUTPUT]},
                          .offsets = {v->offsets[INPUT], v->offsets[OUTPUT]},
                          .rounded = out->dtype != kernel->source->dtype ? out->dtype : TG_NONE};
}

static void place(move *v) {
  const tg_kernel *kernel = v->kernel;
  v->tensors[INPUT] = tg_place_of(v->c, kernel->source);
  v->tensors[OUTPUT] = kernel->root ? tg_place_of(v->c, tg_out(kernel->root))
                                    : &v->c->program->tensors[v->c->output_tensors[kernel->part]];
}

static tg_status emit_walked(move *v) {
  tg_compile *c = v->c;
  const tg_kernel *kernel = v->kernel;
  const tg_value *out = kernel->root ? tg_out(kernel->root) : kernel->source;
  tg_mc mc;
  v->mc = &mc;
  tg_mc_begin(&mc, c->arena);
  tg_mc_ref value = tg_mc_load(&mc, 0, v->kinds[INPUT] == TG_STREAM_FP32);
  if (out->dtype != kernel->source->dtype) value = tg_round_to(&mc, out->dtype, value, true);
  take_copies(v);
  for (int i = 0; i < v->copies; i++) tg_mc_store(&mc, 1 + i, v->kinds[OUTPUT] == TG_STREAM_FP32, value);
  tg_space_spread(c->m, &v->space);
  if (v->space.operands <= X) tg_space_fold(&v->space, tg_tiles(c->m));
  return tg_space_in_fours(c, tg_kernel_name(c, kernel), &v->space, false, emit_four, v);
}

static tg_status emit_way(tg_compile *c, const tg_kernel *kernel, const way *how) {
  move v = {.c = c, .kernel = kernel};
  if (!describe(&v))
    return tg_fail(c->diag, TG_INVALID, "%s: views without strides", tg_kernel_name(c, kernel));
  place(&v);
  const tg_vector_move vectors = by_vectors(&v);
  switch (how->kind) {
  case INTERLEAVED: return tg_emit_interleave(&vectors);
  case TRANSPOSED: return tg_emit_transpose(&vectors, &how->blocks);
  default: return emit_walked(&v);
  }
}

/* ---- which way ---- */

/* Estimates of ways differ less than what some of them err by: a walk's on a memory device, where an atom for each element finds
 * no open row. */
#define WORTH_A_REHEARSAL 4.0
enum { REPLAYED_STEPS = 1 << 14 };

/* Behind those with better estimates. */
static int add_way(way ways[MOST_WAYS], int count, way one) {
  int at = count;
  if (one.cycles >= TG_NEVER) return count;
  for (; at > 0 && ways[at - 1].cycles > one.cycles; at--) ways[at] = ways[at - 1];
  ways[at] = one;
  return count + 1;
}

static int list_ways(move *v, way out[MOST_WAYS]) {
  const tg_vector_move vectors = by_vectors(v);
  tg_transpose_blocks blocks[TG_TRANSPOSES];
  int count = add_way(out, 0, (way){.kind = INTERLEAVED, .cycles = tg_interleaved_cycles(&vectors)}),
      transposes = tg_transpose_ways(&vectors, blocks);
  for (int i = 0; i < transposes; i++)
    count = add_way(out, count, (way){.kind = TRANSPOSED, .blocks = blocks[i], .cycles = blocks[i].cycles});
  return add_way(out, count,
                 (way){.kind = WALKED, .cycles = count ? tg_walked_cycles(&vectors) : TG_SECTION_CYCLES});
}

typedef struct rehearsed {
  const tg_kernel *kernel;
  const way *how;
} rehearsed;

static tg_status emit_rehearsed(tg_compile *c, const void *user) {
  const rehearsed *r = user;
  return emit_way(c, r->kernel, r->how);
}

/* The one whose sections are replayed fastest. */
static const way *choose(const tg_compile *c, const tg_kernel *kernel, const way *ways, int count) {
  double best = TG_NEVER;
  const way *chosen = &ways[0];
  for (int i = 0; i < count && count > 1; i++) {
    if (ways[i].cycles > WORTH_A_REHEARSAL * ways[0].cycles) break;
    const rehearsed one = {kernel, &ways[i]};
    double limit = tg_clearly_faster(c, best),
           cycles = tg_rehearse_sections(
               c, &(tg_rehearsal){
                      .emit = emit_rehearsed, .user = &one, .limit = limit, .steps = REPLAYED_STEPS});
    if (cycles >= limit) continue;
    best = cycles;
    chosen = &ways[i];
  }
  return chosen;
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  move v = {.c = c, .kernel = kernel};
  if (!describe(&v))
    return tg_fail(c->diag, TG_INVALID, "%s: views without strides", tg_kernel_name(c, kernel));
  place(&v);
  way ways[MOST_WAYS];
  int count = list_ways(&v, ways);
  return emit_way(c, kernel, choose(c, kernel, ways, count));
}

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_TRANSPOSE || node->op == TG_OP_CONCAT || node->op == TG_OP_SLICE ||
         node->op == TG_OP_PAD || node->op == TG_OP_EXPAND;
}

/* In one section. */
static bool walks_views(tg_compile *c, const tg_kernel *kernel) {
  move v = {.c = c, .kernel = kernel};
  if (!describe(&v)) return false;
  take_copies(&v);
  if (v.space.operands <= X) tg_space_fold(&v.space, tg_tiles(c->m));
  return v.space.rank <= 4;
}

static double cycles(tg_compile *c, const tg_kernel *kernel) {
  return tg_move_cycles(c, kernel->output ? kernel->output : kernel->source);
}

const tg_kernel_class tg_move_class = {
    .name = "move",
    .accepts = accepts,
    .cycles = cycles,
    .walks_views = walks_views,
    .emit = emit,
};
