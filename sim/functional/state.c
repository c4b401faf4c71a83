#include "sim/functional/exec.h"
#include "sim/machine/mx_shape.h"

#include "sim/machine/numerics.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <fenv.h>

/* Zeroed, 64-byte aligned, with a cache line of slack behind it. */
static void *buffer(size_t bytes) {
  size_t size = (bytes + 127) / 64 * 64;
  void *memory = aligned_alloc(64, size);
  if (!memory) tg_die("out of memory for the machine's state");
  return memset(memory, 0, size);
}

tg_machine_state *tg_machine_create(const tg_params *m) {
  tg_machine_state *state = buffer(sizeof *state);
  state->params = *m;
  state->tiles = buffer(tg_tiles(m) * sizeof *state->tiles);
  state->stores = buffer(tg_agcus(m) * sizeof *state->stores);
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    state->tiles[t].pad = buffer((size_t)tg_pad_rows(m) * tg_flit_bytes(m));
    state->tiles[t].acc = buffer((size_t)2 * tg_acc_rows(m) * tg_lanes(m) * 4);
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++)
    state->stores[a] = buffer((size_t)tg_store_rows(m) * tg_flit_bytes(m));
  return state;
}

void tg_machine_destroy(tg_machine_state *state) {
  if (!state) return;
  for (uint32_t t = 0; t < tg_tiles(&state->params); t++) {
    free(state->tiles[t].pad);
    free(state->tiles[t].acc);
  }
  for (uint32_t a = 0; a < tg_agcus(&state->params); a++) free(state->stores[a]);
  free(state->stores);
  free(state->tiles);
  free(state);
}

void tg_machine_begin(tg_machine_state *state, const tg_program *program, uint32_t invocation, uint64_t seed,
                      uint32_t step, tg_dram *dram) {
  const tg_invocation *inv = &program->invocations[invocation];
  state->program = program;
  state->section_index = inv->section;
  state->section = &program->sections[inv->section];
  state->dram = dram;
  memcpy(state->bases, inv->bases, sizeof state->bases);
  for (int i = 0; i < TG_BASES; i++) state->keys[i] = tg_sr_key(seed, step, inv->key_nodes[i]);
  for (uint32_t t = 0; t < tg_tiles(&state->params); t++) {
    const tg_tile_program *tile = &state->section->tiles[t];
    memset(state->tiles[t].constants, 0, sizeof state->tiles[t].constants);
    if (tile->constant_count)
      memcpy(state->tiles[t].constants, tile->constants, tile->constant_count * sizeof(uint32_t));
  }
}

void tg_exec_thread_init(void) {
  fesetround(FE_TONEAREST);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
}

void tg_kernels_destroy(tg_kernels *kernels) {
  if (kernels && kernels->destroy) kernels->destroy(kernels);
}

tg_gemm_setup tg_gemm_setup_of(const tg_machine_state *state, const tg_execution *x) {
  const tg_mx_instr *in = &x->in->mx;
  tg_gemm_setup g = {.s = tg_mx_stationary(&state->params, in->format),
                     .m = (uint32_t)(in->m_count[0] * in->m_count[1]),
                     .blocks = 1,
                     .kblocks = 1,
                     .init = x->starts,
                     .k_left = x->k_left};
  for (int l = 0; l < 4; l++) {
    g.blocks *= (uint32_t)in->blk_count[l];
    if (in->k_loops >> l & 1) g.kblocks *= (uint32_t)in->blk_count[l];
  }
  g.sr_key = state->keys[in->sr_key];
  g.sr_tile = (uint32_t)in->sr_tile + tg_execution_advance(x, in->sr_tile_delta);
  g.sr_row = (uint32_t)in->sr_row + tg_execution_advance(x, in->sr_row_delta);
  g.sr_col = (uint32_t)in->sr_col + tg_execution_advance(x, in->sr_col_delta);
  return g;
}
