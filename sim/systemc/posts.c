/* Posts: the streams of an endpoint, one post a cycle each, and the post lanes (docs/machine.md, section 2).
 *
 * Each agent that acts in a cycle finds the posts of all cycles before it performed (tg_posts_follow), and what it adds itself
 * is looked at in a later one: so all that ends in a cycle is known when its posts are. */
#include "sim/systemc/chip.h"

#include <assert.h>

/* Streams of an endpoint in order of precedence: mx SYNCs, GEMMs, vx, tx; LOADs, then each context. */
enum { SYNCS, GEMMS, FIRST_CONTEXT = 1 };

static void describe(tg_chip *chip, uint32_t stream, uint32_t unit, uint32_t units, uint32_t limit,
                     uint32_t size) {
  chip->stream[stream] = (tg_stream_state){.unit = unit, .units = units, .limit = limit, .size = size};
  chip->stream[stream].ring = TG_NEW_ARRAY(&chip->arena, tg_posting, size);
}

void tg_posts_create(tg_chip *chip) {
  const tg_params *m = chip->m;
  uint32_t tiles = tg_tiles(m), agcus = tg_agcus(m), contexts = m->agcu_contexts;
  uint32_t count = 4 * tiles + (1 + contexts) * agcus;
  chip->stream = TG_NEW_ARRAY(&chip->arena, tg_stream_state, count);
  chip->first_stream = TG_NEW_ARRAY(&chip->arena, uint16_t, tiles + agcus);
  chip->post_lane = TG_NEW_ARRAY(&chip->arena, tg_post_lane, chip->lanes);
  chip->due = TG_NEW_ARRAY(&chip->arena, tg_post_due, count);
  for (uint32_t e = 0; e < tiles + agcus; e++) {
    uint32_t first = chip->streams, unit = chip->first_unit[e];
    chip->first_stream[e] = (uint16_t)first;
    if (e < tiles) {
      for (uint32_t s = 0; s < 4; s++)
        describe(chip, first + s, unit + (s ? s - 1 : 0), 1, s == GEMMS ? 4 : 2, s == GEMMS ? 4 : 2);
      chip->streams += 4;
    } else {
      uint32_t loads = m->agcu_buffers + contexts; /* and all contexts may issue one more at once */
      describe(chip, first, unit, contexts, loads, loads + contexts);
      for (uint32_t c = 0; c < contexts; c++) describe(chip, first + FIRST_CONTEXT + c, unit + c, 1, 2, 2);
      chip->streams += 1 + contexts;
    }
  }
}

void tg_posts_reset(tg_chip *chip) {
  chip->due_count = 0;
  for (uint32_t s = 0; s < chip->streams; s++) {
    tg_stream_state *it = &chip->stream[s];
    it->first = it->count = it->held = it->pushed = 0;
    it->pushed_at = TG_NEVER;
  }
  for (uint32_t l = 0; l < chip->lanes; l++)
    for (uint32_t c = 0; c < TG_POST_CYCLES; c++) chip->post_lane[l].cycle[c] = TG_NEVER;
}

/* ---- what is due ---- */

static bool before(tg_post_due a, tg_post_due b) {
  return a.cycle != b.cycle ? a.cycle < b.cycle : a.stream < b.stream;
}

static void add_due(tg_chip *chip, uint64_t cycle, uint32_t stream) {
  tg_post_due it = {cycle, stream};
  uint32_t at = chip->due_count++;
  assert(at < chip->streams);
  for (; at && before(it, chip->due[(at - 1) / 2]); at = (at - 1) / 2)
    chip->due[at] = chip->due[(at - 1) / 2];
  chip->due[at] = it;
}

static tg_post_due take_due(tg_chip *chip) {
  tg_post_due first = chip->due[0], it = chip->due[--chip->due_count];
  uint32_t at = 0, child;
  for (; (child = 2 * at + 1) < chip->due_count; at = child) {
    if (child + 1 < chip->due_count && before(chip->due[child + 1], chip->due[child])) child++;
    if (!before(chip->due[child], it)) break;
    chip->due[at] = chip->due[child];
  }
  chip->due[at] = it;
  return first;
}

/* ---- post lanes ---- */

static uint32_t *slots(tg_post_lane *lane, uint64_t cycle) {
  uint32_t at = cycle % TG_POST_CYCLES;
  if (lane->cycle[at] != cycle) {
    lane->cycle[at] = cycle;
    lane->mask[at] = 0;
  }
  return &lane->mask[at];
}

/* Enters the lane in cycle `now`, if no post goes on past the position then, nor has one begun there. */
static bool enter(tg_chip *chip, const tg_remote *post, uint64_t now) {
  tg_post_lane *lane = &chip->post_lane[post->lane];
  bool up = chip->lane[post->lane].up;
  uint32_t segment = up ? post->position : post->position - 1;
  if (*slots(lane, now + 1) >> segment & 1) return false;
  for (uint32_t h = 0; h < post->hops; h++)
    *slots(lane, now + 1 + h) |= 1u << (up ? segment + h : segment - h);
  return true;
}

/* ---- streams ---- */

static uint32_t stream_of(const tg_chip *chip, uint32_t unit, const tg_instr *in) {
  const tg_unit_state *u = &chip->unit[unit];
  uint32_t first = chip->first_stream[u->endpoint];
  if (u->kind == TG_AGCU) return first + (in->common.op == TG_OP_agcu_load ? 0 : FIRST_CONTEXT + u->context);
  if (u->kind == TG_MX) return first + (in->common.op == TG_OP_sync ? SYNCS : GEMMS);
  return first + 1 + (uint32_t)u->kind;
}

bool tg_posts_room(const tg_chip *chip, uint32_t unit) {
  const tg_stream_state *s = &chip->stream[stream_of(chip, unit, chip->unit[unit].next.in)];
  return s->held - (s->pushed_at == chip->now ? s->pushed : 0) < s->limit;
}

void tg_posts_issue(tg_chip *chip, uint32_t unit, const tg_execution *x) {
  tg_stream_state *s = &chip->stream[stream_of(chip, unit, x->in)];
  if (s->pushed_at != chip->now) s->pushed = 0;
  s->pushed_at = chip->now;
  s->pushed++;
  s->held++;
}

static tg_remote address(const tg_chip *chip, const tg_unit_state *u, const tg_common_instr *in, int i) {
  uint32_t endpoint = tg_post_endpoint(chip->m, u->endpoint, in, i), position = (uint32_t)in->post_pos[i];
  tg_remote post = {.semaphore = endpoint * chip->m->semaphores + (uint32_t)in->post_sem[i],
                    .lane = TG_LOCAL};
  if (in->post_kind[i] == TG_POST_LOCAL) return post;
  bool row = in->post_kind[i] == TG_POST_ROW;
  uint32_t tiles = tg_tiles(chip->m), cols = chip->m->cols;
  if (u->endpoint < tiles) post.position = 1 + (row ? u->endpoint % cols : u->endpoint / cols);
  bool up = position > post.position;
  post.hops = up ? position - post.position : post.position - position;
  post.lane = tg_transfer_of(chip, u->endpoint,
                             row ? (up ? TG_DIR_EAST : TG_DIR_WEST) : (up ? TG_DIR_SOUTH : TG_DIR_NORTH),
                             1ll << position)
                  .lane;
  return post;
}

/* Whoever acts in the cycle after finds it done, and the posts' agent does. */
static void schedule(tg_chip *chip, uint32_t stream, uint64_t cycle) {
  add_due(chip, cycle, stream);
  tg_chip_wake(chip, tg_agent_of_posts(chip), cycle + 1);
}

void tg_posts_end(tg_chip *chip, uint32_t unit, const tg_execution *x, uint64_t end) {
  const tg_unit_state *u = &chip->unit[unit];
  uint32_t stream = stream_of(chip, unit, x->in);
  tg_stream_state *s = &chip->stream[stream];
  assert(s->count < s->size);
  tg_posting *it = &s->ring[(s->first + s->count++) % s->size];
  it->end = end;
  it->next = it->count = 0;
  for (int i = 0; i < 4; i++)
    if (tg_execution_posts(x, i)) it->post[it->count++] = address(chip, u, &x->in->common, i);
  if (s->count == 1) schedule(chip, stream, end);
}

/* The first instruction of a stream in cycle `now`. */
static void perform(tg_chip *chip, uint32_t stream, uint64_t now) {
  tg_stream_state *s = &chip->stream[stream];
  tg_posting *it = &s->ring[s->first];
  if (it->next < it->count) {
    const tg_remote *post = &it->post[it->next];
    if (post->lane == TG_LOCAL || enter(chip, post, now)) {
      tg_semaphore_post(chip, post->semaphore, now + post->hops + 1);
      it->next++;
    }
  }
  uint64_t next = now + 1;
  if (it->next == it->count) {
    bool full = s->held >= s->limit;
    s->first = (s->first + 1) % s->size;
    s->count--;
    s->held--;
    for (uint32_t u = 0; full && u < s->units; u++) tg_unit_plan(chip, s->unit + u);
    if (!s->count) return;
    if (next < s->ring[s->first].end) next = s->ring[s->first].end;
  }
  schedule(chip, stream, next);
}

void tg_posts_follow(tg_chip *chip) {
  while (chip->due_count && chip->due[0].cycle < chip->now && !chip->stopped) {
    tg_post_due it = take_due(chip);
    perform(chip, it.stream, it.cycle);
  }
}

void tg_posts_act(tg_chip *chip) {
  if (chip->due_count) tg_chip_wake(chip, tg_agent_of_posts(chip), chip->due[0].cycle + 1);
}
