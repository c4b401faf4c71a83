/* Operands that stay in scratchpads from section to section: the same bits as the reference's chains of multiply-adds, on
 * arrays and in formats of several kinds; proved in order; loaded once; and faster than where each section loads them. */
#include "sim/machine/ordering.h"
#include "sim/machine/program.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 8192 };

/* Layers that multiply rows of `width` elements by one matrix. */
typedef struct chain {
  const char *name, *input,
      *matrix; /* a constant, an input, or computed; perhaps transposed; NULL: each layer has
                                     a constant of its own, all of which are equal */
  int layers;
  const char *after; /* each product */
  tg_precision_preset preset;
  const char *arch, *settings[4];
} chain;

#define WEIGHTS(n)    "const %w: f32[" n "," n "] = seeded(1, 0.2)\n"
#define TRANSPOSED(n) "const %v: f32[" n "," n "] = seeded(1, 0.2)\n%w = Transpose(%v) perm=[1,0] @90\n"
#define AN_INPUT(n)   "input %w: f32[" n "," n "]\n"
#define COMPUTED(n)   "input %u: f32[" n "," n "]\n%w = Neg(%u) @91\n"
#define INPUT(m, n)   "input %x0: f32[" m "," n "]\n"

static const chain chains[] = {
    {"one_row", INPUT("1", "96"), WEIGHTS("96"), 8, "Relu", TG_PRESET_MP0, "tiny", {NULL}},
    {"rows_of_bf16", INPUT("1", "384"), WEIGHTS("384"), 6, "Neg", TG_PRESET_MP1, "edge", {NULL}},
    {"odd_columns",
     INPUT("2", "117"),
     WEIGHTS("117"),
     9,
     "Abs",
     TG_PRESET_MP0,
     "tiny",
     {"bank_bytes=8192", NULL}},
    {"stored_by_columns", INPUT("1", "104"), TRANSPOSED("104"), 8, "Relu", TG_PRESET_MP0, "tiny", {NULL}},
    {"an_input", INPUT("1", "96"), AN_INPUT("96"), 8, "Relu", TG_PRESET_MP0, "tiny", {NULL}},
    {"computed", INPUT("1", "80"), COMPUTED("80"), 8, "Relu", TG_PRESET_MP0, "tiny", {NULL}},
    {"equal_constants", INPUT("1", "256"), NULL, 8, "Relu", TG_PRESET_MP0, "edge", {NULL}},
    {"edge", INPUT("1", "256"), WEIGHTS("256"), 6, "Relu", TG_PRESET_MP0, "edge", {NULL}},
    {"odd_array",
     INPUT("4", "200"),
     WEIGHTS("200"),
     6,
     "Neg",
     TG_PRESET_MP4,
     "edge",
     {"rows=3", "cols=5", NULL}},
    {"of_two_products",
     INPUT("2,1", "96"),
     "const %w: f32[2,96,96] = seeded(1, 0.2)\n",
     8,
     "Relu",
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"of_products_on_an_odd_array",
     INPUT("3,2", "200"),
     "const %w: f32[3,200,200] = seeded(1, 0.2)\n",
     8,
     "Neg",
     TG_PRESET_MP1,
     "edge",
     {"rows=6", "cols=5", NULL}},
    {"softmaxes_between", INPUT("2", "256"), WEIGHTS("256"), 6, "Softmax", TG_PRESET_MP0, "edge", {NULL}},
};
enum { CHAINS = sizeof chains / sizeof *chains };

static const char *layer_name(int layer, char name[16]) {
  snprintf(name, 16, "%d", layer);
  return name;
}

static const char *write_chain(const chain *own, char text[TEXT]) {
  char name[16];
  int used = snprintf(text, TEXT, "graph \"g\"\n%s%s", own->input, own->matrix ? own->matrix : ""), node = 0;
  for (int i = 0; i < own->layers; i++) {
    const char *own_w = own->matrix ? "" : layer_name(i, name);
    if (!own->matrix)
      used +=
          snprintf(text + used, (size_t)(TEXT - used), "const %%w%s: f32[256,256] = seeded(1, 0.2)\n", own_w);
    used += snprintf(text + used, (size_t)(TEXT - used), "%%m%d = MatMul(%%x%d, %%w%s) @%d\n", i, i, own_w,
                     node++);
    used += snprintf(text + used, (size_t)(TEXT - used), "%%x%d = %s(%%m%d)%s @%d\n", i + 1, own->after, i,
                     strcmp(own->after, "Softmax") ? "" : " axis=-1", node++);
  }
  snprintf(text + used, (size_t)(TEXT - used), "output \"y\" %%x%d: f32\n", own->layers);
  return text;
}

static run_case case_of(const chain *own, const char *text) {
  run_case what = {.text = text, .arch = own->arch, .precision.preset = own->preset, .run.threads = 1};
  for (int i = 0; i < 4 && own->settings[i]; i++) what.settings[i] = own->settings[i];
  return what;
}

/* Sections that find what they keep, and LOADs of the matrix's bytes among all sections. */
static int sections_that_keep(const tg_program *program) {
  int count = 0;
  for (uint32_t s = 0; s < program->section_count; s++) count += program->sections[s].kept != 0;
  return count;
}

static void same_bits(const void *user) {
  const chain *own = user;
  const tg_engine *engines[] = {NULL,
#ifdef TEGULA_WITH_SYSTEMC
                                &tg_engine_systemc
#endif
  };
  char text[TEXT];
  run_case what = case_of(own, write_chain(own, text));
  double tolerance = strcmp(own->after, "Softmax") ? 0 : 2e-6;
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    what.engine = engines[i];
    if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, tolerance, &diag) ||
        tg_check_ordering(m.program, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s: %s", own->name, diag.message);
    else if (sections_that_keep(m.program) < own->layers)
      tg_test_fail(__FILE__, __LINE__, "%s: %d sections keep anything", own->name,
                   sections_that_keep(m.program));
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}

__attribute__((constructor)) static void register_chains(void) {
  for (int i = 0; i < CHAINS; i++)
    tg_test_register_row("keep", chains[i].name, __FILE__, __LINE__, same_bits, &chains[i]);
}

static mapped map(const run_case *what, tg_arena *arena) {
  mapped m;
  tg_diag diag = {""};
  if (map_text(what, &m, arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  return m;
}

TG_TEST(keep, only_at_the_highest_level) {
  char text[TEXT];
  run_case what = case_of(&chains[0], write_chain(&chains[0], text));
  for (int opt = TG_OPT_LEVEL_ALL; opt <= TG_OPT_LEVEL_NONE; opt++) {
    tg_arena arena = {0};
    what.map.opt = (tg_opt_level)opt;
    mapped m = map(&what, &arena);
    EXPECT_EQ(sections_that_keep(m.program) > 0, opt == TG_OPT_LEVEL_ALL);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}

/* Drawn tilings keep, or do not: the bits are those of all. */
TG_TEST(keep, drawn_tilings_have_the_same_bits) {
  char text[TEXT];
  run_case what = case_of(&chains[0], write_chain(&chains[0], text));
  int keeping = 0;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    what.map.any_tiling = seed;
    if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 0, &diag) ||
        tg_check_ordering(m.program, &diag))
      tg_test_fail(__FILE__, __LINE__, "tilings %d: %s", (int)seed, diag.message);
    keeping += sections_that_keep(m.program) > 0;
    release_mapped(&m);
    tg_arena_release(&arena);
  }
  EXPECT(keeping > 0 && keeping < 8);
}

/* Halves of one matrix, which are views of it, and differ in nothing but where they begin. */
TG_TEST(keep, parts_of_a_matrix_are_not_each_other) {
  for (int row = 0; row < 2; row++) { /* halves of its rows, or of its columns */
    char text[TEXT], name[16];
    int used =
        snprintf(text, TEXT, "graph \"g\"\ninput %%x0: f32[1,256]\ninput %%u: f32[%s]\n%%w = Neg(%%u) @0\n",
                 row ? "512,256" : "256,512");
    for (int i = 0; i < 2; i++)
      used += snprintf(text + used, (size_t)(TEXT - used),
                       "%%w%d = Slice(%%w) starts=[%d] ends=[%d] axes=[%d] @%d\n", i, 256 * i, 256 * (i + 1),
                       1 - row, i + 1);
    for (int i = 0; i < 12; i++)
      used += snprintf(text + used, (size_t)(TEXT - used),
                       "%%m%d = MatMul(%%x%d, %%w%d) @%d\n%%x%d = Relu(%%m%d) @%d\n", i, i, i % 2, 2 * i + 3,
                       i + 1, i, 2 * i + 4);
    snprintf(text + used, (size_t)(TEXT - used), "output \"y\" %%x%s: f32\n", layer_name(12, name));
    run_case what = {.text = text, .arch = "edge", .run.threads = 1};
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 0, &diag) ||
        tg_check_ordering(m.program, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s: %s", row ? "rows" : "columns", diag.message);
    EXPECT(sections_that_keep(m.program));
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}

/* Steps in both directions of a layer of 51 units: the last rows of its matrices are alone in a bank, or masked, so that
 * nothing would be left in one. */
TG_TEST(keep, no_bank_that_holds_nothing) {
  static const char text[] = "graph \"g\"\ninput %x: f32[6,1,51]\n"
                             "const %w: f32[2,204,51] = seeded(1, 0.1)\n"
                             "const %r: f32[2,204,51] = seeded(2, 0.1)\n"
                             "%y, %h, %c = LSTM(%x, %w, %r) hidden_size=51 direction=\"bidirectional\" @0\n"
                             "output \"y\" %y: f32\n";
  for (int narrow = 0; narrow < 2; narrow++) {
    run_case what = {.text = text,
                     .arch = "tiny",
                     .precision.preset = narrow ? TG_PRESET_MP4 : TG_PRESET_MP1,
                     .run.threads = 1};
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 2e-2, &diag) ||
        tg_check_ordering(m.program, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s: %s", narrow ? "mp4" : "mp1", diag.message);
#ifdef TEGULA_WITH_SYSTEMC
    mapped timed;
    size_t bytes, timed_bytes;
    what.engine = &tg_engine_systemc;
    if (run_text(&what, &timed, &arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    const void *y = output_of(&m, 0, &bytes), *z = output_of(&timed, 0, &timed_bytes);
    EXPECT(bytes == timed_bytes && !memcmp(y, z, bytes));
    release_mapped(&timed);
#endif
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}

/* The last tile has a few columns of each row, so that the end of its last row, alone in a bank, is nothing of B: it does not stay. */
TG_TEST(keep, no_bank_of_columns_that_are_nobodys) {
  static const char text[] =
      "graph \"g\"\ninput %x: f32[3,90]\nconst %w: f32[90,130] = seeded(1, 0.2)\n%a = MatMul(%x, %w) @0\n"
      "%b = Sigmoid(%a) @1\n%c = MatMul(%x, %w) @2\noutput \"b\" %b: f32\noutput \"c\" %c: f32\n";
  run_case what = {.text = text, .arch = "tiny", .run.threads = 1};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    what.map.any_tiling = seed;
    if (map_text(&what, &m, &arena, &diag) || tg_check_ordering(m.program, &diag))
      tg_test_fail(__FILE__, __LINE__, "tilings %d: %s", (int)seed, diag.message);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}

static bool same_text(const tg_program *a, const tg_program *b) {
  char *x = tg_program_print(a), *y = tg_program_print(b);
  bool same = !strcmp(x, y);
  free(x);
  free(y);
  return same;
}

/* As text, and as a file. */
TG_TEST(keep, programs_say_what_they_keep) {
  char text[TEXT], path[] = "/tmp/tegula_keep_XXXXXX";
  run_case what = case_of(&chains[0], write_chain(&chains[0], text));
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m = map(&what, &arena);
  tg_program *parsed = NULL, *read = NULL;
  char *printed = tg_program_print(m.program);
  EXPECT(strstr(printed, "\nkept 0x"));
  EXPECT(!tg_program_parse(printed, &parsed, &diag) && same_text(m.program, parsed));
  int file = mkstemp(path);
  EXPECT(file >= 0 && !close(file));
  EXPECT(!tg_program_write(m.program, path, &diag) && !tg_program_read(path, &read, &diag) &&
         same_text(m.program, read));
  EXPECT_STR(diag.message, "");
  unlink(path);
  free(printed);
  tg_program_destroy(parsed);
  tg_program_destroy(read);
  release_mapped(&m);
  tg_arena_release(&arena);
}

/* A section between that uses the banks is found. */
TG_TEST(keep, the_proof_finds_what_is_written_over) {
  char text[TEXT];
  run_case what = case_of(&chains[0], write_chain(&chains[0], text));
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m = map(&what, &arena);
  tg_program *program = m.program;
  uint32_t last = program->section_count - 1, kept = program->sections[last].kept;
  EXPECT(kept);
  program->sections[last - 1].kept = 0; /* nobody knows then that the bytes are still there */
  EXPECT_EQ(tg_check_ordering(program, &diag), TG_MISMATCH);
  EXPECT_HAS(diag.message, "the section reads what it keeps");
  diag = (tg_diag){""};
  program->sections[last - 1].kept = ~kept & 0xffff; /* which are those that it uses */
  EXPECT_EQ(tg_check_ordering(program, &diag), TG_MISMATCH);
  EXPECT_HAS(diag.message, "the section keeps what it writes over");
  release_mapped(&m);
  tg_arena_release(&arena);
}

#ifdef TEGULA_WITH_SYSTEMC
static double cycles_at(run_case what, tg_opt_level level) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  what.engine = &tg_engine_systemc;
  what.map.opt = level;
  if (run_text(&what, &m, &arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  double cycles = (double)m.result.cycles;
  release_mapped(&m);
  tg_arena_release(&arena);
  return cycles;
}

/* Such chains have nothing else in which the levels differ. */
TG_TEST(keep, is_faster) {
  static const char *const names[] = {"one_row", "odd_columns", "edge", "odd_array"};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    for (int i = 0; i < CHAINS; i++) {
      if (strcmp(chains[i].name, names[n])) continue;
      char text[TEXT];
      run_case what = case_of(&chains[i], write_chain(&chains[i], text));
      double kept = cycles_at(what, TG_OPT_LEVEL_ALL), loaded = cycles_at(what, TG_OPT_LEVEL_FUSION);
      if (kept > 0.95 * loaded)
        tg_test_fail(__FILE__, __LINE__, "%s: %.0f cycles where each section loads it, %.0f", names[n],
                     loaded, kept);
    }
}
#endif
