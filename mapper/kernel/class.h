/* Classes of kernels: all that passes may ask of a kernel without knowing how it is computed. Each kind is a
 * row of kernels.def and a class, in the file that emits it. */
#ifndef TEGULA_MAPPER_KERNEL_CLASS_H
#define TEGULA_MAPPER_KERNEL_CLASS_H

#include "mapper/kernel/kernel.h"

/* Operands that fused nodes load from DRAM at most, and constants that a kernel may need beside those of its
 * fused nodes. */
enum { TG_FUSED_INPUTS = 4, TG_ROOT_CONSTANTS = 12 };

/* NULL for what the kind does not do. */
typedef struct tg_kernel_class {
  const char *name; /* as kernels.def has it */
  /* Is the node the root of such a kernel; of the elementwise kind: can the vector unit compute it? */
  bool (*accepts)(const tg_compile *c, const tg_node *node);
  /* Does the kernel leave room, of microcode and of what stores can do, to `node` behind its fused nodes?
   * `waiting`: nodes that it takes along. NULL: nothing can follow. */
  bool (*takes)(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting);
  /* Tensors that fused nodes may load from DRAM, and may they load this one, beside the result? NULL: none,
   * and any. */
  int (*inputs)(const tg_compile *c, const tg_kernel *kernel);
  bool (*loads)(const tg_value *operand, const tg_value *result);
  /* Do streams, scratchpads and microcode suffice? Of attention: and is it faster than its kernels apart? */
  bool (*fits)(tg_compile *c, const tg_kernel *kernel);
  /* Estimate of all its sections; TG_NEVER or more if it does not fit. Of a reduction by blocks, those of
   * whole blocks. */
  double (*cycles)(tg_compile *c, const tg_kernel *kernel);
  /* The same by a rehearsal of its sections, and with what lies between two (section/rehearsal.h); NULL: there are
   * estimates only. */
  double (*rehearsed)(tg_compile *c, const tg_kernel *kernel);
  /* Of a reduction of [1, M, N] by blocks, the section of the last block, which is shorter; 0: there
   * is none. */
  double (*remainder_cycles)(tg_compile *c, const tg_kernel *kernel);
  /* Can the kernel, as it is, read and write its tensors where they lie, if rows of a view (kernel/view.h) lie
   * apart? NULL: no. */
  bool (*walks_views)(tg_compile *c, const tg_kernel *kernel);
  /* ALU operations an element. */
  int (*operations)(const tg_compile *c, const tg_kernel *kernel);
  /* Can it compute what an elementwise kernel makes of its result? */
  bool (*absorbs)(tg_compile *c, const tg_kernel *kernel);
  tg_status (*emit)(tg_compile *c, const tg_kernel *kernel);
} tg_kernel_class;

static inline const tg_kernel_class *tg_class_of(const tg_compile *c, const tg_kernel *kernel) {
  return c->classes[kernel->kind];
}
static inline bool tg_kernel_fits(tg_compile *c, const tg_kernel *kernel) {
  return tg_class_of(c, kernel)->fits(c, kernel);
}
/* What a memory device takes for so many bytes at its peak, and, as long as there is both reading and writing, for turns
 * between, each way with rows to be opened that the other way's took the place of; 0 without one. */
double tg_device_cycles(const tg_params *m, double read, double written);
/* What memory takes for so many bytes at least, with a device or without: a pass's price of a kernel that it does not
 * describe, to be compared with tg_kernel_cycles of others. */
double tg_memory_cycles(const tg_params *m, double read, double written);
/* Estimate as the class has it, and no less than a memory device takes for what is loaded and stored. */
double tg_kernel_cycles(tg_compile *c, const tg_kernel *kernel);

/* Is `both`, a product and what takes so many cycles apart from it, faster than one after the other? Where
 * tilings are randomized, so is this. */
bool tg_is_profitable(tg_compile *c, const tg_kernel *product, const tg_kernel *both, double apart);
/* Cycles by a rehearsal, of a class that has one. And are those of `both` and what is beside it clearly less than those
 * of what it takes the place of? Where tilings are randomized, so is this. */
double tg_kernel_rehearsed(tg_compile *c, const tg_kernel *kernel);
bool tg_is_faster(const tg_compile *c, const tg_kernel *both, double together, double apart);

#endif
