/* Convolutions of one position in the section of the depthwise convolution that reads what they make: the reference's bits,
 * whatever the shape and however blocks are cut and shared; proved in order; and faster than apart. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

/* Images in the order of memory, as those between layers are. */
#define HEAD(x, cin, cout, reads)                                                                            \
  "graph \"g\"\ninput %i: f32[" x "]\n%x = Transpose(%i) perm=[0,3,1,2] @8\nconst %e: f32[" cout "," cin     \
  ",1,1] = seeded(1, 0.3)\n"                                                                                 \
  "const %f: f32[" cout "] = seeded(2, 0.3)\nconst %b: f32[" cout                                            \
  "] = seeded(3, 0.3)\n%p = Conv(%x, %e" reads ") kernel_shape=[1,1] @1\n"
#define WINDOWS(image, w, c, attributes)                                                                     \
  "const %w: f32[" w "] = seeded(4, 0.3)\n%d = Conv(" image ", %w, %b) " attributes " group=" c " @3\n"
#define RELU  "%r = Relu(%p) @2\n"
#define OUT   "output \"d\" %d: f32\n"
#define THREE "kernel_shape=[3,3] pads=[1,1,1,1]"
#define SWISH "%h = HardSwish(%d) @4\noutput \"h\" %h: f32\n"
#define MEAN  "%m = ReduceMean(%d) axes=[2,3] keepdims=1 @5\noutput \"m\" %m: f32\n"

static const randomized_case products[] = {
    {"an_image_a_tile",
     HEAD("1,7,7,24", "24", "72", ", %f") RELU WINDOWS("%r", "72,1,3,3", "72", THREE) OUT,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"rows_with_marks",
     HEAD("1,28,28,8", "8", "48", ", %f") RELU WINDOWS("%r", "48,1,3,3", "48", THREE) OUT,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"several_images",
     HEAD("3,9,11,16", "16", "40", ", %f") RELU WINDOWS("%r", "40,1,3,3", "40", THREE) OUT,
     TG_PRESET_MP1,
     "edge",
     {NULL}},
    {"strides_that_leave_rows_out",
     HEAD("2,14,13,12", "12", "33", "")
         WINDOWS("%p", "33,1,3,3", "33", "kernel_shape=[3,3] strides=[3,2] pads=[1,0,0,1]") OUT,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"dilations_and_uneven_pads",
     HEAD("1,12,10,16", "16", "32", ", %f")
         RELU WINDOWS("%r", "32,1,5,3", "32", "kernel_shape=[5,3] dilations=[1,2] pads=[4,3,1,0]") OUT,
     TG_PRESET_MP4,
     "edge",
     {NULL}},
    {"no_pads",
     HEAD("1,12,12,16", "16", "32", ", %f") RELU WINDOWS("%r", "32,1,3,3", "32", "kernel_shape=[3,3]") OUT,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"one_vector",
     HEAD("1,16,16,16", "16", "16", ", %f") RELU WINDOWS("%r", "16,1,3,3", "16", THREE) OUT,
     TG_PRESET_MP1,
     "edge",
     {"rows=5", "cols=3", NULL}},
    {"channels_that_fill_no_block",
     HEAD("1,10,10,7", "7", "21", ", %f") RELU WINDOWS("%r", "21,1,3,3", "21", THREE) OUT,
     TG_PRESET_MP3,
     "edge",
     {"rows=2", "cols=6", NULL}},
    {"one_dimension",
     HEAD("2,1,60,16", "16", "32", ", %f")
         RELU WINDOWS("%r", "32,1,1,5", "32", "kernel_shape=[1,5] pads=[0,2,0,2]") OUT,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"a_mean_of_it",
     HEAD("1,14,14,16", "16", "64", ", %f") RELU WINDOWS("%r", "64,1,3,3", "64", THREE) OUT MEAN,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"means_in_rounds_of_rows_and_channels",
     HEAD("7,9,9,8", "8", "80", ", %f") RELU WINDOWS("%r", "80,1,3,3", "80", THREE) OUT MEAN,
     TG_PRESET_MP0,
     "edge",
     {"rows=2", "cols=2", NULL}},
    {"sums_through_rows",
     HEAD("1,14,14,40", "40", "48", ", %f")
         RELU WINDOWS("%r", "48,1,5,5", "48", "kernel_shape=[5,5] pads=[2,2,2,2]") SWISH,
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"sums_through_rows_of_uneven_pads",
     HEAD("2,7,9,16", "16", "40", ", %f")
         RELU WINDOWS("%r", "40,1,4,4", "40", "kernel_shape=[4,4] pads=[1,0,2,3]") SWISH,
     TG_PRESET_MP0,
     "edge",
     {"fma_latency=6", NULL}},
    {"sums_through_dilated_rows",
     HEAD("1,11,6,16", "16", "32", ", %f")
         RELU WINDOWS("%r", "32,1,3,4", "32", "kernel_shape=[3,4] dilations=[2,1] pads=[2,3,1,0]") SWISH,
     TG_PRESET_MP4,
     "edge",
     {"fma_latency=3", "rows=3", NULL}},
    {"small_tiles",
     HEAD("1,6,6,8", "8", "32", ", %f") RELU WINDOWS("%r", "32,1,3,3", "32", THREE) OUT,
     TG_PRESET_MP1,
     "tiny",
     {"rows=3", NULL}},
};

static bool has_products(const tg_program *program) {
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const char *first = strstr(program->invocations[i].name, "Conv");
    if (first && strstr(first + 1, "+Conv")) return true;
  }
  return false;
}

static void same_bits(const void *user) {
  check_randomized(user, &(randomized_search){.has = has_products,
                                              .lacks = "no product is in front of windows",
                                              .seeds = 100,
                                              .wanted = 4});
}

/* What makes the image also makes the weights, or the bias, which are loaded: it is stored. */
TG_TEST(window_products, of_which_the_windows_read_more_are_stored) {
  static const char *const more[] = {
      "%w = Reshape(%r) shape=[32,1,1,1] @3\n%d = Conv(%r, %w) kernel_shape=[1,1] group=32 @4\n" OUT,
      "%c = Reshape(%r) shape=[32] @3\nconst %w: f32[32,1,1,1] = seeded(4, 0.3)\n"
      "%d = Conv(%r, %w, %c) kernel_shape=[1,1] group=32 @4\n" OUT};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    for (uint64_t seed = 0; seed <= 40; seed++) {
      tg_arena arena = {0};
      tg_diag diag = {""};
      mapped m;
      run_case what = {
          .text = tg_arena_printf(&arena, "%s%s", HEAD("1,1,1,16", "16", "32", ", %f") RELU, more[i]),
          .arch = "edge",
          .map.any_tiling = seed,
          .run.threads = 1};
      if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 0, &diag))
        tg_test_fail(__FILE__, __LINE__, "%d, tilings %d: %s", (int)i, (int)seed, diag.message);
      EXPECT(!has_products(m.program));
      release_mapped(&m);
      tg_arena_release(&arena);
    }
}

/* Accumulation that rounds does so by the places of pixels and channels, whatever a tile has of them. */
TG_TEST(window_products, sums_are_rounded_by_their_places) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    check_rounded(
        &products[i],
        &(randomized_search){
            .has = has_products, .lacks = "no product is in front of windows", .seeds = 60, .wanted = 1},
        3);
}

__attribute__((constructor)) static void register_products(void) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    tg_test_register_row("window_products", products[i].name, __FILE__, __LINE__, same_bits, &products[i]);
}
