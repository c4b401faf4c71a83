#include "tests/sim/support.h"

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

char *tg_test_trace(const tg_engine *engine, const char *text, const tg_run_options *options) {
  char *trace = NULL;
  size_t size;
  tg_program *program = tg_test_program(text);
  FILE *out = open_memstream(&trace, &size);
  if (!out) tg_die("out of memory");
  if (program) print_run(out, engine, program, options);
  fclose(out);
  tg_program_destroy(program);
  return trace;
}
