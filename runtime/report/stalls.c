#include "runtime/report/stalls.h"
#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = 8 };

static json_int_t count(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static json_int_t all_stalls(const json_t *unit) {
  json_int_t sum = 0;
  const char *cause;
  json_t *cycles;
  json_object_foreach(json_object_get(unit, "stalled"), cause, cycles) sum += json_integer_value(cycles);
  return sum;
}

static const char *unit_of(const char *cause) {
  return !strncmp(cause, "semaphore of ", 13) ? cause + 13 : cause;
}

static bool is_named(const char *const *chain, int length, const char *name) {
  for (int i = 0; i < length; i++)
    if (!strcmp(chain[i], name)) return true;
  return false;
}

/* Does the cause hold the chain's last unit back as far as those before it feel it? Not what waits for them in turn
 * (they have not yet freed what it fills, which is no cause of theirs), and of AGCUs that others wait for to load not
 * what their STOREs wait for. */
static bool counts(const char *const *chain, int length, const char *cause) {
  const char *unit = unit_of(cause);
  bool stores = length > 1 && !strcmp(chain[length - 1], "agcu") && strcmp(chain[length - 2], "tx") != 0;
  return !is_named(chain, length, unit) && !(stores && !strcmp(unit, "tx"));
}

/* The largest cause of the chain's last unit, or NULL; `out_cycles`: its own, `out_all`: of all that count. */
static const char *largest(const json_t *unit, const char *const *chain, int length, json_int_t *out_cycles,
                           json_int_t *out_all) {
  const char *cause, *found = NULL;
  json_t *cycles;
  *out_cycles = *out_all = 0;
  json_object_foreach(json_object_get(unit, "stalled"), cause, cycles) {
    if (!counts(chain, length, cause)) continue;
    *out_all += json_integer_value(cycles);
    if (json_integer_value(cycles) <= *out_cycles) continue;
    *out_cycles = json_integer_value(cycles);
    found = cause;
  }
  return found;
}

static const char *begin(const json_t *units) {
  static const char *const order[] = {"mx", "vx", "tx", "agcu"};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (all_stalls(json_object_get(units, order[i])) > 0) return order[i];
  return NULL;
}

/* What a cause is called in a sentence. */
static const char *spoken(const char *cause) {
  static const char *const words[][2] = {{"lane", "lanes that others use"},
                                         {"port", "DRAM"},
                                         {"buffers", "load buffers of the AGCUs"},
                                         {"several", "several kinds of units"},
                                         {"nobody", "what nobody posts"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(cause, words[i][0])) return words[i][1];
  return cause;
}

json_t *tg_first_cause(const json_t *units) {
  const char *chain[LONGEST], *at = begin(units);
  if (!at) return json_null();
  int length = 0;
  bool busy = false;
  double share = 0;
  tg_arena arena = {0};
  chain[length++] = at;
  while (length < LONGEST && json_object_get(units, at)) {
    const json_t *unit = json_object_get(units, at);
    json_int_t cycles, stalls;
    const char *cause = largest(unit, chain, length, &cycles, &stalls);
    if (length > 1 && (busy = count(unit, "busy") >= stalls)) break;
    if (!cause) break;
    if (length == 1) share = (double)cycles / (double)stalls;
    chain[length++] = at = unit_of(cause);
  }
  json_t *names = json_array();
  char *text =
      tg_arena_printf(&arena, "%s waits for %s", chain[0], length > 1 ? spoken(chain[1]) : "nothing");
  for (int i = 0; i < length; i++) {
    json_array_append_new(names, json_string(chain[i]));
    if (i > 1) text = tg_arena_printf(&arena, "%s, which waits for %s", text, spoken(chain[i]));
  }
  if (busy) text = tg_arena_printf(&arena, "%s, which is busy most of its time", text);
  json_t *result = json_pack("{s:o, s:s, s:f}", "chain", names, "text", text, "share", share);
  tg_arena_release(&arena);
  return result;
}

void tg_add_units(json_t *sum, const json_t *units) {
  const char *name, *cause;
  json_t *unit, *cycles;
  json_object_foreach((json_t *)(uintptr_t)units, name, unit) {
    json_t *to = json_object_get(sum, name);
    if (!to) {
      to = json_pack("{s:i, s:{}}", "busy", 0, "stalled");
      json_object_set_new(sum, name, to);
    }
    json_object_set_new(to, "busy", json_integer(count(to, "busy") + count(unit, "busy")));
    json_t *stalled = json_object_get(to, "stalled");
    json_object_foreach(json_object_get(unit, "stalled"), cause, cycles)
        json_object_set_new(stalled, cause, json_integer(count(stalled, cause) + json_integer_value(cycles)));
  }
}
