/* Where accumulation rounds, results of products behind bias and activation are BF16 tensors: the values of a plain C model
 * of docs/numerics.md, the same bits on every array, engine and level of optimization, and half of the bytes. */
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <math.h>
#include <string.h>

enum { SEED = 77, STEP = 3, M = 19, K = 40, N = 21, OUT = 5 };

static const char *const models[] = {
    "graph \"g\"\ninput %x: f32[2,13,9,11]\nconst %w: f32[16,13,3,3] = seeded(1, 0.2)\n"
    "const %b: f32[16] = seeded(2, 0.5)\nconst %d: f32[16,1,3,3] = seeded(3, 0.4)\n"
    "const %e: f32[16] = seeded(4, 0.5)\nconst %v: f32[13,16,1,1] = seeded(5, 0.3)\n"
    "const %t: f32[13,5,2,2] = seeded(6, 0.3)\n"
    "%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @0\n%r = Clip(%a) min=0 max=6 @1\n"
    "%c = Conv(%r, %d, %e) kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2] group=16 @2\n"
    "%s = Sigmoid(%c) @3\n%g = Mul(%c, %s) @4\n%f = Conv(%g, %v) kernel_shape=[1,1] @5\n"
    "%u = ConvTranspose(%f, %t) kernel_shape=[2,2] strides=[2,2] @6\n"
    "%p = MaxPool(%u) kernel_shape=[2,2] @7\n%j = Concat(%p, %p) axis=1 @8\n"
    "const %z: f32[3,10,1,1] = seeded(7, 0.3)\n%y = Conv(%j, %z) kernel_shape=[1,1] @9\noutput \"y\" %y: "
    "f32\n",
    "graph \"g\"\ninput %x: f32[2,37,24]\nconst %q: f32[24,24] = seeded(1, 0.3)\n"
    "const %k: f32[24,24] = seeded(2, 0.3)\nconst %v: f32[24,24] = seeded(3, 0.3)\n"
    "const %o: f32[24,24] = seeded(4, 0.3)\nconst %b: f32[24] = seeded(5, 0.3)\n"
    "const %scale: f32[] = [0.25]\n%qp = MatMul(%x, %q) @0\n%qb = Add(%qp, %b) @1\n%kp = MatMul(%x, %k) @2\n"
    "%vp = MatMul(%x, %v) @3\n%q4 = Reshape(%qb) shape=[2,37,3,8]\n%k4 = Reshape(%kp) shape=[2,37,3,8]\n"
    "%v4 = Reshape(%vp) shape=[2,37,3,8]\n%qt = Transpose(%q4) perm=[0,2,1,3]\n"
    "%kt = Transpose(%k4) perm=[0,2,3,1]\n%vt = Transpose(%v4) perm=[0,2,1,3]\n%s = MatMul(%qt, %kt) @4\n"
    "%t = Mul(%s, %scale) @5\n%p = Softmax(%t) axis=-1 @6\n%c = MatMul(%p, %vt) @7\n"
    "%ct = Transpose(%c) perm=[0,2,1,3]\n%cr = Reshape(%ct) shape=[2,37,24]\n%y = MatMul(%cr, %o) @8\n"
    "output \"y\" %y: f32\n",
    /* scaled by numbers of its channels: what the next convolution alone reads is BF16, too */
    "graph \"g\"\ninput %x: f32[2,13,9,11]\nconst %w: f32[16,13,3,3] = seeded(1, 0.2)\n"
    "const %b: f32[16] = seeded(2, 0.5)\nconst %g: f32[16,16,1,1] = seeded(3, 0.3)\n"
    "const %v: f32[8,16,3,3] = seeded(4, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @0\n"
    "%r = Relu(%a) @1\n%m = GlobalAveragePool(%r) @2\n%c = Conv(%m, %g) kernel_shape=[1,1] @3\n"
    "%s = Sigmoid(%c) @4\n%z = Mul(%r, %s) @5\n%y = Conv(%z, %v) kernel_shape=[3,3] pads=[1,1,1,1] @6\n"
    "output \"y\" %y: f32\n",
};

typedef struct place {
  const char *name, *arch, *settings[4];
  tg_opt_level opt;
  uint64_t tilings;
  bool systemc;
} place;

static const place places[] = {
    {"edge", "edge", {NULL}, TG_OPT_LEVEL_ALL, 0, false},
    {"tiny", "tiny", {NULL}, TG_OPT_LEVEL_ALL, 0, false},
    {"rack of 5 x 3", "rack", {"rows=5", "cols=3", NULL}, TG_OPT_LEVEL_ALL, 0, false},
    {"3 x 1", "tiny", {"rows=3", "cols=1", NULL}, TG_OPT_LEVEL_FUSION, 7, false},
    {"an operator a section", "edge", {NULL}, TG_OPT_LEVEL_NONE, 0, false},
#ifdef TEGULA_WITH_SYSTEMC
    {"SystemC", "tiny", {NULL}, TG_OPT_LEVEL_ALL, 0, true},
#endif
};

static run_case case_of(const char *text, const place *p, tg_precision_preset preset, int k_tile) {
  run_case what = {
      .text = text,
      .arch = p->arch,
      .precision = {.preset = preset, .tiling_accum = TG_ACCUM_BF16SR, .k_tile = k_tile},
      .map = {.accum_bf16sr = true, .k_tile = k_tile, .seed = SEED, .opt = p->opt, .any_tiling = p->tilings},
      .run = {.threads = 1, .seed = SEED, .step = STEP}};
#ifdef TEGULA_WITH_SYSTEMC
  if (p->systemc) what.engine = &tg_engine_systemc;
#endif
  memcpy(what.settings, p->settings, sizeof p->settings);
  return what;
}

static void check_bits(const char *text, tg_precision_preset preset, int k_tile) {
  tg_arena arena = {0};
  const void *want = NULL;
  size_t want_bytes = 0, bytes = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    tg_diag diag = {""};
    mapped m;
    run_case what = case_of(text, &places[i], preset, k_tile);
    if (run_text(&what, &m, &arena, &diag)) {
      tg_test_fail(__FILE__, __LINE__, "%s: %s", places[i].name, diag.message);
    } else {
      const void *got = output_of(&m, 0, &bytes);
      if (!want) {
        void *copy = tg_arena_alloc(&arena, want_bytes = bytes, 1);
        want = memcpy(copy, got, bytes);
      } else if (bytes != want_bytes || memcmp(got, want, bytes) != 0) {
        tg_test_fail(__FILE__, __LINE__, "mp%d, K tile %d: other bits on %s", (int)preset, k_tile,
                     places[i].name);
      }
    }
    release_mapped(&m);
  }
  tg_arena_release(&arena);
}

TG_TEST(narrow_products, have_the_same_bits_everywhere) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    check_bits(models[i], TG_PRESET_MP0, 128);
    check_bits(models[i], TG_PRESET_MP0, 12);
    check_bits(models[i], TG_PRESET_MP1, 16);
  }
}

static float bf16(float x) { return tg_bits_f32(tg_bf16_to_f32(tg_bf16_from_f32(tg_f32_bits(x)))); }

/* One chain of fused multiply-adds; with `rounds`, rounded at the ends of K tiles for node `node`. */
static float chain(const float *a, const float *b, int k, int columns, int row, int column, int k_tile,
                   bool rounds, uint32_t node) {
  float acc = 0;
  for (int i = 0; i < k; i++) {
    acc = fmaf(a[row * k + i], b[i * columns + column], acc);
    if (!rounds || ((i + 1) % k_tile && i + 1 < k)) continue;
    uint32_t key = tg_sr_tile_key(tg_sr_key(SEED, STEP, node), (uint32_t)(i / k_tile));
    uint32_t r16 = tg_sr_r16(tg_sr_row_hash(key, (uint32_t)row), tg_sr_col_hash(key, (uint32_t)column));
    acc = tg_bits_f32(tg_bf16_to_f32(tg_bf16_stochastic(tg_f32_bits(acc), r16)));
  }
  return acc;
}

/* Two layers: the first one's result is BF16, behind bias and ReLU, rounded before these only where it has several K tiles;
 * the second one's is the output, in FP32, rounded as its accumulation is. */
static void check_layers(int k_tile) {
  static const char text[] = "graph \"g\"\ninput %x: f32[19,40]\ninput %w: f32[40,21]\n"
                             "const %b: f32[21] = seeded(9, 1)\ninput %v: f32[21,5]\n"
                             "%p = MatMul(%x, %w) @7\n%s = Add(%p, %b) @1\n%r = Relu(%s) @2\n"
                             "%y = MatMul(%r, %v) @8\noutput \"y\" %y: f32\n";
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = case_of(text, &places[0], TG_PRESET_MP0, k_tile);
  ASSERT(!run_text(&what, &m, &arena, &diag));
  float bias[N], hidden[M * N];
  tg_seeded_fill(bias, TG_F32, N, 9, 1);
  for (int i = 0; i < M * N; i++) {
    float sum = chain(m.inputs[0], m.inputs[1], K, N, i / N, i % N, k_tile, k_tile < K, 7) + bias[i % N];
    hidden[i] = bf16(sum > 0 ? sum : 0);
  }
  const float *got = output_of(&m, 0, NULL);
  for (int i = 0; i < M * OUT; i++) {
    float want = chain(hidden, m.inputs[2], N, OUT, i / OUT, i % OUT, k_tile, true, 8);
    EXPECT_EQ(tg_f32_bits(got[i]), tg_f32_bits(want));
  }
  release_mapped(&m);
  tg_arena_release(&arena);
}

TG_TEST(narrow_products, are_those_of_a_plain_model) {
  check_layers(128);
  check_layers(16);
  check_layers(40);
  check_layers(7);
}

/* Of the tensors between inputs and outputs; -1: not mapped. */
static int64_t temporary_bytes(const char *text, bool rounds, tg_arena *arena) {
  tg_diag diag = {""};
  mapped m;
  run_case what = case_of(text, &places[0], TG_PRESET_MP0, 128);
  what.map.accum_bf16sr = rounds;
  if (!rounds) what.precision.tiling_accum = TG_ACCUM_FP32;
  int64_t bytes = map_text(&what, &m, arena, &diag) ? -1 : 0;
  for (uint32_t t = 0; bytes >= 0 && t < m.program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &m.program->tensors[t];
    int64_t elements = 1;
    for (uint32_t d = 0; d < tensor->rank; d++) elements *= tensor->dims[d];
    if (tensor->role == TG_ROLE_TEMPORARY) bytes += elements * tg_storage_bytes(tensor->storage);
  }
  release_mapped(&m);
  return bytes;
}

/* But for the image and the result, channels last. */
TG_TEST(narrow_products, take_fewer_bytes) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    tg_arena arena = {0};
    int64_t wide = temporary_bytes(models[i], false, &arena),
            narrow = temporary_bytes(models[i], true, &arena);
    EXPECT(narrow > 0);
    EXPECT(narrow * 100 <= wide * 75);
    tg_arena_release(&arena);
  }
}
