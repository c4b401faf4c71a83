#include "sim/functional/values.h"

#include "sim/functional/pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
  TILE_WORDS = 256 / 64,
  BATCH = 512,    /* executions: some milliseconds of work, and no more than the second-level cache holds */
  WORTHWHILE = 4, /* fewer are done before a thread wakes up */
  NONE = BATCH,
  SPINS = 256
};

/* Banks and accumulator halves, the same in each of a set of tiles. */
typedef struct area {
  uint64_t tiles[TILE_WORDS];
  uint64_t banks;
} area;

/* What an execution touches. */
typedef struct footprint {
  area own, arrival;
  uint32_t stores;   /* store memories, by AGCU */
  bool writes;       /* device memory */
  int64_t low, high; /* bytes of device memory; none if low == high */
} footprint;

typedef struct job {
  tg_execution x;
  uint32_t endpoint;
  tg_unit unit;
  footprint touches;
} job;

typedef struct batch {
  job jobs[BATCH];
  uint32_t count;
  atomic_uint next; /* the first that nobody has taken */
} batch;

/* Padded: each worker writes its own all the time. */
typedef struct worker {
  _Alignas(64) atomic_uint job; /* that it carries out, or tries to take; NONE */
} worker;

struct tg_values {
  const tg_kernels *kernels;
  tg_machine_state *state;
  tg_pool *pool;
  uint32_t threads, tile_words;
  batch *filling, *running; /* running: handed to the pool if it has jobs */
  worker *workers;
};

static void *memory(size_t count, size_t size) {
  void *block = aligned_alloc(64, (count * size + 63) / 64 * 64);
  if (!block) tg_die("out of memory");
  return memset(block, 0, count * size);
}

tg_values *tg_values_create(uint32_t threads) {
  tg_values *v = memory(1, sizeof *v);
  v->pool = tg_pool_create(threads);
  v->threads = tg_pool_threads(v->pool);
  v->workers = memory(v->threads, sizeof *v->workers);
  v->filling = memory(1, sizeof *v->filling);
  v->running = memory(1, sizeof *v->running);
  for (uint32_t w = 0; w < v->threads; w++) atomic_init(&v->workers[w].job, NONE);
  return v;
}

void tg_values_destroy(tg_values *v) {
  if (!v) return;
  tg_pool_destroy(v->pool);
  free(v->workers);
  free(v->filling);
  free(v->running);
  free(v);
}

void tg_values_bind(tg_values *v, const tg_kernels *kernels, tg_machine_state *state) {
  v->kernels = kernels;
  v->state = state;
  v->tile_words = (tg_tiles(&state->params) + 63) / 64;
}

/* --- what an execution touches --- */

static void add_banks(area *to, uint32_t tile, uint32_t first, uint32_t last) {
  to->tiles[tile / 64] |= 1ull << tile % 64;
  to->banks |= (2ull << last) - (1ull << first);
}

static void add_arrivals(const tg_params *m, uint32_t endpoint, uint32_t dir, uint32_t mask, uint32_t first,
                         uint32_t last, footprint *out) {
  for (; mask; mask &= mask - 1) {
    uint32_t at = tg_lane_endpoint(m, endpoint, dir, (uint32_t)__builtin_ctz(mask));
    if (at < tg_tiles(m))
      add_banks(&out->arrival, at, first, last);
    else
      out->stores |= 1u << (at - tg_tiles(m));
  }
}

static uint32_t direction(const tg_params *m, uint32_t endpoint, const tg_execution *x) {
  if (endpoint < tg_tiles(m)) return (uint32_t)x->in->tx.dir;
  return tg_is_west(m, endpoint - tg_tiles(m)) ? TG_DIR_EAST : TG_DIR_SOUTH;
}

static void add_device_memory(const tg_machine_state *state, const tg_execution *x, footprint *out) {
  const tg_agcu_instr *in = &x->in->agcu;
  tg_walk walk;
  tg_walk_begin(&walk, &state->params, in, x->index, state->bases[in->base]);
  tg_walk_reach(&walk, &out->low, &out->high);
  out->writes = in->op == TG_OP_agcu_store;
}

static void measure(const tg_machine_state *state, uint32_t endpoint, tg_unit unit, const tg_execution *x,
                    const tg_accesses *accesses, footprint *out) {
  const tg_params *m = &state->params;
  *out = (footprint){0};
  for (uint32_t i = 0; i < accesses->count; i++) {
    const tg_access *a = &accesses->access[i];
    uint32_t base = x->address[a->operand], rows = a->memory == TG_MEM_ACC ? tg_acc_rows(m) : tg_bank_rows(m);
    uint32_t first = (uint32_t)(base + a->low) / rows, last = (uint32_t)(base + a->high) / rows;
    switch (a->memory) {
    case TG_MEM_PAD: add_banks(&out->own, endpoint, first, last); break;
    case TG_MEM_ACC: add_banks(&out->own, endpoint, m->banks + first, m->banks + last); break;
    case TG_MEM_STORE:
    case TG_MEM_INDEX: out->stores |= 1u << (endpoint - tg_tiles(m)); break;
    case TG_MEM_ARRIVAL:
      add_arrivals(m, endpoint, direction(m, endpoint, x), a->destinations, first, last, out);
      break;
    }
  }
  if (unit == TG_AGCU) add_device_memory(state, x, out);
}

static bool areas_meet(const area *a, const area *b, uint32_t words) {
  if (!(a->banks & b->banks)) return false;
  uint64_t both = 0;
  for (uint32_t w = 0; w < words; w++) both |= a->tiles[w] & b->tiles[w];
  return both != 0;
}

static bool conflict(const footprint *a, const footprint *b, uint32_t words) {
  if (a->stores & b->stores) return true;
  if ((a->writes || b->writes) && a->low < b->high && b->low < a->high) return true;
  return areas_meet(&a->own, &b->own, words) || areas_meet(&a->own, &b->arrival, words) ||
         areas_meet(&a->arrival, &b->own, words) || areas_meet(&a->arrival, &b->arrival, words);
}

/* --- carrying out --- */

static void transfer(tg_machine_state *state, uint32_t agcu, const tg_execution *x) {
  const tg_agcu_instr *in = &x->in->agcu;
  tg_walk walk;
  tg_diag ignored;
  tg_status status = TG_OK;
  tg_walk_begin(&walk, &state->params, in, x->index, state->bases[in->base]);
  if (in->index_size) walk.indices = state->stores[agcu] + sizeof(uint32_t) * x->address[TG_AT_INDEX];
  while (!status && walk.flit < walk.flits)
    status = in->op == TG_OP_agcu_load ? tg_exec_load(state, agcu, x, &walk, NULL, &ignored)
                                       : tg_exec_store(state, agcu, x, &walk, NULL, &ignored);
}

static void carry_out(const tg_values *v, uint32_t endpoint, tg_unit unit, const tg_execution *x) {
  switch (unit) {
  case TG_MX: tg_exec_gemm(v->kernels, v->state, endpoint, x); return;
  case TG_VX: tg_exec_vop(v->kernels, v->state, endpoint, x); return;
  case TG_TX: tg_exec_send(v->state, endpoint, x, 0, (uint32_t)x->in->tx.flits); return;
  case TG_AGCU: transfer(v->state, endpoint - tg_tiles(&v->state->params), x); return;
  }
}

static void wait_a_little(uint32_t *spins) {
  if (++*spins > SPINS) sched_yield(); /* the other one may want this core */
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* Until no other worker has an earlier job that is in the way of job `i`. Every earlier job is done or shown
 * by its worker: it was shown before it was taken, and taken before `i`. */
static void await_earlier(const tg_values *v, const batch *b, uint32_t own, uint32_t i) {
  uint32_t spins = 0, other;
  for (uint32_t w = 0; w < v->threads; w++)
    while (w != own && (other = atomic_load(&v->workers[w].job)) < i &&
           conflict(&b->jobs[other].touches, &b->jobs[i].touches, v->tile_words))
      wait_a_little(&spins);
}

/* Takes the next job. A worker that is not quick enough shows one that another has taken, for a moment. */
static uint32_t take(batch *b, worker *w) {
  uint32_t i = atomic_load(&b->next);
  do {
    if (i >= b->count) i = NONE;
    atomic_store(&w->job, i);
  } while (i != NONE && !atomic_compare_exchange_weak(&b->next, &i, i + 1));
  return i;
}

static void work(void *data, uint32_t own) {
  tg_values *v = data;
  batch *b = v->running;
  for (uint32_t i; (i = take(b, &v->workers[own])) != NONE;) {
    await_earlier(v, b, own, i);
    const job *j = &b->jobs[i];
    carry_out(v, j->endpoint, j->unit, &j->x);
  }
}

/* Waits for the batch that runs, and helps. */
static void join(tg_values *v) {
  if (!v->running->count) return;
  tg_pool_finish(v->pool);
  v->running->count = 0;
}

static void start(tg_values *v) {
  join(v);
  batch *b = v->filling;
  v->filling = v->running;
  v->running = b;
  atomic_store(&b->next, 0);
  tg_pool_start(v->pool, v->threads, work, v);
}

void tg_values_add(tg_values *v, uint32_t endpoint, tg_unit unit, const tg_execution *x,
                   const tg_accesses *accesses) {
  if (x->in->common.op == TG_OP_sync) return;
  if (v->threads == 1) {
    carry_out(v, endpoint, unit, x);
    return;
  }
  job *j = &v->filling->jobs[v->filling->count++];
  j->x = *x;
  j->endpoint = endpoint;
  j->unit = unit;
  measure(v->state, endpoint, unit, x, accesses, &j->touches);
  if (v->filling->count == BATCH) start(v);
}

void tg_values_finish(tg_values *v) {
  if (v->filling->count >= WORTHWHILE) start(v);
  join(v);
  for (uint32_t i = 0; i < v->filling->count; i++) {
    const job *j = &v->filling->jobs[i];
    carry_out(v, j->endpoint, j->unit, &j->x);
  }
  v->filling->count = 0;
}
