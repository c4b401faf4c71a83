/* Products that the DRAM ports bound: those of both kinds have the same work, though one kind loads more than
 * the other, since results leave by it in the share that is left. */
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <string.h>

#ifdef TEGULA_WITH_SYSTEMC
enum { PORTS = 8, PORT_BYTES = 16 /* a cycle, of `edge` */ };

typedef struct product {
  const char *name, *text, *section;
  double bytes; /* loaded and stored, but for what all tiles share */
  tg_precision_options precision;
} product;

/* Of 262144 rows of 256 numbers: what is loaded in front of the product, behind it, and stored. */
#define FP32(times) ((times)*262144.0 * 256 * 4)
static const product products[] = {
    {"behind",
     "graph \"g\"\ninput %a: bf16[262144,256]\ninput %b: bf16[256,256]\ninput %x: f32[262144,256]\n"
     "%p = MatMul(%a, %b) @0\n%y = Cast(%p) to=f32 @1\n%z = Mul(%y, %x) @2\noutput \"z\" %z: f32\n",
     "MatMul+Mul", .bytes = FP32(2.5)},
    {"behind_with_sums",
     "graph \"g\"\ninput %a: bf16[262144,256]\ninput %b: bf16[256,256]\ninput %x: f32[262144,256]\n"
     "%p = MatMul(%a, %b) @0\n%y = Cast(%p) to=f32 @1\n%z = Mul(%y, %x) @2\n%u = Mul(%z, %x) @3\n"
     "%s = ReduceSum(%z) axes=[0] keepdims=0 @4\n%t = ReduceSum(%u) axes=[0] keepdims=0 @5\n"
     "output \"z\" %z: f32\noutput \"s\" %s: f32\noutput \"t\" %t: f32\n",
     "MatMul+Mul+Mul+", .bytes = FP32(2.5 + 2. / 64)},
    {"in_front_with_moments",
     "graph \"g\"\ninput %x: f32[262144,256]\ninput %s: f32[256]\ninput %b: f32[256,256]\n"
     "input %e: f32[256,16]\n%m = Mul(%x, %s) @0\n%r = Relu(%m) @1\n%y = MatMul(%r, %b) @2\n"
     "%z = MatMul(%r, %e) @3\n%c = ReduceMoment(%y) axes=[0] order=1 keepdims=0 @4\n"
     "%d = ReduceMoment(%y) axes=[0] order=2 keepdims=0 @5\noutput \"y\" %y: f32\n"
     "output \"z\" %z: f32\noutput \"c\" %c: f32\noutput \"d\" %d: f32\n",
     "Mul+Relu+MatMul+", .bytes = FP32(2.5 + 2. / 64), .precision = {.preset = TG_PRESET_MP1}},
    {"in_front",
     "graph \"g\"\ninput %x: f32[262144,256]\ninput %s: f32[256]\ninput %b: bf16[256,256]\n"
     "%m = Mul(%x, %s) @0\n%r = Relu(%m) @1\n%n = Cast(%r) to=bf16 @2\n%p = MatMul(%n, %b) @3\n"
     "%y = Cast(%p) to=f32 @4\n%q = Transpose(%n) perm=[1,0] @5\noutput \"y\" %y: f32\noutput \"q\" %q: "
     "bf16\n",
     "Mul+Relu+MatMul", .bytes = FP32(2.5)},
};

static void expect_balanced(const mapped *m, const product *p) {
  double cycles = 0, all_ports = p->bytes / (PORTS * PORT_BYTES);
  for (size_t i = 0; i < m->program->invocation_count; i++)
    if (!strncmp(m->program->invocations[i].name, p->section, strlen(p->section)))
      cycles += (double)(m->result.sections[i].end - m->result.sections[i].begin);
  if (!cycles || cycles > 1.007 * all_ports)
    tg_test_fail(__FILE__, __LINE__, "%.0f cycles, where all ports together take %.0f", cycles, all_ports);
}

static void is_balanced(const void *user) {
  const product *p = user;
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = p->text,
                   .arch = "edge",
                   .precision = p->precision,
                   .run = {.threads = 1, .timing_only = true},
                   .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else
    expect_balanced(&m, p);
  release_mapped(&m);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_products(void) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    tg_test_register_row("egress", products[i].name, __FILE__, __LINE__, is_balanced, &products[i]);
}
#endif
