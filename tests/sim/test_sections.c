/* Equal sections: a copy under another name is, and one that differs in any one thing is not. */
#include "sim/machine/program.h"
#include "tests/harness.h"

#include <stdio.h>

/* Sections 0 and 1 of the program; NULL: the text is none. The caller destroys it. */
static tg_program *two_sections(const char *a, const char *b) {
  tg_program *program = NULL;
  tg_diag diag = {""};
  char text[2048];
  snprintf(text, sizeof text, "arch tiny\ndram 4096\nsection \"a\"\n%ssection \"b\"\n%s", a, b);
  if (tg_program_parse(text, &program, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  return program;
}

static void expect_equal(const char *a, const char *b, bool equal) {
  tg_program *program = two_sections(a, b);
  if (!program) return;
  const tg_section *x = &program->sections[0], *y = &program->sections[1];
  bool ways[] = {tg_section_equal(&program->params, x, y), tg_section_equal(&program->params, y, x)};
  for (int i = 0; i < 2; i++)
    if (ways[i] != equal)
      tg_test_fail(__FILE__, __LINE__, "equal is %d of\n%s---\n%s", ways[i], i ? b : a, i ? a : b);
  tg_program_destroy(program);
}

#define TILE   "sem 1=2\nconst 0x3f800000\nword nop\nmx sync\nvx sync\ntx sync\n"
#define AGCU   "sem 2=1\nctx 0 sync\nctx 1 sync\n"
#define TILE_3 "tile 3\n"
#define AGCU_3 "agcu 3\n"

TG_TEST(sections, are_equal_whatever_their_names_are) {
  expect_equal("", "", true);
  expect_equal("kept 0x6\ntile 0\n" TILE "agcu 0\n" AGCU, "kept 0x6\ntile 0\n" TILE "agcu 0\n" AGCU, true);
}

/* In the last tile and the last AGCU: those before are compared first. */
TG_TEST(sections, differ_in_any_one_thing) {
  static const struct {
    const char *a, *b;
  } rows[] = {{"kept 0x2\n", "kept 0x6\n"},
              {TILE_3 "sem 1=1\n", TILE_3 "sem 1=2\n"},
              {TILE_3 "sem 1=1\n", TILE_3 "sem 2=1\n"},
              {TILE_3 "const 0x00000000\n", TILE_3},
              {TILE_3 "const 0x00000000\n", TILE_3 "const 0x80000000\n"},
              {TILE_3 "word nop\n", TILE_3},
              {TILE_3 "word nop\n", TILE_3 "word | nop | st s1.lo = r0\n"},
              {TILE_3 "mx sync\n", TILE_3},
              {TILE_3 "vx sync\n", TILE_3},
              {TILE_3 "tx sync\n", TILE_3},
              {TILE_3 "mx sync\n", TILE_3 "vx sync\n"},
              {TILE_3 "mx sync\n", TILE_3 "mx sync loop_count=0,0,2\n"},
              {TILE_3 "vx sync\n", TILE_3 "vx sync loop_count=0,0,2\n"},
              {TILE_3 "tx sync\n", TILE_3 "tx sync loop_count=0,0,2\n"},
              {TILE_3 "mx sync\n", "tile 2\nmx sync\n"},
              {AGCU_3 "sem 1=1\n", AGCU_3},
              {AGCU_3 "ctx 1 sync\n", AGCU_3},
              {AGCU_3 "ctx 1 sync\n", AGCU_3 "ctx 0 sync\n"},
              {AGCU_3 "ctx 1 sync\n", AGCU_3 "ctx 1 sync loop_count=0,0,2\n"},
              {AGCU_3 "ctx 1 sync\n", "agcu 0\nctx 1 sync\n"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    expect_equal(rows[i].a, rows[i].a, true);
    expect_equal(rows[i].a, rows[i].b, false);
  }
}
