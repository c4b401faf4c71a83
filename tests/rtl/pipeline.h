/* What a pipelined unit shows at its output, cycle by cycle: the last result that is LATENCY cycles old.
 * Stages without a valid token keep their registers; a reset drops what has not come through the third
 * one, or the fourth where operands have a stage of their own. */
#ifndef TEGULA_TESTS_RTL_PIPELINE_H
#define TEGULA_TESTS_RTL_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

enum { TG_PIPELINE_MAX = 16 };

typedef struct tg_pipeline {
  uint32_t latency; /* 3..TG_PIPELINE_MAX */
  uint32_t before;  /* stages before the product: 0 or 1 */
  uint64_t cycle;
  struct {
    bool issued, known;
    uint32_t value;
  } stage[TG_PIPELINE_MAX]; /* by cycle of issue modulo the size */
  bool fresh;               /* a result comes out in this cycle */
  bool known;               /* of the output: not before the first result */
  uint32_t value;
} tg_pipeline;

/* In this order: the output of this cycle, then what enters in it (which ends the cycle). */
static inline void tg_pipeline_output(tg_pipeline *p) {
  uint64_t at = (p->cycle - p->latency) % TG_PIPELINE_MAX;
  p->fresh = p->cycle >= p->latency && p->stage[at].issued;
  if (!p->fresh) return;
  p->known = p->stage[at].known;
  p->value = p->stage[at].value;
}
static inline void tg_pipeline_input(tg_pipeline *p, bool reset, bool issued, bool known, uint32_t value) {
  uint64_t at = p->cycle % TG_PIPELINE_MAX;
  p->stage[at].issued = issued && !reset;
  p->stage[at].known = known;
  p->stage[at].value = value;
  if (reset)
    for (uint64_t ago = 1; ago <= 2 + p->before && ago <= p->cycle; ago++)
      p->stage[(p->cycle - ago) % TG_PIPELINE_MAX].issued = false;
  p->cycle++;
}

#endif
