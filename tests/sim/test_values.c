/* Values in several threads: the bits and cycles of one, what may overlap and what may not. */
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "mapper/mapper.h"
#include "sim/functional/functional.h"
#include "sim/functional/values.h"
#include "tests/harness.h"
#include "tests/sim/engine_runs.h"
#include "tests/sim/random_fabric.h"
#include "tests/sim/support.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- whole programs ---- */

#define PRODUCT                                                                                              \
  "graph \"g\"\ninput %a: f32[70,300]\nconst %b: f32[300,90] = seeded(7, 0.5)\n%p = MatMul(%a, %b) @0\n"     \
  "%y = Tanh(%p) @1\noutput \"y\" %y: f32\n"
#define CONV                                                                                                 \
  "graph \"g\"\ninput %x: f32[2,3,14,11]\nconst %w: f32[6,3,3,3] = seeded(3, 0.2)\n"                         \
  "const %b: f32[6] = seeded(4, 1)\n%c = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @0\n"            \
  "%y = MaxPool(%c) kernel_shape=[2,2] strides=[2,2] @1\noutput \"y\" %y: f32\n"
#define ATTENTION                                                                                            \
  "graph \"g\"\ninput %x: f32[4,25,24]\nconst %w: f32[24,24] = seeded(1, 0.4)\n"                             \
  "const %s: f32[24] = seeded(2, 1)\n%n = LayerNormalization(%x, %s) @0\n%p = MatMul(%n, %w) @1\n"           \
  "%r = Reshape(%p) shape=[4,25,3,8] @2\n%q = Transpose(%r) perm=[0,2,1,3] @3\n"                             \
  "%k = Transpose(%r) perm=[0,2,3,1] @4\n%a = MatMul(%q, %k) @5\n%b = Softmax(%a) axis=-1 @6\n"              \
  "%c = MatMul(%b, %q) @7\n%y = Gelu(%c) @8\noutput \"y\" %y: f32\n"

static tg_program *mapped(const char *text, tg_precision_preset preset, tg_tiling_accum accumulation) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_params params;
  tg_graph *graph;
  tg_program *program = NULL;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = preset;
  options.precision.tiling_accum = accumulation;
  tg_map_options map = {.accum_bf16sr = accumulation == TG_ACCUM_BF16SR, .k_tile = 32, .seed = 5};
  if (tg_params_load("tiny", &params, &diag) || tg_graph_parse(&arena, text, &graph, &diag) ||
      tg_frontend_lower(graph, &options, &diag) || tg_map(graph, &params, &map, &program, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  tg_arena_release(&arena);
  return program;
}

static void compare(const engine_run *one, const tg_engine *engine, const tg_program *program,
                    uint32_t threads, bool times, const char *what) {
  engine_run run = engine_run_numbers(engine, program, (tg_run_options){.threads = threads, .seed = 5});
  const char *difference = run.status ? run.diag.message : engine_runs_differ(one, &run, times);
  if (difference)
    tg_test_fail(__FILE__, __LINE__, "%s, %s, %u threads: %s", what, engine->name, threads, difference);
  engine_run_release(&run);
}

/* Against the plain kernels for the bits, and against one thread for the cycles. */
static void any_threads(tg_program *program, const char *what) {
  static const uint32_t threads[] = {1, 2, 3, 7};
  if (!program) return;
  engine_run plain =
                 engine_run_numbers(&tg_engine_reference, program, (tg_run_options){.threads = 1, .seed = 5}),
             timed =
                 engine_run_numbers(&tg_engine_systemc, program, (tg_run_options){.threads = 1, .seed = 5});
  EXPECT_EQ(plain.status, TG_OK);
  EXPECT_EQ(timed.status, TG_OK);
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    compare(&timed, &tg_engine_systemc, program, threads[t], true, what);
    compare(&plain, &tg_engine_systemc, program, threads[t], false, what);
    compare(&plain, &tg_engine_functional, program, threads[t], false, what);
  }
  engine_run_release(&plain);
  engine_run_release(&timed);
  tg_program_destroy(program);
}

TG_TEST(values, products_in_any_number_of_threads) {
  any_threads(mapped(PRODUCT, TG_PRESET_MP0, TG_ACCUM_FP32), "mp0");
  any_threads(mapped(PRODUCT, TG_PRESET_MP4, TG_ACCUM_BF16SR), "mp4, bf16sr");
}
TG_TEST(values, sections_in_any_number_of_threads) {
  any_threads(mapped(CONV, TG_PRESET_MP0, TG_ACCUM_FP32), "convolution");
  any_threads(mapped(ATTENTION, TG_PRESET_MP1, TG_ACCUM_FP32), "attention");
}
TG_TEST(values, fabric_in_any_number_of_threads) {
  tg_params params;
  ASSERT(!tg_params_load("tiny", &params, NULL));
  for (uint32_t seed = 1; seed <= 12; seed++) {
    tg_program *program = random_fabric(&params, seed);
    char what[32];
    snprintf(what, sizeof what, "fabric %u", seed);
    EXPECT(!tg_program_check(program, NULL));
    any_threads(program, what);
  }
}

/* ---- a wrong address, found in the cycle of its burst ---- */

/* 160 flits of 4 words in rows of 16 bytes; the memory ends with the 144th. */
#define OUTSIDE                                                                                              \
  "arch tiny\ndram 2304\nsection \"s\"\nagcu 0\n"                                                            \
  "ctx 0 load rows=160 take=4 m_radix=1,1,160 k_radix=1,1,4 stride=0,0,16,0,0,4 x_inc=0,0,0,0,0,1 "          \
  "y_size=1 x_size=4 dst_inner=160 dst_mask=2\ninvoke 0 \"i\"\n"

TG_TEST(values, wrong_address_is_found_in_time) {
  tg_program *program = tg_test_program(OUTSIDE);
  tg_test_settle(program);
  for (uint32_t threads = 1; threads <= 2; threads++) {
    engine_run run = engine_run_program(&tg_engine_systemc, program, (tg_run_options){.threads = threads});
    EXPECT_EQ(run.status, TG_FAULT);
    /* Issued in 48; four rows cost an atom, 4 cycles, so bursts begin in 49, 113 and 177. The third is wrong. */
    EXPECT_HAS(run.diag.message,
               "cycle 177: agcu west 0 context 0 pc 0: device memory address 2304 is outside "
               "the 2304 bytes of the program");
    engine_run_release(&run);
  }
  tg_program_destroy(program);
}

/* ---- what overlaps ---- */

/* Kernels that show when they are at work. A VOP's first address says which it is. */
enum { VOPS = 4, PATIENCE_MS = 20000 };
static atomic_int began, ended, most;
static int together; /* a VOP ends only when so many have run at once: a busy machine starts threads late */
static int seen_ended[VOPS]; /* how many had ended when it began */

static void pause_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

static void slow_vop(const tg_kernels *kernels, tg_machine_state *state, uint32_t tile,
                     const tg_execution *x) {
  (void)kernels, (void)state, (void)tile;
  seen_ended[x->pc] = atomic_load(&ended);
  int running = atomic_fetch_add(&began, 1) + 1 - atomic_load(&ended), before = atomic_load(&most);
  while (before < running && !atomic_compare_exchange_weak(&most, &before, running)) continue;
  pause_ms(5);
  for (int ms = 0; atomic_load(&most) < together && ms < PATIENCE_MS; ms++) pause_ms(1);
  atomic_fetch_add(&ended, 1);
}

/* VOPs pc 0.. of tile 0 or `tiles[pc]`, each in banks from `banks[pc]` on. */
static void run_vops(const uint32_t tiles[VOPS], const int banks[VOPS], uint32_t threads) {
  static const tg_kernels slow = {.name = "slow", .vop = slow_vop};
  static const tg_accesses accesses = {
      .count = 1, .access = {{.memory = TG_MEM_PAD, .operand = 0, .low = 0, .high = 3, .name = "stream s0"}}};
  tg_params params;
  ASSERT(!tg_params_load("tiny", &params, NULL));
  tg_machine_state *state = tg_machine_create(&params);
  tg_values *values = tg_values_create(threads);
  tg_instr in = {0};
  in.vx.op = TG_OP_vx_vop;
  tg_values_bind(values, &slow, state);
  atomic_store(&began, 0), atomic_store(&ended, 0), atomic_store(&most, 0);
  for (uint16_t pc = 0; pc < VOPS; pc++) {
    tg_execution x = {.in = &in, .pc = pc, .address = {(uint16_t)(banks[pc] * (int)tg_bank_rows(&params))}};
    tg_values_add(values, tiles[pc], TG_VX, &x, &accesses);
  }
  tg_values_finish(values);
  EXPECT_EQ(atomic_load(&ended), VOPS);
  tg_values_destroy(values);
  tg_machine_destroy(state);
}

TG_TEST(values, independent_ones_overlap) {
  together = 2;
  run_vops((uint32_t[]){0, 1, 2, 3}, (int[]){1, 1, 1, 1}, 2); /* tiles */
  EXPECT_EQ(atomic_load(&most), 2);
  run_vops((uint32_t[]){0, 0, 0, 0}, (int[]){0, 1, 2, 3}, 3); /* banks */
  EXPECT(atomic_load(&most) >= 2);
  together = 0;
}
TG_TEST(values, those_of_a_bank_are_in_order) {
  run_vops((uint32_t[]){0, 0, 0, 0}, (int[]){1, 1, 1, 1}, 3);
  EXPECT_EQ(atomic_load(&most), 1);
  for (int i = 0; i < VOPS; i++) EXPECT_EQ(seen_ended[i], i);
}
TG_TEST(values, one_waits_for_all_before_it) {
  run_vops((uint32_t[]){0, 0, 0, 0}, (int[]){1, 2, 3, 1}, 4);
  EXPECT(seen_ended[3] >= 1);
  run_vops((uint32_t[]){0, 1, 0, 1}, (int[]){1, 1, 1, 1}, 4);
  EXPECT(seen_ended[2] >= 1 && seen_ended[3] >= 1);
}
TG_TEST(values, one_thread_takes_turns) {
  run_vops((uint32_t[]){0, 1, 2, 3}, (int[]){1, 1, 1, 1}, 1);
  EXPECT_EQ(atomic_load(&most), 1);
}

/* ---- transfers in the way of each other ---- */

/* A machine with device memory, and transfers that the test makes up. */
typedef struct bench {
  tg_params params;
  tg_machine_state *state;
  tg_values *values;
  tg_dram dram;
  uint8_t bytes[1 << 16];
} bench;

static void open_bench(bench *b, uint32_t threads) {
  ASSERT(!tg_params_load("tiny", &b->params, NULL));
  b->dram = (tg_dram){.bytes = b->bytes, .size = sizeof b->bytes};
  b->state = tg_machine_create(&b->params);
  b->state->dram = &b->dram;
  b->values = tg_values_create(threads);
  tg_values_bind(b->values, tg_kernels_reference(), b->state);
}

static void close_bench(bench *b) {
  tg_values_destroy(b->values);
  tg_machine_destroy(b->state);
}

/* A LOAD or STORE of `rows` rows of a flit of 4 words from or to device memory at `offset`. */
static tg_instr transfer_of(int64_t op, int64_t rows, int64_t offset) {
  tg_instr in = {0};
  tg_agcu_instr *a = &in.agcu;
  a->op = op;
  a->rows = a->dst_inner = a->m_radix[2] = rows;
  a->m_radix[0] = a->m_radix[1] = a->k_radix[0] = a->k_radix[1] = a->y_size = a->x_inc[5] = 1;
  a->take = a->k_radix[2] = a->x_size = a->stride[5] = 4;
  a->stride[2] = 16;
  a->offset = offset;
  a->convert = TG_CVT_32;
  a->dst_mask = op == TG_OP_agcu_load ? 2 : 0; /* the first tile of its row or column */
  return in;
}

static void add_transfer(bench *b, uint32_t agcu, const tg_instr *in, uint16_t address) {
  tg_execution x = {.in = in, .address = {0}};
  uint32_t endpoint = tg_tiles(&b->params) + agcu;
  tg_accesses accesses;
  x.address[in->agcu.op == TG_OP_agcu_load ? TG_AT_DST : TG_AT_SRC] = address;
  EXPECT(!tg_exec_accesses(b->state, endpoint, TG_AGCU, &x, &accesses, NULL));
  tg_values_add(b->values, endpoint, TG_AGCU, &x, &accesses);
}

/* STORE number i writes flits i.. of AGCU 0, and a LOAD by AGCU 2 brings them to bank i of tile 0, the last
 * one first, which the STORE comes to last. */
TG_TEST(values, a_load_sees_the_store_before_it) {
  enum { BANKS = 16, ROWS = 64, TIMES = 100 };
  static bench b;
  open_bench(&b, 3);
  uint32_t row = tg_flit_bytes(&b.params);
  for (uint32_t f = 0; f < ROWS + BANKS; f++) memset(b.state->stores[0] + f * row, (int)f + 1, row);
  tg_instr store = transfer_of(TG_OP_agcu_store, ROWS, 0),
           load = transfer_of(TG_OP_agcu_load, ROWS, (ROWS - 1) * 16);
  load.agcu.stride[2] = -16;
  for (int times = 0; times < TIMES; times++) {
    for (uint16_t i = 0; i < BANKS; i++) {
      add_transfer(&b, 0, &store, i);
      add_transfer(&b, 2, &load, (uint16_t)(i * tg_bank_rows(&b.params)));
    }
    tg_values_finish(b.values);
    for (uint32_t i = 0; i < BANKS; i++)
      for (uint32_t r = 0; r < ROWS; r++)
        EXPECT_EQ(*tg_pad_row(b.state, 0, i * tg_bank_rows(&b.params) + r), i + ROWS - r);
  }
  close_bench(&b);
}

/* A long LOAD by AGCU 0 into a bank, and a short one by AGCU 2 over its last row. */
TG_TEST(values, the_later_of_two_loads_stays) {
  enum { BANKS = 16, ROWS = 128, TIMES = 100 };
  static bench b;
  open_bench(&b, 3);
  memset(b.bytes, 1, ROWS * 16);
  memset(b.bytes + ROWS * 16, 2, 16);
  tg_instr all = transfer_of(TG_OP_agcu_load, ROWS, 0), last = transfer_of(TG_OP_agcu_load, 1, ROWS * 16);
  for (int times = 0; times < TIMES; times++) {
    for (uint32_t i = 0; i < BANKS; i++) {
      uint32_t bank = i * tg_bank_rows(&b.params);
      add_transfer(&b, 0, &all, (uint16_t)bank);
      add_transfer(&b, 2, &last, (uint16_t)(bank + ROWS - 1));
    }
    tg_values_finish(b.values);
    for (uint32_t i = 0; i < BANKS; i++)
      EXPECT_EQ(*tg_pad_row(b.state, 0, i * tg_bank_rows(&b.params) + ROWS - 1), 2);
  }
  close_bench(&b);
}
