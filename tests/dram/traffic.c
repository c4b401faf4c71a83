#include "tests/dram/traffic.h"

typedef struct run {
  uint64_t last, sum;
  void (*command)(void *user, const tg_dram_event *event);
  void *user;
} run;

static void arrived(void *user, uint32_t port, uint64_t cycle) {
  run *r = user;
  if (cycle > r->last) r->last = cycle;
  r->sum = (r->sum ^ (cycle * 32 + port)) * 0x100000001b3;
}

static void command(void *user, const tg_dram_event *event) {
  const run *r = user;
  r->command(r->user, event);
}

static uint32_t draw(uint32_t *state) {
  *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
  return *state;
}

typedef struct walker {
  uint64_t free_at, base;
  uint32_t sent, state;
} walker;

static uint64_t address(const traffic *t, walker *w, uint64_t capacity) {
  uint64_t offset = 64ull * w->sent;
  if (t->kind == TRAFFIC_STRIDED) offset = t->stride * w->sent;
  if (t->kind == TRAFFIC_RANDOM) offset = 64 * ((uint64_t)draw(&w->state) << 16 ^ draw(&w->state));
  return (w->base + offset) % capacity;
}

traffic_result traffic_run(const tg_params *params, const traffic *t,
                           void (*hook)(void *user, const tg_dram_event *event), void *user) {
  run r = {.sum = 0xcbf29ce484222325, .command = hook, .user = user};
  tg_controller_host host = {&r, arrived, hook ? command : NULL};
  tg_controller *m = tg_controller_create(params, &host);
  uint32_t ports = tg_agcus(params), left = ports;
  uint64_t capacity = tg_dram_capacity(&params->dram), cycle = 0;
  walker walkers[32] = {0};
  for (uint32_t p = 0; p < ports; p++) {
    /* Streams of their own, not in step with each other. */
    walkers[p].base = (capacity / 64 / ports * p + 1237 * p) * 64;
    walkers[p].state = t->seed * 2654435761u + p * 40503u + 1;
    draw(&walkers[p].state);
  }
  for (; left; cycle++) {
    if (t->poll <= 1 || cycle % t->poll == 0) tg_controller_advance(m, cycle);
    for (uint32_t p = 0; p < ports; p++) {
      walker *w = &walkers[p];
      if (w->sent == t->atoms || w->free_at > cycle) continue;
      tg_controller_advance(m, cycle);
      if (!tg_controller_ready(m, p)) continue;
      bool write = t->writes && (w->sent * 7919u + p * 13u) % 100 < t->writes;
      tg_controller_send(m, p, address(t, w, capacity), 64, write, true);
      w->free_at = cycle + tg_atom_cycles(params);
      if (++w->sent == t->atoms) left--;
    }
  }
  tg_controller_advance(m, cycle);
  uint64_t written = tg_controller_drain(m);
  traffic_result result = {(written > r.last ? written : r.last) + 1, r.sum, tg_controller_counts(m)};
  tg_controller_destroy(m);
  return result;
}

double traffic_share(const tg_params *params, const traffic_result *r) {
  double seconds = (double)r->cycles / (1e6 * params->clock_mhz);
  return (double)(r->counts.read + r->counts.written) / ((double)tg_dram_peak(&params->dram) * seconds);
}
