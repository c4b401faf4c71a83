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

json_t *tg_sweep_row(const tg_session *session, const char *policy, const char *accumulation) {
  static const char *const kept[] = {
      "precision", "cycles", "samples_per_second", "mac_utilization", "peak_device_bytes", "error_vs_fp32"};
  json_t *report = tg_report(session), *row = json_object();
  json_object_set_new(row, "policy", json_string(policy));
  json_object_set_new(row, "tiling_accum", json_string(accumulation));
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    json_object_set(row, kept[i], json_object_get(report, kept[i]));
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

static double cycles_of(const json_t *row) {
  const json_t *cycles = json_object_get(row, "cycles");
  return json_is_number(cycles) ? json_number_value(cycles) : NAN;
}

/* Is `other` at least as good in both, and better in one? False for what is not known. */
static bool beats(const json_t *other, const json_t *row) {
  double c = cycles_of(other), e = tg_sweep_error(other), own_c = cycles_of(row), own_e = tg_sweep_error(row);
  return c <= own_c && e <= own_e && (c < own_c || e < own_e);
}

void tg_sweep_finish(json_t *rows, uint64_t mp0_cycles) {
  size_t i, j;
  json_t *row, *other;
  json_array_foreach(rows, i, row) {
    double cycles = cycles_of(row);
    bool known = mp0_cycles && cycles > 0, front = known && !isnan(tg_sweep_error(row));
    json_object_set_new(row, "speedup_over_mp0",
                        known ? json_real((double)mp0_cycles / cycles) : json_null());
    json_array_foreach(rows, j, other) front = front && !beats(other, row);
    json_object_set_new(row, "pareto", json_boolean(front));
  }
}
