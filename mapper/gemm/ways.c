/* The ways to multiply a kernel's products: one after the other, each over all tiles; all in one section, a product a tile; groups of
 * a convolution side by side. What a kernel would take and what is emitted are chosen from the same list. */
#include "mapper/gemm/product.h"
#include "mapper/gemm/tiling.h"

static tg_status has_one_only(const tg_compile *c, const tg_kernel *kernel) {
  return tg_fail(c->diag, TG_INVALID, "node \"%s\": its products are not multiplied in one section",
                 kernel->root->name);
}

tg_status tg_gemm_describe_spread(tg_compile *c, const tg_kernel *kernel, tg_gemm *out) {
  static const tg_conv_rows none;
  *out = (tg_gemm){0};
  if (kernel->root->op != TG_OP_MATMUL || kernel->prologue_result || kernel->second)
    return has_one_only(c, kernel);
  tg_status status = tg_gemm_set_formats(c, kernel, out);
  if (status) return status;
  tg_describe_matmul(c, out);
  if (out->products == 1 || out->partials > 1) return has_one_only(c, kernel);
  tg_gemm_set_kept(kernel, out);
  out->spread = out->products;
  out->products = 1;
  int64_t *radix = out->a_transposed ? out->a_k_radix : out->a_m_radix,
          *stride = out->a_transposed ? out->a_k_stride : out->a_m_stride;
  bool walks = tg_matmul_lead_digits(out, tg_in(out->node, 0), &out->a_operand, radix, stride) &&
               tg_matmul_lead_digits(out, tg_in(out->node, 1), &out->b_operand,
                                     out->b_transposed ? out->b_n_radix : out->b_k_radix,
                                     out->b_transposed ? out->b_n_stride : out->b_k_stride);
  return walks ? tg_gemm_describe_fused(c, kernel, &none, out) : has_one_only(c, kernel);
}

/* Keeps the way behind the last one, if it has a tiling. */
static bool keep_if_tiled(const tg_compile *quiet, tg_gemm_ways *ways) {
  tg_gemm_tiling unused;
  bool tiled = !tg_tile_gemm(quiet, &ways->way[ways->count], &unused);
  ways->count += tiled;
  return tiled;
}

tg_status tg_gemm_list_ways(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_gemm_ways *out) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  out->count = 0;
  tg_status status = tg_describe_gemm(c, kernel, phase, &out->way[0]);
  if (status || !out->way[0].m) return status;
  out->count = 1;
  if (!tg_gemm_describe_spread(&quiet, kernel, &out->way[1])) keep_if_tiled(&quiet, out);
  if (tg_gemm_describe_filled(&quiet, kernel, phase, &out->way[out->count])) keep_if_tiled(&quiet, out);
  int packings = 0;
  for (int64_t groups = INT64_MAX; packings < TG_GEMM_PACKINGS;) {
    groups = tg_gemm_describe_groups(&quiet, kernel, phase, groups, &out->way[out->count]);
    if (!groups) break;
    packings += keep_if_tiled(&quiet, out);
  }
  return TG_OK;
}
