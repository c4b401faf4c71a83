/* What a replay knows of a section at a time. Shared by replay*.c. */
#ifndef TEGULA_MAPPER_SECTION_REPLAY_STATE_H
#define TEGULA_MAPPER_SECTION_REPLAY_STATE_H

#include "mapper/section/replay.h"
#include "sim/machine/mx_shape.h"
#include "sim/machine/sequencer.h"
#include "sim/machine/walk.h"

#define TG_REPLAY_NEVER UINT64_MAX
enum { TG_REPLAY_MOST_BUFFERS = 64, TG_REPLAY_SEGMENTS = 17 };

/* Something that happens: a unit issues, a port takes its next burst, a burst asks for its lane. In one cycle, in this
 * order. */
typedef enum tg_replay_kind {
  TG_REPLAY_ISSUE,
  TG_REPLAY_PORT,
  TG_REPLAY_SEND,
  TG_REPLAY_LEAVE
} tg_replay_kind;
typedef struct tg_replay_event {
  uint64_t time;
  uint32_t kind, which;
} tg_replay_event;

/* A post that is visible from `time` on. Lists of them, by time, are semaphores. */
typedef struct tg_replay_token {
  uint64_t time;
  uint32_t next; /* 0: none */
} tg_replay_token;
typedef struct tg_replay_semaphore {
  uint32_t count;  /* of posts that were there from the start */
  uint32_t first;  /* token; 0: none */
  uint32_t last;   /* if there is a first */
  uint32_t waiter; /* unit + 1; 0: nobody waits */
} tg_replay_semaphore;

typedef struct tg_replay_unit {
  tg_sequencer *sequencer; /* NULL: it has no instructions */
  tg_unit kind;
  uint32_t endpoint, context;
  tg_execution now;     /* the one that is under way, or waits to issue */
  uint64_t planned;     /* when it issues, as known so far */
  uint64_t ready;       /* the next one, at the earliest */
  uint64_t begun;       /* ... if it is a LOAD or STORE */
  tg_mx_before gemm;    /* of mx: the one before */
  uint64_t computed;    /* cycles, of mx and vx */
  bool busy;            /* under way at tx, or at the port */
  bool issued;          /* has it ever? */
  uint64_t start;       /* of that */
  uint32_t flits, flit; /* in all, and of bursts that are granted */
  tg_walk walk;
} tg_replay_unit;

/* A burst in a load buffer. */
typedef struct tg_replay_burst {
  uint64_t complete, freed;
  uint32_t unit, flits, pieces;
  bool last;
  tg_execution execution;
} tg_replay_burst;

typedef struct tg_replay_port {
  uint64_t free_at, planned, left_at;
  uint32_t granted; /* context */
  uint32_t oldest, leaving, newest;
  uint64_t linked; /* when the link from a device has carried the burst before */
  tg_replay_burst bursts[TG_REPLAY_MOST_BUFFERS];
} tg_replay_port;

typedef struct tg_replay_lane {
  uint64_t reserved[TG_REPLAY_SEGMENTS];
} tg_replay_lane;

typedef struct tg_replay {
  const tg_params *m;
  tg_arena arena;
  uint32_t units, first_context; /* units of tiles come first */
  uint32_t silent;               /* units with instructions that have not issued any */
  tg_replay_unit *unit;
  tg_replay_port *port;
  tg_replay_lane *lane; /* by endpoint and direction: those of a row, or column, share the first one's */
  tg_replay_semaphore *semaphore;
  tg_replay_token *tokens;
  size_t token_count, token_capacity;
  uint32_t free_token;
  tg_replay_event *events; /* a heap */
  size_t event_count, event_capacity;
  uint64_t now, end, moved; /* flits, by ports */
  const uint64_t *bases;
  tg_replay_memory *memory; /* NULL: it has a fixed latency */
  tg_spans spans;           /* of a burst */
} tg_replay;

/* ---- replay_events.c ---- */

void tg_replay_at(tg_replay *r, uint64_t time, tg_replay_kind kind, uint32_t which);
/* Takes the first event out; there is one. */
tg_replay_event tg_replay_next(tg_replay *r);
tg_replay_semaphore *tg_replay_semaphore_of(const tg_replay *r, uint32_t endpoint, uint32_t number);
/* Takes what the unit's execution has waited for, which is there. */
void tg_replay_take(tg_replay *r, const tg_replay_unit *u);
/* The instruction is over: its posts are made, and what waits for them is planned. */
void tg_replay_end(tg_replay *r, const tg_replay_unit *u, const tg_execution *x, uint64_t end);
void tg_replay_post(tg_replay *r, uint32_t endpoint, uint32_t semaphore, uint64_t visible);
/* When may the unit's next execution issue? */
void tg_replay_plan(tg_replay *r, uint32_t unit);

/* ---- replay_memory.c ---- */

/* A port asks for these bytes, an atom every `step` cycles from `asked` on, but not for *last_atom again. Returns when they are
 * there, or written; `*io_held`: the memory takes none of them before, for want of room in its queues. */
double tg_replay_ask(tg_replay_memory *memory, uint32_t port, uint64_t address, uint64_t bytes, double asked,
                     double step, bool write, uint64_t *last_atom, double *io_held);

/* ---- replay_move.c ---- */

void tg_replay_issue_move(tg_replay *r, uint32_t unit);
void tg_replay_serve_port(tg_replay *r, uint32_t port);
/* A burst of a SEND, or the oldest of those that were loaded, is granted its lane. */
void tg_replay_send(tg_replay *r, uint32_t unit);
void tg_replay_leave(tg_replay *r, uint32_t port);

#endif
