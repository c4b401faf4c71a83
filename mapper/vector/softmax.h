/* Softmax of rows as microcode, wherever the rows come from: exp(x - maximum) / sum, each exp computed once.
 * One VOP finds the maximum, leaves the exps in the scratchpad and adds them up; a second one
 * divides them. */
#ifndef TEGULA_MAPPER_VECTOR_SOFTMAX_H
#define TEGULA_MAPPER_VECTOR_SOFTMAX_H

#include "mapper/expression/expression.h"
#include "mapper/microcode/functions.h"
#include "mapper/microcode/row_sums.h"

enum { TG_SOFTMAX_FIRST_SEGMENTS = 5, TG_SOFTMAX_FIRST_REPEAT = 1 << 1 | 1 << 3, TG_SOFTMAX_REPEAT = 1 << 1 };

typedef struct tg_softmax {
  const tg_compile *c;
  const tg_kernel *kernel; /* root Softmax, and what is fused behind it */
  tg_mc *mc;
  /* Vector j * unroll + u of the row at hand, of a segment that repeats over j. Elements beyond the row are
   * -infinity: the maximum does not see them, and their exp is +0, which changes no sum. */
  tg_mc_ref (*element)(const void *user, tg_mc *mc, int u);
  /* Where elements are those of `plain` after a step that keeps their order, and -infinity where there are none, or NULL:
   * the maximum is found of these, and takes the step then. */
  tg_mc_ref (*plain)(const void *user, tg_mc *mc, int u);
  tg_mc_ref (*step)(const void *user, tg_mc *mc, tg_mc_ref x);
  float factor; /* not 0: the step multiplies with it, exactly */
  const void *user;
  tg_mc_accuracy accuracy;
  int lanes, registers;
  tg_mc_ref top, below,
      partial[TG_ROW_PARTIALS]; /* below: the maximum with the other sign, if the step has a factor */
} tg_softmax;

void tg_softmax_begin(tg_softmax *s, const tg_compile *c, const tg_kernel *kernel, tg_mc *mc);
/* Vectors that the first VOP, and the second one, may take at a time. */
int tg_softmax_first_unroll(const tg_softmax *s);
int tg_softmax_unroll(const tg_softmax *s);

/* The two VOPs. The first leaves the exps in `unroll` streams from `kept` on, and the sum's inverse in the
 * next one; the second reads them as streams from 0 on and stores to streams behind these: `own_unroll` of
 * results come before the inverse. */
bool tg_softmax_once(tg_softmax *s, int unroll, int kept, int own_unroll, tg_dtype dtype);

#endif
