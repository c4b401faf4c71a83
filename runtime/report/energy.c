#include "runtime/report/energy.h"
#include "runtime/json_text.h"

static json_t *by_kind(const tg_energy_sum *sum) {
  json_t *kinds = json_object();
  for (int k = 0; k < TG_ENERGY_KINDS; k++)
    json_object_set_new(kinds, tg_energy_kind_name((tg_energy_kind)k), json_real(sum->joules[k]));
  return kinds;
}

static json_t *counts(const tg_actions *actions) {
  json_t *object = json_object();
  for (int a = 0; a < TG_ACTIONS; a++)
    json_object_set_new(object, tg_action_name((tg_action)a), json_integer((json_int_t)actions->count[a]));
  return object;
}

json_t *tg_report_energy(const tg_program *program, const tg_run_result *result, int64_t samples) {
  if (!result->sections || !result->cycles) return json_null();
  const tg_params *m = &program->params;
  tg_energy_sum sum = {{0}};
  tg_actions actions = {{0}};
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    uint64_t cycles = tg_section_cycles(result, i, program->invocation_count);
    tg_energy_sum one = tg_energy_of_section(m, &result->sections[i], cycles);
    for (int k = 0; k < TG_ENERGY_KINDS; k++) sum.joules[k] += one.joules[k];
    tg_actions_add(&actions, &result->sections[i].actions);
  }
  double joules = tg_energy_total(&sum), seconds = (double)result->cycles / (1e6 * m->clock_mhz);
  tg_arena arena = {0};
  json_t *energy =
      json_pack("{s:o, s:f, s:f, s:f, s:o, s:o}", "prices", tg_json_text(tg_energy_print(&m->energy, &arena)),
                "joules", joules, "joules_per_sample", joules / (double)(samples ? samples : 1), "watts",
                joules / seconds, "by_kind", by_kind(&sum), "actions", counts(&actions));
  tg_arena_release(&arena);
  return energy;
}

json_t *tg_section_energy(const tg_program *program, const tg_run_result *result, uint32_t i) {
  uint64_t cycles = tg_section_cycles(result, i, program->invocation_count);
  tg_energy_sum sum = tg_energy_of_section(&program->params, &result->sections[i], cycles);
  return json_pack("{s:f, s:o, s:o}", "joules", tg_energy_total(&sum), "by_kind", by_kind(&sum), "actions",
                   counts(&result->sections[i].actions));
}
