/* What the time of a kernel follows from, as one number: kernels of one signature are alike but for the names, places and
 * data of their tensors, as equal layers of a model are. */
#ifndef TEGULA_MAPPER_KERNEL_SIGNATURE_H
#define TEGULA_MAPPER_KERNEL_SIGNATURE_H

#include "mapper/kernel/kernel.h"

uint64_t tg_kernel_signature(const tg_compile *c, const tg_kernel *kernel);

#endif
