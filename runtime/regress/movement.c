#include "runtime/regress/movement.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const json_t *section) {
  const char *name = json_string_value(json_object_get(section, "name"));
  return name ? name : "";
}

static int64_t number(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

/* --- sections */

/* The first section of this name that is not taken. */
static const json_t *take(const json_t *sections, bool *taken, const char *name) {
  for (size_t i = 0; i < json_array_size(sections); i++)
    if (!taken[i] && !strcmp(name_of(json_array_get(sections, i)), name)) {
      taken[i] = true;
      return json_array_get(sections, i);
    }
  return NULL;
}

tg_section_pair *tg_sections_pair(tg_arena *arena, const json_t *before, const json_t *now,
                                  size_t *out_count) {
  size_t old_count = json_array_size(before), new_count = json_array_size(now), count = 0;
  tg_section_pair *pairs = TG_NEW_ARRAY(arena, tg_section_pair, old_count + new_count);
  bool *taken = TG_NEW_ARRAY(arena, bool, old_count);
  for (size_t i = 0; i < new_count; i++) {
    const json_t *section = json_array_get(now, i);
    pairs[count++] = (tg_section_pair){.before = take(before, taken, name_of(section)), .now = section};
  }
  for (size_t i = 0; i < old_count; i++)
    if (!taken[i]) pairs[count++] = (tg_section_pair){.before = json_array_get(before, i)};
  for (size_t i = 0; i < count; i++)
    pairs[i].moved = number(pairs[i].now, "cycles") - number(pairs[i].before, "cycles");
  *out_count = count;
  return pairs;
}

/* --- causes */

typedef struct causes {
  tg_arena *arena;
  tg_cause *list;
  size_t count, capacity;
} causes;

static tg_cause *cause(causes *c, const char *unit, const char *what) {
  for (size_t i = 0; i < c->count; i++)
    if (!strcmp(c->list[i].unit, unit) && !strcmp(c->list[i].what, what)) return &c->list[i];
  tg_cause fresh = {.unit = unit, .what = what};
  TG_PUSH(c->arena, c->list, c->count, c->capacity, fresh);
  return &c->list[c->count - 1];
}

static void collect(causes *c, const json_t *units, bool now) {
  const char *unit, *what;
  json_t *sums, *cycles;
  json_object_foreach((json_t *)(uintptr_t)units, unit, sums) {
    tg_cause *busy = cause(c, unit, "busy");
    *(now ? &busy->now : &busy->before) = number(sums, "busy");
    json_object_foreach(json_object_get(sums, "stalled"), what, cycles) {
      tg_cause *stall = cause(c, unit, what);
      *(now ? &stall->now : &stall->before) = json_integer_value(cycles);
    }
  }
}

static int by_movement(const void *left, const void *right) {
  const tg_cause *a = left, *b = right;
  int64_t x = llabs(a->now - a->before), y = llabs(b->now - b->before);
  if (x != y) return x > y ? -1 : 1;
  int unit = strcmp(a->unit, b->unit);
  return unit ? unit : strcmp(a->what, b->what);
}

tg_cause *tg_causes_compare(tg_arena *arena, const json_t *before, const json_t *now, size_t *out_count) {
  causes c = {.arena = arena};
  collect(&c, before, false);
  collect(&c, now, true);
  if (c.count) qsort(c.list, c.count, sizeof *c.list, by_movement);
  *out_count = c.count;
  return c.list;
}

/* --- text */

const char *tg_moved_text(tg_arena *arena, int64_t before, int64_t now) {
  double percent = before ? 100.0 * (double)(now - before) / (double)before : 0;
  if (percent >= 0.05 || percent <= -0.05) return tg_arena_printf(arena, "%+.1f %%", percent);
  return tg_arena_printf(arena, "%+" PRId64, now - before);
}

/* The section that moved most in the direction of the whole. */
static const tg_section_pair *main_mover(const tg_section_pair *pairs, size_t count, bool up) {
  const tg_section_pair *most = NULL;
  for (size_t i = 0; i < count; i++) {
    int64_t moved = up ? pairs[i].moved : -pairs[i].moved;
    if (moved > 0 && (!most || moved > llabs(most->moved))) most = &pairs[i];
  }
  return most;
}

static const char *bound_text(tg_arena *arena, const tg_section_pair *pair) {
  const char *now = json_string_value(json_object_get(pair->now, "bound_by")),
             *before = json_string_value(json_object_get(pair->before, "bound_by"));
  if (!now) return "";
  if (!before) return tg_arena_printf(arena, ", %s-bound", now);
  if (!strcmp(now, before)) return tg_arena_printf(arena, ", %s-bound as before", now);
  return tg_arena_printf(arena, ", %s-bound now (%s-bound before)", now, before);
}

/* What the units of the section spent more (less) time on than any other. */
static const char *cause_text(tg_arena *arena, const tg_section_pair *pair, bool up) {
  size_t count;
  const json_t *before = json_object_get(pair->before, "units"), *now = json_object_get(pair->now, "units");
  if (!before || !now) return "";
  const tg_cause *c = tg_causes_compare(arena, before, now, &count);
  while (count && (up ? c->now <= c->before : c->now >= c->before)) c++, count--;
  if (!count) return "";
  const char *verb = strcmp(c->what, "busy") ? "waiting for " : "";
  return tg_arena_printf(arena, "; %s %s%s %+" PRId64 " unit cycles", c->unit, verb, c->what,
                         c->now - c->before);
}

const char *tg_movement_text(tg_arena *arena, int64_t before, int64_t now, const json_t *sections_before,
                             const json_t *sections_now) {
  size_t count;
  const tg_section_pair *pairs = tg_sections_pair(arena, sections_before, sections_now, &count);
  const tg_section_pair *most = main_mover(pairs, count, now > before);
  const char *total = tg_arena_printf(arena, "%s cycles (%" PRId64 " -> %" PRId64 ")",
                                      tg_moved_text(arena, before, now), before, now);
  if (!most) return total;
  const char *what = !most->before ? " (new)" : !most->now ? " (gone)" : "";
  return tg_arena_printf(arena, "%s, section %s%s %+" PRId64 "%s%s", total,
                         name_of(most->now ? most->now : most->before), what, most->moved,
                         bound_text(arena, most), cause_text(arena, most, now > before));
}
