/* A result against bounds and baseline. */
#ifndef TEGULA_RUNTIME_REGRESS_VERDICT_H
#define TEGULA_RUNTIME_REGRESS_VERDICT_H

#include "runtime/regress/baseline.h"

typedef struct tg_finding {
  const char
      *kind; /* "cycles", "accuracy", "memory", "utilization", "engines", "outputs", "baseline", "training",
                       "retries", "expected", or an outcome */
  bool failure;     /* else something to know */
  const char *text; /* one line */
} tg_finding;

typedef struct tg_verdict {
  bool failed;   /* a finding is a failure */
  bool broken;   /* ... because the case did not run to its end */
  bool moved;    /* cycles, memory or outputs are not the baseline's */
  bool fresh;    /* there is no baseline of this case */
  bool expected; /* it failed, as the suite says that it does: no failure */
  tg_finding *findings;
  size_t count, capacity;
} tg_verdict;

typedef enum tg_judging {
  TG_JUDGE,         /* a case without a baseline is new */
  TG_JUDGE_REQUIRE, /* ... fails */
  TG_JUDGE_ACCEPT,  /* what moved against the baseline is no failure: a new one is written */
} tg_judging;

/* `entry`: the baseline's, or NULL. On the arena. */
tg_verdict tg_judge(tg_arena *arena, const tg_case *c, const tg_result *result, const json_t *entry,
                    tg_judging how);
/* "passed", "failed", "expected" or "new". */
const char *tg_verdict_name(const tg_verdict *verdict);

#endif
