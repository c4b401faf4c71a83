/* Softmax of rows and the product that reads it as one operator, which goes over the row by blocks. */
#include "frontend/base/math.h"
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

enum { WIDEST = 256 }; /* columns of V: a block of them has to fit beside what else there is */

/* The Softmax of rows that the product alone reads, perhaps through a Cast, or NULL. */
static tg_node *softmax_of(const tg_node *product) {
  tg_value *p = tg_in(product, 0);
  for (int i = 0; i < 2; i++) {
    tg_node *node = p->producer;
    if (!node || p->use_count != 1 || p->output_count) return NULL;
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

void tg_block_attention(tg_graph *graph, int64_t block) {
  TG_FOR_NODES_SAFE(graph, node) {
    tg_node *softmax = is_plain(node) ? softmax_of(node) : NULL;
    if (!softmax) continue;
    tg_value *x = tg_in(softmax, 0), *v = tg_in(node, 1);
    if (x->rank < 2 || v->rank < 2) continue;
    int64_t columns = x->dims[x->rank - 1].size, most = most_of(v, block);
    if (columns <= (block == TG_ATTENTION_BLOCK ? FEW : most) || v->dims[v->rank - 1].size > WIDEST ||
        !tg_value_elements(tg_out(node)))
      continue;
    tg_value *operands[] = {x, v};
    tg_node *made =
        tg_graph_add_node(graph, TG_OP_BLOCKED_ATTENTION, node->name, operands, 2, node, node->id);
    tg_attr_set_int(made, TG_ATTR_BLOCK, block_of(columns, most));
    made->rule = node->rule;
    made->disable_graphamp = node->disable_graphamp;
    tg_out(made)->dtype = tg_out(node)->dtype;
    tg_rewrite_infer(graph, made);
    tg_rewrite_replace(graph, node, tg_out(made));
  }
  tg_pass_remove_dead(graph);
}

void tg_pass_block_attention(tg_graph *graph) { tg_block_attention(graph, TG_ATTENTION_BLOCK); }
