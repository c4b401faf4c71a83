/* Rehearsals on large arrays: what a kernel is expected to take, by which tilings are chosen, beside a replay of its section that
 * goes on to the section's end (which `estimates` holds to the SystemC engine). */
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "mapper/classes.h"
#include "mapper/mapper.h"
#include "mapper/passes.h"
#include "mapper/section/rehearsal.h"
#include "mapper/section/replay.h"
#include "sim/machine/config.h"
#include "tests/harness.h"

#include <string.h>

#define NEAR 0.01 /* of the replay; of a quarter of the steps they are 1 to 4 % off */

/* Of 256 tiles, most of whose first 65,536 steps are first loads. */
static const struct graph_case {
  const char *label, *text;
} cases[] = {
    {"a convolution of many images", "graph \"g\"\ninput %x: f32[64,64,56,56]\ninput %w: f32[64,64,3,3]\n%y "
                                     "= Conv(%x, %w) pads=[1,1,1,1] @0\n"
                                     "output \"y\" %y: f32\n"},
    {"one of few pixels and many channels", "graph \"g\"\ninput %x: f32[64,256,14,14]\ninput %w: "
                                            "f32[256,256,3,3]\n%y = Conv(%x, %w) pads=[1,1,1,1] @0\n"
                                            "output \"y\" %y: f32\n"},
    {"a product", "graph \"g\"\ninput %a: f32[2048,1024]\ninput %b: f32[1024,2048]\n%y = MatMul(%a, %b) @0\n"
                  "output \"y\" %y: f32\n"},
};

/* Of all kernels, before memory is planned. */
static double rehearsed(const tg_graph *graph, const tg_params *params, tg_arena *arena, tg_diag *diag) {
  static const tg_map_options options = {.seed = 1};
  tg_compile c;
  tg_compile_begin(&c, graph, params, &options, arena, diag);
  c.classes = tg_kernel_classes;
  tg_status status = TG_OK;
  for (const tg_mapper_pass *pass = tg_mapper_passes;
       !status && pass->name && strcmp(pass->name, "plan_memory"); pass++)
    if (!pass->when || pass->when(&c)) status = pass->run(&c);
  double cycles = 0;
  for (size_t k = 0; !status && k < c.kernel_count; k++) cycles += tg_rehearse(&c, &c.kernels[k]);
  tg_program_destroy(c.program);
  return cycles;
}

static double replayed(const tg_graph *graph, const tg_params *params, tg_arena *arena, tg_diag *diag) {
  static const tg_map_options options = {.seed = 1};
  const tg_replay_limits none = {UINT64_MAX, UINT32_MAX};
  tg_program *program;
  if (tg_map(graph, params, &options, &program, diag)) return 0;
  double cycles = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_section *section = &program->sections[program->invocations[i].section];
    cycles += (double)(tg_config_cycles(params, tg_section_config_words(params, section), UINT64_MAX) +
                       tg_replay_section(params, section, program->invocations[i].bases, NULL, none, arena));
  }
  tg_program_destroy(program);
  return cycles;
}

TG_TEST(rehearsals, of_large_arrays_are_what_sections_take) {
  tg_params params;
  tg_diag diag = {""};
  ASSERT(!tg_params_load("rack", &params, &diag));
  ASSERT(!tg_dram_device_load("simple", NULL, &params.dram, &diag));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_arena arena = {0};
    tg_graph *graph;
    tg_frontend_options options;
    tg_frontend_defaults(&options);
    tg_status status = tg_graph_parse(&arena, cases[i].text, &graph, &diag);
    if (!status) status = tg_frontend_lower(graph, &options, &diag);
    EXPECT_STR(diag.message, "");
    if (!status) {
      double expected = rehearsed(graph, &params, &arena, &diag),
             taken = replayed(graph, &params, &arena, &diag);
      EXPECT_STR(diag.message, "");
      if (!(taken > 0) || expected < (1 - NEAR) * taken || expected > (1 + NEAR) * taken)
        tg_test_fail(__FILE__, __LINE__, "%s: expected %.0f cycles, replayed %.0f", cases[i].label, expected,
                     taken);
    }
    tg_arena_release(&arena);
  }
}
