/* What there is to order: units, their clocks' components, and who posts to which semaphore how often. */
#include "sim/machine/ordering_state.h"
#include "sim/machine/walk.h"

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
  return tg_lane_endpoint(k->m, u->endpoint, in->post_kind[i] == TG_POST_ROW ? TG_DIR_EAST : TG_DIR_SOUTH,
                          (uint32_t)in->post_pos[i]);
}

static void set_up_arrivals(check *k, unit *u, const tg_instr *in, site *site) {
  bool send = u->kind == TG_TX && in->common.op == TG_OP_tx_send,
       load = u->kind == TG_AGCU && in->common.op == TG_OP_agcu_load;
  if (!send && !load) return;
  int64_t mask = send ? in->tx.dst_mask : in->agcu.dst_mask, sem = send ? in->tx.dst_sem : in->agcu.dst_sem;
  bool posts = send ? in->tx.dst_post : in->agcu.dst_post;
  uint32_t dir = send ? (uint32_t)in->tx.dir
                      : (tg_is_west(k->m, u->endpoint - tg_tiles(k->m)) ? TG_DIR_EAST : TG_DIR_SOUTH);
  if (load && !u->reads) u->reads = k->components++;
  site->arrivals = TG_NEW_ARRAY(&k->arena, arrival, (size_t)__builtin_popcountll((uint64_t)mask));
  for (uint32_t pos = 0; pos < POSITIONS; pos++) {
    if (!(mask >> pos & 1)) continue;
    uint32_t *channel = &u->channel[dir == TG_DIR_SOUTH || dir == TG_DIR_NORTH][pos];
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
  if (s->waiter != NONE && s->waiter != unit) return tg_order_semaphore_fails(k, s, "has two waiting units");
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
    if (in->common.credit_mask >> pos & 1)
      status = claim(k, semaphore_at(k, u->endpoint, in->common.credit_base + pos), index);
  set_up_arrivals(k, u, in, site);
  return status;
}

static void widen_reach(const check *k, site *site, const tg_execution *x) {
  tg_walk walk;
  tg_reach r;
  tg_walk_begin(&walk, k->m, &x->in->agcu, x->index, 0);
  tg_walk_reach(&walk, &r.low, &r.high);
  if (r.low >= r.high) return;
  bool empty = site->reach.low >= site->reach.high;
  if (empty || r.low < site->reach.low) site->reach.low = r.low;
  if (empty || r.high > site->reach.high) site->reach.high = r.high;
}

/* How often each semaphore is posted in the whole section, and where walks go. */
static tg_status count_posts(check *k, unit *u) {
  tg_sequencer s = u->sequencer;
  for (; !tg_sequencer_done(&s); tg_sequencer_step(&s)) {
    if (++k->executions > MAX_EXECUTIONS) return tg_order_too_long(k, "50000000 instructions are executed");
    site *site = &u->sites[s.pc];
    tg_execution x = tg_sequencer_peek(&s);
    if (u->kind == TG_AGCU && x.in->common.op != TG_OP_sync) widen_reach(k, site, &x);
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

tg_status tg_order_set_up(check *k) {
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
