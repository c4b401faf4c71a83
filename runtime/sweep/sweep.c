#include "runtime/sweep/sweep.h"
#include "runtime/report/report.h"

#include <math.h>
#include <string.h>

const tg_sweep_policy tg_sweep_policies[] = {
#define SWEEP(label, graphamp, family, dtype, level, device, matmul)                                         \
  {label,                                                                                                    \
   {.preset = graphamp,                                                                                      \
    .amp = family,                                                                                           \
    .amp_dtype = dtype,                                                                                      \
    .hmp_opt_level = level,                                                                                  \
    .autocast_device = device,                                                                               \
    .matmul_precision = matmul}},
#include "runtime/sweep/policies.def"
#undef SWEEP
    {0},
};

const tg_sweep_policy *tg_sweep_policy_named(const char *name) {
  for (const tg_sweep_policy *policy = tg_sweep_policies; policy->name; policy++)
    if (!strcmp(policy->name, name)) return policy;
  return NULL;
}

const char *tg_sweep_array_name(tg_arena *arena, const char *arch, const char *const *settings,
                                size_t count) {
  const char *name = arch ? arch : "edge", *stem = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
  name = tg_arena_strndup(arena, stem, strcspn(stem, "."));
  for (size_t i = 0; i < count; i++) name = tg_arena_printf(arena, "%s %s", name, settings[i]);
  return name;
}

json_t *tg_sweep_row(const tg_session *session, const char *policy, const char *accumulation) {
  static const char *const kept[] = {
      "precision", "cycles", "samples_per_second", "mac_utilization", "peak_device_bytes", "error_vs_fp32"};
  json_t *report = tg_report(session), *row = json_object();
  json_object_set_new(row, "policy", json_string(policy));
  json_object_set_new(row, "tiling_accum", json_string(accumulation));
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    json_object_set(row, kept[i], json_object_get(report, kept[i]));
  json_t *joules = json_object_get(json_object_get(report, "energy"), "joules_per_sample");
  json_object_set_new(row, "joules_per_sample", joules ? json_incref(joules) : json_null());
  json_decref(report);
  return row;
}

json_t *tg_sweep_failed_row(const char *policy, const char *accumulation, const char *why) {
  return json_pack("{s:s, s:s, s:s, s:n}", "policy", policy, "tiling_accum", accumulation, "refused", why,
                   "cycles");
}

double tg_sweep_error(const json_t *row) {
  double worst = NAN;
  const char *name;
  json_t *error;
  json_object_foreach(json_object_get(row, "error_vs_fp32"), name, error) {
    const json_t *rms = json_object_get(error, "rms");
    if (json_is_number(rms) && !(json_number_value(rms) <= worst)) worst = json_number_value(rms);
  }
  return worst;
}

static double number_of(const json_t *row, const char *key) {
  const json_t *number = json_object_get(row, key);
  return json_is_number(number) ? json_number_value(number) : NAN;
}

/* Is `other` at least as good in both, and better in one? More of `gain` is better. False for what is not known. */
static bool beats(const json_t *other, const json_t *row, const char *gain) {
  double g = number_of(other, gain), e = tg_sweep_error(other), own_g = number_of(row, gain),
         own_e = tg_sweep_error(row);
  return g >= own_g && e <= own_e && (g > own_g || e < own_e);
}

static void find_front(json_t *rows, const char *gain, const char *key) {
  size_t i, j;
  json_t *row, *other;
  json_array_foreach(rows, i, row) {
    bool front = number_of(row, gain) > 0 && !isnan(tg_sweep_error(row));
    json_array_foreach(rows, j, other) front = front && !beats(other, row, gain);
    json_object_set_new(row, key, json_boolean(front));
  }
}

static json_t *ratio(double over, double under) {
  return over > 0 && under > 0 ? json_real(over / under) : json_null();
}

/* Of the rows of one array and policy, and of no batch or the same, the one that does not round; NULL: there is none. */
static const json_t *unrounded(json_t *rows, const json_t *row) {
  static const char *const same[] = {"array", "policy", "batch"};
  size_t i;
  json_t *other;
  json_array_foreach(rows, i, other) {
    bool fits = !strcmp(json_string_value(json_object_get(other, "tiling_accum")), "fp32");
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
      const json_t *a = json_object_get(row, same[k]), *b = json_object_get(other, same[k]);
      fits = fits && (a == b || (a && b && json_equal(a, b)));
    }
    if (fits) return other;
  }
  return NULL;
}

void tg_sweep_finish(json_t *rows, const json_t *mp0) {
  size_t i;
  json_t *row;
  json_array_foreach(rows, i, row) {
    json_object_set_new(row, "speedup_over_mp0",
                        ratio(number_of(row, "samples_per_second"), number_of(mp0, "samples_per_second")));
    json_object_set_new(row, "saving_over_mp0",
                        ratio(number_of(mp0, "joules_per_sample"), number_of(row, "joules_per_sample")));
    if (!strcmp(json_string_value(json_object_get(row, "tiling_accum")), "fp32")) continue;
    json_object_set_new(row, "cycles_over_fp32",
                        ratio(number_of(row, "cycles"), number_of(unrounded(rows, row), "cycles")));
  }
  find_front(rows, "speedup_over_mp0", "pareto");
  find_front(rows, "saving_over_mp0", "pareto_energy");
}

bool tg_sweep_has_arrays(const json_t *rows) {
  size_t i;
  json_t *row;
  const json_t *first = json_object_get(json_array_get(rows, 0), "array");
  json_array_foreach((json_t *)(uintptr_t)rows, i,
                     row) if (!json_equal(json_object_get(row, "array"), first)) return true;
  return false;
}
