/* Queries, keys and values of one product, as vision transformers have them: a Reshape takes the product's columns apart, into
 * three times heads times elements, a Transpose brings the three to the front, and a Slice takes each of them. Those that a
 * Slice takes lie beside each other, so that it may stand in front of the Reshape: it takes columns of the product then, which
 * whoever reads them finds where they lie. Dimensions of 1 that are left, and a later Reshape drops, are dropped by the first. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

/* A part of what a Reshape takes apart, and perhaps a Transpose moves: where it begins, and its sizes, in the Reshape's order. */
typedef struct part {
  const tg_node *reshape, *transpose; /* the latter NULL: there is none */
  int64_t begin[TG_MAX_RANK], sizes[TG_MAX_RANK];
} part;

/* Do Slices alone read it, so that it need not be made? */
static bool is_read_in_parts(const tg_value *value) {
  if (value->output_count) return false;
  for (const tg_use *use = value->uses; use; use = use->next)
    if (use->node->op != TG_OP_SLICE) return false;
  return true;
}

static bool find_part(const tg_node *slice, part *out) {
  int64_t begin[TG_MAX_RANK];
  const tg_node *maker = tg_in(slice, 0)->producer;
  const int64_t *perm = NULL;
  *out = (part){0};
  if (maker && maker->op == TG_OP_TRANSPOSE && is_read_in_parts(tg_out(maker))) {
    out->transpose = maker;
    perm = tg_attr_ints(maker, TG_ATTR_PERM, NULL);
    maker = tg_in(maker, 0)->producer;
  }
  out->reshape = maker;
  if (!maker || maker->op != TG_OP_RESHAPE || !tg_is_crop(slice, begin)) return false;
  for (int d = 0; d < tg_out(slice)->rank; d++) {
    int from = perm ? (int)perm[d] : d;
    out->begin[from] = begin[d];
    out->sizes[from] = tg_out(slice)->dims[d].size;
  }
  return tg_value_elements(tg_out(slice)) < tg_value_elements(tg_in(slice, 0));
}

/* Of the last dimension of what is taken apart, of which dimensions from `first` on are made, the elements that the part has: from
 * *out_from on, *out_count beside each other. False: they do not lie so, or it has some of another dimension only. */
static bool has_columns(const part *p, int first, int64_t *out_from, int64_t *out_count) {
  const tg_value *whole = tg_out(p->reshape);
  bool ranges = false;
  *out_from = 0;
  *out_count = 1;
  for (int d = 0; d < whole->rank; d++) {
    int64_t size = whole->dims[d].size;
    if (p->sizes[d] < size && (d < first || ranges)) return false;
    if (d < first) continue;
    ranges |= p->sizes[d] > 1;
    *out_from = *out_from * size + p->begin[d];
    *out_count *= p->sizes[d];
  }
  return true;
}

/* Slice(Transpose(Reshape(x))) to Transpose(Reshape(Slice(x))), of columns of x. */
static void slice_before(tg_graph *graph, tg_node *slice) {
  part p;
  int first[TG_MAX_RANK + 1];
  int64_t from, count;
  if (!find_part(slice, &p)) return;
  tg_value *x = tg_in(p.reshape, 0);
  if (!x->rank || !tg_dims_are_groups(x, tg_out(p.reshape), first) ||
      !has_columns(&p, first[x->rank - 1], &from, &count))
    return;
  tg_value *columns = tg_rewrite_slice(graph, x, x->rank - 1, from, count, 1, slice);
  tg_value *apart = tg_rewrite_reshape(graph, columns, tg_out(p.reshape)->rank, p.sizes, slice);
  if (p.transpose)
    apart = tg_rewrite_transpose(graph, apart, tg_attr_ints(p.transpose, TG_ATTR_PERM, NULL), slice);
  tg_rewrite_replace(graph, slice, apart);
}

/* The dimension of more than 1 from `*at` on, which then is behind it; -1: there is none. */
static int next_counting(const tg_value *x, int *at) {
  while (*at < x->rank && x->dims[*at].size == 1) ++*at;
  return *at < x->rank ? (*at)++ : -1;
}

/* Reshape(Transpose(Reshape(x))) to Transpose(Reshape(x)), where the last one only drops or adds dimensions of 1. */
static void drop_before(tg_graph *graph, tg_node *reshape) {
  tg_node *transpose = tg_in(reshape, 0)->producer;
  if (!transpose || transpose->op != TG_OP_TRANSPOSE || tg_out(transpose)->use_count > 1 ||
      tg_out(transpose)->output_count)
    return;
  tg_node *inner = tg_in(transpose, 0)->producer;
  if (!inner || inner->op != TG_OP_RESHAPE) return;
  const tg_value *y = tg_out(reshape), *moved = tg_out(transpose), *x = tg_in(transpose, 0);
  const int64_t *all = tg_attr_ints(transpose, TG_ATTR_PERM, NULL);
  int64_t place[TG_MAX_RANK] = {0}, sizes[TG_MAX_RANK], perm[TG_MAX_RANK];
  int of_y[TG_MAX_RANK], counting = 0, ones = 0, at_y = 0, at_moved = 0, d;
  while ((d = next_counting(y, &at_y)) >= 0) {
    int e = next_counting(moved, &at_moved);
    if (e < 0 || moved->dims[e].size != y->dims[d].size) return;
    place[all[e]] = 1; /* dimension all[e] of x is d of y */
    of_y[counting++] = d;
    perm[d] = all[e];
  }
  if (next_counting(moved, &at_moved) >= 0 || !counting) return;
  ones = y->rank - counting;
  for (int i = 0; i < ones; i++) sizes[i] = 1;
  for (int i = 0, next = ones; i < x->rank; i++) {
    if (!place[i]) continue;
    sizes[next] = x->dims[i].size;
    place[i] = next++;
  }
  for (int i = 0; i < counting; i++) perm[of_y[i]] = place[perm[of_y[i]]];
  for (int i = 0, one = 0; i < y->rank; i++)
    if (y->dims[i].size == 1) perm[i] = one++;
  tg_value *parts = tg_rewrite_reshape(graph, tg_in(inner, 0), y->rank, sizes, reshape);
  tg_rewrite_replace(graph, reshape, tg_rewrite_transpose(graph, parts, perm, reshape));
}

void tg_pass_slice_reshapes(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op == TG_OP_SLICE)
      slice_before(graph, node);
    else if (node->op == TG_OP_RESHAPE)
      drop_before(graph, node);
  }
  tg_pass_remove_dead(graph);
}
