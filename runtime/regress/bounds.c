#include "runtime/regress/bounds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum bound_kind {
  CEILING,
  FLOOR,
  SHARE,
  BYTES,
  SECONDS,
  TOLERANCE,
  SWITCH,
  ENGINES,
  FILES,
  TIMES,
  STEPS,
  REASON,
  TAGS
} bound_kind;
typedef enum bound_place { BOUNDS, CASE } bound_place;

static const struct {
  const char *name;
  bound_kind kind;
  bound_place place;
} table[] = {
#define BOUND(name, kind, place) {#name, kind, place},
#include "runtime/regress/bounds.def"
#undef BOUND
};

const char *tg_bound_name(tg_bound_id id) { return table[id].name; }

/* A number and what follows it. Infinities, NaNs and hexadecimal forms are no numbers here. */
static bool leading_number(const char *text, double *out_value, const char **out_rest) {
  if (!strchr("+-.0123456789", *text) || strpbrk(text, "xX")) return false;
  char *end;
  errno = 0;
  *out_value = strtod(text, &end);
  *out_rest = end + strspn(end, " ");
  return end != text && !errno && isfinite(*out_value);
}

typedef struct unit {
  const char *name;
  double factor;
} unit;
static const unit byte_units[] = {{"", 1},         {"B", 1},        {"k", 1e3}, {"K", 1e3},  {"kB", 1e3},
                                  {"M", 1e6},      {"MB", 1e6},     {"G", 1e9}, {"GB", 1e9}, {"KiB", 0x1p10},
                                  {"MiB", 0x1p20}, {"GiB", 0x1p30}, {NULL, 0}};
static const unit time_units[] = {{"", 1}, {"s", 1}, {"min", 60}, {"h", 3600}, {NULL, 0}};

static bool with_unit(const char *text, const unit *units, double *out_value) {
  const char *rest;
  if (!leading_number(text, out_value, &rest) || *out_value < 0) return false;
  for (; units->name; units++)
    if (!strcmp(rest, units->name)) {
      *out_value *= units->factor;
      return true;
    }
  return false;
}

bool tg_bytes_read(const char *text, uint64_t *out_bytes) {
  double bytes;
  if (!with_unit(text, byte_units, &bytes) || bytes >= 0x1p62) return false;
  *out_bytes = (uint64_t)bytes;
  return true;
}

static bool is_number(const char *text, double lowest, double highest, double *out_value) {
  const char *rest;
  return leading_number(text, out_value, &rest) && !*rest && *out_value >= lowest && *out_value <= highest;
}

static bool is_tolerance(const char *text, tg_bound *bound) {
  const char *rest;
  if (!strcmp(text, "any")) {
    bound->tolerance = TG_TOLERANCE_ANY;
    return true;
  }
  if (!leading_number(text, &bound->real, &rest) || bound->real < 0) return false;
  bound->tolerance = *rest ? TG_TOLERANCE_SHARE : TG_TOLERANCE_CYCLES;
  if (*rest) bound->real /= 100;
  return !*rest || !strcmp(rest, "%");
}

static bool is_switch(const char *text, bool *out_on) {
  *out_on = !strcmp(text, "true");
  return *out_on || !strcmp(text, "false");
}

static tg_status read_scalar(tg_yaml *yaml, yaml_node_t *node, tg_bound_id id, tg_bound *bound) {
  static const char *const wants[] = {[CEILING] = "a number from 0 on",
                                      [FLOOR] = "a number from -1 to 1",
                                      [SHARE] = "a number from 0 to 1",
                                      [BYTES] = "bytes, as 4096, 64M or 1.5GiB",
                                      [SECONDS] = "a time, as 90, 30s, 10min or 1h",
                                      [TOLERANCE] = "cycles (100), a share (2%) or any",
                                      [SWITCH] = "true or false",
                                      [TIMES] = "a number from 0 to 100",
                                      [STEPS] = "a number of steps from 0 on",
                                      [REASON] = "a line that says why, or false"};
  bool good = false, on = false;
  tg_status status = tg_yaml_text(yaml, node, table[id].name, &bound->text);
  if (status) return status;
  switch (table[id].kind) {
  case CEILING: good = is_number(bound->text, 0, INFINITY, &bound->real); break;
  case FLOOR: good = is_number(bound->text, -1, 1, &bound->real); break;
  case SHARE: good = is_number(bound->text, 0, 1, &bound->real); break;
  case SECONDS:
    good = with_unit(bound->text, time_units, &bound->real) && bound->real > 0 && bound->real <= 1e7;
    break;
  case BYTES: good = tg_bytes_read(bound->text, &bound->bytes); break;
  case TOLERANCE: good = is_tolerance(bound->text, bound); break;
  case TIMES: good = is_number(bound->text, 0, 100, &bound->real) && bound->real == floor(bound->real); break;
  case STEPS:
    good = is_number(bound->text, 0, 1e15, &bound->real) && bound->real == floor(bound->real);
    break;
  case REASON:
    good = *bound->text && strcmp(bound->text, "true") != 0 && !strchr(bound->text, '\n');
    if (!strcmp(bound->text, "false")) bound->text = "";
    break;
  default:
    good = is_switch(bound->text, &on);
    bound->real = on;
    break;
  }
  if (good) return TG_OK;
  return tg_yaml_fail(yaml, node, "%s: \"%s\" is not %s", table[id].name, bound->text, wants[table[id].kind]);
}

static tg_status read_engines(tg_yaml *yaml, yaml_node_t *node, tg_bound *bound) {
  const char **names;
  size_t count;
  bool on;
  tg_status status = tg_yaml_texts(yaml, node, "engines_equal", &names, &count);
  if (status) return status;
  if (node->type == YAML_SCALAR_NODE) {
    if (!is_switch(names[0], &on))
      return tg_yaml_fail(yaml, node, "engines_equal: \"%s\" is neither true, false nor a list of engines",
                          names[0]);
    bound->text = on ? "available" : "";
    return TG_OK;
  }
  if (count < 2) return tg_yaml_fail(yaml, node, "engines_equal: at least two engines can be equal");
  bound->text = "";
  for (size_t i = 0; i < count; i++) {
    if (strcmp(names[i], "functional") && strcmp(names[i], "systemc") && strcmp(names[i], "rtl"))
      return tg_yaml_fail(yaml, node, "engines_equal: \"%s\" is none of functional, systemc, rtl", names[i]);
    bound->text = tg_arena_printf(yaml->arena, "%s%s%s", bound->text, i ? "," : "", names[i]);
  }
  return TG_OK;
}

static tg_status take_file(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  tg_bound *bound = user;
  const char *file;
  tg_status status = tg_yaml_text(yaml, value, "golden", &file);
  if (status) return status;
  if (!*file || !*key) return tg_yaml_fail(yaml, value, "golden: wants OUTPUT: FILE.npy");
  const char **files = TG_NEW_ARRAY(yaml->arena, const char *, bound->file_count + 1);
  for (size_t i = 0; i < bound->file_count; i++) files[i] = bound->files[i];
  files[bound->file_count++] = tg_arena_printf(yaml->arena, "%s=%s", key, file);
  bound->files = files;
  return TG_OK;
}

static tg_status read_tags(tg_yaml *yaml, yaml_node_t *node, tg_bound *bound) {
  tg_status status = tg_yaml_texts(yaml, node, "tags", &bound->files, &bound->file_count);
  for (size_t i = 0; !status && i < bound->file_count; i++)
    if (!*bound->files[i] || strpbrk(bound->files[i], "! ,\t\n"))
      return tg_yaml_fail(yaml, node, "tags: \"%s\" is no word without blanks, commas and !",
                          bound->files[i]);
  return status;
}

static tg_status read_bound(tg_yaml *yaml, yaml_node_t *node, tg_bound_id id, tg_bounds *bounds) {
  tg_bound *bound = &bounds->of[id];
  *bound = (tg_bound){.given = true};
  if (table[id].kind == ENGINES) return read_engines(yaml, node, bound);
  if (table[id].kind == FILES) return tg_yaml_pairs(yaml, node, table[id].name, take_file, bound);
  if (table[id].kind == TAGS) return read_tags(yaml, node, bound);
  return read_scalar(yaml, node, id, bound);
}

static const char *known(tg_arena *arena, bound_place place) {
  const char *names = "";
  for (int i = 0; i < TG_BOUND_COUNT; i++)
    if (table[i].place == place)
      names = tg_arena_printf(arena, "%s%s%s", names, *names ? ", " : "", table[i].name);
  return names;
}

static tg_status take_bound(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value) {
  for (int i = 0; i < TG_BOUND_COUNT; i++)
    if (table[i].place == BOUNDS && !strcmp(table[i].name, key))
      return read_bound(yaml, value, (tg_bound_id)i, user);
  return tg_yaml_unknown(yaml, value, key, "bounds", known(yaml->arena, BOUNDS));
}

tg_status tg_bounds_read(tg_yaml *yaml, yaml_node_t *node, tg_bounds *bounds) {
  return tg_yaml_pairs(yaml, node, "bounds", take_bound, bounds);
}

tg_status tg_limit_read(tg_yaml *yaml, const char *key, yaml_node_t *value, tg_bounds *bounds,
                        bool *out_known) {
  *out_known = true;
  for (int i = 0; i < TG_BOUND_COUNT; i++)
    if (table[i].place == CASE && !strcmp(table[i].name, key))
      return read_bound(yaml, value, (tg_bound_id)i, bounds);
  *out_known = false;
  return TG_OK;
}

static void add_tags(tg_arena *arena, tg_bound *base, const tg_bound *over) {
  const char **all = TG_NEW_ARRAY(arena, const char *, base->file_count + over->file_count + 1);
  for (size_t i = 0; i < base->file_count; i++) all[i] = base->files[i];
  for (size_t i = 0; i < over->file_count; i++) all[base->file_count + i] = over->files[i];
  *base = (tg_bound){.given = true, .files = all, .file_count = base->file_count + over->file_count};
}

void tg_bounds_lay_over(tg_arena *arena, tg_bounds *base, const tg_bounds *over) {
  for (int i = 0; i < TG_BOUND_COUNT; i++) {
    if (!over->of[i].given) continue;
    if (table[i].kind == TAGS)
      add_tags(arena, &base->of[i], &over->of[i]);
    else
      base->of[i] = over->of[i];
  }
}

bool tg_bounds_have_tag(const tg_bounds *bounds, const char *tag) {
  const tg_bound *tags = &bounds->of[TG_BOUND_tags];
  for (size_t i = 0; i < tags->file_count; i++)
    if (!strcmp(tags->files[i], tag)) return true;
  return false;
}
