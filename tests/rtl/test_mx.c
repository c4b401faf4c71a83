/* The matrix unit alone: random GEMMs against the scalar reference, with the cycles of every issue and end
 * and the windows of ownership that docs/machine.md defines. */
#include "sim/functional/exec.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/duts.h"
#include "tests/rtl/random.h"

#include <stdlib.h>

/* The pitch of blocks keeps the distance between a write and the next read of an accumulator row only where
 * the row has the same m in both: accumulator addresses are multiples of C_STEP, and no block has more
 * rows. */
enum { BATCH = 10, MAX_CYCLES = 60000, C_STEP = 32 };

typedef struct bench {
  const tg_dut_ops *ops;
  void *dut;
  tg_mx_pins pins;
  tg_machine_state *state;
  tg_random random;
  tg_instr instrs[BATCH];
  tg_execution executions[BATCH];
  tg_chain chain;       /* where the last GEMM that rounds ended */
  int64_t ready[BATCH]; /* cycle from which the instruction stands at the head */
  int64_t issue[BATCH], end[BATCH];
  uint32_t own_a[MAX_CYCLES], own_b[MAX_CYCLES];
  uint8_t own_acc[MAX_CYCLES];
} bench;

static uint32_t draw(bench *b, uint32_t n) { return tg_below(&b->random, n); }

static void fill_pad(bench *b) {
  size_t words = (size_t)tg_pad_rows(&b->state->params) * b->state->params.p;
  uint32_t kind = draw(b, 3);
  for (size_t i = 0; i < words; i++) {
    uint32_t low, high, x = tg_draw(&b->random);
    switch (kind) {
    case 0: /* ordinary numbers in every format: exponents near one */
      low = (x & 0x83ffu) | 0x3c00u;
      high = (x >> 16 & 0x807fu) | 0x3f80u;
      x = high << 16 | low;
      break;
    case 1: x = tg_draw_f32(&b->random); break;
    default: break;
    }
    memcpy(b->state->tiles[0].pad + 4 * i, &x, 4);
  }
}

/* Lowest and highest value of sum_l i_l * stride_l over the loops. */
static void extent(const int64_t *counts, const int64_t *strides, int loops, int64_t *low, int64_t *high) {
  for (int l = 0; l < loops; l++) {
    int64_t reach = (counts[l] - 1) * strides[l];
    if (reach < 0)
      *low += reach;
    else
      *high += reach;
  }
}

static uint32_t side_of(const bench *b, const tg_mx_instr *in) {
  return in->format ? 2 * b->state->params.p : b->state->params.p;
}

/* Places an operand of this extent at random; its address, or -1. */
static int64_t place(bench *b, int64_t low, int64_t high, int64_t rows) {
  if (high - low >= rows) return -1;
  return -low + draw(b, (uint32_t)(rows - (high - low)));
}

/* Bank rows of a row of S elements. */
static uint32_t beats_of(const tg_mx_instr *in) { return in->format == TG_FMT_TF32 ? 2 : 1; }

/* `like`: of the same format and side, or NULL. */
static bool random_gemm(bench *b, const tg_mx_instr *like, tg_instr *out, tg_execution *x) {
  const tg_params *m = &b->state->params;
  tg_mx_instr *in = &out->mx;
  int64_t format = like ? like->format : draw(b, 4), transposed = like ? like->a_transposed : draw(b, 2);
  memset(out, 0, sizeof *out);
  memset(x, 0, sizeof *x);
  in->op = TG_OP_mx_gemm;
  in->format = format;
  in->a_transposed = transposed;
  uint32_t s = side_of(b, in);
  in->m_count[0] = 1 + draw(b, 3);
  in->m_count[1] = 1 + draw(b, draw(b, 4) ? 6 : C_STEP / (uint32_t)in->m_count[0]);
  for (int l = 0; l < 4; l++) {
    in->blk_count[l] = draw(b, 3) ? 1 : 1 + draw(b, 3);
    in->a_blk[l] = (int64_t)draw(b, 41) - 20;
    in->b_blk[l] = (int64_t)draw(b, 61) - 30;
    in->c_blk[l] = draw(b, 2) * C_STEP;
    in->h_blk[l] = draw(b, 2);
    in->sr_col_blk[l] = draw(b, 65536);
  }
  in->k_loops = draw(b, 16);
  in->a_m[0] = (int64_t)draw(b, 21) - 10;
  in->a_m[1] = (int64_t)draw(b, 5) - 2;
  in->b_row = (int64_t)draw(b, 5) - 2;
  in->b_transposed = draw(b, 2);
  in->col_half = draw(b, 2);
  in->init = draw(b, 2);
  in->init_levels = draw(b, 8);
  in->k_chunk = draw(b, 3) ? draw(b, 4 * s) : 1 << 20;
  in->k_total = draw(b, 12 * s);
  in->sr = draw(b, 2);
  in->sr_k = 1 + draw(b, draw(b, 2) ? s : 4 * s);
  in->sr_end = draw(b, 2);
  in->sr_end_last = draw(b, 2);
  in->sr_transposed = draw(b, 2);
  in->loop_count[2] = draw(b, 4);
  in->sr_key = draw(b, TG_BASES);
  in->sr_tile = tg_draw(&b->random) >> 8;
  in->sr_row = tg_draw(&b->random);
  in->sr_row_skip = draw(b, 2) ? tg_draw(&b->random) : 0;
  in->sr_col = tg_draw(&b->random);
  for (int l = 0; l < TG_LEVELS; l++) {
    x->index[l] = draw(b, 2) ? 0 : draw(b, 4);
    in->k_delta[l] = draw(b, 3 * s);
    in->sr_tile_delta[l] = tg_draw(&b->random) >> 8;
    in->sr_row_delta[l] = tg_draw(&b->random);
    in->sr_col_delta[l] = tg_draw(&b->random);
  }
  x->ends_inner = !in->loop_count[2] || x->index[2] + 1 == in->loop_count[2];
  int64_t most = s;
  for (int l = 0; l < 4; l++)
    if (in->k_loops >> l & 1) most *= in->blk_count[l];
  if (in->sr && in->k_chunk > most) in->k_chunk = most;
  int64_t low = 0, high = beats_of(in) - 1, rows = tg_pad_rows(m), a, w, c,
          reach = (int64_t)(s - 1) * in->b_row;
  int64_t groups[] = {(in->m_count[0] * in->m_count[1] + s - 1) / s, s};
  extent(in->blk_count, in->a_blk, 4, &low, &high);
  extent(transposed ? groups : in->m_count, in->a_m, 2, &low, &high);
  a = place(b, low, high, rows);
  low = reach < 0 ? reach : 0, high = (reach < 0 ? 0 : reach) + beats_of(in) - 1;
  extent(in->blk_count, in->b_blk, 4, &low, &high);
  w = place(b, low, high, rows);
  low = 0, high = C_STEP - 1;
  extent(in->blk_count, in->c_blk, 4, &low, &high);
  c = place(b, low, high, tg_acc_rows(m));
  if (a < 0 || w < 0 || c < 0) return false;
  x->address[TG_AT_A] = (uint16_t)a;
  x->address[TG_AT_B] = (uint16_t)w;
  x->address[TG_AT_C] = (uint16_t)(c / C_STEP * C_STEP + (draw(b, 2) ? tg_acc_rows(m) : 0));
  in->a_banks = draw(b, 4);
  in->b_banks = draw(b, 4);
  x->in = out;
  return true;
}

static uint32_t bank_mask(const tg_params *m, uint32_t row, int64_t banks) {
  uint32_t mask = 0;
  for (uint32_t i = row / tg_bank_rows(m); i < m->banks && banks > 0; i++, banks--) mask |= 1u << i;
  return mask;
}

/* Blocks that are multiplied once more, since a K tile ends within them: k by k. */
static int64_t cuts(const tg_mx_instr *in, const tg_execution *x, int64_t s) {
  int64_t columns = 1, count = 0;
  uint32_t at = x->chain.k;
  for (int l = 0; l < 4; l++)
    if (!(in->k_loops >> l & 1)) columns *= in->blk_count[l];
  for (uint32_t k = 1; in->sr && k < x->k_left; k++) {
    at = at + 1 >= in->sr_k ? 0 : at + 1;
    if (!at && k % s) count++;
  }
  return columns * count;
}

/* Issues, ends and windows by the rules of section 4. */
static void predict(bench *b, int count) {
  const tg_params *m = &b->state->params;
  int64_t last_frame = -1, last_end = -1, last_format = -1,
          last_transposed = -1; /* T_last + pitch - B S, e, ... before */
  int64_t free[2] = {-1, -1};   /* of the weights of the block before the last one, of the last one */
  memset(b->own_a, 0, sizeof b->own_a);
  memset(b->own_b, 0, sizeof b->own_b);
  memset(b->own_acc, 0, sizeof b->own_acc);
  for (int i = 0; i < count; i++) {
    const tg_mx_instr *in = &b->instrs[i].mx;
    const tg_execution *x = &b->executions[i];
    int64_t s = side_of(b, in), l = m->fma_latency, p = m->p, rows = in->m_count[0] * in->m_count[1];
    int64_t blocks =
        in->blk_count[0] * in->blk_count[1] * in->blk_count[2] * in->blk_count[3] + cuts(in, x, s);
    int64_t beats = beats_of(in), lead = beats * s, pitch = s * l + 3;
    bool transposed = in->a_transposed;
    int64_t fed = beats * (transposed ? (rows + s - 1) / s * s : rows); /* cycles that A is read in */
    if (fed > pitch) pitch = fed;
    while (2 * pitch < fed + s * l + lead) pitch++;
    int64_t at = b->ready[i];
    if (i && at <= b->issue[i - 1]) at = b->issue[i - 1] + 1;
    if (at < last_frame) at = last_frame;
    if (i && (in->format != last_format || transposed != last_transposed) && at <= last_end)
      at = last_end + 1;
    int64_t first = at + lead, last = first;
    for (int64_t block = 0; block <= blocks; block++) { /* the last of these is the next GEMM's first */
      int64_t start = block ? last + pitch : first;
      if (block && start - lead < free[0]) start = free[0] + lead;
      last_frame = start - lead;
      if (block == blocks) break;
      last = start;
      free[0] = free[1];
      free[1] = start + fed + s * l;
    }
    b->issue[i] = at;
    b->end[i] = last + beats * rows - 1 + s * l + p + 1;
    last_end = b->end[i];
    last_format = in->format;
    last_transposed = transposed;
    int64_t ahead = transposed ? lead : 0;
    for (int64_t t = first - ahead; t <= last - ahead + fed - 1; t++)
      b->own_a[t] |= bank_mask(m, x->address[TG_AT_A], in->a_banks);
    for (int64_t t = at; t <= last - 1; t++) b->own_b[t] |= bank_mask(m, x->address[TG_AT_B], in->b_banks);
    for (int64_t t = first; t <= b->end[i]; t++)
      b->own_acc[t] |= x->address[TG_AT_C] < tg_acc_rows(m) ? 1 : 2;
  }
}

static void read_row(const bench *b, uint32_t *out, bool request, uint16_t row) {
  if (request && row < tg_pad_rows(&b->state->params))
    memcpy(out, tg_pad_row(b->state, 0, row), tg_flit_bytes(&b->state->params));
}

/* Runs the batch on the model and on the reference. False at the first wrong cycle. */
static bool run(bench *b, int count) {
  tg_mx_pins *pins = &b->pins;
  int issued = 0, ended = 0;
  for (int i = 0; i < count; i++) {
    const tg_mx_instr *in = &b->instrs[i].mx;
    tg_execution_set_chain(&b->executions[i], b->chain);
    if (in->sr)
      b->chain = tg_chain_after(b->executions[i].chain, (uint32_t)in->sr_k, b->executions[i].k_left);
  }
  predict(b, count);
  for (int i = 0; i < count; i++)
    tg_kernels_reference()->gemm(tg_kernels_reference(), b->state, 0, &b->executions[i]);
  for (int64_t t = 0; ended < count; t++) {
    if (t >= MAX_CYCLES) {
      tg_test_fail(__FILE__, __LINE__, "no end in %d cycles", MAX_CYCLES);
      return false;
    }
    pins->head_valid = issued < count && t >= b->ready[issued];
    if (pins->head_valid) {
      const tg_execution *x = &b->executions[issued];
      uint64_t words[TG_INSTR_BYTES / 8];
      tg_instr_encode(TG_MX, &b->instrs[issued], words);
      memcpy(pins->head, words, sizeof words);
      memcpy(pins->index, x->index, sizeof pins->index);
      pins->a_addr = x->address[TG_AT_A];
      pins->b_addr = x->address[TG_AT_B];
      pins->c_addr = x->address[TG_AT_C];
      pins->sr_key = b->state->keys[b->instrs[issued].mx.sr_key];
    }
    b->ops->eval(b->dut, pins);
    bool due_issue = issued < count && b->issue[issued] == t, due_end = b->end[ended] == t;
    if (pins->issue != due_issue || pins->end != due_end) {
      tg_test_fail(__FILE__, __LINE__,
                   "cycle %lld: issue %d, expected %d; end %d, expected %d (instruction %d, %d)",
                   (long long)t, pins->issue, due_issue, pins->end, due_end, issued, ended);
      return false;
    }
    if (pins->a_own != b->own_a[t] || pins->b_own != b->own_b[t] || pins->acc_own != b->own_acc[t]) {
      tg_test_fail(__FILE__, __LINE__,
                   "cycle %lld: ownership a %x, expected %x; b %x, %x; accumulator %x, %x", (long long)t,
                   pins->a_own, b->own_a[t], pins->b_own, b->own_b[t], pins->acc_own, b->own_acc[t]);
      return false;
    }
    issued += pins->issue;
    ended += pins->end;
    bool a_req = pins->a_req, b_req = pins->b_req;
    uint16_t a_row = pins->a_row, b_row = pins->b_row;
    b->ops->clock(b->dut);
    read_row(b, pins->a_rdata, a_req, a_row);
    read_row(b, pins->b_rdata, b_req, b_row);
  }
  pins->head_valid = 0;
  b->ops->eval(b->dut, pins);
  b->ops->clock(b->dut);
  return true;
}

static bool compare(bench *b, int batch) {
  const tg_params *m = &b->state->params;
  for (uint32_t row = 0; row < 2 * tg_acc_rows(m); row++) {
    b->pins.acc_req = 1;
    b->pins.acc_row = (uint16_t)row;
    b->ops->eval(b->dut, &b->pins);
    b->ops->clock(b->dut);
    b->pins.acc_req = 0;
    b->ops->eval(b->dut, &b->pins);
    const uint32_t *expected = tg_acc_row(b->state, 0, row);
    for (uint32_t lane = 0; lane < tg_lanes(m); lane++) {
      if (b->pins.acc_data[lane] == expected[lane]) continue;
      tg_test_fail(__FILE__, __LINE__, "batch %d: accumulator row %u lane %u is %08x, expected %08x", batch,
                   row, lane, b->pins.acc_data[lane], expected[lane]);
      return false;
    }
  }
  return true;
}

/* All accumulators to +0: products without a valid k. */
static void clear(bench *b) {
  const tg_params *m = &b->state->params;
  for (int half = 0; half < 2; half++) {
    memset(&b->instrs[half], 0, sizeof b->instrs[half]);
    memset(&b->executions[half], 0, sizeof b->executions[half]);
    tg_mx_instr *in = &b->instrs[half].mx;
    in->op = TG_OP_mx_gemm;
    in->format = TG_FMT_BF16;
    in->m_count[0] = 1;
    in->m_count[1] = tg_acc_rows(m);
    for (int l = 0; l < 4; l++) in->blk_count[l] = 1;
    in->init = 1;
    b->executions[half].in = &b->instrs[half];
    b->executions[half].address[TG_AT_C] = (uint16_t)(half * tg_acc_rows(m));
    b->ready[half] = 0;
  }
  run(b, 2);
}

static void random_gemms(const tg_dut_ops *ops, const char *overrides[], uint64_t batches) {
  tg_diag diag = {""};
  tg_params params;
  ASSERT(!tg_params_load("tiny", &params, &diag));
  for (int i = 0; overrides[i]; i++) ASSERT(!tg_params_set(&params, overrides[i], &diag));
  tg_exec_thread_init();
  bench *b = calloc(1, sizeof *b);
  b->ops = ops;
  b->dut = ops->create();
  b->state = tg_machine_create(&params);
  b->random.state = 0x7e6a1au;
  clear(b);
  bool good = true;
  for (uint64_t batch = 0; good && batch < batches; batch++) {
    fill_pad(b);
    for (int i = 0; i < TG_BASES; i++) b->state->keys[i] = tg_draw(&b->random);
    int64_t when = 0;
    for (int i = 0; i < BATCH; i++) {
      const tg_mx_instr *like = i && draw(b, 2) ? &b->instrs[i - 1].mx : NULL;
      while (!random_gemm(b, like, &b->instrs[i], &b->executions[i])) {
      }
      if (draw(b, 3) == 0) when += draw(b, 300); /* often late, often waiting already */
      b->ready[i] = when;
    }
    good = run(b, BATCH) && compare(b, (int)batch);
  }
  ops->destroy(b->dut);
  tg_machine_destroy(b->state);
  free(b);
}

TG_TEST(rtl_mx, random_gemms_p4) {
  random_gemms(&tg_dut_mx_tiny, (const char *[]){"rows=1", "cols=1", NULL}, tg_vector_count(60));
}
TG_TEST(rtl_mx, random_gemms_p2_latency5) {
  random_gemms(&tg_dut_mx_odd, (const char *[]){"rows=1", "cols=1", "p=2", "banks=11", "fma_latency=5", NULL},
               tg_vector_count(120));
}
