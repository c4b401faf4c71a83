/* A MaxPool of a convolution's results, in the drain of its patches. A block is the rows of the image that some rows
 * of windows take, of all columns or of a strip of them; blocks share rows where windows do, which are multiplied for
 * either. One VOP goes down the rows of the windows: from the accumulator, through the epilogue, to the maxima of
 * each column, which stay in the scratchpad. Others go across these, and what they make leaves. A maximum has no
 * order: bits are those of the pool by itself.
 *
 * What lies outside of the image is -infinity. Columns beside it are so from the beginning, and left out by those
 * VOPs; rows above and below it are products of padding, and each row of a block has a mark that says so, which a
 * LOAD makes: it is what fills up elements outside of bounds. */
#include "frontend/base/math.h"
#include "mapper/gemm/tiling.h"

static const uint32_t lowest = 0xff800000u;

static const tg_node *node_of(const tg_gemm_pool *pool) { return pool->kernel->root; }

/* Positions that the windows of a dimension reach over, from the first one on. */
static int64_t reach(const tg_gemm_pool *pool, int d) {
  return (pool->windows[d] - 1) * pool->step[d] + (pool->taps[d] - 1) * pool->tap_step[d] + 1;
}

/* Does the first window, and the last one, have something of the image? */
static bool meet_image(const tg_gemm_image *image, const tg_gemm_pool *pool) {
  for (int d = 0; d < 2; d++)
    if (pool->before[d] > (pool->taps[d] - 1) * pool->tap_step[d] ||
        (pool->windows[d] - 1) * pool->step[d] - pool->before[d] >= image->pixels[d])
      return false;
  return true;
}

static void set_windows(const tg_gemm_image *image, tg_gemm_pool *pool) {
  const tg_node *node = node_of(pool);
  const tg_value *out = tg_out(node);
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL),
                *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  for (int d = 0; d < 2; d++) {
    pool->windows[d] = out->dims[1 + d].size;
    pool->taps[d] = kernel[d];
    pool->step[d] = strides[d];
    pool->tap_step[d] = dilations[d];
    pool->before[d] = pads[d];
    pool->leaves[d] = pads[d] > 0 || reach(pool, d) - pads[d] > image->pixels[d];
  }
}

/* Rows of the result are windows. */
static bool set_results(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  int64_t stored[TG_MAX_RANK];
  tg_stored_strides(c, kernel, stored);
  for (int d = 0; d < 3; d++) {
    g->out_radix[d] = d ? g->pool.windows[d - 1] : g->image.images;
    g->out_stride[d] = stored[d];
  }
  g->out_offsets[0] = 0;
  return g->n == 1 || stored[3] == 1;
}

/* What a VOP that goes down windows has streams and instructions for: vectors along the columns, which stay. */
static bool has_vectors_only(const tg_gemm *g) {
  for (int x = 0; x < g->epilogue_operand_count; x++)
    if (!tg_is_row_vector(&g->epilogue_operands[x])) return false;
  return true;
}

static bool may_pool(const tg_gemm *g) {
  const tg_gemm_image *image = &g->image;
  bool plain = g->products == 1 && g->partials == 1 && !g->run && g->outs == 1 && !g->column_sums.count &&
               !g->prologue.result && g->keeps == TG_KEEPS_NOTHING;
  return plain && image->images && g->k > 0 && has_vectors_only(g) && !tg_gemm_rounds_results(g);
}

static tg_status measure(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  if (tg_gemm_write_pool(c, kernel, g, &mc) || !tg_mc_fits(&mc, c->m, g->pool.words)) return TG_INVALID;
  g->words_in_all[TG_DRAIN_OF_WINDOWS] = mc.words;
  return TG_OK;
}

tg_status tg_gemm_describe_pool(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  g->pool.kernel = kernel->pool;
  g->pool.kind = tg_stream_kind(tg_in(node_of(&g->pool), 0));
  bool possible = may_pool(g);
  if (possible) set_windows(&g->image, &g->pool);
  possible = possible && meet_image(&g->image, &g->pool);
  if (possible && set_results(c, kernel, g) && !measure(c, kernel, g)) return TG_OK;
  return tg_fail(c->diag, TG_INVALID, "node \"%s\": its result cannot be pooled in its section",
                 g->node->name);
}

/* ---- microcode ---- */

static tg_mc_ref begin_maximum(tg_mc *mc) {
  tg_mc_ref most = tg_mc_new(mc);
  tg_mc_assign(mc, most, TG_ALU_mov, tg_mc_bits(mc, lowest), TG_MC_NONE, TG_MC_NONE);
  return most;
}

/* Streams: the accumulator, operands of the epilogue, marks, and maxima of columns. */
static tg_status write_rows(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, tg_mc *mc) {
  tg_operand_stream streams[TG_EPILOGUE_OPERANDS];
  tg_kernel product = *kernel;
  tg_mc_ref most = begin_maximum(mc), y;
  int count = tg_gemm_operand_streams(g, streams);
  product.output = tg_in(node_of(&g->pool), 0);
  product.pool = NULL;
  for (int i = 0; i < count; i++) {
    streams[i].held = tg_hold_operand(mc, &streams[i]);
    streams[i].loaded = true;
  }
  tg_mc_next_segment(mc);
  y = tg_mc_load(mc, TG_DRAIN_ACCUMULATOR, false);
  y = tg_gemm_add_bias(mc, &product, streams, count, y, !product.fused_count);
  if (!tg_emit_results(mc, c, &product, tg_out(product.root), y, streams, count, &y)) return TG_INVALID;
  if (g->pool.leaves[0])
    y = tg_mc_alu(mc, TG_ALU_select, tg_mc_load(mc, tg_gemm_marks_stream(g), false), tg_mc_bits(mc, lowest),
                  y);
  tg_mc_assign(mc, most, TG_ALU_max, most, y, TG_MC_NONE);
  tg_mc_next_segment(mc);
  tg_mc_store(mc, tg_gemm_columns_stream(g), g->pool.kind == TG_STREAM_FP32, most);
  return TG_OK;
}

/* Streams: maxima of columns, results. */
static tg_status write_columns(const tg_compile *c, const tg_gemm *g, tg_mc *mc) {
  const tg_kernel *pool = g->pool.kernel;
  tg_mc_ref most = begin_maximum(mc);
  tg_mc_next_segment(mc);
  tg_mc_ref x = tg_mc_load(mc, 0, g->pool.kind == TG_STREAM_FP32);
  tg_mc_assign(mc, most, TG_ALU_max, most, x, TG_MC_NONE);
  tg_mc_next_segment(mc);
  tg_mc_ref y = tg_emit_expression(mc, c, pool, tg_out(pool->root), most, NULL, 0);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(mc, 1, g->out_kind[0] == TG_STREAM_FP32, y);
  return TG_OK;
}

tg_status tg_gemm_write_pool(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, tg_mc *mc) {
  tg_status status = write_rows(c, kernel, g, mc);
  tg_mc_next_segment(mc);
  if (!status) status = write_columns(c, g, mc);
  tg_mc_next_segment(mc);
  tg_mc_store(mc, 0, g->pool.kind == TG_STREAM_FP32, tg_mc_bits(mc, lowest));
  return status;
}
