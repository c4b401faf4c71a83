/* Strips: tiles that follow each other have blocks of the same rows of results, of columns side by side. A block then has
 * more rows for the accumulator's, so that less of the image is loaded twice, and small images share out among more tiles.
 * Rows of the product are digits of (image, row, column of the strip), and what a strip has beyond the image's columns is
 * not stored. A pool's blocks count windows in the same way (pool.c). */
#include "frontend/base/math.h"
#include "mapper/gemm/patch.h"

bool tg_patch_pixel_strides(const tg_gemm *g, const int64_t stride[3], int64_t out[3]) {
  const int64_t count[3] = {g->image.images, g->image.pixels[0], g->image.pixels[1]};
  int64_t unit = 1; /* rows of the product from one position of the dimension to the next */
  for (int d = 2; d >= 0; unit *= count[d--]) {
    int64_t place = 1; /* of a digit */
    int digit = 2;
    for (; digit >= 0 && (unit % place || place * g->out_radix[digit] % (unit * count[d])); digit--)
      place *= g->out_radix[digit];
    if (digit < 0 && count[d] > 1) return false;
    out[d] = digit < 0 ? 0 : stride[digit] * (unit / place);
  }
  return true;
}

bool tg_patch_may_have_strips(const tg_gemm *g) {
  int64_t unused[3];
  if (g->second || tg_gemm_rounds_results(g)) return false;
  for (int x = 0; x < g->epilogue_operand_count; x++)
    if (!tg_patch_pixel_strides(g, g->epilogue_operands[x].stride, unused)) return false;
  return tg_patch_pixel_strides(g, g->out_stride, unused);
}

/* Rows of the image from one block to the next; and blocks of an image. */
static int64_t block_rows(const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->pool_rows ? t->pool_rows * g->pool.step[0] : (int64_t)t->patch_rows * tg_gemm_slabs(t);
}
static int64_t blocks_of_an_image(const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->pool_rows ? tg_div_up(g->pool.windows[0], t->pool_rows)
                      : tg_div_up(g->image.pixels[0], block_rows(g, t));
}

int64_t tg_patch_first_row(const tg_gemm *g, const tg_gemm_tiling *t, int64_t block) {
  int64_t blocks = blocks_of_an_image(g, t);
  return block / blocks * g->image.pixels[0] + block % blocks * block_rows(g, t) -
         (t->pool_rows ? g->pool.before[0] : 0);
}

bool tg_patch_rounds(const tg_gemm *g, const tg_gemm_tiling *t, uint32_t row_tiles) {
  if (!g->k_tile || !tg_gemm_counts_strips(t) || g->image.images == 1 || t->passes_m == 1) return true;
  int64_t blocks = blocks_of_an_image(g, t);
  return blocks * block_rows(g, t) == g->image.pixels[0] || tg_patch_strip_tiles(t, row_tiles) % blocks == 0;
}
