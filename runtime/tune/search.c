/* First all 0 and the caller's starts; then each candidate of each operator alone; from these the greedy
 * order of steps by cycles saved for error added, and as many of them as keep the target, by bisection; then
 * single changes of the best as long as they help. Whatever is run is a contender, nothing else is. */
#include "runtime/tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A run that is known. */
typedef struct known {
  const int *assignment;
  tg_tune_point point;
} known;

typedef struct search {
  const tg_tune_problem *p;
  tg_arena *arena;
  tg_tune_result *r;
  tg_diag *diag;
  known *runs;
  int *order;   /* operators by weight */
  int *scratch; /* an assignment */
} search;

/* One more operator on a cheaper candidate. */
typedef struct step {
  int op, candidate, number;
  double saved, added; /* against the step before of this operator */
} step;

static size_t bytes_of(const search *s) { return (size_t)s->p->operator_count * sizeof(int); }

static int *copy(search *s, const int *assignment) {
  int *new = TG_NEW_ARRAY(s->arena, int, (size_t)s->p->operator_count + 1);
  memcpy(new, assignment, bytes_of(s));
  return new;
}

static bool meets(const search *s, const tg_tune_point *point) {
  return point->ran && point->error <= s->p->max_error; /* false for NaN */
}

static bool out_of_runs(search *s) {
  if (s->r->runs < s->p->max_runs) return false;
  s->r->complete = false;
  return true;
}

/* Runs an assignment unless that is known or there are no runs left, and keeps the best. */
static tg_status measure(search *s, const int *assignment, uint64_t below, const char *what,
                         tg_tune_point *out) {
  int at = 0;
  for (; at < s->r->runs; at++)
    if (!memcmp(s->runs[at].assignment, assignment, bytes_of(s))) {
      *out = s->runs[at].point;
      if (!out->ran || !isnan(out->error) || out->cycles >= below) return TG_OK;
      break;
    }
  *out = (tg_tune_point){.error = NAN};
  if (out_of_runs(s)) return TG_OK;
  tg_status status = s->p->evaluate(s->p->user, assignment, below, what, out, s->diag);
  if (status) return status;
  s->runs[s->r->runs++] = (known){copy(s, assignment), *out};
  if (at + 1 < s->r->runs) s->runs[at].point = *out; /* the error of an earlier one */
  if (meets(s, out) && (!s->r->met || out->cycles < s->r->best.cycles)) {
    s->r->met = true;
    s->r->best = *out;
    memcpy(s->r->choice, assignment, bytes_of(s));
  }
  return TG_OK;
}

/* Assignments that are about to be run. */
typedef struct outlook {
  const int **assignments;
  size_t count, capacity;
} outlook;

static bool is_known(const search *s, const int *assignment) {
  for (int i = 0; i < s->r->runs; i++)
    if (!memcmp(s->runs[i].assignment, assignment, bytes_of(s))) return true;
  return false;
}

/* `from` with one operator changed; a negative one: none is. */
static void expect(search *s, outlook *o, const int *from, int op, int candidate) {
  if (!s->p->foresee || s->r->runs + (int)o->count >= s->p->max_runs) return;
  int *one = copy(s, from);
  if (op >= 0) one[op] = candidate;
  if (!is_known(s, one)) TG_PUSH(s->arena, o->assignments, o->count, o->capacity, one);
}

static tg_status foresee(search *s, const outlook *o, uint64_t below) {
  if (!o->count) return TG_OK;
  return s->p->foresee(s->p->user, o->assignments, (int)o->count, below, s->diag);
}

/* --- operators alone --- */

static tg_status foresee_alone(search *s, int most) {
  const tg_tune_problem *p = s->p;
  outlook next = {0};
  memset(s->scratch, 0, bytes_of(s));
  for (int i = 0; i < p->operator_count; i++)
    for (int op = s->order[i], c = 1; c <= p->operators[op].alone; c++)
      if (s->r->runs + (int)next.count < most) expect(s, &next, s->scratch, op, c);
  return foresee(s, &next, s->r->base.cycles);
}

static tg_status measure_alone(search *s) {
  const tg_tune_problem *p = s->p;
  int most = p->max_runs - p->max_runs / 4; /* what is left finds out how they go together */
  tg_status status = foresee_alone(s, most);
  memset(s->scratch, 0, bytes_of(s));
  for (int i = 0; !status && i < p->operator_count; i++) {
    int op = s->order[i];
    for (int c = 1; c <= p->operators[op].alone; c++) {
      if (s->r->runs >= most) {
        s->r->complete = false;
        return TG_OK;
      }
      s->scratch[op] = c;
      const char *what =
          tg_arena_printf(s->arena, "%s alone in %s", p->operators[op].name, p->operators[op].labels[c]);
      status = measure(s, s->scratch, s->r->base.cycles, what, &s->r->alone[op][c]);
      s->scratch[op] = 0;
      if (status) return status;
    }
  }
  return status;
}

static double saved(const search *s, int op, int candidate) {
  const tg_tune_point *point = &s->r->alone[op][candidate];
  return candidate && point->ran ? (double)s->r->base.cycles - (double)point->cycles : 0;
}

/* What a candidate adds to the error of all 0, as something that adds up. */
static double added(const search *s, int op, int candidate) {
  const tg_tune_point *point = &s->r->alone[op][candidate];
  if (!candidate) return 0;
  if (!point->ran || isnan(point->error)) return INFINITY;
  double e = point->error, base = s->r->base.error;
  double more = s->p->squares ? e * e - base * base : e - base;
  return more > 0 ? more : 0;
}

/* --- several together --- */

static double slope(double more, double error) { return error > 0 ? more / error : INFINITY; }

static int by_slope(const void *left, const void *right) {
  const step *a = left, *b = right;
  double x = slope(a->saved, a->added), y = slope(b->saved, b->added);
  if (x != y) return x > y ? -1 : 1;
  if (a->saved != b->saved && isinf(x)) return a->saved > b->saved ? -1 : 1;
  return a->number - b->number;
}

/* The steps of one operator, each the best from where the one before led: the hull of its candidates. */
static int add_steps(const search *s, int op, step *steps, int count) {
  for (int at = 0;;) {
    step best = {.op = op, .candidate = at, .number = count};
    for (int c = 1; c <= s->p->operators[op].alone; c++) {
      double more = saved(s, op, c) - saved(s, op, at), error = added(s, op, c) - added(s, op, at);
      if (more <= 0 || isinf(added(s, op, c))) continue;
      if (error < 0) error = 0;
      if (best.candidate != at && slope(more, error) <= slope(best.saved, best.added)) continue;
      best.candidate = c;
      best.saved = more;
      best.added = error;
    }
    if (best.candidate == at) return count;
    steps[count++] = best;
    at = best.candidate;
  }
}

/* `from` with the first `count` steps. */
static tg_status measure_steps(search *s, const int *from, const step *steps, int count, const char *name,
                               bool *out_met) {
  memcpy(s->scratch, from, bytes_of(s));
  for (int i = 0; i < count; i++) s->scratch[steps[i].op] = steps[i].candidate;
  tg_tune_point point;
  tg_status status =
      measure(s, s->scratch, UINT64_MAX, tg_arena_printf(s->arena, "%s, %d operators", name, count), &point);
  *out_met = meets(s, &point);
  return status;
}

/* As many steps as keep the target: all, or by bisection. `from` keeps it. */
static tg_status bisect(search *s, const int *from, const step *steps, int count, const char *name) {
  int low = 0, high = count + 1, try = count;
  tg_status status = TG_OK;
  while (!status && high - low > 1 && !out_of_runs(s)) {
    bool met;
    status = measure_steps(s, from, steps, try, name, &met);
    *(met ? &low : &high) = try;
    try = low + (high - low) / 2;
  }
  return status;
}

static tg_status combine_greedily(search *s) {
  int count = 0, most = 0;
  for (int op = 0; op < s->p->operator_count; op++) most += s->p->operators[op].alone;
  step *steps = TG_NEW_ARRAY(s->arena, step, (size_t)most + 1);
  for (int op = 0; op < s->p->operator_count; op++) count = add_steps(s, op, steps, count);
  qsort(steps, (size_t)count, sizeof *steps, by_slope);
  int *none = TG_NEW_ARRAY(s->arena, int, (size_t)s->p->operator_count + 1);
  return bisect(s, none, steps, count, "together");
}

/* A start that misses the target but is fast: as much of it as keeps the target, on the best so far.
 * Neighbours in one format save what neither saves alone. */
static tg_status combine_start(search *s, const tg_tune_start *start) {
  step *steps = TG_NEW_ARRAY(s->arena, step, (size_t)s->p->operator_count + 1);
  int count = 0;
  for (int op = 0; op < s->p->operator_count; op++) {
    int c = start->assignment[op];
    if (!c || c == s->r->choice[op]) continue;
    bool known = s->r->alone[op][c].ran && !isnan(s->r->alone[op][c].error);
    steps[count] = (step){.op = op, .candidate = c, .number = count, .saved = fmax(saved(s, op, c), 1)};
    steps[count++].added = known ? added(s, op, c) : INFINITY; /* last */
  }
  qsort(steps, (size_t)count, sizeof *steps, by_slope);
  return bisect(s, copy(s, s->r->choice), steps, count, start->name);
}

static tg_status combine_starts(search *s) {
  tg_status status = TG_OK;
  for (int i = 0; !status && i < s->p->start_count; i++) {
    const tg_tune_point *point = &s->r->starts[i];
    if (point->ran && point->cycles < s->r->best.cycles && !meets(s, point))
      status = combine_start(s, &s->p->starts[i]);
  }
  return status;
}

/* All of a pass of `descend`, of which what comes behind the first gain is not used. */
static tg_status foresee_changes(search *s) {
  const tg_tune_problem *p = s->p;
  outlook next = {0};
  for (int i = 0; i < p->operator_count; i++)
    for (int op = s->order[i], c = 0; c <= p->operators[op].alone; c++)
      if (c != s->r->choice[op]) expect(s, &next, s->r->choice, op, c);
  return foresee(s, &next, s->r->best.cycles);
}

/* Single changes of the best, until none helps. */
static tg_status descend(search *s) {
  const tg_tune_problem *p = s->p;
  tg_status status = TG_OK;
  for (uint64_t before = UINT64_MAX; s->r->best.cycles < before;) {
    before = s->r->best.cycles;
    status = foresee_changes(s);
    if (status) return status;
    for (int i = 0; i < p->operator_count; i++)
      for (int op = s->order[i], c = 0; c <= p->operators[op].alone; c++) {
        if (c == s->r->choice[op]) continue;
        if (out_of_runs(s)) return TG_OK;
        memcpy(s->scratch, s->r->choice, bytes_of(s));
        s->scratch[op] = c;
        const char *what = tg_arena_printf(s->arena, "the best with %s in %s", p->operators[op].name,
                                           p->operators[op].labels[c]);
        tg_tune_point point;
        status = measure(s, s->scratch, s->r->best.cycles, what, &point);
        if (status) return status;
      }
  }
  return status;
}

static tg_status measure_starts(search *s) {
  outlook next = {0};
  for (int i = 0; i < s->p->start_count; i++) expect(s, &next, s->p->starts[i].assignment, -1, 0);
  tg_status status = foresee(s, &next, UINT64_MAX);
  for (int i = 0; !status && i < s->p->start_count; i++)
    status = measure(s, s->p->starts[i].assignment, UINT64_MAX, s->p->starts[i].name, &s->r->starts[i]);
  return status;
}

static void sort_by_weight(search *s) {
  for (int i = 0; i < s->p->operator_count; i++) {
    int at = i;
    for (; at > 0 && s->p->operators[s->order[at - 1]].weight < s->p->operators[i].weight; at--)
      s->order[at] = s->order[at - 1];
    s->order[at] = i;
  }
}

static void begin(search *s) {
  const tg_tune_problem *p = s->p;
  size_t count = (size_t)p->operator_count;
  *s->r = (tg_tune_result){.complete = true};
  s->runs = TG_NEW_ARRAY(s->arena, known, (size_t)p->max_runs + 1);
  s->order = TG_NEW_ARRAY(s->arena, int, count + 1);
  s->scratch = TG_NEW_ARRAY(s->arena, int, count + 1);
  s->r->choice = TG_NEW_ARRAY(s->arena, int, count + 1);
  s->r->starts = TG_NEW_ARRAY(s->arena, tg_tune_point, (size_t)p->start_count + 1);
  s->r->alone = TG_NEW_ARRAY(s->arena, tg_tune_point *, count + 1);
  for (int op = 0; op < p->operator_count; op++) {
    s->r->alone[op] = TG_NEW_ARRAY(s->arena, tg_tune_point, (size_t)p->operators[op].candidates);
    for (int c = 0; c < p->operators[op].candidates; c++) s->r->alone[op][c].error = NAN;
  }
  sort_by_weight(s);
}

tg_status tg_tune_search(tg_arena *arena, const tg_tune_problem *problem, tg_tune_result *out_result,
                         tg_diag *diag) {
  search s = {.p = problem, .arena = arena, .r = out_result, .diag = diag};
  begin(&s);
  tg_status status = measure(&s, s.scratch, UINT64_MAX, "the model's formats", &s.r->base);
  if (status || !s.r->base.ran) return status;
  status = measure_starts(&s);
  if (status || !meets(&s, &s.r->base)) return status; /* less precise ones hardly will */
  status = measure_alone(&s);
  if (!status) status = combine_greedily(&s);
  if (!status) status = combine_starts(&s);
  return status ? status : descend(&s);
}
