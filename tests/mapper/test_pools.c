/* Pools in the drains of convolutions: the same bits as the reference's, whatever the shape, and however blocks, strips and
 * pieces are cut; proved in order; and what lies between them visits memory no more. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

#include <string.h>

#define POOL(x, w, conv, pool)                                                                               \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\n%c = Conv(%x, %w) " conv        \
  " @2\n%y = MaxPool(%c) " pool " @3\noutput \"y\" %y: f32\n"

static const randomized_case of_joined_rows = {"of_joined_rows",
                                               POOL("2,3,25,23", "13,3,7,7",
                                                    "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]",
                                                    "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
                                               TG_PRESET_MP1,
                                               "tiny",
                                               {"rows=3", NULL}};

static const randomized_case pools[] = {
    {"two_by_two",
     POOL("1,16,8,12", "24,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]", "kernel_shape=[2,2] strides=[2,2]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"windows_overlap",
     POOL("2,3,25,23", "13,3,7,7", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]",
          "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=2", "cols=3", NULL}},
    {"fp32",
     POOL("1,8,9,14", "12,8,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]",
          "kernel_shape=[3,3] strides=[1,1] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"bf16",
     POOL("3,16,9,7", "20,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]",
          "kernel_shape=[2,3] strides=[2,1] pads=[0,1,1,1]"),
     TG_PRESET_MP4,
     "tiny",
     {"rows=3", NULL}},
    {"dilated",
     POOL("1,16,11,13", "8,16,2,2", "kernel_shape=[2,2]",
          "kernel_shape=[3,2] strides=[1,2] dilations=[2,3] pads=[2,0,1,3]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"windows_apart",
     POOL("2,4,17,19", "5,4,3,3", "kernel_shape=[3,3]", "kernel_shape=[2,2] strides=[4,3]"),
     TG_PRESET_MP0,
     "edge",
     {"rows=1", "cols=4", NULL}},
    {"beyond_the_image",
     POOL("2,16,7,9", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]",
          "kernel_shape=[3,3] strides=[2,2] ceil_mode=1"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strips",
     POOL("1,16,6,70", "8,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]",
          "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {"acc_bytes=2048", NULL}},
    {"with_a_tail",
     "graph \"g\"\ninput %x: f32[2,16,8,10]\nconst %w: f32[24,16,3,3] = seeded(1, 0.3)\nconst %b: f32[24] = "
     "seeded(2, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @2\n%r = Relu(%a) @3\n"
     "%p = MaxPool(%r) kernel_shape=[2,2] strides=[2,2] @4\n%y = Neg(%p) @5\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"nan_and_infinities", /* what is not of the image wins over nothing, these over all */
     "graph \"g\"\ninput %x: f32[1,16,6,6]\nconst %w: f32[16,16,3,3] = seeded(1, 0.3)\n"
     "const %b: f32[16] = [-1000, -inf, nan, inf, -0, 0, -1e38, -1, -2, -3, -4, -5, -6, -7, -8, -9]\n"
     "%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @2\n"
     "%y = MaxPool(%a) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] @3\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "edge",
     {"rows=2", "cols=2", NULL}},
    {"side_by_side",
     "graph \"g\"\ninput %x: f32[1,16,8,8]\nconst %w: f32[16,16,3,3] = seeded(1, 0.3)\n"
     "const %v: f32[32,16,1,1] = seeded(2, 0.3)\nconst %u: f32[8,48,1,1] = seeded(3, 0.3)\n"
     "%a = Conv(%x, %w) kernel_shape=[3,3] pads=[1,1,1,1] @2\n"
     "%p = MaxPool(%a) kernel_shape=[2,2] strides=[2,2] @3\n"
     "%b = Conv(%x, %v) kernel_shape=[1,1] strides=[2,2] @4\n%c = Concat(%p, %b) axis=1 @5\n"
     "%y = Conv(%c, %u) kernel_shape=[1,1] @6\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
};

static bool pools_in_a_drain(const tg_program *program) {
  for (uint32_t i = 0; i < program->invocation_count; i++)
    if (!strncmp(program->invocations[i].name, "Conv", 4) && strstr(program->invocations[i].name, "MaxPool"))
      return true;
  return false;
}

static void same_bits(const void *user) {
  check_randomized(user, &(randomized_search){.has = pools_in_a_drain,
                                              .lacks = "no convolution has a pool in its drain",
                                              .seeds = 100,
                                              .wanted = 4});
}

static bool joins_rows(const tg_program *program) {
  return pools_in_a_drain(program) && has_joined_rows(program);
}
static void same_bits_of_joined_rows(const void *user) {
  check_randomized(user, &(randomized_search){.has = joins_rows,
                                              .lacks = "no pool is behind positions of several kernel rows",
                                              .seeds = 200,
                                              .wanted = 4});
}

__attribute__((constructor)) static void register_pools(void) {
  tg_test_register_row("pools", of_joined_rows.name, __FILE__, __LINE__, same_bits_of_joined_rows,
                       &of_joined_rows);
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
    tg_test_register_row("pools", pools[i].name, __FILE__, __LINE__, same_bits, &pools[i]);
}

#ifdef TEGULA_WITH_SYSTEMC
static uint64_t cycles_of(const char *text, const char *arch) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = text,
                   .arch = arch,
                   .precision.preset = TG_PRESET_MP1,
                   .run = {.threads = 1, .timing_only = true},
                   .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  uint64_t cycles = m.result.cycles;
  release_mapped(&m);
  tg_arena_release(&arena);
  return cycles;
}

/* The convolution alone, whose result is what visits memory, takes more than both. */
TG_TEST(pools, both_take_less_than_the_convolution_alone) {
#define IMAGE       "graph \"g\"\ninput %x: f32[1,16,56,56]\nconst %w: f32[64,16,3,3] = seeded(1, 0.3)\n"
#define CONVOLUTION "Conv(%x, %w) kernel_shape=[3,3] pads=[1,1,1,1] @2\n"
  uint64_t alone = cycles_of(IMAGE "%y = " CONVOLUTION "output \"y\" %y: f32\n", "edge"),
           both =
               cycles_of(IMAGE "%c = " CONVOLUTION
                               "%y = MaxPool(%c) kernel_shape=[2,2] strides=[2,2] @3\noutput \"y\" %y: f32\n",
                         "edge");
  EXPECT(both < alone);
}
#endif
