/* Transposed convolutions of a channel a group, and input gradients of depthwise ones: the reference's bits, whatever the shape and
 * however blocks are cut; proved in order; one section where results of a row come out even, or one for each remainder of rows, else
 * one a remainder. */
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

typedef struct upsampling {
  const char *name, *text;
  tg_precision_preset preset;
  const char *arch, *settings[4];
  int sections;
  bool accum_bf16sr; /* which the reference does not do */
} upsampling;

#define UP(x, w, c, attributes, behind)                                                                      \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\nconst %b: f32[" c               \
  "] = seeded(2, 0.3)\n%u = ConvTranspose(%x, %w, %b) group=" c " " attributes " @2\n" behind
#define ALONE "output \"u\" %u: f32\n"
#define GRADIENT(dy, w, attributes)                                                                          \
  "graph \"g\"\ninput %dy: f32[" dy "]\nconst %w: f32[" w "] = seeded(1, 0.3)\n"                             \
  "%dx = ConvInputGradient(%dy, %w) " attributes " @2\noutput \"dx\" %dx: f32\n"

static const upsampling cases[] = {
    {"windows_overlap",
     UP("1,16,5,6", "16,1,4,4", "16", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"windows_side_by_side",
     UP("2,13,5,7", "13,1,2,2", "13", "kernel_shape=[2,2] strides=[2,2]", ALONE),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     1,
     false},
    {"a_stride_of_one",
     UP("1,40,6,5", "40,1,3,3", "40", "kernel_shape=[3,3] pads=[1,1,1,1]", ALONE),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     1,
     false},
    {"rows_alone",
     UP("2,24,7,5", "24,1,5,1", "24", "kernel_shape=[5,1] strides=[3,1] pads=[1,0,1,0]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"columns_alone",
     UP("1,8,3,9", "8,1,1,4", "8", "kernel_shape=[1,4] strides=[1,2] pads=[0,1,0,1]", ALONE),
     TG_PRESET_MP0,
     "edge",
     {"rows=3", "cols=5", NULL},
     1,
     false},
    {"bfloat",
     UP("1,72,5,6", "72,1,4,4", "72", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]", ALONE),
     TG_PRESET_MP4,
     "edge",
     {"rows=3", "cols=2", NULL},
     1,
     false},
    {"operands_are_rounded",
     UP("1,33,4,6", "33,1,3,4", "33", "kernel_shape=[3,4] strides=[3,2] pads=[0,1,0,1]", ALONE),
     TG_PRESET_MP1,
     "tiny",
     {NULL},
     1,
     false},
    {"dilated",
     UP("1,16,5,4", "16,1,3,3", "16", "kernel_shape=[3,3] strides=[2,2] dilations=[3,3] pads=[1,1,2,2]",
        ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"rows_end_in_a_block",
     UP("1,16,5,6", "16,1,4,4", "16", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,2,1]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"uneven_columns",
     UP("1,16,5,6", "16,1,4,4", "16", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,2]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     4,
     false},
    {"many_remainders",
     UP("1,16,2,3", "16,1,5,5", "16", "kernel_shape=[5,5] strides=[5,5]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"remainders_of_a_row",
     UP("1,16,2,3", "16,1,9,9", "16", "kernel_shape=[9,9] strides=[8,8] pads=[0,0,1,1]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     8,
     false},
    {"activated",
     UP("1,16,5,6", "16,1,4,4", "16", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]",
        "%y = Relu(%u) @3\noutput \"y\" %y: f32\n"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"part_of_a_concat",
     UP("1,8,4,6", "8,1,4,4", "8", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]",
        "input %s: f32[1,8,8,12]\n%r = Relu(%s) @5\n%y = Concat(%u, %r) axis=1 @3\noutput \"y\" %y: f32\n"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     0,
     false},
    {"of_a_framed_image",
     "graph \"g\"\ninput %i: f32[2,24,4,6]\nconst %w: f32[24,1,4,4] = seeded(1, 0.3)\n%r = Relu(%i) @1\n"
     "%a = Slice(%r) axes=[2] starts=[0] ends=[1] steps=[1] @1\n%c = Concat(%a, %r) axis=2 @1\n"
     "%u = ConvTranspose(%c, %w) group=24 kernel_shape=[4,4] strides=[2,2] pads=[3,1,1,1] @2\noutput \"u\" "
     "%u: f32\n",
     TG_PRESET_MP0,
     "edge",
     {NULL},
     0,
     false},
    {"gradient",
     GRADIENT("2,16,4,5", "16,1,3,3",
              "group=16 kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] output_shape=[8,10]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"unread_pixels",
     GRADIENT("1,16,4,5", "16,1,3,3",
              "group=16 kernel_shape=[3,3] strides=[2,2] pads=[0,0,0,0] output_shape=[10,12]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"remainders_without_a_position",
     UP("1,8,3,4", "8,1,1,2", "8", "kernel_shape=[1,2] strides=[2,3] output_padding=[1,1]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     0,
     false},
    {"no_block_fits",
     UP("1,8,45,45", "8,1,3,3", "8", "kernel_shape=[3,3] dilations=[20,20] pads=[20,20,20,20]", ALONE),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     1,
     false},
    {"rounded_accumulation",
     UP("1,24,4,6", "24,1,4,4", "24", "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1]", ALONE),
     TG_PRESET_MP4,
     "tiny",
     {NULL},
     4,
     true},
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
    tg_test_fail(__FILE__, __LINE__, "%s, tilings %d: %s", own->name, (int)tilings, diag.message);
  else if (own->sections)
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
    tg_test_register_row("depthwise_gradient", cases[i].name, __FILE__, __LINE__, same_bits, &cases[i]);
}
