/* Banks, accumulator halves and store memory rows: the latest access to each must be known to have ended. */
#include "sim/machine/mx_shape.h"
#include "sim/machine/ordering_state.h"
#include "sim/machine/walk.h"

#include <stdio.h>

typedef struct accessor {
  unit *u;
  const tg_execution *x;
  uint32_t component; /* of the access */
} accessor;

static tg_status conflict(const check *k, const accessor *by, uint32_t endpoint, uint32_t place,
                          const mark *was) {
  char where[32], now[64], before[64], what[32];
  tg_order_name_endpoint(k, endpoint, where, sizeof where);
  tg_order_name_unit(k, (uint32_t)(by->u - k->units), now, sizeof now);
  tg_order_name_unit(k, was->unit, before, sizeof before);
  if (endpoint >= tg_tiles(k->m))
    snprintf(what, sizeof what, "store row %u", place);
  else if (place >= HALF0)
    snprintf(what, sizeof what, "accumulator half %u", place - HALF0);
  else
    snprintf(what, sizeof what, "bank %u", place);
  const uint32_t *i = by->x->index, *j = was->index;
  return tg_fail(k->diag, TG_MISMATCH,
                 "%s, %s: %s pc %u [%u %u %u] does not wait for the end of %s pc %u [%u %u %u]", where, what,
                 now, by->x->pc, i[0], i[1], i[2], before, was->pc, j[0], j[1], j[2]);
}

static tg_status touch(check *k, const accessor *by, uint32_t endpoint, uint32_t place) {
  mark *was = &k->marks[endpoint][place];
  if (was->component != by->component && was->ordinal > by->u->known[was->component])
    return conflict(k, by, endpoint, place, was);
  *was = (mark){.component = by->component,
                .ordinal = by->u->executed,
                .unit = (uint32_t)(by->u - k->units),
                .index = {by->x->index[0], by->x->index[1], by->x->index[2]},
                .pc = by->x->pc};
  return TG_OK;
}

static tg_status touch_mask(check *k, const accessor *by, uint32_t endpoint, uint64_t mask) {
  tg_status status = TG_OK;
  for (; mask && !status; mask &= mask - 1) status = touch(k, by, endpoint, (uint32_t)__builtin_ctzll(mask));
  return status;
}

/* Contents of banks, in which earlier sections may have left what this one keeps. */
static tg_status use_banks(check *k, const accessor *by, uint32_t tile, uint64_t read, uint64_t written) {
  uint64_t lost = written & k->section->kept;
  k->use[tile].read |= (uint32_t)read;
  k->use[tile].written |= (uint32_t)written;
  if (!lost) return TG_OK;
  char where[32];
  tg_order_name_endpoint(k, tile, where, sizeof where);
  tg_fail(k->diag, TG_MISMATCH, "%s, bank %d: the section keeps what it writes over", where,
          __builtin_ctzll(lost));
  return tg_order_at(k, by->u, by->x);
}

static uint64_t bits(uint64_t first, uint64_t last) { return ((2ull << last) - 1) & ~((1ull << first) - 1); }

/* Banks of rows low .. high, which lie in the scratchpad. */
static uint64_t banks_of(const check *k, int64_t low, int64_t high) {
  return bits((uint64_t)low / tg_bank_rows(k->m), (uint64_t)high / tg_bank_rows(k->m));
}

/* Banks that the machine counts as owned: `count` from the one of the address on. */
static uint64_t owned(const check *k, uint32_t address, int64_t count) {
  uint64_t bank = address / tg_bank_rows(k->m), last = bank + (uint64_t)count - 1;
  if (!count || bank >= k->m->banks) return 0;
  return bits(bank, last < k->m->banks ? last : k->m->banks - 1);
}

static uint64_t half_of(const check *k, uint32_t row) {
  return 1ull << (HALF0 + row / tg_acc_rows(k->m) % 2);
}

/* Banks and halves that the rows of an access lie in. */
static uint64_t used(const check *k, const tg_access *a, const tg_execution *x) {
  int64_t low = x->address[a->operand] + a->low, high = x->address[a->operand] + a->high;
  if (a->memory == TG_MEM_ACC) return half_of(k, (uint32_t)low) | half_of(k, (uint32_t)high);
  return a->memory == TG_MEM_PAD ? banks_of(k, low, high) : 0;
}

/* Two ports of one unit. */
static tg_status own_ports(const check *k, uint64_t both, const char *what) {
  return tg_fail(k->diag, TG_MISMATCH, "bank %d serves %s at once", __builtin_ctzll(both), what);
}

/* The stationary rows of a block are read while A rows of the one before stream, unless these are few. */
static tg_status gemm_ports(check *k, accessor *by, uint64_t a, uint64_t b) {
  const tg_mx_instr *in = &by->x->in->mx;
  unit *u = by->u;
  tg_mx_shape shape = tg_mx_shape_of(k->m, in);
  if ((a & b) && (shape.blocks > 1 || shape.groups)) return own_ports(k, a & b, "both operands of the GEMM");
  if ((u->a_banks & b) && u->known[u->component] < u->a_ordinal)
    return own_ports(k, u->a_banks & b, "operand a of the GEMM before and operand b");
  u->a_banks = (int64_t)(shape.pitch - shape.lead) <= tg_mx_last_read(&shape) ? (uint32_t)a : 0;
  u->a_ordinal = u->executed;
  return TG_OK;
}

/* The first block must not meet the last one of the GEMM before at other rows m, unless that one has ended (a
 * GEMM of another format, or of A stored otherwise, waits for the end). tg_program_check compares the blocks
 * of one GEMM. */
static tg_status gemm_rows(check *k, accessor *by) {
  const tg_mx_instr *in = &by->x->in->mx, *was = by->u->c.in;
  unit *u = by->u;
  int64_t first = by->x->address[TG_AT_C], last = first, rows = in->m_count[0] * in->m_count[1],
          half = in->col_half, last_half = half;
  for (int l = 0; l < 4; l++) {
    last += (in->blk_count[l] - 1) * in->c_blk[l];
    last_half += (in->blk_count[l] - 1) * in->h_blk[l];
  }
  bool in_flight = was && u->known[u->component] < u->c.ordinal && was->format == in->format &&
                   was->a_transposed == in->a_transposed;
  bool same_lanes = in->format != TG_FMT_FP32 || (half & 1) == u->c.half;
  int64_t apart = first - u->c.first;
  if (in_flight && same_lanes && apart && apart < was->m_count[0] * was->m_count[1] && -apart < rows)
    return tg_fail(
        k->diag, TG_MISMATCH,
        "accumulator rows %lld to %lld of the first block overlap in part those of the GEMM before, "
        "which begin at %lld",
        (long long)first, (long long)(first + rows - 1), (long long)u->c.first);
  u->c.in = in;
  u->c.first = last;
  u->c.half = last_half & 1;
  u->c.ordinal = u->executed;
  return TG_OK;
}

static tg_status touch_gemm(check *k, accessor *by, const tg_accesses *accesses) {
  const tg_mx_instr *in = &by->x->in->mx;
  uint64_t mask[3] = {owned(k, by->x->address[TG_AT_A], in->a_banks),
                      owned(k, by->x->address[TG_AT_B], in->b_banks), 0},
           read = 0;
  for (uint32_t i = 0; i < accesses->count; i++) {
    uint64_t rows = used(k, &accesses->access[i], by->x);
    mask[accesses->access[i].operand] |= rows;
    if (accesses->access[i].memory == TG_MEM_PAD) read |= rows;
  }
  tg_status status = use_banks(k, by, by->u->endpoint, read, 0);
  if (status) return status;
  status = gemm_ports(k, by, mask[TG_AT_A], mask[TG_AT_B]);
  if (!status) status = gemm_rows(k, by);
  if (status) return tg_order_at(k, by->u, by->x);
  return touch_mask(k, by, by->u->endpoint, mask[0] | mask[1] | mask[2]);
}

static tg_status touch_vop(check *k, accessor *by, const tg_accesses *accesses) {
  const tg_vx_instr *in = &by->x->in->vx;
  uint64_t mask[2] = {0, 0}, rows[2] = {0, 0}; /* loads, stores: banks that are owned, that rows lie in */
  for (int t = 0; t < TG_STREAMS; t++) {
    const tg_stream *s = tg_stream_of(in, t);
    if (s->kind == TG_STREAM_NONE) continue;
    mask[s->store] |=
        s->kind == TG_STREAM_ACC ? half_of(k, by->x->address[t]) : owned(k, by->x->address[t], s->banks);
  }
  for (uint32_t i = 0; i < accesses->count; i++) {
    const tg_access *a = &accesses->access[i];
    bool store = tg_stream_of(in, a->operand)->store;
    mask[store] |= used(k, a, by->x);
    if (a->memory == TG_MEM_PAD) rows[store] |= used(k, a, by->x);
  }
  tg_status status = use_banks(k, by, by->u->endpoint, rows[0], rows[1]);
  if (status) return status;
  if (mask[0] & mask[1]) {
    own_ports(k, mask[0] & mask[1], "load and store streams of the VOP");
    return tg_order_at(k, by->u, by->x);
  }
  return touch_mask(k, by, by->u->endpoint, mask[0] | mask[1]);
}

static tg_status touch_store_rows(check *k, accessor *by, uint32_t endpoint, uint32_t first, uint32_t count) {
  tg_status status = TG_OK;
  k->rows += count;
  for (uint32_t i = 0; i < count && !status; i++) status = touch(k, by, endpoint, first + i);
  return status;
}

/* A LOAD's next instruction may issue while the indices of its last burst are read. */
static tg_status touch_indices(check *k, accessor *by, const tg_agcu_instr *in) {
  uint32_t p = k->m->p, first = by->x->address[TG_AT_INDEX], last = first + (uint32_t)in->rows - 1;
  accessor reader = *by;
  if (in->op == TG_OP_agcu_load) reader.component = by->u->reads;
  return touch_store_rows(k, &reader, by->u->endpoint, first / p, last / p - first / p + 1);
}

/* `flits` in runs of `inner` rows `stride` apart, as they arrive at `endpoint`, or leave it. */
static tg_status touch_runs(check *k, accessor *by, bool arrive, uint32_t endpoint, uint32_t base,
                            uint32_t flits, int64_t inner, int64_t stride) {
  uint64_t mask = 0;
  int64_t row = base;
  for (uint32_t f = 0; f < flits; row += stride) {
    uint32_t count = flits - f < inner ? flits - f : (uint32_t)inner;
    if (endpoint < tg_tiles(k->m)) {
      k->rows++;
      mask |= banks_of(k, row, row + count - 1);
    } else {
      tg_status status = touch_store_rows(k, by, endpoint, (uint32_t)row, count);
      if (status) return status;
    }
    f += count;
  }
  tg_status status = mask ? use_banks(k, by, endpoint, arrive ? 0 : mask, arrive ? mask : 0) : TG_OK;
  return status ? status : touch_mask(k, by, endpoint, mask);
}

static tg_status touch_arrivals(check *k, accessor *by, const site *site, uint32_t flits, int64_t inner,
                                int64_t stride) {
  tg_status status = TG_OK;
  for (uint32_t i = 0; i < site->arrival_count && !status; i++) {
    by->component = site->arrivals[i].component;
    status =
        touch_runs(k, by, true, site->arrivals[i].endpoint, by->x->address[TG_AT_DST], flits, inner, stride);
  }
  return status;
}

tg_status tg_order_touch(check *k, unit *u, const tg_execution *x, const site *site) {
  if (x->in->common.op == TG_OP_sync) return TG_OK;
  accessor by = {.u = u, .x = x, .component = u->component};
  const tg_tx_instr *tx = &x->in->tx;
  const tg_agcu_instr *agcu = &x->in->agcu;
  tg_status status;
  switch (u->kind) {
  case TG_MX: return touch_gemm(k, &by, &site->accesses);
  case TG_VX: return touch_vop(k, &by, &site->accesses);
  case TG_TX:
    status = touch_runs(k, &by, false, u->endpoint, x->address[TG_AT_SRC], (uint32_t)tx->flits, tx->src_inner,
                        tx->src_stride);
    if (status) return status;
    return touch_arrivals(k, &by, site, (uint32_t)tx->flits, tx->dst_inner, tx->dst_stride);
  case TG_AGCU: break;
  }
  uint32_t flits = tg_agcu_flits(k->m, agcu);
  status = tg_order_touch_memory(k, u, x);
  if (!status && agcu->index_size) status = touch_indices(k, &by, agcu);
  if (status) return status;
  if (agcu->op == TG_OP_agcu_store)
    return touch_store_rows(k, &by, u->endpoint, x->address[TG_AT_SRC], flits);
  return touch_arrivals(k, &by, site, flits, agcu->dst_inner, agcu->dst_stride);
}
