/* What moved from run to run of a history. */
#include "runtime/regress/history.h"
#include "runtime/regress/movement.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct trends {
  const json_t *runs;
  json_t *events; /* by run */
  tg_arena arena;
} trends;

static const json_t *in_run(const json_t *runs, size_t run, const char *id) {
  return json_object_get(json_object_get(json_array_get(runs, run), "cases"), id);
}

static void event(trends *t, size_t run, const char *id, const char *kind, bool worse, const char *text) {
  json_t *one =
      json_pack("{s:I, s:s, s:b, s:s}", "run", (json_int_t)run, "kind", kind, "worse", worse, "text", text);
  json_object_set_new_nocheck(one, "case", json_stringn_nocheck(id, strlen(id)));
  json_array_append_new(json_array_get(t->events, run), one);
}

static void compare_numbers(trends *t, size_t run, const char *id, const json_t *before, const json_t *now,
                            const char *key, const char *kind, const char *unit) {
  const json_t *x = json_object_get(before, key), *y = json_object_get(now, key);
  if (!json_is_integer(x) || !json_is_integer(y) || json_equal(x, y)) return;
  int64_t a = json_integer_value(x), b = json_integer_value(y);
  event(t, run, id, kind, b > a,
        tg_arena_printf(&t->arena, "%s%s (%" PRId64 " -> %" PRId64 ")", tg_moved_text(&t->arena, a, b), unit,
                        a, b));
}

static void compare(trends *t, size_t run, const char *id, const json_t *before, const json_t *now) {
  const char *was = json_string_value(json_object_get(before, "verdict")),
             *is = json_string_value(json_object_get(now, "verdict")),
             *says = json_string_value(json_object_get(now, "says"));
  bool failed = !strcmp(was, "failed"), fails = !strcmp(is, "failed");
  if (failed != fails)
    event(t, run, id, "verdict", fails,
          fails ? tg_arena_printf(&t->arena, "fails: %s", says ? says : "?") : "passes again");
  compare_numbers(t, run, id, before, now, "cycles", "cycles", " cycles");
  compare_numbers(t, run, id, before, now, "device_bytes", "memory", " of device memory");
  const json_t *x = json_object_get(before, "bits"), *y = json_object_get(now, "bits");
  if (json_is_string(x) && json_is_string(y) && !json_equal(x, y))
    event(t, run, id, "outputs", false, "bits of the outputs moved");
}

static json_t *column(const trends *t, const char *id, const char *key) {
  json_t *list = json_array();
  for (size_t r = 0; r < json_array_size(t->runs); r++) {
    json_t *value = json_object_get(in_run(t->runs, r, id), key);
    json_array_append(list, value ? value : json_null());
  }
  return list;
}

/* The runs in which a case stands, one after the other. What one did not get to, as the cycles of a case that broke, is
 * compared with the last that did. */
static void follow(trends *t, const char *id) {
  json_t *before = NULL, *value;
  const char *key;
  for (size_t r = 0; r < json_array_size(t->runs); r++) {
    const json_t *now = in_run(t->runs, r, id);
    if (!now) continue;
    if (before) compare(t, r, id, before, now);
    if (!before) before = json_object();
    json_object_foreach((json_t *)(uintptr_t)now, key, value) {
      if (!json_is_null(value)) json_object_set(before, key, value);
    }
  }
  json_decref(before);
}

/* Latest first; those of a run in the order of its cases. */
static json_t *latest_first(const trends *t) {
  json_t *list = json_array();
  for (size_t r = json_array_size(t->events); r-- > 0;) json_array_extend(list, json_array_get(t->events, r));
  return list;
}

json_t *tg_history_trends(const json_t *runs) {
  trends t = {.runs = runs, .events = json_array()};
  json_t *heads = json_array(), *cases = json_object(), *run, *one;
  const char *id;
  size_t r;
  for (r = 0; r < json_array_size(runs); r++) json_array_append_new(t.events, json_array());
  json_array_foreach(runs, r, run) {
    json_array_append_new(heads,
                          json_pack("{s:O?, s:O, s:O?}", "label", json_object_get(run, "label"), "time",
                                    json_object_get(run, "time"), "tegula", json_object_get(run, "tegula")));
    json_object_foreach(json_object_get(run, "cases"), id, one) {
      if (json_object_get(cases, id)) continue;
      json_object_set_new_nocheck(cases, id,
                                  json_pack("{s:o, s:o, s:o}", "verdict", column(&t, id, "verdict"), "cycles",
                                            column(&t, id, "cycles"), "device_bytes",
                                            column(&t, id, "device_bytes")));
      follow(&t, id);
    }
  }
  json_t *all = json_pack("{s:o, s:o, s:o}", "runs", heads, "cases", cases, "events", latest_first(&t));
  json_decref(t.events);
  tg_arena_release(&t.arena);
  return all;
}

/* --- part of them */

static bool is_among(const char *const *ids, size_t count, const char *id) {
  bool among = !ids;
  for (size_t i = 0; i < count && !among; i++) among = !strcmp(ids[i], id);
  return among;
}

static bool has_label(const json_t *runs, size_t run, const char *label) {
  const char *own = json_string_value(json_object_get(json_array_get(runs, run), "label"));
  return !label || (own && !strcmp(own, label));
}

tg_status tg_trends_choose(json_t *trends, const char *const *ids, size_t count, const char *label,
                           tg_diag *diag) {
  const json_t *runs = json_object_get(trends, "runs");
  json_t *cases = json_object_get(trends, "cases"), *events = json_array(), *one;
  const char *id;
  void *next;
  size_t i;
  bool known = !label;
  for (i = 0; i < json_array_size(runs); i++) known |= has_label(runs, i, label);
  json_array_foreach(json_object_get(trends, "events"), i, one) {
    if (is_among(ids, count, json_string_value(json_object_get(one, "case"))) &&
        has_label(runs, (size_t)json_integer_value(json_object_get(one, "run")), label))
      json_array_append(events, one);
  }
  json_object_set_new(trends, "events", events);
  json_object_foreach_safe(cases, next, id, one) {
    if (!is_among(ids, count, id)) json_object_del(cases, id);
  }
  return known ? TG_OK : tg_fail(diag, TG_INVALID, "--label: the history has no run \"%s\"", label);
}

/* --- as text */

enum { MOST_EVENTS = 40, MOST_BARS = 40 };

static const char *label_of(const json_t *run) {
  const char *label = json_string_value(json_object_get(run, "label"));
  return label ? label : json_string_value(json_object_get(run, "time"));
}

/* The last cycles as bars between their least and most. */
static void put_bars(const json_t *cycles, FILE *out) {
  static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  size_t count = json_array_size(cycles), from = count > MOST_BARS ? count - MOST_BARS : 0;
  int64_t least = INT64_MAX, most = 0;
  for (size_t i = from; i < count; i++) {
    const json_t *one = json_array_get(cycles, i);
    int64_t value = json_integer_value(one);
    if (json_is_integer(one) && value < least) least = value;
    if (json_is_integer(one) && value > most) most = value;
  }
  for (size_t i = from; i < count; i++) {
    const json_t *one = json_array_get(cycles, i);
    double share = most > least ? (double)(json_integer_value(one) - least) / (double)(most - least) : 0;
    fputs(json_is_integer(one) ? bars[(int)(share * 7 + 0.5)] : " ", out);
  }
}

static void put_case(const char *id, const json_t *one, FILE *out) {
  const json_t *cycles = json_object_get(one, "cycles"), *verdicts = json_object_get(one, "verdict");
  const json_t *first = NULL, *last = NULL, *verdict = NULL;
  tg_arena arena = {0};
  for (size_t i = 0; i < json_array_size(cycles); i++) {
    const json_t *value = json_array_get(cycles, i);
    if (json_is_integer(value) && !first) first = value;
    if (json_is_integer(value)) last = value;
    if (json_is_string(json_array_get(verdicts, i))) verdict = json_array_get(verdicts, i);
  }
  fprintf(out, "%-8s ", json_string_value(verdict));
  if (first)
    fprintf(out, "%12" JSON_INTEGER_FORMAT " %12" JSON_INTEGER_FORMAT " %12s", json_integer_value(first),
            json_integer_value(last),
            json_equal(first, last)
                ? ""
                : tg_moved_text(&arena, json_integer_value(first), json_integer_value(last)));
  else
    fprintf(out, "%12s %12s %12s", "-", "-", "");
  fprintf(out, "  %s  ", id);
  put_bars(cycles, out);
  fputc('\n', out);
  tg_arena_release(&arena);
}

void tg_trends_print(const char *suite, const json_t *t, FILE *out) {
  const json_t *runs = json_object_get(t, "runs"), *events = json_object_get(t, "events");
  size_t count = json_array_size(runs), i;
  json_t *one;
  const char *id;
  if (!count) {
    fprintf(out, "%s: no run so far\n", suite);
    return;
  }
  fprintf(out, "%s: %zu run%s, from %s to %s\n\n%-8s %12s %12s %12s  case, cycles of its last runs\n", suite,
          count, count == 1 ? "" : "s", json_string_value(json_object_get(json_array_get(runs, 0), "time")),
          json_string_value(json_object_get(json_array_get(runs, count - 1), "time")), "last",
          "cycles, first", "last", "moved");
  json_object_foreach(json_object_get(t, "cases"), id, one) put_case(id, one, out);
  if (json_array_size(events)) fputs("\nwhat changed, latest first\n", out);
  json_array_foreach(events, i, one) {
    if (i == MOST_EVENTS) {
      fprintf(out, "  and %zu changes before\n", json_array_size(events) - i);
      break;
    }
    fprintf(out, "  %s: %s: %s\n",
            label_of(json_array_get(runs, (size_t)json_integer_value(json_object_get(one, "run")))),
            json_string_value(json_object_get(one, "case")), json_string_value(json_object_get(one, "text")));
  }
}
