/* What is useful of what the sections of a kernel multiply. */
#ifndef TEGULA_MAPPER_USEFUL_WORK_H
#define TEGULA_MAPPER_USEFUL_WORK_H

#include "mapper/kernel/kernel.h"

/* The program's invocations from number `first` on are those of the kernel, and their `macs` what they
 * multiply. Afterwards they are in all the multiply-adds that the graph asks for (frontend/multiply_adds.h),
 * each invocation with its share. `counted`, by value->index: results of nodes that a kernel has accounted
 * for; a node that several kernels compute counts with the first. */
void tg_account_useful_work(const tg_compile *c, const tg_kernel *kernel, uint32_t first, bool *counted);

#endif
