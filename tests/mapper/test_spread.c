/* Long rows, fewer than there are tiles: they are cut so that all tiles have a share; of few short ones, tiles without a row
 * have no part; blocks of all matrices that are transposed are dealt to tiles. The same bits, in an order that the semaphores prove, in about the cycles that the bytes take at all ports. */
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <string.h>

typedef struct spread_case {
  const char *name, *text, *arch, *settings[4];
  tg_precision_preset preset;
  uint64_t most_cycles; /* of all sections: about twice what the bytes take, and what sections cost */
} spread_case;

static const spread_case cases[] = {
    {.name = "concat_of_histories",
     .text = "graph \"g\"\ninput %p: f32[2,127,64]\ninput %n: f32[2,1,64]\n%y = Concat(%p, %n) axis=1 @0\n"
             "output \"y\" %y: f32\n",
     .arch = "edge",
     .most_cycles = 2500},
    {.name = "expanded_heads",
     .text = "graph \"g\"\ninput %x: f32[2,1,128,64]\n%e = Expand(%x) shape=[2,4,128,64] @0\n"
             "output \"e\" %e: f32\n",
     .arch = "edge",
     .most_cycles = 5000},
    {.name = "expanded_heads_of_many_tiles",
     .text = "graph \"g\"\ninput %x: f32[2,1,128,64]\n%e = Expand(%x) shape=[2,4,128,64] @0\n"
             "output \"e\" %e: f32\n",
     .arch = "rack",
     .most_cycles = 1500},
    {.name = "one_row_more_than_tiles",
     .text = "graph \"g\"\ninput %x: f32[18,4099]\n%y = Slice(%x) starts=[3] ends=[4099] axes=[1] @0\n"
             "output \"y\" %y: f32\n",
     .arch = "edge",
     .most_cycles = 6800},
    {.name = "rows_with_numbers_and_a_row",
     .text =
         "graph \"g\"\ninput %x: f32[3,6144]\ninput %s: f32[3,1]\ninput %r: f32[6144]\n%a = Mul(%x, %s) @0\n"
         "%y = Add(%a, %r) @1\noutput \"y\" %y: f32\n",
     .arch = "edge",
     .most_cycles = 4000},
    {.name = "rounded_rows",
     .text = "graph \"g\"\ninput %x: f32[3,6144]\ninput %s: f32[3,1]\n%a = Mul(%x, %s) @0\n"
             "%y: bf16[3,6144] = Cast(%a) to=bf16 stochastic=1 @1\noutput \"y\" %y: bf16\n",
     .arch = "edge",
     .most_cycles = 3000},
    {.name = "pad_on_an_odd_array",
     .text = "graph \"g\"\ninput %x: f32[2,30,64]\n%y = Pad(%x) pads=[0,1,0,0,1,0] value=2.5 @0\n"
             "output \"y\" %y: f32\n",
     .arch = "tiny",
     .settings = {"rows=3", "cols=5"},
     .most_cycles = 2500},
    {.name = "few_rows_of_many_tiles",
     .text =
         "graph \"g\"\ninput %a: f32[4,32]\ninput %b: f32[4,32]\n%y = Add(%a, %b) @0\noutput \"y\" %y: f32\n",
     .arch = "rack",
     .most_cycles = 400},
    {.name = "maxima_of_few_rows_of_many_tiles",
     .text = "graph \"g\"\ninput %x: f32[40,16]\n%y = ReduceMax(%x) axes=[1] keepdims=1 @0\noutput \"y\" %y: "
             "f32\n",
     .arch = "rack",
     .most_cycles = 650},
    {.name = "images_transposed_by_many_tiles",
     .text = "graph \"g\"\ninput %x: f32[8,64,3136]\n%y = Transpose(%x) perm=[0,2,1] @0\n"
             "output \"y\" %y: f32\n",
     .arch = "rack",
     .most_cycles = 16000},
    {.name = "images_transposed_back_by_many_tiles",
     .text = "graph \"g\"\ninput %x: f32[8,3136,64]\n%y = Transpose(%x) perm=[0,2,1] @0\n"
             "output \"y\" %y: f32\n",
     .arch = "rack",
     .most_cycles = 16000},
    {.name = "matrices_whose_rows_follow_each_other",
     .text = "graph \"g\"\ninput %x: f32[2,400,128]\n%y = Transpose(%x) perm=[0,2,1] @0\n"
             "output \"y\" %y: f32\n",
     .arch = "rack",
     .most_cycles = 4400},
    {.name = "matrices_of_few_columns",
     .text = "graph \"g\"\ninput %x: f32[4,30,300]\n%y = Transpose(%x) perm=[0,2,1] @0\n"
             "output \"y\" %y: f32\n",
     .arch = "edge",
     .most_cycles = 6500},
    {.name = "few_rows_of_an_odd_array",
     .text = "graph \"g\"\ninput %a: f32[3,16]\ninput %b: f32[1,16]\n%s = Sub(%a, %b) @0\n%y = Exp(%s) @1\n"
             "output \"y\" %y: f32\n",
     .arch = "edge",
     .settings = {"rows=7", "cols=5"},
     .preset = TG_PRESET_MP4,
     .most_cycles = 400},
};

static void check(const void *user) {
  const spread_case *of = user;
  tg_arena arena = {0};
  tg_diag diag = {""};
  run_case what = {.text = of->text,
                   .arch = of->arch,
                   .precision.preset = of->preset,
                   .map.seed = 1,
                   .run = {.threads = 1, .seed = 1}};
  memcpy(what.settings, of->settings, sizeof of->settings);
#ifdef TEGULA_WITH_SYSTEMC
  what.engine = &tg_engine_systemc;
#endif
  mapped m;
  if (run_text(&what, &m, &arena, &diag) || tg_check_ordering(m.program, &diag) ||
      !outputs_agree(&m, 0, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s: %s", of->name, diag.message);
  uint64_t cycles = 0;
  for (uint32_t i = 0; m.program && i < m.program->invocation_count; i++)
    cycles += m.program->invocations[i].estimated_cycles;
  if (cycles > of->most_cycles)
    tg_test_fail(__FILE__, __LINE__, "%s: %llu cycles, at most %llu are wanted", of->name,
                 (unsigned long long)cycles, (unsigned long long)of->most_cycles);
  release_mapped(&m);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("spread", cases[i].name, __FILE__, __LINE__, check, &cases[i]);
}
