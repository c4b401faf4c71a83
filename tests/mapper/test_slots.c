/* Waits and posts beyond those of an instruction refuse the section, with how many it needs. */
#include "frontend/text.h"
#include "mapper/section/section.h"
#include "tests/harness.h"

static tg_shortage shortage_of(int waits, int posts) {
  tg_arena arena = {0};
  tg_graph *graph;
  tg_params params;
  tg_diag diag = {""};
  tg_compile c;
  tg_build b;
  const tg_map_options options = {.seed = 1};
  EXPECT(!tg_params_load("tiny", &params, &diag));
  EXPECT(!tg_graph_parse(&arena, "graph \"g\"\ninput %x: f32[4]\noutput \"x\" %x: f32\n", &graph, &diag));
  tg_compile_begin(&c, graph, &params, &options, &arena, &diag);
  tg_build_begin(&b, &c, "s");
  tg_instr *in = tg_build_push(&b, &tg_build_section(&b)->tiles[1].tx, TG_OP_tx_send);
  for (int i = 0; i < waits; i++) tg_set_wait(in, tg_free_wait(in), i, false);
  for (int i = 0; i < posts; i++) tg_set_post(in, tg_free_post(in), TG_POST_LOCAL, 0, i, false);
  EXPECT_EQ(in->common.wait_sem[0], 0); /* nothing is written behind the slots */
  tg_build_invoke(&b, "s");
  tg_shortage shortage = c.shortage;
  tg_program_destroy(c.program);
  tg_arena_release(&arena);
  return shortage;
}

TG_TEST(slots, more_than_an_instruction_has_are_refused) {
  EXPECT(!shortage_of(4, 4).of);
  tg_shortage waits = shortage_of(7, 2), posts = shortage_of(1, 5);
  EXPECT_STR(waits.of, "waits of an instruction");
  EXPECT_EQ(waits.needed, 7);
  EXPECT_EQ(waits.available, 4);
  EXPECT_STR(posts.of, "posts of an instruction");
  EXPECT_EQ(posts.needed, 5);
}

TG_TEST(slots, one_that_is_taken_loses_nothing) {
  tg_instr in = {0};
  tg_set_wait(&in, 1, 7, false);
  tg_set_wait(&in, 1, 8, true);
  EXPECT_EQ(in.common.wait_sem[1], 7);
  EXPECT_EQ(in.common.wait_sem[0], 8);
  EXPECT(in.common.wait_on[0] == 1 && in.common.wait_first[0]);
  tg_set_post(&in, 2, TG_POST_LOCAL, 0, 3, false);
  tg_set_post(&in, 2, TG_POST_LOCAL, 0, 4, true);
  EXPECT_EQ(in.common.post_sem[2], 3);
  EXPECT_EQ(in.common.post_sem[0], 4);
}
