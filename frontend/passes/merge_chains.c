/* Chains of Transposes and Reshapes that take dimensions apart and join them, as an image is cut into patches: where they keep rows of
 * elements together they are one Transpose, between Reshapes, which moves such rows once. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

enum {
  MOST_FACTORS = 24, /* of all dimensions of a chain */
  MOST_MOVED = 5,    /* dimensions of one walk through memory */
  SHORTEST_ROW = 16, /* elements */
  MOST_LINKS = 16    /* nodes of a chain */
};

/* Factors of the tensor's dimensions, in the order in which they lie at the beginning of a chain, and at some place of it. */
typedef struct factors {
  int count;
  int64_t size[MOST_FACTORS];      /* of each, in the order of the beginning */
  int now[MOST_FACTORS];           /* which factor lies where */
  int rank, dims[TG_MAX_RANK + 1]; /* dimension d of the place is now[dims[d]] up to now[dims[d + 1]] */
} factors;

static bool begin(const tg_value *x, factors *f) {
  f->count = 0;
  f->rank = x->rank;
  for (int d = 0; d < x->rank; d++) {
    f->dims[d] = f->count;
    f->size[f->count] = x->dims[d].size;
    f->now[f->count] = f->count;
    f->count++;
  }
  f->dims[x->rank] = f->count;
  return tg_value_elements(x) > 0;
}

/* The factor at `place` is `first` times what is left of it from now on. */
static bool split(factors *f, int place, int64_t first) {
  int number = f->now[place];
  if (f->count == MOST_FACTORS || f->size[number] % first) return false;
  for (int i = 0; i < f->count; i++) f->now[i] += f->now[i] > number;
  for (int i = f->count; i > number + 1; i--) f->size[i] = f->size[i - 1];
  for (int i = f->count; i > place + 1; i--) f->now[i] = f->now[i - 1];
  f->size[number + 1] = f->size[number] / first;
  f->size[number] = first;
  f->now[place + 1] = number + 1;
  f->count++;
  return true;
}

/* Dimensions are those of y, of the same elements; false: some factor does not come out even. */
static bool reshape(factors *f, const tg_value *y) {
  int place = 0;
  f->rank = y->rank;
  for (int d = 0; d < y->rank; d++) {
    int64_t left = y->dims[d].size;
    f->dims[d] = place;
    for (; left > 1; place++) {
      int64_t size = f->size[f->now[place]];
      if (left % size) {
        if (size % left || !split(f, place, left)) return false;
        size = left;
      }
      left /= size;
    }
  }
  while (place < f->count && f->size[f->now[place]] == 1) place++;
  f->dims[y->rank] = place; /* what is 1 lies anywhere */
  return place == f->count;
}

static void transpose(factors *f, const int64_t *perm) {
  factors from = *f;
  int count = 0;
  for (int d = 0; d < f->rank; d++) {
    f->dims[d] = count;
    for (int i = from.dims[perm[d]]; i < from.dims[perm[d] + 1]; i++) f->now[count++] = from.now[i];
  }
  f->dims[f->rank] = count;
}

/* What moves: factors that stay beside each other are one. Their sizes at the beginning, and how they are permuted; returns how many. */
static int merged(const factors *f, int64_t sizes[MOST_FACTORS], int64_t perm[MOST_FACTORS]) {
  int of[MOST_FACTORS], place[MOST_FACTORS], count = 0, moved = 0, previous = -1;
  for (int i = 0; i < f->count; i++) place[f->now[i]] = i;
  for (int n = 0; n < f->count; n++) {
    if (f->size[n] == 1) continue;
    int next = previous < 0 ? 0 : place[previous] + 1;
    while (previous >= 0 && next < f->count && f->size[f->now[next]] == 1) next++;
    if (previous >= 0 && next == place[n])
      sizes[count - 1] *= f->size[n];
    else
      sizes[count++] = f->size[n];
    of[n] = count - 1;
    previous = n;
  }
  for (int i = 0; i < f->count; i++) {
    int n = f->now[i];
    if (f->size[n] > 1 && (!moved || perm[moved - 1] != of[n])) perm[moved++] = of[n];
  }
  return count;
}

static bool is_link(const tg_value *value) {
  const tg_node *node = value->producer;
  return node && (node->op == TG_OP_TRANSPOSE || node->op == TG_OP_RESHAPE);
}

/* What the chain that ends in the value begins with, and its nodes, the last one first. */
static tg_value *follow(tg_value *value, tg_node *nodes[MOST_LINKS], int *out_count) {
  int count = 0;
  while (is_link(value) && count < MOST_LINKS) {
    if (count && (value->use_count > 1 || value->output_count)) break;
    nodes[count++] = value->producer;
    value = tg_in(value->producer, 0);
  }
  *out_count = count;
  return value;
}

static bool walk(tg_value *x, tg_node *const *nodes, int count, factors *f) {
  if (!begin(x, f)) return false;
  for (int i = count - 1; i >= 0; i--)
    if (nodes[i]->op == TG_OP_TRANSPOSE)
      transpose(f, tg_attr_ints(nodes[i], TG_ATTR_PERM, NULL));
    else if (!reshape(f, tg_out(nodes[i])))
      return false;
  return true;
}

static int moves_of(tg_node *const *nodes, int count) {
  int moves = 0;
  for (int i = 0; i < count; i++)
    moves += nodes[i]->op == TG_OP_TRANSPOSE &&
             !tg_perm_keeps_order(tg_attr_ints(nodes[i], TG_ATTR_PERM, NULL), tg_in(nodes[i], 0));
  return moves;
}

static void merge(tg_graph *graph, tg_node *last) {
  tg_node *nodes[MOST_LINKS];
  factors f;
  int64_t sizes[MOST_FACTORS], perm[MOST_FACTORS], whole[TG_MAX_RANK];
  int links;
  tg_value *x = follow(tg_out(last), nodes, &links), *y = tg_out(last);
  if (moves_of(nodes, links) < 2 || tg_is_constant(x) || !walk(x, nodes, links, &f)) return;
  int count = merged(&f, sizes, perm);
  bool rows = count <= MOST_MOVED && perm[count - 1] == count - 1 && sizes[count - 1] >= SHORTEST_ROW;
  if (!rows) return;
  tg_value_sizes(y, whole);
  tg_value *apart = tg_rewrite_reshape(graph, x, count, sizes, last);
  tg_value *moved = tg_rewrite_transpose(graph, apart, perm, last);
  tg_rewrite_replace(graph, last, tg_rewrite_reshape(graph, moved, y->rank, whole, last));
}

/* Does another link of a chain read it? */
static bool goes_on(const tg_value *value) {
  return value->use_count == 1 && !value->output_count && is_link(tg_out(value->uses->node));
}

void tg_pass_merge_chains(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (is_link(tg_out(node)) && !goes_on(tg_out(node))) merge(graph, node);
  tg_pass_remove_dead(graph);
}
