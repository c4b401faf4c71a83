/* `energy` of a report and of its sections. */
#ifndef TEGULA_RUNTIME_REPORT_ENERGY_H
#define TEGULA_RUNTIME_REPORT_ENERGY_H

#include "sim/machine/energy_sum.h"

#include <jansson.h>

/* Of a run, with `samples` samples; null without time. */
json_t *tg_report_energy(const tg_program *program, const tg_run_result *result, int64_t samples);
/* Of invocation `i`. */
json_t *tg_section_energy(const tg_program *program, const tg_run_result *result, uint32_t i);

#endif
