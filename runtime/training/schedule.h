/* Learning-rate schedules (schedules.def). */
#ifndef TEGULA_RUNTIME_TRAINING_SCHEDULE_H
#define TEGULA_RUNTIME_TRAINING_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_schedule_kind {
#define TG_SCHEDULE(id, name, formula) TG_SCHEDULE_##id,
#include "runtime/training/schedules.def"
#undef TG_SCHEDULE
  TG_SCHEDULE_COUNT
} tg_schedule_kind;

typedef struct tg_schedule {
  tg_schedule_kind kind;
  double lr, final, gamma; /* final: of COSINE and LINEAR; gamma: of STEP */
  uint64_t every, warmup;  /* steps; every: of STEP, at least 1 */
  uint64_t steps;          /* of the whole run, the warm-up included */
} tg_schedule;

/* By name; false: there is none of that name. */
bool tg_schedule_parse(const char *name, tg_schedule_kind *out_kind);
const char *tg_schedule_name(tg_schedule_kind kind);

/* The learning rate of step `step`, 0 the first. */
double tg_schedule_lr(const tg_schedule *schedule, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
