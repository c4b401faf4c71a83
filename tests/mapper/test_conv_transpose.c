/* Transposed convolutions whose windows lie side by side: pixels of a row of results are columns of one product; the
 * reference's bits, whatever follows, and as many sections as there are rows of the kernel, else one a remainder. */
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

typedef struct upsampling {
  const char *name, *text;
  tg_precision_preset preset;
  const char *arch, *settings[4];
  bool accum_bf16sr; /* which the reference does not do */
  int products;
} upsampling;

#define UP(x, w, c, attributes, behind)                                                                      \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\nconst %b: f32[" c               \
  "] = seeded(2, 0.3)\n%u = ConvTranspose(%x, %w, %b) " attributes " @2\n" behind
#define ALONE "%y = Relu(%u) @3\noutput \"y\" %y: f32\n"

static const upsampling cases[] = {
    {"two_by_two",
     UP("2,13,5,7", "13,16,2,2", "16", "kernel_shape=[2,2] strides=[2,2]", ALONE),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     2},
    {"few_channels",
     UP("1,8,6,5", "8,3,2,2", "3", "kernel_shape=[2,2] strides=[2,2]", ALONE),
     TG_PRESET_MP4,
     "tiny",
     {NULL},
     false,
     2},
    {"three_by_four",
     UP("1,8,5,3", "8,5,3,4", "5", "kernel_shape=[3,4] strides=[3,4]", ALONE),
     TG_PRESET_MP1,
     "edge",
     {"rows=3", "cols=2", NULL},
     false,
     3},
    {"part_of_a_concat",
     UP("1,8,4,6", "8,8,2,2", "8", "kernel_shape=[2,2] strides=[2,2]",
        "input %s: f32[1,8,8,12]\n%r = Relu(%s) @5\n%y = Concat(%u, %r) axis=1 @3\noutput \"y\" %y: f32\n"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     2},
    {"with_a_residual",
     UP("1,8,4,6", "8,24,2,2", "24", "kernel_shape=[2,2] strides=[2,2]",
        "input %s: f32[1,24,8,12]\n%y = Add(%u, %s) @3\noutput \"y\" %y: f32\n"),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     2},
    {"a_number_a_pixel",
     UP("1,8,4,6", "8,8,2,2", "8", "kernel_shape=[2,2] strides=[2,2]",
        "const %s: f32[1,1,8,12] = seeded(5, 1)\n%y = Mul(%u, %s) @3\noutput \"y\" %y: f32\n"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     4},
    {"windows_overlap",
     UP("1,8,4,6", "8,8,3,3", "8", "kernel_shape=[3,3] strides=[2,2]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     4},
    {"pixels_beyond_windows",
     UP("1,8,4,6", "8,8,2,2", "8", "kernel_shape=[2,2] strides=[2,2] output_padding=[1,1]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     4},
    {"rounded_accumulation",
     UP("1,24,4,6", "24,8,2,2", "8", "kernel_shape=[2,2] strides=[2,2]", ALONE),
     TG_PRESET_MP4,
     "tiny",
     {NULL},
     true,
     2},
};

static int products_of(const tg_program *program) {
  int count = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++)
    count += tg_invocation_macs(&program->invocations[i]) > 0;
  return count;
}

static void check(const upsampling *own, const tg_engine *engine, uint64_t tilings) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = own->text,
                   .arch = own->arch,
                   .precision.preset = own->preset,
                   .map = {.seed = 1, .accum_bf16sr = own->accum_bf16sr, .k_tile = 8, .any_tiling = tilings},
                   .run = {.threads = 1, .seed = 1},
                   .engine = engine};
  for (int i = 0; i < 4; i++) what.settings[i] = own->settings[i];
  if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, own->accum_bf16sr ? 0.02 : 0, &diag) ||
      tg_check_ordering(m.program, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s: %s", own->name, diag.message);
  else
    EXPECT_EQ(products_of(m.program), own->products);
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void same_bits(const void *user) {
  for (uint64_t tilings = 0; tilings < 4; tilings++) check(user, NULL, tilings);
#ifdef TEGULA_WITH_SYSTEMC
  check(user, &tg_engine_systemc, 0);
#endif
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("conv_transpose", cases[i].name, __FILE__, __LINE__, same_bits, &cases[i]);
}
