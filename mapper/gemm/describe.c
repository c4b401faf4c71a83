/* Nodes as products of matrices: MatMul, and what all have in common. */
#include "frontend/base/math.h"
#include "mapper/gemm/patch.h"
#include "mapper/gemm/product.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/outer.h"

#include <assert.h>
#include <string.h>

/* Length of the K tiles at whose ends accumulation rounds; 0: it does not. */
static int64_t rounded_tile(const tg_compile *c, const tg_node *node) {
  if (node->op == TG_OP_MATMUL && tg_attr_int(node, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_BF16SR_EACH)
    return 1;
  if (!tg_rounds_accumulation(c, node)) return 0;
  return tg_is_depthwise(node) ? INT32_MAX : c->options.k_tile; /* one K tile, however many positions */
}

tg_status tg_gemm_set_formats(tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  tg_value *a = tg_in(kernel->root, 0), *b = tg_in(kernel->root, 1);
  g->node = kernel->root;
  g->a_operand = kernel->operands[0];
  g->b_operand = kernel->operands[1];
  g->a = g->a_operand.source;
  g->b = g->b_operand.source;
  g->a_transposed = g->a_operand.transposed;
  g->b_transposed = g->b_operand.transposed;
  g->outs = tg_kernel_results(kernel);
  for (int k = 0; k < g->outs; k++) {
    g->out[k] = tg_kernel_result(kernel, k);
    g->out_kind[k] = tg_result_kind(g->out[k]);
  }
  if (a->dtype != b->dtype)
    return tg_fail(c->diag, TG_INVALID,
                   "node \"%s\": operands of types %s and %s cannot be multiplied on the array",
                   kernel->root->name, tg_dtype_name(a->dtype), tg_dtype_name(b->dtype));
  g->format = tg_mx_format(a->dtype);
  g->a_convert = tg_operand_conversion(g->a, a);
  g->b_convert = tg_operand_conversion(g->b, b);
  g->k_tile = rounded_tile(c, g->node);
  return TG_OK;
}

tg_status tg_gemm_describe_fused(tg_compile *c, const tg_kernel *kernel, const tg_conv_rows *image,
                                 tg_gemm *out) {
  int64_t part = tg_partial_length(out->k, out->partials);
  out->part = part ? part : 1;
  bool rounds = kernel->root->op == TG_OP_MATMUL && tg_rounds_sums(kernel->root);
  out->sum_kind = rounds ? TG_STREAM_BF16SR : TG_STREAM_FP32;
  if (!tg_gemm_list_operands(c, kernel, out))
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": what follows it reads too many tensors",
                   out->node->name);
  tg_status described = kernel->column_sums ? tg_gemm_describe_column_sums(c, kernel, out) : TG_OK;
  if (described) return described;
  int streams = 1 + out->epilogue_operand_count + out->outs + (out->partials > 1 || out->second);
  if (kernel->column_sums) streams += tg_gemm_fit_column_sums(out, TG_STREAMS - streams);
  if (streams > TG_STREAMS)
    return tg_fail(
        c->diag, TG_INVALID,
        "node \"%s\": what follows it reads too many tensors: it needs %d streams of a VOP, the array has %d",
        out->node->name, streams, TG_STREAMS);
  tg_status status = tg_gemm_walk_operands(c, kernel, image, out);
  return status ? status : tg_gemm_measure_drain(c, kernel, out);
}

/* What is multiplied. */
tg_status tg_gemm_describe_root(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_conv_rows *image,
                                tg_gemm *out) {
  *out = (tg_gemm){0};
  tg_status status = tg_gemm_set_formats(c, kernel, out);
  if (status) return status;
  if (kernel->root->op == TG_OP_MATMUL)
    tg_describe_matmul(c, out);
  else
    tg_describe_conv(c, phase, out, image);
  /* A single column whose elements follow each other is a row: one run instead of an atom an element. A
   * prologue makes rows of A. */
  if (out->n == 1 && out->b_k_stride[2] == 1) out->b_transposed = true;
  if (out->k == 1 && out->a_m_stride[2] == 1 && !kernel->prologue[0].count) out->a_transposed = true;
  return TG_OK;
}

/* Another product of the same rows and columns, each of them one, not one a batch element or group. */
static tg_status describe_second(tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  tg_gemm *second = TG_NEW(c->arena, tg_gemm);
  tg_conv_rows image = {.joins = false};
  tg_status status = tg_gemm_describe_root(c, kernel->second, 0, &image, second);
  if (status) return status;
  second->outs = 0;
  second->part = second->k;
  bool one = g->products == 1 && second->products == 1 && g->partials == 1 && second->partials == 1;
  if (!one || !g->k || !second->k || g->m != second->m || g->n != second->n)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": it is not multiplied together with another product",
                   second->node->name);
  g->second = second;
  return TG_OK;
}

void tg_gemm_set_kept(const tg_kernel *kernel, tg_gemm *out) {
  if (!kernel->kept) return;
  out->keeps = TG_KEEPS_B;
  out->kept = *kernel->kept;
}

static tg_status describe(tg_compile *c, const tg_kernel *kernel, int64_t phase, bool joins, tg_gemm *out) {
  tg_conv_rows image = {.joins = joins};
  tg_status status = tg_gemm_describe_root(c, kernel, phase, &image, out);
  if (!status && kernel->second) status = describe_second(c, kernel, out);
  if (status) return status;
  tg_gemm_set_kept(kernel, out);
  tg_kernel alone = *kernel;
  if (kernel->pool) alone.output = tg_in(kernel->pool->root, 0), alone.pool = NULL;
  status = tg_gemm_describe_fused(c, &alone, &image, out);
  if (image.elsewhere) out->m = 0;
  if (!status && kernel->pool) status = tg_gemm_describe_pool(c, kernel, out);
  return status || !kernel->prologue_result ? status : tg_gemm_describe_prologue(c, kernel, out);
}

tg_status tg_describe_gemm(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_gemm *out) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  if (tg_gemm_phases(kernel->root) > 1 && !describe(&quiet, kernel, phase, true, out)) return TG_OK;
  return describe(c, kernel, phase, false, out);
}
