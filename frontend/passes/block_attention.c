/* Softmax of rows and the product that reads it as one operator, which goes over the row by blocks. */
#include "frontend/base/math.h"
#include "frontend/build/rewrite.h"
#include "frontend/passes/block_gradient.h"
#include "frontend/passes/passes.h"

#include <stdio.h>

enum {
  WIDEST = 256,           /* columns of V: a block of them has to fit beside what else there is */
  BLOCKS_OF_GRADIENTS = 4 /* that backward takes at a time */
};

/* The Softmax of rows that the product reads, perhaps through a Cast, or NULL. Does nothing else read it? */
static tg_node *softmax_of(const tg_node *product, bool *out_alone) {
  tg_value *p = tg_in(product, 0);
  *out_alone = true;
  for (int i = 0; i < 2; i++) {
    tg_node *node = p->producer;
    if (!node || p->output_count) return NULL;
    *out_alone &= p->use_count == 1;
    if (node->op == TG_OP_SOFTMAX) return node;
    if (!tg_is_plain_cast(node)) return NULL;
    p = tg_in(node, 0);
  }
  return NULL;
}

static bool is_plain(const tg_node *product) {
  return product->op == TG_OP_MATMUL && tg_attr_int(product, TG_ATTR_PARTIALS) == 1 &&
         tg_attr_int(product, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_AS_ASKED &&
         tg_in(product, 0) != tg_in(product, 1);
}

/* An even number of blocks, of `most` columns at most, as equal as multiples of TG_ATTENTION_BLOCKS_OF can be. */
static int64_t block_of(int64_t columns, int64_t most) {
  int64_t pairs = tg_div_up(columns, 2 * most), step = TG_ATTENTION_BLOCKS_OF;
  return tg_round_up(tg_div_up(columns, 2 * pairs), step);
}

enum { FEW = 128 }; /* columns */

/* Where nobody says: fewer where rows of V take more room. */
static int64_t most_of(const tg_value *v, int64_t asked) {
  int64_t bytes = v->dims[v->rank - 1].size * (int64_t)tg_dtype_size(v->dtype);
  int64_t most = asked != TG_ATTENTION_BLOCK ? asked : bytes <= 128 ? 2 * FEW : FEW;
  return most / TG_ATTENTION_BLOCKS_OF * TG_ATTENTION_BLOCKS_OF;
}

/* Why a product keeps whole rows of weights. */
typedef enum reason {
  BLOCKED,
  NO_ATTENTION, /* no Softmax is in front of it */
  SHORT,
  WIDE,
  BETWEEN,
  READ,
  SPECIAL,
  REASONS
} reason;
static const char *const reasons[REASONS] = {
    [SHORT] = "rows have no more keys than a block",
    [WIDE] = "values have more columns than a block can",
    [BETWEEN] = "something stands between the softmax and the product, as a dropout does",
    [READ] = "something else reads the weights, as an output or a gradient that does not go by blocks",
    [SPECIAL] = "the product is none of two matrices in full precision",
};

static reason worth(const tg_node *product, const tg_node *softmax, int64_t block) {
  const tg_value *x = tg_in(softmax, 0), *v = tg_in(product, 1);
  if (x->rank < 2 || v->rank < 2 || !tg_value_elements(tg_out(product))) return NO_ATTENTION;
  if (x->dims[x->rank - 1].size <= (block == TG_ATTENTION_BLOCK ? FEW : most_of(v, block))) return SHORT;
  return v->dims[v->rank - 1].size > WIDEST ? WIDE : BLOCKED;
}

/* The Softmax that a value of as many elements is computed of by nodes of one element each, or NULL. */
static const tg_node *softmax_in_front(const tg_value *p) {
  enum { STEPS = 8 };
  for (int step = 0; step < STEPS && p; step++) {
    const tg_node *node = p->producer;
    if (!node || node->op == TG_OP_SOFTMAX) return node;
    const tg_value *next = NULL;
    bool follows = tg_op_is(node->op, TG_IS_ELEMENTWISE) || node->op == TG_OP_CAST;
    for (int i = 0; follows && i < node->input_count && !next; i++)
      if (tg_in(node, i) && tg_in(node, i)->producer && tg_value_same_shape(tg_in(node, i), p))
        next = tg_in(node, i);
    p = next;
  }
  return NULL;
}

/* The operator in the place of the product; with the logarithm of each row's sum, it is in FP32. */
static tg_node *add_attention(tg_graph *graph, const tg_node *product, tg_node *softmax, int64_t block,
                              bool logsum) {
  tg_value *operands[] = {tg_in(softmax, 0), tg_in(product, 1)};
  tg_node *made = tg_graph_add_node(graph, TG_OP_BLOCKED_ATTENTION, product->name, operands, 2,
                                    (tg_node *)product, product->id);
  tg_attr_set_int(made, TG_ATTR_BLOCK, block);
  tg_attr_set_int(made, TG_ATTR_LOGSUM, logsum);
  made->rule = product->rule;
  made->disable_graphamp = product->disable_graphamp;
  tg_out(made)->dtype = logsum ? TG_F32 : tg_out(product)->dtype;
  tg_rewrite_infer(graph, made);
  return made;
}

/* Of a training step: backward does without whole rows, too. False: it cannot. */
static bool block_step(tg_graph *graph, tg_node *product, tg_node *softmax, int64_t block) {
  tg_key_blocks *blocks = tg_find_key_blocks(graph, softmax, product, BLOCKS_OF_GRADIENTS * block);
  if (!blocks) return false;
  tg_value *all = tg_out(add_attention(graph, product, softmax, block, true)), *v = tg_in(product, 1);
  int last = all->rank - 1;
  int64_t columns = v->dims[v->rank - 1].size;
  tg_value *y = tg_rewrite_slice(graph, all, last, 0, columns, 1, product),
           *logsum = tg_rewrite_slice(graph, all, last, columns, 1, 1, product);
  tg_use_key_blocks(graph, blocks, y, logsum);
  tg_rewrite_replace(graph, product, tg_rewrite_cast(graph, y, tg_out(product)->dtype, product));
  return true;
}

static bool is_cast_of(const tg_value *p, const tg_node *softmax) {
  while (p->producer != softmax && tg_is_plain_cast(p->producer)) p = tg_in(p->producer, 0);
  return p->producer == softmax;
}

static reason block_product(tg_graph *graph, tg_node *product, int64_t block) {
  bool alone;
  const tg_node *front = softmax_in_front(tg_in(product, 0));
  reason why = front ? worth(product, front, block) : NO_ATTENTION;
  if (why != BLOCKED) return why;
  if (!is_plain(product)) return SPECIAL;
  tg_node *softmax = softmax_of(product, &alone);
  if (!softmax) return is_cast_of(tg_in(product, 0), front) ? READ : BETWEEN;
  const tg_value *x = tg_in(softmax, 0);
  int64_t columns = x->dims[x->rank - 1].size, own = block_of(columns, most_of(tg_in(product, 1), block));
  if (!alone) return block_step(graph, product, softmax, own) ? BLOCKED : READ;
  tg_rewrite_replace(graph, product, tg_out(add_attention(graph, product, softmax, own, false)));
  return BLOCKED;
}

/* The first of each reason, and how many there are. */
static void say(tg_pass_log *log, void *user, const char *const *first, const int *counts) {
  for (int why = NO_ATTENTION + 1; why < REASONS; why++) {
    char line[512];
    if (!counts[why]) continue;
    snprintf(line, sizeof line, "--attention blocked has no effect on %d product%s, as \"%.200s\": %s",
             counts[why], counts[why] > 1 ? "s" : "", first[why], reasons[why]);
    log(user, true, line);
  }
}

/* Products of forward go one by one; with them may go any of backward. */
void tg_block_attention(tg_graph *graph, int64_t block, tg_pass_log *log, void *user) {
  tg_node **products = NULL;
  size_t count = 0, capacity = 0;
  const char *first[REASONS] = {NULL};
  int counts[REASONS] = {0};
  TG_FOR_NODES(graph, node)
  if (node->op == TG_OP_MATMUL && node->forward < 0) TG_PUSH(graph->arena, products, count, capacity, node);
  for (size_t i = 0; i < count; i++) {
    const char *name = products[i]->name;
    reason why = block_product(graph, products[i], block);
    if (!counts[why]++) first[why] = name;
  }
  if (log) say(log, user, first, counts);
  tg_pass_remove_dead(graph);
}

void tg_pass_block_attention(tg_graph *graph) { tg_block_attention(graph, TG_ATTENTION_BLOCK, NULL, NULL); }
