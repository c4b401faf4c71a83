/* Products as sums of partial products against plain C: parts of ceil(K / N), each a chain of fused
 * multiply-adds from +0, added in ascending order from +0; s_i = SR(widen(s_(i-1)) + p_i) where sums are
 * rounded, the random number of the i-th drawn at reduction index i, row 0 and the element's index as column.
 * And what the program says of the bytes that the sums move is what the SENDs of a run moved. */
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <math.h>
#include <stdio.h>

enum { SEED = 31, STEP = 2, NODE = 6 };

typedef struct product {
  const char *name;
  int64_t m, n, k, partials;
} product;
static const product products[] = {
    {"one", 7, 9, 30, 1},
    {"two", 17, 19, 37, 2},
    {"three", 5, 70, 40, 3},
    {"four", 33, 21, 64, 4},
    {"five", 9, 11, 43, 5},
    {"more_than_k", 6, 5, 3, 5},
    {"of_one_k", 4, 3, 1, 4},
    {"of_no_k", 3, 4, 0, 3},
    {"many", 10, 6, 50, 13},
    {"of_two_k", 19, 8, 16, 8},
    {"of_many_chunks", 5, 9, 1301, 5},
    {"in_passes", 150, 90, 67, 4},
};

typedef struct place {
  const char *name, *arch, *settings[3];
  bool systemc;
} place;
static const place places[] = {
    {"tiny", "tiny", {NULL}, false},
    {"edge", "edge", {NULL}, false},
    {"1 x 3", "tiny", {"rows=1", "cols=3", NULL}, false},
    {"5 x 1 of 2 x 2", "tiny", {"rows=5", "cols=1", "p=2"}, false},
    {"8 x 1", "tiny", {"rows=8", "cols=1", NULL}, false},
#ifdef TEGULA_WITH_SYSTEMC
    {"SystemC", "tiny", {"p=2", NULL}, true},
    {"SystemC, 4 x 2", "tiny", {"rows=4", NULL}, true},
#endif
};

static float part(const product *p, const float *a, const float *b, int64_t row, int64_t column, int64_t i) {
  int64_t length = (p->k + p->partials - 1) / p->partials;
  float acc = 0;
  for (int64_t k = i * length; k < (i + 1) * length && k < p->k; k++)
    acc = fmaf(a[row * p->k + k], b[k * p->n + column], acc);
  return acc;
}

static float whole(const product *p, const float *a, const float *b, int64_t row, int64_t column,
                   bool rounded) {
  if (p->partials == 1) return part(p, a, b, row, column, 0);
  uint32_t key = tg_sr_key(SEED, STEP, NODE);
  float sum = 0;
  for (int64_t i = 0; i < p->partials; i++) {
    sum += part(p, a, b, row, column, i);
    if (!rounded) continue;
    uint32_t tile = tg_sr_tile_key(key, (uint32_t)i);
    uint32_t r = tg_sr_r16(tg_sr_row_hash(tile, 0), tg_sr_col_hash(tile, (uint32_t)(row * p->n + column)));
    sum = tg_bits_f32(tg_bf16_to_f32(tg_bf16_stochastic(tg_f32_bits(sum), r)));
  }
  return sum;
}

static void write_graph(const product *p, bool rounded, char text[256]) {
  snprintf(text, 256,
           "graph \"g\"\ninput %%a: f32[%lld,%lld]\ninput %%b: f32[%lld,%lld]\n"
           "%%y = MatMul(%%a, %%b) partials=%lld%s @%d\noutput \"y\" %%y: f32\n",
           (long long)p->m, (long long)p->k, (long long)p->k, (long long)p->n, (long long)p->partials,
           rounded ? " reduce=1" : "", NODE);
}

static void check_run(const product *p, const place *at, bool rounded) {
  char text[256];
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  write_graph(p, rounded, text);
  run_case what = {.text = text,
                   .arch = at->arch,
                   .map = {.seed = SEED},
                   .run = {.threads = 1, .seed = SEED, .step = STEP},
#ifdef TEGULA_WITH_SYSTEMC
                   .engine = at->systemc ? &tg_engine_systemc : NULL
#endif
  };
  memcpy(what.settings, at->settings, sizeof at->settings);
  if (run_text(&what, &m, &arena, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s: %s", at->name, diag.message);
  } else {
    const float *got = output_of(&m, 0, NULL);
    for (int64_t e = 0; e < p->m * p->n; e++) {
      float want = whole(p, m.inputs[0], m.inputs[1], e / p->n, e % p->n, rounded);
      if (tg_f32_bits(got[e]) == tg_f32_bits(want)) continue;
      tg_test_fail(__FILE__, __LINE__, "%s, element %lld is %.9g, expected %.9g", at->name, (long long)e,
                   got[e], want);
      break;
    }
  }
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void fp32(const void *user) {
  for (size_t p = 0; p < sizeof places / sizeof *places; p++) check_run(user, &places[p], false);
}
static void bf16sr(const void *user) {
  for (size_t p = 0; p < sizeof places / sizeof *places; p++) check_run(user, &places[p], true);
}

#ifdef TEGULA_WITH_SYSTEMC
/* Bytes of a run's SENDs from tile to tile. */
static uint64_t sent(const tg_program *program, const tg_run_result *result) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < result->event_count; i++) {
    const tg_event *event = &result->events[i];
    if (event->unit != TG_TX) continue;
    const tg_section *section = &program->sections[program->invocations[event->invocation].section];
    const tg_instr *in = &section->tiles[event->endpoint].tx.instrs[event->pc];
    if (in->common.op == TG_OP_tx_send && in->tx.dst_mask != 1)
      bytes += (uint64_t)in->tx.flits * tg_flit_bytes(&program->params);
  }
  return bytes;
}

/* What goes from tile to tile is counted; sums of large products stay in their tiles. */
static void moved(const void *user) {
  const product *p = user;
  uint64_t counted[2] = {0};
  for (int rounded = 0; rounded < 2; rounded++) {
    char text[256];
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    write_graph(p, rounded, text);
    run_case what = {.text = text,
                     .arch = "tiny",
                     .settings = {"rows=3", NULL},
                     .run = {.threads = 1, .timing_only = true, .record_events = true},
                     .engine = &tg_engine_systemc};
    tg_status status = run_text(&what, &m, &arena, &diag);
    if (status) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    uint64_t sums = 0;
    for (uint32_t i = 0; !status && i < m.program->invocation_count; i++) {
      counted[rounded] += m.program->invocations[i].sum_bytes;
      sums += m.program->invocations[i].sums;
    }
    EXPECT_EQ(sums, p->partials > 1);
    if (!status) EXPECT_EQ(counted[rounded], sent(m.program, &m.result));
    release_mapped(&m);
    tg_arena_release(&arena);
  }
  EXPECT_EQ(counted[0] > 0, p->partials > 1 && p->m * p->n < 600);
  if (counted[0] && counted[1]) /* half the bytes of a value, perhaps other blocks */
    EXPECT(2 * counted[1] <= counted[0] + counted[0] / 2);
}

#endif

/* Of as many parts as there are rows of tiles, with an update of two tensors behind the product, each row
 * runs it on its share and stores that, where the last one alone would store all; an array of one row has the
 * same bits. */
static void run_update(const char *rows, mapped *m, tg_arena *arena) {
  tg_diag diag = {""};
  run_case what = {.text =
                       "graph \"g\"\ninput %x: f32[1021,200]\ninput %y: f32[1021,1023]\n"
                       "input %p: f32[200,1023]\ninput %v: f32[200,1023]\n%t = Transpose(%x) perm=[1,0] @1\n"
                       "%g = MatMul(%t, %y) partials=4 @2\n%s = Mul(%g, %g) @3\n%w = Add(%v, %s) @4\n"
                       "%u = Mul(%w, %g) @6\n%q = Sub(%p, %u) @7\n"
                       "output \"p\" %q: f32 -> %p\noutput \"v\" %w: f32 -> %v\n",
                   .arch = "edge",
                   .settings = {rows},
                   .precision.preset = TG_PRESET_MP1,
                   .run = {.threads = 1}};
  if (run_text(&what, m, arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
}

TG_TEST(partials, members_finish_in_turn) {
  tg_arena arena = {0};
  mapped turns, alone;
  run_update("rows=4", &turns, &arena);
  run_update("rows=1", &alone, &arena);
  const tg_section *section = &turns.program->sections[0];
  for (uint32_t tile = 0; tile < tg_tiles(&turns.program->params); tile++) {
    bool stores = false, passes_on = false;
    for (uint32_t i = 0; i < section->tiles[tile].tx.count; i++) {
      bool out = section->tiles[tile].tx.instrs[i].tx.dst_mask == 1;
      *(out ? &stores : &passes_on) = true;
    }
    EXPECT(stores);
    EXPECT(passes_on);
  }
  for (int i = 0; i < 2; i++) {
    size_t bytes;
    const void *got = output_of(&turns, i, &bytes);
    EXPECT(!memcmp(got, output_of(&alone, i, NULL), bytes));
  }
  release_mapped(&turns);
  release_mapped(&alone);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_products(void) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    char name[64];
    snprintf(name, sizeof name, "fp32_%s", products[i].name);
    tg_test_register_row("partials", name, __FILE__, __LINE__, fp32, &products[i]);
    snprintf(name, sizeof name, "bf16sr_%s", products[i].name);
    tg_test_register_row("partials", name, __FILE__, __LINE__, bf16sr, &products[i]);
#ifdef TEGULA_WITH_SYSTEMC
    snprintf(name, sizeof name, "bytes_%s", products[i].name);
    tg_test_register_row("partials", name, __FILE__, __LINE__, moved, &products[i]);
#endif
  }
}
