/* ReduceMoments, the statistics of a batch: sum and sum of squared distances of each block of rows, merged by
 * the distances of the blocks' means from the mean of all (docs/numerics.md). Moments of a tensor whose rows
 * are reduced are sums of the tensor and then of squared distances from its mean. */
#include "frontend/base/math.h"
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/reductions.h"

enum {
  GROUP = 4
}; /* elements whose mean distances are from: a block has whole groups where there are several */

typedef struct moments {
  tg_value *sum, *squares;
} moments;

static tg_value *moment_of(tg_graph *graph, tg_node *node, tg_value *x, int order, int64_t block) {
  tg_value *made = tg_reduce_axis(graph, node, TG_OP_REDUCE_MOMENT, x, block);
  tg_attr_set_int(made->producer, TG_ATTR_ORDER, order);
  return made;
}

static int64_t block_of(int64_t size) {
  int64_t block = tg_reduce_block_of(size);
  return block < size ? tg_round_up(block, GROUP) : block;
}

/* x over its middle dimension: blocks of it, then blocks of their sums, and so on. */
static tg_value *sum_of(tg_graph *graph, tg_node *node, tg_value *x) {
  while (x->dims[1].size > 1) x = moment_of(graph, node, x, 1, block_of(x->dims[1].size));
  return x;
}

static tg_value *number(tg_graph *graph, double value) {
  return tg_graph_add_scalar(graph, "share", TG_F32, value);
}

/* Elements of each of the blocks of `size`, or 1 over that: one number if all blocks are whole, else [1,
 * blocks, 1]. */
static tg_value *counts_of(tg_graph *graph, int64_t size, int64_t block, bool inverse) {
  int64_t blocks = tg_div_up(size, block), last = size - (blocks - 1) * block, dims[] = {1, blocks, 1};
  if (last == block) return number(graph, inverse ? (double)(1 / (float)block) : (double)block);
  tg_value *made = tg_graph_add_constant(graph, "counts", TG_F32, 3, dims, NULL, false);
  for (int64_t i = 0; i < blocks; i++) {
    float count = (float)(i + 1 < blocks ? block : last);
    tg_store_f32((void *)made->data, TG_F32, (size_t)i, inverse ? 1 / count : count);
  }
  return made;
}

/* sum over blocks of: squares of the block + (mean of the block - mean)^2 elements of the block */
static tg_value *merged(tg_graph *graph, tg_node *node, const moments *of_block, tg_value *sum,
                        const int64_t dims[3], int64_t block) {
  tg_value *means =
      tg_reduce_step(graph, node, TG_OP_MUL, of_block->sum, counts_of(graph, dims[1], block, true), node);
  tg_value *mean =
      tg_reduce_step(graph, node, TG_OP_MUL, sum, number(graph, (double)(1 / (float)dims[1])), node);
  tg_value *apart = tg_reduce_step(graph, node, TG_OP_SUB, means, mean, node);
  tg_value *between =
      tg_reduce_step(graph, node, TG_OP_MUL, tg_reduce_step(graph, node, TG_OP_MUL, apart, apart, node),
                     counts_of(graph, dims[1], block, false), node);
  tg_value *all = tg_reduce_step(graph, node, TG_OP_ADD, of_block->squares, between, node);
  const int64_t blocks[] = {dims[0], all->dims[1].size, dims[2]};
  return tg_reduce_columns(graph, node, TG_OP_REDUCE_SUM, all, blocks);
}

static moments by_blocks(tg_graph *graph, tg_node *node, tg_value *x, const int64_t dims[3], bool squares) {
  int64_t block = block_of(dims[1]);
  x = tg_rewrite_reshape(graph, x, 3, dims, node);
  moments of_block = {.sum = moment_of(graph, node, x, 1, block)};
  moments all = {.sum = sum_of(graph, node, of_block.sum)};
  if (!squares) return all;
  of_block.squares = moment_of(graph, node, x, 2, block);
  all.squares = block < dims[1] ? merged(graph, node, &of_block, all.sum, dims, block) : of_block.squares;
  return all;
}

/* The mean in the shape of the node's result, which keeps its dimensions. */
static tg_value *squares_by_rows(tg_graph *graph, tg_node *node, tg_value *x, tg_value *sum) {
  int64_t sizes[TG_MAX_RANK], count = tg_value_elements(x) / tg_value_elements(sum);
  for (int d = 0; d < x->rank; d++) sizes[d] = x->dims[d].size;
  int axes;
  const int64_t *reduced = tg_attr_ints(node, TG_ATTR_AXES, &axes);
  for (int i = 0; i < axes; i++) sizes[reduced[i]] = 1;
  tg_value *mean =
      tg_reduce_step(graph, node, TG_OP_MUL, sum, number(graph, (double)(1 / (float)count)), node);
  tg_value *apart =
      tg_reduce_step(graph, node, TG_OP_SUB, x, tg_rewrite_reshape(graph, mean, x->rank, sizes, node), node);
  return tg_reduce_as(graph, node, TG_OP_REDUCE_SUM,
                      tg_reduce_step(graph, node, TG_OP_MUL, apart, apart, node));
}

static moments moments_of(tg_graph *graph, tg_node *node, tg_value *x, bool squares) {
  int64_t dims[3];
  if (tg_reduces_columns(node, dims)) return by_blocks(graph, node, x, dims, squares);
  moments all = {.sum = tg_reduce_as(graph, node, TG_OP_REDUCE_SUM, x)};
  if (squares) all.squares = squares_by_rows(graph, node, x, all.sum);
  return all;
}

/* ---- pairs ---- */

static bool is_open(const tg_node *node, int order) {
  return node->op == TG_OP_REDUCE_MOMENT && !tg_attr_int(node, TG_ATTR_BLOCK) &&
         tg_attr_int(node, TG_ATTR_ORDER) == order && tg_value_elements(tg_in(node, 0));
}

/* Do both reduce the same, perhaps cast by a node of their own? */
static bool read_the_same(const tg_node *a, const tg_node *b) {
  const tg_value *x = tg_in(a, 0), *y = tg_in(b, 0);
  int count, other;
  const int64_t *axes = tg_attr_ints(a, TG_ATTR_AXES, &count),
                *others = tg_attr_ints(b, TG_ATTR_AXES, &other);
  bool same = count == other && x->dtype == y->dtype;
  for (int i = 0; same && i < count; i++) same = axes[i] == others[i];
  if (!same || x == y) return same;
  return tg_is_plain_cast(x->producer) && tg_is_plain_cast(y->producer) &&
         tg_in(x->producer, 0) == tg_in(y->producer, 0);
}

/* The sum before it of what the node takes the squares of, or NULL. */
static tg_node *sum_before(tg_graph *graph, const tg_node *node) {
  TG_FOR_NODES(graph, other) {
    if (other == node) return NULL;
    if (is_open(other, 1) && read_the_same(other, node)) return other;
  }
  return NULL;
}

static void replace(tg_graph *graph, tg_node *node, tg_value *value) {
  tg_value *y = tg_out(node);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(y, sizes);
  value = value->dtype == y->dtype ? value : tg_rewrite_cast(graph, value, y->dtype, node);
  tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, value, y->rank, sizes, node));
}

void tg_split_moments(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (!is_open(node, 2)) continue;
    tg_node *sum = sum_before(graph, node), *first = sum ? sum : node;
    moments all = moments_of(graph, first, tg_in(first, 0), true);
    if (sum) replace(graph, sum, all.sum);
    replace(graph, node, all.squares);
  }
  TG_FOR_NODES_SAFE(graph, node)
  if (is_open(node, 1)) replace(graph, node, moments_of(graph, node, tg_in(node, 0), false).sum);
}
