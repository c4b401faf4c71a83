/* Random graphs of Slices, Concats, Reshapes and what reads and writes them, on random arrays and under several
 * policies: every value that is a view has the reference's bits, in an order that the semaphores prove.
 *
 * TEGULA_RANDOM_SEED=N draws others (printed with every failure), TEGULA_DRAWS=N more or fewer. */
#include "frontend/base/stochastic.h"
#include "frontend/base/text_stream.h"
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  DRAWS = 96,
  NODES = 14,
  MOST_ELEMENTS = 20000,
  RANK = 3,
  TIMED = 8 /* every so many draws in time, too */
};

static const struct place {
  const char *label, *arch, *settings[4];
  tg_precision_preset preset;
} places[] = {
    {"tiny", "tiny", {NULL}, TG_PRESET_MP0},
    {"edge", "edge", {NULL}, TG_PRESET_MP0},
    {"a row of 3", "tiny", {"rows=1", "cols=3", "p=2"}, TG_PRESET_MP0},
    {"a column of 2, mp1", "tiny", {"rows=2", "cols=1"}, TG_PRESET_MP1},
    {"rack, 3 x 5, mp4", "rack", {"rows=3", "cols=5"}, TG_PRESET_MP4},
    {"edge, mp4", "edge", {NULL}, TG_PRESET_MP4},
};

typedef struct shape {
  int dims[RANK];
} shape;

/* A graph that is being written: values %v0 .. of three dimensions each. */
typedef struct drawing {
  FILE *out;
  uint32_t seed, drawn;
  shape values[4 * NODES];
  bool read[4 * NODES];
  int count, constants;
} drawing;

static int draw(drawing *d, int below) {
  return (int)(tg_mix(tg_mix(d->seed) + d->drawn++) % (uint32_t)below);
}

static int pick(drawing *d) { return draw(d, d->count); }

static int use(drawing *d, int value) {
  d->read[value] = true;
  return value;
}

static void add(drawing *d, shape of) {
  d->read[d->count] = false;
  d->values[d->count++] = of;
}

static bool alike(const shape *a, const shape *b, int but) {
  for (int i = 0; i < RANK; i++)
    if (i != but && a->dims[i] != b->dims[i]) return false;
  return true;
}

static int elements(const shape *s) { return s->dims[0] * s->dims[1] * s->dims[2]; }

/* The last value that fits beside `value`; itself, if no other one does. */
static int mate_of(drawing *d, int value, int but) {
  for (int i = d->count - 1 - draw(d, 2); i >= 0; i--)
    if (i != value && alike(&d->values[i], &d->values[value], but)) return i;
  return value;
}

static void draw_one(drawing *d) {
  static const char *const unary[] = {"Relu", "Neg", "Abs"};
  int x = use(d, pick(d));
  fprintf(d->out, "%%v%d = %s(%%v%d) @%d\n", d->count, unary[draw(d, 3)], x, d->count);
  add(d, d->values[x]);
}

static void draw_two(drawing *d) {
  int x = use(d, pick(d)), y = use(d, mate_of(d, x, -1));
  fprintf(d->out, "%%v%d = %s(%%v%d, %%v%d) @%d\n", d->count, draw(d, 2) ? "Add" : "Mul", x, y, d->count);
  add(d, d->values[x]);
}

static void draw_slice(drawing *d) {
  int x = use(d, pick(d)), axis = draw(d, RANK);
  shape s = d->values[x];
  int start = draw(d, s.dims[axis]), size = 1 + draw(d, s.dims[axis] - start);
  fprintf(d->out, "%%v%d = Slice(%%v%d) starts=[%d] ends=[%d] axes=[%d] @%d\n", d->count, x, start,
          start + size, axis, d->count);
  s.dims[axis] = size;
  add(d, s);
}

static void draw_split(drawing *d) {
  int x = use(d, pick(d)), axis = draw(d, RANK);
  shape s = d->values[x];
  if (s.dims[axis] % 2) return;
  s.dims[axis] /= 2;
  fprintf(d->out, "%%v%d, %%v%d = Split(%%v%d) axis=%d split=[%d,%d] @%d\n", d->count, d->count + 1, x, axis,
          s.dims[axis], s.dims[axis], d->count);
  add(d, s);
  add(d, s);
}

static void draw_concat(drawing *d) {
  int x = use(d, pick(d)), axis = draw(d, RANK), y = use(d, mate_of(d, x, axis));
  shape s = d->values[x];
  s.dims[axis] += d->values[y].dims[axis];
  if (elements(&s) > MOST_ELEMENTS) return;
  fprintf(d->out, "%%v%d = Concat(%%v%d, %%v%d) axis=%d @%d\n", d->count, x, y, axis, d->count);
  add(d, s);
}

static void draw_reshape(drawing *d) {
  int x = use(d, pick(d));
  shape s = d->values[x], other = {{1, s.dims[0] * s.dims[1], s.dims[2]}};
  if (draw(d, 2) && s.dims[2] % 2 == 0) other = (shape){{s.dims[0], s.dims[1] * 2, s.dims[2] / 2}};
  fprintf(d->out, "%%v%d = Reshape(%%v%d) shape=[%d,%d,%d] @%d\n", d->count, x, other.dims[0], other.dims[1],
          other.dims[2], d->count);
  add(d, other);
}

static void draw_product(drawing *d) {
  int x = use(d, pick(d)), n = 8 * (1 + draw(d, 5));
  shape s = d->values[x];
  fprintf(d->out, "const %%w%d: f32[%d,%d] = seeded(%d, 0.3)\n", d->constants, s.dims[2], n,
          d->constants + 1);
  fprintf(d->out, "%%v%d = MatMul(%%v%d, %%w%d) @%d\n", d->count, x, d->constants++, d->count);
  s.dims[2] = n;
  add(d, s);
}

/* Of a value and, transposed, of another one. */
static void draw_batches(drawing *d) {
  int x = use(d, pick(d)), y = use(d, mate_of(d, x, 1));
  shape s = d->values[x];
  s.dims[2] = d->values[y].dims[1];
  fprintf(d->out, "%%t%d = Transpose(%%v%d) perm=[0,2,1] @%d\n", d->count, y, 100 + d->count);
  fprintf(d->out, "%%v%d = MatMul(%%v%d, %%t%d) @%d\n", d->count, x, d->count, d->count);
  add(d, s);
}

static void draw_row_maxima(drawing *d) {
  int x = use(d, pick(d));
  shape s = d->values[x];
  fprintf(d->out, "%%v%d = ReduceMax(%%v%d) axes=[2] keepdims=1 @%d\n", d->count, x, d->count);
  s.dims[2] = 1;
  add(d, s);
}

/* What nothing reads is an output, and so are a few others. */
static char *draw_graph(uint32_t seed, tg_arena *arena) {
  static void (*const nodes[])(drawing *) = {draw_one,     draw_two,     draw_slice,     draw_slice,
                                             draw_split,   draw_concat,  draw_concat,    draw_reshape,
                                             draw_product, draw_batches, draw_row_maxima};
  tg_text_stream text;
  drawing d = {.out = tg_text_begin(&text), .seed = seed};
  static const int widths[] = {8, 16, 24, 40, 33, 64};
  shape s = {{1 + draw(&d, 3), 1 + draw(&d, 9), widths[draw(&d, 6)]}};
  fprintf(d.out, "graph \"g\"\n");
  for (int i = 0; i < 2; i++) {
    fprintf(d.out, "input %%v%d: f32[%d,%d,%d]\n", i, s.dims[0], s.dims[1], s.dims[2]);
    add(&d, s);
  }
  while (d.count < NODES) nodes[draw(&d, sizeof nodes / sizeof *nodes)](&d);
  for (int v = 2; v < d.count; v++)
    if (!d.read[v] || !draw(&d, 6)) fprintf(d.out, "output \"v%d\" %%v%d: f32\n", v, v);
  return tg_text_end_on(&text, arena);
}

/* Of the kernel list after the pass: lines of views, and how many of them have rows apart. */
static void count_views(void *user, const char *pass, const char *kernels) {
  int *views = user;
  if (strcmp(pass, "views") != 0) return;
  for (const char *at = kernels; (at = strstr(at, "view ")) != NULL; at++) ++*views;
}

static void check(uint32_t seed, int *views) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  const struct place *place = &places[tg_mix(seed) % (sizeof places / sizeof *places)];
  run_case what = {.text = draw_graph(seed, &arena),
                   .arch = place->arch,
                   .precision.preset = place->preset,
                   .map = {.seed = 1,
                           .any_tiling = seed % 3 ? 0 : seed + 1ull,
                           .observe = count_views,
                           .observe_user = views},
                   .run = {.threads = 1, .seed = 1}};
  memcpy(what.settings, place->settings, sizeof place->settings);
#ifdef TEGULA_WITH_SYSTEMC
  if (seed % TIMED == 0) what.engine = &tg_engine_systemc;
#endif
  mapped m;
  if (run_text(&what, &m, &arena, &diag) || tg_check_ordering(m.program, &diag) ||
      !outputs_agree(&m, 0, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s, draw %u: %s\n%s", place->label, seed, diag.message, what.text);
  release_mapped(&m);
  tg_arena_release(&arena);
}

TG_TEST(views, of_random_graphs_have_the_bits_of_moves) {
  const char *first = getenv("TEGULA_RANDOM_SEED"), *draws = getenv("TEGULA_DRAWS");
  uint32_t begin = first ? (uint32_t)strtoul(first, NULL, 0) : 1,
           count = draws ? (uint32_t)strtoul(draws, NULL, 0) : DRAWS;
  int views = 0;
  for (uint32_t i = 0; i < count; i++) check(begin + i, &views);
  EXPECT(views > (int)count);
}

static int sections_of(const tg_program *program, const char *kind) {
  int count = 0;
  for (uint32_t s = 0; s < program->section_count; s++)
    count += !strncmp(program->sections[s].name, kind, strlen(kind));
  return count;
}

/* Five dimensions, (row, copy, column, copy, channel), in one walk; and its rows lie apart in the Concat's result. */
TG_TEST(views, a_resized_image_is_part_of_a_concat) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text =
                       "graph \"g\"\ninput %x: f32[1,16,12,10]\ninput %z: f32[1,16,24,20]\n"
                       "const %w: f32[16,16,1,1] = seeded(1, 0.3)\nconst %v: f32[8,32,1,1] = seeded(2, 0.3)\n"
                       "%a = Conv(%x, %w) kernel_shape=[1,1] @1\n%b = Conv(%z, %w) kernel_shape=[1,1] @2\n"
                       "%r = Resize(%a) factors=[1,1,2,2] coordinate_transformation_mode=\"asymmetric\" "
                       "nearest_mode=\"floor\" @3\n"
                       "%k = Concat(%r, %b) axis=1 @4\n%y = Conv(%k, %v) kernel_shape=[1,1] @5\n"
                       "output \"y\" %y: f32\n",
                   .arch = "edge",
                   .run.threads = 1};
  if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 0, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else {
    EXPECT_EQ(sections_of(m.program, "Concat"), 0);
    EXPECT_EQ(sections_of(m.program, "Expand"), 1);
  }
  release_mapped(&m);
  tg_arena_release(&arena);
}

#ifdef TEGULA_WITH_SYSTEMC
/* Two, three or four copies, four of them as two of two. */
TG_TEST(views, what_is_copied_is_loaded_for_two_or_three_copies) {
  static const int copies[] = {2, 3, 4}, loads[] = {1, 1, 2};
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    run_case what = {.text = tg_arena_printf(&arena,
                                             "graph \"g\"\ninput %%x: f32[64,1,256]\n%%y = Expand(%%x) "
                                             "shape=[64,%d,256] @1\noutput \"y\" %%y: f32\n",
                                             copies[i]),
                     .arch = "edge",
                     .run.threads = 1,
                     .engine = &tg_engine_systemc};
    if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 0, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    else
      EXPECT_EQ(m.result.dram_read, 64ull * 256 * 4 * loads[i]);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}
#endif
