/* Kernels of a matrix product: their sections, and what they take. */
#ifndef TEGULA_MAPPER_GEMM_GEMM_H
#define TEGULA_MAPPER_GEMM_GEMM_H

#include "mapper/kernel/kernel.h"

tg_status tg_emit_gemm(tg_compile *c, const tg_kernel *kernel);

/* Estimate of all sections of the kernel's product, with what lies between them; TG_NEVER: none fits. */
double tg_product_cycles(const tg_compile *c, const tg_kernel *kernel); /* estimate.c */
/* Is `both`, the product and what takes so many cycles apart from it, faster than one after the other? */
bool tg_product_gains(const tg_compile *c, const tg_kernel *product, const tg_kernel *both, double apart);
/* Is `both`, `update` done in the drain of `product`, faster than one after the other? update.c */
bool tg_update_gains(tg_compile *c, const tg_kernel *product, const tg_kernel *update, const tg_kernel *both);

#endif
