/* Backward nodes follow the formats of their forward nodes, in every policy. */
#include "frontend/precision/precision.h"
#include "frontend/text.h"
#include "tests/harness.h"

#include <string.h>

/* y = relu(x w) v, its gradient g, and one step of plain descent. */
static const char step[] =
    "graph \"step\" next=20\n"
    "input %x: f32[32,32]\ninput %g: f32[32,32]\ninput %w: f32[32,32]\ninput %v: f32[32,32]\n"
    "%a: f32[32,32] = MatMul(%x, %w) @0 \"first\"\n"
    "%r: f32[32,32] = Relu(%a) @1 \"relu\"\n"
    "%y: f32[32,32] = MatMul(%r, %v) @2 \"second\"\n"
    "%rt: f32[32,32] = Transpose(%r) perm=[1,0] @3 forward=2:-1\n"
    "%dv: f32[32,32] = MatMul(%rt, %g) @4 \"dv\" forward=2:1\n"
    "%vt: f32[32,32] = Transpose(%v) perm=[1,0] @5 forward=2:-1\n"
    "%dr: f32[32,32] = MatMul(%g, %vt) @6 \"dr\" forward=2:0\n"
    "%da: f32[32,32] = Mul(%dr, %r) @7 \"da\" forward=1:0\n"
    "%xt: f32[32,32] = Transpose(%x) perm=[1,0] @8 forward=0:-1\n"
    "%dw: f32[32,32] = MatMul(%xt, %da) @9 \"dw\" forward=0:1\n"
    "%w1: f32[32,32] = Sub(%w, %dw) @10 \"step w\" disable_graphamp\n"
    "%v1: f32[32,32] = Sub(%v, %dv) @11 \"step v\" disable_graphamp\n"
    "output \"y\" %y: none\noutput \"w\" %w1: f32 -> %w\noutput \"v\" %v1: f32 -> %v\n";

/* What node `name` reads first and makes, as "bf16 f32". */
static const char *formats_of(const tg_graph *graph, tg_arena *arena, const char *name) {
  TG_FOR_NODES(graph, node)
  if (!strcmp(node->name, name) && node->op != TG_OP_CAST)
    return tg_arena_printf(arena, "%s %s", tg_dtype_name(tg_in(node, 0)->dtype),
                           tg_dtype_name(tg_out(node)->dtype));
  return "none";
}

typedef struct expectation {
  tg_precision_options options;
  const char *first, *relu, *second, *dv, *dr, *da, *dw;
} expectation;

static void check(const expectation *want) {
  static const char *const names[] = {"first", "relu", "second", "dv", "dr", "da", "dw"};
  const char *const formats[] = {want->first, want->relu, want->second, want->dv,
                                 want->dr,    want->da,   want->dw};
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  ASSERT(!tg_graph_parse(&arena, step, &graph, &diag));
  EXPECT_EQ(tg_precision_insert(graph, &want->options, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    EXPECT_STR(formats_of(graph, &arena, names[i]), formats[i]);
  EXPECT_STR(formats_of(graph, &arena, "step w"), "f32 f32");
  EXPECT_EQ(tg_graph_verify(graph, &diag), TG_OK);
  tg_arena_release(&arena);
}

TG_TEST(follow, backward_takes_the_formats_of_forward) {
  static const expectation wanted[] = {
      {{.preset = TG_PRESET_MP0},
       "f32 f32",
       "f32 f32",
       "f32 f32",
       "f32 f32",
       "f32 f32",
       "f32 f32",
       "f32 f32"},
      {{.preset = TG_PRESET_MP1},
       "bf16 f32",
       "f32 f32",
       "bf16 f32",
       "bf16 f32",
       "bf16 f32",
       "f32 f32",
       "bf16 f32"},
      {{.preset = TG_PRESET_MP2},
       "bf16 bf16",
       "bf16 bf16",
       "bf16 f32",
       "bf16 f32",
       "bf16 bf16",
       "bf16 bf16",
       "bf16 f32"},
      {{.preset = TG_PRESET_MP4},
       "bf16 bf16",
       "bf16 bf16",
       "bf16 bf16",
       "bf16 f32",
       "bf16 bf16",
       "bf16 bf16",
       "bf16 f32"},
      {{.family = TG_FAMILY_AUTOCAST, .amp_dtype = TG_F16},
       "f16 f16",
       "f16 f16",
       "f16 f16",
       "f16 f32",
       "f16 f16",
       "f16 f16",
       "f16 f32"},
      {{.preset = TG_PRESET_MP0, .matmul = TG_MATMUL_HIGH},
       "tf32 f32",
       "f32 f32",
       "tf32 f32",
       "tf32 f32",
       "tf32 f32",
       "f32 f32",
       "tf32 f32"},
      {{.preset = TG_PRESET_MP1, .disable_graphamp = "second"},
       "bf16 f32",
       "f32 f32",
       "f32 f32",
       "f32 f32",
       "f32 f32",
       "f32 f32",
       "bf16 f32"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) check(&wanted[i]);
}

/* Parameters in BF16 have gradients in BF16. */
TG_TEST(follow, gradients_have_the_dtype_of_what_they_belong_to) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  const char *text = "graph \"g\" next=3\ninput %x: f32[32,32]\ninput %w: bf16[32,32]\ninput %g: f32[32,32]\n"
                     "%y: f32[32,32] = MatMul(%x, %x) @0\n"
                     "%z: f32[32,32] = Mul(%y, %w) @1 \"scale\"\n"
                     "%d: f32[32,32] = Mul(%g, %y) @2 \"dw\" forward=1:1\n"
                     "output \"z\" %z: none\noutput \"d\" %d: none\n";
  ASSERT(!tg_graph_parse(&arena, text, &graph, &diag));
  tg_precision_options options = {.preset = TG_PRESET_MP1};
  EXPECT_EQ(tg_precision_insert(graph, &options, &diag), TG_OK);
  EXPECT_STR(formats_of(graph, &arena, "dw"), "f32 bf16");
  tg_arena_release(&arena);
}

/* torch.autocast casts a leaf that requires grad once a step. */
TG_TEST(follow, autocast_casts_a_trained_parameter_once) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  ASSERT(!tg_graph_parse(&arena, step, &graph, &diag));
  tg_precision_options options = {.family = TG_FAMILY_AUTOCAST};
  EXPECT_EQ(tg_precision_insert(graph, &options, &diag), TG_OK);
  int casts = 0;
  TG_FOR_NODES(graph, node)
  casts += node->op == TG_OP_CAST && !strcmp(tg_in(node, 0)->name, "v");
  EXPECT_EQ(casts, 1);
  tg_arena_release(&arena);
}
