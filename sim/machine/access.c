#include "sim/machine/access.h"
#include "sim/machine/mx_shape.h"
#include "sim/machine/walk.h"

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

static void add(tg_accesses *out, tg_memory memory, int operand, const char *name, range r) {
  if (r.low > r.high) return;
  out->access[out->count++] =
      (tg_access){.memory = memory, .operand = (uint8_t)operand, .low = r.low, .high = r.high, .name = name};
}

static void add_arrival(tg_accesses *out, int64_t mask, range r) {
  add(out, TG_MEM_ARRIVAL, TG_AT_DST, "destination", r);
  out->access[out->count - 1].destinations = (uint32_t)mask;
}

static void gemm_accesses(const tg_params *m, const tg_mx_instr *in, tg_accesses *out) {
  range a = {0, 0}, b = {0, 0}, c = {0, 0};
  tg_mx_shape shape = tg_mx_shape_of(m, in);
  for (int l = 0; l < 4; l++) {
    steps(&a, in->blk_count[l], in->a_blk[l]);
    steps(&b, in->blk_count[l], in->b_blk[l]);
    steps(&c, in->blk_count[l], in->c_blk[l]);
  }
  steps(&a, shape.groups ? (int64_t)shape.groups : in->m_count[0], in->a_m[0]);
  steps(&a, shape.groups ? shape.s : in->m_count[1], in->a_m[1]);
  steps(&b, shape.s, in->b_row);
  steps(&a, shape.beats, 1);
  steps(&b, shape.beats, 1);
  steps(&c, (int64_t)shape.rows, 1);
  add(out, TG_MEM_PAD, TG_AT_A, "operand a", a);
  add(out, TG_MEM_PAD, TG_AT_B, "operand b", b);
  add(out, TG_MEM_ACC, TG_AT_C, "accumulator operand c", c);
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

static void vop_accesses(const tg_tile_program *tile, const tg_vx_instr *in, tg_accesses *out) {
  static const char *const names[TG_STREAMS] = {"stream s0", "stream s1", "stream s2",  "stream s3",
                                                "stream s4", "stream s5", "stream s6",  "stream s7",
                                                "stream s8", "stream s9", "stream s10", "stream s11"};
  uint32_t once = 0, repeated = 0;
  for (int q = 0; q < TG_SEGMENTS; q++)
    *(in->seg_repeat >> q & 1 ? &repeated : &once) |= segment_uses(tile, in, q);
  for (int t = 0; t < TG_STREAMS; t++) {
    const tg_stream *s = tg_stream_of(in, t);
    bool in_loop = repeated >> (2 * t) & 3, low = (once | repeated) >> (2 * t) & 1,
         high = (once | repeated) >> (2 * t + 1) & 1;
    if (!low && !high) continue;
    range r = prefix(in->rows, in->row_count, s->row, 3);
    if (r.low > r.high) continue; /* no rows */
    for (int d = 0; in_loop && d < 2; d++) steps(&r, in->j_count[d], s->j[d]);
    bool pairs = s->kind == TG_STREAM_FP32;
    if (pairs && high) r.high++;
    if (pairs && !low) r.low++;
    add(out, s->kind == TG_STREAM_ACC ? TG_MEM_ACC : TG_MEM_PAD, t, names[t], r);
  }
}

static range runs(uint32_t flits, int64_t inner, int64_t stride) {
  return prefix(flits, (int64_t[]){0, inner}, (int64_t[]){stride, 1}, 2);
}

static void send_accesses(const tg_tx_instr *in, tg_accesses *out) {
  uint32_t flits = (uint32_t)in->flits;
  add(out, TG_MEM_PAD, TG_AT_SRC, "source", runs(flits, in->src_inner, in->src_stride));
  add_arrival(out, in->dst_mask, runs(flits, in->dst_inner, in->dst_stride));
}

static void agcu_accesses(const tg_params *m, const tg_agcu_instr *in, tg_accesses *out) {
  uint32_t flits = tg_agcu_flits(m, in);
  if (in->index_size) add(out, TG_MEM_INDEX, TG_AT_INDEX, "index", (range){0, in->rows - 1});
  if (in->op == TG_OP_agcu_store)
    add(out, TG_MEM_STORE, TG_AT_SRC, "source", (range){0, (int64_t)flits - 1});
  else
    add_arrival(out, in->dst_mask, runs(flits, in->dst_inner, in->dst_stride));
}

void tg_instr_accesses(const tg_params *m, const tg_tile_program *tile, tg_unit unit, const tg_instr *instr,
                       tg_accesses *out) {
  out->count = 0;
  if (instr->common.op == TG_OP_sync) return;
  switch (unit) {
  case TG_MX: gemm_accesses(m, &instr->mx, out); return;
  case TG_VX: vop_accesses(tile, &instr->vx, out); return;
  case TG_TX: send_accesses(&instr->tx, out); return;
  case TG_AGCU: agcu_accesses(m, &instr->agcu, out); return;
  }
}

static tg_status within(const tg_access *access, uint32_t base, uint32_t rows, const char *where,
                        tg_diag *diag) {
  if (base + access->low >= 0 && base + access->high < rows) return TG_OK;
  int64_t bad = base + access->low < 0 ? base + access->low : base + access->high;
  return tg_fail(diag, TG_FAULT, "%s%s reaches row %lld of %u", access->name, where, (long long)bad, rows);
}

tg_status tg_accesses_check(const tg_params *m, const tg_accesses *accesses, const tg_execution *x,
                            tg_diag *diag) {
  tg_status status = TG_OK;
  for (uint32_t i = 0; !status && i < accesses->count; i++) {
    const tg_access *access = &accesses->access[i];
    uint32_t base = x->address[access->operand];
    int64_t mask = access->destinations;
    switch (access->memory) {
    case TG_MEM_PAD: status = within(access, base, tg_pad_rows(m), "", diag); break;
    case TG_MEM_ACC: status = within(access, base, 2 * tg_acc_rows(m), "", diag); break;
    case TG_MEM_STORE: status = within(access, base, tg_store_rows(m), " in the store memory", diag); break;
    case TG_MEM_INDEX:
      status = within(access, base, tg_store_rows(m) * m->p, " of the words in the store memory", diag);
      break;
    case TG_MEM_ARRIVAL:
      if (mask & 1) status = within(access, base, tg_store_rows(m), " in the store memory", diag);
      if (!status && mask >> 1) status = within(access, base, tg_pad_rows(m), "", diag);
      break;
    }
  }
  return status;
}
