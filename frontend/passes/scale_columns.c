/* Queries, and perhaps keys, of one product are multiplied by a number, values are not: all columns of the product then are
 * multiplied by a number of their own, 1 in place of none, which is the product's epilogue; what takes them apart only moves
 * them. Multiplied by 1 each number is what it was. */
#include "frontend/passes/scale_columns.h"
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

enum { MOST_HOPS = 8, MOST_PARTS = 16 };

/* Columns, and what multiplies them by a number; `multiply` NULL: nothing does. */
typedef struct part {
  int64_t first, count;
  tg_node *multiply;
  const tg_value *number;
} part;

static bool is_number(const tg_value *value) {
  return tg_is_constant(value) && value->data && tg_value_elements(value) == 1;
}

/* The number that it multiplies by; NULL: it does not, or converts. */
static const tg_value *number_of(const tg_node *node) {
  if (node->op != TG_OP_MUL) return NULL;
  for (int i = 0; i < 2; i++) {
    const tg_value *number = tg_in(node, i), *x = tg_in(node, 1 - i);
    if (is_number(number) && number->dtype == x->dtype && tg_out(node)->dtype == x->dtype &&
        tg_out(node)->rank == x->rank)
      return number;
  }
  return NULL;
}

tg_node *tg_find_scale(const tg_value *value) {
  for (int hops = 0; hops < MOST_HOPS && value->use_count == 1 && !value->output_count; hops++) {
    tg_node *reader = value->uses->node;
    if (number_of(reader)) return reader;
    if (reader->op != TG_OP_RESHAPE && reader->op != TG_OP_TRANSPOSE) return NULL;
    value = tg_out(reader);
  }
  return NULL;
}

/* All that is read of the value are its columns, in parts, each element once at most. */
static int parts_of(const tg_value *value, part parts[MOST_PARTS]) {
  int count = 0, last = value->rank - 1;
  if (value->output_count || !value->rank) return 0;
  for (const tg_use *use = value->uses; use; use = use->next) {
    int64_t begin[TG_MAX_RANK];
    const tg_node *slice = use->node;
    if (count == MOST_PARTS || slice->op != TG_OP_SLICE || !tg_is_crop(slice, begin)) return 0;
    const tg_value *y = tg_out(slice);
    for (int d = 0; d < last; d++)
      if (y->dims[d].size != value->dims[d].size) return 0;
    part own = {.first = begin[last], .count = y->dims[last].size};
    for (int i = 0; i < count; i++)
      if (own.first < parts[i].first + parts[i].count && parts[i].first < own.first + own.count) return 0;
    own.multiply = tg_find_scale(y);
    own.number = own.multiply ? number_of(own.multiply) : NULL;
    parts[count++] = own;
  }
  return count;
}

/* Is it computed by a product, or from one by operators that are its epilogue? */
static bool is_of_product(const tg_value *value) {
  for (int hops = 0; value->producer && hops < MOST_HOPS; hops++) {
    const tg_node *node = value->producer;
    if (tg_op_is(node->op, TG_IS_GEMM)) return true;
    if (!tg_op_is(node->op, TG_IS_ELEMENTWISE) || value->use_count > MOST_PARTS) return false;
    int tensor = 0;
    while (tensor < node->input_count && tg_in(node, tensor) && tg_is_constant(tg_in(node, tensor))) tensor++;
    if (tensor == node->input_count || !tg_value_same_shape(tg_in(node, tensor), value)) return false;
    value = tg_in(node, tensor);
  }
  return false;
}

static tg_value *numbers_of(tg_graph *graph, const tg_value *value, const part *parts, int count) {
  int64_t columns = value->dims[value->rank - 1].size;
  tg_value *all = tg_graph_add_constant(graph, "scales", value->dtype, 1, &columns, NULL, false);
  for (int64_t c = 0; c < columns; c++) tg_store_f32((void *)all->data, all->dtype, (size_t)c, 1);
  for (int i = 0; i < count; i++)
    for (int64_t c = 0; parts[i].multiply && c < parts[i].count; c++)
      tg_store_f32((void *)all->data, all->dtype, (size_t)(parts[i].first + c),
                   tg_load_f32(parts[i].number->data, parts[i].number->dtype, 0));
  return all;
}

static void scale(tg_graph *graph, tg_value *value) {
  part parts[MOST_PARTS];
  int count = parts_of(value, parts), scaled = 0;
  const tg_node *first = NULL;
  for (int i = 0; i < count; i++) {
    if (parts[i].multiply && !first) first = parts[i].multiply;
    scaled += parts[i].multiply != NULL;
  }
  if (!scaled || count < 2 || !is_of_product(value)) return;
  tg_node *before = value->producer->next;
  tg_value *operands[] = {value, numbers_of(graph, value, parts, count)};
  tg_node *all = tg_rewrite_node(graph, TG_OP_MUL, first->name, operands, 2, value->dtype, before, first->id);
  all->rule = first->rule;
  tg_value_replace_except(graph, value, tg_out(all), all);
  for (int i = 0; i < count; i++) {
    tg_node *multiply = parts[i].multiply;
    if (multiply) tg_rewrite_replace(graph, multiply, tg_in(multiply, tg_in(multiply, 0) == parts[i].number));
  }
}

void tg_pass_scale_columns(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (tg_op_is(node->op, TG_IS_GEMM | TG_IS_ELEMENTWISE)) scale(graph, tg_out(node));
  }
  tg_pass_remove_dead(graph);
}
