/* Conversions at the pins of the RTL and as C on the host (frontend/base/float_formats.h) against double
 * arithmetic; stochastic rounding against its definition in integers, the rounding hash against numerics.h. A
 * difference is recorded in the current test. */
#ifndef TEGULA_TESTS_RTL_FORMATS_CHECK_H
#define TEGULA_TESTS_RTL_FORMATS_CHECK_H

#include "tests/rtl/duts.h"

#include <stdbool.h>

/* `dut` is one of tg_dut_formats. A 16-bit input in both narrow formats: */
bool tg_check_widening(void *dut, uint16_t x);
/* An FP32 input to every format, with `r` as the random number of stochastic rounding: */
bool tg_check_narrowing(void *dut, uint32_t x, uint16_t r);

#endif
