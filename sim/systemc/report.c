/* Where everything stands, for messages of faults and deadlocks. */
#include "sim/systemc/chip.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_MESSAGE = 1000 };

const char *tg_endpoint_name(const tg_chip *chip, uint32_t endpoint, char out[40]) {
  uint32_t tiles = tg_tiles(chip->m);
  if (endpoint < tiles)
    snprintf(out, 40, "tile %u,%u", endpoint / chip->m->cols, endpoint % chip->m->cols);
  else if (endpoint - tiles < chip->m->rows)
    snprintf(out, 40, "agcu west %u", endpoint - tiles);
  else
    snprintf(out, 40, "agcu north %u", endpoint - tiles - chip->m->rows);
  return out;
}

const char *tg_bank_port_name(uint32_t port) {
  static const char *const names[] = {"mx (a)",        "mx (b)",        "mx",
                                      "vx (loads)",    "vx (stores)",   "tx",
                                      "the east lane", "the west lane", "the south lane",
                                      "the north lane"};
  return names[port];
}

typedef struct line {
  char *text;
  size_t size, used;
} line;

static void add(line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(line *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(l->text + l->used, l->size - l->used, format, args);
  va_end(args);
  if (n > 0) l->used = l->used + (size_t)n < l->size ? l->used + (size_t)n : l->size - 1;
}

static void add_waits(line *l, const tg_chip *chip, const tg_unit_state *u) {
  const char *sign = " waits for semaphore ";
  for (uint32_t i = 0; i < u->wait_count; i++) {
    const tg_semaphore *s = &chip->semaphore[u->waits[i]];
    if (s->count || (s->head && chip->posts[s->head].visible <= chip->now)) continue;
    add(l, "%s%u", sign, u->waits[i] % chip->m->semaphores);
    sign = ",";
  }
}

static void add_unit(line *l, const tg_chip *chip, const tg_unit_state *u) {
  char name[40];
  add(l, "%s %s", tg_endpoint_name(chip, u->endpoint, name),
      u->kind == TG_AGCU ? "context" : tg_unit_name(u->kind));
  if (u->kind == TG_AGCU) add(l, " %u", u->context);
  if (u->busy) {
    add(l, " pc %u, %u of %u flits granted", u->now.pc, u->flit, u->flits);
    return;
  }
  const uint32_t *i = u->next.index;
  add(l, " pc %u i %u,%u,%u", u->next.pc, i[0], i[1], i[2]);
  add_waits(l, chip, u);
}

void tg_chip_describe(const tg_chip *chip, char *out, size_t size) {
  line l = {out, size, 0};
  uint32_t left = 0;
  out[0] = 0;
  for (uint32_t i = 0; i < chip->units; i++) {
    const tg_unit_state *u = &chip->unit[i];
    if (!u->sequencer.queue || (!u->busy && tg_sequencer_done(&u->sequencer))) continue;
    if (l.used + 120 > size) {
      left++;
      continue;
    }
    if (l.used) add(&l, "; ");
    add_unit(&l, chip, u);
  }
  if (left) add(&l, "; and %u units more", left);
  if (!l.used) add(&l, "every unit has issued its last instruction");
}
