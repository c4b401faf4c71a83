/* State of the proof of ordering (ordering.h), shared by its parts: set-up, accesses, device memory,
 * execution.
 *
 * Components of a clock. Each unit has one: the ordinal of its last execution known to have ended. A sender
 * has one more for each destination: the ordinal of its last execution whose flits are known to have arrived
 * there, which only the semaphore behind the flits tells. An AGCU context with LOADs has one for what they
 * read of device memory and of indices: its next instruction may issue, and post, while the last burst is read. Component 0
 * is nobody's. */
#ifndef TEGULA_MACHINE_ORDERING_STATE_H
#define TEGULA_MACHINE_ORDERING_STATE_H

#include "sim/machine/access.h"
#include "sim/machine/ordering.h"

enum {
  MAX_EXECUTIONS = 50000000,  /* of a section */
  MAX_STORE_ROWS = 500000000, /* visits of rows of store memories, and of runs of flits */
  MAX_CLOCK_BYTES = 1 << 30,
  MAX_COUNT = 255, /* of a semaphore */
  POSITIONS = 17,
};

/* Bytes of device memory from `low` on and below `high`; empty if low >= high. */
typedef struct tg_reach {
  int64_t low, high;
} tg_reach;

/* What a post or an arrival guarantees; shared by all that one execution makes. */
typedef struct clock {
  struct clock *next; /* in the list of free ones */
  uint32_t users;
  uint32_t at[];
} clock;

/* Posts of one unit to one semaphore that happen in program order. On mx the ends of GEMMs and of SYNCs are
 * two such sequences, in an AGCU context those of LOADs and of the others; arrivals are one more. */
typedef enum sequence { IN_ORDER, LATE, ARRIVAL } sequence;
typedef struct poster {
  struct poster *next; /* of the semaphore */
  struct semaphore *semaphore;
  uint32_t unit;
  sequence sequence;
  uint32_t component; /* ARRIVAL: sender and destination */
  uint64_t total;     /* posts of the whole section */
  uint64_t posted, joined;
  struct posted { /* those after the one joined last, a ring */
    clock *clock;
    uint32_t ordinal;
  } * ring;
  uint32_t capacity;
} poster;

typedef struct semaphore {
  uint32_t initial, waiter; /* unit, NONE */
  uint64_t taken, posted, total;
  poster *posters;
  /* ordinals of the waiter's executions at the last 256 takes; NULL if it cannot overflow */
  uint32_t *taken_by;
} semaphore;

/* An instruction of a unit. */
typedef struct arrival {
  uint32_t position, endpoint, component;
  poster *poster; /* NULL: no semaphore */
} arrival;
typedef struct site {
  tg_accesses accesses;
  poster *post[4];
  uint32_t arrival_count;
  arrival *arrivals;
  tg_reach reach; /* LOAD, STORE: of all executions of the section, from an entry of 0 in the base table */
} site;

typedef struct unit {
  tg_sequencer sequencer;
  uint32_t endpoint, context, component, executed;
  uint32_t reads; /* component of what its LOADs read; 0: it has none */
  tg_unit kind;
  bool queued;
  uint32_t channel[2][POSITIONS]; /* components of row and column destinations, 0: none */
  uint32_t *known;                /* the clock */
  site *sites;
  uint32_t a_banks, a_ordinal; /* mx: of the last GEMM whose A rows the next one's B rows may overlap */
  struct {
    const tg_mx_instr *in; /* NULL: there is none */
    int64_t first;         /* accumulator row of its last block */
    uint32_t half, ordinal;
  } c; /* mx: the last GEMM */
} unit;

/* The last access to a bank, an accumulator half or a row of a store memory. It stands for all before it. */
typedef struct mark {
  uint32_t component, ordinal, unit, index[TG_LEVELS];
  uint16_t pc;
} mark;

enum { NONE = UINT32_MAX, MAX_BANKS = 32, HALF0 = MAX_BANKS, MARKS = MAX_BANKS + 2 };

/* Banks that a section's instructions touch in a tile, a bit each. */
typedef struct tg_bank_use {
  uint32_t read, written;
} tg_bank_use;

typedef struct check {
  const tg_program *program;
  const tg_params *m;
  const tg_section *section;
  uint32_t section_index;
  tg_arena arena;
  uint32_t unit_count, components, endpoints;
  unit *units;
  semaphore *semaphores;           /* params.semaphores an endpoint */
  tg_bank_use *use;                /* of each tile, of this section */
  mark **marks;                    /* of an endpoint: MARKS of a tile, rows of a store memory */
  const tg_invocation *invocation; /* whose base table tells where walks go; NULL: it is never run */
  struct tg_order_memory *memory;  /* ordering_memory.c; NULL: no bytes that two units conflict at */
  clock *free_clocks;
  uint64_t clock_bytes, executions, rows;
  uint32_t *queue, queue_head, queue_count; /* units to try, a ring */
  tg_diag *diag;
} check;

static inline semaphore *semaphore_at(const check *k, uint32_t endpoint, int64_t number) {
  return &k->semaphores[(size_t)endpoint * k->m->semaphores + (size_t)number];
}

static inline sequence end_sequence(const unit *u, const tg_instr *in) {
  bool late = u->kind == TG_MX     ? in->common.op == TG_OP_mx_gemm
              : u->kind == TG_AGCU ? in->common.op == TG_OP_agcu_load
                                   : false;
  return late ? LATE : IN_ORDER;
}

/* Reports (ordering_text.c). */
void tg_order_name_endpoint(const check *k, uint32_t endpoint, char *out, size_t size);
void tg_order_name_unit(const check *k, uint32_t index, char *out, size_t size);
tg_status tg_order_at(const check *k, const unit *u,
                      const tg_execution *x); /* puts the place before the message */
tg_status tg_order_too_long(const check *k, const char *what);
tg_status tg_order_semaphore_fails(const check *k, const semaphore *s, const char *what);

/* Units, sites, posters and the totals of their posts (ordering_setup.c). */
tg_status tg_order_set_up(check *k);

/* The accesses of an execution that issues now: fails if one is not ordered (ordering_access.c). */
tg_status tg_order_touch(check *k, unit *u, const tg_execution *x, const site *site);

/* Device memory (ordering_memory.c). Reaches of the sites are known after tg_order_set_up. */
tg_status tg_order_memory_open(check *k);
void tg_order_memory_close(check *k);
tg_status tg_order_touch_memory(check *k, unit *u, const tg_execution *x);
/* Are the banks that sections read, but keep, those that earlier ones have written? `use`: of each section's tiles.
 * ordering_kept.c */
tg_status tg_order_kept(const tg_program *program, const tg_bank_use *use, tg_diag *diag);
/* Whether walks that conflict in one invocation of the section do so in the same way in the other. */
bool tg_order_memory_alike(const check *k, const tg_invocation *a, const tg_invocation *b);

#endif
