/* Conversions to floats of 8 and 4 bits (base/narrow.h), whose numbers are FP32 until they are written. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_NARROW_H
#define TEGULA_FRONTEND_DECOMPOSE_NARROW_H

#include "frontend/decompose/compose.h"

typedef enum tg_round_mode { TG_ROUND_UP, TG_ROUND_DOWN, TG_ROUND_NEAREST } tg_round_mode;

/* x, a float, an integer or a bool, in any type. Of narrow floats: `saturate`: what passes the largest number becomes it, else
 * infinity or NaN; `mode`: of f8e8m0, which of two powers of two. */
tg_value *tg_converted(tg_build *b, tg_value *x, tg_dtype dtype, bool saturate, tg_round_mode mode);

#endif
