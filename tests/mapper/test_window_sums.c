/* Reductions over images behind depthwise convolutions, in the section that makes what they read: the reference's bits,
 * whatever the shape and however blocks are cut; proved in order; and faster than apart. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

#include <string.h>

#define DEPTHWISE(x, w, c, attributes)                                                                       \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\nconst %b: f32[" c               \
  "] = seeded(2, 0.3)\n%d = Conv(%x, %w, %b) " attributes " group=" c " @2\n"
#define THREE     "kernel_shape=[3,3] pads=[1,1,1,1]"
#define FIVE      "kernel_shape=[5,5] pads=[2,2,2,2]"
#define MEAN      "%y = ReduceSum(%d) axes=[2,3] keepdims=1 @3\noutput \"y\" %y: f32\noutput \"d\" %d: f32\n"
#define OTHER(op) "%y = " op "(%d) axes=[2,3] keepdims=1 @3\noutput \"y\" %y: f32\noutput \"d\" %d: f32\n"

static const randomized_case sums[] = {
    {"an_image_a_block", DEPTHWISE("1,40,7,7", "40,1,3,3", "40", THREE) MEAN, TG_PRESET_MP0, "edge", {NULL}},
    {"a_row_a_block", DEPTHWISE("1,24,14,14", "24,1,3,3", "24", THREE) MEAN, TG_PRESET_MP0, "edge", {NULL}},
    {"rows_behind_the_image",
     DEPTHWISE("3,24,14,14", "24,1,3,3", "24", THREE) MEAN,
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"five_by_five", DEPTHWISE("1,24,12,12", "24,1,5,5", "24", FIVE) MEAN, TG_PRESET_MP0, "tiny", {NULL}},
    {"parts_of_rows",
     DEPTHWISE("2,16,1,100", "16,1,1,3", "16", "kernel_shape=[1,3] pads=[0,1,0,1]") MEAN,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"a_shorter_last_block",
     DEPTHWISE("2,13,7,12", "13,1,3,3", "13", THREE) MEAN,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"strides",
     DEPTHWISE("3,20,16,15", "20,1,3,3", "20", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]") MEAN,
     TG_PRESET_MP0,
     "edge",
     {"rows=3", "cols=2", NULL}},
    {"bfloat", DEPTHWISE("2,24,8,8", "24,1,3,3", "24", THREE) MEAN, TG_PRESET_MP4, "edge", {NULL}},
    {"maximum",
     DEPTHWISE("1,16,9,9", "16,1,3,3", "16", THREE) OTHER("ReduceMax"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"mean",
     DEPTHWISE("1,16,6,8", "16,1,3,3", "16", THREE) OTHER("ReduceMean"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"of_an_activation",
     DEPTHWISE("1,24,14,14", "24,1,3,3", "24",
               THREE) "const %t: f32[] = [3]\nconst %z: f32[] = [0]\nconst %o: f32[] = [6]\n"
                      "%a = Add(%d, %t) @4\n%s = Clip(%a, %z, %o) @7\n%m = Mul(%d, %s) @5\n%y = "
                      "ReduceMean(%m) axes=[2,3] keepdims=1 @6\n"
                      "output \"y\" %y: f32\noutput \"m\" %m: f32\n",
     TG_PRESET_MP0,
     "edge",
     {NULL}},
};

static bool has_sums(const tg_program *program) {
  for (uint32_t i = 0; i < program->invocation_count; i++)
    if (!strncmp(program->invocations[i].name, "Conv", 4) && strstr(program->invocations[i].name, "+Reduce"))
      return true;
  return false;
}

static void same_bits(const void *user) {
  check_randomized(
      user, &(randomized_search){
                .has = has_sums, .lacks = "no depthwise convolution has sums", .seeds = 100, .wanted = 6});
}

__attribute__((constructor)) static void register_sums(void) {
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
    tg_test_register_row("window_sums", sums[i].name, __FILE__, __LINE__, same_bits, &sums[i]);
}

#ifdef TEGULA_WITH_SYSTEMC
static double cycles_of(const char *text) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {
      .text = text, .arch = "edge", .run = {.threads = 1, .timing_only = true}, .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  double cycles = (double)m.result.cycles;
  release_mapped(&m);
  tg_arena_release(&arena);
  return cycles;
}

/* Images in the order of memory, so that nothing is transposed. */
#define IN_ORDER(op)                                                                                         \
  "graph \"g\"\ninput %i: f32[1,14,14,256]\nconst %w: f32[256,1,5,5] = seeded(1, 0.3)\n"                     \
  "%x = Transpose(%i) perm=[0,3,1,2] @1\n%d = Conv(%x, %w) " FIVE " group=256 @2\n" op                       \
  "%o = Transpose(%y) perm=[0,2,3,1] @9\noutput \"y\" %o: f32\n"

/* Of 196 vectors a tile, each of which takes 24 words for x * sigmoid(x), and four loads and stores: not of the columns
 * in front of each row. */
TG_TEST(window_sums, an_activation_takes_its_words) {
  double alone = cycles_of(IN_ORDER("%y = Neg(%d) @3\n")),
         both = cycles_of(IN_ORDER("%s = Sigmoid(%d) @3\n%y = Mul(%d, %s) @4\n"));
  if (both > alone + 196 * 30) tg_test_fail(__FILE__, __LINE__, "%.0f cycles, %.0f without", both, alone);
}

/* The tensor is not loaded again, which takes 1568 cycles and a section. */
TG_TEST(window_sums, a_mean_takes_less_than_a_load) {
#define TAIL "%t = Reshape(%m) shape=[1,256] @8\noutput \"t\" %t: f32\n"
  double alone = cycles_of(IN_ORDER("%y = Neg(%d) @3\n")),
         both = cycles_of(IN_ORDER("%y = Neg(%d) @3\n%m = ReduceMean(%y) axes=[2,3] @4\n" TAIL));
  if (both > alone + 1568) tg_test_fail(__FILE__, __LINE__, "%.0f cycles, %.0f without", both, alone);
}
#endif
