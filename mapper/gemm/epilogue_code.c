/* Microcode of the drain: sums of partial products, bias, rounding, the nodes that are fused behind the
 * product. */
#include "mapper/expression/expression.h"
#include "mapper/gemm/product.h"

static tg_mc_ref load_sum(tg_mc *mc, const tg_gemm *g, int stream) {
  return tg_mc_load(mc, stream, g->sum_kind == TG_STREAM_FP32);
}

static void write_sums(tg_mc *mc, const tg_gemm *g, uint32_t at_once) {
  bool halves = g->sum_kind == TG_STREAM_FP32;
  tg_mc_next_segment(mc);
  for (int i = 0; i < (int)at_once * TG_DRAIN_SUM_STREAMS; i += TG_DRAIN_SUM_STREAMS) {
    tg_mc_ref y = tg_mc_load(mc, i + TG_DRAIN_ACCUMULATOR, false);
    tg_mc_store(mc, i + TG_DRAIN_SUM_OUT, halves,
                tg_mc_alu(mc, TG_ALU_add, y, tg_mc_const(mc, 0), TG_MC_NONE));
  }
  tg_mc_next_segment(mc);
  for (int i = 0; i < (int)at_once * TG_DRAIN_SUM_STREAMS; i += TG_DRAIN_SUM_STREAMS) {
    tg_mc_ref sum = load_sum(mc, g, i + TG_DRAIN_SUM_IN), y = tg_mc_load(mc, i + TG_DRAIN_ACCUMULATOR, false);
    tg_mc_store(mc, i + TG_DRAIN_SUM_OUT, halves, tg_mc_alu(mc, TG_ALU_add, sum, y, TG_MC_NONE));
  }
}

tg_status tg_gemm_write_drain(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g,
                              tg_drain_way way, uint32_t at_once, tg_mc *mc) {
  if (g->column_sums.count) return tg_gemm_write_column_sums(c, kernel, g, mc);
  if (way == TG_DRAIN_OF_WINDOWS) return tg_gemm_write_pool(c, kernel, g, mc);
  tg_operand_stream streams[TG_EPILOGUE_OPERANDS];
  int count = tg_gemm_operand_streams(g, streams);
  tg_mc_ref sum = g->partials > 1 ? load_sum(mc, g, tg_gemm_finish_sum_stream(g)) : TG_MC_NONE;
  tg_mc_ref results[TG_GEMM_RESULTS];
  bool whole = tg_gemm_rounds_sums(g) || way == TG_DRAIN_OF_RING; /* nothing is left in the accumulator */
  tg_mc_ref y = whole ? sum : tg_mc_load(mc, TG_DRAIN_ACCUMULATOR, way == TG_DRAIN_OF_TRANSPOSED);
  if (g->partials > 1 && !whole) y = tg_mc_alu(mc, TG_ALU_add, sum, y, TG_MC_NONE);
  y = tg_gemm_add_bias(mc, kernel, streams, count, y, !kernel->fused_count);
  if (!tg_emit_results(mc, c, kernel, tg_out(kernel->root), y, streams, count, results)) return TG_INVALID;
  for (int k = 0; k < g->outs; k++)
    tg_mc_store(mc, tg_gemm_finish_result_stream(g, k), g->out_kind[k] == TG_STREAM_FP32, results[k]);
  if (g->partials > 1) write_sums(mc, g, at_once);
  if (way == TG_DRAIN_OF_TRANSPOSED) tg_gemm_write_transposition(g, mc);
  return TG_OK;
}

tg_status tg_gemm_measure_drain(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  if (g->column_sums.count) return tg_gemm_measure_column_sums(c, kernel, g);
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  tg_status status = tg_gemm_write_drain(c, kernel, g, TG_DRAIN_OF_ACCUMULATOR, 1, &mc);
  if (!status && !tg_mc_fits(&mc, c->m, g->drain_words)) g->drain_words[TG_DRAIN_FINISH] = 0;
  g->words_in_all[TG_DRAIN_OF_ACCUMULATOR] = mc.words;
  if (!status && tg_gemm_may_swap(c, g)) {
    tg_mc_begin(&mc, c->arena);
    status = tg_gemm_write_drain(c, kernel, g, TG_DRAIN_OF_TRANSPOSED, 1, &mc);
    if (!status && !tg_mc_fits(&mc, c->m, g->swapped_words)) g->swapped_words[TG_SWAPPED_FINISH] = 0;
    g->words_in_all[TG_DRAIN_OF_TRANSPOSED] = mc.words;
  }
  if (status || g->partials == 1) return status;
  tg_mc_begin(&mc, c->arena);
  status = tg_gemm_write_drain(c, kernel, g, TG_DRAIN_OF_RING, TG_ADDS_AT_ONCE, &mc);
  if (!status && !tg_mc_fits(&mc, c->m, g->ring_words)) g->ring_words[TG_DRAIN_FINISH] = 0;
  g->words_in_all[TG_DRAIN_OF_RING] = mc.words;
  return status;
}
