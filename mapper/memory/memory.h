/* Where values live in DRAM. */
#ifndef TEGULA_MAPPER_MEMORY_MEMORY_H
#define TEGULA_MAPPER_MEMORY_MEMORY_H

#include "mapper/kernel/kernel.h"

tg_status tg_settle_aliases(tg_compile *c); /* aliases.c: updates in place, or moved */
tg_status tg_form_views(tg_compile *c);     /* views.c: Slices and Concats without kernels */
tg_status tg_plan_memory(tg_compile *c);    /* dram.c: values -> DRAM tensors */
tg_status tg_keep_operands(tg_compile *c);  /* keep.c: what stays in scratchpads from section to section */

#endif
