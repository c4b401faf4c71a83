/* Every chain has banks, store rows, semaphores and DRAM of its own, and comes before the later chains in
 * every queue that it uses, at most once in each: so no two accesses conflict, and nothing can wait in a
 * circle. */
#include "tests/sim/random_fabric.h"
#include "sim/machine/numerics.h"
#include "sim/machine/walk.h"

#include <string.h>

enum {
  INDICES = 1024,        /* words, at address 0 */
  LOAD_BASE = 512 << 10, /* LOADs reach less than 500 KB both ways */
  STORE_BASE = 1 << 20,
  STORE_REGION = 16 << 10, /* of a chain's STORE */
  STORE_REGIONS = 32,
  MAX_ENDPOINTS = 64,
  MAX_CONTEXTS = 8,
  MAX_FLITS = 100
};

typedef struct gen {
  tg_program *program;
  const tg_params *m;
  tg_section *section;
  uint64_t state;
  uint32_t chain, stores, sections;
  bool indexed; /* most chains bring indices to an AGCU, which stores by them, in several iterations */
  uint32_t outer, inner; /* iterations of the queues (level 0), of each instruction (level 2) */
  uint32_t semaphore[MAX_ENDPOINTS], bank[MAX_ENDPOINTS], store_row[MAX_ENDPOINTS]; /* next free ones */
  uint32_t used[MAX_ENDPOINTS]
               [MAX_CONTEXTS]; /* last chain with an instruction in a queue (tx: context 0), plus one */
} gen;

/* Where flits of a hop lie at each destination, and how the producer learns that they were consumed. */
typedef struct hop {
  uint32_t flits, row, inner, stride, buffers;
  uint32_t semaphore; /* at each destination */
  uint32_t producer_position, credit_base;
  bool row_lane;
} hop;

static uint32_t rnd(gen *g, uint32_t below) {
  g->state = g->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((g->state >> 33) % below);
}
static int64_t between(gen *g, int64_t low, int64_t high) {
  return low + (int64_t)rnd(g, (uint32_t)(high - low + 1));
}
static bool chance(gen *g, uint32_t percent) { return rnd(g, 100) < percent; }

static bool is_tile(const gen *g, uint32_t endpoint) { return endpoint < tg_tiles(g->m); }
static uint32_t position(const gen *g, uint32_t endpoint, bool row) {
  if (!is_tile(g, endpoint)) return 0;
  return (row ? endpoint % g->m->cols : endpoint / g->m->cols) + 1;
}
/* The endpoint at a position of the row or column of `from`. */
static uint32_t at_position(const gen *g, uint32_t from, bool row, uint32_t pos) {
  uint32_t tiles = tg_tiles(g->m), line; /* the row's or column's number */
  if (is_tile(g, from))
    line = row ? from / g->m->cols : from % g->m->cols;
  else
    line = row ? from - tiles : from - tiles - g->m->rows;
  if (!pos) return tiles + (row ? line : g->m->rows + line);
  return row ? line * g->m->cols + pos - 1 : (pos - 1) * g->m->cols + line;
}

static uint8_t *sem_init(gen *g, uint32_t endpoint) {
  return is_tile(g, endpoint) ? g->section->tiles[endpoint].sem_init
                              : g->section->agcus[endpoint - tg_tiles(g->m)].sem_init;
}

static void add_loops(gen *g, tg_queue *queue, tg_common_instr *in) {
  if (g->inner > 1) {
    in->loop_count[2] = g->inner;
    in->loop_begin[2] = queue->count - 1;
  }
}

/* Waits for the data of `before` and gives the buffer back at the end. */
static void consume(gen *g, tg_common_instr *in, uint32_t endpoint, const hop *before) {
  in->wait_on[0] = 1;
  in->wait_sem[0] = before->semaphore;
  in->post_kind[0] = before->row_lane ? TG_POST_ROW : TG_POST_COL;
  in->post_pos[0] = before->producer_position;
  in->post_sem[0] = before->credit_base + position(g, endpoint, before->row_lane);
}

/* A wait that only the first inner iteration makes, and a post that only the last one makes, to a SYNC of
 * vx. */
static void add_first_and_last(gen *g, tg_common_instr *in, uint32_t tile) {
  if (!chance(g, 40) || g->semaphore[tile] + 2 > g->m->semaphores) return;
  tg_queue *vx = &g->section->tiles[tile].vx;
  if (vx->count >= g->m->queue_depth) return;
  uint32_t first = g->semaphore[tile]++, last = g->semaphore[tile]++;
  in->wait_on[2] = in->wait_first[2] = 1;
  in->wait_sem[2] = first;
  sem_init(g, tile)[first] = (uint8_t)g->outer;
  in->post_kind[3] = TG_POST_LOCAL;
  in->post_sem[3] = last;
  in->post_last[3] = 1;
  tg_common_instr *sync = &tg_queue_push(g->program, vx)->common;
  sync->wait_on[3] = 1;
  sync->wait_sem[3] = last;
}

/* Room at the destinations of a hop: the same rows and semaphore number at all of them. */
static bool allocate(gen *g, hop *h, uint32_t from, uint32_t mask, bool to_agcu) {
  uint32_t semaphore = 0, place = 0;
  for (uint32_t pos = 0; pos < 17; pos++) {
    if (!(mask >> pos & 1)) continue;
    uint32_t to = at_position(g, from, h->row_lane, pos), next = to_agcu ? g->store_row[to] : g->bank[to];
    if (g->semaphore[to] > semaphore) semaphore = g->semaphore[to];
    if (next > place) place = next;
  }
  uint32_t bank_rows = tg_bank_rows(g->m), positions = (h->row_lane ? g->m->cols : g->m->rows) + 1;
  h->buffers = g->inner > 1 || chance(g, 60) ? 1 : 2;
  if (g->outer > 1 && g->inner > 1) h->buffers = 2; /* one for each outer iteration in turn */
  h->semaphore = semaphore;
  h->credit_base = g->semaphore[from];
  if (semaphore >= g->m->semaphores || h->credit_base + positions > g->m->semaphores) return false;
  if (to_agcu) {
    if (place + h->flits * h->buffers > tg_store_rows(g->m)) return false;
    h->row = place;
    h->inner = h->stride = h->flits;
  } else {
    if (place + h->buffers > g->m->banks || h->flits > bank_rows) return false;
    h->inner = 1 + rnd(g, h->flits);
    if ((h->flits + h->inner - 1) / h->inner * h->inner > bank_rows)
      h->inner = h->flits; /* the last run is whole */
    uint32_t runs = (h->flits + h->inner - 1) / h->inner;
    h->stride = h->inner + (runs > 1 ? rnd(g, (bank_rows - h->inner) / (runs - 1) - h->inner + 1) : 0);
    h->row = place * bank_rows + rnd(g, bank_rows - ((runs - 1) * h->stride + h->inner) + 1);
  }
  g->semaphore[from] += positions;
  for (uint32_t pos = 0; pos < 17; pos++) {
    if (!(mask >> pos & 1)) continue;
    uint32_t to = at_position(g, from, h->row_lane, pos);
    if (g->semaphore[to] <= semaphore) g->semaphore[to] = semaphore + 1;
    if (to_agcu)
      g->store_row[to] = place + h->flits * h->buffers;
    else
      g->bank[to] = place + h->buffers;
  }
  return true;
}

static uint32_t buffer_stride(const gen *g, const hop *h, bool to_agcu) {
  return to_agcu ? h->flits : tg_bank_rows(g->m);
}
static void set_operand(tg_row_operand *o, const gen *g, const hop *h, bool store_memory) {
  o->base = h->row;
  o->rot_count = h->buffers;
  o->rot_stride = buffer_stride(g, h, store_memory);
  o->rot_outer = g->inner > 1;
}

/* ---- walks ---- */

static void random_load_walk(gen *g, tg_agcu_instr *in) {
  in->convert = rnd(g, TG_CVT_COUNT);
  int64_t z = tg_convert_memory_bytes(in->convert);
  uint32_t elements = tg_flit_bytes(g->m) / tg_convert_chip_bytes(in->convert);
  in->offset = LOAD_BASE + z * between(g, -50, 50);
  for (int l = 0; l < TG_LEVELS; l++) {
    in->offset_delta[l] = z * between(g, -40, 40);
    in->m_delta[l] = rnd(g, 4);
    in->k_delta[l] = rnd(g, 4);
  }
  in->take = 1 + rnd(g, 3 * elements);
  uint32_t row_flits = ((uint32_t)in->take + elements - 1) / elements;
  in->rows = 1 + rnd(g, MAX_FLITS / row_flits);
  for (int d = 0; d < 3; d++) {
    in->m_radix[d] = 1 + rnd(g, 6);
    in->k_radix[d] = 1 + rnd(g, d == 2 ? 40 : 4);
    in->stride[d] = z * between(g, -200, 200);
    in->stride[3 + d] = z * between(g, -200, 200);
  }
  if (chance(g, 40)) in->k_radix[2] = in->take;
  in->m_first = rnd(g, 10);
  in->k_first = rnd(g, 20);
  if (chance(g, 70)) in->stride[5] = z;
  for (int d = 0; d < 6; d++) {
    in->y_inc[d] = between(g, -2, 2);
    in->x_inc[d] = between(g, -2, 2);
  }
  if (chance(g, 80)) in->y_inc[5] = 0;
  if (chance(g, 80)) in->x_inc[5] = rnd(g, 2);
  in->y_org = between(g, -3, 6);
  in->x_org = between(g, -6, 10);
  in->y_size = 1 + rnd(g, 20);
  in->x_size = 1 + rnd(g, 40);
  if (chance(g, 10)) { /* near the largest coordinates: nothing is left of them */
    in->y_org += 1 << 30;
    in->y_size += 1 << 30;
    in->x_org += 1 << 30;
    in->x_size += 1 << 30;
  }
  in->fill = rnd(g, tg_convert_chip_bytes(in->convert) == 4 ? 1u << 31 : 1u << 16);
}

/* Words of the tensor of indices, as they are. */
static void walk_of_indices(gen *g, tg_agcu_instr *in) {
  in->offset = 4 * rnd(g, INDICES / 4);
  in->take = 1 + rnd(g, 3 * g->m->p);
  in->rows = 1 + rnd(g, 6);
  for (int d = 0; d < 3; d++) in->m_radix[d] = in->k_radix[d] = d == 2 ? 1 << 20 : 1;
  in->stride[2] = 4 * in->take;
  in->stride[5] = 4;
  in->y_size = in->x_size = 1;
  in->m_delta[0] = rnd(g, 2);
}

/* The rows' indices are words among the hop's flits. */
static void choose_by_index(gen *g, tg_agcu_instr *in, const hop *indices, int64_t table_bytes) {
  uint32_t words = indices->flits * g->m->p;
  tg_row_operand *o = &in->index;
  *o = (tg_row_operand){.rot_count = indices->buffers, .rot_outer = g->inner > 1};
  uint32_t spare = words - (uint32_t)in->rows;
  o->rot_stride = words;
  if (indices->buffers == 1 && spare && chance(g, 50)) { /* each execution has others of the same words */
    o->rot_count = 2 + rnd(g, 2);
    o->rot_stride = rnd(g, spare / (uint32_t)(o->rot_count - 1) + 1);
    spare -= (uint32_t)((o->rot_count - 1) * o->rot_stride);
  }
  o->base = indices->row * g->m->p + rnd(g, spare + 1);
  in->index_stride = 2 * between(g, 0, 300);
  in->index_size = 1 + rnd(g, 40);
  while (in->index_size * in->index_stride > table_bytes) in->index_size--;
}

/* `flits` flits into rows of a table that fills the chain's region. */
static void random_scatter_walk(gen *g, tg_agcu_instr *in, const hop *before) {
  in->convert = rnd(g, 2);
  int64_t z = in->convert == TG_CVT_32 ? 4 : 2;
  uint32_t elements = tg_flit_bytes(g->m) / (uint32_t)z, row_flits = 1 + rnd(g, 3);
  while (before->flits % row_flits) row_flits--;
  in->rows = before->flits / row_flits;
  in->take = row_flits * elements - rnd(g, elements);
  int64_t run = 1 + rnd(g, (uint32_t)in->take), gap = z * rnd(g, 4);
  in->m_radix[0] = in->m_radix[1] = in->k_radix[1] = 1;
  in->m_radix[2] = 1 + rnd(g, (uint32_t)in->rows + 3); /* perhaps less than there are: some are not there */
  in->m_first = rnd(g, 2);
  in->k_radix[0] = (in->take + run - 1) / run;
  in->k_radix[2] = run;
  in->stride[2] = z * rnd(g, 3);
  in->stride[3] = run * z + gap;
  in->stride[5] = z;
  in->x_inc[5] = rnd(g, 2);
  in->y_size = 1;
  in->x_size = 1 + rnd(g, (uint32_t)run);
  in->offset = STORE_BASE + (int64_t)STORE_REGION * g->stores++;
  choose_by_index(g, in, before,
                  STORE_REGION - in->k_radix[0] * in->stride[3] - in->m_radix[2] * in->stride[2]);
}

/* `flits` flits into the chain's region; nothing that lands there is read again. */
static void random_store_walk(gen *g, tg_agcu_instr *in, uint32_t flits) {
  in->convert = rnd(g, 2);
  int64_t z = in->convert == TG_CVT_32 ? 4 : 2;
  uint32_t elements = tg_flit_bytes(g->m) / (uint32_t)z, row_flits = 1 + rnd(g, 3);
  while (flits % row_flits) row_flits--;
  in->rows = flits / row_flits;
  in->take = row_flits * elements - rnd(g, elements);
  int64_t gap = rnd(g, 4), step = chance(g, 70) ? 1 : 2, run = 1 + rnd(g, (uint32_t)in->take);
  in->k_radix[0] = 1000;
  in->k_radix[1] = 1;
  in->k_radix[2] = run;
  in->m_radix[0] = 1000;
  in->m_radix[1] = 2;
  in->m_radix[2] = 1 + rnd(g, 5);
  in->stride[5] = step * z;
  in->stride[3] = run * step * z + gap * z;
  in->stride[2] = in->take * z;
  in->stride[1] = in->stride[2] * in->m_radix[2];
  in->stride[0] = 2 * in->stride[1];
  in->y_inc[1] = 1;
  in->x_inc[5] = rnd(g, 2);
  in->x_inc[3] = rnd(g, 2);
  in->y_size = 1 + rnd(g, 2);
  in->x_size = 1 + rnd(g, 30);
  in->x_org = between(g, -3, 3);
  in->offset = STORE_BASE + (int64_t)STORE_REGION * g->stores++;
}

/* ---- chains ---- */

static void hand_over(gen *g, uint32_t endpoint, const hop *before, uint32_t depth);

static bool take_queue(gen *g, uint32_t endpoint, uint32_t context, const tg_queue *queue) {
  if (g->used[endpoint][context] == g->chain + 1 || queue->count >= g->m->queue_depth) return false;
  g->used[endpoint][context] = g->chain + 1;
  return true;
}

static bool store(gen *g, uint32_t endpoint, const hop *before) {
  tg_agcu_program *agcu = &g->section->agcus[endpoint - tg_tiles(g->m)];
  uint32_t context = rnd(g, g->m->agcu_contexts);
  tg_queue *queue = &agcu->contexts[context];
  if (g->stores >= STORE_REGIONS || !take_queue(g, endpoint, context, queue)) return false;
  tg_agcu_instr *in = &tg_queue_push(g->program, queue)->agcu;
  in->op = TG_OP_agcu_store;
  if (chance(g, g->indexed ? 90 : 50))
    random_scatter_walk(g, in, before);
  else
    random_store_walk(g, in, before->flits);
  set_operand(&in->src, g, before, true);
  consume(g, &in->common, endpoint, before);
  add_loops(g, queue, (tg_common_instr *)(void *)in);
  return true;
}

/* Fields that SEND and LOAD share: destinations and credits. Then the consumers at the destinations. */
static void send_to(gen *g, tg_common_instr *common, uint32_t from, const hop *h, uint32_t mask,
                    uint32_t depth) {
  common->credit_base = h->credit_base;
  for (uint32_t pos = 0; pos < 17; pos++) {
    if (!(mask >> pos & 1)) continue;
    uint32_t to = at_position(g, from, h->row_lane, pos), before = 0, after = 0;
    for (uint32_t c = 0; c < MAX_CONTEXTS; c++) before += g->used[to][c] == g->chain + 1;
    hand_over(g, to, h, depth);
    for (uint32_t c = 0; c < MAX_CONTEXTS; c++) after += g->used[to][c] == g->chain + 1;
    if (after == before) continue; /* nobody consumes there: no buffer comes back */
    common->credit_mask |= 1 << pos;
    sem_init(g, from)[h->credit_base + pos] = g->inner > 1 ? 1 : (uint8_t)h->buffers;
  }
}

static void send(gen *g, uint32_t tile, const hop *before, uint32_t depth) {
  tg_queue *queue = &g->section->tiles[tile].tx;
  uint32_t dir = g->indexed ? (chance(g, 50) ? TG_DIR_WEST : TG_DIR_NORTH) : rnd(g, 4);
  bool row = dir == TG_DIR_EAST || dir == TG_DIR_WEST, up = dir == TG_DIR_EAST || dir == TG_DIR_SOUTH;
  uint32_t own = position(g, tile, row), last = row ? g->m->cols : g->m->rows, mask = 0;
  bool to_agcu = !up && (own == 1 || chance(g, g->indexed ? 90 : 50));
  if (to_agcu)
    mask = 1;
  else
    for (uint32_t pos = up ? own + 1 : 1; pos <= (up ? last : own - 1); pos++) mask |= chance(g, 60) << pos;
  hop h = {.flits = before->flits, .row_lane = row, .producer_position = own};
  if (!mask || !allocate(g, &h, tile, mask, to_agcu) || !take_queue(g, tile, 0, queue)) return;
  uint32_t pc = queue->count;
  tg_tx_instr in = {.op = TG_OP_tx_send,
                    .dir = dir,
                    .flits = h.flits,
                    .src_inner = before->inner,
                    .src_stride = before->stride,
                    .dst_inner = h.inner,
                    .dst_stride = h.stride,
                    .dst_mask = mask,
                    .dst_post = 1,
                    .dst_sem = h.semaphore};
  tg_queue_push(g->program, queue);
  set_operand(&in.src, g, before, false);
  set_operand(&in.dst, g, &h, to_agcu);
  tg_common_instr *common = &in.common;
  consume(g, common, tile, before);
  add_loops(g, queue, common);
  if (g->inner > 1) add_first_and_last(g, common, tile);
  send_to(g, common, tile, &h, mask, depth + 1);
  queue->instrs[pc].tx = in;
}

/* A SYNC of mx that only gives the buffer back. */
static void swallow(gen *g, uint32_t tile, const hop *before) {
  tg_queue *queue = &g->section->tiles[tile].mx;
  if (!take_queue(g, tile, 1, queue)) return;
  tg_common_instr *in = &tg_queue_push(g->program, queue)->common;
  consume(g, in, tile, before);
  add_loops(g, queue, in);
}

/* A LOAD, of rows that `indices` choose if there are any: these have come to the AGCU. */
static bool load(gen *g, uint32_t endpoint, const hop *indices, uint32_t depth) {
  uint32_t agcu = endpoint - tg_tiles(g->m), context = rnd(g, g->m->agcu_contexts), mask = 0;
  tg_queue *queue = &g->section->agcus[agcu].contexts[context];
  bool row = tg_is_west(g->m, agcu);
  for (uint32_t pos = 1; pos <= (row ? g->m->cols : g->m->rows); pos++) mask |= chance(g, 60) << pos;
  tg_agcu_instr in = {.op = TG_OP_agcu_load};
  if (!indices && chance(g, g->indexed ? 90 : 40))
    walk_of_indices(g, &in);
  else
    random_load_walk(g, &in);
  if (indices) {
    if (in.rows > indices->flits * g->m->p) in.rows = indices->flits * g->m->p;
    choose_by_index(g, &in, indices, INT32_MAX);
  }
  uint32_t elements = tg_flit_bytes(g->m) / tg_convert_chip_bytes(in.convert);
  hop h = {.flits = (uint32_t)in.rows * (((uint32_t)in.take + elements - 1) / elements), .row_lane = row};
  if (!mask || !allocate(g, &h, endpoint, mask, false) || !take_queue(g, endpoint, context, queue))
    return false;
  uint32_t pc = queue->count;
  tg_queue_push(g->program, queue);
  set_operand(&in.dst, g, &h, false);
  in.dst_inner = h.inner;
  in.dst_stride = h.stride;
  in.dst_mask = mask;
  in.dst_post = 1;
  in.dst_sem = h.semaphore;
  tg_common_instr *common = &in.common;
  if (indices) consume(g, common, endpoint, indices);
  add_loops(g, queue, common);
  send_to(g, common, endpoint, &h, mask, depth);
  queue->instrs[pc].agcu = in;
  return true;
}

static void hand_over(gen *g, uint32_t endpoint, const hop *before, uint32_t depth) {
  if (!is_tile(g, endpoint)) {
    if (depth > 3 || chance(g, 40) || !load(g, endpoint, before, depth + 1)) store(g, endpoint, before);
  } else if (depth < 4 && chance(g, 80)) {
    send(g, endpoint, before, depth);
  } else if (chance(g, 50)) {
    swallow(g, endpoint, before);
  }
}

static void close_queue(gen *g, tg_queue *queue) {
  if (!queue->count || g->outer == 1) return;
  queue->instrs[queue->count - 1].common.loop_count[0] = g->outer; /* loop_begin is 0 */
}

static void random_section(gen *g) {
  g->section = tg_program_add_section(g->program, "random");
  memset(g->semaphore, 0, sizeof g->semaphore);
  memset(g->bank, 0, sizeof g->bank);
  memset(g->store_row, 0, sizeof g->store_row);
  memset(g->used, 0, sizeof g->used);
  g->indexed = chance(g, 25);
  g->outer = g->indexed ? 2 + rnd(g, 3) : 1 + rnd(g, 4);
  g->inner = chance(g, g->indexed ? 80 : 50) ? 1 : 2 + rnd(g, 3);
  uint32_t chains = 1 + rnd(g, 8);
  for (g->chain = 0; g->chain < chains; g->chain++) load(g, tg_tiles(g->m) + rnd(g, tg_agcus(g->m)), NULL, 0);
  for (uint32_t t = 0; t < tg_tiles(g->m); t++) {
    close_queue(g, &g->section->tiles[t].mx);
    close_queue(g, &g->section->tiles[t].vx);
    close_queue(g, &g->section->tiles[t].tx);
  }
  for (uint32_t a = 0; a < tg_agcus(g->m); a++)
    for (uint32_t c = 0; c < g->m->agcu_contexts; c++) close_queue(g, &g->section->agcus[a].contexts[c]);
}

/* Whole numbers on both sides of 0, some numbers between, and what is no index at all. */
static void add_indices(gen *g) {
  static const uint32_t others[] = {0x7FC00000, 0xFF800000, 0x7F800000, 0x80000000, 0x00000001,
                                    0x4B800000, 0xCB800000, 0x4C000000, 0x3F7FFFFF, 0xBF000000};
  tg_dram_tensor *tensor = tg_program_add_tensor(g->program);
  uint32_t *words = TG_NEW_ARRAY(&g->program->arena, uint32_t, INDICES);
  for (int i = 0; i < INDICES; i++) {
    words[i] = tg_f32_bits((float)between(g, -90, 90) / (chance(g, 10) ? 4.0f : 2.0f));
    if (chance(g, 60)) words[i] = tg_f32_bits((float)between(g, -20, 40));
    if (chance(g, 10)) words[i] = others[rnd(g, sizeof others / sizeof *others)];
  }
  *tensor = (tg_dram_tensor){.name = "indices",
                             .role = TG_ROLE_CONSTANT,
                             .storage = TG_STORE_FP32,
                             .rank = 1,
                             .dims = {INDICES},
                             .bytes = sizeof *words * INDICES,
                             .data = (const uint8_t *)words};
}

tg_program *random_fabric(const tg_params *params, uint32_t seed) {
  gen g = {.program = tg_program_create(params), .m = params, .state = seed * 2654435761u + 1};
  g.program->dram_bytes = STORE_BASE + STORE_REGIONS * STORE_REGION;
  add_indices(&g);
  uint32_t sections = 1 + rnd(&g, 2);
  for (uint32_t s = 0; s < sections; s++) random_section(&g);
  uint32_t invocations = sections + rnd(&g, 2);
  for (uint32_t i = 0; i < invocations; i++) {
    tg_invocation *invocation = tg_program_add_invocation(g.program);
    invocation->name = "i";
    invocation->section = rnd(&g, sections);
    invocation->bases[0] = 0;
  }
  return g.program;
}
