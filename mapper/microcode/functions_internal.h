/* Shorthands of the files that write functions. */
#ifndef TEGULA_MAPPER_MICROCODE_FUNCTIONS_INTERNAL_H
#define TEGULA_MAPPER_MICROCODE_FUNCTIONS_INTERNAL_H

#include "mapper/microcode/functions.h"

#define ALU3(op, a, b, c) tg_mc_alu(mc, TG_ALU_##op, (a), (b), (c))
#define ALU2(op, a, b)    tg_mc_alu(mc, TG_ALU_##op, (a), (b), TG_MC_NONE)
#define ALU1(op, a)       tg_mc_alu(mc, TG_ALU_##op, (a), TG_MC_NONE, TG_MC_NONE)
#define CONST(x)          tg_mc_const(mc, (x))
#define BITS(x)           tg_mc_bits(mc, (x))
#define SIGN              BITS(0x80000000u)
/* Horner's rule: c[0] + x*(c[1] + x*(...)). */
#define POLYNOMIAL(x, c) tg_mc_polynomial(mc, (x), (c), (int)(sizeof(c) / sizeof *(c)))

/* 2^k (power + power * more) is e^x for x in [-120, 89]: x = k ln2 + r with k a multiple of 1/32; for more
 * than one term with ln2 in two parts of which the first times k is exact. */
typedef struct tg_mc_parts {
  tg_mc_ref k, power, more;
} tg_mc_parts;
tg_mc_parts tg_mc_exp_parts(tg_mc *mc, tg_mc_ref x, int terms);

/* log(2^k (1 + f)), f in [sqrt(1/2) - 1, sqrt 2 - 1]. */
tg_mc_ref tg_mc_log_of_parts(tg_mc *mc, tg_mc_ref k, tg_mc_ref f, tg_mc_accuracy accuracy);

tg_mc_ref tg_mc_polynomial(tg_mc *mc, tg_mc_ref x, const float *coefficients, int count);

#endif
