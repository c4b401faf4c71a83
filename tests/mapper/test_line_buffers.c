/* Pools and depthwise convolutions from line buffers: the reference's bits, whatever the shape and however blocks are
 * cut; proved in order; and they take what their bytes take. */
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>

typedef struct window_case {
  const char *name, *text;
  tg_precision_preset preset;
  const char *arch, *settings[4];
  bool streamed;    /* no block fits */
  double tolerance; /* the reference divides a mean, the array multiplies by an inverse */
  bool one_row;     /* windows of one row, over which there is no loop to be seen */
} window_case;

#define DEPTHWISE(x, w, c, attributes)                                                                       \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\nconst %b: f32[" c               \
  "] = seeded(2, 0.3)\n%y = Conv(%x, %w, %b) " attributes " group=" c " @2\noutput \"y\" %y: f32\n"
#define TAIL(x, w, c, attributes)                                                                            \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\nconst %b: f32[" c               \
  "] = seeded(2, 0.3)\n%a = Conv(%x, %w, %b) " attributes " group=" c                                        \
  " @2\n%y = HardSwish(%a) @3\noutput \"y\" %y: f32\n"
#define POOL(op, x, attributes)                                                                              \
  "graph \"g\"\ninput %x: f32[" x "]\n%y = " op "(%x) " attributes " @1\noutput \"y\" %y: f32\n"

static const window_case cases[] = {
    {"three_by_three",
     DEPTHWISE("1,16,9,11", "16,1,3,3", "16", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     0,
     false},
    {"bfloat",
     DEPTHWISE("1,16,9,12", "16,1,3,3", "16", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP4,
     "tiny",
     {NULL},
     false,
     0,
     false},
    {"five_by_five",
     DEPTHWISE("1,24,7,7", "24,1,5,5", "24", "kernel_shape=[5,5] pads=[2,2,2,2]"),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     0,
     false},
    {"odd_channels",
     DEPTHWISE("2,13,8,9", "13,1,3,3", "13", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     0,
     false},
    {"channels_of_whole_flits",
     DEPTHWISE("2,24,8,8", "24,1,3,3", "24", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     0,
     false},
    {"many_channels",
     DEPTHWISE("1,72,5,6", "72,1,3,3", "72", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=3", "cols=2", NULL},
     false,
     0,
     false},
    /* The Cast and the Reshape to four dimensions go into the load: its strides are not those of three. */
    {"rounded_of_three_dimensions",
     "graph \"g\"\ninput %i: f32[2,24,40]\nconst %w: f32[40,1,5] = seeded(1, 0.3)\nconst %b: f32[40] = "
     "seeded(2, 0.3)\n"
     "%x = Transpose(%i) perm=[0,2,1] @1\n%y = Conv(%x, %w, %b) kernel_shape=[5] pads=[2,2] group=40 @2\n"
     "output \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "edge",
     {NULL},
     false,
     0,
     true},
    /* So do those behind it into the store. */
    {"stored_by_three_dimensions",
     "graph \"g\"\ninput %i: f32[2,24,40]\nconst %w: f32[40,1,5] = seeded(1, 0.3)\nconst %b: f32[40] = "
     "seeded(2, 0.3)\n"
     "%x = Transpose(%i) perm=[0,2,1] @1\n%y = Conv(%x, %w, %b) kernel_shape=[5] pads=[2,2] group=40 @2\n"
     "%z = Transpose(%y) perm=[0,2,1] @3\n%r = Relu(%z) @4\n%c = Concat(%r, %i) axis=2 @5\noutput \"c\" %c: "
     "f32\n",
     TG_PRESET_MP1,
     "edge",
     {NULL},
     false,
     0,
     true},
    {"seven_by_seven",
     DEPTHWISE("1,40,11,9", "40,1,7,7", "40", "kernel_shape=[7,7] pads=[3,3,3,3]"),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     0,
     false},
    {"long_rows",
     DEPTHWISE("2,20,2,24", "20,1,2,15", "20", "kernel_shape=[2,15] pads=[1,7,0,7]"),
     TG_PRESET_MP1,
     "edge",
     {NULL},
     false,
     0,
     false},
    {"windows_of_five_that_move_by_two",
     DEPTHWISE("1,36,13,16", "36,1,5,5", "36", "kernel_shape=[5,5] strides=[2,2] pads=[1,2,2,1]"),
     TG_PRESET_MP4,
     "edge",
     {"rows=3", "cols=5", NULL},
     false,
     0,
     false},
    {"rows_far_apart",
     DEPTHWISE("1,16,14,12", "16,1,4,6", "16",
               "kernel_shape=[4,6] dilations=[3,1] strides=[1,3] pads=[1,2,3,0]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     0,
     false},
    {"strides_differ",
     DEPTHWISE("1,16,13,12", "16,1,5,3", "16", "kernel_shape=[5,3] strides=[3,2] pads=[0,2,1,0]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     0,
     false},
    {"dilated",
     DEPTHWISE("1,8,12,13", "8,1,3,3", "8", "kernel_shape=[3,3] dilations=[2,3] pads=[2,3,2,3]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     0,
     false},
    {"a_column",
     DEPTHWISE("1,16,40,1", "16,1,5,1", "16", "kernel_shape=[5,1] pads=[2,0,2,0]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     0,
     false},
    {"columns_of_images",
     DEPTHWISE("3,8,6,24", "8,1,3,3", "8", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {"bank_bytes=512", NULL},
     false,
     0,
     false},
    {"one_row_of_tiles",
     DEPTHWISE("1,16,9,8", "16,1,3,3", "16", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "edge",
     {"rows=1", "cols=5", NULL},
     false,
     0,
     false},
    {"as_many_rows_as_fields_address",
     DEPTHWISE("1,16,9,12", "16,1,3,3", "16", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "edge",
     {"p=2", "bank_bytes=16384", NULL},
     false,
     0,
     false},
    {"no_block_fits",
     DEPTHWISE("1,8,45,45", "8,1,3,3", "8", "kernel_shape=[3,3] dilations=[20,20]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     true,
     0,
     false},
    {"with_a_tail",
     "graph \"g\"\ninput %x: f32[1,16,10,9]\nconst %w: f32[16,1,3,3] = seeded(1, 0.3)\nconst %z: f32[16] = "
     "seeded(2, 0.3)\n%a = Conv(%x, %w, %z) kernel_shape=[3,3] pads=[1,1,1,1] group=16 @2\n%y = "
     "HardSwish(%a) "
     "@3\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     0,
     false},
    {"sums_through_rows",
     TAIL("2,24,7,9", "24,1,5,5", "24", "kernel_shape=[5,5] pads=[2,1,1,3]"),
     TG_PRESET_MP0,
     "edge",
     {"fma_latency=6", NULL},
     false,
     0,
     false},
    {"sums_of_one_image_through_rows",
     TAIL("1,40,13,6", "40,1,7,3", "40", "kernel_shape=[7,3] pads=[3,1,3,1]"),
     TG_PRESET_MP4,
     "edge",
     {"rows=2", "cols=3", NULL},
     false,
     0,
     false},
    {"maximum",
     POOL("MaxPool", "2,16,9,11", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     0,
     false},
    {"maximum_of_few_channels",
     POOL("MaxPool", "1,8,12,16", "kernel_shape=[2,2] strides=[2,2]"),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     0,
     false},
    {"maximum_bfloat",
     POOL("MaxPool", "1,20,12,16", "kernel_shape=[3,2] strides=[1,2]"),
     TG_PRESET_MP4,
     "edge",
     {NULL},
     false,
     0,
     false},
    {"mean",
     POOL("AveragePool", "1,16,10,12", "kernel_shape=[3,3] strides=[2,2]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL},
     false,
     1e-6,
     false},
    {"mean_with_its_frame",
     POOL("AveragePool", "1,16,9,9", "kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1"),
     TG_PRESET_MP0,
     "edge",
     {NULL},
     false,
     1e-6,
     false},
};

/* Streams of line buffers have a loop over the rows of a window of its own. */
static bool has_line_buffers(const tg_program *program) {
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *vx = &program->sections[s].tiles[0].vx;
    for (uint32_t i = 0; i < vx->count; i++)
      if (vx->instrs[i].common.op == TG_OP_vx_vop && vx->instrs[i].vx.j_count[0] > 1) return true;
  }
  return false;
}

static void check(const window_case *own, uint64_t seed, const tg_engine *engine) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = own->text,
                   .arch = own->arch,
                   .precision.preset = own->preset,
                   .map.any_tiling = seed,
                   .run.threads = 1,
                   .engine = engine};
  for (int i = 0; i < 4 && own->settings[i]; i++) what.settings[i] = own->settings[i];
  if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, own->tolerance, &diag) ||
      tg_check_ordering(m.program, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s, tilings %d: %s", own->name, (int)seed, diag.message);
  else if (seed && !own->one_row && has_line_buffers(m.program) == own->streamed)
    tg_test_fail(__FILE__, __LINE__, "%s, tilings %d: %s line buffers", own->name, (int)seed,
                 own->streamed ? "has" : "no");
  release_mapped(&m);
  tg_arena_release(&arena);
}

enum { SEEDS = 8 };

static void same_bits(const void *user) {
  for (uint64_t seed = 0; seed <= SEEDS; seed++) {
    check(user, seed, NULL);
#ifdef TEGULA_WITH_SYSTEMC
    if (seed % 4 == 0) check(user, seed, &tg_engine_systemc);
#endif
  }
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("line_buffers", cases[i].name, __FILE__, __LINE__, same_bits, &cases[i]);
}

#ifdef TEGULA_WITH_SYSTEMC
/* `edge` has eight ports of 16 bytes a cycle: so many bytes, at a share of that. */
static void takes_its_bytes(const char *text, double bytes, double share) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = text,
                   .arch = "edge",
                   .run = {.threads = 1, .timing_only = true, 0},
                   .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else if ((double)m.result.cycles * 128 * share > bytes)
    tg_test_fail(__FILE__, __LINE__, "%llu cycles for %.0f bytes", (unsigned long long)m.result.cycles,
                 bytes);
  release_mapped(&m);
  tg_arena_release(&arena);
}

/* Images in the order of memory, so that nothing is transposed. */
#define IN_ORDER(x, op)                                                                                      \
  "graph \"g\"\ninput %i: f32[" x "]\n%x = Transpose(%i) perm=[0,3,1,2] @1\n" op "%o = "                     \
  "Transpose(%y) perm=[0,2,3,1] @5\noutput \"y\" %o: f32\n"

TG_TEST(line_buffers, a_pool_takes_its_bytes) {
  takes_its_bytes(IN_ORDER("4,64,64,64", "%y = MaxPool(%x) kernel_shape=[2,2] strides=[2,2] @2\n"),
                  4.0 * 4 * 64 * (64 * 64 + 32 * 32), 0.9);
}

/* `edge` has 256 lanes: so many multiply-adds, at a share of that. A load of a pixel and one of a weight for each would
 * be a quarter. */
static void multiplies(const char *text, double macs, double share) {
  takes_its_bytes(text, macs / 256 * 128, share);
}

/* Blocks are loaded once for the pixels of all remainders. */
TG_TEST(line_buffers, a_transposed_convolution_takes_its_bytes) {
  takes_its_bytes(IN_ORDER("1,64,64,64",
                           "const %w: f32[64,1,4,4] = seeded(1, 0.3)\n%y = ConvTranspose(%x, %w) group=64 "
                           "kernel_shape=[4,4] strides=[2,2] pads=[1,1,1,1] @2\n"),
                  4.0 * 5 * 64 * 64 * 64, 0.85);
}

TG_TEST(line_buffers, pixels_meet_all_positions_of_a_row) {
  multiplies(IN_ORDER("1,28,28,96", "const %w: f32[96,1,7,7] = seeded(1, 0.3)\n%y = Conv(%x, %w) "
                                    "kernel_shape=[7,7] pads=[3,3,3,3] group=96 @2\n"),
             96.0 * 28 * 28 * 49, 0.5);
  multiplies(IN_ORDER("1,14,14,240", "const %w: f32[240,1,5,5] = seeded(1, 0.3)\n%y = Conv(%x, %w) "
                                     "kernel_shape=[5,5] pads=[2,2,2,2] group=240 @2\n"),
             240.0 * 14 * 14 * 25, 0.37);
}

/* Row by row, an image that is made on the chip took 0.288 of them. */
TG_TEST(line_buffers, sums_go_through_rows) {
  multiplies(IN_ORDER("1,14,14,40",
                      "const %e: f32[240,40,1,1] = seeded(1, 0.3)\n%p = Conv(%x, %e) kernel_shape=[1,1] @2\n"
                      "%h = HardSwish(%p) @3\nconst %w: f32[240,1,5,5] = seeded(2, 0.3)\n"
                      "%d = Conv(%h, %w) kernel_shape=[5,5] pads=[2,2,2,2] group=240 @4\n"
                      "%y = HardSwish(%d) @6\n"),
             240.0 * 14 * 14 * 25, 0.305);
}

/* A walk would touch an atom for each element, on the ports of two tiles: 1.5 %. */
TG_TEST(line_buffers, channels_come_apart) {
  takes_its_bytes("graph \"g\"\ninput %x: f32[1,128,128,2]\n%y = Transpose(%x) perm=[0,3,1,2] @1\n"
                  "output \"y\" %y: f32\n",
                  2.0 * 4 * 128 * 128 * 2, 0.5);
}

/* With two operations of the vector units an element: 32 %. */
TG_TEST(line_buffers, colours_come_together) {
  takes_its_bytes("graph \"g\"\ninput %x: f32[1,3,128,128]\n%y = Transpose(%x) perm=[0,2,3,1] @1\n"
                  "output \"y\" %y: f32\n",
                  2.0 * 4 * 128 * 128 * 3, 0.6);
}

/* A LOAD for each of 64 positions of 64 bytes, on one tile, took 1900 cycles. */
TG_TEST(line_buffers, positions_of_few_bytes_are_one_load) {
  takes_its_bytes("graph \"g\"\ninput %x: f32[1,64,16]\n%y = ReduceSum(%x) axes=[1] keepdims=1 @1\n"
                  "output \"y\" %y: f32\n",
                  4.0 * 16 * 64, 0.02);
}
#endif
