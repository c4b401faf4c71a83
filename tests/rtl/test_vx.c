/* The vector unit alone: random microprograms over random streams against the scalar reference, with the
 * cycles of issue and end and the windows of ownership. */
#include "sim/functional/exec.h"
#include "sim/machine/config.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/duts.h"
#include "tests/rtl/random.h"

#include <stdlib.h>

enum { BATCH = 6, MAX_CYCLES = 400000, REGS = 6, LOADS = 4 };

typedef struct bench {
  const tg_dut_ops *ops;
  void *dut;
  tg_vx_pins pins;
  tg_machine_state *state;
  tg_tile_program tile;
  tg_section section;
  uint64_t *words;
  uint8_t *pad; /* the model's scratchpad; loads read its lower half, stores write its upper one */
  tg_random random;
  tg_instr instrs[BATCH];
  tg_execution executions[BATCH];
  int64_t ready[BATCH], issue[BATCH], end[BATCH];
} bench;

static uint32_t draw(bench *b, uint32_t n) { return tg_below(&b->random, n); }

static uint8_t draw_operand(bench *b) {
  if (draw(b, 4) == 0) return (uint8_t)(TG_CONST0 + draw(b, b->state->params.vx_constants));
  if (draw(b, 16) == 0) return (uint8_t)(32 + draw(b, 32)); /* zero */
  return (uint8_t)(5 * draw(b, REGS));                      /* registers 0, 5, .. 25 */
}

/* Words 0..REGS-1 define the registers; the rest is random. */
static void random_microcode(bench *b) {
  const tg_params *m = &b->state->params;
  for (uint32_t i = 0; i < m->microcode_words; i++) {
    tg_ucode w;
    memset(&w, 0, sizeof w);
    w.alu_dst = (uint8_t)(5 * (i < REGS ? i : draw(b, REGS)));
    w.alu_op = i < REGS ? TG_ALU_mov : (uint8_t)draw(b, TG_ALU_COUNT);
    w.alu_a = i < REGS ? (uint8_t)(TG_CONST0 + i) : draw_operand(b);
    w.alu_b = draw_operand(b);
    w.alu_c = draw_operand(b);
    if (w.alu_op == TG_ALU_rot || w.alu_op == TG_ALU_bcast) w.alu_c = (uint8_t)draw(b, 128);
    if (w.alu_op == TG_ALU_tail) w.alu_c = (uint8_t)draw(b, 4);
    if (i >= REGS) {
      w.ld_on = draw(b, 2);
      w.ld_stream = (uint8_t)draw(b, LOADS);
      w.ld_dst = (uint8_t)(5 * draw(b, REGS));
      w.ld_half = draw(b, 2);
      w.st_on = draw(b, 3) == 0;
      w.st_stream = (uint8_t)(LOADS + draw(b, TG_STREAMS - LOADS));
      w.st_src = draw_operand(b);
      w.st_half = draw(b, 2);
    }
    b->words[i] = tg_ucode_encode(&w);
  }
  for (uint32_t i = 0; i < m->vx_constants; i++) b->state->tiles[0].constants[i] = tg_draw_f32(&b->random);
}

/* Where a lane of the tables is, or is not, by plane. */
static uint32_t lane_of(const bench *b, uint8_t plane, uint8_t kind, uint32_t lane) {
  if (!plane) return lane;
  return kind == TG_CFG_WORD ? lane ^ 2 * tg_config_half(b->state->params.microcode_words) : lane + 64;
}

/* Writes lanes of the flit that holds lane `lane`, the first of which is `lane`, or none of them. */
static void write_lanes(bench *b, bool valid, uint8_t kind, uint32_t lane, uint32_t count,
                        const uint32_t *values) {
  uint32_t first = lane % b->state->params.p;
  b->pins.cfg_valid = valid;
  b->pins.cfg_kind = kind;
  b->pins.cfg_part = (uint16_t)(lane / b->state->params.p);
  b->pins.cfg_enable = (uint16_t)(((1u << count) - 1) << first);
  for (uint32_t l = 0; l < b->state->params.p; l++)
    b->pins.cfg_data[l] = l >= first && l < first + count ? values[l - first] : ~0u;
  b->ops->eval(b->dut, &b->pins);
  b->ops->clock(b->dut);
  b->pins.cfg_valid = 0;
}

/* Whole flits of a table, the last one shorter, and every third one by its lanes. */
static void write_table(bench *b, uint8_t plane, uint8_t kind, const uint32_t *values, uint32_t lanes) {
  uint32_t p = b->state->params.p;
  for (uint32_t l = 0; l < lanes; l += p) {
    uint32_t count = lanes - l < p ? lanes - l : p;
    if (l / p % 3 != 2)
      write_lanes(b, true, kind, lane_of(b, plane, kind, l), count, values + l);
    else
      for (uint32_t i = 0; i < count; i++)
        write_lanes(b, true, kind, lane_of(b, plane, kind, l + i), 1, values + l + i);
  }
}

/* The constants are of one plane or the other, and the halves of the microcode change places with it. Then writes that must not
 * arrive: of constants of the other plane, past the end of each memory, of other kinds, and without being valid. */
static void configure(bench *b) {
  const tg_params *m = &b->state->params;
  uint32_t *halves = calloc(2 * m->microcode_words, sizeof *halves);
  for (uint32_t i = 0; i < 2 * m->microcode_words; i++)
    halves[i] = (uint32_t)(b->words[i / 2] >> 32 * (i % 2));
  b->pins.plane ^= 1;
  write_table(b, b->pins.plane, TG_CFG_WORD, halves, 2 * m->microcode_words);
  write_table(b, b->pins.plane, TG_CFG_CONSTANT, b->state->tiles[0].constants, m->vx_constants);
  write_table(b, !b->pins.plane, TG_CFG_CONSTANT, halves, m->vx_constants);
  free(halves);
  for (uint8_t kind = 0; kind < TG_CFG_COUNT; kind++) {
    uint32_t n = kind == TG_CFG_CONSTANT ? 128 : kind == TG_CFG_WORD ? 2 * m->microcode_words : 0;
    for (uint32_t i = 0; i < 8; i++) {
      uint32_t wrong = ~0u;
      write_lanes(b, true, kind, n + i, 1, &wrong);
      write_lanes(b, false, kind, i, 1, &wrong);
    }
  }
}

static void extent(const int64_t *counts, const int64_t *strides, int loops, int64_t *low, int64_t *high) {
  for (int l = 0; l < loops; l++) {
    int64_t reach = (counts[l] - 1) * strides[l];
    if (reach < 0)
      *low += reach;
    else
      *high += reach;
  }
}

static void random_stream(bench *b, const tg_vx_instr *in, int t, tg_stream *stream, uint16_t *address) {
  const tg_params *m = &b->state->params;
  bool store = t >= LOADS;
  int64_t rows = tg_pad_rows(m) / 2, low, high;
  stream->store = store;
  stream->kind = 1 + draw(b, store ? 4 : 5);
  if (store && stream->kind > TG_STREAM_FP16) stream->kind = TG_STREAM_BF16SR;
  stream->lane = draw(b, m->p);
  stream->banks = draw(b, 5);
  if (stream->kind == TG_STREAM_ACC) rows = 2 * tg_acc_rows(m);
  do {
    for (int l = 0; l < 3; l++) stream->row[l] = (int64_t)draw(b, 21) - 10;
    for (int l = 0; l < 2; l++) stream->j[l] = (int64_t)draw(b, 21) - 10;
    low = 0, high = 1; /* the upper half of an fp32 stream */
    /* the outermost digit is not wrapped */
    int64_t counts[3] = {(in->rows + in->row_count[1] * in->row_count[2] - 1) /
                             (in->row_count[1] * in->row_count[2]),
                         in->row_count[1], in->row_count[2]};
    extent(counts, stream->row, 3, &low, &high);
    extent(in->j_count, stream->j, 2, &low, &high);
  } while (high - low >= rows);
  int64_t at = -low + draw(b, (uint32_t)(rows - (high - low)));
  *address = (uint16_t)(at + (store ? tg_pad_rows(m) / 2 : 0));
}

static void random_rounding(bench *b, tg_vx_instr *in, tg_execution *x) {
  in->sr_key = draw(b, TG_BASES);
  in->sr_tile = draw(b, 1 << 24);
  in->sr_row = tg_draw(&b->random);
  in->sr_col = tg_draw(&b->random);
  for (int l = 0; l < 3; l++) {
    x->index[l] = draw(b, 1 << 20);
    in->sr_tile_delta[l] = draw(b, 1 << 24);
    in->sr_col_delta[l] = tg_draw(&b->random);
    in->sr_col_row[l] = tg_draw(&b->random);
    in->sr_row_delta[l] = tg_draw(&b->random);
    in->sr_row_row[l] = tg_draw(&b->random);
  }
  for (int l = 0; l < 2; l++) in->sr_col_j[l] = tg_draw(&b->random);
}

/* Now and then no row, no word, or nothing but repeated segments that never run. */
static void random_emptiness(bench *b, tg_vx_instr *in) {
  switch (draw(b, 12)) {
  case 0: in->rows = 0; break;
  case 1: memset(in->seg_len, 0, sizeof in->seg_len); break;
  case 2: in->j_count[0] = 0; break;
  case 3:
    in->j_count[draw(b, 2)] = 0;
    in->seg_repeat = 63;
    break;
  default: break;
  }
}

static void random_vop(bench *b, tg_instr *out, tg_execution *x) {
  tg_vx_instr *in = &out->vx;
  memset(out, 0, sizeof *out);
  memset(x, 0, sizeof *x);
  in->op = TG_OP_vx_vop;
  in->rows = 1 + draw(b, draw(b, 2) ? 6 : 30);
  for (int l = 0; l < 3; l++) in->row_count[l] = 1 + draw(b, 5);
  for (int l = 0; l < 2; l++) in->j_count[l] = 1 + draw(b, 4);
  in->seg_len[0] = REGS;
  for (int q = 1; q < TG_SEGMENTS; q++) {
    in->seg_len[q] = draw(b, 2) ? 0 : 1 + draw(b, draw(b, 3) ? 3 : 20);
    in->seg_begin[q] = REGS + draw(b, b->state->params.microcode_words - REGS - (uint32_t)in->seg_len[q]);
  }
  in->seg_repeat = draw(b, 64) & ~1u;
  in->tail_step = draw(b, 20);
  in->tail_n = draw(b, 100);
  if (draw(b, 3) == 0) {
    in->tail_step = draw(b, 1 << 16);
    in->tail_n = draw(b, 4) ? in->tail_step * draw(b, 16) + draw(b, 16) : tg_draw(&b->random);
  }
  random_emptiness(b, in);
  for (int t = 0; t < TG_STREAMS; t++) random_stream(b, in, t, tg_stream_of_mut(in, t), &x->address[t]);
  random_rounding(b, in, x);
  x->in = out;
}

static void predict(bench *b) {
  int64_t l = b->state->params.fma_latency;
  for (int i = 0; i < BATCH; i++) {
    const tg_vx_instr *in = &b->instrs[i].vx;
    int64_t words = 0, repeats = in->j_count[0] * in->j_count[1], groups = (in->rows + l - 1) / l;
    for (int q = 0; q < TG_SEGMENTS; q++) words += in->seg_len[q] * (in->seg_repeat >> q & 1 ? repeats : 1);
    b->issue[i] = b->ready[i];
    if (i && b->issue[i] <= b->end[i - 1]) b->issue[i] = b->end[i - 1] + 1;
    b->end[i] = b->issue[i] + 1 + l + groups * words * l - 1 + l;
  }
}

static void windows(const bench *b, int64_t t, uint32_t *load, uint32_t *store, uint32_t *acc) {
  const tg_params *m = &b->state->params;
  *load = *store = *acc = 0;
  for (int i = 0; i < BATCH; i++) {
    if (t < b->issue[i] || t > b->end[i]) continue;
    for (int s = 0; s < TG_STREAMS; s++) {
      const tg_stream *stream = tg_stream_of(&b->instrs[i].vx, s);
      uint32_t row = b->executions[i].address[s], mask = 0;
      if (stream->kind == TG_STREAM_ACC) {
        *acc |= row < tg_acc_rows(m) ? 1 : 2;
        continue;
      }
      for (uint32_t bank = row / tg_bank_rows(m), n = 0; bank < m->banks && n < stream->banks; bank++, n++)
        mask |= 1u << bank;
      *(stream->store ? store : load) |= mask;
    }
  }
}

/* What stands at the head without being valid is anything. */
static void leave_head(bench *b) {
  for (size_t i = 0; i < sizeof b->pins.head / 4; i++) b->pins.head[i] = tg_draw(&b->random);
  for (int l = 0; l < 3; l++) b->pins.index[l] = draw(b, 1 << 20);
  for (int t = 0; t < TG_STREAMS; t++) b->pins.address[t] = (uint16_t)draw(b, 1 << 16);
  b->pins.sr_key = tg_draw(&b->random);
}

static bool run(bench *b) {
  const tg_params *m = &b->state->params;
  tg_vx_pins *pins = &b->pins;
  int issued = 0, ended = 0;
  predict(b);
  for (int i = 0; i < BATCH; i++)
    tg_kernels_reference()->vop(tg_kernels_reference(), b->state, 0, &b->executions[i]);
  for (int64_t t = 0; ended < BATCH; t++) {
    if (t >= MAX_CYCLES) {
      tg_test_fail(__FILE__, __LINE__, "no end in %d cycles", MAX_CYCLES);
      return false;
    }
    pins->head_valid = issued < BATCH && t >= b->ready[issued];
    if (pins->head_valid) {
      uint64_t words[TG_INSTR_BYTES / 8];
      tg_instr_encode(TG_VX, &b->instrs[issued], words);
      memcpy(pins->head, words, sizeof words);
      memcpy(pins->index, b->executions[issued].index, sizeof pins->index);
      pins->sr_key = b->state->keys[b->instrs[issued].vx.sr_key];
      memcpy(pins->address, b->executions[issued].address, sizeof pins->address);
    } else {
      leave_head(b);
    }
    b->ops->eval(b->dut, pins);
    bool due_issue = issued < BATCH && b->issue[issued] == t, due_end = b->end[ended] == t;
    uint32_t load, store, acc;
    windows(b, t, &load, &store, &acc);
    if (pins->issue != due_issue || pins->end != due_end) {
      tg_test_fail(__FILE__, __LINE__,
                   "cycle %lld: issue %d, expected %d; end %d, expected %d (instruction %d, %d)",
                   (long long)t, pins->issue, due_issue, pins->end, due_end, issued, ended);
      return false;
    }
    if (pins->ld_own != load || pins->st_own != store || pins->acc_own != acc) {
      tg_test_fail(__FILE__, __LINE__,
                   "cycle %lld: ownership load %x, expected %x; store %x, %x; accumulator %x, %x",
                   (long long)t, pins->ld_own, load, pins->st_own, store, pins->acc_own, acc);
      return false;
    }
    if (pins->idle != (issued == ended)) {
      tg_test_fail(__FILE__, __LINE__, "cycle %lld: idle %d with %d of %d ended", (long long)t, pins->idle,
                   ended, issued);
      return false;
    }
    issued += pins->issue;
    ended += pins->end;
    bool ld = pins->ld_req, from_acc = pins->acc_req;
    uint16_t ld_row = pins->ld_row, acc_row = pins->acc_row;
    if (pins->st_req)
      memcpy(b->pad + (size_t)pins->st_row * tg_flit_bytes(m), pins->st_data, tg_flit_bytes(m));
    b->ops->clock(b->dut);
    if (ld) memcpy(pins->ld_rdata, b->pad + (size_t)ld_row * tg_flit_bytes(m), tg_flit_bytes(m));
    if (from_acc) memcpy(pins->acc_data, tg_acc_row(b->state, 0, acc_row), 2 * tg_flit_bytes(m));
  }
  pins->head_valid = 0;
  b->ops->eval(b->dut, pins);
  b->ops->clock(b->dut);
  return true;
}

/* A SYNC at the head is none of the unit's business, and neither is a VOP that is not valid. */
static bool waits_for_vops(bench *b) {
  tg_instr sync = {0};
  uint64_t words[TG_INSTR_BYTES / 8];
  for (int i = 0; i < 20; i++) {
    b->pins.head_valid = i < 10;
    sync.vx.op = i < 10 ? TG_OP_sync : TG_OP_vx_vop;
    tg_instr_encode(TG_VX, &sync, words);
    memcpy(b->pins.head, words, sizeof words);
    b->ops->eval(b->dut, &b->pins);
    if (b->pins.issue || b->pins.end || !b->pins.idle || b->pins.ld_req || b->pins.acc_req ||
        b->pins.st_req) {
      tg_test_fail(__FILE__, __LINE__, "the unit starts without a VOP");
      return false;
    }
    b->ops->clock(b->dut);
  }
  b->pins.head_valid = 0;
  return true;
}

static bool compare(bench *b, int batch) {
  const tg_params *m = &b->state->params;
  for (uint32_t row = 0; row < tg_pad_rows(m); row++) {
    size_t at = (size_t)row * tg_flit_bytes(m);
    if (!memcmp(b->pad + at, b->state->tiles[0].pad + at, tg_flit_bytes(m))) continue;
    uint32_t have[2], want[2];
    memcpy(have, b->pad + at, 8);
    memcpy(want, b->state->tiles[0].pad + at, 8);
    tg_test_fail(__FILE__, __LINE__, "batch %d: scratchpad row %u begins %08x %08x, expected %08x %08x",
                 batch, row, have[0], have[1], want[0], want[1]);
    return false;
  }
  return true;
}

static void random_vops(const tg_dut_ops *ops, const char *overrides[], uint64_t batches) {
  tg_diag diag = {""};
  tg_params params;
  ASSERT(!tg_params_load("tiny", &params, &diag));
  for (int i = 0; overrides[i]; i++) ASSERT(!tg_params_set(&params, overrides[i], &diag));
  tg_exec_thread_init();
  bench *b = calloc(1, sizeof *b);
  size_t pad_bytes = (size_t)tg_pad_rows(&params) * tg_flit_bytes(&params);
  b->ops = ops;
  b->dut = ops->create();
  b->state = tg_machine_create(&params);
  b->random.state = 0x7e6a1bu;
  b->words = calloc(params.microcode_words, sizeof *b->words);
  b->pad = calloc(1, pad_bytes);
  b->tile.words = b->words;
  b->tile.word_count = params.microcode_words;
  b->section.tiles = &b->tile;
  b->state->section = &b->section;
  for (uint32_t k = 0; k < TG_BASES; k++) b->state->keys[k] = tg_draw(&b->random);
  bool good = true;
  for (uint64_t batch = 0; good && batch < batches; batch++) {
    for (size_t i = 0; i < pad_bytes; i += 4) {
      uint32_t x = draw(b, 2) ? tg_draw_f32(&b->random) : tg_draw(&b->random);
      memcpy(b->state->tiles[0].pad + i, &x, 4);
    }
    memcpy(b->pad, b->state->tiles[0].pad, pad_bytes);
    for (size_t i = 0; i < (size_t)2 * tg_acc_rows(&params) * tg_lanes(&params); i++)
      b->state->tiles[0].acc[i] = tg_draw_f32(&b->random);
    random_microcode(b);
    configure(b);
    int64_t when = 0;
    for (int i = 0; i < BATCH; i++) {
      random_vop(b, &b->instrs[i], &b->executions[i]);
      if (draw(b, 3) == 0) when += draw(b, 500);
      b->ready[i] = when;
    }
    good = waits_for_vops(b) && run(b) && compare(b, (int)batch);
  }
  ops->destroy(b->dut);
  tg_machine_destroy(b->state);
  free(b->words);
  free(b->pad);
  free(b);
}

TG_TEST(rtl_vx, random_vops_p4) {
  random_vops(&tg_dut_vx_tiny, (const char *[]){"rows=1", "cols=1", NULL}, tg_vector_count(30));
}
TG_TEST(rtl_vx, random_vops_p2_latency5) {
  random_vops(&tg_dut_vx_odd, (const char *[]){"rows=1", "cols=1", "p=2", "banks=11", "fma_latency=5", NULL},
              tg_vector_count(30));
}
/* The fewest slots of a word: it is fetched in one and taken in the next. */
TG_TEST(rtl_vx, random_vops_p2_latency3) {
  random_vops(&tg_dut_vx_short, (const char *[]){"rows=1", "cols=1", "p=2", "fma_latency=3", NULL},
              tg_vector_count(30));
}
