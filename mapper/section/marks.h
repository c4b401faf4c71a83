/* Marks of rows of an image, by which microcode tells those that lie outside of it: a LOAD reads one number for all of them,
 * and what it fills up elements outside of bounds with has another sign. */
#ifndef TEGULA_MAPPER_SECTION_MARKS_H
#define TEGULA_MAPPER_SECTION_MARKS_H

#include "mapper/kernel/kernel.h"

enum { TG_MARK_OUTSIDE = 0x80000000u }; /* the fill: -0, which a select takes for negative */

/* Puts the number into the program, once, before sections of kernels that have marks. */
void tg_marks_add(tg_compile *c);
/* It, which has been put there. */
const tg_dram_tensor *tg_marks_of(const tg_program *program);

#endif
