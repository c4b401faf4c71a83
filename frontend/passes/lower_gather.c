/* Rows by their numbers. Constant numbers are Slices; rows by numbers that arrive with a run are GatherRows and
 * ScatterRows. They are fp32 by then (lower_integers.c). */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <math.h>
#include <stdlib.h>

enum {
  MOST_SLICES = 64,            /* of a table whose numbers of rows are none in fp32 */
  MOST_SLICES_OF_ELEMENTS = 5, /* of other ones, of which elements are selected */
  MOST_SLICES_OF_ROWS = 3,     /* and rows */
  MOST_STEPS = 12,             /* that numbers are computed in, to be looked at */
  FEWEST_OF_BATCHES = 8        /* elements of a row; of fewer, the whole table is transposed */
};

/* ---- constant numbers: runs of equal steps */

/* Neighbours of a list of numbers: `length` of them, `step` apart, each `times` times. */
typedef struct run {
  int64_t first, length, step, times;
} run;

static int64_t times_of(const int64_t *index, int64_t count, int64_t at) {
  int64_t times = 1;
  while (at + times < count && index[at + times] == index[at]) times++;
  return times;
}

/* The longest run of equal steps, none of them 0, from element `at` on, of which all are there as often as the first. */
static run run_at(const int64_t *index, int64_t count, int64_t at) {
  run own = {.first = index[at], .length = 1, .step = 1, .times = times_of(index, count, at)};
  for (int64_t next = at + own.times; next < count && times_of(index, count, next) == own.times;
       next += own.times) {
    int64_t step = index[next] - index[next - 1];
    if (own.length > 1 && step != own.step) break;
    own.step = step;
    own.length++;
  }
  return own;
}

/* Runs of all of them, no more than one beyond `most`. */
static int runs_of(const int64_t *index, int64_t count, int most) {
  int runs = 0;
  for (int64_t at = 0; at < count && runs <= most; runs++) {
    run own = run_at(index, count, at);
    at += own.length * own.times;
  }
  return runs;
}

/* A Slice is a section; rows by their numbers are one, but if they are elements two more, which transpose the table. */
static int most_runs(const tg_node *node) {
  const tg_value *x = tg_in(node, 0);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  bool rows = tg_value_elements_between(x, axis + 1, x->rank) >= FEWEST_OF_BATCHES;
  if ((double)tg_value_elements_between(x, 0, axis + 1) > 0x1p24) return MOST_SLICES;
  return rows ? MOST_SLICES_OF_ROWS : MOST_SLICES_OF_ELEMENTS;
}

/* The neighbours, each so often, one behind the other. */
static tg_value *select_run(tg_graph *graph, tg_node *node, const run *own) {
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  int64_t factors[TG_MAX_RANK];
  tg_value *part = tg_rewrite_slice(graph, tg_in(node, 0), axis, own->first, own->length, own->step, node);
  if (own->times == 1) return part;
  for (int d = 0; d < part->rank; d++) factors[d] = d == axis ? own->times : 1;
  tg_node *resize = tg_graph_add_node(graph, TG_OP_RESIZE, node->name, &part, 1, node, -1);
  tg_attr_set_ints(graph, resize, TG_ATTR_FACTORS, factors, part->rank);
  tg_rewrite_infer(graph, resize);
  return tg_out(resize);
}

/* The runs joined along the axis; NULL: there would be too many. */
static tg_value *select_constant(tg_graph *graph, tg_node *node, const int64_t *index, int64_t count) {
  tg_value *parts[MOST_SLICES];
  int runs = 0, most = most_runs(node);
  if (runs_of(index, count, most) > most) return NULL;
  for (int64_t at = 0; at < count;) {
    run own = run_at(index, count, at);
    parts[runs++] = select_run(graph, node, &own);
    at += own.length * own.times;
  }
  return tg_rewrite_concat(graph, node->name, parts, runs, (int)tg_attr_int(node, TG_ATTR_AXIS), node);
}

static bool has_constant_numbers(const tg_node *node) {
  const tg_value *indices = tg_in(node, 1);
  return tg_is_constant(indices) && !indices->elided && tg_dtype_is_integer(indices->dtype) &&
         tg_value_elements(indices) > 0;
}

/* Constant numbers, from the dimension's begin. The caller frees them. */
static int64_t *constant_numbers(const tg_node *node) {
  const tg_value *indices = tg_in(node, 1);
  int64_t count = tg_value_elements(indices),
          size = tg_in(node, 0)->dims[tg_attr_int(node, TG_ATTR_AXIS)].size;
  int64_t *index = malloc((size_t)count * sizeof *index);
  if (!index) tg_die("out of memory");
  for (int64_t i = 0; i < count; i++) {
    index[i] = tg_load_i64(indices->data, indices->dtype, (size_t)i);
    if (index[i] < 0) index[i] += size;
  }
  return index;
}

bool tg_gather_is_slices(const tg_node *node) {
  if (node->op != TG_OP_GATHER || !has_constant_numbers(node)) return false;
  int64_t *index = constant_numbers(node);
  int most = most_runs(node), runs = runs_of(index, tg_value_elements(tg_in(node, 1)), most);
  free(index);
  return runs <= most;
}

static bool gather_constant(tg_graph *graph, tg_node *node) {
  int64_t sizes[TG_MAX_RANK];
  if (!has_constant_numbers(node)) return false;
  int64_t *index = constant_numbers(node);
  tg_value *selected = select_constant(graph, node, index, tg_value_elements(tg_in(node, 1)));
  free(index);
  if (!selected) return false;
  tg_value_sizes(tg_out(node), sizes);
  tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, selected, tg_out(node)->rank, sizes, node));
  return true;
}

/* ---- numbers of a run */

static tg_value *binary(tg_graph *graph, tg_op op, tg_value *a, tg_value *b, tg_dtype dtype,
                        tg_node *before) {
  return tg_out(tg_rewrite_node(graph, op, before->name, (tg_value *[]){a, b}, 2, dtype, before, -1));
}

/* The axis in front, the others as one: [size, rest]. */
static tg_value *as_table(tg_graph *graph, tg_value *x, int axis, tg_node *before) {
  int64_t perm[TG_MAX_RANK], size = x->dims[axis].size;
  for (int d = 0; d < x->rank; d++) perm[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
  int64_t matrix[] = {size, tg_value_elements_between(x, 0, axis) *
                                tg_value_elements_between(x, axis + 1, x->rank)};
  return tg_rewrite_reshape(graph, tg_rewrite_transpose(graph, x, perm, before), 2, matrix, before);
}

/* ---- rows by index */

/* Can none of them be NaN? Conversions of floats make NaN of what they do not hold exactly. */
static bool are_numbers(const tg_value *ids, int depth) {
  const tg_node *node = ids->producer;
  if (tg_is_constant(ids)) {
    int64_t count = ids->data ? tg_value_elements(ids) : 0, i = 0;
    while (i < count &&
           (tg_dtype_is_integer(ids->dtype) || !isnan(tg_load_f32(ids->data, ids->dtype, (size_t)i))))
      i++;
    return count > 0 && i == count;
  }
  if (!node) return tg_dtype_is_integer(ids->dtype);
  if (tg_op_is(node->op, TG_IS_COMPARE)) return true;
  switch (node->op) {
  case TG_OP_CAST:
  case TG_OP_ADD:
  case TG_OP_SUB:
  case TG_OP_MUL:
  case TG_OP_MAX:
  case TG_OP_MIN:
  case TG_OP_WHERE: break;
  default:
    if (!tg_op_is(node->op, TG_IS_MOVE)) return false;
  }
  for (int i = 0; i < node->input_count; i++)
    if (!depth || !are_numbers(tg_in(node, i), depth - 1)) return false;
  return true;
}

static tg_value *where(tg_graph *graph, tg_value *condition, tg_value *a, tg_value *b, tg_dtype dtype,
                       tg_node *before) {
  tg_value *operands[] = {condition, a, b};
  return tg_out(tg_rewrite_node(graph, TG_OP_WHERE, before->name, operands, 3, dtype, before, -1));
}

/* The numbers once for each of the batches: [outer, count]. */
static tg_value *in_batches(tg_graph *graph, tg_value *ids, int64_t outer, tg_node *before) {
  int64_t row[] = {1, tg_value_elements(ids)}, column[] = {outer, 1};
  tg_value *zeros = tg_graph_add_constant(graph, "zeros", TG_F32, 2, column, NULL, false);
  for (int64_t o = 0; o < outer; o++) ((float *)zeros->data)[o] = 0;
  return binary(graph, TG_OP_ADD, tg_rewrite_reshape(graph, ids, 2, row, before), zeros, TG_F32, before);
}

/* Numbers of rows of [outer, size], the first dimension in front: [outer, count]. Those outside become NaN. */
static tg_value *rows_of_batches(tg_graph *graph, tg_value *ids, int64_t outer, int64_t size,
                                 tg_node *before) {
  int64_t row[] = {1, tg_value_elements(ids)}, column[] = {outer, 1};
  tg_value *begins = tg_graph_add_constant(graph, "begins", TG_F32, 2, column, NULL, false),
           *zero = tg_graph_add_scalar(graph, "zero", TG_F32, 0),
           *last = tg_graph_add_scalar(graph, "last", TG_F32, (double)size - 1),
           *whole = tg_graph_add_scalar(graph, "rows", TG_F32, (double)size),
           *outside = tg_graph_add_scalar(graph, "outside", TG_F32, NAN);
  for (int64_t o = 0; o < outer; o++) ((float *)begins->data)[o] = (float)(o * size);
  ids = tg_rewrite_reshape(graph, ids, 2, row, before);
  ids = where(graph, binary(graph, TG_OP_LESS, ids, zero, TG_BF16, before),
              binary(graph, TG_OP_ADD, ids, whole, TG_F32, before), ids, TG_F32, before);
  ids = where(graph, binary(graph, TG_OP_LESS, ids, zero, TG_BF16, before), outside, ids, TG_F32, before);
  ids = where(graph, binary(graph, TG_OP_LESS, last, ids, TG_BF16, before), outside, ids, TG_F32, before);
  return binary(graph, TG_OP_ADD, ids, begins, TG_F32, before);
}

/* The rows of `table` that `ids` choose; NaN where the number they are computed of, in `from`, is NaN, if not NULL. */
static tg_value *choose_rows(tg_graph *graph, tg_value *table, tg_value *ids, tg_value *from, tg_node *node) {
  int64_t list[] = {tg_value_elements(ids)}, column[] = {list[0], 1};
  tg_value *operands[] = {table, tg_rewrite_reshape(graph, ids, 1, list, node)};
  tg_node *chosen =
      tg_rewrite_node(graph, TG_OP_GATHER_ROWS, node->name, operands, 2, table->dtype, node, node->id);
  chosen->rule = node->rule;
  if (!from) return tg_out(chosen);
  tg_value *each = tg_rewrite_reshape(graph, from, 2, column, node);
  return where(graph, binary(graph, TG_OP_EQUAL, each, each, TG_BF16, node), tg_out(chosen),
               tg_graph_add_scalar(graph, "nan", table->dtype, NAN), table->dtype, node);
}

/* Numbers in fp32. */
static tg_value *as_numbers(tg_graph *graph, tg_value *ids, tg_node *before) {
  if (!tg_dtype_is_integer(ids->dtype)) return ids;
  return tg_is_constant(ids) ? tg_rewrite_numbers(graph, ids, TG_F32)
                             : tg_rewrite_cast(graph, ids, TG_F32, before);
}

static void gather(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0), *y = tg_out(node), *ids = as_numbers(graph, tg_in(node, 1), node);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), many = tg_in(node, 1)->rank, rank = 0;
  int64_t outer = tg_value_elements_between(x, 0, axis), size = x->dims[axis].size,
          inner = tg_value_elements_between(x, axis + 1, x->rank), sizes[TG_MAX_RANK], perm[TG_MAX_RANK];
  bool given = are_numbers(ids, MOST_STEPS);
  if (outer > 1 && (double)outer * (double)size <= 0x1p24 && inner >= FEWEST_OF_BATCHES) {
    tg_value *table = tg_rewrite_reshape(graph, x, 2, (int64_t[]){outer * size, inner}, node);
    tg_value *rows = rows_of_batches(graph, ids, outer, size, node),
             *from = given ? NULL : in_batches(graph, ids, outer, node);
    tg_value_sizes(y, sizes);
    tg_value *chosen = choose_rows(graph, table, rows, from, node);
    tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, chosen, y->rank, sizes, node));
    return;
  }
  tg_value *chosen = choose_rows(graph, as_table(graph, x, axis, node), ids, given ? NULL : ids, node);
  for (int d = 0; d < many; d++) sizes[rank++] = tg_in(node, 1)->dims[d].size;
  for (int d = 0; d < x->rank; d++)
    if (d != axis) sizes[rank++] = x->dims[d].size;
  for (int d = 0; d < rank; d++) perm[d] = d < axis ? many + d : d < axis + many ? d - axis : d;
  tg_value *rows = tg_rewrite_reshape(graph, chosen, rank, sizes, node);
  tg_rewrite_replace(graph, node, tg_rewrite_transpose(graph, rows, perm, node));
}

/* Is every element of the data +0, so that it need not be added? */
static bool is_zero(const tg_value *x) {
  if (!tg_is_constant(x) || !x->data) return false;
  int64_t count = tg_value_elements(x);
  for (int64_t i = 0; i < count; i++)
    if (tg_load_f32(x->data, x->dtype, (size_t)i) != 0) return false;
  return true;
}

/* Sums from +0 are never -0: data of zeros of either sign make no difference. */
static void scatter_add(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0), *updates = tg_in(node, 2), *ids = as_numbers(graph, tg_in(node, 1), node);
  int64_t sizes[TG_MAX_RANK], list[] = {tg_value_elements(ids)},
                              matrix[] = {list[0], tg_value_elements_between(x, 1, x->rank)};
  tg_value *operands[] = {tg_rewrite_reshape(graph, updates, 2, matrix, node),
                          tg_rewrite_reshape(graph, ids, 1, list, node)};
  tg_node *sums =
      tg_graph_add_node(graph, TG_OP_SCATTER_ROWS, node->name, operands, 2, node, is_zero(x) ? node->id : -1);
  tg_attr_set_int(sums, TG_ATTR_SIZE, x->dims[0].size);
  tg_out(sums)->dtype = TG_F32;
  tg_rewrite_infer(graph, sums);
  sums->rule = node->rule;
  tg_value_sizes(x, sizes);
  tg_value *sum = tg_rewrite_reshape(graph, tg_out(sums), x->rank, sizes, node);
  if (!is_zero(x)) {
    tg_value *parts[] = {x, sum};
    tg_node *add =
        tg_rewrite_node(graph, TG_OP_ADD, node->name, parts, 2, tg_out(node)->dtype, node, node->id);
    add->rule = node->rule;
    sum = tg_out(add);
  } else if (tg_out(node)->dtype != TG_F32) {
    sum = tg_rewrite_cast(graph, sum, tg_out(node)->dtype, node);
  }
  tg_rewrite_replace(graph, node, sum);
}

void tg_pass_slice_gather(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op == TG_OP_GATHER) gather_constant(graph, node);
  }
}

void tg_pass_lower_gather(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op == TG_OP_GATHER && !gather_constant(graph, node))
      gather(graph, node);
    else if (node->op == TG_OP_SCATTER_ADD)
      scatter_add(graph, node);
  }
}
