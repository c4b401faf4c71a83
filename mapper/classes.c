/* The classes of all kinds of kernels, by kind. */
#include "mapper/classes.h"

#define KERNEL(ID, class, what) extern const tg_kernel_class tg_##class##_class;
#include "mapper/kernel/kernels.def"
#undef KERNEL

const tg_kernel_class *const tg_kernel_classes[] = {
#define KERNEL(ID, class, what) &tg_##class##_class,
#include "mapper/kernel/kernels.def"
#undef KERNEL
};
