#include "tests/functions/measure.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 32 }; /* of P = 16 */

struct runner {
  tg_program *program;
  tg_machine_state *state;
  tg_kernels *kernels;
  tg_execution execution;
  int format, inputs, operations;
};

static tg_program *one_tile(void) {
  static const char *const settings[] = {"rows=1", "cols=1", "p=16", "bank_bytes=16384"};
  tg_params params;
  if (tg_params_load("tiny", &params, NULL)) tg_die("no preset tiny");
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (tg_params_set(&params, settings[i], NULL)) tg_die("%s", settings[i]);
  tg_program *program = tg_program_create(&params);
  tg_program_add_section(program, "function");
  tg_program_add_invocation(program);
  return program;
}

/* Bank 0 for `a`, 1 for `b`, 2 for the result: each holds a block. */
static void set_stream(const tg_params *m, tg_stream *s, int bank, int kind, bool store) {
  s->kind = kind;
  s->store = store;
  s->banks = 1 << bank;
  s->at.base = bank * tg_bank_rows(m);
  s->row[2] = kind == TG_STREAM_FP32 ? 2 : 1;
}

runner *runner_open(const measured_function *function, int format) {
  runner *r = calloc(1, sizeof *r);
  if (!r) tg_die("out of memory");
  tg_diag diag = {""};
  r->program = one_tile();
  r->format = format;
  r->inputs = function->unary ? 1 : 2;
  tg_mc mc;
  tg_mc_begin(&mc, &r->program->arena);
  tg_mc_accuracy accuracy = format == TG_STREAM_FP32 ? TG_MC_SINGLE : TG_MC_NARROW;
  tg_mc_ref a = tg_mc_load(&mc, 0, true), y;
  if (function->unary)
    y = function->unary(&mc, a, accuracy);
  else
    y = function->binary(&mc, a, tg_mc_load(&mc, 1, true), accuracy);
  r->operations = tg_mc_operations(&mc);
  tg_mc_store(&mc, r->inputs, format == TG_STREAM_FP32, y);
  tg_tile_program *tile = &r->program->sections[0].tiles[0];
  tg_vx_instr *vop = &tg_queue_push(r->program, &tile->vx)->vx;
  vop->op = TG_OP_vx_vop;
  if (tg_mc_pack(&mc, r->program, 0, vop, &diag)) tg_die("%s: %s", function->name, diag.message);
  vop->rows = vop->row_count[2] = BLOCK / LANES;
  vop->row_count[0] = vop->row_count[1] = vop->j_count[0] = vop->j_count[1] = 1;
  for (int s = 0; s <= r->inputs; s++)
    set_stream(&r->program->params, tg_stream_of_mut(vop, s), s, s < r->inputs ? TG_STREAM_FP32 : format,
               s == r->inputs);
  if (tg_program_check(r->program, &diag) || tg_kernels_prepare(r->program, &r->kernels, &diag))
    tg_die("%s: %s", function->name, diag.message);
  r->state = tg_machine_create(&r->program->params);
  tg_machine_begin(r->state, r->program, 0, 0, 0, NULL);
  tg_sequencer sequencer;
  tg_sequencer_init(&sequencer, TG_VX, &tile->vx);
  r->execution = tg_sequencer_peek(&sequencer);
  if (tg_exec_check(r->state, 0, TG_VX, &r->execution, &diag)) tg_die("%s: %s", function->name, diag.message);
  return r;
}

void runner_close(runner *r) {
  tg_kernels_destroy(r->kernels);
  tg_machine_destroy(r->state);
  tg_program_destroy(r->program);
  free(r);
}

int runner_operations(const runner *r) { return r->operations; }

static uint8_t *bank(const runner *r, int number) {
  return tg_pad_row(r->state, 0, (uint32_t)number * tg_bank_rows(&r->program->params));
}

static void run(const tg_kernels *kernels, runner *r, const uint32_t *a, const uint32_t *b, uint32_t *out,
                uint32_t count) {
  memcpy(bank(r, 0), a, count * sizeof *a);
  if (r->inputs > 1) memcpy(bank(r, 1), b, count * sizeof *b);
  tg_exec_vop(kernels, r->state, 0, &r->execution);
  const uint8_t *result = bank(r, r->inputs);
  if (r->format == TG_STREAM_FP32) {
    memcpy(out, result, count * sizeof *out);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint16_t half;
    memcpy(&half, result + 2 * i, 2);
    out[i] = half;
  }
}

void runner_run(runner *r, const uint32_t *a, const uint32_t *b, uint32_t *out, uint32_t count) {
  run(r->kernels, r, a, b, out, count);
}

void runner_run_reference(runner *r, const uint32_t *a, const uint32_t *b, uint32_t *out, uint32_t count) {
  run(tg_kernels_reference(), r, a, b, out, count);
}
