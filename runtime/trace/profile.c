#include "runtime/trace/profile.h"
#include "runtime/trace/posters.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 4 /* tg_unit */, OF_A_TILE = 4 };
typedef enum cause {
  OF_MX, /* semaphores posted by these units alone, in the order of tg_unit */
  OF_VX,
  OF_TX,
  OF_AGCU,
  OF_SEVERAL,
  OF_NOBODY,
  LANE,
  PORT,
  BUFFERS,
  CAUSES
} cause;
static const char *const cause_names[CAUSES] = {"semaphore of mx",
                                                "semaphore of vx",
                                                "semaphore of tx",
                                                "semaphore of agcu",
                                                "semaphore of several",
                                                "semaphore of nobody",
                                                "lane",
                                                "port",
                                                "buffers"};

typedef struct sums {
  uint64_t busy[KINDS], stalled[KINDS][CAUSES], dram; /* dram: bytes */
} sums;

struct tg_profile {
  tg_observer observer;
  const tg_program *program;
  uint64_t begin, end;
  sums *invocations;
  uint64_t *tiles;      /* of each tile: cycles busy of mx, vx and tx, and stalled of mx */
  tg_poster *posters;   /* of the section at hand */
  uint64_t *busy_until; /* of each unit: three a tile, agcu_contexts an AGCU */
  size_t units;
};

static uint64_t *busy_until(tg_profile *p, const tg_event *e) {
  const tg_params *m = &p->program->params;
  uint32_t tiles = tg_tiles(m);
  return &p->busy_until[e->endpoint < tiles
                            ? e->endpoint * 3u + e->unit
                            : tiles * 3 + (e->endpoint - tiles) * m->agcu_contexts + e->context];
}

static bool counts(const tg_profile *p, uint64_t cycle) { return cycle >= p->begin && cycle <= p->end; }

static void begin(void *user, uint32_t invocation, uint64_t begin, uint64_t config) {
  (void)begin, (void)config;
  tg_profile *p = user;
  tg_posters_find(p->program, &p->program->sections[p->program->invocations[invocation].section], p->posters);
  memset(p->busy_until, 0, p->units * sizeof *p->busy_until);
}

static void instruction(void *user, const tg_event *e, const tg_execution *x) {
  (void)x;
  tg_profile *p = user;
  if (!counts(p, e->start)) return;
  uint64_t *until = busy_until(p, e),
           first = e->start > *until ? e->start : *until; /* first cycle not counted */
  if (e->end < first) return;
  p->invocations[e->invocation].busy[e->unit] += e->end + 1 - first;
  if (e->unit < OF_A_TILE - 1) p->tiles[e->endpoint * OF_A_TILE + e->unit] += e->end + 1 - first;
  *until = e->end + 1;
}

static cause cause_of(const tg_profile *p, const tg_stall *s) {
  if (s->cause == TG_STALL_LANE) return LANE;
  if (s->cause == TG_STALL_PORT) return PORT;
  if (s->cause == TG_STALL_BUFFERS) return BUFFERS;
  uint8_t units = p->posters[(size_t)s->at.endpoint * p->program->params.semaphores + s->what].units;
  for (int unit = 0; unit < KINDS; unit++)
    if (units == 1u << unit) return (cause)(OF_MX + unit);
  return units ? OF_SEVERAL : OF_NOBODY;
}

static void add_stall(tg_profile *p, const tg_stall *s) {
  uint64_t cycles = s->at.end - s->at.start + 1;
  p->invocations[s->at.invocation].stalled[s->at.unit][cause_of(p, s)] += cycles;
  if (s->at.unit == TG_MX) p->tiles[s->at.endpoint * OF_A_TILE + OF_A_TILE - 1] += cycles;
}

static void stall(void *user, const tg_stall *s, const tg_execution *x) {
  (void)x;
  tg_profile *p = user;
  if (counts(p, s->at.start)) add_stall(p, s);
}

static void burst(void *user, const tg_burst *b) {
  tg_profile *p = user;
  if (!b->lane && counts(p, b->at.start)) p->invocations[b->at.invocation].dram += UINT64_C(64) * b->atoms;
}
static void end(void *user, uint32_t invocation, uint64_t end) { (void)user, (void)invocation, (void)end; }

static void *zeroed(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) tg_die("out of memory");
  return memory;
}

tg_profile *tg_profile_create(const tg_program *program, uint64_t first, uint64_t last) {
  const tg_params *m = &program->params;
  tg_profile *p = zeroed(1, sizeof *p);
  p->observer = (tg_observer){p, begin, instruction, stall, burst, end};
  p->program = program;
  p->begin = first;
  p->end = last;
  p->units = (size_t)tg_tiles(m) * 3 + (size_t)tg_agcus(m) * m->agcu_contexts;
  p->invocations = zeroed(program->invocation_count, sizeof *p->invocations);
  p->tiles = zeroed((size_t)tg_tiles(m) * OF_A_TILE, sizeof *p->tiles);
  p->posters = zeroed(tg_posters_count(m), sizeof *p->posters);
  p->busy_until = zeroed(p->units, sizeof *p->busy_until);
  return p;
}

void tg_profile_destroy(tg_profile *p) {
  if (!p) return;
  free(p->invocations);
  free(p->tiles);
  free(p->posters);
  free(p->busy_until);
  free(p);
}

const tg_observer *tg_profile_observer(const tg_profile *profile) { return &profile->observer; }

json_t *tg_profile_section(const tg_profile *profile, uint32_t invocation) {
  const sums *s = &profile->invocations[invocation];
  json_t *units = json_object();
  for (int unit = 0; unit < KINDS; unit++) {
    json_t *stalled = json_object();
    for (int c = 0; c < CAUSES; c++)
      if (s->stalled[unit][c])
        json_object_set_new(stalled, cause_names[c], json_integer((json_int_t)s->stalled[unit][c]));
    if (s->busy[unit] || json_object_size(stalled))
      json_object_set_new(units, tg_unit_name((tg_unit)unit),
                          json_pack("{s:I, s:O}", "busy", (json_int_t)s->busy[unit], "stalled", stalled));
    json_decref(stalled);
  }
  return units;
}

json_t *tg_profile_tiles(const tg_profile *profile) {
  static const char *const names[OF_A_TILE] = {"mx", "vx", "tx", "stalled"};
  const tg_params *m = &profile->program->params;
  json_t *tiles = json_pack("{s:I, s:I}", "rows", (json_int_t)m->rows, "cols", (json_int_t)m->cols);
  for (int k = 0; k < OF_A_TILE; k++) {
    json_t *list = json_array();
    for (uint32_t t = 0; t < tg_tiles(m); t++)
      json_array_append_new(list, json_integer((json_int_t)profile->tiles[t * OF_A_TILE + (uint32_t)k]));
    json_object_set_new(tiles, names[k], list);
  }
  return tiles;
}

uint64_t tg_profile_dram_bytes(const tg_profile *profile, uint32_t invocation) {
  return profile->invocations[invocation].dram;
}
