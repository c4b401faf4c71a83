/* The chip as the timing model sees it: state and rules of every unit, in C. Nothing here knows SystemC.
 *
 * An *agent* is what acts on its own: the sequencer of a unit, the port of an AGCU, a lane's arbiter, the
 * streams of posts, the control of sections. Agents ask to be woken in a cycle (`tg_chip_wake`); the host (engine.cc) calls
 * `tg_chip_act` then. Whatever one agent does in a cycle, another sees in a later one only: each piece of
 * shared state carries the cycle from which it is visible, so the order of agents within a cycle does not
 * matter. */
#ifndef TEGULA_SYSTEMC_CHIP_H
#define TEGULA_SYSTEMC_CHIP_H

#include "sim/dram/controller.h"
#include "sim/functional/values.h"
#include "sim/machine/engine.h"
#include "sim/machine/mx_shape.h"
#include "sim/machine/sequencer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TG_NEVER UINT64_MAX

/* Who owns a bank or an accumulator half. */
typedef enum tg_bank_port {
  TG_PORT_MX_A,
  TG_PORT_MX_B,
  TG_PORT_MX_ACC,
  TG_PORT_VX_LOAD,
  TG_PORT_VX_STORE,
  TG_PORT_TX,
  TG_PORT_LANE, /* and the three after it: lane inputs in the order of TG_DIR_EAST.. */
} tg_bank_port;

typedef struct tg_window {
  uint64_t first, last;
  uint32_t port;
} tg_window;

/* A bank or an accumulator half: windows of ownership that are not over. */
typedef struct tg_bank {
  tg_window *windows;
  uint32_t count, capacity;
} tg_bank;

typedef struct tg_post {
  uint64_t visible;
  uint32_t next; /* 0: none */
} tg_post;

/* A post of an instruction that has ended, or whose end is known. */
typedef struct tg_remote {
  uint32_t semaphore; /* of the chip */
  uint32_t lane;      /* post lane, as lanes are numbered; TG_LOCAL */
  uint32_t position, hops;
} tg_remote;
enum { TG_LOCAL = UINT32_MAX };

/* An instruction in a stream: its posts from `next` on have not been performed. */
typedef struct tg_posting {
  uint64_t end;
  uint32_t next, count;
  tg_remote post[4];
} tg_posting;

/* A stream of posts: a ring of those whose end is known, in order. */
typedef struct tg_stream_state {
  tg_posting *ring;
  uint32_t size, first, count;
  uint32_t held, limit; /* instructions issued that have not left; from `limit` on, no other may be */
  uint64_t pushed_at;   /* `held` was one less for each of the `pushed` before this cycle */
  uint32_t pushed;
  uint32_t unit, units; /* whose instructions it has */
} tg_stream_state;

/* A post lane: masks of segments that a post is in, of the cycles around now. */
enum { TG_POST_CYCLES = 32 };
typedef struct tg_post_lane {
  uint64_t cycle[TG_POST_CYCLES];
  uint32_t mask[TG_POST_CYCLES];
} tg_post_lane;

/* A cycle in which the first instruction of a stream has something to do. */
typedef struct tg_post_due {
  uint64_t cycle;
  uint32_t stream;
} tg_post_due;

/* A counter and the increments on their way, in order of visibility. */
typedef struct tg_semaphore {
  uint32_t head, tail; /* in tg_chip.posts */
  uint16_t count, coming;
  uint32_t wanted_by; /* unit + 1 whose instruction finds the counter at 0; 0: none */
  uint64_t since;     /* cycle from which the counter has not been 0 */
} tg_semaphore;

/* A SEND or the transfer side of a LOAD. */
typedef struct tg_transfer {
  uint32_t lane, position, mask, farthest;
  uint32_t row, inner;
  int32_t stride;
  bool post;
  uint32_t semaphore;
} tg_transfer;

typedef struct tg_unit_state {
  tg_sequencer sequencer;
  tg_unit kind;
  uint32_t endpoint, context;
  bool busy;      /* issued, and when it lets the next one issue is not known yet */
  uint64_t ready; /* earliest issue of the next instruction by the rule of its predecessor */
  uint64_t begun; /* AGCU: ... of a LOAD or STORE, whose walk is begun by then */
  tg_execution next;
  uint32_t wait_count;
  uint32_t waits[TG_MAX_WAITS]; /* of `next`, indices of chip semaphores */
  /* the instruction in execution (tx, AGCU) */
  tg_execution now;
  uint64_t start;
  uint32_t flit, flits; /* flits granted (by the lane for tx, by the port for an AGCU), and all */
  uint64_t asked;       /* AGCU: first cycle in which the port could grant the next burst */
  tg_transfer transfer;
  bool inside;       /* no burst can leave device memory */
  tg_walk walk;      /* else: to find out */
  tg_walk addresses; /* what the next burst asks for, and costs */
  tg_mx_before gemm; /* mx: the last GEMM */
} tg_unit_state;

/* A burst in a load buffer of an AGCU. */
typedef struct tg_load {
  tg_execution execution;
  tg_transfer transfer;
  uint64_t start, complete, freed; /* freed: cycle of the first port decision with the buffer free again */
  uint32_t unit, first, flits;
  bool last;
  /* with a memory device */
  uint64_t linked;         /* its data began to come over the port's link; TG_NEVER: not yet */
  uint32_t pieces, cycles; /* pieces that have not come; cycles of the link, atoms * CA */
} tg_load;

/* A piece of a burst: the bytes in DRAM of its valid elements. */
typedef struct tg_piece {
  uint64_t address;
  uint32_t bytes;
} tg_piece;

/* A burst whose pieces are sent to a memory device. */
typedef struct tg_port_walk {
  bool active;
  bool blocked; /* not active: a burst could be granted but for the memory */
  tg_piece *pieces;
  uint32_t count, sent;
  uint64_t begin, next;  /* cycles of the first and of the next piece, at the earliest */
  uint32_t unit, cycles; /* cycles: atoms * CA */
  bool store, last;
  tg_execution execution; /* of a STORE that ends with the burst */
  uint64_t start;
  tg_burst burst; /* what an observer is told when it is over */
} tg_port_walk;

typedef struct tg_port_state {
  uint64_t free_at; /* first cycle that is not busy */
  uint32_t granted; /* context */
  tg_load *loads;   /* ring of agcu_buffers */
  uint32_t oldest, leaving,
      newest;       /* running numbers: first buffer in use, first burst not granted, next burst */
  uint64_t left_at; /* lane grant of the burst that left last */
  /* with a memory device */
  uint32_t arriving; /* first burst that is not complete */
  uint64_t link;     /* last cycle of the link for the burst before it */
  tg_port_walk walk;
} tg_port_state;

typedef struct tg_request {
  uint64_t age;
  uint32_t position, first, last; /* segments of the path, first <= last */
  uint32_t flits;
} tg_request;

typedef struct tg_lane_state {
  bool row, up; /* along a row; towards higher positions */
  uint32_t line;
  uint32_t direction; /* TG_DIR_EAST.. */
  uint32_t count;
  tg_request requests[17]; /* oldest first */
  uint64_t reserved[16];   /* R(s) */
} tg_lane_state;

typedef struct tg_overflow {
  uint64_t cycle;
  uint32_t semaphore;
} tg_overflow;

/* Deliberate defects, for tests of the tests (built with TEGULA_FAULTS only). */
enum {
  TG_DEFECT_NONE,
  TG_DEFECT_MX_LATENCY,
  TG_DEFECT_LOST_CREDIT,
  TG_DEFECT_IGNORED_WAIT,
  TG_DEFECT_VALUE_BIT
};
#ifdef TEGULA_FAULTS
#define TG_DEFECT(chip, which) ((chip)->options.fault == (which))
#else
#define TG_DEFECT(chip, which) false
#endif

typedef struct tg_chip {
  const tg_program *program;
  const tg_params *m;
  tg_run_options options;
  tg_dram *dram;
  bool values;               /* else only time */
  tg_machine_state *machine; /* without memories if only time is wanted */
  tg_values *computing;      /* with values */
  void (*wake)(void *host, uint32_t agent, uint64_t cycle);
  void *host;
  tg_arena arena;
  uint32_t units, ports, lanes,
      agents;        /* agents are numbered in this order, then memory, posts, the control */
  uint32_t banks;    /* of a tile, with its two accumulator halves */
  uint64_t *wake_at; /* of each agent */
  tg_unit_state *unit;
  tg_port_state *port;
  tg_lane_state *lane;
  tg_bank *bank;
  uint32_t streams;
  tg_stream_state *stream;
  uint16_t *first_stream;  /* of each endpoint */
  tg_post_lane *post_lane; /* as lanes are numbered */
  tg_post_due *due;        /* a heap, the earliest first; one of each stream at most */
  uint32_t due_count;
  tg_semaphore *semaphore;
  tg_post *posts; /* pool; entry 0 is not used */
  uint32_t post_count, post_capacity, post_free;
  tg_controller *memory;  /* NULL: the ports' latency is fixed */
  uint64_t followed;      /* cycle up to which the memory has been told of everything */
  uint32_t sending;       /* mask of ports with an active walk */
  tg_spans spans;         /* of a burst */
  tg_dram_counts counted; /* at the begin of the invocation */
  uint64_t read, written; /* of `dram`, then */
  uint16_t *first_unit;   /* of each endpoint */
  /* run */
  uint64_t now;
  uint32_t invocation;
  uint32_t open;     /* units with instructions left, and instructions whose end is not known */
  uint64_t begin;    /* cycle when the invocation begins, or began */
  bool half;         /* tg_section_is_half of the section that runs */
  uint64_t last_end; /* E so far */
  bool waiting;      /* for `begin` */
  bool ended;        /* ... because an invocation ended */
  bool stopped;      /* the run is over, one way or the other */
  uint32_t credits;  /* so far, to lose some of by a defect */
  uint64_t fault_at; /* earliest fault found */
  tg_diag fault;
  tg_actions *actions;    /* of the invocation */
  tg_status fault_status; /* TG_FAULT; TG_INVALID: the host had no memory */
  tg_overflow *overflows;
  size_t overflow_count, overflow_capacity;
  tg_section_time *sections;
  tg_event *events;
  size_t event_count, event_capacity;
} tg_chip;

/* chip.c: life, invocations, faults */
tg_chip *tg_chip_create(const tg_program *program, void (*wake)(void *host, uint32_t agent, uint64_t cycle),
                        void *host);
void tg_chip_destroy(tg_chip *chip);
/* Puts the first invocation into the future; the host then delivers wakes until none are left. */
void tg_chip_begin(tg_chip *chip, tg_dram *dram, const tg_run_options *options);
void tg_chip_act(tg_chip *chip, uint32_t agent, uint64_t now);
/* After the last wake: times and events, or the fault. */
tg_status tg_chip_finish(tg_chip *chip, tg_run_result *out_result, tg_diag *diag);
void tg_chip_wake(tg_chip *chip, uint32_t agent, uint64_t cycle);
/* A fault of cycle `cycle`, now or to come; the earliest one ends the run. */
void tg_chip_fault(tg_chip *chip, uint64_t cycle, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The end e of an instruction is known: event, posts, section end. */
void tg_chip_complete(tg_chip *chip, uint32_t unit, const tg_execution *execution, uint64_t start,
                      uint64_t end);
/* One thing less that keeps the section open. */
void tg_chip_retire(tg_chip *chip);

/* unit.c: sequencers and semaphores */
void tg_unit_begin(tg_chip *chip, uint32_t unit, uint64_t first_issue);
void tg_unit_act(tg_chip *chip, uint32_t unit);
void tg_unit_plan(tg_chip *chip,
                  uint32_t unit); /* wakes it when its next instruction can issue, if that is known */
void tg_unit_let_next(tg_chip *chip, uint32_t unit, uint64_t ready); /* a busy unit learns its next issue */
void tg_semaphore_post(tg_chip *chip, uint32_t semaphore, uint64_t visible);
void tg_semaphore_check(tg_chip *chip, uint32_t semaphore); /* for overflow, as registered now */

/* posts.c: streams of posts and post lanes */
void tg_posts_create(tg_chip *chip);
void tg_posts_reset(tg_chip *chip);
/* Performs the posts of all cycles before now. */
void tg_posts_follow(tg_chip *chip);
void tg_posts_act(tg_chip *chip);
/* Whether the stream of the unit's next instruction has room, as registered. */
bool tg_posts_room(const tg_chip *chip, uint32_t unit);
/* It issues now. */
void tg_posts_issue(tg_chip *chip, uint32_t unit, const tg_execution *x);
/* Its end is known. */
void tg_posts_end(tg_chip *chip, uint32_t unit, const tg_execution *x, uint64_t end);

/* compute.c: issue of GEMM and VOP */
void tg_mx_issue(tg_chip *chip, uint32_t unit, const tg_execution *x);
void tg_vx_issue(tg_chip *chip, uint32_t unit, const tg_execution *x);
uint64_t tg_mx_earliest(const tg_unit_state *u);

/* lane.c: SEND, arbiters, delivery */
void tg_tx_issue(tg_chip *chip, uint32_t unit, const tg_execution *x);
void tg_lane_act(tg_chip *chip, uint32_t lane);
/* `seen`: the cycle in which the arbiter sees it first. */
void tg_lane_request(tg_chip *chip, const tg_transfer *transfer, uint64_t seen, uint32_t flits);
tg_transfer tg_transfer_of(const tg_chip *chip, uint32_t endpoint, int64_t direction, int64_t mask);

/* agcu.c: LOAD, STORE, ports */
void tg_agcu_issue(tg_chip *chip, uint32_t unit, const tg_execution *x);
void tg_port_act(tg_chip *chip, uint32_t port);
void tg_port_granted(tg_chip *chip, uint32_t port); /* its lane request, now */
/* The data of the burst `number` are complete at a cycle that is known now. */
void tg_port_complete(tg_chip *chip, uint32_t port, uint32_t number, uint64_t cycle);
/* The port has sent all of its burst, and is busy until `last`. */
void tg_port_done(tg_chip *chip, uint32_t port, uint64_t last);

/* device.c: ports in front of a memory device */
void tg_device_create(tg_chip *chip);
bool tg_device_ready(tg_chip *chip, uint32_t port);
/* The walk of a burst that is granted now and that `spans` of the chip have, its first piece sent in cycle `begin` or later; port->walk says of which
 * unit, for a LOAD its tg_load is the newest. */
void tg_device_walk(tg_chip *chip, uint32_t port, uint64_t begin);
void tg_device_act(tg_chip *chip);
/* What the memory did since the last call, until now. */
tg_dram_counts tg_device_count(tg_chip *chip);
/* Ends the run: writes what waits, adds that to the counts, returns the last cycle with data of a write. */
uint64_t tg_device_finish(tg_chip *chip, tg_dram_counts *counts);

/* observe.c: what an observer is told, if there is one */
void tg_observe_instruction(const tg_chip *chip, const tg_unit_state *u, const tg_execution *x,
                            uint64_t start, uint64_t end);
/* `u` issues u->next now; it could have from `earliest` on, had its semaphores been there. */
void tg_observe_issue(const tg_chip *chip, const tg_unit_state *u, uint64_t earliest);
/* `flits` flits of `x` are granted on a lane now. */
void tg_observe_lane(const tg_chip *chip, uint32_t lane, uint32_t unit, const tg_execution *x, uint64_t asked,
                     uint32_t flits);
/* The port grants `flits` flits of the instruction of `u` now. `free_at`, `granted`: its state before. Gives the burst, whose
 * end is not known yet. */
tg_burst tg_observe_port(const tg_chip *chip, uint32_t port, const tg_unit_state *u, uint32_t flits,
                         uint32_t atoms, uint64_t free_at, uint32_t granted);
/* It is busy with it until `last`. */
void tg_observe_burst(const tg_chip *chip, tg_burst burst, uint64_t last);

/* bank.c: ownership */
void tg_bank_own(tg_chip *chip, uint32_t tile, uint32_t bank, tg_bank_port port, uint64_t first,
                 uint64_t last);
/* Rows row + (f / inner) * stride + f mod inner, f = first .. first + flits - 1, one a cycle from `cycle`
 * on. */
void tg_bank_own_rows(tg_chip *chip, uint32_t tile, tg_bank_port port, const tg_transfer *pattern,
                      uint32_t first, uint32_t flits, uint64_t cycle);
/* `count` banks from the bank of `row` on. */
void tg_bank_own_span(tg_chip *chip, uint32_t tile, tg_bank_port port, int64_t row, int64_t count,
                      uint64_t first, uint64_t last);

/* report.c: where everything stands, on one line */
const char *tg_endpoint_name(const tg_chip *chip, uint32_t endpoint, char out[40]);
const char *tg_bank_port_name(uint32_t port);
void tg_chip_describe(const tg_chip *chip, char *out, size_t size);

static inline uint32_t tg_agent_of_port(const tg_chip *chip, uint32_t port) { return chip->units + port; }
static inline uint32_t tg_agent_of_lane(const tg_chip *chip, uint32_t lane) {
  return chip->units + chip->ports + lane;
}
static inline uint32_t tg_agent_of_memory(const tg_chip *chip) { return chip->agents - 3; }
static inline uint32_t tg_agent_of_posts(const tg_chip *chip) { return chip->agents - 2; }
static inline uint32_t tg_agent_of_control(const tg_chip *chip) { return chip->agents - 1; }

#ifdef __cplusplus
}
#endif
#endif
