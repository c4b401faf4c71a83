/* Operands lie around the borders of two banks each, so that they span one or two; accumulator blocks at multiples of `step`
 * rows, as machine.md asks of those that follow each other. */
#include "tests/sim/random_mx.h"
#include "sim/machine/mx_shape.h"

#include <string.h>

enum {
  AROUND = 40,     /* rows of an operand on either side of a border */
  DATA = 64 << 10, /* where the results go; the operands are at 0 */
  MOST_GEMMS = 12, /* of a tile */
  MOST_REPEATS = 3,
  TRIES = 200,   /* to place operands */
  ARRIVED = 0,   /* semaphores of a tile: its operands are there; */
  COMPUTED = 1,  /* its GEMMs have ended; */
  COLLECTED = 2, /* its accumulators are in banks */
  FIRST_HANDSHAKE = 3
};

typedef struct gen {
  tg_program *program;
  const tg_params *m;
  uint64_t state;
  uint32_t step; /* rows from one accumulator block to the next, of two in each half */
} gen;

static uint32_t rnd(gen *g, uint32_t below) {
  g->state = g->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((g->state >> 33) % below);
}
static int64_t between(gen *g, int64_t low, int64_t high) {
  return low + (int64_t)rnd(g, (uint32_t)(high - low + 1));
}
static bool chance(gen *g, uint32_t percent) { return rnd(g, 100) < percent; }

/* Of sum_l i_l * stride_l over `loops` loops, added to what is there. */
static void extend(const int64_t *counts, const int64_t *strides, int loops, int64_t *low, int64_t *high) {
  for (int l = 0; l < loops; l++) {
    int64_t reach = (counts[l] - 1) * strides[l];
    *(reach < 0 ? low : high) += reach;
  }
}

/* Places rows low..high around the border between banks `bank` and `bank` + 1; false if they do not fit. Where the instruction is
 * repeated its address goes on, by an index or a rotation. */
static bool place(gen *g, tg_row_operand *at, int64_t *out_banks, uint32_t bank, int64_t low, int64_t high) {
  int64_t repeats[] = {MOST_REPEATS}, rotations[] = {1 + rnd(g, 3)}, first = 0, last = 0;
  at->delta[2] = chance(g, 50) ? between(g, -3, 3) : 0;
  at->rot_count = rotations[0];
  at->rot_stride = between(g, -3, 3);
  at->rot_outer = chance(g, 20);
  extend(repeats, &at->delta[2], 1, &first, &last);
  extend(rotations, &at->rot_stride, 1, &first, &last);
  int64_t bank_rows = tg_bank_rows(g->m), room = 2 * AROUND - (high + last - low - first);
  if (room <= 0) return false;
  at->base = (bank + 1) * bank_rows - AROUND - low - first + rnd(g, (uint32_t)room);
  /* The banks are counted from that of the address. */
  if ((at->base + first + low) / bank_rows != (at->base + last) / bank_rows) return false;
  *out_banks = (at->base + last + high) / bank_rows - (at->base + first) / bank_rows + 1;
  return true;
}

static void draw_shape(gen *g, tg_mx_instr *in) {
  in->m_count[0] = 1 + rnd(g, 3);
  in->m_count[1] = 1 + rnd(g, g->step / (uint32_t)in->m_count[0]);
  if (chance(g, 50)) in->m_count[0] = 1;
  for (int l = 0; l < 4; l++) {
    in->blk_count[l] = chance(g, 75) ? 1 : 1 + rnd(g, 3);
    in->a_blk[l] = between(g, -6, 6);
    in->b_blk[l] = between(g, -6, 6);
    in->h_blk[l] = rnd(g, 2);
    in->sr_col_blk[l] = rnd(g, 65536);
  }
  int l = (int)rnd(g, 4); /* along one loop at most the accumulator rows change */
  in->c_blk[l] = in->blk_count[l] == 2 ? g->step : 0;
  in->a_m[0] = between(g, -4, 4);
  in->a_m[1] = between(g, -2, 2);
  in->b_row = between(g, -2, 2);
  in->k_loops = rnd(g, 16);
  in->b_transposed = rnd(g, 2);
  in->col_half = rnd(g, 2);
}

static void draw_values(gen *g, tg_mx_instr *in, uint32_t s) {
  in->init = rnd(g, 2);
  in->init_levels = rnd(g, 8);
  in->k_chunk = chance(g, 30) ? 1 << 20 : rnd(g, 4 * s);
  in->k_total = rnd(g, 12 * s);
  in->sr = chance(g, 30);
  in->sr_k = 1 + rnd(g, chance(g, 50) ? s : 4 * s);
  in->sr_end = rnd(g, 2);
  in->sr_end_last = rnd(g, 2);
  in->sr_transposed = rnd(g, 2);
  int64_t most = s;
  for (int l = 0; l < 4; l++)
    if (in->k_loops >> l & 1) most *= in->blk_count[l];
  if (in->sr && in->k_chunk > most) in->k_chunk = most;
  in->sr_key = rnd(g, TG_BASES);
  in->sr_tile = rnd(g, 1 << 24);
  in->sr_row = rnd(g, 1u << 31);
  in->sr_row_skip = chance(g, 50) ? rnd(g, 1u << 31) : 0;
  in->sr_col = rnd(g, 1u << 31);
  for (int l = 0; l < TG_LEVELS; l++) {
    in->k_delta[l] = rnd(g, 3 * s);
    in->sr_tile_delta[l] = rnd(g, 1 << 24);
    in->sr_row_delta[l] = rnd(g, 1u << 31);
    in->sr_col_delta[l] = rnd(g, 1u << 31);
  }
}

static bool place_operands(gen *g, tg_mx_instr *in) {
  int64_t s = tg_mx_stationary(g->m, in->format), beats = tg_mx_beats(in->format), low = 0, high = beats - 1;
  const int64_t groups[] = {tg_div_up(in->m_count[0] * in->m_count[1], s), s}, rows[] = {s};
  extend(in->blk_count, in->a_blk, 4, &low, &high);
  extend(in->a_transposed ? groups : in->m_count, in->a_m, 2, &low, &high);
  if (!place(g, &in->a, &in->a_banks, 0, low, high)) return false;
  low = 0, high = beats - 1;
  extend(in->blk_count, in->b_blk, 4, &low, &high);
  extend(rows, &in->b_row, 1, &low, &high);
  if (!place(g, &in->b, &in->b_banks, 2, low, high)) return false;
  int64_t moves = in->c_blk[0] + in->c_blk[1] + in->c_blk[2] + in->c_blk[3];
  in->c.base = (moves ? 0 : rnd(g, 2) * g->step) + rnd(g, 2) * tg_acc_rows(g->m);
  return true;
}

static tg_mx_instr draw_gemm(gen *g, int64_t format, int64_t transposed) {
  for (int i = 0; i < TRIES; i++) {
    tg_mx_instr in = {.op = TG_OP_mx_gemm, .format = format, .a_transposed = transposed};
    draw_shape(g, &in);
    draw_values(g, &in, tg_mx_stationary(g->m, format));
    if (place_operands(g, &in)) return in;
  }
  tg_mx_instr smallest = {
      .op = TG_OP_mx_gemm, .format = format, .m_count = {1, 1}, .blk_count = {1, 1, 1, 1}};
  place_operands(g, &smallest);
  return smallest;
}

/* The instruction at the end of the queue is executed some times; what it waits for comes once, and so does its post. */
static void repeat(gen *g, tg_queue *queue, tg_common_instr *in) {
  in->wait_first[0] = in->post_last[0] = 1;
  in->loop_count[2] = 1 + rnd(g, MOST_REPEATS);
  in->loop_begin[2] = queue->count - 1;
}

/* mx goes on, with the instruction that comes next, when vx has seen the one before it end. */
static void shake_hands(gen *g, tg_tile_program *tile, tg_common_instr *before, uint32_t semaphore) {
  before->post_kind[0] = TG_POST_LOCAL;
  before->post_sem[0] = semaphore;
  tg_common_instr *sync = &tg_queue_push(g->program, &tile->vx)->common;
  sync->wait_on[0] = 1;
  sync->wait_sem[0] = semaphore;
  sync->post_kind[0] = TG_POST_LOCAL;
  sync->post_sem[0] = semaphore + 1;
}

static void add_gemms(gen *g, tg_tile_program *tile) {
  int64_t format = rnd(g, 4), transposed = rnd(g, 2);
  uint32_t gemms = 3 + rnd(g, MOST_GEMMS - 3), awaited = ARRIVED, semaphore = FIRST_HANDSHAKE;
  bool waits = true;
  for (uint32_t i = 0; i < gemms; i++) {
    if (chance(g, 60)) format = rnd(g, 4);
    if (chance(g, 30)) transposed = rnd(g, 2);
    tg_mx_instr in = {.op = TG_OP_sync};
    if (i + 1 == gemms || chance(g, 85)) in = draw_gemm(g, format, transposed);
    tg_mx_instr *gemm = &tg_queue_push(g->program, &tile->mx)->mx;
    *gemm = in;
    if (waits) {
      gemm->common.wait_on[0] = 1;
      gemm->common.wait_sem[0] = awaited;
    }
    waits = false;
    if (i + 1 == gemms) {
      gemm->common.post_kind[0] = TG_POST_LOCAL;
      gemm->common.post_sem[0] = COMPUTED;
    } else if (chance(g, 15)) {
      shake_hands(g, tile, &gemm->common, semaphore);
      waits = true;
      awaited = semaphore + 1;
      semaphore += 2;
    }
    if (chance(g, 30)) repeat(g, &tile->mx, &gemm->common);
  }
}

/* Both accumulator blocks of both halves, into banks from bank 4 on, as FP32: from there into the store memory of the row's
 * AGCU, and into memory. */
static void collect(gen *g, tg_section *section, uint32_t tile_number) {
  tg_tile_program *tile = &section->tiles[tile_number];
  uint32_t col = tile_number % g->m->cols, row = tile_number / g->m->cols, bank_rows = tg_bank_rows(g->m);
  uint32_t rows = 4 * g->step, flits = 2 * rows;
  tg_vx_instr *vop = &tg_queue_push(g->program, &tile->vx)->vx;
  vop->op = TG_OP_vx_vop;
  vop->rows = rows;
  vop->row_count[0] = 1;
  vop->row_count[1] = 2;
  vop->row_count[2] = 2 * g->step;
  vop->j_count[0] = vop->j_count[1] = 1;
  vop->seg_len[0] = 3;
  tg_stream *from = tg_stream_of_mut(vop, 0), *to = tg_stream_of_mut(vop, 1);
  from->kind = TG_STREAM_ACC;
  from->row[1] = tg_acc_rows(g->m);
  from->row[2] = 1;
  to->kind = TG_STREAM_FP32;
  to->store = 1;
  to->at.base = 4 * bank_rows;
  to->banks = tg_div_up(flits, bank_rows);
  to->row[1] = 4 * g->step;
  to->row[2] = 2;
  if (chance(g, 50)) { /* half by half: the streams go on by rotations, or by an index */
    vop->rows = 2 * g->step;
    vop->row_count[1] = 1;
    vop->common.loop_count[2] = 2;
    vop->common.loop_begin[2] = tile->vx.count - 1;
    vop->common.wait_first[0] = vop->common.post_last[0] = 1;
    for (int t = 0; t < 2; t++) {
      tg_stream *stream = tg_stream_of_mut(vop, t);
      int64_t by = stream->row[1];
      if (chance(g, 70)) {
        stream->at.rot_count = 2 + rnd(g, 2);
        stream->at.rot_stride = by;
      } else {
        stream->at.delta[2] = by;
      }
    }
  }
  vop->common.wait_on[0] = 1;
  vop->common.wait_sem[0] = COMPUTED;
  vop->common.post_kind[0] = TG_POST_LOCAL;
  vop->common.post_sem[0] = COLLECTED;
  tg_tx_instr *send = &tg_queue_push(g->program, &tile->tx)->tx;
  send->op = TG_OP_tx_send;
  send->dir = TG_DIR_WEST;
  send->flits = flits;
  send->src.base = 4 * bank_rows;
  send->src_inner = flits;
  send->dst.base = col * flits;
  send->dst_inner = flits;
  send->dst_mask = 1;
  send->dst_post = 1;
  send->dst_sem = col;
  send->common.wait_on[0] = 1;
  send->common.wait_sem[0] = COLLECTED;
  tg_agcu_instr *store = &tg_queue_push(g->program, &section->agcus[row].contexts[1])->agcu;
  *store = (tg_agcu_instr){.op = TG_OP_agcu_store, .rows = flits, .take = g->m->p, .y_size = 1, .x_size = 1};
  for (int d = 0; d < 3; d++) store->m_radix[d] = store->k_radix[d] = 1;
  store->m_radix[2] = flits;
  store->k_radix[2] = g->m->p;
  store->stride[2] = tg_flit_bytes(g->m);
  store->stride[5] = 4;
  store->src.base = col * flits;
  store->offset = DATA + (int64_t)tile_number * flits * tg_flit_bytes(g->m);
  store->common.wait_on[0] = 1;
  store->common.wait_sem[0] = col;
}

/* Numbers of ordinary size in every format. */
static void add_operands(gen *g, uint32_t rows) {
  tg_dram_tensor *tensor = tg_program_add_tensor(g->program);
  uint32_t words = rows * g->m->p, *data = TG_NEW_ARRAY(&g->program->arena, uint32_t, words);
  for (uint32_t i = 0; i < words; i++)
    data[i] = ((rnd(g, 1u << 31) << 1 | rnd(g, 2)) & 0x807f83ffu) | 0x3f803c00u;
  *tensor = (tg_dram_tensor){.name = "operands",
                             .role = TG_ROLE_CONSTANT,
                             .storage = TG_STORE_FP32,
                             .rank = 1,
                             .dims = {words},
                             .bytes = sizeof *data * words,
                             .data = (const uint8_t *)data};
}

/* The same rows to all tiles of a row, around the borders behind banks 0 and 2. */
static void load_operands(gen *g, tg_section *section, uint32_t row) {
  uint32_t bank_rows = tg_bank_rows(g->m);
  tg_agcu_instr *load = &tg_queue_push(g->program, &section->agcus[row].contexts[0])->agcu;
  *load =
      (tg_agcu_instr){.op = TG_OP_agcu_load, .rows = 4 * AROUND, .take = g->m->p, .y_size = 1, .x_size = 1};
  for (int d = 0; d < 3; d++) load->m_radix[d] = load->k_radix[d] = 1;
  load->m_radix[2] = 4 * AROUND;
  load->k_radix[2] = g->m->p;
  load->stride[2] = tg_flit_bytes(g->m);
  load->stride[5] = 4;
  load->dst.base = bank_rows - AROUND;
  load->dst_inner = 2 * AROUND;
  load->dst_stride = 2 * bank_rows;
  load->dst_mask = (2u << g->m->cols) - 2;
  load->dst_post = 1;
  load->dst_sem = ARRIVED;
}

/* Reads an accumulator row, writes its two halves. */
static void add_words(gen *g, tg_tile_program *tile) {
  const tg_ucode words[] = {
      {.ld_on = 1, .ld_stream = 0}, {.st_on = 1, .st_stream = 1}, {.st_on = 1, .st_stream = 1, .st_half = 1}};
  tile->word_count = sizeof words / sizeof *words;
  tile->words = TG_NEW_ARRAY(&g->program->arena, uint64_t, tile->word_count);
  for (uint32_t w = 0; w < tile->word_count; w++) tile->words[w] = tg_ucode_encode(&words[w]);
}

tg_program *random_mx(const tg_params *params, uint32_t seed) {
  gen g = {.program = tg_program_create(params), .m = params, .state = seed * 2654435761u + 7};
  g.step = tg_store_rows(params) / (8 * params->cols);
  if (g.step > 16) g.step = 16;
  g.program->dram_bytes = 2 * DATA;
  add_operands(&g, 4 * AROUND);
  tg_section *section = tg_program_add_section(g.program, "random");
  for (uint32_t row = 0; row < params->rows; row++) load_operands(&g, section, row);
  for (uint32_t t = 0; t < tg_tiles(params); t++) {
    add_words(&g, &section->tiles[t]);
    add_gemms(&g, &section->tiles[t]);
    collect(&g, section, t);
  }
  tg_invocation *invocation = tg_program_add_invocation(g.program);
  invocation->name = "i";
  return g.program;
}
