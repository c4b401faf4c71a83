/* The passes over the kernel list, in order. */
#ifndef TEGULA_MAPPER_PASSES_H
#define TEGULA_MAPPER_PASSES_H

#include "mapper/kernel/plan.h"

/* Each keeps the kernels in an order in which one reads what earlier ones write. */
typedef struct tg_mapper_pass {
  const char *name;
  const char *needs; /* the pass that must have run before it, or NULL */
  tg_status (*run)(tg_compile *c);
  bool (*when)(const tg_compile *c); /* NULL: always */
} tg_mapper_pass;

extern const tg_mapper_pass tg_mapper_passes[]; /* ends with a NULL name */

/* The first of that name; NULL: none. */
const tg_mapper_pass *tg_mapper_pass_find(const char *name);

#endif
