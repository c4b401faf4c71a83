/* Kernels of a matrix product: their sections, and what they take. */
#ifndef TEGULA_MAPPER_GEMM_GEMM_H
#define TEGULA_MAPPER_GEMM_GEMM_H

#include "mapper/kernel/kernel.h"

tg_status tg_emit_gemm(tg_compile *c, const tg_kernel *kernel);

/* Estimate of all sections of the kernel's product, with what lies between them; TG_NEVER: none fits.
 * estimate.c */
double tg_product_cycles(const tg_compile *c, const tg_kernel *kernel);

/* Operand B of a product as it is loaded, which products may have in common. keep.c */
typedef struct tg_kept_operand {
  const tg_value *value;                            /* owns the memory, */
  int64_t first;                                    /* which of its elements is the first one */
  int64_t format, convert, transposed, k, n, bytes; /* bytes: as it is stored */
  int64_t radix[2][3], stride[2][3];
} tg_kept_operand;
/* False: it is no product that may find B in scratchpads. All bytes of *out are set. */
bool tg_gemm_describe_kept(const tg_compile *c, const tg_kernel *kernel, tg_kept_operand *out);
/* Where such a product would have it, but for the first bank, and cycles of the section that puts it there: each column in
 * one tile, in a column of tiles, or in all; of several products each column of one in a tile. False: not in this way. */
enum { TG_KEPT_WAYS = 4 };
bool tg_gemm_choose_kept(const tg_compile *c, const tg_kernel *kernel, int way, tg_kept *out,
                         double *out_put_cycles);
/* The section that puts B of the kernel where kernel->kept says. */
tg_status tg_emit_kept(tg_compile *c, const tg_kernel *kernel);

#endif
