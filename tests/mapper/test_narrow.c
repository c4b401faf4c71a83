/* Images of few channels: rows that do not fill atoms move as runs, half of the lanes are not multiplied for nothing,
 * and epilogues of few columns are kernels of their own. The same bits as the reference's, in an order that is proved,
 * whatever the tiling; and what is gained by it. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

#include <stdio.h>

#define CONV(x, w, attributes, tail)                                                                         \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\n%y = Conv(%x, %w) " attributes  \
  " @2\n" tail
#define OUTPUT_OF(name) "output \"" name "\" %" name ": f32\n"
/* Of operations that the reference rounds as the array does. */
#define LONG_EPILOGUE                                                                                        \
  "%e1 = Mul(%y, %y) @3\n%e2 = Sub(%e1, %y) @4\n%e3 = Mul(%e2, %e1) @5\n%e4 = Sub(%e3, %y) @6\n"             \
  "%e5 = Mul(%e4, %e2) @7\n%e6 = Sub(%e5, %e1) @8\n%e7 = Mul(%e6, %e3) @9\n%e8 = Sub(%e7, %e6) @10\n"
#define OUTPUT "output \"y\" %y: f32\n"
#define SQUARE "kernel_shape=[3,3] pads=[1,1,1,1]"
#define POINT  "kernel_shape=[1,1]"

#define TWICE                                                                                                \
  "%y = Resize(%a) factors=[1,1,2,3] coordinate_transformation_mode=\"asymmetric\" nearest_mode=\"floor\" "  \
  "@3\n"

static const randomized_case cases[] = {
    {"one_column", CONV("1,5,9,11", "1,5,3,3", SQUARE, OUTPUT), TG_PRESET_MP0, "tiny", {NULL}},
    {"half_of_the_lanes", CONV("2,8,9,11", "4,8,3,3", SQUARE, OUTPUT), TG_PRESET_MP0, "tiny", {NULL}},
    {"half_and_one", CONV("1,8,9,11", "5,8,3,3", SQUARE, OUTPUT), TG_PRESET_MP0, "tiny", {NULL}},
    {"half_in_bf16", CONV("3,16,9,11", "8,16,3,3", SQUARE, OUTPUT), TG_PRESET_MP4, "edge", {NULL}},
    {"runs_of_a", CONV("1,24,13,11", "16,24,1,1", POINT, OUTPUT), TG_PRESET_MP0, "edge", {NULL}},
    {"runs_of_a_in_bf16", CONV("5,16,7,9", "24,16,1,1", POINT, OUTPUT), TG_PRESET_MP4, "edge", {NULL}},
    {"runs_of_images", CONV("3,40,9,7", "24,40,1,1", POINT, OUTPUT), TG_PRESET_MP1, "tiny", {"rows=3", NULL}},
    {"runs_of_a_matrix",
     "graph \"g\"\ninput %x: f32[37,24]\ninput %w: f32[24,24]\n%y = MatMul(%x, %w) @2\n" OUTPUT,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"wide_flits",
     CONV("1,24,9,13", "40,24,1,1", POINT, OUTPUT),
     TG_PRESET_MP0,
     "rack",
     {"rows=2", "cols=3", NULL}},
    {"a_pool_of_a_part",
     "graph \"g\"\ninput %x: f32[1,8,12,16]\nconst %w: f32[8,8,3,3] = seeded(1, 0.3)\n"
     "const %v: f32[8,8,3,3] = seeded(2, 0.3)\n%a = Conv(%x, %w) " SQUARE " @2\n%r = Relu(%a) @3\n"
     "%b = Conv(%x, %v) " SQUARE " @4\n%j = Concat(%b, %r) axis=1 @5\n%y = MaxPool(%r) kernel_shape=[2,2] "
     "strides=[2,2] @6\n%z = Relu(%j) @7\n" OUTPUT_OF("y") OUTPUT_OF("z"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"a_depthwise_convolution_of_a_slice",
     "graph \"g\"\ninput %x: f32[2,8,9,11]\nconst %w: f32[32,8,1,1] = seeded(1, 0.3)\n"
     "const %v: f32[16,1,3,3] = seeded(2, 0.3)\n%a = Conv(%x, %w) " POINT " @2\n"
     "%s = Slice(%a) starts=[16] ends=[32] axes=[1] @3\n%y = Conv(%s, %v) " SQUARE " group=16 @4\n"
     "%z = Relu(%a) @5\n" OUTPUT_OF("y") OUTPUT_OF("z"),
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"twice_as_large",
     "graph \"g\"\ninput %x: f32[1,16,9,7]\nconst %w: f32[16,16,1,1] = seeded(1, 0.3)\n"
     "%a = Conv(%x, %w) " POINT " @2\n" TWICE OUTPUT,
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"an_epilogue_apart",
     CONV("1,8,32,48", "2,8,1,1", POINT, LONG_EPILOGUE OUTPUT_OF("e8")),
     TG_PRESET_MP1,
     "edge",
     {NULL}},
    {"an_epilogue_of_two_operands",
     "graph \"g\"\ninput %x: f32[1,8,16,24]\ninput %a: f32[1,1,16,24]\nconst %w: f32[1,8,3,3] = seeded(1, "
     "0.3)\n"
     "%y = Conv(%x, %w) " SQUARE " @2\n" LONG_EPILOGUE "%s = Add(%e8, %a) @20\n" OUTPUT_OF("s"),
     TG_PRESET_MP0,
     "edge",
     {NULL}},
};

enum { SEEDS = 6 };

/* The fastest tiling, and others, on both engines. */
static void same_bits(const void *own) {
  for (uint64_t seed = 0; seed <= SEEDS; seed++) run_randomized(own, seed);
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("narrow", cases[i].name, __FILE__, __LINE__, same_bits, &cases[i]);
}

#ifdef TEGULA_WITH_SYSTEMC
static tg_run_result time_of(const char *text, tg_precision_preset preset) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  tg_run_result result = {0};
  run_case what = {.text = text,
                   .arch = "edge",
                   .precision.preset = preset,
                   .run = {.threads = 1, .timing_only = true},
                   .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else
    result = m.result;
  release_mapped(&m);
  tg_arena_release(&arena);
  return result;
}

/* 8 channels of FP32 are half an atom: written one by one, a pixel of the 16384 would cost twice its bytes. */
TG_TEST(narrow, pixels_of_half_an_atom_leave_as_runs) {
  tg_run_result result = time_of(CONV("1,8,128,128", "8,8,1,1", POINT, OUTPUT), TG_PRESET_MP0);
  uint64_t bytes = 16384u * 8 * 4;
  if (result.dram_written > 3 * bytes) /* with the Transpose behind it */
    tg_test_fail(__FILE__, __LINE__, "%llu bytes were written", (unsigned long long)result.dram_written);
}

/* A Sigmoid of one channel takes as long as 16 where it goes down the rows of the product: 36 words a pixel. */
TG_TEST(narrow, a_mask_does_not_wait_for_its_sigmoid) {
  tg_run_result result = time_of(
      CONV("1,16,128,128", "1,16,1,1", POINT, "%z = Sigmoid(%y) @3\noutput \"z\" %z: f32\n"), TG_PRESET_MP1);
  if (result.cycles > 30000)
    tg_test_fail(__FILE__, __LINE__, "%llu cycles", (unsigned long long)result.cycles);
}
#endif

/* Rows, columns and channels, of which two come twice, are five dimensions: a section for each of two, not of 40. */
TG_TEST(narrow, an_image_is_enlarged_in_few_sections) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = "graph \"g\"\ninput %x: f32[1,16,40,24]\n%a = Relu(%x) @2\n" TWICE OUTPUT,
                   .arch = "edge"};
  if (map_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else
    EXPECT(m.program->invocation_count <= 6);
  release_mapped(&m);
  tg_arena_release(&arena);
}
