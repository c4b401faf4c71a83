/* Products against a plain C model of docs/numerics.md: chains in ascending k, stochastically rounded at the
 * end of each K tile in logical coordinates or not at all. The model knows no architecture, so equal bits on
 * several show that results depend on none. */
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 77, STEP = 3, NODE = 9 };

/* A product as rows x columns chains of K pairs; element(user, row, column, k) is what is multiplied. */
typedef struct chains {
  int64_t rows, columns, k;
  void (*pair)(const struct chains *chains, int64_t row, int64_t column, int64_t k, float *a, float *b);
  int64_t (*place)(const struct chains *chains, int64_t row, int64_t column); /* in the output */
  const float *x, *w;
  int64_t partials;   /* MatMul: parts of K, whose chains are added; 0: one chain */
  int64_t batch_rows; /* MatMul: rows of a batch element that has a B of its own; 0: one B for all */
  int64_t n, h, width, groups, cin, cout, kernel, stride, pad, oh, ow; /* Conv; cin, cout of a group */
  int64_t window, hop, margin, ph, pw; /* a MaxPool of its result, whose windows the rows are; or 0 */
} chains;

/* The chain of [k, end); its first K tile has number `tile`. */
static float chain(const chains *c, int64_t row, int64_t column, int64_t k, int64_t end, int64_t tile,
                   bool narrow, int k_tile) {
  float acc = 0;
  uint32_t key = tg_sr_key(SEED, STEP, NODE);
  for (int64_t i = 1; k < end; k++, i++) {
    float a, b;
    c->pair(c, row, column, k, &a, &b);
    if (narrow) {
      a = tg_bits_f32(tg_bf16_to_f32(tg_bf16_from_f32(tg_f32_bits(a))));
      b = tg_bits_f32(tg_bf16_to_f32(tg_bf16_from_f32(tg_f32_bits(b))));
    }
    acc = fmaf(a, b, acc);
    if (!k_tile || (i % k_tile && k + 1 < end)) continue;
    uint32_t tkey = tg_sr_tile_key(key, (uint32_t)(tile + (i - 1) / k_tile));
    uint32_t r16 = tg_sr_r16(tg_sr_row_hash(tkey, (uint32_t)row), tg_sr_col_hash(tkey, (uint32_t)column));
    acc = tg_bits_f32(tg_bf16_to_f32(tg_bf16_stochastic(tg_f32_bits(acc), r16)));
  }
  return acc;
}

/* Parts of ceil(K / partials), the last ones shorter or empty; K tiles are counted through all of them. */
static float sum(const chains *c, int64_t row, int64_t column, bool narrow, int k_tile) {
  if (!c->partials) return chain(c, row, column, 0, c->k, 0, narrow, k_tile);
  int64_t length = (c->k + c->partials - 1) / c->partials;
  int64_t tiles = k_tile ? (length + k_tile - 1) / k_tile : 0;
  float all = 0;
  for (int64_t i = 0; i < c->partials; i++) {
    int64_t first = i * length < c->k ? i * length : c->k,
            end = first + length < c->k ? first + length : c->k;
    all += chain(c, row, column, first, end, i * tiles, narrow, k_tile);
  }
  return all;
}

static void matmul_pair(const chains *c, int64_t row, int64_t column, int64_t k, float *a, float *b) {
  *a = c->x[row * c->k + k];
  *b = c->w[((c->batch_rows ? row / c->batch_rows : 0) * c->k + k) * c->columns + column];
}
static int64_t matmul_place(const chains *c, int64_t row, int64_t column) {
  return row * c->columns + column;
}

/* X[N,C,H,W], W[Cout,C/groups,K,K]; k is (kh, kw, cin), a row an output pixel, padding a +0. */
static void conv_pair(const chains *c, int64_t row, int64_t column, int64_t k, float *a, float *b) {
  int64_t channel = k % c->cin, kw = k / c->cin % c->kernel, kh = k / c->cin / c->kernel;
  int64_t n = row / (c->oh * c->ow), y = row / c->ow % c->oh * c->stride + kh - c->pad,
          x = row % c->ow * c->stride + kw - c->pad, group = column / c->cout;
  bool inside = y >= 0 && y < c->h && x >= 0 && x < c->width;
  *a = inside ? c->x[((n * c->groups * c->cin + group * c->cin + channel) * c->h + y) * c->width + x] : 0;
  *b = c->w[((column * c->cin + channel) * c->kernel + kh) * c->kernel + kw];
}
static int64_t conv_place(const chains *c, int64_t row, int64_t column) {
  int64_t pixels = c->oh * c->ow;
  return (row / pixels * c->columns + column) * pixels + row % pixels;
}

/* The greatest of a window's sums, each rounded where it is in the convolution's result. */
static float result(const chains *c, int64_t row, int64_t column, bool narrow, int k_tile) {
  bool depthwise = c->groups > 1 && c->cin * c->cout == 1; /* one K tile, however long */
  if (!c->window) return sum(c, row, column, narrow, depthwise && k_tile ? (int)c->k : k_tile);
  int64_t n = row / (c->ph * c->pw), top = row / c->pw % c->ph * c->hop - c->margin,
          left = row % c->pw * c->hop - c->margin;
  float most = -INFINITY;
  for (int64_t y = top; y < top + c->window; y++)
    for (int64_t x = left; x < left + c->window; x++)
      if (y >= 0 && y < c->oh && x >= 0 && x < c->ow)
        most = fmaxf(most, sum(c, (n * c->oh + y) * c->ow + x, column, narrow, k_tile));
  return most;
}
static int64_t pool_place(const chains *c, int64_t row, int64_t column) {
  int64_t windows = c->ph * c->pw;
  return (row / windows * c->columns + column) * windows + row % windows;
}

typedef struct product {
  const char *name, *text; /* inputs: x, w */
  chains chains;
} product;

#define MATMUL(a, b)                                                                                         \
  "graph \"g\"\ninput %x: f32" a "\ninput %w: f32" b "\n%y = MatMul(%x, %w) @9\noutput \"y\" %y: f32\n"
#define CONV(x, w, attributes)                                                                               \
  "graph \"g\"\ninput %x: f32" x "\ninput %w: f32" w "\n%y = Conv(%x, %w) " attributes                       \
  " @9\noutput \"y\" %y: f32\n"
#define SUM(a, b, partials)                                                                                  \
  "graph \"g\"\ninput %x: f32" a "\ninput %w: f32" b "\n%y = MatMul(%x, %w) partials=" partials              \
  " @9\noutput \"y\" %y: f32\n"
#define AS_MATMUL .pair = matmul_pair, .place = matmul_place
#define AS_CONV   .pair = conv_pair, .place = conv_place

static const product products[] = {
    {"deep", MATMUL("[7,300]", "[300,9]"), {7, 9, 300, AS_MATMUL}},
    {"ragged", MATMUL("[17,13]", "[13,17]"), {17, 17, 13, AS_MATMUL}},
    {"passes", MATMUL("[150,129]", "[129,70]"), {150, 70, 129, AS_MATMUL}},
    {"one", MATMUL("[1,256]", "[256,1]"), {1, 1, 256, AS_MATMUL}},
    {"shared_b", MATMUL("[3,5,40]", "[40,6]"), {15, 6, 40, AS_MATMUL}},
    {"batched", MATMUL("[3,5,40]", "[3,40,6]"), {15, 6, 40, AS_MATMUL, .batch_rows = 5}},
    {"sum_of_1", SUM("[7,30]", "[30,9]", "1"), {7, 9, 30, AS_MATMUL}},
    {"sum_of_2", SUM("[17,37]", "[37,19]", "2"), {17, 19, 37, AS_MATMUL, .partials = 2}},
    {"sum_of_3", SUM("[5,300]", "[300,70]", "3"), {5, 70, 300, AS_MATMUL, .partials = 3}},
    {"sum_of_4", SUM("[70,129]", "[129,33]", "4"), {70, 33, 129, AS_MATMUL, .partials = 4}},
    {"sum_of_5", SUM("[9,1301]", "[1301,11]", "5"), {9, 11, 1301, AS_MATMUL, .partials = 5}},
    {"sum_of_more_than_k", SUM("[6,3]", "[3,5]", "5"), {6, 5, 3, AS_MATMUL, .partials = 5}},
    {"sum_of_batches",
     SUM("[3,5,40]", "[3,40,6]", "3"),
     {15, 6, 40, AS_MATMUL, .batch_rows = 5, .partials = 3}},
    {"conv",
     CONV("[2,5,9,7]", "[11,5,3,3]", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     {40, 11, 45, AS_CONV, .n = 2, .h = 9, .width = 7, .groups = 1, .cin = 5, .cout = 11, .kernel = 3,
      .stride = 2, .pad = 1, .oh = 5, .ow = 4}},
    {"few_rows", MATMUL("[3,300]", "[300,70]"), {3, 70, 300, AS_MATMUL}},
    {"conv_of_pixels",
     CONV("[1,32,9,7]", "[19,32,3,3]", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     {63, 19, 288, AS_CONV, .n = 1, .h = 9, .width = 7, .groups = 1, .cin = 32, .cout = 19, .kernel = 3,
      .stride = 1, .pad = 1, .oh = 9, .ow = 7}},
    {"conv_in_slabs",
     CONV("[1,3,64,32]", "[3,3,3,3]", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     {2048, 3, 27, AS_CONV, .n = 1, .h = 64, .width = 32, .groups = 1, .cin = 3, .cout = 3, .kernel = 3,
      .stride = 1, .pad = 1, .oh = 64, .ow = 32}},
    {"conv_depthwise",
     CONV("[2,13,9,7]", "[13,1,3,3]", "kernel_shape=[3,3] group=13 strides=[2,2] pads=[1,1,1,1]"),
     {40, 13, 9, AS_CONV, .n = 2, .h = 9, .width = 7, .groups = 13, .cin = 1, .cout = 1, .kernel = 3,
      .stride = 2, .pad = 1, .oh = 5, .ow = 4}},
    {"conv_grouped",
     CONV("[1,6,6,6]", "[8,3,3,3]", "kernel_shape=[3,3] group=2 pads=[1,1,1,1]"),
     {36, 8, 27, AS_CONV, .n = 1, .h = 6, .width = 6, .groups = 2, .cin = 3, .cout = 4, .kernel = 3,
      .stride = 1, .pad = 1, .oh = 6, .ow = 6}},
};

typedef struct variant {
  const char *name, *arch, *settings[3];
  const int *k_tiles; /* 0: fp32; up to a negative one */
  const tg_engine *engine;
} variant;

static const int usual[] = {0, 128, 16, 5, -1}, extreme[] = {1, 7, 1000, -1};
static const variant variants[] = {
    {"tiny", "tiny", {NULL}, usual, NULL},
    {"tiny", "tiny", {NULL}, extreme, NULL},
    {"edge", "edge", {NULL}, usual, NULL},
    {"1x3", "tiny", {"rows=1", "cols=3", NULL}, usual, NULL},
    {"3x1 of 2 x 2", "tiny", {"rows=3", "cols=1", "p=2"}, usual, NULL},
#ifdef TEGULA_WITH_SYSTEMC
    {"tiny on SystemC", "tiny", {NULL}, extreme, &tg_engine_systemc},
#endif
};

/* The first difference between the model and what the machine left. */
static void compare(const chains *c, const float *got, bool narrow, int k_tile, tg_diag *diag) {
  for (int64_t row = 0; row < c->rows; row++)
    for (int64_t column = 0; column < c->columns; column++) {
      float want = result(c, row, column, narrow, k_tile), value = got[c->place(c, row, column)];
      if (tg_f32_bits(value) == tg_f32_bits(want)) continue;
      tg_fail(diag, TG_MISMATCH, "row %lld, column %lld is %.9g, the model has %.9g", (long long)row,
              (long long)column, value, want);
      return;
    }
}

static void check_case(const product *p, const char *name, const run_case *what) {
  tg_diag diag = {""};
  tg_arena arena = {0};
  mapped m;
  bool narrow = what->precision.preset == TG_PRESET_MP1;
  if (!run_text(what, &m, &arena, &diag)) {
    chains c = p->chains;
    c.x = m.inputs[0];
    c.w = m.inputs[1];
    compare(&c, output_of(&m, 0, NULL), narrow, what->map.k_tile, &diag);
  }
  if (diag.message[0])
    tg_test_fail(__FILE__, __LINE__, "%s, K tile %d, %s: %s", name, what->map.k_tile, narrow ? "mp1" : "mp0",
                 diag.message);
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void check_variant(const product *p, const variant *v, bool narrow, int k_tile) {
  run_case what = {.text = p->text,
                   .arch = v->arch,
                   .precision.preset = narrow ? TG_PRESET_MP1 : TG_PRESET_MP0,
                   .map = {.accum_bf16sr = k_tile > 0, .k_tile = k_tile, .seed = SEED},
                   .run = {.threads = 1, .seed = SEED, .step = STEP},
                   .engine = v->engine};
  memcpy(what.settings, v->settings, sizeof v->settings);
  check_case(p, v->name, &what);
}

static void check_product(const void *user) {
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
    for (const int *k_tile = variants[v].k_tiles; *k_tile >= 0; k_tile++)
      for (int narrow = 0; narrow < 2; narrow++) check_variant(user, &variants[v], narrow, *k_tile);
}

__attribute__((constructor)) static void register_products(void) {
  for (size_t p = 0; p < sizeof products / sizeof *products; p++)
    tg_test_register_row("rounding", products[p].name, __FILE__, __LINE__, check_product, &products[p]);
}

/* Do multiplications go from slab to slab of a patch? */
static bool has_slabs(const tg_program *program) {
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *mx = &program->sections[s].tiles[0].mx;
    for (uint32_t i = 0; i < mx->count; i++)
      if (mx->instrs[i].common.op == TG_OP_mx_gemm && mx->instrs[i].mx.k_loops == 3 &&
          mx->instrs[i].mx.a.delta[1])
        return true;
  }
  return false;
}

/* Of a tiling that has what is asked for. */
static void check_patches(const product *conv, bool (*has)(const tg_program *), const char *name) {
  run_case what = {.text = conv->text,
                   .arch = "tiny",
                   .precision.preset = TG_PRESET_MP1,
                   .map = {.accum_bf16sr = true, .k_tile = 128, .seed = SEED},
                   .run = {.threads = 1, .seed = SEED, .step = STEP}};
  bool found = false;
  for (uint64_t seed = 1; seed <= 400 && !found; seed++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    what.map.any_tiling = seed;
    EXPECT_EQ(map_text(&what, &m, &arena, &diag), TG_OK);
    found = has(m.program);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
  EXPECT(found);
  for (int i = 0; usual[i] >= 0; i++) {
    what.map.k_tile = usual[i];
    what.map.accum_bf16sr = usual[i] > 0;
    check_case(conv, name, &what);
  }
}

/* Each kernel row of a slab has a GEMM of its own, and the chain goes on through them. */
TG_TEST(rounding, patches_in_slabs) {
  static const product conv = {"conv",
                               CONV("[1,16,33,14]", "[24,16,3,3]", "kernel_shape=[3,3] pads=[1,1,1,1]"),
                               {462, 24, 144, AS_CONV, .n = 1, .h = 33, .width = 14, .groups = 1, .cin = 16,
                                .cout = 24, .kernel = 3, .stride = 1, .pad = 1, .oh = 33, .ow = 14}};
  check_patches(&conv, has_slabs, "in slabs");
}

/* So have several kernel rows of a position, of which the last may have fewer. */
TG_TEST(rounding, patches_of_joined_rows) {
  static const product conv = {
      "conv",
      CONV("[1,3,25,23]", "[13,3,7,7]", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]"),
      {156, 13, 147, AS_CONV, .n = 1, .h = 25, .width = 23, .groups = 1, .cin = 3, .cout = 13, .kernel = 7,
       .stride = 2, .pad = 3, .oh = 13, .ow = 12}};
  check_patches(&conv, has_joined_rows, "of joined rows");
}

#define POOLED(x, w, attributes, pool)                                                                       \
  "graph \"g\"\ninput %x: f32" x "\ninput %w: f32" w "\n%c = Conv(%x, %w) " attributes                       \
  " @9\n%y = MaxPool(%c) " pool " @3\noutput \"y\" %y: f32\n"
#define AS_POOL .pair = conv_pair, .place = pool_place

static const product pooled[] = {
    {"windows_overlap",
     POOLED("[1,3,25,23]", "[13,3,7,7]", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]",
            "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     {42,          13,          147,        AS_POOL,     .n = 1,      .h = 25,  .width = 23,
      .groups = 1, .cin = 3,    .cout = 13, .kernel = 7, .stride = 2, .pad = 3, .oh = 13,
      .ow = 12,    .window = 3, .hop = 2,   .margin = 1, .ph = 7,     .pw = 6}},
    {"blocks_end_with_images",
     POOLED("[3,16,8,10]", "[24,16,3,3]", "kernel_shape=[3,3] pads=[1,1,1,1]",
            "kernel_shape=[2,2] strides=[2,2]"),
     {60, 24, 144, AS_POOL, .n = 3, .h = 8, .width = 10, .groups = 1, .cin = 16, .cout = 24, .kernel = 3,
      .stride = 1, .pad = 1, .oh = 8, .ow = 10, .window = 2, .hop = 2, .ph = 4, .pw = 5}},
    {"blocks_do_not_end_with_images",
     POOLED("[5,4,9,9]", "[8,4,3,3]", "kernel_shape=[3,3]", "kernel_shape=[3,3] strides=[2,2]"),
     {45, 8, 36, AS_POOL, .n = 5, .h = 9, .width = 9, .groups = 1, .cin = 4, .cout = 8, .kernel = 3,
      .stride = 1, .oh = 7, .ow = 7, .window = 3, .hop = 2, .ph = 3, .pw = 3}},
};

static bool has_pool_in_drain(const tg_program *program) {
  for (uint32_t i = 0; i < program->invocation_count; i++)
    if (strstr(program->invocations[i].name, "Conv+MaxPool")) return true;
  return false;
}

/* Where a pool is in the drain, rows of the accumulator are rows of windows, some of them twice. */
static void check_pooled(const void *user) {
  static const int k_tiles[] = {16, 5, 37};
  const product *p = user;
  int found = 0;
  for (uint64_t seed = 0; seed <= 60 && found < 8; seed++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    run_case what = {
        .text = p->text,
        .arch = seed % 2 ? "tiny" : "edge",
        .precision.preset = TG_PRESET_MP1,
        .map = {.accum_bf16sr = true, .k_tile = k_tiles[seed % 3], .seed = SEED, .any_tiling = seed},
        .run = {.threads = 1, .seed = SEED, .step = STEP}};
    EXPECT_EQ(map_text(&what, &m, &arena, &diag), TG_OK);
    bool has = has_pool_in_drain(m.program);
    release_mapped(&m);
    tg_arena_release(&arena);
    if (has) check_case(p, "in a drain", &what);
    found += has;
  }
  EXPECT(found >= 4);
}

__attribute__((constructor)) static void register_pooled(void) {
  for (size_t p = 0; p < sizeof pooled / sizeof *pooled; p++)
    tg_test_register_row("rounding_pools", pooled[p].name, __FILE__, __LINE__, check_pooled, &pooled[p]);
}

/* Rows chosen by numbers are the table's, whatever is said of how products accumulate: they are computed as
 * products, whose numbers of rows are above what BF16 holds exactly. */
TG_TEST(rounding, rows_by_number_are_not_rounded) {
  static const char *const arrays[] = {"tiny", "edge"};
  for (int i = 0; i < 2; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    run_case what = {.text = "graph \"g\"\ninput %i: i64[9]\ninput %u: f32[9,5]\n"
                             "const %t: f32[700,5] = seeded(3, 1)\n%b = Gather(%t, %i) @0\n"
                             "%s = ScatterAdd(%t, %i, %u) @1\noutput \"b\" %b: f32\noutput \"s\" %s: f32\n",
                     .arch = arrays[i],
                     .map = {.accum_bf16sr = true, .k_tile = 16, .seed = SEED},
                     .run = {.threads = 1, .seed = SEED}};
    if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 0, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s: %s", arrays[i], diag.message);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}
