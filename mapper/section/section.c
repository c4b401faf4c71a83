#include "mapper/section/section.h"

#include <assert.h>
#include <string.h>

void tg_build_begin(tg_build *b, tg_compile *c, const char *name) {
  *b = (tg_build){.c = c, .m = c->m, .members = 1};
  tg_program_add_section(c->program, name);
  b->section = c->program->section_count - 1;
  tg_build_section(b)->kept = c->kept_banks;
}

/* Has the array so much? If not, the kernel is written to its end, to say how much it needs, and refused. */
static bool suffices(const tg_build *b, const char *of, uint32_t needed, uint32_t available) {
  tg_shortage *shortage = &b->c->shortage;
  if (needed <= available) return true;
  bool same = shortage->of && shortage->section == b->section && !strcmp(shortage->of, of);
  if (!shortage->of || (same && needed > shortage->needed))
    *shortage = (tg_shortage){of, needed, available, b->section};
  return false;
}

tg_instr *tg_build_push(const tg_build *b, tg_queue *queue, int op) {
  if (queue == &b->c->beyond)
    (void)suffices(b, "contexts of an AGCU", (uint32_t)b->c->beyond_context + 1, b->m->agcu_contexts);
  tg_instr *in = tg_queue_push(b->c->program, queue);
  in->common.op = op;
  return in;
}

static tg_queue *queue_of(const tg_build *b, uint32_t agcu, int context) {
  if ((uint32_t)context < b->m->agcu_contexts) return &tg_build_section(b)->agcus[agcu].contexts[context];
  b->c->beyond_context = context; /* which may stay empty */
  return &b->c->beyond;
}

tg_queue *tg_west_queue(const tg_build *b, uint32_t row, int context) { return queue_of(b, row, context); }

tg_queue *tg_north_queue(const tg_build *b, uint32_t col, int context) {
  return queue_of(b, b->m->rows + col, context);
}

int tg_tile_sem(tg_build *b, int initial) {
  bool enough = suffices(b, "semaphores of a tile", b->tile_sems + 1, b->m->semaphores);
  for (uint32_t t = 0; enough && t < tg_tiles(b->m); t++)
    tg_build_section(b)->tiles[t].sem_init[b->tile_sems] = (uint8_t)initial;
  return (int)b->tile_sems++;
}

static int credits(tg_build *b, uint32_t *used, uint32_t first, uint32_t count, uint32_t positions,
                   int initial) {
  int base = (int)*used;
  *used += positions + 1;
  bool enough = suffices(b, "semaphores of an AGCU", *used, b->m->semaphores);
  for (uint32_t a = first; enough && a < first + count; a++)
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

bool tg_build_has_banks(const tg_build *b, uint64_t more) {
  uint64_t banks = b->bank + more;
  return suffices(b, "banks of a scratchpad", banks > UINT32_MAX ? UINT32_MAX : (uint32_t)banks, b->m->banks);
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

void tg_set_operand(tg_row_operand *operand, const tg_buffer *buffer, bool rot_outer) {
  operand->base = buffer->base;
  operand->rot_count = buffer->count > 1 ? buffer->count : 0;
  operand->rot_stride = buffer->count > 1 ? buffer->stride : 0;
  operand->rot_outer = rot_outer && buffer->count > 1;
}

void tg_set_rotating(tg_row_operand *operand, const tg_buffer *buffer, uint32_t first, tg_rotation rotation) {
  tg_buffer from = *buffer;
  from.base += first * from.stride;
  if (rotation == TG_ROTATE_NEVER) from.count = 1;
  tg_set_operand(operand, &from, rotation == TG_ROTATE_OUTER);
  if (first) operand->rot_stride = -operand->rot_stride;
}

/* An instruction has four waits and four posts. What needs more is marked in the last one, by a value that no
 * program may have; tg_build_invoke finds it. A slot that is asked for and taken is another one: no wait is lost. */
enum { SLOTS = 4, NO_POST_KIND = 4 };

static void one_too_many(int64_t *last, int64_t none) { *last = *last < none ? none : *last + 1; }

int tg_free_wait(const tg_instr *in) {
  int slot = 0;
  while (slot < SLOTS && in->common.wait_on[slot]) slot++;
  return slot;
}

int tg_free_post(const tg_instr *in) {
  int slot = 0;
  while (slot < SLOTS && in->common.post_kind[slot]) slot++;
  return slot;
}

bool tg_last_posts_end_loops(const tg_queue *queue) {
  for (uint32_t end = 0; end < queue->count; end++) {
    const tg_common_instr *last = &queue->instrs[end].common;
    if (last->loop_count[2] <= 1) continue;
    for (uint32_t i = (uint32_t)last->loop_begin[2]; i < end; i++)
      for (int slot = 0; slot < SLOTS; slot++)
        if (queue->instrs[i].common.post_kind[slot] && queue->instrs[i].common.post_last[slot]) return false;
  }
  return true;
}

static void count_slots(const tg_build *b, const tg_queue *queue) {
  assert(tg_last_posts_end_loops(queue));
  for (uint32_t i = 0; i < queue->count; i++) {
    const tg_common_instr *in = &queue->instrs[i].common;
    if (in->wait_on[SLOTS - 1] > 1)
      (void)suffices(b, "waits of an instruction", (uint32_t)in->wait_on[SLOTS - 1] + SLOTS - 1, SLOTS);
    if (in->post_kind[SLOTS - 1] >= NO_POST_KIND)
      (void)suffices(b, "posts of an instruction",
                     (uint32_t)(in->post_kind[SLOTS - 1] - NO_POST_KIND) + SLOTS + 1, SLOTS);
  }
}

static void check_slots(const tg_build *b) {
  const tg_section *section = tg_build_section(b);
  for (uint32_t t = 0; t < tg_tiles(b->m); t++) {
    count_slots(b, &section->tiles[t].mx);
    count_slots(b, &section->tiles[t].vx);
    count_slots(b, &section->tiles[t].tx);
  }
  for (uint32_t a = 0; a < tg_agcus(b->m); a++)
    for (uint32_t x = 0; x < b->m->agcu_contexts; x++) count_slots(b, &section->agcus[a].contexts[x]);
}

void tg_set_wait(tg_instr *in, int slot, int sem, bool first_only) {
  if (slot == TG_NEXT_SLOT || (slot < SLOTS && in->common.wait_on[slot])) slot = tg_free_wait(in);
  if (slot >= SLOTS) {
    one_too_many(&in->common.wait_on[SLOTS - 1], 2);
    return;
  }
  in->common.wait_on[slot] = 1;
  in->common.wait_sem[slot] = sem;
  in->common.wait_first[slot] = first_only;
}

void tg_set_post(tg_instr *in, int slot, int kind, uint32_t pos, int sem, bool last_only) {
  if (slot == TG_NEXT_SLOT || (slot < SLOTS && in->common.post_kind[slot])) slot = tg_free_post(in);
  if (slot >= SLOTS) {
    one_too_many(&in->common.post_kind[SLOTS - 1], NO_POST_KIND);
    return;
  }
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
  if (suffices(b, "entries of the base table", (uint32_t)b->bases + 1, TG_BASES))
    b->base_address[b->bases] = address - address % 64;
  return b->bases++;
}

/* Which of two buffers the instruction number `turn` begins with, where so many in turn have
 * instructions of their own. */
void tg_set_rotation(tg_row_operand *operand, const tg_buffer *buffer, uint32_t turn, uint32_t turns) {
  tg_set_rotating(operand, buffer, turn % 2, turns % 2 ? TG_ROTATE_EACH : TG_ROTATE_NEVER);
}

tg_invocation *tg_build_invoke(tg_build *b, const char *name) {
  assert(b->bases == b->planned_bases);
  check_slots(b);
  tg_invocation *invocation = tg_program_add_invocation(b->c->program);
  invocation->name = tg_arena_strdup(&b->c->program->arena, name);
  invocation->section = b->section;
  memcpy(invocation->bases, b->base_address, sizeof invocation->bases);
  return invocation;
}
