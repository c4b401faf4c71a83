#include "runtime/trace/arrows.h"
#include "runtime/trace/posters.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 2, TILE_UNITS = 3 };

typedef struct post {
  uint64_t cycle; /* the last one of its instruction */
  tg_track from;  /* no pid: nobody has posted */
} post;

typedef struct waiting {
  post post;       /* no pid: it waits for none */
  tg_event waiter; /* until when, and of which instruction */
} waiting;

struct tg_arrows {
  const tg_params *params;
  post (*posts)[KEPT]; /* of each endpoint's semaphores, the latest first */
  waiting *units;      /* TILE_UNITS a tile, agcu_contexts an AGCU */
  uint64_t count;
};

tg_arrows *tg_arrows_create(const tg_params *m) {
  tg_arrows *a = calloc(1, sizeof *a);
  if (!a) tg_die("out of memory");
  a->params = m;
  a->posts = calloc(tg_posters_count(m), sizeof *a->posts);
  a->units =
      calloc((size_t)tg_tiles(m) * TILE_UNITS + (size_t)tg_agcus(m) * m->agcu_contexts, sizeof *a->units);
  if (!a->posts || !a->units) tg_die("out of memory");
  return a;
}

void tg_arrows_destroy(tg_arrows *a) {
  if (!a) return;
  free(a->posts);
  free(a->units);
  free(a);
}

void tg_arrows_begin(tg_arrows *a) { memset(a->posts, 0, tg_posters_count(a->params) * sizeof *a->posts); }

typedef struct noting {
  const tg_arrows *arrows;
  post post;
} noting;

static void note(void *user, uint32_t target, uint32_t semaphore) {
  const noting *n = user;
  post *kept = n->arrows->posts[(size_t)target * n->arrows->params->semaphores + semaphore];
  kept[1] = kept[0];
  kept[0] = n->post;
}

void tg_arrows_post(tg_arrows *a, const tg_event *e, const tg_instr *in, const tg_execution *x, tg_track at) {
  noting n = {a, {e->end, at}};
  tg_visit_posts(a->params, (tg_unit)e->unit, e->endpoint, in, x, note, &n);
}

static waiting *unit_of(const tg_arrows *a, const tg_event *e) {
  uint32_t tiles = tg_tiles(a->params);
  if (e->endpoint < tiles) return &a->units[(size_t)e->endpoint * TILE_UNITS + e->unit];
  return &a->units[(size_t)tiles * TILE_UNITS + (e->endpoint - tiles) * a->params->agcu_contexts +
                   e->context];
}

void tg_arrows_wait(tg_arrows *a, const tg_stall *s) {
  const post *kept = a->posts[(size_t)s->at.endpoint * a->params->semaphores + s->what];
  const post *found = kept[0].cycle <= s->at.end ? &kept[0] : &kept[1];
  *unit_of(a, &s->at) = (waiting){*found, s->at};
}

bool tg_arrows_end(tg_arrows *a, const tg_event *e, tg_arrow *out) {
  waiting *unit = unit_of(a, e);
  const tg_event *w = &unit->waiter;
  if (!unit->post.from.pid || w->invocation != e->invocation || w->pc != e->pc || e->start <= w->end)
    return false;
  if (unit->post.cycle < e->start) *out = (tg_arrow){++a->count, unit->post.cycle, unit->post.from};
  unit->post.from.pid = 0;
  return out->number != 0;
}
