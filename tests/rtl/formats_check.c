#include "tests/rtl/formats_check.h"

#include "sim/machine/isa.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/vectors.h"

static const tg_rtl_format bf16 = {"bf16", TG_FMT_BF16, 16, 8, 7, 0};
static const tg_rtl_format fp16 = {"fp16", TG_FMT_FP16, 16, 5, 10, 0};
static const tg_rtl_format tf32 = {"tf32", TG_FMT_TF32, 32, 8, 10, 13};

/* A narrow number widened by a conversion: exact, and a NaN stays one with its payload. */
static uint32_t widened(const tg_rtl_format *f, uint32_t x) {
  uint32_t payload = x & ((1u << f->fraction_bits) - 1), all = (1u << f->exponent_bits) - 1;
  if (x >> f->fraction_bits == all || x >> f->fraction_bits == (all | 1u << f->exponent_bits))
    return x >> 15 << 31 | 0x7f800000u | payload << (23 - f->fraction_bits);
  return tg_widened(f, x);
}

/* The neighbour in BF16 away from zero if the dropped fraction and the random number carry. */
static uint32_t stochastic(uint32_t x, uint32_t r) {
  if (tg_is_nan_bits(x)) return 0x7fc0;
  uint32_t kept = x >> 16, dropped = x & 0xffff;
  return (x & 0x7f800000u) != 0x7f800000u && dropped + r >= 0x10000 ? kept + 1 : kept;
}

static bool equal(const char *what, const char *whose, uint32_t x, uint32_t got, uint32_t expected) {
  if (got == expected) return true;
  tg_test_fail(__FILE__, __LINE__, "%s of %08x, %s: %08x, expected %08x", what, x, whose, got, expected);
  return false;
}

static bool check_narrowing(uint32_t x, uint16_t r, const tg_formats_pins *p) {
  double value = tg_bits_f32(x);
  uint32_t to_bf16 = tg_rounded(&bf16, value), to_fp16 = tg_rounded(&fp16, value);
  uint32_t to_tf32 = tg_rounded(&tf32, value), random = stochastic(x, r);
  return equal("bf16", "RTL", x, p->to_bf16, to_bf16) && equal("fp16", "RTL", x, p->to_fp16, to_fp16) &&
         equal("tf32", "RTL", x, p->to_tf32, to_tf32) && equal("hash", "RTL", x, p->mixed, tg_mix(x)) &&
         equal("stochastic bf16", "RTL", x, p->stochastic, random) &&
         equal("bf16", "host", x, tg_bf16_from_f32(x), to_bf16) &&
         equal("fp16", "host", x, tg_fp16_from_f32(x), to_fp16) &&
         equal("tf32", "host", x, tg_tf32_from_f32(x), to_tf32) &&
         equal("stochastic bf16", "host", x, tg_bf16_stochastic(x, r), random);
}

bool tg_check_narrowing(void *dut, uint32_t x, uint16_t r) {
  tg_formats_pins p = {.x = x, .r = r};
  tg_dut_formats.eval(dut, &p);
  return check_narrowing(x, r, &p);
}

bool tg_check_widening(void *dut, uint16_t x) {
  tg_formats_pins p = {.x = x | (uint32_t)x << 16};
  tg_dut_formats.eval(dut, &p);
  return equal("fp32 of bf16", "RTL", x, p.from_bf16, widened(&bf16, x)) &&
         equal("fp32 of fp16", "RTL", x, p.from_fp16, widened(&fp16, x)) &&
         equal("fp32 of bf16", "host", x, tg_bf16_to_f32(x), widened(&bf16, x)) &&
         equal("fp32 of fp16", "host", x, tg_fp16_to_f32(x), widened(&fp16, x));
}
