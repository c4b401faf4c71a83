/* Speed of the engines: cycles of the RTL a second on a running product on `tiny`, and the wall time of a
 * large product on `edge` next to the host's library. Not a test, nothing depends on its figures. */
#include "frontend/infer.h"
#include "frontend/text.h"
#include "runtime/cpu_reference/cpu_reference.h"
#include "tests/agreement/mapped.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PRODUCT(m, k, n)                                                                                     \
  "graph \"g\"\ninput %a: f32[" #m "," #k "]\nconst %b: f32[" #k "," #n "] = seeded(7, 0.5)\n"               \
  "%y = MatMul(%a, %b) @0\noutput \"y\" %y: f32\n"

static const char *const presets[] = {"mp0", "mp1"};

static void run(const tg_engine *engine, chip which, const char *text, int preset, uint32_t threads,
                bool timing_only, const char *label) {
  tg_diag diag = {""};
  tg_params params;
  tg_program *program;
  tg_precision_options precision;
  tg_precision_defaults(&precision);
  precision.preset = (tg_precision_preset)preset;
  if (chip_params(which, &params, &diag) || map_text(text, &params, &precision, 0, &program, &diag))
    tg_die("%s", diag.message);
  engine_run r = engine_run_numbers(
      engine, program, (tg_run_options){.threads = threads, .seed = 5, .timing_only = timing_only});
  if (r.status) tg_die("%s", r.diag.message);
  printf("%-10s %-4s %-26s %10llu cycles %8.3f s %12.0f cycles/s\n", engine->name, presets[preset], label,
         (unsigned long long)r.result.cycles, r.result.seconds, (double)r.result.cycles / r.result.seconds);
  engine_run_release(&r);
  tg_program_destroy(program);
}

static void run_host(const char *text, tg_dtype dtype, int threads) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  tg_cpu_reference *reference;
  tg_cpu_time seconds;
  if (tg_graph_parse(&arena, text, &graph, &diag) || tg_graph_infer(graph, &diag) ||
      tg_cpu_reference_create(graph, dtype, threads, &reference, &diag) ||
      tg_cpu_reference_time(reference, (tg_cpu_effort){.budget = 1}, &seconds, &diag))
    tg_die("%s", diag.message);
  printf("%s %s, %s, %d threads: %.3f s\n", seconds.library, seconds.version,
         dtype == TG_BF16 ? "bf16" : "fp32", seconds.threads, seconds.seconds);
  tg_cpu_reference_destroy(reference);
  tg_arena_release(&arena);
}

int main(void) {
  static const char small[] = PRODUCT(128, 128, 128), large[] = PRODUCT(1024, 1024, 1024);
  for (int preset = 0; preset < 2; preset++)
    run(&tg_engine_rtl, CHIP_TINY, small, preset, 1, false, "tiny 128x128x128");
#ifdef TEGULA_WITH_EDGE
  for (int preset = 0; preset < 2; preset++)
    run(&tg_engine_rtl, CHIP_EDGE, small, preset, 1, false, "edge 128x128x128");
#endif
  for (int preset = 0; preset < 2; preset++) {
    run(&tg_engine_systemc, CHIP_EDGE, large, preset, 0, false, "edge 1024^3");
    run(&tg_engine_systemc, CHIP_EDGE, large, preset, 0, true, "edge 1024^3, time only");
    run(&tg_engine_functional, CHIP_EDGE, large, preset, 0, false, "edge 1024^3");
  }
  run_host(large, TG_F32, 1);
  run_host(large, TG_F32, 0);
}
