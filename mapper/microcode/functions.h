/* Functions as microprograms: fixed sequences of ALU operations, so that every engine has the same bits.
 * Errors in docs/vector-functions.md, measured over all inputs; special values as in C99 Annex F. */
#ifndef TEGULA_MAPPER_MICROCODE_FUNCTIONS_H
#define TEGULA_MAPPER_MICROCODE_FUNCTIONS_H

#include "mapper/microcode/microcode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How good a result must be. NARROW: it is rounded to BF16 or FP16 next, so a relative error of 2^-13 is
 * enough. */
typedef enum tg_mc_accuracy { TG_MC_SINGLE, TG_MC_NARROW } tg_mc_accuracy;

typedef tg_mc_ref tg_mc_function(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy);
tg_mc_function tg_mc_exp, tg_mc_log, tg_mc_sigmoid, tg_mc_tanh, tg_mc_erf, tg_mc_gelu, tg_mc_gelu_tanh,
    tg_mc_gelu_gradient, tg_mc_reciprocal, tg_mc_sqrt, tg_mc_rsqrt;
/* The table of all functions but gelu and its gradient in single precision, which have their own: what is
 * fused into one kernel can have one table. */
const float *tg_mc_exp_table(void);
/* e^x for x <= 0 or NaN, so without the clamp above. */
tg_mc_function tg_mc_exp_below_one;
/* e^x - 1 for x < 0 or NaN; for others some number. */
tg_mc_function tg_mc_expm1_below_zero;
/* x < 0 ? e^x - 1 : x. */
tg_mc_function tg_mc_elu;
tg_mc_function tg_mc_softplus, tg_mc_softsign, tg_mc_mish;
/* min(max(alpha x + beta, 0), 1) with one rounding. */
tg_mc_ref tg_mc_hard_sigmoid(tg_mc *mc, tg_mc_ref x, float alpha, float beta);
/* Exact, whatever the accuracy: to integers as IEEE 754 has it, -0 and NaN kept; the sign as 1, -1 or 0, NaN
 * kept. */
tg_mc_function tg_mc_round, tg_mc_floor, tg_mc_ceil, tg_mc_sign;
/* x^exponent, an exponent that tg_mc_has_power: any finite one. */
bool tg_mc_has_power(float exponent);
tg_mc_ref tg_mc_power(tg_mc *mc, tg_mc_ref x, float exponent, tg_mc_accuracy accuracy);
tg_mc_ref tg_mc_divide(tg_mc *mc, tg_mc_ref a, tg_mc_ref b, tg_mc_accuracy accuracy);
/* a / divisor: a product or two where the reciprocal of the number is no subnormal, else tg_mc_divide. */
tg_mc_ref tg_mc_divide_by(tg_mc *mc, tg_mc_ref a, float divisor, tg_mc_accuracy accuracy);
/* 1/x of x in [2^-126, 2^126), infinity or NaN. */
tg_mc_ref tg_mc_reciprocal_normal(tg_mc *mc, tg_mc_ref x);

#ifdef __cplusplus
}
#endif
#endif
