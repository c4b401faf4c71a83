#include "sim/machine/energy.h"
#include "frontend/base/input_file.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

typedef struct field {
  const char *name;
  double value; /* negative: the device's */
  uint32_t node;
  size_t offset;
} field;

static const field fields[] = {
#define ENERGY(name, value, from, unit, doc) {#name, value, from, offsetof(tg_energy, name)},
#include "sim/machine/energy.def"
#undef ENERGY
#define DRAM_ENERGY(name, simple, ddr4, lpddr5, gddr6, hbm2e, hbm3, unit, doc)                               \
  {#name, -1, 0, offsetof(tg_energy, name)},
#include "sim/machine/energy.def"
#undef DRAM_ENERGY
};
enum { FIELDS = sizeof fields / sizeof *fields };
static const double highest = 1e9;

static const struct {
  uint32_t nm;
  double volts, a2, a1, a0;
} nodes[] = {
#define NODE(nm, volts, a2, a1, a0) {nm, volts, a2, a1, a0},
#include "sim/machine/energy.def"
#undef NODE
};
enum { NODES = sizeof nodes / sizeof *nodes, DEFAULT_NODE = 45 };

static double *slot(tg_energy *energy, int i) {
  return (double *)(void *)((char *)energy + fields[i].offset);
}
static double value(const tg_energy *energy, int i) {
  return *(const double *)(const void *)((const char *)energy + fields[i].offset);
}

/* Relative energy at a node; 0: there is none. */
static double relative(uint32_t nm) {
  for (int n = 0; n < NODES; n++)
    if (nodes[n].nm == nm)
      return nodes[n].a2 * nodes[n].volts * nodes[n].volts + nodes[n].a1 * nodes[n].volts + nodes[n].a0;
  return 0;
}

double tg_energy_scale(uint32_t from, uint32_t to) { return relative(to) / relative(from); }

static void load_node(uint32_t node, tg_energy *energy) {
  *energy = (tg_energy){.node = node};
  for (int i = 0; i < FIELDS; i++) {
    double factor = fields[i].node ? tg_energy_scale(fields[i].node, node) : 1;
    *slot(energy, i) = fields[i].value * factor;
  }
}

void tg_energy_default(tg_energy *out_energy) { load_node(DEFAULT_NODE, out_energy); }

/* A node by its name, as "45nm". */
static bool load_name(const char *name, tg_energy *energy) {
  char known[16];
  for (int n = 0; n < NODES; n++) {
    snprintf(known, sizeof known, "%unm", nodes[n].nm);
    if (strcmp(name, known) != 0) continue;
    load_node(nodes[n].nm, energy);
    return true;
  }
  return false;
}

static tg_status unknown(const char *name, const char *why, tg_diag *diag) {
  char list[120] = "";
  for (int n = 0; n < NODES; n++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%unm", n ? ", " : "", nodes[n].nm);
  }
  return tg_fail(diag, TG_INVALID, "energy \"%.100s\": %s; the nodes there are: %s", name, why, list);
}

static tg_status set(tg_energy *energy, const char *key, const char *text, tg_diag *diag) {
  for (int i = 0; i < FIELDS; i++) {
    if (strcmp(key, fields[i].name) != 0) continue;
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (end == text || *end || errno || !strchr("0123456789.", *text) || strpbrk(text, "xX"))
      return tg_fail(diag, TG_INVALID, "energy %s: \"%.40s\" is not a number", key, text);
    if (!(number <= highest))
      return tg_fail(diag, TG_INVALID, "energy %s: %.40s is not in 0..%g", key, text, highest);
    *slot(energy, i) = number;
    return TG_OK;
  }
  return tg_fail(diag, TG_INVALID, "energy: there is no price \"%.40s\"", key);
}

tg_status tg_energy_check(const tg_energy *energy, tg_diag *diag) {
  if (!(relative(energy->node) > 0) || energy->unused)
    return tg_fail(diag, TG_INVALID, "energy: there is no node of %u nm", energy->node);
  for (int i = 0; i < FIELDS; i++) {
    double v = value(energy, i);
    if (!(v <= highest) || (v < 0 && v != fields[i].value))
      return tg_fail(diag, TG_INVALID, "energy %s: %g is not in 0..%g", fields[i].name, v, highest);
  }
  return TG_OK;
}

bool tg_energy_equal(const tg_energy *a, const tg_energy *b) {
  for (int i = 0; i < FIELDS; i++)
    if (value(a, i) != value(b, i)) return false;
  return a->node == b->node;
}

/* A key and its value, the line's; `first` of a file. */
static tg_status take(tg_energy *energy, const char *key, const char *text, bool first, tg_diag *diag) {
  if (strcmp(key, "base") != 0) return set(energy, key, text, diag);
  if (!first || !load_name(text, energy))
    return tg_fail(diag, TG_INVALID, "base: wants a node, as 45nm, and to be the first line");
  return TG_OK;
}

/* Reads a flat mapping of scalars. */
static tg_status load_yaml(yaml_parser_t *parser, tg_energy *energy, tg_diag *diag) {
  char key[32] = "";
  bool first = true;
  int depth = 0;
  for (;;) {
    yaml_event_t event;
    bool parsed = yaml_parser_parse(parser, &event);
    if (parser->error == YAML_MEMORY_ERROR) tg_die("out of memory");
    if (!parsed)
      return tg_fail(diag, TG_INVALID, "line %zu: %s", parser->problem_mark.line + 1,
                     parser->problem ? parser->problem : "not YAML");
    tg_status status = TG_OK;
    bool end = event.type == YAML_STREAM_END_EVENT, scalar = event.type == YAML_SCALAR_EVENT;
    const char *text = scalar ? (const char *)event.data.scalar.value : "";
    if (event.type == YAML_MAPPING_START_EVENT) depth++;
    if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_ALIAS_EVENT || depth > 1 ||
        (scalar && !depth)) {
      status = tg_fail(diag, TG_INVALID, "line %zu: only `key: value` lines are understood",
                       event.start_mark.line + 1);
    } else if (scalar && !key[0]) {
      if (!text[0] || strlen(text) >= sizeof key)
        status = tg_fail(diag, TG_INVALID, "line %zu: bad name of a price", event.start_mark.line + 1);
      else
        strcpy(key, text);
    } else if (scalar) {
      status = take(energy, key, text, first, diag);
      if (status) tg_diag_prefix(diag, "line %zu", event.start_mark.line + 1);
      first = false;
      key[0] = 0;
    }
    yaml_event_delete(&event);
    if (status || end) return status;
  }
}

static tg_status load_file(const char *path, tg_energy *energy, tg_diag *diag) {
  FILE *file;
  tg_diag why = {""};
  size_t length = strlen(path);
  if (length < 6 || strcmp(path + length - 5, ".yaml") != 0)
    return unknown(path, "is no node and no .yaml file", diag);
  if (tg_input_open(path, &file, NULL, &why)) return unknown(path, why.message, diag);
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) tg_die("out of memory");
  yaml_parser_set_input_file(&parser, file);
  tg_energy_default(energy);
  tg_status status = load_yaml(&parser, energy, diag);
  yaml_parser_delete(&parser);
  fclose(file);
  if (status) tg_diag_prefix(diag, "%s", path);
  return status;
}

static tg_status load_changes(char *changes, tg_energy *energy, tg_diag *diag) {
  char *rest;
  for (char *word = strtok_r(changes, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
    char *equals = strchr(word, '=');
    if (!equals) return tg_fail(diag, TG_INVALID, "energy: \"%.40s\" is not key=value", word);
    *equals = 0;
    tg_status status = set(energy, word, equals + 1, diag);
    if (status) return status;
  }
  return TG_OK;
}

tg_status tg_energy_load(const char *spec, tg_energy *out_energy, tg_diag *diag) {
  char *copy = strdup(spec), *comma = copy ? strchr(copy, ',') : NULL;
  if (!copy) tg_die("out of memory");
  if (comma) *comma = 0;
  tg_status status = load_name(copy, out_energy) ? TG_OK : load_file(copy, out_energy, diag);
  if (!status && comma) status = load_changes(comma + 1, out_energy, diag);
  free(copy);
  return status;
}

const char *tg_energy_print(const tg_energy *energy, tg_arena *arena) {
  tg_energy node;
  load_node(energy->node, &node);
  const char *text = tg_arena_printf(arena, "%unm", energy->node);
  for (int i = 0; i < FIELDS; i++) {
    double v = value(energy, i);
    char digits[32];
    if (v == value(&node, i)) continue;
    snprintf(digits, sizeof digits, "%.15g", v);
    if (strtod(digits, NULL) != v) snprintf(digits, sizeof digits, "%.17g", v);
    text = tg_arena_printf(arena, "%s,%s=%s", text, fields[i].name, digits);
  }
  return text;
}
