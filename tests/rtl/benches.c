#include "tests/rtl/benches.h"

#include "sim/machine/isa.h"
#include "sim/machine/numerics.h"

#include <string.h>

void tg_lane_open(tg_lane_bench *l, const tg_dut_ops *ops, uint32_t latency) {
  memset(l, 0, sizeof *l);
  l->ops = ops;
  l->sum.latency = latency;
  l->sum.before = latency > 3;
  l->dut = ops->create();
}
void tg_lane_close(tg_lane_bench *l) { l->ops->destroy(l->dut); }

bool tg_lane_step(tg_lane_bench *l, bool reset, bool valid, const uint32_t operands[3], uint32_t expected) {
  tg_lane_pins pins = {.reset = reset, .valid = valid, .a = operands[0], .b = operands[1], .c = operands[2]};
  l->ops->eval(l->dut, &pins);
  tg_pipeline_output(&l->sum);
  l->got = pins.sum;
  bool good = !l->sum.known || pins.sum == l->sum.value;
  tg_pipeline_input(&l->sum, reset, valid, true, expected);
  l->ops->clock(l->dut);
  return good;
}

/* ---- PE ---- */

void tg_pe_open(tg_pe_bench *p, const tg_dut_ops *ops, uint32_t latency, const tg_rtl_format *format) {
  memset(p, 0, sizeof *p);
  p->ops = ops;
  p->format = format;
  for (int i = 0; i < 4; i++) {
    p->sum[i / 2][i % 2].latency = latency;
    p->sum[i / 2][i % 2].before = latency > 3;
  }
  p->dut = ops->create();
  p->pins.fp32 = format->code == TG_FMT_FP32;
  p->pins.fp16 = format->code == TG_FMT_FP16;
  p->pins.tf32 = format->code == TG_FMT_TF32;
}
void tg_pe_close(tg_pe_bench *p) { p->ops->destroy(p->dut); }

uint32_t tg_pe_element(const tg_rtl_format *f, uint32_t word, int which) {
  return tg_widened(f, f->bits == 32 ? word : word >> 16 * which & 0xffff);
}
uint32_t tg_pe_word(const tg_rtl_format *f, uint32_t stored) {
  return f->bits == 32 ? stored : stored | stored << 16;
}
const tg_pipeline *tg_pe_output(const tg_pe_bench *p, int q) { return &p->sum[!p->pins.fp32][q]; }

static uint32_t product_and_sum(const tg_pe_bench *p, const tg_pe_cycle *in, const tg_pe_weight *w, int i,
                                uint32_t addend) {
  if (!w->on) return tg_canonical(addend);
  if (in->given[i]) return in->result[i];
  return tg_host_fma(tg_pe_element(p->format, in->a[i], i), w->value, addend);
}

/* What the adder (i, q) takes in; its own output and that of the sub-row above are those of this cycle. */
static void add(tg_pe_bench *p, const tg_pe_cycle *in, int i, int q) {
  bool fp32 = p->pins.fp32, fires = in->a_valid >> i & 1 && !(fp32 && i + q);
  const tg_pe_weight(*set)[2] = p->weight[in->a_set >> i & 1];
  const tg_pe_weight *w = &set[i][q];
  bool known = w->known && (i == 0 || p->sum[0][q].known);
  if (fp32)
    for (int k = 0; k < 4; k++) known = known && set[k / 2][k % 2].word == w->word;
  uint32_t addend = i == 0 ? in->psum[q] : p->sum[0][q].value;
  tg_pipeline_input(&p->sum[i][q], in->reset, fires, known,
                    fires && known ? product_and_sum(p, in, w, i, addend) : 0);
}

static void load(tg_pe_bench *p, const tg_pe_cycle *in) {
  bool fp32 = p->pins.fp32;
  p->loads++;
  for (int i = 0; i < 2; i++) {
    for (int q = 0; q < 2; q++) {
      if (!(in->w_row_en >> i & 1 && in->w_col_en >> q & 1)) continue;
      int which = in->w_transposed && !fp32 ? i : q;
      uint32_t word = in->w_transposed ? in->w_row[which] : in->w_col[which];
      p->weight[in->w_set][i][q] = (tg_pe_weight){.known = true,
                                                  .on = in->w_on >> i & 1,
                                                  .value = tg_pe_element(p->format, word, which),
                                                  .word = p->loads};
    }
  }
}

/* Tokens leave for the next column a cycle later; a register without a valid token holds. */
static const char *check_passing(tg_pe_bench *p, const tg_pe_cycle *in) {
  const tg_pe_pins *pins = &p->pins;
  if (pins->a_valid_out != (in->reset ? 0 : p->passed_valid)) return "a_valid_o";
  for (int i = 0; i < 2; i++) {
    if (!p->passed_known[i]) continue;
    if ((pins->a_set_out ^ p->passed_set) >> i & 1) return "a_set_o";
    if (pins->a_out[i] != p->passed[i]) return "a_o";
  }
  p->passed_valid = in->reset ? 0 : in->a_valid;
  for (int i = 0; i < 2; i++) {
    if (!(in->a_valid >> i & 1)) continue;
    p->passed_known[i] = true;
    p->passed_set = (uint8_t)((p->passed_set & ~(1 << i)) | (in->a_set & 1 << i));
    p->passed[i] = pins->a_in[i];
  }
  return NULL;
}

const char *tg_pe_step(tg_pe_bench *p, const tg_pe_cycle *in) {
  tg_pe_pins *pins = &p->pins;
  pins->reset = in->reset;
  pins->w_transposed = in->w_transposed;
  pins->w_set = in->w_set;
  pins->w_row_en = in->w_row_en;
  pins->w_col_en = in->w_col_en;
  pins->w_on = in->w_on;
  pins->a_valid = in->a_valid;
  pins->a_set = in->a_set;
  for (int i = 0; i < 2; i++) {
    pins->w_row[i] = in->w_row[i];
    pins->w_col[i] = in->w_col[i];
    pins->a[i] = in->a[i];
    pins->psum[i] = in->psum[i];
  }
  p->ops->eval(p->dut, pins);
  for (int i = 0; i < 4; i++) tg_pipeline_output(&p->sum[i / 2][i % 2]);
  const char *wrong = check_passing(p, in);
  for (int q = 0; q < (pins->fp32 ? 1 : 2); q++)
    if (tg_pe_output(p, q)->known && pins->out[q] != tg_pe_output(p, q)->value) wrong = "psum_o";
  for (int q = 0; q < 2; q++) { /* the lower sub-row sees the upper one's output of this cycle */
    add(p, in, 1, q);
    add(p, in, 0, q);
  }
  load(p, in);
  p->ops->clock(p->dut);
  return wrong;
}
