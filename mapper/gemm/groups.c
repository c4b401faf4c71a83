/* Groups of a convolution side by side in a product: columns are those of many groups, and each reads the channels of its own
 * (decision 139). */
#include "frontend/base/math.h"
#include "mapper/gemm/patch.h"
#include "mapper/gemm/product.h"

/* Fills the groups of a forward convolution up: each has whole stationary blocks of channels, and columns in whole groups of 2P, or
 * in a half of one. What fills them up would be counted where accumulation or results round by places. */
static void fill_up(const tg_compile *c, tg_gemm *g) {
  tg_gemm_image *x = &g->image;
  int64_t stationary = tg_mx_stationary(c->m, g->format), lanes = tg_lanes(c->m), columns = g->n / x->groups,
          halves = lanes / stationary,
          block = columns <= stationary && x->groups % halves == 0 ? stationary : lanes;
  if (g->k_tile || tg_gemm_rounds_results(g)) return;
  x->channels = tg_div_up(x->own, stationary) * stationary;
  g->k = g->k / x->own * x->channels;
  if (columns % block == 0) return;
  g->run = tg_div_up(columns, block) * block;
  g->run_own = columns;
  g->n = x->groups * g->run;
}

/* Whole stationary blocks of channels, and whole groups of 2P columns, or their halves, all of which there are. */
static bool has_whole_blocks(const tg_compile *c, const tg_gemm *g) {
  int64_t stationary = tg_mx_stationary(c->m, g->format), lanes = tg_lanes(c->m),
          columns = g->n / g->image.groups;
  return g->image.channels % stationary == 0 && g->n % lanes == 0 &&
         (columns % lanes == 0 || columns == stationary);
}

/* A convolution of an image, or its input gradient, that nothing else is joined to but an epilogue. */
static bool is_plain(const tg_compile *c, const tg_kernel *kernel) {
  const tg_node *root = kernel->root;
  bool plain = !kernel->prologue_result && !kernel->column_sums && !kernel->second && !kernel->pool,
       image = root->op == TG_OP_CONV || root->op == TG_OP_CONV_INPUT_GRADIENT;
  return plain && image && !tg_is_depthwise(root) && c->options.opt != TG_OPT_LEVEL_NONE;
}

/* The channels of an only group, with B's walk through them. */
static void fill_channels(const tg_compile *c, tg_gemm *g) {
  tg_gemm_image *x = &g->image;
  int64_t stationary = tg_mx_stationary(c->m, g->format), step = g->b_k_stride[2];
  x->channels = tg_div_up(x->own, stationary) * stationary;
  g->k = x->taps[0] * x->taps[1] * x->channels;
  if (g->node->op == TG_OP_CONV) { /* all of K is one run of rows */
    g->b_k_radix[0] = x->taps[0];
    g->b_k_radix[1] = x->taps[1];
    g->b_k_stride[0] = x->taps[1] * x->own * step;
    g->b_k_stride[1] = x->own * step;
  }
  g->b_k_radix[2] = x->channels;
}

bool tg_gemm_describe_filled(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_gemm *out) {
  tg_conv_rows rows = {.joins = true};
  if (!is_plain(c, kernel) || tg_attr_int(kernel->root, TG_ATTR_GROUP) != 1) return false;
  if (tg_gemm_describe_root(c, kernel, phase, &rows, out) || rows.joined) return false;
  const tg_gemm_image *x = &out->image;
  bool fits = x->channels % tg_mx_stationary(c->m, out->format) == 0;
  if (!x->images || !out->m || !out->k || fits || x->taps[0] * x->taps[1] == 1) return false;
  if (out->a_transposed || out->k_tile || tg_gemm_rounds_results(out)) return false;
  fill_channels(c, out);
  return tg_gemm_has_patches(c->m, out, TG_PATCH_PIXELS) && !tg_gemm_describe_fused(c, kernel, &rows, out);
}

int64_t tg_gemm_describe_groups(tg_compile *c, const tg_kernel *kernel, int64_t phase, int64_t groups,
                                tg_gemm *out) {
  const tg_node *root = kernel->root;
  if (!is_plain(c, kernel)) return 0;
  int64_t all = tg_attr_int(root, TG_ATTR_GROUP);
  tg_conv_rows rows = {.packs = tg_min(groups, all + 1)};
  while (--rows.packs > 1) {
    if (all % rows.packs) continue;
    if (tg_gemm_describe_root(c, kernel, phase, &rows, out)) return 0;
    if (!out->image.images || out->m == 0 || out->k == 0) return 0;
    if (root->op == TG_OP_CONV) fill_up(c, out);
    if (has_whole_blocks(c, out) && tg_gemm_has_patches(c->m, out, TG_PATCH_PIXELS) &&
        !tg_gemm_describe_fused(c, kernel, &rows, out))
      return rows.packs;
  }
  return 0;
}
