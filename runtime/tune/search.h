/* The cheapest assignment of a candidate to each operator that keeps an error, found by running assignments.
 * What an operator, a candidate and a run are is the caller's. */
#ifndef TEGULA_RUNTIME_TUNE_SEARCH_H
#define TEGULA_RUNTIME_TUNE_SEARCH_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

/* What a run found. */
typedef struct tg_tune_point {
  bool ran; /* false: it cannot be, or there were no runs left */
  uint64_t cycles;
  double error; /* NaN: not measured */
} tg_tune_point;

/* Runs an assignment, a candidate for each operator. The error is measured only if it takes less than `below`
 * cycles. `what` describes it. An assignment that cannot run is no failure, unless it is all 0. */
typedef tg_status tg_tune_evaluate(void *user, const int *assignment, uint64_t below, const char *what,
                                   tg_tune_point *out_point, tg_diag *diag);

/* Says which assignments are likely to be run next, with the same `below`: the caller may run them side by side. */
typedef tg_status tg_tune_foresee(void *user, const int *const *assignments, int count, uint64_t below,
                                  tg_diag *diag);

typedef struct tg_tune_operator {
  const char *name;
  double weight;       /* operators of more weight are measured first */
  int candidates;      /* candidate 0 changes nothing */
  int alone;           /* candidates 1 .. alone are measured on this operator alone */
  const char **labels; /* of the candidates */
} tg_tune_operator;

/* An assignment to begin with. */
typedef struct tg_tune_start {
  const char *name;
  const int *assignment;
} tg_tune_start;

typedef struct tg_tune_problem {
  int operator_count, start_count;
  const tg_tune_operator *operators;
  const tg_tune_start *starts;
  double max_error;
  bool squares; /* errors of several operators add in squares, as of independent noise; else as they are */
  int max_runs;
  tg_tune_evaluate *evaluate;
  tg_tune_foresee *foresee; /* NULL: runs come one after the other */
  void *user;
} tg_tune_problem;

typedef struct tg_tune_result {
  int runs;
  bool met, complete;       /* some assignment meets the target; it did not run out of runs */
  tg_tune_point base, best; /* all 0; the cheapest that was run and met the target, if one did */
  int *choice;              /* of the best */
  tg_tune_point **alone;    /* [operator][candidate]: that one changed, no other */
  tg_tune_point *starts;
} tg_tune_result;

/* Everything lies on `arena`. Fails as evaluate fails; that no assignment meets the target is no failure. */
tg_status tg_tune_search(tg_arena *arena, const tg_tune_problem *problem, tg_tune_result *out_result,
                         tg_diag *diag);

#endif
