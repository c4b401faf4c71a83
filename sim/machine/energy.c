#include "sim/machine/energy.h"
#include "sim/machine/spec.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#define NODE(nm, volts, a2, a1, a0) #nm "nm",
static const char *const names[] = {
#include "sim/machine/energy.def"
    NULL};
#undef NODE
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

/* A node by its name. */
static bool load_name(const char *name, tg_energy *energy) {
  for (int n = 0; n < NODES; n++) {
    if (strcmp(name, names[n]) != 0) continue;
    load_node(nodes[n].nm, energy);
    return true;
  }
  return false;
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

static bool load_entry(const char *name, void *energy) { return load_name(name, energy); }
static tg_status set_key(void *energy, const char *key, const char *text, tg_diag *diag) {
  return set(energy, key, text, diag);
}
static tg_status check(const void *energy, tg_diag *diag) { return tg_energy_check(energy, diag); }

tg_status tg_energy_load(const char *spec, const char *beside, tg_energy *out_energy, tg_diag *diag) {
  static const tg_spec_kind kind = {"energy", "node", "price", names, load_entry, set_key, check, false};
  tg_energy_default(out_energy);
  return tg_spec_load(&kind, spec, beside, out_energy, diag);
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
