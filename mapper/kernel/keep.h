/* What a kernel has of the array while scratchpads keep what others have put there. */
#ifndef TEGULA_MAPPER_KERNEL_KEEP_H
#define TEGULA_MAPPER_KERNEL_KEEP_H

#include "mapper/kernel/plan.h"

/* The same compilation for an array that has the first `banks` banks only; *out_params are its parameters. */
tg_compile tg_compile_for(const tg_compile *c, uint32_t banks, tg_params *out_params);
/* Does the array hold the kernel's sections? For classes that have no estimate: it emits them, for nobody. */
bool tg_kernel_emits(const tg_compile *c, const tg_kernel *kernel);

/* The banks of what is kept, a bit each. */
uint32_t tg_kept_mask(const tg_kept *kept);
/* The banks that are left to kernel number k: those below all that is kept while it runs. */
uint32_t tg_banks_left(const tg_compile *c, size_t k);

#endif
