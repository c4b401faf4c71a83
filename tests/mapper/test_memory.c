/* Temporaries in device memory: what lives at the same time lies apart, and what is small and lives shortly
 * leaves no hole below what is large. */
#include "mapper/kernel/class.h"
#include "sim/machine/params.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

enum { MATRIX = 256 * 256 * 4 };

/* The row of maxima is gone when the third matrix is made, and the other two are still there. */
TG_TEST(memory, small_temporaries_leave_no_holes) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = "graph \"g\"\ninput %x: f32[256,256]\ninput %w: f32[256,256]\n"
                           "%a = MatMul(%x, %w) @0\n%s = ReduceMax(%a) axes=[0] @1\n%p = MatMul(%a, %w) @2\n"
                           "%b = Add(%p, %s) @3\n%c = MatMul(%b, %w) @4\n%y = MatMul(%c, %a) @5\n"
                           "%z = MatMul(%b, %c) @6\noutput \"y\" %y: f32\noutput \"z\" %z: f32\n",
                   .arch = "edge",
                   .run = {.threads = 1}};
  EXPECT(!run_text(&what, &m, &arena, &diag) && outputs_agree(&m, 0, &diag));
  EXPECT_STR(diag.message, "");
  EXPECT_EQ(m.program ? m.program->dram_bytes : 0, 7 * MATRIX);
  release_mapped(&m);
  tg_arena_release(&arena);
}

/* What is read and written takes turns on a device's bus, each way with rows to be opened; what is only read does not. */
TG_TEST(memory, a_device_takes_turns_between_reads_and_writes) {
  tg_params params;
  tg_diag diag = {""};
  EXPECT(!tg_params_load("edge", &params, &diag));
  double bytes = 1 << 20, peak = bytes / tg_peak_dram_bytes(&params),
         both = tg_device_cycles(&params, bytes / 2, bytes / 2);
  EXPECT(tg_device_cycles(&params, bytes, 0) == peak && tg_device_cycles(&params, 0, bytes) == peak);
  EXPECT(both > 1.2 * peak && both < 1.5 * peak); /* LPDDR5 reaches 75 to 82 % of its peak */
  EXPECT(!tg_dram_device_load("simple", NULL, &params.dram, &diag));
  EXPECT(tg_device_cycles(&params, bytes / 2, bytes / 2) == 0);
}
