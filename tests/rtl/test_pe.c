/* A processing element at its pins, behind the unpackers of the array's edges: all formats, both weight sets,
 * both edges that weights come from, masked rows, random bubbles; against the host's fmaf. */
#include "sim/machine/isa.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/duts.h"
#include "tests/rtl/random.h"

#include <math.h>

enum { LATENCY = 4, HISTORY = 16 };

typedef struct token {
  bool valid;
  uint32_t a[2], psum[2], expected[2]; /* a: the word of each sub-row */
  uint8_t set;
} token;

typedef struct pe {
  void *dut;
  tg_pe_pins pins;
  tg_random random;
  uint32_t format, cycle;
  uint32_t weight[2][2][2]; /* set, sub-row, sub-column; FP32: [set][0][0] */
  bool on[2][2];            /* set, sub-row */
  token history[HISTORY];   /* by cycle of sub-row 0 */
  bool good;
} pe;

static uint32_t fma_bits(uint32_t a, uint32_t b, uint32_t c) {
  return tg_canonical(tg_f32_bits(fmaf(tg_bits_f32(a), tg_bits_f32(b), tg_bits_f32(c))));
}

static uint32_t element(const pe *p, uint32_t word, int which) {
  if (p->format == TG_FMT_FP32) return word;
  uint16_t half = (uint16_t)(word >> 16 * which);
  return p->format == TG_FMT_BF16 ? tg_bf16_to_f32(half) : tg_fp16_to_f32(half);
}

static uint32_t draw_word(pe *p) {
  if (p->format == TG_FMT_FP32) return tg_draw_f32(&p->random);
  uint32_t word = tg_draw(&p->random);
  switch (tg_below(&p->random, 6)) {
  case 0: return word & 0x83ff83ffu; /* subnormals of FP16, small numbers of BF16 */
  case 1: return word & 0x807f807fu;
  case 2: return word | 0x7c007c00u;
  case 3: return (word & 0xbf80bf80u);
  default: return word;
  }
}

/* Weights of one set, through either edge, while nothing is in flight. */
static void load_weights(pe *p, uint8_t set) {
  tg_pe_pins *pins = &p->pins;
  bool transposed = tg_draw(&p->random) & 1, fp32 = p->format == TG_FMT_FP32;
  pins->a_valid = 0;
  pins->w_transposed = transposed;
  pins->w_set = set;
  pins->w_on = tg_below(&p->random, 4) ? 3 : (uint8_t)tg_below(&p->random, 4);
  if (fp32) pins->w_on = pins->w_on & 1 ? 3 : 0;
  for (int step = 0; step < 2; step++) { /* sub-row or, transposed, sub-column `step` */
    uint32_t word = draw_word(p);
    pins->w_row = transposed ? word : draw_word(p);
    pins->w_col = transposed ? draw_word(p) : word;
    pins->w_row_en = fp32 || transposed ? 3 : (uint8_t)(1 << step);
    pins->w_col_en = fp32 || !transposed ? 3 : (uint8_t)(1 << step);
    if (fp32) p->weight[set][0][0] = word;
    for (int other = 0; !fp32 && other < 2; other++)
      p->weight[set][transposed ? other : step][transposed ? step : other] = element(p, word, other);
    tg_dut_pe.eval(p->dut, pins);
    tg_dut_pe.clock(p->dut);
  }
  p->on[set][0] = pins->w_on & 1;
  p->on[set][1] = pins->w_on >> 1;
  pins->w_row_en = pins->w_col_en = 0;
}

static void expect(const pe *p, token *t) {
  for (int q = 0; q < 2; q++) {
    uint32_t sum = t->psum[q];
    for (int i = 0; i < (p->format == TG_FMT_FP32 ? 1 : 2); i++) {
      if (p->on[t->set][i]) sum = fma_bits(element(p, t->a[i], i), p->weight[t->set][i][q], sum);
    }
    t->expected[q] = sum;
  }
}

static token *at(pe *p, uint32_t ago) { return &p->history[(p->cycle - ago) % HISTORY]; }

static void cycle(pe *p, bool valid) {
  tg_pe_pins *pins = &p->pins;
  bool fp32 = p->format == TG_FMT_FP32;
  uint32_t through = fp32 ? LATENCY : 2 * LATENCY;
  token *now = at(p, 0), *second = fp32 ? now : at(p, LATENCY), *done = at(p, through);
  uint8_t before_valid = pins->a_valid, before_set = pins->a_set;
  now->valid = valid;
  if (valid) {
    now->a[0] = draw_word(p);
    now->a[1] = fp32 ? now->a[0] : draw_word(p);
    now->set = (uint8_t)(tg_draw(&p->random) & 1);
    for (int q = 0; q < 2; q++) {
      now->psum[q] = tg_canonical(tg_draw_f32(&p->random));
      if (tg_below(&p->random, 3) == 0) /* near the first product */
        now->psum[q] = tg_canonical(tg_f32_bits(-tg_bits_f32(element(p, now->a[0], 0)) *
                                                tg_bits_f32(p->weight[now->set][0][fp32 ? 0 : q])) +
                                    tg_below(&p->random, 3));
    }
    expect(p, now);
  }
  pins->fp32 = fp32;
  pins->fp16 = p->format == TG_FMT_FP16;
  pins->a_valid = (uint8_t)(now->valid | second->valid << 1);
  pins->a_set = (uint8_t)(now->set | second->set << 1);
  pins->a[0] = now->valid ? now->a[0] : tg_draw(&p->random);
  pins->a[1] = second->valid ? second->a[1] : tg_draw(&p->random);
  pins->psum[0] = now->valid ? now->psum[0] : tg_draw(&p->random);
  pins->psum[1] = now->valid ? now->psum[1] : tg_draw(&p->random);
  tg_dut_pe.eval(p->dut, pins);
  if (p->good && done->valid) {
    for (int q = 0; q < (fp32 ? 1 : 2); q++) {
      if (pins->out[q] == done->expected[q]) continue;
      tg_test_fail(
          __FILE__, __LINE__,
          "format %u, sub-column %d: A %08x %08x, weights %08x %08x, sum in %08x: out %08x, expected %08x",
          p->format, q, done->a[0], done->a[1], p->weight[done->set][0][q], p->weight[done->set][1][q],
          done->psum[q], pins->out[q], done->expected[q]);
      p->good = false;
    }
  }
  if (p->good && (pins->a_valid_out != before_valid || ((pins->a_set_out ^ before_set) & before_valid))) {
    tg_test_fail(__FILE__, __LINE__, "tokens do not pass to the next column");
    p->good = false;
  }
  tg_dut_pe.clock(p->dut);
  p->cycle++;
}

static void run(uint32_t format, uint64_t count) {
  pe p;
  memset(&p, 0, sizeof p);
  p.random.state = 0x9e + format;
  p.format = format;
  p.good = true;
  p.cycle = HISTORY;
  p.dut = tg_dut_pe.create();
  p.pins.fp32 = format == TG_FMT_FP32;
  p.pins.fp16 = format == TG_FMT_FP16;
  for (uint64_t done = 0; p.good && done < count;) {
    load_weights(&p, 0);
    load_weights(&p, 1);
    for (int i = 0; i < HISTORY; i++) p.history[i].valid = false;
    for (int i = 0; i < 64; i++) {
      bool valid = tg_below(&p.random, 4) != 0;
      cycle(&p, valid);
      done += valid;
    }
    for (int i = 0; i < 3 * LATENCY; i++) cycle(&p, false);
  }
  tg_dut_pe.destroy(p.dut);
}

TG_TEST(rtl_pe, fp32) { run(TG_FMT_FP32, tg_vector_count(300000)); }
TG_TEST(rtl_pe, bf16) { run(TG_FMT_BF16, tg_vector_count(300000)); }
TG_TEST(rtl_pe, fp16) { run(TG_FMT_FP16, tg_vector_count(300000)); }
