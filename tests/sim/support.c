#include "tests/sim/support.h"
#include "sim/machine/config.h"

#include <stdio.h>
#include <stdlib.h>

tg_program *tg_test_program(const char *text) {
  tg_diag diag = {0};
  tg_program *program = NULL;
  if (tg_program_parse(text, &program, &diag) || tg_program_check(program, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "the program is not well formed: %s", diag.message);
    tg_program_destroy(program);
    return NULL;
  }
  return program;
}

static void print_event(FILE *out, const tg_params *m, const tg_event *e) {
  if (e->unit == TG_AGCU)
    fprintf(out, "agcu %u context %u", e->endpoint - tg_tiles(m), e->context);
  else
    fprintf(out, "tile %u %s", e->endpoint, tg_unit_name(e->unit));
  fprintf(out, " %u: %llu-%llu\n", e->pc, (unsigned long long)e->start, (unsigned long long)e->end);
}

static void print_run(FILE *out, const tg_engine *engine, const tg_program *program,
                      const tg_run_options *options) {
  tg_diag diag = {0};
  tg_run_result result = {0};
  tg_dram *dram = NULL;
  void *state = NULL;
  tg_status status = tg_dram_create(program, &dram, &diag);
  if (!status) status = engine->open(program, options, &state, &diag);
  if (!status) status = engine->run(state, dram, options, &result, &diag);
  if (status) {
    fprintf(out, "status %d: %s\n", status, diag.message);
  } else {
    for (size_t i = 0; i < result.event_count; i++) print_event(out, &program->params, &result.events[i]);
    fprintf(out, "cycles %llu\n", (unsigned long long)result.cycles);
  }
  if (state) engine->close(state);
  tg_run_result_release(&result);
  tg_dram_destroy(dram);
}

static uint32_t longest_queue(const tg_params *m, const tg_section *section) {
  uint32_t most = 0;
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    const tg_tile_program *tile = &section->tiles[t];
    const tg_queue *queues[] = {&tile->mx, &tile->vx, &tile->tx};
    for (int q = 0; q < 3; q++)
      if (most < queues[q]->count) most = queues[q]->count;
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++)
    for (uint32_t c = 0; c < m->agcu_contexts; c++)
      if (most < section->agcus[a].contexts[c].count) most = section->agcus[a].contexts[c].count;
  return most;
}

void tg_test_settle(tg_program *program) {
  tg_params *m = &program->params;
  if (!program->section_count || m->config_cycles) return;
  uint64_t wanted = 32 + 16 * longest_queue(m, program->sections);
  uint64_t words = tg_section_config_words(m, program->sections);
  m->config_cycles = words < wanted ? (uint32_t)(wanted - words) : 0;
}

char *tg_test_trace(const tg_engine *engine, const char *text, const tg_run_options *options) {
  char *trace = NULL;
  size_t size;
  tg_program *program = tg_test_program(text);
  FILE *out = open_memstream(&trace, &size);
  if (!out) tg_die("out of memory");
  if (program) tg_test_settle(program);
  if (program) print_run(out, engine, program, options);
  fclose(out);
  tg_program_destroy(program);
  return trace;
}
