/* One execution of a section in the manner of a Kahn network: order of issue does not matter, since every
 * semaphore has one waiting unit. Each unit carries a vector clock of what has certainly happened when its
 * next instruction issues; an access must find the latest access to its bank among that. */
#include "sim/machine/ordering_state.h"

#include <stdlib.h>
#include <string.h>

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
  if (overflows(k, p->semaphore, c)) return tg_order_semaphore_fails(k, p->semaphore, "may exceed 255");
  enqueue(k, p->semaphore->waiter);
  return TG_OK;
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
  if (u->reads && end_sequence(u, x->in) == LATE) c->at[u->reads] = u->executed;
  tg_status status = TG_OK;
  for (int i = 0; i < 4 && !status; i++)
    if (tg_execution_posts(x, i)) status = post(k, site->post[i], c, u->executed);
  for (uint32_t a = 0; a < site->arrival_count && !status; a++)
    if (site->arrivals[a].poster) status = post(k, site->arrivals[a].poster, c, u->executed);
  drop_clock(k, c);
  return status ? tg_order_at(k, u, x) : TG_OK;
}

static tg_status execute(check *k, unit *u, const tg_execution *x, const uint16_t *waits,
                         uint32_t wait_count) {
  const site *site = &u->sites[x->pc];
  u->executed++;
  for (uint32_t i = 0; i < wait_count; i++) take(k, u, semaphore_at(k, u->endpoint, waits[i]));
  if (tg_accesses_check(k->m, &site->accesses, x, k->diag)) return tg_order_at(k, u, x);
  tg_status status = tg_order_touch(k, u, x, site);
  /* A STORE ends when the port has served it, and what was asked of the port before. */
  if (u->reads && x->in->common.op == TG_OP_agcu_store) u->known[u->reads] = u->executed;
  if (!status) status = post_all(k, u, x, site);
  /* All but mx end an instruction before the next issues, as far as their own memory is concerned. */
  if (u->kind != TG_MX) u->known[u->component] = u->executed;
  if (status) return status;
  if (k->rows > MAX_STORE_ROWS) return tg_order_too_long(k, "500000000 rows are sent");
  return k->clock_bytes > MAX_CLOCK_BYTES ? tg_order_too_long(k, "2^30 bytes of posts are pending") : TG_OK;
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
    tg_order_semaphore_fails(k, missing, "is never posted again (deadlock)");
    return tg_order_at(k, u, &x);
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
      const unit *by = &k->units[mark->unit];
      if (!mark->ordinal || mark->component == by->component || mark->component == by->reads) continue;
      if (last && last->component == mark->component && last->ordinal >= mark->ordinal) continue;
      last = mark;
      if (known_to_any(k, mark)) continue;
      char sender[64], where[32];
      tg_order_name_unit(k, mark->unit, sender, sizeof sender);
      tg_order_name_endpoint(k, e, where, sizeof where);
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
      return tg_order_semaphore_fails(k, s, "counts messages that nobody waits for");
  }
  return TG_OK;
}

static tg_status run_section(check *k) {
  tg_status status = TG_OK;
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

static tg_status check_run(check *k) {
  tg_status status = tg_order_set_up(k);
  if (!status) status = tg_order_memory_open(k);
  if (!status) status = run_section(k);
  tg_order_memory_close(k);
  return status;
}

/* Once for all invocations whose walks lie to each other in the same way: entries of the base table may be
 * places in one tensor, or share memory. */
static tg_status check_section(const tg_program *program, uint32_t number, tg_bank_use *use, tg_diag *diag) {
  const tg_section *section = &program->sections[number];
  const tg_invocation **proved = calloc(program->invocation_count + 1, sizeof(const tg_invocation *));
  if (!proved) return tg_fail(diag, TG_INVALID, "out of memory");
  uint32_t count = 0;
  tg_status status = TG_OK;
  check k = {0};
  for (uint32_t i = 0; i <= program->invocation_count && !status; i++) {
    bool none = i == program->invocation_count, known = false;
    if (none ? count > 0 : program->invocations[i].section != number) continue;
    const tg_invocation *invocation = none ? NULL : &program->invocations[i];
    for (uint32_t p = 0; p < count && !known; p++) known = tg_order_memory_alike(&k, proved[p], invocation);
    if (known) continue;
    tg_arena_release(&k.arena);
    k = (check){.program = program,
                .m = &program->params,
                .section = section,
                .section_index = number,
                .use = use,
                .invocation = invocation,
                .diag = diag};
    status = check_run(&k);
    if (status && count) tg_diag_prefix(diag, "invocation %u \"%s\"", i, invocation->name);
    proved[count++] = invocation;
  }
  tg_arena_release(&k.arena);
  free(proved);
  if (status) tg_diag_prefix(diag, "section %u \"%s\"", number, section->name);
  return status;
}

tg_status tg_check_ordering(const tg_program *program, tg_diag *diag) {
  tg_status status = tg_program_check(program, diag);
  if (status) return status;
  size_t tiles = tg_tiles(&program->params);
  tg_bank_use *use = calloc(program->section_count * tiles + 1, sizeof *use);
  if (!use) return tg_fail(diag, TG_INVALID, "out of memory");
  for (uint32_t s = 0; s < program->section_count && !status; s++)
    status = check_section(program, s, &use[s * tiles], diag);
  if (!status) status = tg_order_kept(program, use, diag);
  free(use);
  return status;
}
