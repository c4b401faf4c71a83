/* The mapper's passes, text in and text out: passes/<pass>/<case>.txt holds a lowered graph, a line "---", a
 * kernel list, "---", and what the pass makes of it for the array `edge`, or that of a line "# arch NAME". A
 * case without any "---" is a graph alone: then TEGULA_UPDATE_GOLDEN=1 lowers it (a line "# preset NAME" says
 * how), runs the passes before and writes all three; with them it writes the last. Behind plan_memory's kernels
 * stand the tensors with their places. Read what it writes before committing it. */
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "mapper/classes.h"
#include "mapper/kernel/text.h"
#include "mapper/passes.h"
#include "tests/harness.h"
#include "tests/mapper/graph_files.h"
#include "tests/mapper/graph_tests.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/mapper/passes"
static const char rule[] = "---\n";

TG_TEST(passes, each_comes_behind_what_it_needs) {
  int count = 0;
  for (const tg_mapper_pass *pass = tg_mapper_passes; pass->name; pass++, count++) {
    bool found = !pass->needs;
    for (const tg_mapper_pass *before = tg_mapper_passes; before < pass; before++)
      found |=
          pass->needs && !strcmp(before->name, pass->needs) && (!before->when || before->when == pass->when);
    if (!found)
      tg_test_fail(__FILE__, __LINE__, "%s needs %s, which may not have run", pass->name, pass->needs);
  }
  EXPECT(count > 10);
}

/* A line "# KEY WORD" of a case. */
static const char *word_of(const char *text, const char *key, const char *otherwise, tg_arena *arena) {
  const char *line = strstr(text, tg_arena_printf(arena, "# %s ", key));
  if (!line) return otherwise;
  line += strlen(key) + 3;
  return tg_arena_strndup(arena, line, strcspn(line, "\n"));
}

typedef struct pass_case {
  const char *path, *pass;
  char *graph, *before, *after; /* parts of the file; NULL: not there */
  tg_arena arena;
  tg_diag diag;
} pass_case;

static bool read_case(pass_case *k) {
  double unused;
  k->graph = read_graph_file(k->path, &k->arena, &unused);
  if (!k->graph) return false;
  char **parts[] = {&k->before, &k->after}, *from = k->graph;
  for (int i = 0; i < 2 && from; i++) {
    char *cut = strstr(from, rule);
    if (cut) *cut = 0;
    *parts[i] = from = cut ? cut + strlen(rule) : NULL;
  }
  return true;
}

static tg_status begin(pass_case *k, tg_compile *c, const tg_graph *graph) {
  static const tg_map_options options = {.seed = 1};
  tg_params params;
  if (tg_params_load(word_of(k->graph, "arch", "edge", &k->arena), &params, &k->diag)) return TG_INVALID;
  tg_compile_begin(c, graph, &params, &options, &k->arena, &k->diag);
  c->classes = tg_kernel_classes;
  return TG_OK;
}

/* The first pass of that name for such a graph. */
static const tg_mapper_pass *pass_of(const pass_case *k, const tg_compile *c) {
  for (const tg_mapper_pass *pass = tg_mapper_passes; pass->name; pass++)
    if (!strcmp(pass->name, k->pass) && (!pass->when || pass->when(c))) return pass;
  return NULL;
}

/* From a model: the graph as it is lowered, and the kernels before the pass. */
static tg_status make_input(pass_case *k) {
  tg_compile c;
  tg_graph *graph;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  const char *preset = word_of(k->graph, "preset", "mp0", &k->arena),
             *arch = word_of(k->graph, "arch", NULL, &k->arena);
  if (tg_precision_preset_parse(preset, &options.precision.preset, &k->diag) ||
      tg_graph_parse(&k->arena, k->graph, &graph, &k->diag) || tg_frontend_lower(graph, &options, &k->diag) ||
      begin(k, &c, graph))
    return TG_INVALID;
  const tg_mapper_pass *own = pass_of(k, &c);
  tg_status status = own ? TG_OK : tg_fail(&k->diag, TG_INVALID, "no pass %s", k->pass);
  for (const tg_mapper_pass *pass = tg_mapper_passes; !status && pass < own; pass++)
    if (!pass->when || pass->when(&c)) status = pass->run(&c);
  tg_program_destroy(c.program);
  k->before = tg_kernels_print(&c);
  k->graph = tg_arena_printf(&k->arena, "%s%s%s%s", arch ? "# arch " : "", arch ? arch : "", arch ? "\n" : "",
                             tg_graph_print(graph, &k->arena));
  return status;
}

/* Tensors and the bytes of memory that they have. */
static char *print_places(const tg_compile *c, tg_arena *arena) {
  char *text = tg_kernels_print(c);
  for (uint32_t t = 0; t < c->program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &c->program->tensors[t];
    text =
        tg_arena_printf(arena, "%s%s \"%s\" at %llu, %llu bytes\n", text, tg_role_name(tensor->role),
                        tensor->name, (unsigned long long)tensor->address, (unsigned long long)tensor->bytes);
  }
  return text;
}

/* What these leave is not in the text; the order that they give the kernels they leave as it is. */
static tg_status run_untold(tg_compile *c, const tg_mapper_pass *pass) {
  static const char *const untold[] = {"settle_aliases", "plan_memory"};
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < sizeof untold / sizeof *untold; i++) {
    const tg_mapper_pass *before = tg_mapper_pass_find(untold[i]);
    if (before < pass) status = before->run(c);
  }
  return status;
}

/* The text of the kernels is that of the ones that are parsed of it. */
static void expect_parses(pass_case *k, const tg_graph *graph, const tg_compile *c) {
  tg_compile again;
  char *text = tg_kernels_print(c);
  ASSERT(!begin(k, &again, graph));
  if (tg_kernels_parse(&again, text))
    tg_test_fail(k->path, 1, "of what it leaves: %s", k->diag.message);
  else
    EXPECT_STR(tg_kernels_print(&again), text);
  for (size_t i = 0; i < again.keeping_count; i++) {
    EXPECT_EQ(again.keepings[i].first, c->keepings[i].first);
    EXPECT_EQ(again.keepings[i].last, c->keepings[i].last);
  }
  tg_program_destroy(again.program);
}

static tg_status run_case(pass_case *k, char **out_after) {
  tg_compile c;
  tg_graph *graph;
  if (tg_graph_parse(&k->arena, k->graph, &graph, &k->diag) || begin(k, &c, graph)) return TG_INVALID;
  tg_status status = tg_kernels_parse(&c, k->before);
  const tg_mapper_pass *pass = pass_of(k, &c);
  bool places = !strcmp(k->pass, "plan_memory");
  if (!status && !pass) status = tg_fail(&k->diag, TG_INVALID, "no pass %s", k->pass);
  if (!status) EXPECT_STR(tg_kernels_print(&c), k->before);
  if (!status) status = run_untold(&c, pass);
  if (!status) status = pass->run(&c);
  if (!status) expect_parses(k, graph, &c);
  if (!status) *out_after = places ? print_places(&c, &k->arena) : tg_kernels_print(&c);
  tg_program_destroy(c.program);
  return status;
}

static void write_case(const pass_case *k, const char *after) {
  FILE *file = fopen(k->path, "wb");
  ASSERT(file != NULL);
  fprintf(file, "%s%s%s%s%s", k->graph, rule, k->before, rule, after);
  fclose(file);
}

static void check_case(const void *path) {
  pass_case k = {.path = path};
  char *after = NULL;
  k.pass = tg_arena_strndup(&k.arena, k.path + sizeof FOLDER, strcspn(k.path + sizeof FOLDER, "/"));
  ASSERT(read_case(&k));
  bool update = getenv("TEGULA_UPDATE_GOLDEN");
  if (!k.before && !update)
    tg_test_fail(k.path, 1, "a graph alone: TEGULA_UPDATE_GOLDEN=1 makes a case of it");
  else if ((!k.before && make_input(&k)) || run_case(&k, &after))
    tg_test_fail(k.path, 1, "%s", k.diag.message);
  else if (update)
    write_case(&k, after);
  else
    EXPECT_STR(after, k.after ? k.after : "");
  tg_arena_release(&k.arena);
}

/* Registers a test for each case of the pass; returns how many there are. */
static int register_folder(const char *pass) {
  static tg_arena arena; /* lives as long as the process */
  int count = 0;
  DIR *dir = opendir(tg_arena_printf(&arena, FOLDER "/%s", pass));
  if (!dir) return 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (!strstr(entry->d_name, ".txt")) continue;
    char *path = tg_arena_printf(&arena, FOLDER "/%s/%s", pass, entry->d_name),
         *label = tg_arena_printf(&arena, "%s_%.*s", pass, (int)strcspn(entry->d_name, "."), entry->d_name);
    tg_test_register_row("passes", label, __FILE__, __LINE__, check_case, path);
    count++;
  }
  closedir(dir);
  return count;
}

static const char *without_case; /* a pass, or NULL */

TG_TEST(passes, each_has_a_case) {
  if (without_case) tg_test_fail(__FILE__, __LINE__, "%s has no case in " FOLDER, without_case);
}

/* ---- what passes keep ---- */

typedef struct seen {
  const char *text;
  bool *stored;
  int *computed; /* by value->index: kernels that compute the node that makes it */
  size_t count;
} seen;

static void count_nodes(int *computed, tg_node *const *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) computed[tg_out(nodes[i])->index]++;
}

static void count_kernel(int *computed, const tg_kernel *kernel) {
  for (int r = 0; kernel->root && r < TG_MORE_RESULTS; r++)
    if (kernel->more_roots[r]) count_nodes(computed, &kernel->more_roots[r], 1);
  if (kernel->root) count_nodes(computed, &kernel->root, 1);
  for (int p = 0; p < TG_PROLOGUES; p++)
    count_nodes(computed, kernel->prologue[p].nodes, kernel->prologue[p].count);
  count_nodes(computed, kernel->fused, kernel->fused_count);
  const tg_kernel *parts[] = {kernel->column_sums, kernel->pool, kernel->scores, kernel->softmax};
  for (int i = 0; i < 4; i++)
    if (parts[i]) count_kernel(computed, parts[i]);
}

static seen look(const tg_compile *c, tg_arena *arena) {
  size_t values = (size_t)c->graph->value_count;
  seen s = {.text = tg_kernels_print(c),
            .stored = TG_NEW_ARRAY(arena, bool, values),
            .computed = TG_NEW_ARRAY(arena, int, values),
            .count = c->kernel_count};
  memcpy(s.stored, c->stored, values * sizeof *s.stored);
  for (size_t k = 0; k < c->kernel_count; k++) count_kernel(s.computed, &c->kernels[k]);
  return s;
}

static unsigned kept_of(const seen *a, const seen *b, int values) {
  unsigned kept = TG_KEEPS_KERNELS | TG_KEEPS_STORED | TG_KEEPS_COUNT | TG_KEEPS_ONCE;
  if (strcmp(a->text, b->text)) kept &= ~(unsigned)TG_KEEPS_KERNELS;
  if (memcmp(a->stored, b->stored, (size_t)values * sizeof *a->stored)) kept &= ~(unsigned)TG_KEEPS_STORED;
  if (a->count != b->count) kept &= ~(unsigned)TG_KEEPS_COUNT;
  for (int v = 0; v < values; v++)
    if (b->computed[v] > a->computed[v] && a->computed[v]) kept &= ~(unsigned)TG_KEEPS_ONCE;
  return kept;
}

enum { MOST_PASSES = 32 };
static unsigned kept_by[MOST_PASSES]; /* over all graphs that were looked at */

static void look_at_passes(const void *path) {
  pass_case k = {.path = path};
  tg_graph *graph;
  tg_compile c;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = TG_PRESET_MP1;
  ASSERT(read_case(&k));
  ASSERT(!tg_graph_parse(&k.arena, k.graph, &graph, &k.diag));
  ASSERT(!tg_frontend_lower(graph, &options, &k.diag));
  ASSERT(!begin(&k, &c, graph));
  seen before = look(&c, &k.arena);
  for (int p = 0; tg_mapper_passes[p].name; p++) {
    const tg_mapper_pass *pass = &tg_mapper_passes[p];
    if (pass->when && !pass->when(&c)) continue;
    ASSERT(!pass->run(&c));
    seen after = look(&c, &k.arena);
    kept_by[p] &= kept_of(&before, &after, graph->value_count);
    before = after;
  }
  tg_program_destroy(c.program);
  tg_arena_release(&k.arena);
}

/* Over all graphs. */
TG_TEST(passes, each_keeps_what_it_says) {
  for (int p = 0; p < MOST_PASSES; p++) kept_by[p] = ~0u;
  visit_graph_files(look_at_passes);
  for (int p = 0; tg_mapper_passes[p].name; p++)
    if (tg_mapper_passes[p].keeps & ~kept_by[p])
      tg_test_fail(__FILE__, __LINE__, "%s says that it keeps %x, and keeps %x", tg_mapper_passes[p].name,
                   tg_mapper_passes[p].keeps, kept_by[p]);
}

/* After each pass over each graph: what is printed parses to what prints so, and to the same stored
 * values. */
static void check_text(const void *path) {
  pass_case k = {.path = path};
  tg_graph *graph;
  tg_compile c, again;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = TG_PRESET_MP1;
  ASSERT(read_case(&k));
  ASSERT(!tg_graph_parse(&k.arena, k.graph, &graph, &k.diag));
  ASSERT(!tg_frontend_lower(graph, &options, &k.diag));
  ASSERT(!begin(&k, &c, graph));
  for (const tg_mapper_pass *pass = tg_mapper_passes; pass->name; pass++) {
    if (pass->when && !pass->when(&c)) continue;
    ASSERT(!pass->run(&c));
    ASSERT(!begin(&k, &again, graph));
    char *text = tg_kernels_print(&c);
    if (tg_kernels_parse(&again, text)) tg_test_fail(k.path, 1, "after %s: %s", pass->name, k.diag.message);
    EXPECT_STR(tg_kernels_print(&again), text);
    for (int i = 0; i < graph->value_count; i++)
      if (c.stored[i] != again.stored[i])
        tg_test_fail(k.path, 1, "after %s: is \"%s\" stored?", pass->name, graph->values[i]->name);
    tg_program_destroy(again.program);
  }
  tg_program_destroy(c.program);
  tg_arena_release(&k.arena);
}

TG_TEST(passes, text_that_is_none_is_refused) {
  static const char graph_text[] = "graph \"g\"\ninput %a: f32[4]\n%y = Relu(%a) @0\noutput \"y\" %y: f32\n";
  static const char *const wrong[] = {
      "relu fused=%y",
      "elementwise fused=%z\n",
      "elementwise fused=%a\n",
      "elementwise of=%y\n",
      "elementwise fused %y\n",
      "gemm column_sums=%y\n",
      "gemm roots=%y,%y,%y,%y\n",
      "elementwise makes=%\"y\n",
      "keep\n",
      "keep for=%y split=0 columns=8 alike=1 bank=12 banks=4\n",
      "elementwise fused=%y makes=%y\nkeep for=%y columns=8 bank=12 banks=4\n"};
  pass_case k = {.graph = (char *)graph_text};
  tg_graph *graph;
  ASSERT(!tg_graph_parse(&k.arena, graph_text, &graph, &k.diag));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tg_compile c;
    ASSERT(!begin(&k, &c, graph));
    if (!tg_kernels_parse(&c, wrong[i])) tg_test_fail(__FILE__, __LINE__, "\"%s\" is accepted", wrong[i]);
    tg_program_destroy(c.program);
  }
  tg_arena_release(&k.arena);
}

__attribute__((constructor)) static void register_cases(void) {
  for (const tg_mapper_pass *pass = tg_mapper_passes; pass->name; pass++)
    if (tg_mapper_pass_find(pass->name) == pass && !register_folder(pass->name)) without_case = pass->name;
  register_graph_files("kernel_text", check_text);
}
