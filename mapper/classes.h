/* Kinds of kernels, put together from the rooms. */
#ifndef TEGULA_MAPPER_CLASSES_H
#define TEGULA_MAPPER_CLASSES_H

#include "mapper/kernel/class.h"

extern const tg_kernel_class *const tg_kernel_classes[]; /* by kind */

#endif
