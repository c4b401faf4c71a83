#include "runtime/trace/rates.h"
#include "frontend/base/status.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 1024, TILE_UNITS = 2 /* mx, vx */ };
typedef enum kind { MX, VX, DRAM, LANES, KINDS } kind;

static const struct {
  const char *counter, *part;
} titles[KINDS] = {
    {"tiles busy", "mx"}, {"tiles busy", "vx"}, {"DRAM", "bytes a cycle"}, {"lanes", "flits a cycle"}};

struct tg_rates {
  const tg_params *params;
  uint64_t step; /* cycles of each */
  double sums[KINDS][STEPS];
  bool any[KINDS];
  uint64_t *busy_until; /* TILE_UNITS a tile */
};

tg_rates *tg_rates_create(const tg_params *m) {
  tg_rates *r = calloc(1, sizeof *r);
  if (!r) tg_die("out of memory");
  r->params = m;
  r->step = 1;
  r->busy_until = calloc((size_t)tg_tiles(m) * TILE_UNITS, sizeof *r->busy_until);
  if (!r->busy_until) tg_die("out of memory");
  return r;
}

void tg_rates_destroy(tg_rates *r) {
  if (!r) return;
  free(r->busy_until);
  free(r);
}

/* Two steps become one. */
static void coarsen(tg_rates *r) {
  for (int k = 0; k < KINDS; k++) {
    for (uint32_t i = 0; i < STEPS / 2; i++) r->sums[k][i] = r->sums[k][2 * i] + r->sums[k][2 * i + 1];
    memset(&r->sums[k][STEPS / 2], 0, sizeof r->sums[k] / 2);
  }
  r->step *= 2;
}

/* `amount`, spread over cycles first..last. */
static void add(tg_rates *r, kind k, uint64_t first, uint64_t last, double amount) {
  while (last / r->step >= STEPS) coarsen(r);
  double each = amount / (double)(last - first + 1);
  for (uint64_t i = first / r->step; i <= last / r->step; i++) {
    uint64_t begin = i * r->step, end = begin + r->step;
    if (begin < first) begin = first;
    if (end > last + 1) end = last + 1;
    r->sums[k][i] += each * (double)(end - begin);
  }
  r->any[k] = true;
}

void tg_rates_instruction(tg_rates *r, const tg_event *e) {
  if (e->endpoint >= tg_tiles(r->params) || e->unit > TG_VX) return;
  uint64_t *until = &r->busy_until[(size_t)e->endpoint * TILE_UNITS + e->unit];
  uint64_t first = e->start > *until ? e->start : *until;
  if (e->end < first) return;
  add(r, e->unit == TG_MX ? MX : VX, first, e->end, (double)(e->end - first + 1));
  *until = e->end + 1;
}

void tg_rates_burst(tg_rates *r, const tg_burst *b) {
  add(r, b->lane ? LANES : DRAM, b->at.start, b->at.end, b->lane ? b->flits : 64.0 * b->atoms);
}

/* The parts of one counter together: those that have the title of `from`. */
static int write_counter(const tg_rates *r, int from, const tg_trace_format *format, tg_trace_writer *to,
                         uint32_t pid, uint64_t begin, uint64_t end) {
  const char *parts[KINDS];
  double values[KINDS] = {0}, before[KINDS] = {-1};
  int count = 0;
  while (from + count < KINDS && !strcmp(titles[from + count].counter, titles[from].counter)) count++;
  bool any = false;
  for (int k = 0; k < count; k++) {
    parts[k] = titles[from + k].part;
    any |= r->any[from + k];
  }
  for (uint64_t i = begin / r->step; any && i < STEPS && i * r->step < end; i++) {
    for (int k = 0; k < count; k++) values[k] = r->sums[from + k][i] / (double)r->step;
    if (!memcmp(values, before, (size_t)count * sizeof *values)) continue;
    memcpy(before, values, sizeof before);
    uint64_t at = i * r->step;
    format->counter(to, pid, at < begin ? begin : at, titles[from].counter, parts, values, count);
  }
  memset(values, 0, sizeof values);
  if (any) format->counter(to, pid, end, titles[from].counter, parts, values, count);
  return count;
}

void tg_rates_write(const tg_rates *r, const tg_trace_format *format, tg_trace_writer *to, uint32_t pid,
                    uint64_t begin, uint64_t end) {
  for (int k = 0; k < KINDS;) k += write_counter(r, k, format, to, pid, begin, end);
}
