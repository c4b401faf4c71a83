/* Building a section: semaphores, scratchpad buffers, and the moves that every kernel needs.
 *
 * All tiles of a section are alike: they share semaphore numbers and buffer addresses, and differ in which
 * part of the tensors they work on. West AGCUs load for their row, north ones for their column. */
#ifndef TEGULA_MAPPER_SECTION_SECTION_H
#define TEGULA_MAPPER_SECTION_SECTION_H

#include "mapper/kernel/kernel.h"

/* Contexts of an AGCU by use. */
enum {
  TG_CTX_LOAD = 0,
  TG_CTX_AUX = 1,
  TG_CTX_STORE = 2,
  TG_CTX_COLUMN_SUMS = 3, /* of a product, or */
  TG_CTX_PROLOGUE = 3,    /* what a prologue of one makes, or */
  TG_CTX_SECOND = 3,      /* operands of a second product */
  TG_CONTEXTS = 4,
};

/* Entries of the key table by use: accumulators of a product, results that a store rounds, accumulators of a second
 * product. */
enum { TG_KEY_PRODUCT = 0, TG_KEY_STORE = 1, TG_KEY_SECOND = 2 };

/* By which AGCUs results leave: a tile's by the west one of its row or the north one of its column, in a
 * checkerboard, or all or three of four by one kind of AGCU, while the other kind has more to load. */
typedef enum tg_egress {
  TG_EGRESS_BOTH,
  TG_EGRESS_WEST,
  TG_EGRESS_NORTH,
  TG_EGRESS_MOST_WEST, /* these on arrays whose rows and columns come in fours */
  TG_EGRESS_MOST_NORTH,
  TG_EGRESS_COUNT
} tg_egress;

typedef struct tg_build {
  tg_compile *c;
  const tg_params *m;
  uint32_t section;
  uint32_t tile_sems, west_sems, north_sems; /* semaphores given out so far */
  uint32_t bank;                             /* scratchpad banks given out so far */
  int bases;                                 /* entries of the base table in use, */
  int planned_bases;                         /* and as channels have them, once they are placed */
  uint64_t base_address[TG_BASES];           /* of the first invocation */
  tg_egress egress;                          /* how results leave */
  uint32_t members; /* north: results leave from the last row of tiles of so many each; 1: from all */
  const bool *idle; /* by tile: it has no part in the section; NULL: all have */
  bool half_store;  /* store ports share the first half of each AGCU's store memory */
} tg_build;

/* Starts a section named after the kernel. */
void tg_build_begin(tg_build *b, tg_compile *c, const char *name);

static inline tg_section *tg_build_section(const tg_build *b) { return &b->c->program->sections[b->section]; }
static inline bool tg_build_is_idle(const tg_build *b, uint32_t r, uint32_t col) {
  return b->idle && b->idle[r * b->m->cols + col];
}
static inline tg_tile_program *tg_build_tile(const tg_build *b, uint32_t r, uint32_t col) {
  return &tg_build_section(b)->tiles[r * b->m->cols + col];
}
tg_instr *tg_build_push(const tg_build *b, tg_queue *queue, int op);
tg_queue *tg_west_queue(const tg_build *b, uint32_t row, int context);
tg_queue *tg_north_queue(const tg_build *b, uint32_t col, int context);

/* A semaphore of every tile with an initial value. */
int tg_tile_sem(tg_build *b, int initial);
/* Credits of an AGCU for what it sends: semaphore base + position, each `initial`. */
int tg_west_credits(tg_build *b, int initial);
int tg_north_credits(tg_build *b, int initial);

/* A scratchpad buffer of `rows` rows, `count` times, each in banks of its own. */
typedef struct tg_buffer {
  uint32_t base, stride, rows, banks, count;
} tg_buffer;
/* Are there so many more banks? If not, the model is refused with how many the section needs. */
bool tg_build_has_banks(const tg_build *b, uint64_t more);
/* False if the banks do not suffice. */
bool tg_build_buffer(tg_build *b, uint32_t rows, uint32_t count, tg_buffer *out);
uint32_t tg_banks_for(const tg_params *m, uint32_t rows);
/* Rows first .. first + rows - 1 of each of a buffer's copies. */
tg_buffer tg_buffer_part(const tg_params *m, const tg_buffer *whole, uint32_t first, uint32_t rows);

/* Fields of instructions. */
void tg_set_operand(tg_row_operand *operand, const tg_buffer *buffer, bool rot_outer);
/* An operand of two buffers that begins with number `first` and goes on to the other one never, after each
 * execution, or after each that ends level 2. */
typedef enum tg_rotation { TG_ROTATE_NEVER, TG_ROTATE_EACH, TG_ROTATE_OUTER } tg_rotation;
void tg_set_rotating(tg_row_operand *operand, const tg_buffer *buffer, uint32_t first, tg_rotation rotation);
/* The same of instruction number `turn` of so many that take turns. */
void tg_set_rotation(tg_row_operand *operand, const tg_buffer *buffer, uint32_t turn, uint32_t turns);
/* In slot number `slot`, or in the next one that is free. Slots from 4 on are more than an instruction has: the section
 * is then refused by tg_build_invoke. */
enum { TG_NEXT_SLOT = -1 };
void tg_set_wait(tg_instr *in, int slot, int sem, bool first_only);
void tg_set_post(tg_instr *in, int slot, int kind, uint32_t pos, int sem, bool last_only);
/* `last_only`: the instruction that ends the innermost loop is the only one that knows its last execution. Does no other
 * one in such a loop post so? */
bool tg_last_posts_end_loops(const tg_queue *queue);
/* The first slot that is free; 4: none. */
int tg_free_wait(const tg_instr *in);
int tg_free_post(const tg_instr *in);
/* The instruction ends loops of all three levels, which begin at slot 0 of its queue. */
void tg_set_loops(tg_instr *in, const uint32_t counts[3]);

/* An entry of the base table for a tensor. `*out_residue` is what remains
 * to be put into `offset`, since table entries are 64-byte aligned. */
int tg_build_base(tg_build *b, const tg_dram_tensor *tensor, uint64_t offset, int64_t *out_residue);

enum { TG_NO_SEM = -1 };
/* Does an array of this size share results out so? */
bool tg_egress_possible(const tg_params *m, tg_egress egress);
/* Does a tile's result leave by the west AGCU, and how many of its lane use the same AGCU before it? */
bool tg_leaves_west(tg_egress egress, uint32_t r, uint32_t col);
uint32_t tg_egress_rank(tg_egress egress, uint32_t r, uint32_t col);
/* Tiles whose results leave by one west, or north, AGCU at most. `egress`, `members`: of tg_build. */
uint32_t tg_west_egress(const tg_params *m, tg_egress egress);
uint32_t tg_north_egress(const tg_params *m, tg_egress egress, uint32_t members);
/* Drain tiles that a store memory has room for at a time, and flits of one at most, of all store ports together. */
uint32_t tg_egress_parts(const tg_params *m, tg_egress egress, uint32_t members);
uint32_t tg_egress_share(const tg_params *m, tg_egress egress, uint32_t members);
/* Does a tile of the checkerboard use the west AGCU? */
bool tg_egress_is_west(uint32_t r, uint32_t col);

/* Adds an invocation of the section with the table as it stands. */
tg_invocation *tg_build_invoke(tg_build *b, const char *name);

#endif
