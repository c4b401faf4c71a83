/* Rows by their numbers. Constant numbers are Slices; numbers that arrive with a run are compared with all
 * rows' numbers, and the rows are a product with what is 1 at the row meant and 0 elsewhere: exact, since the
 * chain of a product adds nothing but zeros to the row, as long as the table is finite. They are fp32 by then
 * (lower_integers.c). */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_SLICES = 64 };

/* ---- constant numbers: runs of equal steps */

static tg_value *slice_run(tg_graph *graph, tg_value *x, int64_t axis, int64_t start, int64_t count,
                           int64_t step, tg_node *before) {
  int64_t end = start + (count - 1) * step + (step > 0 ? 1 : -1);
  if (end < 0) end = -x->dims[axis].size - 1;
  tg_node *node = tg_graph_add_node(graph, TG_OP_SLICE, x->name, &x, 1, before, -1);
  tg_attr_set_ints(graph, node, TG_ATTR_STARTS, &start, 1);
  tg_attr_set_ints(graph, node, TG_ATTR_ENDS, &end, 1);
  tg_attr_set_ints(graph, node, TG_ATTR_AXES, &axis, 1);
  tg_attr_set_ints(graph, node, TG_ATTR_STEPS, &step, 1);
  tg_rewrite_infer(graph, node);
  return tg_out(node);
}

/* Elements of the longest run of equal steps, none of them 0, from element `at` on. */
static int64_t run_length(const int64_t *index, int64_t count, int64_t at) {
  int64_t length = count - at < 2 ? count - at : 2;
  if (length == 2 && index[at + 1] == index[at]) return 1;
  while (length >= 2 && at + length < count &&
         index[at + length] - index[at + length - 1] == index[at + 1] - index[at])
    length++;
  return length;
}

/* The slices joined along the axis; NULL: there would be too many. */
static tg_value *select_constant(tg_graph *graph, tg_node *node, const int64_t *index, int64_t count) {
  int64_t axis = tg_attr_int(node, TG_ATTR_AXIS), length;
  tg_value *parts[MOST_SLICES];
  int runs = 0;
  for (int64_t at = 0; at < count; at += run_length(index, count, at))
    if (++runs > MOST_SLICES) return NULL;
  runs = 0;
  for (int64_t at = 0; at < count; at += length) {
    length = run_length(index, count, at);
    parts[runs++] = slice_run(graph, tg_in(node, 0), axis, index[at], length,
                              length > 1 ? index[at + 1] - index[at] : 1, node);
  }
  if (runs == 1) return parts[0];
  tg_node *concat = tg_graph_add_node(graph, TG_OP_CONCAT, node->name, parts, runs, node, -1);
  tg_attr_set_int(concat, TG_ATTR_AXIS, axis);
  tg_rewrite_infer(graph, concat);
  return tg_out(concat);
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
  int64_t count = tg_value_elements(tg_in(node, 1)), runs = 0, *index = constant_numbers(node);
  for (int64_t at = 0; at < count && runs <= MOST_SLICES; at += run_length(index, count, at)) runs++;
  free(index);
  return runs <= MOST_SLICES;
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

static tg_value *unary(tg_graph *graph, tg_op op, tg_value *x, tg_dtype dtype, tg_node *before) {
  return tg_out(tg_rewrite_node(graph, op, before->name, &x, 1, dtype, before, -1));
}

/* A product that only chooses or adds: it rounds as an addition does, whatever --tiling-accum says of matrix
 * products. */
static tg_node *choosing(tg_node *product) {
  tg_attr_set_int(product, TG_ATTR_ACCUMULATION, TG_ACCUMULATE_FP32);
  return product;
}

/* 1 where column v is the number of row n, else 0: [count, size]; of whole numbers that is max(1 - |n - v|,
 * 0). Negative numbers count from the end. */
static tg_value *one_hot(tg_graph *graph, tg_value *indices, int64_t size, tg_dtype dtype, tg_node *before) {
  int64_t column[] = {tg_value_elements(indices), 1}, row[] = {size};
  if (tg_dtype_is_integer(indices->dtype))
    indices = tg_is_constant(indices) ? tg_rewrite_numbers(graph, indices, TG_F32)
                                      : tg_rewrite_cast(graph, indices, TG_F32, before);
  tg_value *ids = tg_rewrite_reshape(graph, indices, 2, column, before);
  tg_value *numbers = tg_graph_add_constant(graph, "rows", TG_F32, 1, row, NULL, false);
  for (int64_t i = 0; i < size; i++) ((float *)numbers->data)[i] = (float)i;
  tg_value *one = tg_graph_add_scalar(graph, "one", TG_F32, 1),
           *whole = tg_graph_add_scalar(graph, "rows", TG_F32, (double)size);
  tg_value *negative = unary(graph, TG_OP_CLIP, unary(graph, TG_OP_NEG, ids, TG_F32, before), TG_F32, before);
  tg_attr_set_float(negative->producer, TG_ATTR_MIN, 0);
  tg_attr_set_float(negative->producer, TG_ATTR_MAX, 1);
  ids = binary(graph, TG_OP_ADD, ids, binary(graph, TG_OP_MUL, negative, whole, TG_F32, before), TG_F32,
               before);
  /* A product of one k spreads the numbers over the columns: a load would fetch each again for every
   * element. */
  tg_value *ones = tg_graph_add_constant(graph, "ones", TG_F32, 2, (int64_t[]){1, size}, NULL, false);
  for (int64_t i = 0; i < size; i++) ((float *)ones->data)[i] = 1;
  tg_value *spread = binary(graph, TG_OP_MATMUL, ids, ones, TG_F32, before);
  choosing(spread->producer);
  tg_value *apart =
      unary(graph, TG_OP_ABS, binary(graph, TG_OP_SUB, spread, numbers, TG_F32, before), TG_F32, before);
  return unary(graph, TG_OP_RELU, binary(graph, TG_OP_SUB, one, apart, TG_F32, before), dtype, before);
}

/* The axis in front, the others as one: [size, rest]. */
static tg_value *as_table(tg_graph *graph, tg_value *x, int axis, tg_node *before) {
  int64_t perm[TG_MAX_RANK], size = x->dims[axis].size;
  for (int d = 0; d < x->rank; d++) perm[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
  int64_t matrix[] = {size, tg_value_elements_between(x, 0, axis) *
                                tg_value_elements_between(x, axis + 1, x->rank)};
  return tg_rewrite_reshape(graph, tg_rewrite_transpose(graph, x, perm, before), 2, matrix, before);
}

/* ---- tables that may hold infinities and NaNs, of which each would make NaN of its whole column ---- */

/* Is every element known to be finite, in each format that it is converted to on the way? */
static bool is_finite(const tg_value *x) {
  double most = INFINITY;
  for (; x->producer; x = tg_in(x->producer, 0)) {
    tg_op op = x->producer->op;
    if (op == TG_OP_CAST)
      most = 65504; /* the largest of fp16 */
    else if (op != TG_OP_RESHAPE && op != TG_OP_TRANSPOSE && op != TG_OP_SLICE)
      return false;
  }
  if (!tg_is_constant(x) || !x->data) return false;
  int64_t count = tg_value_elements(x);
  for (int64_t i = 0; i < count; i++) {
    float value = tg_load_f32(x->data, x->dtype, (size_t)i);
    if (!isfinite(value) || fabs((double)value) > most) return false;
  }
  return true;
}

static tg_value *where(tg_graph *graph, tg_value *condition, tg_value *a, tg_value *b, tg_dtype dtype,
                       tg_node *before) {
  tg_value *operands[] = {condition, a, b};
  return tg_out(tg_rewrite_node(graph, TG_OP_WHERE, before->name, operands, 3, dtype, before, -1));
}

/* What stands for an element that is not finite in a table of its own; 0: it is. */
typedef enum code { POSITIVE_INFINITY = 1, NEGATIVE_INFINITY, NOT_A_NUMBER } code;

/* `rows` have zeros for what is not finite: puts it back. */
static tg_value *with_infinities(tg_graph *graph, tg_value *hot, tg_value *table, tg_value *finite,
                                 tg_value *rows, tg_node *node) {
  tg_dtype dtype = table->dtype;
  tg_value *zero = tg_graph_add_scalar(graph, "zero", dtype, 0),
           *positive = tg_graph_add_scalar(graph, "positive", dtype, POSITIVE_INFINITY),
           *negative = tg_graph_add_scalar(graph, "negative", dtype, NEGATIVE_INFINITY);
  tg_value *codes = where(graph, binary(graph, TG_OP_LESS, table, zero, TG_BF16, node), negative,
                          tg_graph_add_scalar(graph, "nan", dtype, NOT_A_NUMBER), dtype, node);
  codes = where(graph, binary(graph, TG_OP_LESS, zero, table, TG_BF16, node), positive, codes, dtype, node);
  codes = where(graph, finite, zero, codes, dtype, node);
  codes = binary(graph, TG_OP_MATMUL, hot, codes, dtype, node);
  choosing(codes->producer);
  tg_value *y = where(graph, binary(graph, TG_OP_EQUAL, codes, negative, TG_BF16, node),
                      tg_graph_add_scalar(graph, "infinity", dtype, -INFINITY),
                      tg_graph_add_scalar(graph, "nan", dtype, NAN), dtype, node);
  y = where(graph, binary(graph, TG_OP_EQUAL, codes, positive, TG_BF16, node),
            tg_graph_add_scalar(graph, "infinity", dtype, INFINITY), y, dtype, node);
  return where(graph, binary(graph, TG_OP_EQUAL, codes, zero, TG_BF16, node), rows, y, dtype, node);
}

/* The rows of `table` that `hot` chooses. */
static tg_value *choose_rows(tg_graph *graph, tg_value *hot, tg_value *table, tg_node *node) {
  tg_value *finite = NULL, *clean = table;
  if (!is_finite(table)) {
    tg_value *zero = tg_graph_add_scalar(graph, "zero", table->dtype, 0);
    finite =
        binary(graph, TG_OP_EQUAL, binary(graph, TG_OP_SUB, table, table, TG_F32, node), zero, TG_BF16, node);
    clean = where(graph, finite, table, zero, table->dtype, node);
  }
  tg_node *product = choosing(tg_rewrite_node(graph, TG_OP_MATMUL, node->name, (tg_value *[]){hot, clean}, 2,
                                              table->dtype, node, node->id));
  product->rule = node->rule;
  return finite ? with_infinities(graph, hot, table, finite, tg_out(product), node) : tg_out(product);
}

static void gather(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), many = indices->rank, rank = 0;
  tg_value *table = as_table(graph, x, axis, node);
  tg_value *hot = one_hot(graph, indices, x->dims[axis].size, x->dtype, node);
  tg_value *chosen = choose_rows(graph, hot, table, node);
  int64_t sizes[TG_MAX_RANK], perm[TG_MAX_RANK];
  for (int d = 0; d < many; d++) sizes[rank++] = indices->dims[d].size;
  for (int d = 0; d < x->rank; d++)
    if (d != axis) sizes[rank++] = x->dims[d].size;
  for (int d = 0; d < rank; d++) perm[d] = d < axis ? many + d : d < axis + many ? d - axis : d;
  tg_value *rows = tg_rewrite_reshape(graph, chosen, rank, sizes, node);
  tg_rewrite_replace(graph, node, tg_rewrite_transpose(graph, rows, perm, node));
}

/* The transposed product: each row's chain adds the updates in their order. */
static void scatter_add(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0), *updates = tg_in(node, 2);
  int64_t size = x->dims[0].size, count = tg_value_elements(tg_in(node, 1)), sizes[TG_MAX_RANK];
  int64_t matrix[] = {count, tg_value_elements_between(x, 1, x->rank)};
  tg_value_sizes(x, sizes);
  tg_value *hot = one_hot(graph, tg_in(node, 1), size, updates->dtype, node);
  tg_value *turned = tg_rewrite_transpose(graph, hot, (int64_t[]){1, 0}, node);
  tg_value *rows = tg_rewrite_reshape(graph, updates, 2, matrix, node);
  tg_value *sum = binary(graph, TG_OP_MATMUL, turned, rows, TG_F32, node);
  choosing(sum->producer);
  tg_value *operands[] = {x, tg_rewrite_reshape(graph, sum, x->rank, sizes, node)};
  tg_node *add =
      tg_rewrite_node(graph, TG_OP_ADD, node->name, operands, 2, tg_out(node)->dtype, node, node->id);
  add->rule = node->rule;
  tg_rewrite_replace(graph, node, tg_out(add));
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
