#include "mapper/section.h"

#include <assert.h>
#include <string.h>

void tg_build_begin(tg_build *b, tg_compile *c, const char *name) {
  *b = (tg_build){.c = c, .m = c->m};
  tg_program_add_section(c->program, name);
  b->section = c->program->section_count - 1;
}

tg_instr *tg_build_push(const tg_build *b, tg_queue *queue, int op) {
  tg_instr *in = tg_queue_push(b->c->program, queue);
  in->common.op[0] = op;
  return in;
}

tg_queue *tg_west_queue(const tg_build *b, uint32_t row, int context) {
  return &tg_build_section(b)->agcus[row].contexts[context];
}

tg_queue *tg_north_queue(const tg_build *b, uint32_t col, int context) {
  return &tg_build_section(b)->agcus[b->m->rows + col].contexts[context];
}

int tg_tile_sem(tg_build *b, int initial) {
  assert(b->tile_sems < b->m->semaphores);
  for (uint32_t t = 0; t < tg_tiles(b->m); t++)
    tg_build_section(b)->tiles[t].sem_init[b->tile_sems] = (uint8_t)initial;
  return (int)b->tile_sems++;
}

static int credits(tg_build *b, uint32_t *used, uint32_t first, uint32_t count, uint32_t positions,
                   int initial) {
  int base = (int)*used;
  *used += positions + 1;
  assert(*used <= b->m->semaphores);
  for (uint32_t a = first; a < first + count; a++)
    for (uint32_t pos = 1; pos <= positions; pos++)
      tg_build_section(b)->agcus[a].sem_init[base + (int)pos] = (uint8_t)initial;
  return base;
}

int tg_west_credits(tg_build *b, int initial) {
  return credits(b, &b->west_sems, 0, b->m->rows, b->m->cols, initial);
}
int tg_north_credits(tg_build *b, int initial) {
  return credits(b, &b->north_sems, b->m->rows, b->m->cols, b->m->rows, initial);
}

uint32_t tg_banks_for(const tg_params *m, uint32_t rows) {
  return (rows + tg_bank_rows(m) - 1) / tg_bank_rows(m);
}

bool tg_build_buffer(tg_build *b, uint32_t rows, uint32_t count, tg_buffer *out) {
  uint32_t banks = tg_banks_for(b->m, rows);
  *out = (tg_buffer){.base = b->bank * tg_bank_rows(b->m),
                     .stride = banks * tg_bank_rows(b->m),
                     .rows = rows,
                     .banks = banks,
                     .count = count};
  if (banks > b->m->banks || (uint64_t)banks * count > b->m->banks - b->bank) return false;
  b->bank += banks * count;
  return true;
}

tg_buffer tg_buffer_part(const tg_params *m, const tg_buffer *whole, uint32_t first, uint32_t rows) {
  tg_buffer part = *whole;
  part.base += first;
  part.rows = rows;
  part.banks = tg_banks_for(m, first % tg_bank_rows(m) + rows);
  return part;
}

void tg_set_operand(int64_t *base_field, const tg_buffer *buffer, bool rot_outer) {
  tg_row_operand *operand = (tg_row_operand *)(void *)base_field;
  operand->base[0] = buffer->base;
  operand->rot_count[0] = buffer->count > 1 ? buffer->count : 0;
  operand->rot_stride[0] = buffer->count > 1 ? buffer->stride : 0;
  operand->rot_outer[0] = rot_outer && buffer->count > 1;
}

void tg_set_turning(int64_t *base_field, const tg_buffer *buffer, uint32_t first, tg_turn turn) {
  tg_buffer from = *buffer;
  from.base += first * from.stride;
  if (turn == TG_TURN_NEVER) from.count = 1;
  tg_set_operand(base_field, &from, turn == TG_TURN_OUTER);
  tg_row_operand *operand = (tg_row_operand *)(void *)base_field;
  if (first) operand->rot_stride[0] = -operand->rot_stride[0];
}

void tg_set_wait(tg_instr *in, int slot, int sem, bool first_only) {
  assert(slot < 4 && !in->common.wait_on[slot]);
  in->common.wait_on[slot] = 1;
  in->common.wait_sem[slot] = sem;
  in->common.wait_first[slot] = first_only;
}

void tg_set_post(tg_instr *in, int slot, int kind, uint32_t pos, int sem, bool last_only) {
  assert(slot < 4 && !in->common.post_kind[slot]);
  in->common.post_kind[slot] = kind;
  in->common.post_pos[slot] = pos;
  in->common.post_sem[slot] = sem;
  in->common.post_last[slot] = last_only;
}

void tg_set_loops(tg_instr *in, const uint32_t counts[3]) {
  for (int l = 0; l < 3; l++) in->common.loop_count[l] = counts[l];
}

int tg_build_base(tg_build *b, const tg_dram_tensor *tensor, uint64_t offset, int64_t *out_residue) {
  uint64_t address = tensor->address + offset;
  *out_residue = (int64_t)(address % 64);
  b->base_address[b->bases] = address - address % 64;
  assert(b->bases < TG_BASES);
  return b->bases++;
}

/* ---- the way out ---- */

bool tg_exits_west(uint32_t r, uint32_t col) { return (r + col) % 2 == 0; }

typedef enum way { STAYS, LEAVES_WEST, LEAVES_NORTH } way;

static way way_out(const tg_build *b, uint32_t r, uint32_t col) {
  uint32_t members = b->members ? b->members : 1;
  switch (b->exits) {
  case TG_EXITS_BOTH: return tg_exits_west(r, col) ? LEAVES_WEST : LEAVES_NORTH;
  case TG_EXITS_WEST: return LEAVES_WEST;
  default: return r % members + 1 == members && r < b->m->rows / members * members ? LEAVES_NORTH : STAYS;
  }
}

uint32_t tg_west_exits(const tg_params *m, tg_exits exits) {
  return exits == TG_EXITS_BOTH ? (m->cols + 1) / 2 : exits == TG_EXITS_WEST ? m->cols : 0;
}

uint32_t tg_north_exits(const tg_params *m, tg_exits exits, uint32_t members) {
  return exits == TG_EXITS_BOTH ? (m->rows + 1) / 2 : exits == TG_EXITS_NORTH ? m->rows / members : 0;
}

uint32_t tg_exit_share(const tg_params *m, tg_exits exits, uint32_t members) {
  uint32_t west = tg_west_exits(m, exits), north = tg_north_exits(m, exits, members);
  return tg_store_rows(m) / (west > north ? west : north) / 2;
}

void tg_exit_init(tg_build *b, tg_exit *exit, uint32_t initial_free) {
  exit->out_full = tg_tile_sem(b, 0);
  exit->out_free = tg_tile_sem(b, (int)initial_free);
  exit->credit = tg_tile_sem(b, 2);
}

/* Rank of the tile among those that use the same AGCU. */
static uint32_t exit_rank(const tg_build *b, uint32_t r, uint32_t col, bool west) {
  uint32_t rank = 0;
  if (west)
    for (uint32_t k = 0; k < col; k++) rank += way_out(b, r, k) == LEAVES_WEST;
  else
    for (uint32_t k = 0; k < r; k++) rank += way_out(b, k, col) == LEAVES_NORTH;
  return rank;
}

static tg_instr *emit_send(tg_build *b, const tg_exit *exit, uint32_t r, uint32_t col, bool west,
                           const tg_buffer *at_agcu, int arrived) {
  tg_instr *in = tg_build_push(b, &tg_build_tile(b, r, col)->tx, TG_OP_tx_send);
  tg_tx_instr *tx = &in->tx;
  tx->dir[0] = west ? TG_WEST : TG_NORTH;
  tx->flits[0] = exit->flits;
  tg_set_operand(tx->src_base, &exit->buffer, exit->pieces > 1);
  if (exit->pieces > 1) tx->src_delta[2] = exit->flits;
  tx->src_inner[0] = exit->inner ? exit->inner : 65535;
  tx->src_stride[0] = exit->stride;
  tx->dst_inner[0] = 65535;
  tg_set_operand(tx->dst_base, at_agcu, false);
  tx->dst_mask[0] = 1; /* position 0 */
  tx->dst_post[0] = 1;
  tx->dst_sem[0] = arrived;
  if (exit->out_full != TG_NO_SEM) tg_set_wait(in, 0, exit->out_full, exit->pieces > 1);
  tg_set_wait(in, 1, exit->credit, false);
  if (exit->out_free != TG_NO_SEM) tg_set_post(in, 0, TG_POST_LOCAL, 0, exit->out_free, exit->pieces > 1);
  return in;
}

/* The exits of one tile; each has its part of the tile's share of the AGCU's store memory. */
static void emit_tile_exits(tg_build *b, const tg_exit *exits, int count, uint32_t r, uint32_t col, bool west,
                            int arrivals, tg_exit_fill *fill, const void *user) {
  uint32_t whole = tg_exit_share(b->m, b->exits, b->members), share = whole / (uint32_t)count,
           at = 2 * whole * exit_rank(b, r, col, west), position = (west ? col : r) + 1,
           first = tg_build_tile(b, r, col)->tx.count;
  int arrived = arrivals + (int)position;
  tg_queue *queue = west ? tg_west_queue(b, r, TG_CTX_STORE) : tg_north_queue(b, col, TG_CTX_STORE);
  for (int x = 0; x < count; x++) {
    tg_buffer at_agcu = {.base = at + 2 * share * (uint32_t)x, .stride = share, .rows = share, .count = 2};
    tg_instr *send = emit_send(b, &exits[x], r, col, west, &at_agcu, arrived);
    if (x + 1 == count) {
      tg_set_loops(send, exits[x].loops);
      send->common.loop_begin[2] = first; /* behind what is sent before in each pass */
    }
    tg_instr *in = tg_build_push(b, queue, TG_OP_agcu_store);
    fill(user, x, r, col, &in->agcu);
    tg_set_operand(in->agcu.src_base, &at_agcu, false);
    tg_set_wait(in, 0, arrived, false);
    tg_set_post(in, 0, west ? TG_POST_ROW : TG_POST_COL, position, exits[x].credit, false);
  }
}

void tg_exit_emit(tg_build *b, const tg_exit *exits, int count, tg_exit_fill *fill, const void *user) {
  int west_arrived = tg_west_credits(b, 0), north_arrived = tg_north_credits(b, 0);
  for (uint32_t r = 0; r < b->m->rows; r++)
    for (uint32_t col = 0; col < b->m->cols; col++) {
      way out = way_out(b, r, col);
      if (out == STAYS) continue;
      bool west = out == LEAVES_WEST;
      emit_tile_exits(b, exits, count, r, col, west, west ? west_arrived : north_arrived, fill, user);
    }
  for (uint32_t a = 0; a < tg_agcus(b->m); a++) {
    tg_queue *queue = &tg_build_section(b)->agcus[a].contexts[TG_CTX_STORE];
    if (queue->count) tg_set_loops(&queue->instrs[queue->count - 1], exits[0].loops);
  }
}

tg_invocation *tg_build_invoke(tg_build *b, const char *name) {
  tg_invocation *invocation = tg_program_add_invocation(b->c->program);
  invocation->name = tg_arena_strdup(&b->c->program->arena, name);
  invocation->section = b->section;
  memcpy(invocation->bases, b->base_address, sizeof invocation->bases);
  return invocation;
}
