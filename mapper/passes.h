/* The passes over the kernel list, in order. */
#ifndef TEGULA_MAPPER_PASSES_H
#define TEGULA_MAPPER_PASSES_H

#include "mapper/kernel/plan.h"

/* What a pass leaves as it was, whatever the graph; a test holds it to that. All keep the kernels in an order in
 * which one reads what earlier ones write. */
enum {
  TG_KEEPS_KERNELS = 1, /* the list of kernels, all of it */
  TG_KEEPS_STORED = 2,  /* which values are in memory */
  TG_KEEPS_COUNT = 4,   /* how many kernels there are */
  TG_KEEPS_ONCE = 8,    /* no node is computed by more kernels than before */
};
typedef struct tg_mapper_pass {
  const char *name;
  const char *needs; /* the pass that must have run before it, or NULL */
  unsigned keeps;
  tg_status (*run)(tg_compile *c);
  bool (*when)(const tg_compile *c); /* NULL: always */
  tg_opt_level down_to;              /* the lowest level at which it runs */
} tg_mapper_pass;

extern const tg_mapper_pass tg_mapper_passes[]; /* ends with a NULL name */

/* The first of that name; NULL: none. */
const tg_mapper_pass *tg_mapper_pass_find(const char *name);

#endif
