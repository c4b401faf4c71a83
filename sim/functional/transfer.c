/* SEND, LOAD and STORE: flits between scratchpads, store memories and device memory. One implementation for
 * all. */
#include "frontend/base/math.h"
#include "sim/functional/exec.h"
#include "sim/machine/numerics.h"

#include <string.h>

enum {
  MAX_BURST_FLITS = 64,
  MAX_BURST_SPANS = MAX_BURST_FLITS * 64 / 2,
  MAX_BURST_BYTES = MAX_BURST_FLITS * 64
};

/* Memory of an endpoint that flits arrive in. */
static uint8_t *arrival(const tg_machine_state *state, uint32_t endpoint) {
  uint32_t tiles = tg_tiles(&state->params);
  return endpoint < tiles ? state->tiles[endpoint].pad : state->stores[endpoint - tiles];
}

/* Row of flit f in runs of `inner` rows `stride` apart. */
static int64_t run_row(uint32_t base, uint32_t f, int64_t inner, int64_t stride) {
  return base + f / inner * stride + f % inner;
}

static uint32_t left_in_run(uint32_t f, int64_t inner) { return (uint32_t)inner - f % (uint32_t)inner; }
void tg_exec_send(tg_machine_state *state, uint32_t tile, const tg_execution *x, uint32_t first,
                  uint32_t count) {
  const tg_tx_instr *in = &x->in->tx;
  size_t bytes = tg_flit_bytes(&state->params);
  for (uint32_t pos = 0; pos < 17; pos++) {
    if (!(in->dst_mask >> pos & 1)) continue;
    uint8_t *to = arrival(state, tg_lane_endpoint(&state->params, tile, (uint32_t)in->dir, pos));
    for (uint32_t f = first, run; f < first + count; f += run) {
      int64_t src = run_row(x->address[TG_AT_SRC], f, in->src_inner, in->src_stride);
      int64_t dst = run_row(x->address[TG_AT_DST], f, in->dst_inner, in->dst_stride);
      run = tg_min(left_in_run(f, in->src_inner), tg_min(left_in_run(f, in->dst_inner), first + count - f));
      memcpy(to + (size_t)dst * bytes, tg_pad_row(state, tile, (uint32_t)src), run * bytes);
    }
  }
}

/* The conversions, loops that compilers vectorise. Neither side need be aligned. */
#define CONVERSION(name, from_type, to_type, function)                                                       \
  static void name(const uint8_t *restrict from, uint8_t *restrict to, uint32_t count) {                     \
    for (uint32_t i = 0; i < count; i++) {                                                                   \
      from_type value;                                                                                       \
      memcpy(&value, from + i * sizeof value, sizeof value);                                                 \
      to_type result = function(value);                                                                      \
      memcpy(to + i * sizeof result, &result, sizeof result);                                                \
    }                                                                                                        \
  }
CONVERSION(fp32_to_bf16, uint32_t, uint16_t, tg_bf16_from_f32)
CONVERSION(fp32_to_fp16, uint32_t, uint16_t, tg_fp16_from_f32)
CONVERSION(fp32_to_tf32, uint32_t, uint32_t, tg_tf32_from_f32)
CONVERSION(bf16_to_fp32, uint16_t, uint32_t, tg_bf16_to_f32)
CONVERSION(fp16_to_fp32, uint16_t, uint32_t, tg_fp16_to_f32)

/* `count` elements from device memory into a flit. */
static void convert(int64_t how, const uint8_t *from, uint8_t *to, uint32_t count) {
  switch (how) {
  case TG_CVT_32: memcpy(to, from, 4ul * count); return;
  case TG_CVT_16: memcpy(to, from, 2ul * count); return;
  case TG_CVT_FP32_BF16: fp32_to_bf16(from, to, count); return;
  case TG_CVT_FP32_FP16: fp32_to_fp16(from, to, count); return;
  case TG_CVT_FP32_TF32: fp32_to_tf32(from, to, count); return;
  case TG_CVT_BF16_FP32: bf16_to_fp32(from, to, count); return;
  default: fp16_to_fp32(from, to, count);
  }
}

/* TG_FAULT names the first element that does not lie in device memory. */
static tg_status check_span(const tg_span *span, uint32_t memory_bytes, const tg_dram *dram, tg_diag *diag) {
  uint64_t bytes = (uint64_t)span->valid_count * memory_bytes, start = (uint64_t)span->address;
  bool begins = span->address >= 0 && start < dram->size;
  if (!bytes || (begins && bytes <= dram->size - start)) return TG_OK;
  int64_t bad = span->address;
  if (begins) bad += (int64_t)((dram->size - start) / memory_bytes * memory_bytes);
  return tg_fail(diag, TG_FAULT, "device memory address %lld is outside the %llu bytes of the program",
                 (long long)bad, (unsigned long long)dram->size);
}

/* Flits [first, first + count) of a LOAD, from `data`, to every destination, by runs of consecutive rows. */
static void deliver(tg_machine_state *state, uint32_t agcu, const tg_execution *x, uint32_t first,
                    uint32_t count, const uint8_t *data) {
  const tg_agcu_instr *in = &x->in->agcu;
  const tg_params *m = &state->params;
  uint32_t dir = tg_is_west(m, agcu) ? TG_DIR_EAST : TG_DIR_SOUTH, bytes = tg_flit_bytes(m);
  for (uint32_t mask = (uint32_t)in->dst_mask; mask; mask &= mask - 1) {
    uint32_t tile = tg_lane_endpoint(m, tg_tiles(m) + agcu, dir, (uint32_t)__builtin_ctz(mask));
    for (uint32_t f = 0, run; f < count; f += run) {
      int64_t dst = run_row(x->address[TG_AT_DST], first + f, in->dst_inner, in->dst_stride);
      run = tg_min(left_in_run(first + f, in->dst_inner), count - f);
      memcpy(tg_pad_row(state, tile, (uint32_t)dst), data + (size_t)f * bytes, (size_t)run * bytes);
    }
  }
}

/* Invalid elements of a span get the fill value. */
static void fill(const tg_agcu_instr *in, uint32_t chip_bytes, uint8_t *at, uint32_t count) {
  uint32_t word = (uint32_t)in->fill;
  uint16_t half = (uint16_t)word;
  for (uint32_t i = 0; i < count; i++)
    if (chip_bytes == 4)
      memcpy(at + 4 * i, &word, 4);
    else
      memcpy(at + 2 * i, &half, 2);
}

tg_status tg_exec_check_burst(const tg_machine_state *state, tg_walk *walk, uint32_t *out_atoms,
                              tg_diag *diag) {
  tg_span list[MAX_BURST_SPANS];
  tg_spans spans = {.span = list};
  uint32_t atoms;
  tg_status status = TG_OK;
  tg_walk_burst(walk, state->params.burst_flits, &spans, &atoms);
  if (out_atoms) *out_atoms = atoms;
  for (uint32_t i = 0; !status && i < spans.count; i++)
    status = check_span(&list[i], walk->memory_bytes, state->dram, diag);
  return status;
}

tg_status tg_exec_load(tg_machine_state *state, uint32_t agcu, const tg_execution *x, tg_walk *walk,
                       uint32_t *out_atoms, tg_diag *diag) {
  const tg_agcu_instr *in = &x->in->agcu;
  tg_span list[MAX_BURST_SPANS];
  tg_spans spans = {.span = list};
  uint8_t burst[MAX_BURST_BYTES];
  uint32_t first = walk->flit, bytes = tg_flit_bytes(&state->params), z = walk->chip_bytes, atoms;
  tg_walk_burst(walk, state->params.burst_flits, &spans, &atoms);
  if (out_atoms) *out_atoms = atoms;
  if (in->take % walk->flit_elements) memset(burst, 0, (size_t)(walk->flit - first) * bytes);
  for (uint32_t i = 0; i < spans.count; i++) {
    const tg_span *span = &list[i];
    tg_status status = check_span(span, walk->memory_bytes, state->dram, diag);
    if (status) return status;
    uint8_t *at = burst + (size_t)(span->flit - first) * bytes + span->lane * z;
    if (span->valid_count < span->length) fill(in, z, at, span->length);
    if (span->valid_count)
      convert(in->convert, state->dram->bytes + span->address, at + span->valid_first * z, span->valid_count);
  }
  deliver(state, agcu, x, first, walk->flit - first, burst);
  return TG_OK;
}

tg_status tg_exec_store(tg_machine_state *state, uint32_t agcu, const tg_execution *x, tg_walk *walk,
                        uint32_t *out_atoms, tg_diag *diag) {
  tg_span list[MAX_BURST_SPANS];
  tg_spans spans = {.span = list};
  uint32_t atoms, z = walk->chip_bytes;
  tg_walk_burst(walk, state->params.burst_flits, &spans, &atoms);
  if (out_atoms) *out_atoms = atoms;
  for (uint32_t i = 0; i < spans.count; i++) {
    const tg_span *span = &list[i];
    tg_status status = check_span(span, walk->memory_bytes, state->dram, diag);
    if (status) return status;
    size_t row = (size_t)x->address[TG_AT_SRC] + span->flit;
    const uint8_t *from = state->stores[agcu] + row * tg_flit_bytes(&state->params);
    if (span->valid_count)
      memcpy(state->dram->bytes + span->address, from + (span->lane + span->valid_first) * z,
             (size_t)span->valid_count * z);
  }
  return TG_OK;
}
