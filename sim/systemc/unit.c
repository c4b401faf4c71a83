/* Sequencers: when an instruction issues; and the semaphores that it waits for. */
#include "frontend/base/math.h"
#include "sim/machine/walk.h"
#include "sim/systemc/chip.h"

#include <assert.h>
#include <stdlib.h>

/* Applies the increments that are registered by now. */
static void settle(tg_chip *chip, tg_semaphore *s) {
  while (s->head && chip->posts[s->head].visible <= chip->now) {
    uint32_t post = s->head;
    uint64_t visible = chip->posts[post].visible;
    s->head = chip->posts[post].next;
    if (!s->head) s->tail = 0;
    chip->posts[post].next = chip->post_free;
    chip->post_free = post;
    if (!s->count++) s->since = visible;
    s->coming--;
  }
}

static uint32_t new_post(tg_chip *chip) {
  if (chip->post_free) {
    uint32_t post = chip->post_free;
    chip->post_free = chip->posts[post].next;
    return post;
  }
  if (chip->post_count >= chip->post_capacity) {
    chip->post_capacity = chip->post_capacity ? chip->post_capacity * 2 : 1024;
    chip->posts = realloc(chip->posts, chip->post_capacity * sizeof *chip->posts);
    if (!chip->posts) tg_die("out of memory");
  }
  return chip->post_count++;
}

void tg_semaphore_check(tg_chip *chip, uint32_t semaphore) {
  tg_semaphore *s = &chip->semaphore[semaphore];
  settle(chip, s);
  if (s->count <= 255) return;
  char name[40];
  tg_chip_fault(chip, chip->now, "semaphore %u of %s is above 255", semaphore % chip->m->semaphores,
                tg_endpoint_name(chip, semaphore / chip->m->semaphores, name));
}

void tg_semaphore_post(tg_chip *chip, uint32_t semaphore, uint64_t visible) {
  assert(visible >= chip->now);
  tg_semaphore *s = &chip->semaphore[semaphore];
  if (TG_DEFECT(chip, TG_DEFECT_LOST_CREDIT) && semaphore % chip->m->semaphores == 0 &&
      ++chip->credits % 16 == 0)
    return;
  settle(chip, s);
  uint32_t post = new_post(chip);
  chip->posts[post].visible = visible;
  chip->posts[post].next = 0;
  if (!s->head) {
    s->head = s->tail = post;
  } else if (chip->posts[s->tail].visible <= visible) {
    chip->posts[s->tail].next = post;
    s->tail = post;
  } else { /* overtakes: a farther one posted earlier */
    uint32_t *link = &s->head;
    while (chip->posts[*link].visible <= visible) link = &chip->posts[*link].next;
    chip->posts[post].next = *link;
    *link = post;
  }
  if (++s->coming + s->count > 255) { /* unless it is taken before */
    TG_PUSH(&chip->arena, chip->overflows, chip->overflow_count, chip->overflow_capacity,
            ((tg_overflow){visible, semaphore}));
    tg_chip_wake(chip, tg_agent_of_control(chip), visible);
  }
  if (s->wanted_by) tg_unit_plan(chip, s->wanted_by - 1);
}

/* Takes the next execution and the semaphores it names, each once. */
static void fetch(tg_chip *chip, tg_unit_state *u) {
  uint16_t named[TG_MAX_WAITS];
  u->next = tg_sequencer_peek(&u->sequencer);
  uint32_t count = tg_execution_waits(&u->next, named);
  u->wait_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t semaphore = u->endpoint * chip->m->semaphores + named[i], k = 0;
    if (TG_DEFECT(chip, TG_DEFECT_IGNORED_WAIT) && i == 0) continue;
    while (k < u->wait_count && u->waits[k] != semaphore) k++;
    if (k == u->wait_count) u->waits[u->wait_count++] = semaphore;
  }
}

void tg_unit_begin(tg_chip *chip, uint32_t unit, uint64_t first_issue) {
  tg_unit_state *u = &chip->unit[unit];
  u->busy = false;
  u->ready = first_issue;
  u->begun = first_issue;
  u->gemm = (tg_mx_before){.format = -1};
  if (tg_sequencer_done(&u->sequencer)) return;
  chip->open++;
  fetch(chip, u);
  tg_unit_plan(chip, unit);
}

static uint64_t earliest(const tg_unit_state *u) {
  if (u->kind == TG_MX) return tg_mx_earliest(u);
  bool walks = u->kind == TG_AGCU && u->next.in->common.op != TG_OP_sync;
  return walks ? tg_later(u->ready, u->begun) : u->ready;
}

void tg_unit_plan(tg_chip *chip, uint32_t unit) {
  tg_unit_state *u = &chip->unit[unit];
  if (u->busy || tg_sequencer_done(&u->sequencer)) return;
  if (!tg_posts_room(chip, unit)) return; /* planned again when there is */
  uint64_t issue = earliest(u);
  for (uint32_t i = 0; i < u->wait_count; i++) {
    tg_semaphore *s = &chip->semaphore[u->waits[i]];
    if (s->count) continue;
    s->wanted_by = unit + 1; /* a post may come, or one that is visible earlier */
    uint64_t visible = s->head ? chip->posts[s->head].visible : TG_NEVER;
    if (issue < visible) issue = visible;
  }
  /* A post that is registered by now may have been applied before the unit's own turn in this cycle. */
  if (issue < chip->now) issue = chip->now;
  if (issue != TG_NEVER) tg_chip_wake(chip, unit, issue);
}

static bool may_issue(tg_chip *chip, uint32_t unit) {
  tg_unit_state *u = &chip->unit[unit];
  if (u->busy || tg_sequencer_done(&u->sequencer) || earliest(u) > chip->now) return false;
  if (!tg_posts_room(chip, unit)) return false;
  bool all = true;
  for (uint32_t i = 0; i < u->wait_count; i++) {
    tg_semaphore_check(chip, u->waits[i]);
    all = all && chip->semaphore[u->waits[i]].count;
  }
  return all;
}

/* What an instruction does to values may be done at any time between its issue and its end: semaphores order
 * everything else that touches them. */
static void compute(tg_chip *chip, const tg_unit_state *u, const tg_execution *x,
                    const tg_accesses *accesses) {
  tg_values_add(chip->computing, u->endpoint, u->kind, x, accesses);
  if (!TG_DEFECT(chip, TG_DEFECT_VALUE_BIT) || u->kind != TG_MX) return;
  tg_values_finish(chip->computing);
  *tg_acc_row(chip->machine, u->endpoint, x->address[TG_AT_C]) ^= 1u << 16;
}

static void issue(tg_chip *chip, uint32_t unit, const tg_execution *x) {
  tg_unit_state *u = &chip->unit[unit];
  tg_diag reach = {0};
  tg_accesses accesses;
  if (tg_exec_accesses(chip->machine, u->endpoint, u->kind, x, &accesses, &reach)) {
    char name[40];
    u->busy = true;
    tg_chip_fault(chip, chip->now, "%s %s pc %u: %s", tg_endpoint_name(chip, u->endpoint, name),
                  tg_unit_name(u->kind), x->pc, reach.message);
    return;
  }
  const tg_tile_program *tile = u->kind == TG_AGCU ? NULL : &chip->machine->section->tiles[u->endpoint];
  tg_actions_execute(chip->actions, chip->m, u->endpoint, u->kind, x, tile ? tile->words : NULL);
  if (x->in->common.op == TG_OP_sync) {
    u->ready = chip->now + 1;
    tg_chip_complete(chip, unit, x, chip->now, chip->now);
    return;
  }
  if (chip->values) compute(chip, u, x, &accesses);
  switch (u->kind) {
  case TG_MX: tg_mx_issue(chip, unit, x); return;
  case TG_VX: tg_vx_issue(chip, unit, x); return;
  case TG_TX: tg_tx_issue(chip, unit, x); return;
  case TG_AGCU: tg_agcu_issue(chip, unit, x); return;
  }
}

void tg_unit_act(tg_chip *chip, uint32_t unit) {
  tg_unit_state *u = &chip->unit[unit];
  if (!may_issue(chip, unit)) {
    tg_unit_plan(chip, unit);
    return;
  }
  if (chip->options.observer) tg_observe_issue(chip, u, earliest(u));
  for (uint32_t i = 0; i < u->wait_count; i++) {
    tg_semaphore *s = &chip->semaphore[u->waits[i]];
    s->count--;
    s->wanted_by = 0;
  }
  tg_execution x = u->next;
  tg_sequencer_step(&u->sequencer);
  bool more = !tg_sequencer_done(&u->sequencer);
  if (more) fetch(chip, u);
  chip->open++; /* until its end is known */
  u->begun = chip->now + TG_WALK_LEAD;
  tg_posts_issue(chip, unit, &x);
  issue(chip, unit, &x);
  if (more)
    tg_unit_plan(chip, unit);
  else
    tg_chip_retire(chip);
}

void tg_unit_let_next(tg_chip *chip, uint32_t unit, uint64_t ready) {
  chip->unit[unit].busy = false;
  chip->unit[unit].ready = ready;
  tg_unit_plan(chip, unit);
}
