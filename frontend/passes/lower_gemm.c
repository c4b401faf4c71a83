/* Gemm to MatMul and elementwise; sums of partial results to MatMul; vector operands of MatMul to
 * matrices. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <string.h>

static const int64_t swap[] = {1, 0};

static tg_node *made_for(const tg_node *gemm, tg_node *node) {
  node->disable_graphamp = gemm->disable_graphamp;
  node->rule = gemm->rule;
  return node;
}

/* `value` scaled by a constant, in fp32. */
static tg_value *scaled(tg_graph *graph, tg_node *gemm, tg_value *value, double factor) {
  if (factor == 1) return value;
  tg_value *operands[] = {value, tg_graph_add_scalar(graph, "scale", TG_F32, factor)};
  return tg_out(made_for(gemm, tg_rewrite_node(graph, TG_OP_MUL, gemm->name, operands, 2, TG_F32, gemm, -1)));
}

/* The product and what is added to it stay in fp32; only the last node rounds to the Gemm's format, as the
 * Gemm does. */
static void lower_gemm(tg_graph *graph, tg_node *gemm) {
  tg_dtype dtype = tg_out(gemm)->dtype;
  double alpha = tg_attr_float(gemm, TG_ATTR_ALPHA), beta = tg_attr_float(gemm, TG_ATTR_BETA);
  tg_value *a = tg_in(gemm, 0), *b = tg_in(gemm, 1), *c = tg_in(gemm, 2);
  if (tg_attr_int(gemm, TG_ATTR_TRANS_A)) a = tg_rewrite_transpose(graph, a, swap, gemm);
  if (tg_attr_int(gemm, TG_ATTR_TRANS_B)) b = tg_rewrite_transpose(graph, b, swap, gemm);
  tg_value *operands[] = {a, b};
  tg_node *matmul = tg_rewrite_node(graph, TG_OP_MATMUL, gemm->name, operands, 2, TG_F32, gemm, gemm->id);
  made_for(gemm, matmul);
  tg_value *result = scaled(graph, gemm, tg_out(matmul), alpha);
  if (c && beta != 0) { /* as BLAS has it: C is not read where beta is 0, be it infinite */
    tg_value *sum[] = {result, scaled(graph, gemm, c, beta)};
    result = tg_out(made_for(gemm, tg_rewrite_node(graph, TG_OP_ADD, gemm->name, sum, 2, TG_F32, gemm, -1)));
  }
  result->dtype = dtype;
  tg_rewrite_replace(graph, gemm, result);
}

/* A row of ones times the partial sums, each a row: fma(1, p, s) is s + p with one rounding, in ascending
 * order; rounded at the accumulator's write port after each where stochastic. */
static void lower_reduce_partials(tg_graph *graph, tg_node *node) {
  const tg_value *y = tg_out(node);
  int64_t sizes[TG_MAX_RANK], partials = tg_in(node, 0)->dims[0].size;
  int64_t row[] = {1, partials}, matrix[] = {partials, tg_value_elements(y)};
  int rank = y->rank;
  tg_value_sizes(y, sizes);
  tg_value *ones = tg_graph_add_constant(graph, "ones", TG_F32, 2, row, NULL, false);
  for (int64_t i = 0; i < partials; i++) tg_store_f32((void *)ones->data, TG_F32, (size_t)i, 1);
  tg_value *wide = tg_rewrite_cast(graph, tg_in(node, 0), TG_F32, node); /* a policy may have narrowed them */
  tg_value *operands[] = {ones, tg_rewrite_reshape(graph, wide, 2, matrix, node)};
  tg_node *sum = tg_rewrite_node(graph, TG_OP_MATMUL, node->name, operands, 2, TG_F32, node, node->id);
  tg_attr_set_int(sum, TG_ATTR_ACCUMULATION,
                  tg_attr_int(node, TG_ATTR_STOCHASTIC) ? TG_ACCUMULATE_BF16SR_EACH : TG_ACCUMULATE_FP32);
  tg_value *result = tg_rewrite_reshape(graph, tg_out(sum), rank, sizes, node);
  tg_rewrite_replace(graph, node, tg_rewrite_cast(graph, result, y->dtype, node));
}

/* As numpy: a vector is a row on the left, a column on the right, and its dimension leaves the result. */
static void lower_vector(tg_graph *graph, tg_node *node) {
  tg_value *a = tg_in(node, 0), *b = tg_in(node, 1), *y = tg_out(node);
  if (a->rank > 1 && b->rank > 1) return;
  int64_t row[] = {1, a->dims[0].size}, column[] = {b->dims[0].size, 1}, sizes[TG_MAX_RANK];
  tg_value_sizes(y, sizes);
  int rank = y->rank;
  if (a->rank == 1) tg_node_set_input(node, 0, tg_rewrite_reshape(graph, a, 2, row, node));
  if (b->rank == 1) tg_node_set_input(node, 1, tg_rewrite_reshape(graph, b, 2, column, node));
  tg_rewrite_infer(graph, node);
  tg_value *flat = tg_rewrite_reshape(graph, y, rank, sizes, node->next);
  tg_value_replace_except(graph, y, flat, flat->producer);
}

void tg_pass_lower_gemm(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op == TG_OP_GEMM)
      lower_gemm(graph, node);
    else if (node->op == TG_OP_REDUCE_PARTIALS)
      lower_reduce_partials(graph, node);
    else if (node->op == TG_OP_MATMUL)
      lower_vector(graph, node);
  }
}
