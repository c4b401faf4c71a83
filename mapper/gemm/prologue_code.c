/* Microcode of the prologue of a product. */
#include "mapper/expression/expression.h"
#include "mapper/gemm/product.h"

/* Of an operand of the nodes: of the inputs, or, behind them, of the vectors. */
static bool names_vector(const tg_operand_stream *name) { return name->stream >= TG_PROLOGUE_INPUTS; }

/* Vectors once, then a row of each of those that are handled at once. */
tg_status tg_gemm_write_prologue(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, tg_mc *mc) {
  const tg_gemm_prologue *f = &g->prologue;
  tg_operand_stream names[TG_PROLOGUE_NAMES];
  tg_mc_ref held[TG_PROLOGUE_VECTORS];
  int kind = tg_stream_kind(f->result);
  bool as_is = f->block_kind == kind && (!f->stored || f->result_kind == kind);
  const tg_value *only_stored = as_is ? f->result : NULL;
  tg_mc_next_segment(mc);
  for (int v = 0; v < f->vector_count; v++)
    held[v] = tg_hold_operand(
        mc, &(tg_operand_stream){.name = f->vectors[v].name, .stream = tg_prologue_vector_stream(f, v)});
  tg_mc_next_segment(mc);
  for (uint32_t u = 0; u < f->unroll; u++) {
    tg_value *value = f->result;
    tg_mc_ref x;
    for (int n = 0; n < f->name_count; n++) {
      names[n] = f->names[n];
      names[n].loaded = names_vector(&names[n]);
      if (names[n].loaded)
        names[n].held = held[names[n].stream - TG_PROLOGUE_INPUTS];
      else {
        names[n].scalar = tg_gemm_prologue_is_scalar(g, names[n].stream);
        names[n].stream = tg_prologue_input_stream(f, names[n].stream, u);
      }
    }
    if (!tg_emit_prologue(mc, c, &kernel->prologue[f->of_b], names, f->name_count, NULL, only_stored, &value,
                          1, &x))
      return TG_INVALID;
    tg_mc_store(mc, tg_prologue_block_stream(f, u), f->block_kind == TG_STREAM_FP32, x);
    if (f->stored) tg_mc_store(mc, tg_prologue_result_stream(f, u), f->result_kind == TG_STREAM_FP32, x);
  }
  return TG_OK;
}

tg_status tg_gemm_measure_prologue(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  tg_mc mc;
  int lengths[2 * TG_SEGMENTS];
  tg_mc_begin(&mc, c->arena);
  tg_status status = tg_gemm_write_drain(c, kernel, g, TG_DRAIN_OF_ACCUMULATOR, 1, &mc);
  int first = mc.segment + 1;
  if (!status) status = tg_gemm_write_prologue(c, kernel, g, &mc);
  if (status || !tg_mc_fits(&mc, c->m, lengths)) return TG_INVALID;
  for (int i = 0; i < 2; i++) g->prologue.words[i] = lengths[first + i];
  g->words_in_all[TG_DRAIN_OF_ACCUMULATOR] = mc.words;
  return TG_OK;
}
