/* Events of a replay, and the semaphores that say when a unit may issue. */
#include "mapper/section/replay_state.h"

/* ---- events ---- */

static bool before(const tg_replay_event *a, const tg_replay_event *b) {
  if (a->time != b->time) return a->time < b->time;
  return a->kind != b->kind ? a->kind < b->kind : a->which < b->which;
}

void tg_replay_at(tg_replay *r, uint64_t time, tg_replay_kind kind, uint32_t which) {
  tg_replay_event it = {time, kind, which};
  TG_PUSH(&r->arena, r->events, r->event_count, r->event_capacity, it);
  size_t at = r->event_count - 1;
  for (; at && before(&it, &r->events[(at - 1) / 2]); at = (at - 1) / 2)
    r->events[at] = r->events[(at - 1) / 2];
  r->events[at] = it;
}

tg_replay_event tg_replay_next(tg_replay *r) {
  tg_replay_event first = r->events[0], it = r->events[--r->event_count];
  size_t at = 0, child;
  for (; (child = 2 * at + 1) < r->event_count; at = child) {
    if (child + 1 < r->event_count && before(&r->events[child + 1], &r->events[child])) child++;
    if (!before(&r->events[child], &it)) break;
    r->events[at] = r->events[child];
  }
  r->events[at] = it;
  return first;
}

/* ---- semaphores ---- */

tg_replay_semaphore *tg_replay_semaphore_of(const tg_replay *r, uint32_t endpoint, uint32_t number) {
  return &r->semaphore[(size_t)endpoint * r->m->semaphores + number];
}

static uint32_t new_token(tg_replay *r) {
  uint32_t token = r->free_token;
  if (token) {
    r->free_token = r->tokens[token].next;
    return token;
  }
  TG_PUSH(&r->arena, r->tokens, r->token_count, r->token_capacity, (tg_replay_token){0});
  return (uint32_t)r->token_count - 1;
}

void tg_replay_post(tg_replay *r, uint32_t endpoint, uint32_t number, uint64_t visible) {
  tg_replay_semaphore *s = tg_replay_semaphore_of(r, endpoint, number);
  uint32_t token = new_token(r), *link = &s->first;
  if (s->first && r->tokens[s->last].time <= visible) link = &r->tokens[s->last].next;
  while (*link && r->tokens[*link].time <= visible) link = &r->tokens[*link].next;
  r->tokens[token] = (tg_replay_token){visible, *link};
  *link = token;
  if (!r->tokens[token].next) s->last = token;
  if (s->waiter) tg_replay_plan(r, s->waiter - 1);
}

/* When it can be taken; TG_REPLAY_NEVER: as far as is known it is not posted. */
static uint64_t there_at(const tg_replay *r, const tg_replay_semaphore *s) {
  return s->count ? 0 : s->first ? r->tokens[s->first].time : TG_REPLAY_NEVER;
}

static void take(tg_replay *r, tg_replay_semaphore *s) {
  s->waiter = 0;
  if (s->count) {
    s->count--;
    return;
  }
  uint32_t token = s->first;
  s->first = r->tokens[token].next;
  r->tokens[token].next = r->free_token;
  r->free_token = token;
}

void tg_replay_end(tg_replay *r, const tg_replay_unit *u, const tg_execution *x, uint64_t end) {
  const tg_common_instr *in = &x->in->common;
  uint32_t tiles = tg_tiles(r->m), posts = 0;
  if (r->end < end) r->end = end;
  for (int i = 0; i < 4; i++) {
    if (!tg_execution_posts(x, i)) continue;
    int64_t own = 0, hops = 0;
    if (in->post_kind[i] != TG_POST_LOCAL) {
      if (u->endpoint < tiles)
        own = 1 + (in->post_kind[i] == TG_POST_ROW ? u->endpoint % r->m->cols : u->endpoint / r->m->cols);
      hops = own < in->post_pos[i] ? in->post_pos[i] - own : own - in->post_pos[i];
    }
    tg_replay_post(r, tg_post_endpoint(r->m, u->endpoint, in, i), (uint32_t)in->post_sem[i],
                   end + posts++ + (uint64_t)hops + 1);
  }
}

/* ---- units ---- */

static uint64_t earliest(const tg_replay_unit *u) {
  const tg_mx_instr *in = &u->now.in->mx;
  uint64_t issue = u->ready;
  if (u->kind == TG_AGCU && in->op != TG_OP_sync && issue < u->begun) return u->begun;
  return u->kind == TG_MX && in->op != TG_OP_sync ? tg_mx_issue_after(&u->gemm, in, issue) : issue;
}

void tg_replay_plan(tg_replay *r, uint32_t unit) {
  tg_replay_unit *u = &r->unit[unit];
  if (u->busy || !u->sequencer || tg_sequencer_done(u->sequencer)) return;
  uint16_t waits[TG_MAX_WAITS];
  uint32_t count = tg_execution_waits(&u->now, waits);
  uint64_t issue = earliest(u);
  for (uint32_t i = 0; i < count; i++) {
    tg_replay_semaphore *s = tg_replay_semaphore_of(r, u->endpoint, waits[i]);
    uint64_t there = there_at(r, s);
    s->waiter = unit + 1; /* an earlier post may come */
    if (issue < there) issue = there;
  }
  if (issue == TG_REPLAY_NEVER) return;
  if (issue < r->now) issue = r->now;
  if (u->planned == issue) return;
  u->planned = issue;
  tg_replay_at(r, issue, TG_REPLAY_ISSUE, unit);
}

void tg_replay_take(tg_replay *r, const tg_replay_unit *u) {
  uint16_t waits[TG_MAX_WAITS];
  uint32_t count = tg_execution_waits(&u->now, waits);
  for (uint32_t i = 0; i < count; i++) take(r, tg_replay_semaphore_of(r, u->endpoint, waits[i]));
}
