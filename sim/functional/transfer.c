/* SEND, LOAD and STORE: flits between scratchpads, store memories and device memory. One implementation for
 * all. */
#include "sim/functional/exec.h"
#include "sim/machine/numerics.h"

#include <string.h>

enum { MAX_FLIT_BYTES = 128, MAX_BURST_PIECES = 64 * 64 };

/* Memory of an endpoint that flits arrive in. */
static uint8_t *arrival(const tg_machine_state *state, uint32_t endpoint) {
  uint32_t tiles = tg_tiles(&state->params);
  return endpoint < tiles ? state->tiles[endpoint].pad : state->stores[endpoint - tiles];
}

/* Row of flit f in runs of `inner` rows `stride` apart. */
static int64_t run_row(uint32_t base, uint32_t f, int64_t inner, int64_t stride) {
  return base + f / inner * stride + f % inner;
}

void tg_exec_send(tg_machine_state *state, uint32_t tile, const tg_execution *x, uint32_t first,
                  uint32_t count) {
  const tg_tx_instr *in = &x->in->tx;
  size_t bytes = tg_flit_bytes(&state->params);
  for (uint32_t pos = 0; pos < 17; pos++) {
    if (!(in->dst_mask[0] >> pos & 1)) continue;
    uint8_t *to = arrival(state, tg_lane_endpoint(&state->params, tile, (uint32_t)in->dir[0], pos));
    for (uint32_t f = first; f < first + count; f++) {
      int64_t src = run_row(x->address[TG_AT_SRC], f, in->src_inner[0], in->src_stride[0]);
      int64_t dst = run_row(x->address[TG_AT_DST], f, in->dst_inner[0], in->dst_stride[0]);
      memcpy(to + (size_t)dst * bytes, tg_pad_row(state, tile, (uint32_t)src), bytes);
    }
  }
}

/* `count` elements from device memory into a flit. */
static void convert(int64_t how, const uint8_t *from, uint8_t *to, uint32_t count) {
  uint32_t words[MAX_FLIT_BYTES / 2];
  uint16_t halves[MAX_FLIT_BYTES / 2];
  switch (how) {
  case TG_CVT_32: memcpy(to, from, 4 * count); return;
  case TG_CVT_16: memcpy(to, from, 2 * count); return;
  case TG_CVT_FP32_BF16:
  case TG_CVT_FP32_FP16:
    memcpy(words, from, 4 * count);
    for (uint32_t i = 0; i < count; i++)
      halves[i] = how == TG_CVT_FP32_BF16 ? tg_bf16_from_f32(words[i]) : tg_fp16_from_f32(words[i]);
    memcpy(to, halves, 2 * count);
    return;
  default:
    memcpy(halves, from, 2 * count);
    for (uint32_t i = 0; i < count; i++)
      words[i] = how == TG_CVT_BF16_FP32 ? tg_bf16_to_f32(halves[i]) : tg_fp16_to_f32(halves[i]);
    memcpy(to, words, 4 * count);
  }
}

static tg_status outside(const tg_piece *piece, uint32_t memory_bytes, const tg_dram *dram, tg_diag *diag) {
  uint64_t bytes = (uint64_t)piece->valid_count * memory_bytes;
  if (!piece->valid_count || (piece->address >= 0 && (uint64_t)piece->address <= dram->size &&
                              bytes <= dram->size - (uint64_t)piece->address))
    return TG_OK;
  return tg_fail(diag, TG_FAULT, "device memory address %lld is outside the %llu bytes of the program",
                 (long long)piece->address, (unsigned long long)dram->size);
}

static void deliver(tg_machine_state *state, uint32_t agcu, const tg_execution *x, uint32_t flit,
                    const uint8_t *data) {
  const tg_agcu_instr *in = &x->in->agcu;
  const tg_params *m = &state->params;
  uint32_t dir = tg_is_west(m, agcu) ? TG_EAST : TG_SOUTH;
  int64_t dst = run_row(x->address[TG_AT_DST], flit, in->dst_inner[0], in->dst_stride[0]);
  for (uint32_t pos = 1; pos < 17; pos++)
    if (in->dst_mask[0] >> pos & 1) {
      uint32_t tile = tg_lane_endpoint(m, tg_tiles(m) + agcu, dir, pos);
      memcpy(tg_pad_row(state, tile, (uint32_t)dst), data, tg_flit_bytes(m));
    }
}

/* Invalid elements of a piece get the fill value. */
static void fill(const tg_agcu_instr *in, uint32_t chip_bytes, uint8_t *at, uint32_t count) {
  uint32_t word = (uint32_t)in->fill[0];
  uint16_t half = (uint16_t)word;
  for (uint32_t i = 0; i < count; i++)
    if (chip_bytes == 4)
      memcpy(at + 4 * i, &word, 4);
    else
      memcpy(at + 2 * i, &half, 2);
}

tg_status tg_exec_load(tg_machine_state *state, uint32_t agcu, const tg_execution *x, tg_walk *walk,
                       uint32_t *out_atoms, tg_diag *diag) {
  const tg_agcu_instr *in = &x->in->agcu;
  tg_piece pieces[MAX_BURST_PIECES];
  uint8_t flit[MAX_FLIT_BYTES] = {0};
  uint32_t atoms, z = walk->chip_bytes,
                  count = tg_walk_burst(walk, state->params.burst_flits, pieces, &atoms);
  if (out_atoms) *out_atoms = atoms;
  for (uint32_t i = 0; i < count; i++) {
    const tg_piece *piece = &pieces[i];
    tg_status status = outside(piece, walk->memory_bytes, state->dram, diag);
    if (status) return status;
    uint8_t *at = flit + piece->lane * z;
    if (piece->valid_count < piece->length) fill(in, z, at, piece->length);
    if (piece->valid_count)
      convert(in->convert[0], state->dram->bytes + piece->address, at + piece->valid_first * z,
              piece->valid_count);
    if (i + 1 < count && pieces[i + 1].flit == piece->flit) continue;
    deliver(state, agcu, x, piece->flit, flit);
    memset(flit, 0, sizeof flit);
  }
  return TG_OK;
}

tg_status tg_exec_store(tg_machine_state *state, uint32_t agcu, const tg_execution *x, tg_walk *walk,
                        uint32_t *out_atoms, tg_diag *diag) {
  tg_piece pieces[MAX_BURST_PIECES];
  uint32_t atoms, z = walk->chip_bytes,
                  count = tg_walk_burst(walk, state->params.burst_flits, pieces, &atoms);
  if (out_atoms) *out_atoms = atoms;
  for (uint32_t i = 0; i < count; i++) {
    const tg_piece *piece = &pieces[i];
    tg_status status = outside(piece, walk->memory_bytes, state->dram, diag);
    if (status) return status;
    size_t row = (size_t)x->address[TG_AT_SRC] + piece->flit;
    const uint8_t *from = state->stores[agcu] + row * tg_flit_bytes(&state->params);
    if (piece->valid_count)
      memcpy(state->dram->bytes + piece->address, from + (piece->lane + piece->valid_first) * z,
             piece->valid_count * z);
  }
  return TG_OK;
}
