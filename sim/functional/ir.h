/* Pieces of vector IR that GEMM and VOP kernels share. Each adds to `text` the instructions that define
 * %<name> from the value <in> of type <N x i32>; names made on the way start with <name>. */
#ifndef TEGULA_FUNCTIONAL_IR_H
#define TEGULA_FUNCTIONAL_IR_H

#include "sim/functional/jit.h"

void tg_ir_declare(tg_text *text, unsigned lanes); /* the intrinsics on <lanes x float> */
void tg_ir_canonical(tg_text *text, unsigned lanes, const char *name, const char *in); /* NaN to 0x7fc00000 */
void tg_ir_bf16_widen(tg_text *text, unsigned lanes, const char *name, const char *in); /* in: <N x i16> */
void tg_ir_fp16_widen(tg_text *text, unsigned lanes, const char *name, const char *in); /* in: <N x i16> */
void tg_ir_bf16_round(tg_text *text, unsigned lanes, const char *name,
                      const char *in); /* BF16 bits, RNE, in i32 */
void tg_ir_tf32_round(tg_text *text, unsigned lanes, const char *name,
                      const char *in); /* TF32 in 32 bits, RNE */
void tg_ir_fp16_round(tg_text *text, unsigned lanes, const char *name,
                      const char *in); /* FP16 bits, RNE, in i32 */
/* tg_rcpseed, tg_rsqseed, tg_exponent, tg_mantissa; the result of tg_ir_scale (tg_scale) may be any NaN. */
void tg_ir_rcpseed(tg_text *text, unsigned lanes, const char *name, const char *in);
void tg_ir_rsqseed(tg_text *text, unsigned lanes, const char *name, const char *in);
void tg_ir_exponent(tg_text *text, unsigned lanes, const char *name, const char *in);
void tg_ir_mantissa(tg_text *text, unsigned lanes, const char *name, const char *in);
void tg_ir_scale(tg_text *text, unsigned lanes, const char *name, const char *in, const char *by);
void tg_ir_mix(tg_text *text, unsigned lanes, const char *name, const char *in); /* tg_mix */
/* tg_bf16_stochastic, widened; `hashes` are the sums of row and column hashes. */
void tg_ir_bf16_stochastic(tg_text *text, unsigned lanes, const char *name, const char *in,
                           const char *hashes);

#endif
