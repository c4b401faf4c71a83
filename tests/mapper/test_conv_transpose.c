/* Transposed convolutions, and input gradients: the reference's bits, whatever the shape, what follows, and however they are cut;
 * proved in order. Where windows lie side by side pixels of a row of results are columns of one product, in as many sections as
 * there are rows of the kernel, else one a remainder. Of a channel a group the vector units make all remainders in one section where
 * results of a row come out even, or one for each remainder of rows, else one a remainder. */
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <string.h>

typedef struct upsampling {
  const char *name, *text;
  tg_precision_preset preset;
  const char *arch, *settings[4];
  bool accum_bf16sr; /* which the reference does not do */
  int sections;
} upsampling;

#define UP(x, w, c, attributes, behind)                                                                      \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\nconst %b: f32[" c               \
  "] = seeded(2, 0.3)\n%u = ConvTranspose(%x, %w, %b) " attributes " @2\n" behind
#define ALONE                                  "%y = Relu(%u) @3\noutput \"y\" %y: f32\n"
#define DEPTHWISE(x, w, c, attributes, behind) UP(x, w, c, "group=" c " " attributes, behind)
#define BARE                                   "output \"u\" %u: f32\n"
#define GRADIENT(dy, w, attributes)                                                                          \
  "graph \"g\"\ninput %dy: f32[" dy "]\nconst %w: f32[" w "] = seeded(1, 0.3)\n"                             \
  "%dx = ConvInputGradient(%dy, %w) " attributes " @2\noutput \"dx\" %dx: f32\n"

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
    {"depthwise_windows_overlap",
     DEPTHWISE("1,16,5,6", "16,1,4,4", "16", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_windows_side_by_side",
     DEPTHWISE("2,13,5,7", "13,1,2,2", "13", "kernel_shape=[2,2] strides=[2,2]", BARE),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     1},
    {"depthwise_a_stride_of_one",
     DEPTHWISE("1,40,6,5", "40,1,3,3", "40", "kernel_shape=[3,3] pads=[1,1,1,1]", BARE),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     1},
    {"depthwise_rows_alone",
     DEPTHWISE("2,24,7,5", "24,1,5,1", "24", "kernel_shape=[5,1] strides=[3,1] pads=[1,0,1,0]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_columns_alone",
     DEPTHWISE("1,8,3,9", "8,1,1,4", "8", "kernel_shape=[1,4] strides=[1,2] pads=[0,1,0,1]", BARE),
     TG_PRESET_MP0,
     "edge",
     {"rows=3", "cols=5", NULL},
     false,
     1},
    {"depthwise_bfloat",
     DEPTHWISE("1,72,5,6", "72,1,4,4", "72", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]", BARE),
     TG_PRESET_MP4,
     "edge",
     {"rows=3", "cols=2", NULL},
     false,
     1},
    {"depthwise_operands_are_rounded",
     DEPTHWISE("1,33,4,6", "33,1,3,4", "33", "kernel_shape=[3,4] strides=[3,2] pads=[0,1,0,1]", BARE),
     TG_PRESET_MP1,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_dilated",
     DEPTHWISE("1,16,5,4", "16,1,3,3", "16",
               "kernel_shape=[3,3] strides=[2,2] dilations=[3,3] pads=[1,1,2,2]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_rows_end_in_a_block",
     DEPTHWISE("1,16,5,6", "16,1,4,4", "16", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,2,1]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_uneven_columns",
     DEPTHWISE("1,16,5,6", "16,1,4,4", "16", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,2]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     4},
    {"depthwise_many_remainders",
     DEPTHWISE("1,16,2,3", "16,1,5,5", "16", "kernel_shape=[5,5] strides=[5,5]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_remainders_of_a_row",
     DEPTHWISE("1,16,2,3", "16,1,9,9", "16", "kernel_shape=[9,9] strides=[8,8] pads=[0,0,1,1]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     8},
    {"depthwise_activated",
     DEPTHWISE("1,16,5,6", "16,1,4,4", "16", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]",
               "%y = Relu(%u) @3\noutput \"y\" %y: f32\n"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_part_of_a_concat",
     DEPTHWISE(
         "1,8,4,6", "8,1,4,4", "8", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]",
         "input %s: f32[1,8,8,12]\n%r = Relu(%s) @5\n%y = Concat(%u, %r) axis=1 @3\noutput \"y\" %y: f32\n"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_of_a_framed_image",
     "graph \"g\"\ninput %i: f32[2,24,4,6]\nconst %w: f32[24,1,4,4] = seeded(1, 0.3)\n%r = Relu(%i) @1\n"
     "%a = Slice(%r) axes=[2] starts=[0] ends=[1] steps=[1] @1\n%c = Concat(%a, %r) axis=2 @1\n"
     "%u = ConvTranspose(%c, %w) group=24 kernel_shape=[4,4] strides=[2,2] pads=[3,1,1,1] @2\noutput \"u\" "
     "%u: f32\n",
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     1},
    {"depthwise_gradient",
     GRADIENT("2,16,4,5", "16,1,3,3",
              "group=16 kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] output_shape=[8,10]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_unread_pixels",
     GRADIENT("1,16,4,5", "16,1,3,3",
              "group=16 kernel_shape=[3,3] strides=[2,2] pads=[0,0,0,0] output_shape=[10,12]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_remainders_without_a_position",
     DEPTHWISE("1,8,3,4", "8,1,1,2", "8", "kernel_shape=[1,2] strides=[2,3] output_padding=[1,1]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     48},
    {"depthwise_no_block_fits",
     DEPTHWISE("1,8,45,45", "8,1,3,3", "8", "kernel_shape=[3,3] dilations=[20,20] pads=[20,20,20,20]", BARE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1},
    {"depthwise_rounded_accumulation",
     DEPTHWISE("1,24,4,6", "24,1,4,4", "24", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]", BARE),
     TG_PRESET_MP4,
     "tiny",
     {NULL},
     true,
     4},
};

static int sections_of(const tg_program *program) {
  int count = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++)
    count += strncmp(program->invocations[i].name, "ConvInputGradient", 17) == 0;
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
    EXPECT_EQ(sections_of(m.program), own->sections);
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void same_bits(const void *user) {
  for (uint64_t tilings = 0; tilings < 6; tilings++) check(user, NULL, tilings);
#ifdef TEGULA_WITH_SYSTEMC
  for (uint64_t tilings = 0; tilings < 2; tilings++) check(user, &tg_engine_systemc, tilings);
#endif
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("conv_transpose", cases[i].name, __FILE__, __LINE__, same_bits, &cases[i]);
}
