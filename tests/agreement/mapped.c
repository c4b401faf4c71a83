#include "tests/agreement/mapped.h"

#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "mapper/mapper.h"
#include "sim/machine/ordering.h"

#include <stdio.h>

const char *const chip_names[CHIPS] = {"tiny", "row", "odd", "edge"};

static const char *const chip_settings[CHIPS][10] = {
    [CHIP_ROW] = {"rows=1", "cols=3", "agcu_contexts=3", "dram_latency=7", "semaphores=40"},
    [CHIP_ODD] = {"rows=2", "cols=1", "p=2", "banks=11", "fma_latency=5", "dram_latency=1", "port_bytes=64",
                  "burst_flits=16", "agcu_buffers=3"},
};

tg_status chip_params(chip which, tg_params *out_params, tg_diag *diag) {
  tg_status status = tg_params_load(which == CHIP_EDGE ? "edge" : "tiny", out_params, diag);
  if (!status) status = tg_dram_device_load("simple", NULL, &out_params->dram, diag);
  for (int i = 0; chip_settings[which][i] && !status; i++)
    status = tg_params_set(out_params, chip_settings[which][i], diag);
  return status;
}

tg_status map_graph(tg_graph *graph, const tg_params *params, const tg_precision_options *precision,
                    uint64_t seed, uint64_t any_tiling, tg_program **out_program, tg_diag *diag) {
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision = *precision;
  tg_status status = tg_frontend_lower(graph, &options, diag);
  tg_map_options map = {.accum_bf16sr = precision->tiling_accum == TG_ACCUM_BF16SR,
                        .k_tile = precision->k_tile,
                        .seed = seed,
                        .any_tiling = any_tiling};
  return status ? status : tg_map(graph, params, &map, out_program, diag);
}

tg_status map_text(const char *text, const tg_params *params, const tg_precision_options *precision,
                   uint64_t any_tiling, tg_program **out_program, tg_diag *diag) {
  tg_arena arena = {0};
  tg_graph *graph;
  tg_status status = tg_graph_parse(&arena, text, &graph, diag);
  if (!status) status = map_graph(graph, params, precision, 5, any_tiling, out_program, diag);
  tg_arena_release(&arena);
  return status;
}

static const char *compare(const engine_run *functional, const engine_run *systemc, const engine_run *rtl) {
  if (functional->status) return functional->diag.message;
  if (systemc->status) return systemc->diag.message;
  if (rtl->status) return rtl->diag.message;
  const char *difference = engine_runs_differ(functional, systemc, false);
  return difference ? difference : engine_runs_differ(systemc, rtl, true);
}

const char *engines_differ(const tg_program *program, tg_run_options options, uint64_t *cycles) {
  static char text[sizeof(tg_diag) + 16];
  tg_diag diag = {""};
  if (tg_check_ordering(program, &diag)) {
    snprintf(text, sizeof text, "not ordered: %s", diag.message);
    return text;
  }
  engine_run functional = engine_run_numbers(&tg_engine_functional, program, options),
             systemc = engine_run_numbers(&tg_engine_systemc, program, options),
             rtl = engine_run_numbers(&tg_engine_rtl, program, options);
  const char *difference = compare(&functional, &systemc, &rtl);
  if (difference) snprintf(text, sizeof text, "%s", difference);
  if (cycles) *cycles += rtl.result.cycles;
  engine_run_release(&functional);
  engine_run_release(&systemc);
  engine_run_release(&rtl);
  return difference ? text : NULL;
}
