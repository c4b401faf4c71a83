/* Arrays drawn from all that the parameters allow: each maps a graph and gives its values, or refuses it by
 * name. */
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "mapper/mapper.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const graphs[] = {
    "graph \"g\"\ninput %a: f32[33,40]\nconst %b: f32[40,29] = seeded(1, 1)\nconst %c: f32[29] = seeded(2, "
    "1)\n"
    "%m = MatMul(%a, %b) @0\n%y = Add(%m, %c) @1\n%z = Gelu(%y) @2\noutput \"z\" %z: f32\n",
    "graph \"g\"\ninput %x: f32[2,5,11,13]\nconst %w: f32[7,5,3,3] = seeded(1, 1)\nconst %b: f32[7] = "
    "seeded(2, 1)\n"
    "%c = Conv(%x, %w, %b) pads=[1,1,1,1] strides=[2,1] @0\n%r = Relu(%c) @1\n"
    "%p = MaxPool(%r) kernel_shape=[3,2] strides=[2,2] @2\noutput \"p\" %p: f32\n",
    "graph \"g\"\ninput %x: f32[9,70]\nconst %g: f32[70] = seeded(3, 1)\n%s = Softmax(%x) @0\n%r = "
    "ReduceMax(%s) axes=[0] @1\n"
    "%l = LayerNormalization(%x, %g) @2\noutput \"r\" %r: f32\noutput \"l\" %l: f32\n",
    "graph \"g\"\ninput %x: f32[3,6,10,10]\n%a = AveragePool(%x) kernel_shape=[3,3] @0\n"
    "%t = Transpose(%a) perm=[0,2,3,1] @1\n%h = Cast(%t) to=bf16 @2\noutput \"h\" %h: bf16\n",
};

typedef struct limits {
  const char *name;
  uint32_t lowest, highest;
  bool power;
} limits;

static const limits parameters[] = {
#define PARAM(name, presets, lowest, highest, power, doc) {#name, lowest, highest, power},
#include "sim/machine/params.def"
#undef PARAM
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

static uint64_t draw(uint64_t *state) {
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state;
}

/* The lowest, the highest, or one between that small ones are as likely as large ones. */
static uint32_t draw_value(const limits *l, uint64_t *state) {
  uint64_t way = draw(state) % 8, value = l->lowest;
  if (way == 0) return l->lowest;
  if (way == 1 && l->highest <= 1024) return l->highest;
  for (uint64_t steps = draw(state) % 12; steps && value * 2 <= l->highest; steps--)
    value = value ? value * 2 : 1;
  if (!l->power && value < l->highest) value += draw(state) % (value + 1);
  return (uint32_t)(value < l->highest ? value : l->highest);
}

/* Of `tiny`, some of the parameters drawn. False: the parameters refuse each other. */
static bool draw_array(uint64_t *state, tg_params *out, char text[512]) {
  size_t used = 0;
  tg_params_load("tiny", out, NULL);
  *text = 0;
  for (int i = 0; i < PARAMETERS; i++) {
    char setting[64];
    if (draw(state) % 3) continue;
    snprintf(setting, sizeof setting, "%s=%u", parameters[i].name, draw_value(&parameters[i], state));
    used += (size_t)snprintf(text + used, 512 - used, " %s", setting);
    if (tg_params_set(out, setting, NULL)) return false;
  }
  return !tg_params_check(out, NULL);
}

static bool maps(const char *text, const tg_params *params, tg_diag *diag) {
  tg_arena arena = {0};
  tg_graph *graph = NULL;
  tg_program *program = NULL;
  tg_frontend_options options;
  tg_map_options map = {.seed = 1};
  tg_frontend_defaults(&options);
  tg_status status = tg_graph_parse(&arena, text, &graph, diag);
  if (!status) status = tg_frontend_lower(graph, &options, diag);
  if (!status) status = tg_map(graph, params, &map, &program, diag);
  if (!status) tg_program_destroy(program);
  tg_arena_release(&arena);
  return !status;
}

TG_TEST(arrays, each_maps_or_refuses_by_name) {
  const char *asked = getenv("TEGULA_DRAWS"), *seed = getenv("TEGULA_RANDOM_SEED");
  int arrays = asked ? 100 * atoi(asked) : 250, mapped = 0, refused = 0;
  uint64_t state = seed ? strtoull(seed, NULL, 0) | 1 : 0x9e3779b97f4a7c15u;
  for (int i = 0; i < arrays; i++) {
    tg_params params;
    char text[512];
    if (!draw_array(&state, &params, text)) continue;
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
      tg_diag diag = {""};
      bool good = maps(graphs[g], &params, &diag);
      mapped += good;
      refused += !good;
      if (good == (*diag.message != 0))
        tg_test_fail(__FILE__, __LINE__, "graph %zu on tiny%s: %s", g, text, good ? diag.message : "no line");
    }
  }
  printf("%d mapped, %d refused\n", mapped, refused);
  EXPECT(mapped > arrays / 2 && refused > 0);
}

/* Each limit that a section can lack, with what it needs and what there is. */
TG_TEST(arrays, what_is_short_is_named) {
  static const struct {
    size_t graph;
    const char *set, *needs, *has;
  } cases[] = {{0, "semaphores=8", "semaphores of a", "the array has 8"},
               {2, "microcode_words=16", " microcode words", "the array has 16"},
               {2, "vx_constants=8", " vector constants", "the array has 8"},
               {1, "banks=4", " banks of a scratchpad", "the array has 4"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_params small;
    tg_diag diag = {""};
    tg_params_load("tiny", &small, NULL);
    ASSERT(!tg_params_set(&small, cases[i].set, NULL));
    EXPECT(!maps(graphs[cases[i].graph], &small, &diag));
    EXPECT_HAS(diag.message, cases[i].needs);
    EXPECT_HAS(diag.message, cases[i].has);
  }
}

/* Loads of a piece are some sixteen flits: as many of them as may be under way keep a port busy for as long as memory
 * takes. */
TG_TEST(arrays, presets_hide_latency_behind_short_bursts) {
  static const char *const presets[] = {"tiny", "edge", "rack"};
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    tg_params m;
    ASSERT(!tg_params_load(presets[i], &m, NULL));
    EXPECT(m.agcu_buffers * 16 * tg_flit_bytes(&m) >= m.port_bytes * m.dram_latency);
  }
}

TG_TEST(arrays, the_smallest_buffers_of_agcus_map_or_are_refused) {
  tg_params small;
  tg_diag diag = {""};
  tg_params_load("tiny", &small, NULL);
  ASSERT(!tg_params_set(&small, "agcu_buffers=1", NULL) && !tg_params_set(&small, "burst_flits=4", NULL));
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) /* it divided by zero */
    EXPECT(maps(graphs[g], &small, &diag) || *diag.message);
}
