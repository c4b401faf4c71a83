/* One execution of a section in the manner of a Kahn network: order of issue does not matter, since every
 * semaphore has one waiting unit. Each unit carries a vector clock of what has certainly happened when its
 * next instruction issues; an access must find the latest access to its bank among that.
 *
 * Components of a clock. Each unit has one: the ordinal of its last execution known to have ended. A sender
 * has one more for each destination: the ordinal of its last execution whose flits are known to have arrived
 * there, which only the semaphore behind the flits tells. Component 0 is nobody's. */
#include "sim/machine/ordering.h"

#include "sim/machine/access.h"
#include "sim/machine/walk.h"

#include <stdio.h>
#include <string.h>

enum {
  MAX_EXECUTIONS = 50000000,  /* of a section */
  MAX_STORE_ROWS = 500000000, /* visits of rows of store memories, and of runs of flits */
  MAX_CLOCK_BYTES = 1 << 30,
  MAX_COUNT = 255, /* of a semaphore */
  POSITIONS = 17,
};

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
  uint32_t
      *taken_by; /* ordinals of the waiter's executions at the last 256 takes; NULL if it cannot overflow */
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
} site;

typedef struct unit {
  tg_sequencer sequencer;
  uint32_t endpoint, context, component, executed;
  tg_unit kind;
  bool queued;
  uint32_t channel[2][POSITIONS]; /* components of row and column destinations, 0: none */
  uint32_t *known;                /* the clock */
  site *sites;
  uint32_t a_banks, a_ordinal; /* mx: of the last GEMM whose A rows the next one's B rows may overlap */
} unit;

/* The last access to a bank, an accumulator half or a row of a store memory. It stands for all before it. */
typedef struct mark {
  uint32_t component, ordinal, unit, index[TG_LEVELS];
  uint16_t pc;
} mark;

enum { NONE = UINT32_MAX, MAX_BANKS = 32, HALF0 = MAX_BANKS, MARKS = MAX_BANKS + 2 };

typedef struct check {
  const tg_program *program;
  const tg_params *m;
  const tg_section *section;
  uint32_t section_index;
  tg_arena arena;
  uint32_t unit_count, components, endpoints;
  unit *units;
  semaphore *semaphores; /* params.semaphores an endpoint */
  mark **marks;          /* of an endpoint: MARKS of a tile, rows of a store memory */
  clock *free_clocks;
  uint64_t clock_bytes, executions, rows;
  uint32_t *queue, queue_head, queue_count; /* units to try, a ring */
  tg_diag *diag;
} check;

/* ---- reports ---- */

static void name_endpoint(const check *k, uint32_t endpoint, char *out, size_t size) {
  uint32_t tiles = tg_tiles(k->m);
  snprintf(out, size, "%s %u", endpoint < tiles ? "tile" : "agcu",
           endpoint < tiles ? endpoint : endpoint - tiles);
}

static void name_unit(const check *k, uint32_t index, char *out, size_t size) {
  const unit *u = &k->units[index];
  char at[32];
  name_endpoint(k, u->endpoint, at, sizeof at);
  if (u->kind == TG_AGCU)
    snprintf(out, size, "%s context %u", at, u->context);
  else
    snprintf(out, size, "%s %s", at, tg_unit_name(u->kind));
}

static tg_status at_execution(const check *k, const unit *u, const tg_execution *x) {
  char name[64];
  name_unit(k, (uint32_t)(u - k->units), name, sizeof name);
  tg_diag_prefix(k->diag, "%s pc %u [%u %u %u]", name, x->pc, x->index[0], x->index[1], x->index[2]);
  return TG_MISMATCH;
}

static tg_status too_long(const check *k, const char *what) {
  return tg_fail(k->diag, TG_INVALID, "its order is too long to prove: more than %s", what);
}

static tg_status semaphore_fails(const check *k, const semaphore *s, const char *what) {
  char name[32];
  uint32_t index = (uint32_t)(s - k->semaphores);
  name_endpoint(k, index / k->m->semaphores, name, sizeof name);
  return tg_fail(k->diag, TG_MISMATCH, "semaphore %u of %s %s", index % k->m->semaphores, name, what);
}

/* ---- set-up ---- */

static semaphore *semaphore_at(const check *k, uint32_t endpoint, int64_t number) {
  return &k->semaphores[(size_t)endpoint * k->m->semaphores + (size_t)number];
}

static poster *poster_of(check *k, semaphore *s, uint32_t unit, sequence sequence, uint32_t component) {
  for (poster *p = s->posters; p; p = p->next)
    if (p->unit == unit && p->sequence == sequence) return p;
  poster *p = TG_NEW(&k->arena, poster);
  *p = (poster){
      .next = s->posters, .semaphore = s, .unit = unit, .sequence = sequence, .component = component};
  return s->posters = p;
}

static uint32_t post_endpoint(const check *k, const unit *u, const tg_common_instr *in, int i) {
  if (in->post_kind[i] == TG_POST_LOCAL) return u->endpoint;
  return tg_lane_endpoint(k->m, u->endpoint, in->post_kind[i] == TG_POST_ROW ? TG_EAST : TG_SOUTH,
                          (uint32_t)in->post_pos[i]);
}

static sequence end_sequence(const unit *u, const tg_instr *in) {
  bool late = u->kind == TG_MX     ? in->common.op[0] == TG_OP_mx_gemm
              : u->kind == TG_AGCU ? in->common.op[0] == TG_OP_agcu_load
                                   : false;
  return late ? LATE : IN_ORDER;
}

static void set_up_arrivals(check *k, unit *u, const tg_instr *in, site *site) {
  bool send = u->kind == TG_TX && in->common.op[0] == TG_OP_tx_send,
       load = u->kind == TG_AGCU && in->common.op[0] == TG_OP_agcu_load;
  if (!send && !load) return;
  int64_t mask = send ? in->tx.dst_mask[0] : in->agcu.dst_mask[0],
          sem = send ? in->tx.dst_sem[0] : in->agcu.dst_sem[0];
  bool posts = send ? in->tx.dst_post[0] : in->agcu.dst_post[0];
  uint32_t dir =
      send ? (uint32_t)in->tx.dir[0] : (tg_is_west(k->m, u->endpoint - tg_tiles(k->m)) ? TG_EAST : TG_SOUTH);
  site->arrivals = TG_NEW_ARRAY(&k->arena, arrival, (size_t)__builtin_popcountll((uint64_t)mask));
  for (uint32_t pos = 0; pos < POSITIONS; pos++) {
    if (!(mask >> pos & 1)) continue;
    uint32_t *channel = &u->channel[dir == TG_SOUTH || dir == TG_NORTH][pos];
    if (!*channel) *channel = k->components++;
    arrival *a = &site->arrivals[site->arrival_count++];
    *a = (arrival){
        .position = pos, .endpoint = tg_lane_endpoint(k->m, u->endpoint, dir, pos), .component = *channel};
    if (posts)
      a->poster =
          poster_of(k, semaphore_at(k, a->endpoint, sem), (uint32_t)(u - k->units), ARRIVAL, *channel);
  }
}

static tg_status claim(check *k, semaphore *s, uint32_t unit) {
  if (s->waiter != NONE && s->waiter != unit) return semaphore_fails(k, s, "has two waiting units");
  s->waiter = unit;
  return TG_OK;
}

static tg_status set_up_site(check *k, unit *u, uint32_t pc) {
  const tg_instr *in = &u->sequencer.queue->instrs[pc];
  site *site = &u->sites[pc];
  uint32_t index = (uint32_t)(u - k->units);
  tg_status status = TG_OK;
  tg_instr_accesses(k->m, u->endpoint < tg_tiles(k->m) ? &k->section->tiles[u->endpoint] : NULL, u->kind, in,
                    &site->accesses);
  for (int i = 0; i < 4 && !status; i++) {
    if (in->common.wait_on[i]) status = claim(k, semaphore_at(k, u->endpoint, in->common.wait_sem[i]), index);
    if (in->common.post_kind[i] != TG_POST_NONE)
      site->post[i] =
          poster_of(k, semaphore_at(k, post_endpoint(k, u, &in->common, i), in->common.post_sem[i]), index,
                    end_sequence(u, in), 0);
  }
  for (int pos = 0; pos < POSITIONS && !status; pos++)
    if (in->common.credit_mask[0] >> pos & 1)
      status = claim(k, semaphore_at(k, u->endpoint, in->common.credit_base[0] + pos), index);
  set_up_arrivals(k, u, in, site);
  return status;
}

/* How often each semaphore is posted in the whole section. */
static tg_status count_posts(check *k, unit *u) {
  tg_sequencer s = u->sequencer;
  for (; !tg_sequencer_done(&s); tg_sequencer_step(&s)) {
    if (++k->executions > MAX_EXECUTIONS) return too_long(k, "50000000 instructions are executed");
    const site *site = &u->sites[s.pc];
    tg_execution x = tg_sequencer_peek(&s);
    for (int i = 0; i < 4; i++)
      if (tg_execution_posts(&x, i)) site->post[i]->total++;
    for (uint32_t a = 0; a < site->arrival_count; a++)
      if (site->arrivals[a].poster) site->arrivals[a].poster->total++;
  }
  return TG_OK;
}

static void add_unit(check *k, uint32_t endpoint, tg_unit kind, uint32_t context, const tg_queue *queue) {
  if (!queue->count) return;
  unit *u = &k->units[k->unit_count++];
  tg_sequencer_init(&u->sequencer, kind, queue);
  u->endpoint = endpoint;
  u->kind = kind;
  u->context = context;
  u->component = k->components++;
  u->sites = TG_NEW_ARRAY(&k->arena, site, queue->count);
}

static void add_units(check *k) {
  uint32_t tiles = tg_tiles(k->m), agcus = tg_agcus(k->m);
  k->units = TG_NEW_ARRAY(&k->arena, unit, 3 * tiles + agcus * k->m->agcu_contexts);
  for (uint32_t t = 0; t < tiles; t++) {
    const tg_tile_program *tile = &k->section->tiles[t];
    add_unit(k, t, TG_MX, 0, &tile->mx);
    add_unit(k, t, TG_VX, 0, &tile->vx);
    add_unit(k, t, TG_TX, 0, &tile->tx);
  }
  for (uint32_t a = 0; a < agcus; a++)
    for (uint32_t c = 0; c < k->m->agcu_contexts; c++)
      add_unit(k, tiles + a, TG_AGCU, c, &k->section->agcus[a].contexts[c]);
}

static void add_memories(check *k) {
  uint32_t tiles = tg_tiles(k->m);
  k->endpoints = tiles + tg_agcus(k->m);
  k->semaphores = TG_NEW_ARRAY(&k->arena, semaphore, (size_t)k->endpoints * k->m->semaphores);
  k->marks = TG_NEW_ARRAY(&k->arena, mark *, k->endpoints);
  for (uint32_t e = 0; e < k->endpoints; e++) {
    k->marks[e] = TG_NEW_ARRAY(&k->arena, mark, e < tiles ? MARKS : tg_store_rows(k->m));
    const uint8_t *initial =
        e < tiles ? k->section->tiles[e].sem_init : k->section->agcus[e - tiles].sem_init;
    for (uint32_t s = 0; s < k->m->semaphores; s++)
      *semaphore_at(k, e, s) = (semaphore){.initial = initial[s], .waiter = NONE};
  }
}

static tg_status set_up(check *k) {
  k->components = 1;
  add_memories(k);
  add_units(k);
  tg_status status = TG_OK;
  for (uint32_t i = 0; i < k->unit_count; i++) {
    unit *u = &k->units[i];
    for (uint32_t pc = 0; !status && pc < u->sequencer.queue->count; pc++) status = set_up_site(k, u, pc);
    if (!status) status = count_posts(k, u);
  }
  if (status) return status;
  for (size_t i = 0; i < (size_t)k->endpoints * k->m->semaphores; i++) {
    semaphore *s = &k->semaphores[i];
    for (poster *p = s->posters; p; p = p->next) s->total += p->total;
    if (s->total + s->initial > MAX_COUNT) s->taken_by = TG_NEW_ARRAY(&k->arena, uint32_t, 256);
  }
  k->queue = TG_NEW_ARRAY(&k->arena, uint32_t, k->unit_count + 1);
  for (uint32_t i = 0; i < k->unit_count; i++)
    k->units[i].known = TG_NEW_ARRAY(&k->arena, uint32_t, k->components);
  return TG_OK;
}

/* ---- clocks ---- */

static clock *new_clock(check *k, const unit *u) {
  clock *c = k->free_clocks;
  size_t size = sizeof *c + k->components * sizeof *c->at;
  if (c) {
    k->free_clocks = c->next;
  } else {
    k->clock_bytes += size;
    c = tg_arena_alloc(&k->arena, 1, size);
  }
  c->users = 1;
  memcpy(c->at, u->known, k->components * sizeof *c->at);
  return c;
}

static void drop_clock(check *k, clock *c) {
  if (--c->users) return;
  c->next = k->free_clocks;
  k->free_clocks = c;
}

static void append(check *k, poster *p, clock *clock, uint32_t ordinal) {
  uint64_t count = p->posted - p->joined;
  if (count == p->capacity) {
    uint32_t capacity = p->capacity ? 2 * p->capacity : 4;
    struct posted *ring = TG_NEW_ARRAY(&k->arena, struct posted, capacity);
    for (uint64_t i = p->joined; i < p->posted; i++) ring[i % capacity] = p->ring[i % p->capacity];
    k->clock_bytes += capacity * sizeof *ring;
    p->ring = ring;
    p->capacity = capacity;
  }
  p->ring[p->posted++ % p->capacity] = (struct posted){clock, ordinal};
  clock->users++;
}

/* At least `count` posts of `p` have happened. */
static void join(check *k, unit *u, poster *p, uint64_t count) {
  if (count <= p->joined) return;
  const struct posted *last = &p->ring[(count - 1) % p->capacity];
  for (uint32_t c = 0; c < k->components; c++)
    if (u->known[c] < last->clock->at[c]) u->known[c] = last->clock->at[c];
  if (p->sequence == ARRIVAL && u->known[p->component] < last->ordinal)
    u->known[p->component] = last->ordinal;
  for (; p->joined < count; p->joined++) drop_clock(k, p->ring[p->joined % p->capacity].clock);
}

/* One more taken: so many posts must have been made that even with all that the others will ever make... */
static void take(check *k, unit *u, semaphore *s) {
  if (s->taken_by) s->taken_by[s->taken % 256] = u->executed;
  s->taken++;
  if (s->taken <= s->initial) return;
  uint64_t posts = s->taken - s->initial;
  for (poster *p = s->posters; p; p = p->next)
    if (posts + p->total > s->total) join(k, u, p, posts + p->total - s->total);
}

/* A count above 255 in some timing: the post does not wait for the take that makes room for it. */
static bool overflows(const check *k, const semaphore *s, const clock *c) {
  uint64_t sum = s->posted + s->initial;
  if (sum <= MAX_COUNT) return false;
  if (sum - s->taken > MAX_COUNT || s->waiter == NONE) return true;
  if (s->posters->next) return false; /* the others' posts may come later */
  return c->at[k->units[s->waiter].component] < s->taken_by[(sum - MAX_COUNT - 1) % 256];
}

static void enqueue(check *k, uint32_t index) {
  if (index == NONE || k->units[index].queued) return;
  k->units[index].queued = true;
  k->queue[(k->queue_head + k->queue_count++) % (k->unit_count + 1)] = index;
}

static tg_status post(check *k, poster *p, clock *c, uint32_t ordinal) {
  append(k, p, c, ordinal);
  p->semaphore->posted++;
  if (overflows(k, p->semaphore, c)) return semaphore_fails(k, p->semaphore, "may exceed 255");
  enqueue(k, p->semaphore->waiter);
  return TG_OK;
}

/* ---- accesses ---- */

typedef struct accessor {
  unit *u;
  const tg_execution *x;
  uint32_t component; /* of the access */
} accessor;

static tg_status conflict(const check *k, const accessor *by, uint32_t endpoint, uint32_t place,
                          const mark *was) {
  char where[32], now[64], before[64], what[32];
  name_endpoint(k, endpoint, where, sizeof where);
  name_unit(k, (uint32_t)(by->u - k->units), now, sizeof now);
  name_unit(k, was->unit, before, sizeof before);
  if (endpoint >= tg_tiles(k->m))
    snprintf(what, sizeof what, "store row %u", place);
  else if (place >= HALF0)
    snprintf(what, sizeof what, "accumulator half %u", place - HALF0);
  else
    snprintf(what, sizeof what, "bank %u", place);
  const uint32_t *i = by->x->index, *j = was->index;
  return tg_fail(k->diag, TG_MISMATCH,
                 "%s, %s: %s pc %u [%u %u %u] does not wait for the end of %s pc %u [%u %u %u]", where, what,
                 now, by->x->pc, i[0], i[1], i[2], before, was->pc, j[0], j[1], j[2]);
}

static tg_status touch(check *k, const accessor *by, uint32_t endpoint, uint32_t place) {
  mark *was = &k->marks[endpoint][place];
  if (was->component != by->component && was->ordinal > by->u->known[was->component])
    return conflict(k, by, endpoint, place, was);
  *was = (mark){.component = by->component,
                .ordinal = by->u->executed,
                .unit = (uint32_t)(by->u - k->units),
                .index = {by->x->index[0], by->x->index[1], by->x->index[2]},
                .pc = by->x->pc};
  return TG_OK;
}

static tg_status touch_mask(check *k, const accessor *by, uint32_t endpoint, uint64_t mask) {
  tg_status status = TG_OK;
  for (; mask && !status; mask &= mask - 1) status = touch(k, by, endpoint, (uint32_t)__builtin_ctzll(mask));
  return status;
}

static uint64_t bits(uint64_t first, uint64_t last) { return ((2ull << last) - 1) & ~((1ull << first) - 1); }

/* Banks of rows low .. high, which lie in the scratchpad. */
static uint64_t banks_of(const check *k, int64_t low, int64_t high) {
  return bits((uint64_t)low / tg_bank_rows(k->m), (uint64_t)high / tg_bank_rows(k->m));
}

/* Banks that the machine counts as owned: `count` from the one of the address on. */
static uint64_t owned(const check *k, uint32_t address, int64_t count) {
  uint64_t bank = address / tg_bank_rows(k->m), last = bank + (uint64_t)count - 1;
  if (!count || bank >= k->m->banks) return 0;
  return bits(bank, last < k->m->banks ? last : k->m->banks - 1);
}

static uint64_t half_of(const check *k, uint32_t row) { return 1ull << (HALF0 + (row >= tg_acc_rows(k->m))); }

/* Banks and halves that the rows of an access lie in. */
static uint64_t used(const check *k, const tg_access *a, const tg_execution *x) {
  int64_t low = x->address[a->operand] + a->low, high = x->address[a->operand] + a->high;
  if (a->memory == TG_MEM_ACC) return half_of(k, (uint32_t)low) | half_of(k, (uint32_t)high);
  return a->memory == TG_MEM_PAD ? banks_of(k, low, high) : 0;
}

/* Two ports of one unit. */
static tg_status own_ports(const check *k, uint64_t both, const char *what) {
  return tg_fail(k->diag, TG_MISMATCH, "bank %d serves %s at once", __builtin_ctzll(both), what);
}

/* The stationary rows of a block are read while A rows of the one before stream, unless these are few. */
static tg_status gemm_ports(check *k, accessor *by, uint64_t a, uint64_t b) {
  const tg_mx_instr *in = &by->x->in->mx;
  unit *u = by->u;
  uint64_t p = k->m->p, stationary = in->format[0] == TG_FMT_FP32 ? p : 2 * p;
  uint64_t rows = (uint64_t)(in->m_count[0] * in->m_count[1]),
           least = stationary * k->m->fma_latency + stationary + (p > 3 ? p : 3),
           pitch = rows > least ? rows : least, blocks = 1;
  for (int l = 0; l < 4; l++) blocks *= (uint64_t)in->blk_count[l];
  if ((a & b) && blocks > 1) return own_ports(k, a & b, "both operands of the GEMM");
  if ((u->a_banks & b) && u->known[u->component] < u->a_ordinal)
    return own_ports(k, u->a_banks & b, "operand a of the GEMM before and operand b");
  u->a_banks = pitch - stationary < rows ? (uint32_t)a : 0;
  u->a_ordinal = u->executed;
  return TG_OK;
}

static tg_status touch_gemm(check *k, accessor *by, const tg_accesses *accesses) {
  const tg_mx_instr *in = &by->x->in->mx;
  uint64_t mask[3] = {owned(k, by->x->address[TG_AT_A], in->a_banks[0]),
                      owned(k, by->x->address[TG_AT_B], in->b_banks[0]), 0};
  for (uint32_t i = 0; i < accesses->count; i++)
    mask[accesses->access[i].operand] |= used(k, &accesses->access[i], by->x);
  tg_status status = gemm_ports(k, by, mask[TG_AT_A], mask[TG_AT_B]);
  if (status) return at_execution(k, by->u, by->x);
  return touch_mask(k, by, by->u->endpoint, mask[0] | mask[1] | mask[2]);
}

static tg_status touch_vop(check *k, accessor *by, const tg_accesses *accesses) {
  const tg_vx_instr *in = &by->x->in->vx;
  uint64_t mask[2] = {0, 0}; /* loads, stores */
  for (int t = 0; t < TG_STREAMS; t++) {
    const tg_stream *s = tg_stream_of(in, t);
    if (s->kind[0] == TG_STREAM_NONE) continue;
    mask[s->store[0]] |= s->kind[0] == TG_STREAM_ACC ? half_of(k, by->x->address[t])
                                                     : owned(k, by->x->address[t], s->banks[0]);
  }
  for (uint32_t i = 0; i < accesses->count; i++)
    mask[tg_stream_of(in, accesses->access[i].operand)->store[0]] |= used(k, &accesses->access[i], by->x);
  if (mask[0] & mask[1]) {
    own_ports(k, mask[0] & mask[1], "load and store streams of the VOP");
    return at_execution(k, by->u, by->x);
  }
  return touch_mask(k, by, by->u->endpoint, mask[0] | mask[1]);
}

static tg_status touch_store_rows(check *k, accessor *by, uint32_t endpoint, uint32_t first, uint32_t count) {
  tg_status status = TG_OK;
  k->rows += count;
  for (uint32_t i = 0; i < count && !status; i++) status = touch(k, by, endpoint, first + i);
  return status;
}

/* `flits` in runs of `inner` rows `stride` apart, as they arrive at `endpoint` (or leave it). */
static tg_status touch_runs(check *k, accessor *by, uint32_t endpoint, uint32_t base, uint32_t flits,
                            int64_t inner, int64_t stride) {
  uint64_t mask = 0;
  int64_t row = base;
  for (uint32_t f = 0; f < flits; row += stride) {
    uint32_t count = flits - f < inner ? flits - f : (uint32_t)inner;
    if (endpoint < tg_tiles(k->m)) {
      k->rows++;
      mask |= banks_of(k, row, row + count - 1);
    } else {
      tg_status status = touch_store_rows(k, by, endpoint, (uint32_t)row, count);
      if (status) return status;
    }
    f += count;
  }
  return touch_mask(k, by, endpoint, mask);
}

static tg_status touch_arrivals(check *k, accessor *by, const site *site, uint32_t flits, int64_t inner,
                                int64_t stride) {
  tg_status status = TG_OK;
  for (uint32_t i = 0; i < site->arrival_count && !status; i++) {
    by->component = site->arrivals[i].component;
    status = touch_runs(k, by, site->arrivals[i].endpoint, by->x->address[TG_AT_DST], flits, inner, stride);
  }
  return status;
}

static tg_status touch_all(check *k, unit *u, const tg_execution *x, const site *site) {
  if (x->in->common.op[0] == TG_OP_sync) return TG_OK;
  accessor by = {.u = u, .x = x, .component = u->component};
  const tg_tx_instr *tx = &x->in->tx;
  const tg_agcu_instr *agcu = &x->in->agcu;
  tg_status status;
  switch (u->kind) {
  case TG_MX: return touch_gemm(k, &by, &site->accesses);
  case TG_VX: return touch_vop(k, &by, &site->accesses);
  case TG_TX:
    status = touch_runs(k, &by, u->endpoint, x->address[TG_AT_SRC], (uint32_t)tx->flits[0], tx->src_inner[0],
                        tx->src_stride[0]);
    if (status) return status;
    return touch_arrivals(k, &by, site, (uint32_t)tx->flits[0], tx->dst_inner[0], tx->dst_stride[0]);
  case TG_AGCU: break;
  }
  uint32_t flits = tg_agcu_flits(k->m, agcu);
  if (agcu->op[0] == TG_OP_agcu_store)
    return touch_store_rows(k, &by, u->endpoint, x->address[TG_AT_SRC], flits);
  return touch_arrivals(k, &by, site, flits, agcu->dst_inner[0], agcu->dst_stride[0]);
}

/* ---- execution ---- */

static bool ready(const check *k, const unit *u, const uint16_t *waits, uint32_t count,
                  semaphore **out_missing) {
  for (uint32_t i = 0; i < count; i++) {
    semaphore *s = semaphore_at(k, u->endpoint, waits[i]);
    *out_missing = s;
    if (s->initial + s->posted == s->taken) return false;
  }
  return true;
}

static tg_status post_all(check *k, unit *u, const tg_execution *x, const site *site) {
  bool posts = site->arrival_count;
  for (int i = 0; i < 4; i++) posts = posts || tg_execution_posts(x, i);
  if (!posts) return TG_OK;
  clock *c = new_clock(k, u);
  /* A SYNC of mx may end while GEMMs before it are in flight. */
  if (u->kind != TG_MX || end_sequence(u, x->in) == LATE) c->at[u->component] = u->executed;
  tg_status status = TG_OK;
  for (int i = 0; i < 4 && !status; i++)
    if (tg_execution_posts(x, i)) status = post(k, site->post[i], c, u->executed);
  for (uint32_t a = 0; a < site->arrival_count && !status; a++)
    if (site->arrivals[a].poster) status = post(k, site->arrivals[a].poster, c, u->executed);
  drop_clock(k, c);
  return status ? at_execution(k, u, x) : TG_OK;
}

static tg_status execute(check *k, unit *u, const tg_execution *x, const uint16_t *waits,
                         uint32_t wait_count) {
  const site *site = &u->sites[x->pc];
  u->executed++;
  for (uint32_t i = 0; i < wait_count; i++) take(k, u, semaphore_at(k, u->endpoint, waits[i]));
  if (tg_accesses_check(k->m, &site->accesses, x, k->diag)) return at_execution(k, u, x);
  tg_status status = touch_all(k, u, x, site);
  if (!status) status = post_all(k, u, x, site);
  /* All but mx end an instruction before the next issues, as far as their own memory is concerned. */
  if (u->kind != TG_MX) u->known[u->component] = u->executed;
  if (status) return status;
  if (k->rows > MAX_STORE_ROWS) return too_long(k, "500000000 rows are sent");
  return k->clock_bytes > MAX_CLOCK_BYTES ? too_long(k, "2^30 bytes of posts are pending") : TG_OK;
}

/* As far as it gets. */
static tg_status run_unit(check *k, unit *u) {
  uint16_t waits[TG_MAX_WAITS];
  semaphore *missing;
  while (!tg_sequencer_done(&u->sequencer)) {
    tg_execution x = tg_sequencer_peek(&u->sequencer);
    uint32_t count = tg_execution_waits(&x, waits);
    if (!ready(k, u, waits, count, &missing)) return TG_OK;
    tg_status status = execute(k, u, &x, waits, count);
    if (status) return status;
    tg_sequencer_step(&u->sequencer);
  }
  return TG_OK;
}

static tg_status check_finished(const check *k) {
  uint16_t waits[TG_MAX_WAITS];
  semaphore *missing = NULL;
  for (uint32_t i = 0; i < k->unit_count; i++) {
    const unit *u = &k->units[i];
    if (tg_sequencer_done(&u->sequencer)) continue;
    tg_execution x = tg_sequencer_peek(&u->sequencer);
    if (ready(k, u, waits, tg_execution_waits(&x, waits), &missing)) continue;
    semaphore_fails(k, missing, "is never posted again (deadlock)");
    return at_execution(k, u, &x);
  }
  return TG_OK;
}

static bool known_to_any(const check *k, const mark *mark) {
  for (uint32_t i = 0; i < k->unit_count; i++)
    if (k->units[i].known[mark->component] >= mark->ordinal) return true;
  return false;
}

/* Flits whose arrival nobody waits for may arrive when the section is over. Units' own components are known
 * to those that have finished. */
static tg_status check_arrivals(const check *k) {
  for (uint32_t e = 0; e < k->endpoints; e++) {
    uint32_t count = e < tg_tiles(k->m) ? MARKS : tg_store_rows(k->m);
    const mark *last = NULL;
    for (uint32_t i = 0; i < count; i++) {
      const mark *mark = &k->marks[e][i];
      if (!mark->ordinal || mark->component == k->units[mark->unit].component) continue;
      if (last && last->component == mark->component && last->ordinal >= mark->ordinal) continue;
      last = mark;
      if (known_to_any(k, mark)) continue;
      char sender[64], where[32];
      name_unit(k, mark->unit, sender, sizeof sender);
      name_endpoint(k, e, where, sizeof where);
      return tg_fail(k->diag, TG_MISMATCH, "nobody waits for what %s pc %u [%u %u %u] sends to %s", sender,
                     mark->pc, mark->index[0], mark->index[1], mark->index[2], where);
    }
  }
  return TG_OK;
}

/* Every message is taken. */
static tg_status check_messages(const check *k) {
  for (size_t i = 0; i < (size_t)k->endpoints * k->m->semaphores; i++) {
    const semaphore *s = &k->semaphores[i];
    bool message = false;
    for (const poster *p = s->posters; p; p = p->next)
      message = message || (p->sequence == ARRIVAL && p->posted);
    if (message && s->posted > s->taken)
      return semaphore_fails(k, s, "counts messages that nobody waits for");
  }
  return TG_OK;
}

static tg_status check_section(check *k) {
  tg_status status = set_up(k);
  if (status) return status;
  for (uint32_t i = 0; i < k->unit_count; i++) enqueue(k, i);
  while (k->queue_count && !status) {
    unit *u = &k->units[k->queue[k->queue_head]];
    k->queue_head = (k->queue_head + 1) % (k->unit_count + 1);
    k->queue_count--;
    u->queued = false;
    status = run_unit(k, u);
  }
  if (!status) status = check_finished(k);
  if (!status) status = check_arrivals(k);
  return status ? status : check_messages(k);
}

tg_status tg_check_ordering(const tg_program *program, tg_diag *diag) {
  tg_status status = tg_program_check(program, diag);
  for (uint32_t s = 0; s < program->section_count && !status; s++) {
    check k = {.program = program,
               .m = &program->params,
               .section = &program->sections[s],
               .section_index = s,
               .diag = diag};
    status = check_section(&k);
    tg_arena_release(&k.arena);
    if (status) tg_diag_prefix(diag, "section %u \"%s\"", s, program->sections[s].name);
  }
  return status;
}
