#include "runtime/regress/explain.h"
#include "runtime/regress/movement.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CAUSES = 8 };

static json_t *copied(const json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  return value ? json_incref(value) : json_null();
}

static json_t *causes_of(tg_arena *arena, const tg_section_pair *pair) {
  size_t count;
  const tg_cause *causes = tg_causes_compare(arena, json_object_get(pair->before, "units"),
                                             json_object_get(pair->now, "units"), &count);
  json_t *list = json_array();
  for (size_t i = 0; i < count && i < MOST_CAUSES; i++)
    if (causes[i].now != causes[i].before)
      json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I}", "unit", causes[i].unit, "cause",
                                            causes[i].what, "before", (json_int_t)causes[i].before, "now",
                                            (json_int_t)causes[i].now));
  return list;
}

static json_t *section_json(tg_arena *arena, const tg_section_pair *pair) {
  const json_t *either = pair->now ? pair->now : pair->before;
  return json_pack("{s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "name", copied(either, "name"), "before",
                   copied(pair->before, "cycles"), "now", copied(pair->now, "cycles"), "moved",
                   (json_int_t)pair->moved, "bound_before", copied(pair->before, "bound_by"), "bound_now",
                   copied(pair->now, "bound_by"), "causes", causes_of(arena, pair));
}

/* Most moved first; those alike stay in the order of the program, which `now` and `before` point into. */
static int by_movement(const void *left, const void *right) {
  const tg_section_pair *a = *(const tg_section_pair *const *)left,
                        *b = *(const tg_section_pair *const *)right;
  long long x = llabs(a->moved), y = llabs(b->moved);
  return x != y ? (x > y ? -1 : 1) : (a > b) - (a < b);
}

static json_t *side_json(const tg_side *side) {
  return json_pack("{s:s, s:O?}", "name", side->name, "cycles", side->cycles);
}

json_t *tg_explain(const tg_side *before, const tg_side *now, bool all) {
  tg_arena arena = {0};
  size_t count;
  const tg_section_pair *pairs = tg_sections_pair(&arena, before->sections, now->sections, &count);
  const tg_section_pair **order = TG_NEW_ARRAY(&arena, const tg_section_pair *, count);
  for (size_t i = 0; i < count; i++) order[i] = &pairs[i];
  if (count) qsort(order, count, sizeof *order, by_movement);
  json_t *sections = json_array();
  for (size_t i = 0; i < count; i++) {
    json_t *one = section_json(&arena, order[i]);
    if (all || order[i]->moved || json_array_size(json_object_get(one, "causes")))
      json_array_append(sections, one);
    json_decref(one);
  }
  int64_t x = json_integer_value(before->cycles), y = json_integer_value(now->cycles);
  const char *text =
      x == y ? "no cycle moved" : tg_movement_text(&arena, x, y, before->sections, now->sections);
  json_t *explanation = json_pack("{s:o, s:o, s:s, s:o}", "before", side_json(before), "now", side_json(now),
                                  "text", text, "sections", sections);
  tg_arena_release(&arena);
  return explanation;
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "-";
}

static long long number_of(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

void tg_explain_print(const json_t *e, FILE *out) {
  const json_t *before = json_object_get(e, "before"), *now = json_object_get(e, "now");
  json_t *section, *cause;
  size_t i, k;
  fprintf(out, "%s\n\n%12s %12s %12s  bound by\n", text_of(e, "text"), text_of(before, "name"),
          text_of(now, "name"), "moved");
  json_array_foreach(json_object_get(e, "sections"), i, section) {
    fprintf(out, "%12lld %12lld %+12lld  %s -> %s  %s\n", number_of(section, "before"),
            number_of(section, "now"), number_of(section, "moved"), text_of(section, "bound_before"),
            text_of(section, "bound_now"), text_of(section, "name"));
    json_array_foreach(json_object_get(section, "causes"), k, cause) {
      const char *what = text_of(cause, "cause");
      fprintf(out, "    %12lld %12lld %+12lld  %s %s%s\n", number_of(cause, "before"),
              number_of(cause, "now"), number_of(cause, "now") - number_of(cause, "before"),
              text_of(cause, "unit"), strcmp(what, "busy") ? "waits for " : "", what);
    }
  }
  fputs("(indented: cycles summed over the units of a kind)\n", out);
}
