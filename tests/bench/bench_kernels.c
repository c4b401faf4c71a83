/* Speed of the native GEMM kernels on one thread: not a test, nothing depends on its figures. */
#include "sim/functional/exec.h"
#include "sim/machine/numerics.h"

#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* M = 128 rows over `columns` column blocks and `ksteps` k blocks on `edge`. */
static void add(tg_program *program, int format, int64_t columns, int64_t ksteps, bool transposed, bool sr) {
  tg_mx_instr *in = &tg_queue_push(program, &program->sections[0].tiles[0].mx)->mx;
  int64_t s = format == TG_FMT_FP32 ? 8 : 16;
  in->op = TG_OP_mx_gemm;
  in->format = format;
  in->m_count[0] = 1;
  in->m_count[1] = 128;
  in->blk_count[0] = 1;
  in->blk_count[1] = format == TG_FMT_FP32 ? columns / 2 : columns;
  in->blk_count[2] = format == TG_FMT_FP32 ? 2 : 1;
  in->blk_count[3] = ksteps;
  in->k_loops = 8;
  in->a_m[1] = ksteps;
  in->a_blk[3] = 1;
  in->b_base = 4096;
  in->b_row = transposed ? ksteps : columns;
  in->b_transposed = transposed;
  in->b_blk[1] = transposed ? s * ksteps * (format == TG_FMT_FP32 ? 2 : 1) : format == TG_FMT_FP32 ? 2 : 1;
  in->b_blk[2] = transposed ? s * ksteps : 1;
  in->b_blk[3] = transposed ? 1 : s * columns;
  in->c_blk[1] = 128;
  in->h_blk[2] = 1;
  in->k_chunk = in->k_total = s * ksteps;
  in->sr = sr;
  in->sr_k = s * ksteps;
  in->sr_end = 1;
  in->sr_col_blk[1] = in->sr_col_blk[2] = s;
}

int main(void) {
  static const struct {
    const char *name;
    int format, columns, ksteps;
    bool transposed, sr;
  } cases[] = {{"bf16 128x128x64", TG_FMT_BF16, 8, 4, false, false},
               {"fp16 128x128x64", TG_FMT_FP16, 8, 4, false, false},
               {"fp32 128x128x64", TG_FMT_FP32, 16, 8, false, false},
               {"bf16 128x128x128", TG_FMT_BF16, 8, 8, false, false},
               {"bf16 128x128x128 rounded", TG_FMT_BF16, 8, 8, false, true},
               {"bf16 128x128x64 transposed", TG_FMT_BF16, 8, 4, true, false},
               {"fp32 128x128x64 transposed", TG_FMT_FP32, 16, 8, true, false}};
  enum { CASES = sizeof cases / sizeof *cases };
  tg_params params;
  tg_diag diag = {""};
  if (tg_params_load("edge", &params, &diag)) tg_die("%s", diag.message);
  tg_program *program = tg_program_create(&params);
  tg_program_add_section(program, "bench");
  tg_program_add_invocation(program);
  for (int c = 0; c < CASES; c++)
    add(program, cases[c].format, cases[c].columns, cases[c].ksteps, cases[c].transposed, cases[c].sr);
  tg_kernels *kernels;
  double start = now();
  if (tg_program_check(program, &diag) || tg_kernels_prepare(program, &kernels, &diag))
    tg_die("%s", diag.message);
  printf("prepare: %.1f ms\n", 1e3 * (now() - start));
  tg_machine_state *state = tg_machine_create(&params);
  tg_machine_begin(state, program, 0, 1, 0, NULL);
  for (size_t i = 0; i < (size_t)tg_pad_rows(&params) * 16; i++)
    ((uint16_t *)(void *)state->tiles[0].pad)[i] = (uint16_t)(0x3c00 + i * 7919 % 511);
  tg_sequencer sequencer;
  tg_sequencer_init(&sequencer, TG_MX, &program->sections[0].tiles[0].mx);
  for (int c = 0; c < CASES; c++, tg_sequencer_step(&sequencer)) {
    tg_execution x = tg_sequencer_peek(&sequencer);
    if (tg_exec_check(state, 0, TG_MX, &x, &diag)) tg_die("%s", diag.message);
    tg_gemm_setup g = tg_gemm_setup_of(state, &x);
    double flops = 2.0 * g.m * g.blocks * g.s * g.s, best = 1e9;
    for (int repeat = 0; repeat < 20; repeat++) {
      start = now();
      for (int i = 0; i < 50; i++) tg_exec_gemm(kernels, state, 0, &x);
      double seconds = (now() - start) / 50;
      if (seconds < best) best = seconds;
    }
    printf("%-28s %7.2f us %7.1f GFLOP/s\n", cases[c].name, 1e6 * best, 1e-9 * flops / best);
  }
  tg_kernels_destroy(kernels);
  tg_machine_destroy(state);
  tg_program_destroy(program);
}
