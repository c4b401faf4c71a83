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

int tg_gemm_finish_stream(const tg_gemm *g, int stream, uint32_t row) {
  int own = 0, before = 0, operands = g->epilogue_operand_count;
  for (int x = 0; x < operands; x++) {
    bool shared = tg_is_row_vector(&g->epilogue_operands[x]);
    if (stream == 1 + x && shared) return row ? -1 : stream;
    before += 1 + x < stream && shared;
    own += !shared;
  }
  int second = g->second != NULL, streams = 1 + own + g->outs + second;
  return row ? 1 + operands + g->outs + second + (int)(row - 1) * streams + stream - before : stream;
}

/* The result of the second product, as the nodes behind both name it: an operand that stands in a register. */
static tg_operand_stream take_second(const tg_kernel *kernel, const tg_gemm *g,
                                     const tg_operand_stream *streams, int count, uint32_t row, bool halves,
                                     tg_mc *mc) {
  tg_mc_ref y = tg_mc_load(mc, tg_gemm_finish_stream(g, tg_gemm_second_stream(g), row), halves);
  return (tg_operand_stream){.name = {.value = tg_out(kernel->second->root)},
                             .loaded = true,
                             .held = tg_gemm_add_bias(mc, kernel->second, streams, count, y, false)};
}

/* Of product `y`: bias, rounding, the nodes behind it. `streams` has room for one more. `halves`: the product comes from
 * the scratchpad. */
static bool finish(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, tg_operand_stream *streams,
                   int count, tg_mc_ref y, uint32_t row, bool halves, tg_mc *mc) {
  tg_mc_ref results[TG_GEMM_RESULTS];
  if (g->second) streams[count] = take_second(kernel, g, streams, count, row, halves, mc), count++;
  y = tg_gemm_add_bias(mc, kernel, streams, count, y, !kernel->fused_count);
  if (!tg_emit_results(mc, c, kernel, tg_out(kernel->root), y, streams, count, results)) return false;
  for (int k = 0; k < g->outs; k++)
    tg_mc_store(mc, tg_gemm_finish_stream(g, tg_gemm_finish_result_stream(g, k), row),
                g->out_kind[k] == TG_STREAM_FP32, results[k]);
  return true;
}

/* Several rows at a time: what all of them read is loaded once, and loads and stores of a row lie beside the operations of
 * the others. */
static tg_status write_rows(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, uint32_t rows,
                            tg_mc *mc) {
  tg_operand_stream streams[TG_EPILOGUE_OPERANDS], own[TG_EPILOGUE_OPERANDS + 1];
  int count = tg_gemm_operand_streams(g, streams);
  for (int x = 0; x < count; x++) {
    if (!tg_is_row_vector(&g->epilogue_operands[x])) continue;
    streams[x].held = tg_hold_operand(mc, &streams[x]);
    streams[x].loaded = true;
  }
  for (uint32_t row = 0; row < rows; row++) {
    for (int x = 0; x < count; x++) {
      own[x] = streams[x];
      if (!own[x].loaded) own[x].stream = tg_gemm_finish_stream(g, own[x].stream, row);
    }
    tg_mc_ref y = tg_mc_load(mc, tg_gemm_finish_stream(g, TG_DRAIN_ACCUMULATOR, row), false);
    if (!finish(c, kernel, g, own, count, y, row, false, mc)) return TG_INVALID;
  }
  return TG_OK;
}

tg_status tg_gemm_write_drain(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g,
                              tg_drain_way way, uint32_t at_once, tg_mc *mc) {
  if (g->column_sums.count) return tg_gemm_write_column_sums(c, kernel, g, mc);
  if (way == TG_DRAIN_OF_WINDOWS) return tg_gemm_write_pool(c, kernel, g, mc);
  if (way == TG_DRAIN_OF_ACCUMULATOR && g->partials == 1 && at_once > 1)
    return write_rows(c, kernel, g, at_once, mc);
  tg_operand_stream streams[TG_EPILOGUE_OPERANDS + 1];
  int count = tg_gemm_operand_streams(g, streams);
  tg_mc_ref sum = g->partials > 1 ? load_sum(mc, g, tg_gemm_finish_sum_stream(g)) : TG_MC_NONE;
  bool whole = tg_gemm_rounds_sums(g) || way == TG_DRAIN_OF_RING; /* nothing is left in the accumulator */
  bool halves = way == TG_DRAIN_OF_TRANSPOSED;
  tg_mc_ref y = whole ? sum : tg_mc_load(mc, TG_DRAIN_ACCUMULATOR, halves);
  if (g->partials > 1 && !whole) y = tg_mc_alu(mc, TG_ALU_add, sum, y, TG_MC_NONE);
  if (!finish(c, kernel, g, streams, count, y, 0, halves, mc)) return TG_INVALID;
  if (g->partials > 1) write_sums(mc, g, at_once);
  if (way == TG_DRAIN_OF_TRANSPOSED) tg_gemm_write_transposition(g, mc);
  return TG_OK;
}

/* Places of results, by which stores round at random, are those of consecutive rows. */
static void measure_rows(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  g->finish_words[0] = g->drain_words[TG_DRAIN_FINISH];
  for (int i = 1;
       i < TG_DRAIN_UNROLLS && g->partials == 1 && !tg_gemm_rounds_results(g) && !tg_gemm_rounds_sums(g);
       i++) {
    tg_mc mc;
    int words[2 * TG_SEGMENTS], last = tg_gemm_finish_result_stream(g, g->outs - 1);
    if (g->second && g->outs == 1) last = tg_gemm_second_stream(g); /* behind the only result */
    tg_mc_begin(&mc, c->arena);
    if (!g->finish_words[i - 1] || tg_gemm_finish_stream(g, last, (1u << i) - 1) >= TG_STREAMS) return;
    if (!write_rows(c, kernel, g, 1u << i, &mc) && tg_mc_fits(&mc, c->m, words))
      g->finish_words[i] = words[0];
  }
}

tg_status tg_gemm_measure_drain(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  if (g->column_sums.count) return tg_gemm_measure_column_sums(c, kernel, g);
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  tg_status status = tg_gemm_write_drain(c, kernel, g, TG_DRAIN_OF_ACCUMULATOR, 1, &mc);
  if (!status && !tg_mc_fits(&mc, c->m, g->drain_words)) g->drain_words[TG_DRAIN_FINISH] = 0;
  g->words_in_all[TG_DRAIN_OF_ACCUMULATOR] = mc.words;
  if (!status) measure_rows(c, kernel, g);
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
