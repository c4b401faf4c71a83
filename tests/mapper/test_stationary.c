/* Operands of products that stay in the tiles: an AGCU loads what its tiles share once, though there are many
 * passes over the other dimension. */
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>

typedef struct product {
  const char *name;
  uint64_t m, n, k;
} product;
static const product products[] = {
    {"weights", 12288, 64, 64},
    {"rows", 64, 12288, 64},
    {"deep_weights", 24576, 256, 512},
};

#ifdef TEGULA_WITH_SYSTEMC
static void loads_once(const void *user) {
  const product *p = user;
  char text[256];
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  snprintf(text, sizeof text,
           "graph \"g\"\ninput %%a: f32[%d,%d]\ninput %%b: f32[%d,%d]\n%%y = MatMul(%%a, %%b) @0\n"
           "output \"y\" %%y: f32\n",
           (int)p->m, (int)p->k, (int)p->k, (int)p->n);
  run_case what = {
      .text = text, .arch = "edge", .run = {.threads = 1, .timing_only = true}, .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  } else {
    uint64_t longer = p->m > p->n ? p->m : p->n, shorter = p->m + p->n - longer, ports = 8;
    if (m.result.dram_read > 4 * p->k * (longer + ports * shorter))
      tg_test_fail(__FILE__, __LINE__, "%llu bytes were read", (unsigned long long)m.result.dram_read);
  }
  release_mapped(&m);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_products(void) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    tg_test_register_row("stationary", products[i].name, __FILE__, __LINE__, loads_once, &products[i]);
}

/* Weights of three k each: a run along k is no longer than K, though the matrix unit takes a whole block. */
TG_TEST(stationary, runs_along_k_end_where_k_does) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = "graph \"g\"\ninput %a: f32[64,3]\ninput %b: f32[4096,3]\n"
                           "%t = Transpose(%b) perm=[1,0] @0\n%y = MatMul(%a, %t) @1\noutput \"y\" %y: f32\n",
                   .arch = "edge",
                   .precision.preset = TG_PRESET_MP1,
                   .run = {.threads = 1, .timing_only = true},
                   .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else if (m.result.cycles > 15000) /* storing takes 8192 */
    tg_test_fail(__FILE__, __LINE__, "%llu cycles", (unsigned long long)m.result.cycles);
  release_mapped(&m);
  tg_arena_release(&arena);
}
#endif
