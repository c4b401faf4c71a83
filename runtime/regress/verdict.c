#include "runtime/regress/verdict.h"
#include "runtime/regress/movement.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct judge {
  tg_arena *arena;
  const tg_case *c;
  const json_t *run, *verify, *entry;
  tg_judging how;
  tg_verdict verdict;
} judge;

static void find(judge *j, bool failure, const char *kind, const char *text) {
  tg_finding finding = {kind, failure, text};
  TG_PUSH(j->arena, j->verdict.findings, j->verdict.count, j->verdict.capacity, finding);
  j->verdict.failed |= failure;
}

static const tg_bound *bound(const judge *j, tg_bound_id id) { return &j->c->bounds.of[id]; }

/* --- accuracy */

/* A measure that is not finite is null in reports: worse than any bound. */
static void check_measure(judge *j, tg_bound_id id, const char *output, const char *against,
                          const json_t *measures) {
  const tg_bound *b = bound(j, id);
  const char *key = tg_bound_name(id);
  if (!b->given) return;
  const json_t *value = json_object_get(measures, key);
  bool known = json_is_number(value);
  double number = json_number_value(value);
  bool floor = id == TG_BOUND_cosine;
  if (known && (floor ? number >= b->real : number <= b->real)) return;
  const char *is = known ? tg_arena_printf(j->arena, "%.4g", number) : "not finite";
  if (floor && known) is = tg_arena_printf(j->arena, "%.9g", number);
  find(j, true, "accuracy",
       tg_arena_printf(j->arena, "%s of output %s against %s is %s, %s %s", key, output, against, is,
                       floor ? "under its floor of" : "over its bound of", b->text));
}

static void check_accuracy(judge *j) {
  static const tg_bound_id measures[] = {TG_BOUND_max_abs, TG_BOUND_max_rel, TG_BOUND_rms, TG_BOUND_cosine};
  bool golden = bound(j, TG_BOUND_golden)->file_count > 0, any = false;
  const char *against = golden ? "the golden file" : "FP32", *output;
  json_t *errors = json_object_get(j->run, golden ? "error_vs_golden" : "error_vs_fp32"), *one;
  for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) any |= bound(j, measures[i])->given;
  if (!any && golden)
    find(j, true, "accuracy",
         "golden files without a bound (max_abs, max_rel, rms, cosine) on the error against them");
  if (any && !json_is_object(errors))
    find(j, true, "accuracy",
         "there is nothing to compare with: a compiled program has no FP32 model, a run for timing "
         "only no values (give golden files, or no bound)");
  if (!any) return;
  json_object_foreach(errors, output, one) {
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
      check_measure(j, measures[i], output, against, one);
  }
}

/* --- training */

static void check_loss(judge *j) {
  const tg_bound *b = bound(j, TG_BOUND_max_loss);
  const json_t *loss = json_object_get(json_object_get(j->run, "loss"), "mean_last_20");
  if (!b->given || (json_is_number(loss) && json_number_value(loss) <= b->real)) return;
  const char *is =
      json_is_number(loss) ? tg_arena_printf(j->arena, "%.6g", json_number_value(loss)) : "not finite";
  find(j, true, "training",
       tg_arena_printf(j->arena, "the mean loss of the last 20 steps is %s, over its bound of %s", is,
                       b->text));
}

static void check_training_accuracy(judge *j) {
  const tg_bound *b = bound(j, TG_BOUND_min_accuracy);
  const json_t *share = json_object_get(json_object_get(j->run, "evaluation"), "accuracy");
  if (!b->given || (json_is_number(share) && json_number_value(share) >= b->real)) return;
  if (json_is_number(share))
    find(j, true, "training",
         tg_arena_printf(j->arena, "accuracy after training is %.6g, under its floor of %s",
                         json_number_value(share), b->text));
  else
    find(
        j, true, "training",
        "there is no accuracy to hold to a floor: give --eval-data and --eval-labels, and a loss of classes");
}

static void check_training(judge *j) {
  const json_t *diverged = json_object_get(j->run, "diverged");
  const tg_bound *b = bound(j, TG_BOUND_max_skipped_steps);
  json_int_t skipped = json_integer_value(json_object_get(j->run, "skipped_steps"));
  if (diverged) find(j, true, "training", tg_arena_strdup(j->arena, json_string_value(diverged)));
  check_loss(j);
  check_training_accuracy(j);
  if (b->given && (double)skipped > b->real)
    find(j, true, "training",
         tg_arena_printf(j->arena, "%" PRId64 " steps were skipped, over the bound of %s", (int64_t)skipped,
                         b->text));
}

/* --- cycles, memory, utilization */

static bool within(const tg_bound *b, int64_t before, int64_t now) {
  if (!b->given) return now == before;
  if (b->tolerance == TG_TOLERANCE_ANY) return true;
  double room = b->tolerance == TG_TOLERANCE_SHARE ? b->real * (double)before : b->real;
  return fabs((double)now - (double)before) <= room;
}

static void check_cycles(judge *j) {
  const json_t *now = json_object_get(j->run, "cycles"), *before = json_object_get(j->entry, "cycles");
  if (!json_is_integer(now) || !json_is_integer(before)) return;
  int64_t x = json_integer_value(before), y = json_integer_value(now);
  if (x == y) return;
  const tg_bound *b = bound(j, TG_BOUND_cycles_tolerance);
  bool good = within(b, x, y);
  const char *text = tg_movement_text(j->arena, x, y, json_object_get(j->entry, "sections"),
                                      json_object_get(j->run, "sections"));
  if (good) text = tg_arena_printf(j->arena, "%s; tolerated: %s", text, b->text);
  j->verdict.moved = true;
  find(j, !good && j->how != TG_JUDGE_ACCEPT, "cycles", text);
}

static void check_memory(judge *j) {
  const tg_bound *b = bound(j, TG_BOUND_max_device_bytes);
  const json_t *now = json_object_get(j->run, "peak_device_bytes"),
               *before = json_object_get(j->entry, "device_bytes");
  int64_t bytes = json_integer_value(now), were = json_integer_value(before);
  const char *moved = "";
  if (json_is_integer(before) && bytes != were) {
    moved = tg_arena_printf(j->arena, "%s of device memory (%" PRId64 " -> %" PRId64 " bytes)",
                            tg_moved_text(j->arena, were, bytes), were, bytes);
    j->verdict.moved = true;
  }
  if (b->given && (uint64_t)bytes > b->bytes)
    find(j, true, "memory",
         tg_arena_printf(j->arena, "%" PRId64 " bytes of device memory are over the ceiling of %s%s%s", bytes,
                         b->text, *moved ? "; " : "", moved));
  else if (*moved)
    find(j, false, "memory", moved);
}

static void check_utilization(judge *j) {
  const tg_bound *b = bound(j, TG_BOUND_min_utilization);
  const json_t *share = json_object_get(j->run, "mac_utilization");
  if (!b->given || (json_is_number(share) && json_number_value(share) >= b->real)) return;
  if (json_is_number(share))
    find(j, true, "utilization",
         tg_arena_printf(j->arena, "utilization of the matrix units is %.4f, under its floor of %s",
                         json_number_value(share), b->text));
  else
    find(j, true, "utilization", "engine functional has no time, and so no utilization to hold to a floor");
}

static void check_energy(judge *j) {
  const tg_bound *b = bound(j, TG_BOUND_max_joules_per_sample);
  const json_t *energy = json_object_get(json_object_get(j->run, "energy"), "joules_per_sample");
  if (!b->given || (json_is_number(energy) && json_number_value(energy) <= b->real)) return;
  if (json_is_number(energy))
    find(j, true, "energy",
         tg_arena_printf(j->arena, "%.4g J a sample are over the ceiling of %s", json_number_value(energy),
                         b->text));
  else
    find(j, true, "energy", "engine functional has no time, and so no energy to hold to a ceiling");
}

/* --- outputs, engines, baseline */

/* ", loss 0.1 -> 0.2", where both runs know it. */
static const char *loss_movement(const judge *j) {
  const json_t *before = json_object_get(j->entry, "loss"),
               *now = json_object_get(json_object_get(j->run, "loss"), "mean_last_20");
  if (!json_is_number(before) || !json_is_number(now)) return "";
  return tg_arena_printf(j->arena, ", mean loss of the last steps %.3g -> %.3g", json_number_value(before),
                         json_number_value(now));
}

/* " (max_abs of y 0.1 -> 0.2)": the error that moved most visibly, where both runs know it. */
static const char *error_movement(const judge *j) {
  const char *output, *key = "max_abs";
  json_t *measures;
  json_object_foreach(json_object_get(j->run, "error_vs_fp32"), output, measures) {
    const json_t *before =
        json_object_get(json_object_get(json_object_get(j->entry, "error_vs_fp32"), output), key);
    double x = json_number_value(before), y = json_number_value(json_object_get(measures, key));
    if (json_is_number(before) && fabs(y - x) > 0.01 * fmax(fabs(x), fabs(y)))
      return tg_arena_printf(j->arena, ", %s of %s against FP32 %.3g -> %.3g", key, output, x, y);
  }
  return "";
}

static void check_outputs(judge *j) {
  const tg_bound *b = bound(j, TG_BOUND_outputs_equal);
  const json_t *now = json_object_get(j->run, "output_digests"),
               *before = json_object_get(j->entry, "output_digests");
  if (!json_is_object(now) || !json_is_object(before) || json_equal(now, before)) return;
  const json_t *losses = json_object_get(now, "losses"), *were = json_object_get(before, "losses");
  j->verdict.moved = true;
  find(j, b->given && b->real != 0 && j->how != TG_JUDGE_ACCEPT, "outputs",
       tg_arena_printf(j->arena, "bits of the %s moved%s",
                       !j->c->trains              ? "outputs"
                       : json_equal(losses, were) ? "parameters"
                                                  : "losses",
                       j->c->trains ? loss_movement(j) : error_movement(j)));
}

static void check_engines(judge *j) {
  if (!j->verify) return;
  bool bits = json_is_true(json_object_get(j->verify, "equal_bits")),
       cycles = json_is_true(json_object_get(j->verify, "equal_cycles"));
  if (bits && cycles) return;
  const json_t *first = json_object_get(j->verify, "first_difference");
  const char *kind = json_string_value(json_object_get(first, "kind")),
             *where = json_string_value(json_object_get(first, "where"));
  find(j, true, "engines",
       tg_arena_printf(j->arena, "the engines differ: %s at %s", kind ? kind : "first", where ? where : "?"));
}

static void check_baseline(judge *j) {
  j->verdict.fresh = !j->entry;
  if (j->entry || j->how == TG_JUDGE_ACCEPT) return;
  find(j, j->how == TG_JUDGE_REQUIRE, "baseline", "there is no baseline: --update-baseline records one");
}

/* A case that is expected to fail does, or is to be looked at. One that somebody killed tells nothing. */
static void check_expectation(judge *j, tg_outcome outcome) {
  const char *reason = bound(j, TG_BOUND_expected_failure)->text;
  tg_verdict *v = &j->verdict;
  if (!reason || !*reason || outcome == TG_KILLED) return;
  if (!v->failed) {
    find(j, j->how != TG_JUDGE_ACCEPT, "expected",
         tg_arena_printf(j->arena, "it passed, and was expected to fail: %s", reason));
    return;
  }
  v->failed = v->broken = false;
  v->expected = true;
  for (size_t i = 0; i < v->count; i++) v->findings[i].failure = false;
  find(j, false, "expected", reason);
}

tg_verdict tg_judge(tg_arena *arena, const tg_case *c, const tg_result *result, const json_t *entry,
                    tg_judging how) {
  judge j = {
      .arena = arena, .c = c, .run = result->run, .verify = result->verify, .entry = entry, .how = how};
  if (result->outcome != TG_RAN) {
    j.verdict.broken = true;
    find(&j, true, tg_outcome_name(result->outcome), result->detail);
  } else {
    check_engines(&j);
    if (c->trains)
      check_training(&j);
    else
      check_accuracy(&j);
    check_cycles(&j);
    check_memory(&j);
    check_utilization(&j);
    check_energy(&j);
    check_outputs(&j);
    check_baseline(&j);
  }
  if (result->retries)
    find(
        &j, false, "retries",
        tg_arena_printf(arena, "it hung %d time%s before", result->retries, result->retries == 1 ? "" : "s"));
  check_expectation(&j, result->outcome);
  return j.verdict;
}

const char *tg_verdict_name(const tg_verdict *v) {
  return v->failed ? "failed" : v->expected ? "expected" : v->fresh ? "new" : "passed";
}
