/* Products of one tensor with constant weights, as of heads that read the same features, of branches, or of queries, keys and values,
 * become one whose columns are those of all, with the elementwise operators behind them: the tensor is read once, and products that
 * are small for an array fill it together. What reads one of them reads a part of the result's columns. */
#include "frontend/base/math.h"
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/scale_columns.h"

#include <string.h>

enum {
  MOST_MERGED = 16,  /* products */
  MOST_BEHIND = 16,  /* elementwise operators behind one of them */
  MOST_INPUTS = 8,   /* of one of these */
  MOST_READERS = 64, /* of a value, that are looked at */
  MOST_APART = 4096, /* nodes from a product to another one: bounds the work */
  MOST_HOPS = 8      /* moves that are followed from a part to what reads it */
};

/* A product, and what is computed of its result element by element, in the order in which it may be. */
typedef struct branch {
  tg_node *nodes[1 + MOST_BEHIND]; /* the product is the first */
} branch;

typedef struct merge {
  branch branches[MOST_MERGED];
  int count;  /* branches */
  int behind; /* operators of each, without the product */
} merge;

static bool same_attributes(const tg_node *a, const tg_node *b) {
  if (a->attr_count != b->attr_count) return false;
  for (int i = 0; i < a->attr_count; i++) {
    const tg_attr *x = &a->attrs[i], *y = &b->attrs[i];
    bool ints =
        x->count == y->count && (!x->count || !memcmp(x->ints, y->ints, (size_t)x->count * sizeof *x->ints));
    if (x->key != y->key || x->i != y->i || x->f != y->f || !ints ||
        strcmp(x->text ? x->text : "", y->text ? y->text : "") != 0)
      return false;
  }
  return true;
}

static int64_t columns_of(const tg_value *value) { return value->dims[value->rank - 1].size; }

static bool has_data(const tg_value *value) { return tg_is_constant(value) && value->data; }

/* ---- which products may be merged ---- */

static bool is_product(const tg_node *node) {
  if (node->op != TG_OP_MATMUL && node->op != TG_OP_CONV) return false;
  const tg_value *x = tg_in(node, 0), *w = tg_in(node, 1), *bias = tg_in(node, 2);
  if (tg_is_constant(x) || !has_data(w) || (bias && !has_data(bias)) || tg_out(node)->rank < 2 ||
      !tg_value_elements(tg_out(node)) || !tg_value_elements(w))
    return false;
  if (node->op == TG_OP_CONV)
    return tg_attr_int(node, TG_ATTR_GROUP) == 1 && tg_attr_int(node, TG_ATTR_CHANNELS_LAST);
  return w->rank == 2 && x->rank >= 2 && tg_attr_int(node, TG_ATTR_PARTIALS) == 1;
}

static bool same_but_for_columns(const tg_value *a, const tg_value *b) {
  if (!a || !b) return a == b;
  bool same = a->dtype == b->dtype && a->rank == b->rank;
  for (int d = 0; same && d < a->rank - 1; d++) same = a->dims[d].size == b->dims[d].size;
  return same;
}

static bool are_alike(const tg_node *a, const tg_node *b) {
  return a->op == b->op && tg_in(a, 0) == tg_in(b, 0) && same_attributes(a, b) &&
         same_but_for_columns(tg_in(a, 1), tg_in(b, 1)) && same_but_for_columns(tg_in(a, 2), tg_in(b, 2)) &&
         same_but_for_columns(tg_out(a), tg_out(b));
}

/* ---- what is behind them ---- */

static bool is_elementwise(const tg_node *node) {
  return tg_op_is(node->op, TG_IS_ELEMENTWISE) || tg_is_plain_cast(node);
}

static int number_of(const branch *b, int count, const tg_value *value) {
  for (int i = 0; i < count; i++)
    if (tg_out(b->nodes[i]) == value) return i;
  return -1;
}

static bool same_number(const tg_value *a, const tg_value *b) {
  return has_data(a) && has_data(b) && a->dtype == b->dtype && tg_value_elements(a) == 1 &&
         tg_value_elements(b) == 1 && !memcmp(a->data, b->data, tg_dtype_size(a->dtype));
}

/* A number for each column of `y`? */
static bool has_columns(const tg_value *value, const tg_value *y) {
  return has_data(value) && value->rank && columns_of(value) == columns_of(y);
}

/* Exponents and bounds are one number, whatever their shape. */
static bool may_have_columns(const tg_node *node) { return node->op != TG_OP_POW && node->op != TG_OP_CLIP; }

static bool are_like_constants(const tg_value *a, const tg_value *b, const tg_value *of_a,
                               const tg_value *of_b) {
  return same_number(a, b) || (has_columns(a, of_a) && has_columns(b, of_b) && same_but_for_columns(a, b));
}

/* Does operator `other` compute of `b` what `node` computes of `a`? */
static bool is_like(const branch *a, const branch *b, int count, const tg_node *node, const tg_node *other) {
  if (node == other || node->op != other->op || node->input_count != other->input_count ||
      !same_attributes(node, other) || !same_but_for_columns(tg_out(node), tg_out(other)) ||
      columns_of(tg_out(other)) != columns_of(tg_out(b->nodes[0])))
    return false;
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i), *y = tg_in(other, i);
    int at = x ? number_of(a, count, x) : -1;
    bool like = at >= 0  ? y == tg_out(b->nodes[at])
                : x && y ? are_like_constants(x, y, tg_out(a->nodes[0]), tg_out(b->nodes[0]))
                         : x == y;
    if (!like) return false;
  }
  return true;
}

/* All that it reads is of the branch, or constant. */
static bool is_of_branch(const branch *b, int count, const tg_node *node) {
  if (!is_elementwise(node) || tg_out(node)->rank != tg_out(b->nodes[0])->rank ||
      !tg_value_same_shape(tg_out(node), tg_out(b->nodes[0])))
    return false;
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) && !has_data(tg_in(node, i)) && number_of(b, count, tg_in(node, i)) < 0) return false;
  return number_of(b, count, tg_out(node)) < 0;
}

/* The next operator of a branch, of those that read what it has; NULL: there is none. */
static tg_node *next_of(const branch *b, int count) {
  for (int i = 0; i < count; i++)
    for (const tg_use *use = tg_out(b->nodes[i])->uses; use; use = use->next)
      if (is_of_branch(b, count, use->node)) return use->node;
  return NULL;
}

static tg_node *like_of(const branch *a, const branch *b, int count, const tg_node *node) {
  for (int i = 0; i < count; i++)
    for (const tg_use *use = tg_out(b->nodes[i])->uses; use; use = use->next)
      if (is_of_branch(b, count, use->node) && is_like(a, b, count, node, use->node)) return use->node;
  return NULL;
}

/* An elementwise operator that is not merged would have been its product's epilogue. */
static bool leaves_an_epilogue(const branch *b, int count) {
  for (int i = 0; i < count; i++) {
    if (tg_out(b->nodes[i])->use_count > MOST_READERS) return true;
    for (const tg_use *use = tg_out(b->nodes[i])->uses; use; use = use->next)
      if (is_elementwise(use->node) && number_of(b, count, tg_out(use->node)) < 0) return true;
  }
  return false;
}

/* All that is behind a product and of it alone; false: some operator behind it reads another tensor, too. */
static bool follow(tg_node *product, branch *out, int *out_count) {
  tg_node *next = product;
  int count = 0;
  for (; next && count <= MOST_BEHIND; next = next_of(out, count)) out->nodes[count++] = next;
  *out_count = count;
  return !next && !leaves_an_epilogue(out, count);
}

/* The same behind another product. */
static bool follow_like(const branch *a, int count, tg_node *product, branch *out) {
  out->nodes[0] = product;
  for (int i = 1; i < count; i++)
    if (!(out->nodes[i] = like_of(a, out, i, a->nodes[i]))) return false;
  return !leaves_an_epilogue(out, count);
}

/* ---- where that pays ---- */

/* Does a product read the part where it lies, perhaps in another shape or order? */
static bool is_read_in_place(const tg_value *part, int hops) {
  if (part->output_count || !hops) return false;
  for (const tg_use *use = part->uses; use; use = use->next) {
    const tg_node *reader = use->node;
    bool product = reader->op == TG_OP_MATMUL ||
                   (reader->op == TG_OP_CONV && tg_attr_int(reader, TG_ATTR_GROUP) == 1),
         moves = reader->op == TG_OP_RESHAPE || reader->op == TG_OP_TRANSPOSE || tg_is_plain_cast(reader);
    if (!product && !(moves && is_read_in_place(tg_out(reader), hops - 1))) return false;
  }
  return true;
}

static int64_t copied_elements(const branch *b, int count) {
  int64_t elements = 0;
  for (int i = 0; i < count; i++) {
    const tg_value *part = tg_out(b->nodes[i]);
    bool read = part->output_count > 0;
    for (const tg_use *use = part->uses; use; use = use->next)
      read |= number_of(b, count, tg_out(use->node)) < 0;
    if (read && !is_read_in_place(part, MOST_HOPS)) elements += tg_value_elements(part);
  }
  return elements;
}

/* What is copied out of the result must be less than what is not read again. */
static bool pays(const merge *m) {
  int64_t copied = 0;
  for (int i = 0; i < m->count; i++) copied += copied_elements(&m->branches[i], 1 + m->behind);
  return copied <= (m->count - 1) * tg_value_elements(tg_in(m->branches[0].nodes[0], 0));
}

/* ---- the merged product ---- */

/* Is a constant operand the same for all, or what all multiply? */
static bool is_shared(const merge *m, int node, int input) {
  tg_value *x = tg_in(m->branches[0].nodes[node], input);
  if (!x || !node) return !x || !input;
  for (int i = 0; i < m->count; i++)
    if (!same_number(x, tg_in(m->branches[i].nodes[node], input))) return false;
  return true;
}

/* Constants that two by two are the same number or have numbers by column: all are the one, or all the other. */
static bool operands_agree(const merge *m) {
  for (int n = 1; n <= m->behind; n++)
    for (int input = 0; input < m->branches[0].nodes[n]->input_count; input++) {
      if (!has_data(tg_in(m->branches[0].nodes[n], input)) || is_shared(m, n, input)) continue;
      if (!may_have_columns(m->branches[0].nodes[n])) return false;
      for (int i = 0; i < m->count; i++)
        if (!has_columns(tg_in(m->branches[i].nodes[n], input), tg_out(m->branches[i].nodes[0])))
          return false;
    }
  return true;
}

/* Constants side by side, by columns. */
static tg_value *side_by_side(tg_graph *graph, const merge *m, int node, int input) {
  const tg_value *first = tg_in(m->branches[0].nodes[node], input);
  int64_t sizes[TG_MAX_RANK], columns = 0, at = 0, rows = tg_value_elements(first) / columns_of(first);
  size_t z = tg_dtype_size(first->dtype);
  tg_value_sizes(first, sizes);
  for (int i = 0; i < m->count; i++) columns += columns_of(tg_in(m->branches[i].nodes[node], input));
  sizes[first->rank - 1] = columns;
  tg_value *all = tg_graph_add_constant(graph, first->name, first->dtype, first->rank, sizes, NULL, false);
  for (int i = 0; i < m->count; i++) {
    const tg_value *own = tg_in(m->branches[i].nodes[node], input);
    size_t bytes = (size_t)columns_of(own) * z;
    for (int64_t r = 0; r < rows; r++)
      memcpy((char *)all->data + (size_t)(r * columns + at) * z, (const char *)own->data + (size_t)r * bytes,
             bytes);
    at += columns_of(own);
  }
  return all;
}

/* Names of all, of those that have one. */
static const char *names_of(tg_graph *graph, const merge *m, int node, bool of_results) {
  const char *names = "";
  for (int i = 0; i < m->count; i++) {
    const tg_node *own = m->branches[i].nodes[node];
    const char *name = of_results ? tg_out(own)->name : own->name;
    if (*name) names = *names ? tg_arena_printf(graph->arena, "%s+%s", names, name) : name;
  }
  return names;
}

/* Operand `input` of operator number `node`: one of all, or one that all have. */
static tg_value *operand_of(tg_graph *graph, const merge *m, tg_node *const *merged, int node, int input) {
  const branch *first = &m->branches[0];
  tg_value *x = tg_in(first->nodes[node], input);
  int at = x ? number_of(first, node, x) : -1;
  if (at >= 0) return tg_out(merged[at]);
  return is_shared(m, node, input) ? x : side_by_side(graph, m, node, input);
}

/* Columns of the result in place of a product's own, under its name. */
static void replace_part(tg_graph *graph, tg_value *part, tg_value *all, int64_t first, tg_node *before) {
  tg_value *slice = tg_rewrite_slice(graph, all, all->rank - 1, first, columns_of(part), 1, before);
  const char *name = part->name;
  tg_value_replace(graph, part, slice);
  tg_value_rename(graph, part, tg_arena_printf(graph->arena, "%s.old", name));
  tg_value_rename(graph, slice, name);
}

static void replace_parts(tg_graph *graph, const merge *m, tg_value *all, int node, tg_node *before) {
  int64_t first = 0;
  for (int i = 0; i < m->count; i++) {
    tg_value *part = tg_out(m->branches[i].nodes[node]);
    if (part->use_count || part->output_count) replace_part(graph, part, all, first, before);
    first += columns_of(part);
  }
}

/* Puts it in front of the first product; what reads parts comes behind that. */
static void apply(tg_graph *graph, const merge *m) {
  tg_node *merged[1 + MOST_BEHIND], *before = m->branches[0].nodes[0];
  for (int n = 0; n <= m->behind; n++) {
    tg_node *first = m->branches[0].nodes[n];
    tg_value *inputs[MOST_INPUTS];
    for (int i = 0; i < first->input_count; i++) inputs[i] = operand_of(graph, m, merged, n, i);
    merged[n] = tg_rewrite_copy(graph, first, inputs, before);
    merged[n]->name = names_of(graph, m, n, false);
    tg_value_rename(graph, tg_out(merged[n]), names_of(graph, m, n, true));
    tg_rewrite_infer(graph, merged[n]);
  }
  for (int n = m->behind; n >= 0; n--) { /* the last ones first, which read those before */
    replace_parts(graph, m, tg_out(merged[n]), n, before);
    for (int i = 0; i < m->count; i++) tg_graph_remove_node(graph, m->branches[i].nodes[n]);
  }
}

/* Does another product read the same in the same way? */
static bool has_another(const tg_node *product) {
  const tg_value *x = tg_in(product, 0);
  if (x->use_count < 2 || x->use_count > MOST_READERS) return false;
  for (const tg_use *use = x->uses; use; use = use->next)
    if (use->node != product && is_product(use->node) && are_alike(product, use->node)) return true;
  return false;
}

static bool find(tg_node *product, merge *m) {
  int count;
  m->count = 1;
  if (!is_product(product) || !has_another(product) || !follow(product, &m->branches[0], &count))
    return false;
  m->behind = count - 1;
  for (int i = 0; i < count; i++)
    if (m->branches[0].nodes[i]->input_count > MOST_INPUTS) return false;
  tg_node *node = product->next;
  for (int i = 0; node && i < MOST_APART && m->count < MOST_MERGED; i++, node = node->next)
    if (is_product(node) && are_alike(product, node) &&
        follow_like(&m->branches[0], count, node, &m->branches[m->count]))
      m->count++;
  return m->count > 1 && operands_agree(m) && pays(m);
}

/* Is a part of it multiplied by a number behind moves? */
static bool is_scaled(const merge *m) {
  for (int i = 0; i < m->count; i++)
    if (tg_find_scale(tg_out(m->branches[i].nodes[m->behind]))) return true;
  return false;
}

static void merge_all(tg_graph *graph, bool scaled_only) {
  merge m;
  for (tg_node *node = graph->first, *next; node; node = next) {
    next = node->next;
    if (!find(node, &m) || (scaled_only && !is_scaled(&m))) continue;
    const tg_node *before = node->previous;
    apply(graph, &m);
    next = before ? before->next : graph->first;
  }
  tg_pass_remove_dead(graph);
}

void tg_pass_merge_products(tg_graph *graph) { merge_all(graph, false); }
void tg_merge_scaled_products(tg_graph *graph) { merge_all(graph, true); }
