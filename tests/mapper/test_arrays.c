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
    "graph \"g\"\ninput %x: f32[50,300]\ninput %i: i64[40]\n%g = Gather(%x, %i) axis=0 @0\n"
    "%r = Relu(%g) @1\noutput \"r\" %r: f32\n",
    "graph \"g\"\ninput %x: f32[20,70]\ninput %u: f32[30,70]\ninput %i: i64[30]\n%s = ScatterAdd(%x, %i, %u) "
    "@0\n"
    "output \"s\" %s: f32\n",
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

/* What refusals name, and the parameter that it follows from: as large for each of it. */
static const struct {
  const char *of, *parameter;
} named[] = {{"banks of a scratchpad", "banks"},         {"semaphores of a tile", "semaphores"},
             {"semaphores of an AGCU", "semaphores"},    {"microcode words", "microcode_words"},
             {"vector constants", "vx_constants"},       {"slots of a queue", "queue_depth"},
             {"instructions in a queue", "queue_depth"}, {"contexts of an AGCU", "agcu_contexts"},
             {"flits of a store memory", "agcu_buffers"}};

/* "needs N OF, the array has M", or "N instructions in a queue of M". */
static bool states_numbers(const char *message) {
  const char *needs = strstr(message, "needs "), *has = strstr(message, ", the array has "),
             *queue = strstr(message, " instructions in a queue of ");
  return queue ||
         (needs && has && strtoul(needs + 6, NULL, 10) > strtoul(has + strlen(", the array has "), NULL, 10));
}

/* The array with as much as the line says is needed. False: it names no parameter, or more than there may be. */
static bool raise_what_is_named(const char *message, tg_params *params) {
  const char *needs = strstr(message, "needs "), *queue = strstr(message, " instructions in a queue of ");
  while (queue && queue > message && queue[-1] != ' ') queue--;
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    char setting[64];
    if (!strstr(queue ? queue : needs, named[i].of)) continue;
    unsigned long value = strtoul(queue ? queue : needs + 6, NULL, 10);
    if (!strcmp(named[i].parameter, "agcu_buffers")) /* as large as so many bursts */
      value = (value + params->burst_flits - 1) / params->burst_flits;
    snprintf(setting, sizeof setting, "%s=%lu", named[i].parameter, value);
    return !tg_params_set(params, setting, NULL) && !tg_params_check(params, NULL);
  }
  return false;
}

typedef struct raises {
  int tried, mapped;
} raises;

/* What a line says is needed suffices: an array that has it maps the graph, or lacks something else, which that line says in turn.
 * Nothing is asked for twice that was given. */
static void suffice(const char *graph, const tg_params *params, const tg_diag *refusal, raises *out) {
  enum { MOST = 12 };
  tg_params more = *params;
  tg_diag diag = *refusal;
  char asked[sizeof diag.message] = "";
  out->tried++;
  for (int i = 0; i < MOST && raise_what_is_named(diag.message, &more); i++) {
    snprintf(asked, sizeof asked, "%s", diag.message);
    diag = (tg_diag){""};
    if (maps(graph, &more, &diag)) {
      out->mapped++;
      return;
    }
    if (!strcmp(asked, diag.message))
      tg_test_fail(__FILE__, __LINE__, "what is needed does not suffice: %s", asked);
  }
}

TG_TEST(arrays, each_maps_or_refuses_by_name) {
  const char *asked = getenv("TEGULA_DRAWS"), *seed = getenv("TEGULA_RANDOM_SEED");
  int arrays = asked ? 100 * atoi(asked) : 200, mapped = 0, refused = 0;
  uint64_t state = seed ? strtoull(seed, NULL, 0) | 1 : 0x9e3779b97f4a7c15u, first = state;
  raises raised = {0, 0};
  for (int i = 0; i < arrays; i++) {
    tg_params params;
    char text[512];
    if (!draw_array(&state, &params, text)) continue;
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
      tg_diag diag = {""};
      bool good = maps(graphs[g], &params, &diag);
      mapped += good;
      refused += !good;
      if (!good && !states_numbers(diag.message))
        tg_test_fail(__FILE__, __LINE__, "graph %zu on tiny%s: no numbers: %s", g, text, diag.message);
      if (!good && i % 4 == 0) suffice(graphs[g], &params, &diag, &raised);
      if (good == (*diag.message != 0))
        tg_test_fail(__FILE__, __LINE__, "graph %zu on tiny%s: %s", g, text, good ? diag.message : "no line");
    }
  }
  printf("%d mapped, %d refused; of %d refused ones %d fit an array that has what they need; seed %#llx\n",
         mapped, refused, raised.tried, raised.mapped, (unsigned long long)first);
  EXPECT(mapped > arrays / 2 && refused > 0 && raised.mapped > raised.tried / 2);
}

/* Each limit that a section of these graphs can lack, with what it needs and what there is.
 *
 * Those that no array within the ranges lacks: entries of the base table, of which there are 32 on every array, while a section has
 * at most two vector programs of 12 streams, four operands of products and its marks; contexts of an AGCU, of which each array has
 * three: what takes a fourth, a prologue or sums of columns, is fused only where there is one; rows of an accumulator, of which
 * each array has eight, as many as the smallest tiling; and waits and posts of an instruction, which test_slots.c asks for by
 * hand. Semaphores of a tile are as many as those of an AGCU, of which these sections need more. */
TG_TEST(arrays, what_is_short_is_named) {
  static const struct {
    size_t graph;
    const char *set, *says;
  } cases[] = {
      {0, "semaphores=8", "needs 15 semaphores of an AGCU, the array has 8"},
      {0, "semaphores=9 rows=1 cols=1", "needs 10 semaphores of an AGCU, the array has 9"},
      {1, "cols=16 semaphores=17", "needs 34 semaphores of an AGCU, the array has 17"},
      {5, "semaphores=8", "needs 18 semaphores of an AGCU, the array has 8"},
      {0, "microcode_words=16", "needs 48 microcode words, the array has 16"},
      {2, "microcode_words=16", "needs 72 microcode words, the array has 16"},
      {2, "vx_constants=8", "needs 64 vector constants, the upper half of them for a table, the array has 8"},
      {0, "banks=4", "needs 6 banks of a scratchpad, the array has 4"},
      {1, "banks=4", "needs 5 banks of a scratchpad, the array has 4"},
      {2, "banks=4", "needs 5 banks of a scratchpad, the array has 4"},
      {3, "banks=2", "needs 4 banks of a scratchpad, the array has 2"},
      {4, "banks=2", "needs 3 banks of a scratchpad, the array has 2"},
      {5, "banks=6", "needs 7 banks of a scratchpad, the array has 6"},
      {0, "rows=16 cols=16 p=8 semaphores=512 queue_depth=4", "needs 8 slots of a queue, the array has 4"},
      {4, "rows=8 queue_depth=4", "needs 12 slots of a queue, the array has 4"},
      {2, "rows=8 queue_depth=4", "6 instructions in a queue of 4"},
      {0, "cols=16 agcu_buffers=1 burst_flits=4",
       "needs 2 flits of a tile's share of a store memory, the array has 1"},
      {2, "cols=16 agcu_buffers=1 burst_flits=4", "needs 32 flits of a store memory, the array has 4"},
      {4, "cols=16 agcu_buffers=1 burst_flits=4", "needs 24 flits of a store memory, the array has 4"},
      {5, "agcu_buffers=1 burst_flits=16", "needs 20 flits of a store memory, the array has 16"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_params small;
    tg_diag diag = {""};
    char text[128], *rest = NULL;
    snprintf(text, sizeof text, "%s", cases[i].set);
    tg_params_load("tiny", &small, NULL);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
      ASSERT(!tg_params_set(&small, word, NULL));
    EXPECT(!maps(graphs[cases[i].graph], &small, &diag));
    EXPECT_HAS(diag.message, cases[i].says);
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
