/* Kernels of a matrix product: their sections, and what they take. */
#ifndef TEGULA_MAPPER_GEMM_GEMM_H
#define TEGULA_MAPPER_GEMM_GEMM_H

#include "mapper/kernel/kernel.h"

tg_status tg_emit_gemm(tg_compile *c, const tg_kernel *kernel);

/* Estimate of all sections of the kernel's product, with what lies between them; TG_NEVER: none fits.
 * estimate.c */
double tg_product_cycles(const tg_compile *c, const tg_kernel *kernel);

#endif
