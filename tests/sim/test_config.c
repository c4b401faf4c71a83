/* The words of a section's configuration: whoever takes them as docs/machine.md says has in the end what the section gives it, and
 * nobody anything else. Random sections on arrays of many shapes; units share, or differ by row, by column, in one place, or all. */
#include "sim/machine/config.h"
#include "sim/machine/walk.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 128, SLOTS = 4, TABLE = 1024 };

/* What an endpoint holds of the section: a tile has 3 queues, an AGCU its contexts. */
typedef struct endpoint {
  uint32_t queue[8][SLOTS][LANES], length[8];
  uint32_t table[TG_CFG_COUNT][TABLE];
} endpoint;

static uint64_t state;
static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(state >> 33) % below;
}

/* ---- a random section ---- */

static void random_fields(tg_unit unit, tg_instr *in, uint32_t share) {
  size_t count;
  const tg_field *fields = tg_unit_fields(unit, &count);
  for (size_t f = 0; f < count; f++)
    for (unsigned i = 0; i < fields[f].count; i++) {
      if (draw(share)) continue;
      int64_t value = (int64_t)(((uint64_t)draw(1u << 31) << 20 ^ draw(1u << 31)) &
                                ((1ull << (fields[f].bits - fields[f].is_signed)) - 1));
      ((int64_t *)(void *)in)[fields[f].member + i] = fields[f].is_signed && draw(2) ? -value : value;
    }
  in->common.op = unit == TG_AGCU && !draw(3) ? TG_OP_sync : 1;
  if (unit == TG_AGCU) /* what walks are taken apart by, and what the proof of digits asks of them */
    for (int d = 0; d < 3; d++) {
      in->agcu.m_radix[d] = 1 + draw(9);
      in->agcu.k_radix[d] = 1 + draw(9);
    }
}

/* Instruction `slot` of a unit at a row and position: how it differs from the others' is `kind`. */
static void random_instr(tg_program *program, tg_queue *queue, tg_unit unit, uint64_t seed, uint32_t kind,
                         uint32_t row, uint32_t position) {
  tg_instr *in = tg_queue_push(program, queue);
  state = seed;
  draw(2);
  random_fields(unit, in, 3);
  uint32_t place = kind == 1 ? row : kind == 2 ? position : kind == 3 ? 100 * row + position : 0;
  if (kind == 4) place = row == 1 && position == 1;
  if (kind == 5) place = (row + position) % 2;
  if (!place) return;
  state = seed + 1000 * place;
  draw(2);
  random_fields(unit, in, 40); /* a few fields of it */
}

static void random_queues(tg_program *program, tg_section *section, uint64_t seed) {
  const tg_params *m = &program->params;
  for (uint32_t u = 0; u < 3 + 2 * m->agcu_contexts; u++)
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
      state = seed + 31 * u + slot;
      draw(2);
      uint32_t kind = draw(6), missing = draw(3) ? 0 : 1 + draw(3);
      uint64_t own = seed ^ (uint64_t)(u * SLOTS + slot + 1) << 32;
      uint32_t first = u < 3         ? 0
                       : (u - 3) % 2 ? m->rows
                                     : 0,
               count = u < 3         ? tg_tiles(m)
                       : (u - 3) % 2 ? m->cols
                                     : m->rows;
      for (uint32_t i = 0; i < count; i++) {
        uint32_t row = u < 3   ? i / m->cols
                       : first ? TG_CONFIG_NORTH
                               : i,
                 position = u < 3   ? i % m->cols + 1
                            : first ? i + 1
                                    : 0;
        tg_tile_program *tile = &section->tiles[u < 3 ? i : 0];
        tg_queue *queue = u == 0   ? &tile->mx
                          : u == 1 ? &tile->vx
                          : u == 2 ? &tile->tx
                                   : &section->agcus[first + i].contexts[(u - 3) / 2];
        if (queue->count < slot) continue;
        if ((missing == 1 && position == 1) || (missing == 2 && row == 1) ||
            (missing == 3 && (row ^ position) & 1))
          continue;
        random_instr(program, queue, u < 3 ? (tg_unit)u : TG_AGCU, own, kind, row, position);
      }
    }
}

static void random_tables(tg_program *program, tg_section *section, uint64_t seed) {
  const tg_params *m = &program->params;
  state = seed;
  uint32_t shared = draw(3);
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    tg_tile_program *tile = &section->tiles[t];
    if (shared) state = seed + (shared == 1 ? 0 : t % m->cols);
    tile->word_count = draw(9);
    tile->words = TG_NEW_ARRAY(&program->arena, uint64_t, tile->word_count + 1);
    for (uint32_t i = 0; i < tile->word_count; i++) tile->words[i] = (uint64_t)draw(1 << 24) << 32 | draw(5);
    tile->constant_count = draw(m->vx_constants + 1);
    tile->constants = TG_NEW_ARRAY(&program->arena, uint32_t, tile->constant_count + 1);
    for (uint32_t i = 0; i < tile->constant_count; i++) tile->constants[i] = draw(9);
    for (uint32_t s = 0; s < m->semaphores; s++) tile->sem_init[s] = (uint8_t)(draw(9) ? 0 : draw(256));
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++)
    for (uint32_t s = 0; s < m->semaphores; s++)
      section->agcus[a].sem_init[s] = (uint8_t)(draw(29) ? 0 : draw(256));
}

/* ---- what takes them ---- */

static endpoint *at(endpoint *endpoints, const tg_params *m, uint32_t row, uint32_t position) {
  if (row == TG_CONFIG_NORTH)
    return position && position <= m->cols ? &endpoints[tg_tiles(m) + m->rows + position - 1] : NULL;
  if (row >= m->rows || position > m->cols) return NULL;
  return &endpoints[position ? row * m->cols + position - 1 : tg_tiles(m) + row];
}

/* Where the second plane begins: in slots of a queue, else in lanes. */
static uint32_t plane_of(const tg_params *m, uint8_t kind) {
  switch (kind) {
  case TG_CFG_INSTR: return tg_config_half(m->queue_depth);
  case TG_CFG_WORD: return 2 * tg_config_half(m->microcode_words);
  case TG_CFG_CONSTANT: return 64;
  case TG_CFG_BASES: return 32;
  case TG_CFG_KEYS: return 16;
  default: return 0;
  }
}

static void take(endpoint *e, const tg_params *m, const tg_config_word *w, uint32_t row, uint32_t position,
                 int plane) {
  uint32_t before = plane ? plane_of(m, w->kind) : 0, slot = w->slot - before,
           *lanes = w->kind == TG_CFG_INSTR ? e->queue[w->unit][slot] : e->table[w->kind] - before;
  if (w->kind == TG_CFG_INSTR) e->length[w->unit] = slot + 1u;
  if (w->clear) memset(lanes, 0, LANES * sizeof *lanes);
  if (w->scatter)
    lanes[w->lane] = w->data[(w->by_row ? row : position ? position - 1 : 0) % m->p];
  else
    memcpy(lanes + w->lane, w->data, tg_flit_bytes(m));
}

static void send(endpoint *endpoints, const tg_params *m, const tg_config_words *words, bool north,
                 int plane) {
  for (size_t i = 0; i < words->count; i++)
    for (uint32_t row = 0; row < TG_CONFIG_LINES; row++)
      for (uint32_t position = 0; position < TG_CONFIG_LINES; position++) {
        const tg_config_word *w = &words->words[i];
        endpoint *e = at(endpoints, m, row, position);
        bool on_line = (row == TG_CONFIG_NORTH) == north;
        if (e && on_line && w->rows >> row & 1 && w->positions >> position & 1)
          take(e, m, w, row, position, plane);
      }
}

static void expect_queue(const endpoint *e, uint32_t unit, tg_unit kind, const tg_queue *queue) {
  EXPECT_EQ(e->length[unit], queue->count);
  for (uint32_t i = 0; i < queue->count; i++) {
    uint64_t words[LANES / 2] = {0};
    uint32_t digits[TG_WALK_STEPS][3], bit = tg_unit_bits(TG_AGCU);
    tg_instr_encode(kind, &queue->instrs[i], words);
    if (kind == TG_AGCU && queue->instrs[i].common.op != TG_OP_sync) {
      tg_walk_steps(&queue->instrs[i].agcu, digits);
      for (int s = 0; s < TG_WALK_STEPS; s++)
        for (int d = 2; d >= 0; d--)
          for (int b = 0; b < (d ? 24 : 32); b++, bit++)
            words[bit / 64] |= (uint64_t)(digits[s][d] >> b & 1) << bit % 64;
    }
    EXPECT(!memcmp(words, e->queue[unit][i], sizeof words));
  }
}

static void expect_bytes(const void *held, const void *wanted, size_t bytes) {
  if (bytes) EXPECT(!memcmp(held, wanted, bytes));
}

static void expect_all(const endpoint *endpoints, const tg_program *program, const tg_section *section,
                       const uint64_t *bases, const uint32_t *keys) {
  const tg_params *m = &program->params;
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    const tg_tile_program *tile = &section->tiles[t];
    const endpoint *e = &endpoints[t];
    expect_queue(e, 0, TG_MX, &tile->mx);
    expect_queue(e, 1, TG_VX, &tile->vx);
    expect_queue(e, 2, TG_TX, &tile->tx);
    expect_bytes(e->table[TG_CFG_WORD], tile->words, 8u * tile->word_count);
    expect_bytes(e->table[TG_CFG_CONSTANT], tile->constants, 4u * tile->constant_count);
    expect_bytes(e->table[TG_CFG_SEMAPHORES], tile->sem_init, m->semaphores);
    for (uint32_t i = 0; i < tile->mx.count; i++)
      EXPECT_EQ(e->table[TG_CFG_KEYS][tile->mx.instrs[i].mx.sr_key], keys[tile->mx.instrs[i].mx.sr_key]);
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++) {
    const endpoint *e = &endpoints[tg_tiles(m) + a];
    for (uint32_t c = 0; c < m->agcu_contexts; c++) {
      const tg_queue *queue = &section->agcus[a].contexts[c];
      expect_queue(e, c, TG_AGCU, queue);
      for (uint32_t i = 0; i < queue->count; i++)
        if (queue->instrs[i].common.op != TG_OP_sync)
          expect_bytes(&e->table[TG_CFG_BASES][2 * queue->instrs[i].agcu.base],
                       &bases[queue->instrs[i].agcu.base], 8);
    }
    expect_bytes(e->table[TG_CFG_SEMAPHORES], section->agcus[a].sem_init, m->semaphores);
  }
}

static void random_section(const char *const *settings, uint64_t seed) {
  tg_params params;
  tg_diag diag = {""};
  tg_status status = tg_params_load("tiny", &params, &diag);
  for (; *settings && !status; settings++) status = tg_params_set(&params, *settings, &diag);
  EXPECT_STR(diag.message, "");
  tg_program *program = tg_program_create(&params);
  tg_section *section = tg_program_add_section(program, "s");
  random_queues(program, section, seed);
  random_tables(program, section, seed);
  uint64_t bases[TG_BASES];
  uint32_t keys[TG_BASES];
  for (int i = 0; i < TG_BASES; i++) {
    bases[i] = (uint64_t)draw(1 << 20) << 20;
    keys[i] = draw(1 << 20);
  }
  uint64_t words = tg_section_config_words(&params, section);
  tg_arena arena = {0};
  for (int plane = 0; plane <= tg_section_is_half(&params, section); plane++) {
    tg_config config = {.west.arena = &arena, .north.arena = &arena};
    tg_config_pack(&params, section, bases, keys, plane, &config);
    endpoint *endpoints = calloc(tg_tiles(&params) + tg_agcus(&params), sizeof *endpoints);
    send(endpoints, &params, &config.west, false, plane);
    send(endpoints, &params, &config.north, true, plane);
    expect_all(endpoints, program, section, bases, keys);
    EXPECT_EQ(words, config.west.count > config.north.count ? config.west.count : config.north.count);
    free(endpoints);
  }
  EXPECT_EQ(tg_config_cycles(&params, words, 0), words + 64);
  EXPECT_EQ(tg_config_cycles(&params, words, 1), words + 63);
  EXPECT_EQ(tg_config_cycles(&params, words, words + 1), 64);
  tg_arena_release(&arena);
  tg_program_destroy(program);
}

TG_TEST(config, takers_have_what_the_section_gives) {
  static const char *const arrays[][6] = {
      {"config_cycles=64", NULL},
      {"config_cycles=64", "rows=1", "cols=1", "p=2", "agcu_contexts=3", NULL},
      {"config_cycles=64", "rows=3", "cols=5", "p=2", "semaphores=40", NULL},
      {"config_cycles=64", "rows=4", "cols=4", "p=8", NULL},
      {"config_cycles=64", "rows=16", "cols=16", "p=16", "semaphores=256", NULL},
      {"config_cycles=64", "rows=16", "cols=3", "p=8", NULL},
      {"config_cycles=64", "rows=2", "cols=16", "p=4", "agcu_contexts=8", NULL},
  };
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
    for (uint64_t seed = 1; seed < 9; seed++) random_section(arrays[a], seed);
}

/* Of an array of tiny's, one thing each that a section takes as much of as half of its memory has, or one more. */
static bool is_half(uint32_t slots, uint32_t context_slots, uint32_t words, int64_t base, int64_t key) {
  tg_params params;
  EXPECT(!tg_params_load("tiny", &params, NULL));
  tg_program *program = tg_program_create(&params);
  tg_section *section = tg_program_add_section(program, "s");
  tg_tile_program *tile = &section->tiles[3];
  for (uint32_t i = 0; i < slots; i++) tg_queue_push(program, &tile->vx)->common.op = TG_OP_sync;
  for (uint32_t i = 0; i < context_slots; i++)
    tg_queue_push(program, &section->agcus[2].contexts[3])->common.op = TG_OP_sync;
  tile->word_count = words;
  tile->words = TG_NEW_ARRAY(&program->arena, uint64_t, words + 1);
  tile->constant_count = params.vx_constants;
  tile->constants = TG_NEW_ARRAY(&program->arena, uint32_t, params.vx_constants);
  tg_instr *load = tg_queue_push(program, &section->agcus[0].contexts[0]);
  load->common.op = TG_OP_agcu_load;
  load->agcu.base = base;
  tg_instr *gemm = tg_queue_push(program, &tile->mx);
  gemm->common.op = TG_OP_mx_gemm;
  gemm->mx.sr_key = key;
  bool half = tg_section_is_half(&params, section);
  tg_program_destroy(program);
  return half;
}

TG_TEST(config, sections_of_half_a_memory) {
  EXPECT(is_half(16, 16, 128, 15, 15));
  EXPECT(!is_half(17, 16, 128, 15, 15));
  EXPECT(!is_half(16, 17, 128, 15, 15));
  EXPECT(!is_half(16, 16, 129, 15, 15));
  EXPECT(!is_half(16, 16, 128, 16, 15));
  EXPECT(!is_half(16, 16, 128, 15, 16));
  const uint32_t half[][2] = {{2, 1},   {3, 1},   {4, 2},     {7, 2},     {8, 4},
                              {32, 16}, {48, 16}, {256, 128}, {1024, 512}};
  for (size_t i = 0; i < sizeof half / sizeof *half; i++) EXPECT_EQ(tg_config_half(half[i][0]), half[i][1]);
}
