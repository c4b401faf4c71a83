/* Leaf modules of the RTL at their pins. Each has a thin driver (pins_*.cc) that copies a struct of pins to
 * and from the verilated model; vectors and checks are in the tests, in C. */
#ifndef TEGULA_TESTS_RTL_DUTS_H
#define TEGULA_TESTS_RTL_DUTS_H

#include "sim/machine/isa.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* eval: inputs to the model, outputs of this cycle back. clock: the rising edge that ends the cycle. */
typedef struct tg_dut_ops {
  void *(*create)(void); /* after reset */
  void (*destroy)(void *model);
  void (*eval)(void *model, void *pins);
  void (*clock)(void *model);
} tg_dut_ops;

typedef struct tg_lane_pins {
  uint8_t reset, valid;
  uint32_t a, b, c;
  uint32_t sum; /* out */
} tg_lane_pins;
extern const tg_dut_ops tg_dut_lane3, tg_dut_lane5; /* fma_lane with latency 3, 5 */

typedef struct tg_fifo_pins {
  uint8_t push, pop;
  uint8_t empty, failed; /* out; failed: an assertion did not hold so far */
} tg_fifo_pins;
extern const tg_dut_ops tg_dut_post_fifo; /* post_fifo of depth 4 */

typedef struct tg_pe_pins {
  uint8_t reset, fp32, fp16, tf32;
  uint8_t w_transposed, w_set, w_row_en, w_col_en, w_on; /* two bits each but the first two */
  uint32_t w_row[2], w_col[2];                           /* words; half i of word i counts */
  uint8_t a_valid, a_set;                                /* two bits, one a sub-row */
  uint32_t a[2];
  uint32_t psum[2];
  uint32_t out[2]; /* out, and the rest */
  uint8_t a_valid_out, a_set_out;
  uint32_t a_in[2], a_out[2]; /* operands of the sub-rows, unpacked */
} tg_pe_pins;
extern const tg_dut_ops tg_dut_pe, tg_dut_pe_apart; /* tests/rtl/pe_bench.sv, latency 4 */

typedef struct tg_formats_pins {
  uint32_t x;
  uint16_t r;
  uint32_t from_bf16, from_fp16, mixed, to_tf32; /* out, and the rest */
  uint16_t to_bf16, to_fp16, stochastic;
} tg_formats_pins;
extern const tg_dut_ops tg_dut_formats; /* tests/rtl/formats_bench.sv */

typedef struct tg_alu_pins {
  uint8_t reset, valid, op, tail;
  uint32_t a, b, c, moved;
  uint32_t result; /* out */
} tg_alu_pins;
extern const tg_dut_ops tg_dut_alu; /* vx_alu, latency 4 */

typedef struct tg_mx_pins {
  uint8_t head_valid;
  uint32_t head[TG_INSTR_BYTES / 4];
  uint32_t index[3];
  uint16_t a_addr, b_addr, c_addr;
  uint32_t sr_key;
  uint32_t a_rdata[32], b_rdata[32];
  uint8_t acc_req;
  uint16_t acc_row;
  uint8_t issue, end, a_req, b_req; /* out, and the rest */
  uint16_t a_row, b_row;
  uint32_t a_own, b_own;
  uint8_t acc_own;
  uint32_t acc_data[64];
} tg_mx_pins;
extern const tg_dut_ops tg_dut_mx_tiny, tg_dut_mx_odd; /* P = 4, L = 4 and P = 2, L = 5, 11 banks */

typedef struct tg_vx_pins {
  uint8_t plane, cfg_valid, cfg_kind;
  uint16_t cfg_part, cfg_enable; /* flit, and lanes of 4 bytes of it */
  uint32_t cfg_data[4];
  uint8_t head_valid;
  uint32_t head[TG_INSTR_BYTES / 4];
  uint32_t index[3];
  uint16_t address[TG_STREAMS];
  uint32_t sr_key;
  uint32_t ld_rdata[32], acc_data[64];
  uint8_t issue, end, idle, ld_req, st_req, acc_req; /* out, and the rest */
  uint16_t ld_row, st_row, acc_row;
  uint32_t st_data[32];
  uint32_t ld_own, st_own;
  uint8_t acc_own;
} tg_vx_pins;
extern const tg_dut_ops tg_dut_vx_tiny, tg_dut_vx_odd, tg_dut_vx_short;

#ifdef __cplusplus
}
#endif
#endif
