#include "sim/machine/actions.h"
#include "sim/machine/mx_shape.h"
#include "sim/machine/walk.h"

void tg_actions_add(tg_actions *sum, const tg_actions *more) {
  for (int a = 0; a < TG_ACTIONS; a++) sum->count[a] += more->count[a];
}

static tg_action mac_of(int64_t format) {
  switch (format) {
  case TG_FMT_TF32: return TG_ACT_mac_tf32;
  case TG_FMT_BF16: return TG_ACT_mac_bf16;
  case TG_FMT_FP16: return TG_ACT_mac_fp16;
  default: return TG_ACT_mac_fp32;
  }
}

/* Every row of a block passes all S x S weights, reads its accumulators unless the block starts from +0, and writes them. */
static void count_gemm(tg_actions *sum, const tg_params *m, const tg_execution *x) {
  const tg_mx_instr *in = &x->in->mx;
  tg_mx_shape shape = tg_mx_shape_run(m, x);
  uint64_t firsts = 1, results = shape.blocks * shape.rows; /* firsts: blocks with kb == 0 */
  for (int l = 0; l < 4; l++)
    if (!(in->k_loops >> l & 1)) firsts *= (uint64_t)in->blk_count[l];
  uint64_t streamed = shape.groups ? shape.groups * shape.s : shape.rows;
  sum->count[mac_of(in->format)] += results * shape.s * shape.s;
  sum->count[TG_ACT_pad_read] += shape.blocks * shape.beats * (shape.s + streamed);
  sum->count[TG_ACT_acc_read] += (shape.blocks - (x->starts ? firsts : 0)) * shape.rows * tg_lanes(m);
  sum->count[TG_ACT_acc_write] += results * shape.s;
}

static bool multiplies(uint8_t op) {
  return op == TG_ALU_fma || op == TG_ALU_mul || op == TG_ALU_add || op == TG_ALU_sub;
}

/* A word does each of its slots once for each row that it runs for. */
static void count_vop(tg_actions *sum, const tg_params *m, const tg_execution *x, const uint64_t *words) {
  const tg_vx_instr *in = &x->in->vx;
  for (int q = 0; q < TG_SEGMENTS; q++) {
    uint64_t times = (uint64_t)in->rows;
    if (in->seg_repeat >> q & 1) times *= (uint64_t)(in->j_count[0] * in->j_count[1]);
    for (int64_t w = 0; w < in->seg_len[q]; w++) {
      tg_ucode word = tg_ucode_decode(words[in->seg_begin[q] + w]);
      sum->count[TG_ACT_word] += times;
      if (word.ld_on && tg_stream_of(in, word.ld_stream)->kind == TG_STREAM_ACC)
        sum->count[TG_ACT_acc_read] += times * tg_lanes(m);
      else if (word.ld_on)
        sum->count[TG_ACT_pad_read] += times;
      if (word.st_on) sum->count[TG_ACT_pad_write] += times;
      if (word.alu_op != TG_ALU_nop)
        sum->count[multiplies(word.alu_op) ? TG_ACT_alu_multiply : TG_ACT_alu_simple] += times * tg_lanes(m);
    }
  }
}

/* `flits` flits from an endpoint along the lane `dir` to the positions of `mask`, the farthest of which they pass all segments
 * to; position 0 is an AGCU. */
static void count_transfer(tg_actions *sum, const tg_params *m, uint32_t endpoint, int64_t dir, uint32_t mask,
                           uint64_t flits) {
  bool row = dir == TG_DIR_EAST || dir == TG_DIR_WEST, up = dir == TG_DIR_EAST || dir == TG_DIR_SOUTH;
  uint32_t farthest = (uint32_t)(up ? 31 - __builtin_clz(mask) : __builtin_ctz(mask)), position = 0;
  if (endpoint < tg_tiles(m)) position = 1 + (row ? endpoint % m->cols : endpoint / m->cols);
  sum->count[TG_ACT_flit_hop] += flits * (up ? farthest - position : position - farthest);
  sum->count[TG_ACT_pad_write] += flits * (uint32_t)__builtin_popcount(mask & ~1u);
  sum->count[TG_ACT_agcu_write] += flits * (mask & 1);
}

static void count_send(tg_actions *sum, const tg_params *m, uint32_t endpoint, const tg_execution *x) {
  const tg_tx_instr *in = &x->in->tx;
  uint32_t mask = (uint32_t)in->dst_mask;
  sum->count[TG_ACT_pad_read] += (uint64_t)in->flits;
  count_transfer(sum, m, endpoint, in->dir, mask, (uint64_t)in->flits);
  if (in->dst_post) sum->count[TG_ACT_post] += (uint32_t)__builtin_popcount(mask);
}

static void count_load(tg_actions *sum, const tg_params *m, uint32_t endpoint, const tg_execution *x) {
  const tg_agcu_instr *in = &x->in->agcu;
  uint32_t mask = (uint32_t)in->dst_mask;
  uint64_t flits = tg_agcu_flits(m, in);
  sum->count[TG_ACT_agcu_write] += flits;
  sum->count[TG_ACT_agcu_read] += flits;
  count_transfer(sum, m, endpoint, tg_is_west(m, endpoint - tg_tiles(m)) ? TG_DIR_EAST : TG_DIR_SOUTH, mask,
                 flits);
  if (in->dst_post) sum->count[TG_ACT_post] += (uint32_t)__builtin_popcount(mask);
}

void tg_actions_execute(tg_actions *sum, const tg_params *m, uint32_t endpoint, tg_unit unit,
                        const tg_execution *x, const uint64_t *words) {
  static const tg_action issues[] = {[TG_MX] = TG_ACT_issue_mx,
                                     [TG_VX] = TG_ACT_issue_vx,
                                     [TG_TX] = TG_ACT_issue_tx,
                                     [TG_AGCU] = TG_ACT_issue_agcu};
  sum->count[issues[unit]]++;
  for (int i = 0; i < 4; i++) sum->count[TG_ACT_post] += tg_execution_posts(x, i);
  int64_t op = x->in->common.op;
  if (op == TG_OP_sync) return;
  if (unit == TG_MX) count_gemm(sum, m, x);
  if (unit == TG_VX) count_vop(sum, m, x, words);
  if (unit == TG_TX) count_send(sum, m, endpoint, x);
  if (unit == TG_AGCU && op == TG_OP_agcu_load) count_load(sum, m, endpoint, x);
}
