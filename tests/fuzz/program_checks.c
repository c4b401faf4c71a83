#include "tests/fuzz/program_checks.h"
#include "sim/functional/functional.h"
#include "sim/machine/ordering.h"

enum { MOST_MEMORY = 1 << 20, MOST_WORK = 20000 };

static void check_text(const tg_program *program) {
  tg_diag diag = {""};
  tg_program *again;
  char *printed = tg_program_print(program);
  FUZZ_WANT(!tg_program_parse(printed, &again, &diag), "%s, of what was printed:\n%s", diag.message, printed);
  char *twice = tg_program_print(again);
  FUZZ_WANT(!strcmp(printed, twice), "it prints\n%s\nand again\n%s", printed, twice);
  free(printed);
  free(twice);
  tg_program_destroy(again);
}

/* Rows, words or elements that an execution may touch. */
static double touched(tg_unit unit, const tg_instr *in) {
  if (in->common.op == TG_OP_sync) return 1;
  double sum = 1;
  switch (unit) {
  case TG_MX:
    for (int l = 0; l < 4; l++) sum *= (double)in->mx.blk_count[l];
    return sum * (double)(in->mx.m_count[0] * in->mx.m_count[1]);
  case TG_VX:
    for (int d = 0; d < 3; d++) sum *= (double)in->vx.row_count[d];
    for (int d = 0; d < 2; d++) sum *= (double)in->vx.j_count[d];
    return sum * 64; /* words of the segments */
  case TG_TX: return (double)in->tx.flits;
  case TG_AGCU: return (double)in->agcu.rows * (double)in->agcu.take;
  }
  return sum;
}

/* At most what a queue does: loops may go round all of it. */
static double work(tg_unit unit, const tg_queue *queue) {
  double sum = 0, times = 1;
  for (uint32_t i = 0; i < queue->count; i++) {
    sum += touched(unit, &queue->instrs[i]);
    for (int l = 0; l < TG_LEVELS; l++) times *= (double)queue->instrs[i].common.loop_count[l] + 1;
  }
  return sum * times;
}

static bool soon_done(const tg_program *program) {
  const tg_params *m = &program->params;
  double sum = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_section *s = &program->sections[program->invocations[i].section];
    for (uint32_t t = 0; t < tg_tiles(m); t++)
      sum += work(TG_MX, &s->tiles[t].mx) + work(TG_VX, &s->tiles[t].vx) + work(TG_TX, &s->tiles[t].tx);
    for (uint32_t a = 0; a < tg_agcus(m); a++)
      for (uint32_t c = 0; c < m->agcu_contexts; c++) sum += work(TG_AGCU, &s->agcus[a].contexts[c]);
  }
  return sum < MOST_WORK && program->dram_bytes <= MOST_MEMORY && program->invocation_count < 16 &&
         (uint64_t)tg_tiles(m) * (tg_pad_rows(m) + tg_acc_rows(m)) * tg_flit_bytes(m) <= 16 * MOST_MEMORY;
}

static void run(const tg_program *program) {
  tg_diag diag = {""};
  tg_run_options options = {.threads = 1};
  tg_run_result result = {0};
  void *state;
  tg_dram *dram;
  if (tg_dram_create(program, &dram, &diag)) return;
  if (!tg_engine_reference.open(program, &options, &state, &diag)) {
    tg_status status = tg_engine_reference.run(state, dram, &options, &result, &diag);
    FUZZ_WANT((status == TG_OK) == !diag.message[0], "status %d, \"%s\"", (int)status, diag.message);
    tg_engine_reference.close(state);
    tg_run_result_release(&result);
  }
  tg_dram_destroy(dram);
}

void check_program(const tg_program *program) {
  tg_diag diag = {""};
  check_text(program);
  if (soon_done(program)) {
    tg_status status = tg_check_ordering(program, &diag);
    FUZZ_WANT((status == TG_OK) == !diag.message[0], "status %d, \"%s\"", (int)status, diag.message);
    run(program);
  }
}
