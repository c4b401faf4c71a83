/* Address ranges of an execution: exact smallest and largest row of every access. */
#include "sim/functional/exec.h"

typedef struct range {
  int64_t low, high; /* empty if low > high */
} range;

static void widen(range *r, int64_t low, int64_t high) {
  if (low < r->low) r->low = low;
  if (high > r->high) r->high = high;
}

/* Adds `count` steps of `stride`: 0 .. (count-1) * stride. */
static void steps(range *r, int64_t count, int64_t stride) {
  int64_t last = (count - 1) * stride;
  if (last < 0)
    r->low += last;
  else
    r->high += last;
}

/* Range of sum digit * stride over the first `count` of a mixed-radix count (outermost not wrapped): whole
 * runs of the inner digits, then the ragged rest. */
static range prefix(int64_t count, const int64_t *radix, const int64_t *stride, int digits) {
  range all = {INT64_MAX, INT64_MIN};
  int64_t inner = 1, base = 0;
  for (int d = 1; d < digits; d++) inner *= radix[d];
  for (int d = 0; d < digits; d++) {
    int64_t whole = count / inner;
    count %= inner;
    if (whole) {
      range r = {base, base};
      steps(&r, whole, stride[d]);
      for (int e = d + 1; e < digits; e++) steps(&r, radix[e], stride[e]);
      widen(&all, r.low, r.high);
    }
    base += whole * stride[d];
    if (d + 1 < digits) inner /= radix[d + 1];
  }
  return all;
}

static tg_status within(range r, uint32_t base, uint32_t rows, const char *what, tg_diag *diag) {
  if (r.low > r.high || (base + r.low >= 0 && base + r.high < rows)) return TG_OK;
  int64_t bad = base + r.low < 0 ? base + r.low : base + r.high;
  return tg_fail(diag, TG_FAULT, "%s reaches row %lld of %u", what, (long long)bad, rows);
}

static tg_status check_gemm(const tg_machine_state *state, const tg_execution *x, tg_diag *diag) {
  const tg_mx_instr *in = &x->in->mx;
  uint32_t pad = tg_pad_rows(&state->params), s = tg_gemm_setup_of(state, x).s;
  range a = {0, 0}, b = {0, 0}, c = {0, 0};
  for (int l = 0; l < 4; l++) {
    steps(&a, in->blk_count[l], in->a_blk[l]);
    steps(&b, in->blk_count[l], in->b_blk[l]);
    steps(&c, in->blk_count[l], in->c_blk[l]);
  }
  for (int l = 0; l < 2; l++) steps(&a, in->m_count[l], in->a_m[l]);
  steps(&b, s, in->b_row[0]);
  steps(&c, in->m_count[0] * in->m_count[1], 1);
  tg_status status = within(a, x->address[TG_AT_A], pad, "operand a", diag);
  if (!status) status = within(b, x->address[TG_AT_B], pad, "operand b", diag);
  if (!status)
    status = within(c, x->address[TG_AT_C], 2 * tg_acc_rows(&state->params), "accumulator operand c", diag);
  return status;
}

/* Which accesses the words of a segment make: bit 2*t + half. */
static uint32_t segment_uses(const tg_tile_program *tile, const tg_vx_instr *in, int q) {
  uint32_t uses = 0;
  for (int64_t i = 0; i < in->seg_len[q]; i++) {
    tg_ucode w = tg_ucode_decode(tile->words[in->seg_begin[q] + i]);
    if (w.ld_on) uses |= 1u << (2 * w.ld_stream + w.ld_half);
    if (w.st_on) uses |= 1u << (2 * w.st_stream + w.st_half);
  }
  return uses;
}

static tg_status check_vop(const tg_machine_state *state, uint32_t tile, const tg_execution *x,
                           tg_diag *diag) {
  const tg_vx_instr *in = &x->in->vx;
  uint32_t once = 0, repeated = 0;
  for (int q = 0; q < TG_SEGMENTS; q++)
    *(in->seg_repeat[0] >> q & 1 ? &repeated : &once) |= segment_uses(&state->section->tiles[tile], in, q);
  for (int t = 0; t < TG_STREAMS; t++) {
    const tg_stream *s = tg_stream_of(in, t);
    bool in_loop = repeated >> (2 * t) & 3, low = (once | repeated) >> (2 * t) & 1,
         high = (once | repeated) >> (2 * t + 1) & 1;
    if (!low && !high) continue;
    range r = prefix(in->rows[0], in->row_count, s->row, 3);
    if (r.low > r.high) continue; /* no rows */
    for (int d = 0; in_loop && d < 2; d++) steps(&r, in->j_count[d], s->j[d]);
    bool pairs = s->kind[0] == TG_STREAM_FP32;
    if (pairs && high) r.high++;
    if (pairs && !low) r.low++;
    char what[] = "stream s0";
    what[8] = (char)('0' + t);
    uint32_t rows =
        s->kind[0] == TG_STREAM_ACC ? 2 * tg_acc_rows(&state->params) : tg_pad_rows(&state->params);
    tg_status status = within(r, x->address[t], rows, what, diag);
    if (status) return status;
  }
  return TG_OK;
}

/* Rows of an arrival in the destinations of a lane: position 0 is a store memory. */
static tg_status check_arrival(const tg_machine_state *state, range r, uint32_t base, int64_t mask,
                               tg_diag *diag) {
  tg_status status = TG_OK;
  if (mask & 1)
    status = within(r, base, tg_store_rows(&state->params), "destination in the store memory", diag);
  if (!status && mask >> 1) status = within(r, base, tg_pad_rows(&state->params), "destination", diag);
  return status;
}

static range runs(uint32_t flits, int64_t inner, int64_t stride) {
  return prefix(flits, (int64_t[]){0, inner}, (int64_t[]){stride, 1}, 2);
}

static tg_status check_send(const tg_machine_state *state, const tg_execution *x, tg_diag *diag) {
  const tg_tx_instr *in = &x->in->tx;
  uint32_t flits = (uint32_t)in->flits[0];
  tg_status status = within(runs(flits, in->src_inner[0], in->src_stride[0]), x->address[TG_AT_SRC],
                            tg_pad_rows(&state->params), "source", diag);
  if (status) return status;
  return check_arrival(state, runs(flits, in->dst_inner[0], in->dst_stride[0]), x->address[TG_AT_DST],
                       in->dst_mask[0], diag);
}

static tg_status check_agcu(const tg_machine_state *state, const tg_execution *x, tg_diag *diag) {
  const tg_agcu_instr *in = &x->in->agcu;
  uint32_t flits = tg_agcu_flits(&state->params, in);
  if (in->op[0] == TG_OP_agcu_store)
    return within((range){0, (int64_t)flits - 1}, x->address[TG_AT_SRC], tg_store_rows(&state->params),
                  "source in the store memory", diag);
  return check_arrival(state, runs(flits, in->dst_inner[0], in->dst_stride[0]), x->address[TG_AT_DST],
                       in->dst_mask[0], diag);
}

tg_status tg_exec_check(const tg_machine_state *state, uint32_t endpoint, tg_unit unit, const tg_execution *x,
                        tg_diag *diag) {
  if (x->in->common.op[0] == TG_OP_sync) return TG_OK;
  switch (unit) {
  case TG_MX: return check_gemm(state, x, diag);
  case TG_VX: return check_vop(state, endpoint, x, diag);
  case TG_TX: return check_send(state, x, diag);
  case TG_AGCU: return check_agcu(state, x, diag);
  }
  return TG_OK;
}
