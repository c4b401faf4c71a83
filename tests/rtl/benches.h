/* The multiply-add lane and the PE at their pins, each beside a model that says in every cycle what its
 * outputs are: results, registers that hold, what a reset drops. Used by the tests and by check_fma. */
#ifndef TEGULA_TESTS_RTL_BENCHES_H
#define TEGULA_TESTS_RTL_BENCHES_H

#include "tests/rtl/duts.h"
#include "tests/rtl/pipeline.h"
#include "tests/rtl/vectors.h"

typedef struct tg_lane_bench {
  const tg_dut_ops *ops;
  void *dut;
  tg_pipeline sum;
  uint32_t got; /* of the last step */
} tg_lane_bench;

void tg_lane_open(tg_lane_bench *l, const tg_dut_ops *ops, uint32_t latency);
void tg_lane_close(tg_lane_bench *l);
/* One cycle. `expected` is what the token must become. False: the output is not what l->sum says. */
bool tg_lane_step(tg_lane_bench *l, bool reset, bool valid, const uint32_t operands[3], uint32_t expected);

/* What enters a PE in a cycle; the operands are words as in a bank row, and half i (q) of word i (q)
 * counts. */
typedef struct tg_pe_cycle {
  bool reset;
  bool w_transposed, w_set;
  uint8_t w_row_en, w_col_en, w_on; /* two bits each */
  uint32_t w_row[2], w_col[2];
  uint8_t a_valid, a_set; /* two bits each */
  uint32_t a[2];
  uint32_t psum[2];
  /* Results of the tokens of a sub-row that are given from outside; else the host's FMA computes them. */
  bool given[2];
  uint32_t result[2];
} tg_pe_cycle;

typedef struct tg_pe_weight {
  bool known, on;
  uint32_t value; /* widened */
  uint64_t word;  /* FP32: which load it came from; all four quarters must be from one */
} tg_pe_weight;

typedef struct tg_pe_bench {
  const tg_dut_ops *ops;
  void *dut;
  const tg_rtl_format *format;
  tg_pe_weight weight[2][2][2]; /* set, sub-row, sub-column */
  tg_pipeline sum[2][2];        /* sub-row, sub-column */
  uint64_t loads;
  bool passed_known[2];
  uint8_t passed_valid, passed_set;
  uint32_t passed[2]; /* the operand's bits */
  tg_pe_pins pins;
} tg_pe_bench;

void tg_pe_open(tg_pe_bench *p, const tg_dut_ops *ops, uint32_t latency, const tg_rtl_format *format);
void tg_pe_close(tg_pe_bench *p);
/* One cycle; NULL, or what is wrong with the outputs. The result of sub-column q stands in p->pins.out[q]; it
 * is tg_pe_output(p, q). */
const char *tg_pe_step(tg_pe_bench *p, const tg_pe_cycle *in);
const tg_pipeline *tg_pe_output(const tg_pe_bench *p, int q);
/* Element `which` (sub-row or sub-column) of a word, widened. */
uint32_t tg_pe_element(const tg_rtl_format *f, uint32_t word, int which);
/* A word with the same operand in both halves. */
uint32_t tg_pe_word(const tg_rtl_format *f, uint32_t stored);

#endif
