/* What is known to sum to 0. The gradient of what a normalisation reads does, over the dimensions that it
 * normalises, whatever the numbers are: a constant added there is subtracted again with the mean. In FP32
 * such a sum is noise of rounding, which Adam and Adagrad scale up to whole steps; so it is not computed. */
#ifndef TEGULA_FRONTEND_BUILD_CENTRED_H
#define TEGULA_FRONTEND_BUILD_CENTRED_H

#include "frontend/build/build.h"

/* The sum of x over the dimensions whose bit is set in `axes` is 0; so is that of x moved or converted by
 * tg_build_reshape, _transpose and _cast, and tg_build_sum over these and more dimensions gives a
 * constant. */
void tg_centred_note(tg_build *b, const tg_value *x, unsigned axes);

/* y is x in another shape; with dimension i of y being perm[i] of x. */
void tg_centred_reshaped(tg_build *b, const tg_value *x, const tg_value *y);
void tg_centred_transposed(tg_build *b, const tg_value *x, const int64_t *perm, const tg_value *y);
void tg_centred_cast(tg_build *b, const tg_value *x, const tg_value *y);

bool tg_centred_sums_to_zero(const tg_build *b, const tg_value *x, unsigned axes);

#endif
