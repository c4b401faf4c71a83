/* Transpose(A B) whose rows become what lies together: (B^T A^T) has the same chains of the same products,
 * and is stored as they lie. Its operands' transposes cost nothing, as the mapper loads. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

enum { MOST_DIMENSIONS = 4 }; /* that walks of operands have digits for, in any order */

static bool rounds(const tg_node *product) {
  return tg_attr_int(product, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_BF16SR_EACH || tg_rounds_sums(product);
}

/* A product of two that have the same batches; with a shared operand, batches are rows of one product. */
static bool is_square_batch(const tg_value *a, const tg_value *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank - 2; d++)
    if (a->dims[d].size != b->dims[d].size) return false;
  return true;
}

/* Can a product load the operand with its last two dimensions exchanged? */
static bool can_load_transposed(const tg_value *operand) {
  int last = operand->rank - 1;
  const tg_node *move = operand->producer;
  if (operand->dims[last].size == 1 || operand->dims[last - 1].size == 1) return false;
  if (!move || move->op != TG_OP_TRANSPOSE) return true;
  const int64_t *perm = tg_attr_ints(move, TG_ATTR_PERM, NULL);
  return perm[last] == last || perm[last - 1] == last;
}

static bool is_profitable(const tg_node *transpose, const tg_node *product) {
  const tg_value *y = tg_out(transpose), *c = tg_in(transpose, 0);
  if (!product || product->op != TG_OP_MATMUL || y->rank < 2 || y->rank > MOST_DIMENSIONS) return false;
  const tg_value *a = tg_in(product, 0), *b = tg_in(product, 1);
  return tg_attr_ints(transpose, TG_ATTR_PERM, NULL)[y->rank - 1] == y->rank - 2 && c->use_count == 1 &&
         !c->output_count && !tg_in(product, 2) && is_square_batch(a, b) && can_load_transposed(a) &&
         can_load_transposed(b) && !rounds(product);
}

static tg_value *transposed(tg_graph *graph, tg_value *operand, tg_node *before) {
  int64_t perm[TG_MAX_RANK];
  int rank = operand->rank;
  for (int d = 0; d < rank; d++) perm[d] = d;
  perm[rank - 1] = rank - 2;
  perm[rank - 2] = rank - 1;
  return tg_rewrite_transpose(graph, operand, perm, before);
}

static void transpose_product(tg_graph *graph, tg_node *transpose, tg_node *product) {
  tg_value *a = tg_in(product, 0), *b = tg_in(product, 1);
  int rank = tg_out(transpose)->rank;
  tg_node_set_input(product, 0, transposed(graph, b, product));
  tg_node_set_input(product, 1, transposed(graph, a, product));
  tg_rewrite_infer(graph, product);
  const int64_t *before = tg_attr_ints(transpose, TG_ATTR_PERM, NULL);
  int64_t perm[TG_MAX_RANK];
  for (int d = 0; d < rank; d++)
    perm[d] = before[d] < rank - 2 ? before[d] : 2 * rank - 3 - before[d]; /* the last two exchanged */
  tg_attr_set_ints(graph, transpose, TG_ATTR_PERM, perm, rank);
}

void tg_pass_transpose_products(tg_graph *graph) {
  TG_FOR_NODES(graph, node) {
    if (node->op != TG_OP_TRANSPOSE) continue;
    tg_node *product = tg_in(node, 0)->producer;
    if (is_profitable(node, product)) transpose_product(graph, node, product);
  }
}
