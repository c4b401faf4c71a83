/* The class of products on mx. */
#include "mapper/kernel/class.h"
#include "mapper/expression/expression.h"
#include "mapper/gemm/gemm.h"
#include "mapper/gemm/product.h"
#include "mapper/kernel/view.h"
#include "mapper/section/marks.h"
#include "mapper/section/rehearsal.h"

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_MATMUL || node->op == TG_OP_CONV || node->op == TG_OP_CONV_INPUT_GRADIENT ||
         node->op == TG_OP_CONV_WEIGHT_GRADIENT;
}

/* Rows of several phases do not follow each other. */
static bool takes(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting) {
  if (tg_gemm_phases(kernel->root) > 1) return tg_takes_fused_out_of_order(c, kernel, node, waiting);
  return tg_takes_fused(c, kernel, node, waiting);
}

/* Operands that fused nodes may load: each takes two banks, as do A, B and the result. The sum of partials is
 * an operand more, and takes two pairs of banks; if it is rounded, one bank more. So is the bias. */
static int inputs(const tg_compile *c, const tg_kernel *kernel) {
  bool product = kernel->root->op == TG_OP_MATMUL;
  bool sums = product && tg_attr_int(kernel->root, TG_ATTR_PARTIALS) > 1,
       rounds = product && tg_rounds_sums(kernel->root), bias = tg_in(kernel->root, 2);
  int pairs = ((int)c->m->banks - rounds) / 2 - (sums ? 5 : 3), inputs = TG_FUSED_INPUTS - sums;
  return (pairs < inputs ? pairs : inputs) - bias;
}

/* The operand as the drain walks it: rows of the output flattened to at most three dimensions. Broadcasts
 * over more would need more digits than a walk has, so they stay outside. */
static bool loads(const tg_value *operand, const tg_value *result) {
  if (result->rank <= 4) return true;
  int64_t n = tg_value_elements(operand);
  return n == tg_value_elements(result) || (operand->rank >= 1 && n == operand->dims[operand->rank - 1].size);
}

static double cycles(tg_compile *c, const tg_kernel *kernel) { return tg_product_cycles(c, kernel); }

static bool absorbs(tg_compile *c, const tg_kernel *kernel) {
  tg_gemm alone;
  return tg_gemm_phases(kernel->root) == 1 && !tg_describe_gemm(c, kernel, 0, &alone) && alone.products == 1;
}

/* Convolutions take weights to be dense, their gradients both operands; and several results lie alike. */
static bool walks_views(tg_compile *c, const tg_kernel *kernel) {
  const tg_operand *a = &kernel->operands[0], *b = &kernel->operands[1];
  const tg_node *root = kernel->root;
  if (kernel->prologue[1].count || kernel->column_sums || kernel->second || kernel->more_count) return false;
  bool image = root->op == TG_OP_CONV && (a->transposed || tg_lies_by_pixels(tg_in(root, 0), a->stride));
  if (root->op != TG_OP_MATMUL &&
      (!(image || tg_is_contiguous(c, a->source)) || !tg_is_contiguous(c, b->source)))
    return false;
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  tg_gemm described;
  return !tg_describe_gemm(&quiet, kernel, 0, &described);
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  if (kernel->pool) tg_marks_add(c);
  return tg_emit_gemm(c, kernel);
}

const tg_kernel_class tg_gemm_class = {
    .name = "gemm",
    .accepts = accepts,
    .takes = takes,
    .inputs = inputs,
    .loads = loads,
    .cycles = cycles,
    .rehearsed = tg_rehearse,
    .absorbs = absorbs,
    .walks_views = walks_views,
    .emit = emit,
};
