#include "sim/machine/params.h"
#include "frontend/base/input_file.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define ARRAY(name, dram) ARRAY_##name,
enum {
#include "sim/machine/arrays.def"
  ARRAYS
};
#undef ARRAY

#define ARRAY(name, dram) #name,
static const char *const names[] = {
#include "sim/machine/arrays.def"
    NULL};
#undef ARRAY

#define ARRAY(name, dram) ", " #name
static const char list[] =
#include "sim/machine/arrays.def"
    ;
#undef ARRAY

#define ARRAY(name, dram) dram,
static const char *const drams[] = {
#include "sim/machine/arrays.def"
};
#undef ARRAY

#define VALUES(...) __VA_ARGS__
static const struct {
  const char *name;
  uint32_t preset[ARRAYS], lowest, highest;
  bool power_of_two;
  size_t offset;
} table[] = {
#define PARAM(name, presets, lowest, highest, power_of_two, doc)                                             \
  {#name, {VALUES presets}, lowest, highest, power_of_two, offsetof(tg_params, name)},
#include "sim/machine/params.def"
#undef PARAM
};
enum { PARAMS = sizeof table / sizeof *table };

const char *const *tg_params_names(void) { return names; }

static uint32_t *slot(tg_params *params, int i) {
  return (uint32_t *)(void *)((char *)params + table[i].offset);
}
static uint32_t value(const tg_params *params, int i) {
  return *(const uint32_t *)(const void *)((const char *)params + table[i].offset);
}

static bool load_preset(const char *name, tg_params *params) {
  for (int p = 0; p < ARRAYS; p++)
    if (!strcmp(name, names[p])) {
      *params = (tg_params){0};
      snprintf(params->name, sizeof params->name, "%s", name);
      for (int i = 0; i < PARAMS; i++) *slot(params, i) = table[i].preset[p];
      tg_dram_device_load(drams[p], &params->dram, NULL);
      tg_energy_default(&params->energy);
      return true;
    }
  return false;
}

static tg_status set(tg_params *params, const char *key, const char *text, tg_diag *diag) {
  for (int i = 0; i < PARAMS; i++)
    if (!strcmp(key, table[i].name)) {
      char *end;
      errno = 0;
      unsigned long long number = strtoull(text, &end, 10);
      if (end == text || *end || errno || *text == '-')
        return tg_fail(diag, TG_INVALID, "parameter %s: \"%s\" is not a whole number", key, text);
      if (number < table[i].lowest || number > table[i].highest)
        return tg_fail(diag, TG_INVALID, "parameter %s: %llu is not in %u..%u", key, number, table[i].lowest,
                       table[i].highest);
      *slot(params, i) = (uint32_t)number;
      return TG_OK;
    }
  return tg_fail(diag, TG_INVALID, "there is no parameter \"%s\"", key);
}

tg_status tg_params_set(tg_params *params, const char *assignment, tg_diag *diag) {
  char key[64];
  size_t n = strcspn(assignment, "=");
  if (!assignment[n] || n >= sizeof key)
    return tg_fail(diag, TG_INVALID, "\"%s\" is not KEY=VALUE", assignment);
  memcpy(key, assignment, n);
  key[n] = 0;
  return set(params, key, assignment + n + 1, diag);
}

tg_status tg_params_check(const tg_params *params, tg_diag *diag) {
  for (int i = 0; i < PARAMS; i++) {
    uint32_t v = value(params, i);
    if (v < table[i].lowest || v > table[i].highest)
      return tg_fail(diag, TG_INVALID, "parameter %s: %u is not in %u..%u", table[i].name, v, table[i].lowest,
                     table[i].highest);
    if (table[i].power_of_two && (v & (v - 1)))
      return tg_fail(diag, TG_INVALID, "parameter %s: %u is not a power of two", table[i].name, v);
  }
  if (params->bank_bytes < 4 * tg_flit_bytes(params))
    return tg_fail(diag, TG_INVALID, "parameter bank_bytes: less than four rows");
  if (params->acc_bytes < 64 * params->p)
    return tg_fail(diag, TG_INVALID, "parameter acc_bytes: less than eight rows");
  if (tg_pad_rows(params) > 65536)
    return tg_fail(diag, TG_INVALID, "parameter banks: more than 65536 scratchpad rows");
  if (2 * tg_acc_rows(params) > 65536)
    return tg_fail(diag, TG_INVALID, "parameter acc_bytes: more than 65536 accumulator rows");
  tg_status status = tg_dram_device_check(&params->dram, diag);
  return status ? status : tg_energy_check(&params->energy, diag);
}

bool tg_params_equal(const tg_params *a, const tg_params *b) {
  for (int i = 0; i < PARAMS; i++)
    if (value(a, i) != value(b, i)) return false;
  return true;
}

/* Reads a flat mapping of scalars, in order; `base` must come first. */
static tg_status load_yaml(yaml_parser_t *parser, tg_params *params, tg_diag *diag) {
  char key[64] = "";
  int depth = 0;
  bool any = false, based = false;
  int given = 0;
  for (;;) {
    yaml_event_t event;
    bool parsed = yaml_parser_parse(parser, &event);
    if (parser->error == YAML_MEMORY_ERROR) tg_die("out of memory");
    if (!parsed)
      return tg_fail(diag, TG_INVALID, "line %zu: %s", parser->problem_mark.line + 1,
                     parser->problem ? parser->problem : "not YAML");
    tg_status status = TG_OK;
    bool end = event.type == YAML_STREAM_END_EVENT;
    if (event.type == YAML_MAPPING_START_EVENT) depth++;
    if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_ALIAS_EVENT || depth > 1)
      status = tg_fail(diag, TG_INVALID, "line %zu: only `parameter: value` lines are understood",
                       event.start_mark.line + 1);
    if (!status && event.type == YAML_SCALAR_EVENT) {
      const char *text = (const char *)event.data.scalar.value;
      if (depth != 1)
        status = tg_fail(diag, TG_INVALID, "line %zu: only `parameter: value` lines are understood",
                         event.start_mark.line + 1);
      else if (!key[0] && (!text[0] || strlen(text) >= sizeof key))
        status = tg_fail(diag, TG_INVALID, "line %zu: bad parameter name", event.start_mark.line + 1);
      else if (!key[0])
        strcpy(key, text);
      else {
        if (!strcmp(key, "dram"))
          status = tg_dram_device_load(text, &params->dram, diag);
        else if (!strcmp(key, "energy"))
          status = tg_energy_load(text, &params->energy, diag);
        else if (strcmp(key, "base"))
          status = set(params, key, text, diag);
        else if (any || !load_preset(text, params))
          status = tg_fail(diag, TG_INVALID, "base: wants one of %s, and to be the first line", list + 2);
        based |= !strcmp(key, "base");
        given += strcmp(key, "dram") != 0 && strcmp(key, "energy") != 0;
        any = true;
        key[0] = 0;
      }
    }
    yaml_event_delete(&event);
    if (!status && end && !based && given < PARAMS)
      status = tg_fail(diag, TG_INVALID,
                       "names no base (`base: %s`, of %s, as the first line) and not all parameters",
                       names[0], list + 2);
    if (status || end) return status;
  }
}

tg_status tg_params_load(const char *name_or_file, tg_params *out_params, tg_diag *diag) {
  if (load_preset(name_or_file, out_params)) return TG_OK;
  FILE *file;
  tg_diag why = {""};
  if (tg_input_open(name_or_file, &file, NULL, &why))
    return tg_fail(diag, TG_INVALID, "%s; the arrays there are: %s", why.message, list + 2);
  load_preset(names[0], out_params);
  const char *stem = strrchr(name_or_file, '/') ? strrchr(name_or_file, '/') + 1 : name_or_file;
  snprintf(out_params->name, sizeof out_params->name, "%.*s", (int)strcspn(stem, "."), stem);
  char name[sizeof out_params->name];
  memcpy(name, out_params->name, sizeof name);
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) tg_die("out of memory");
  yaml_parser_set_input_file(&parser, file);
  tg_status status = load_yaml(&parser, out_params, diag);
  memcpy(out_params->name, name, sizeof name);
  yaml_parser_delete(&parser);
  fclose(file);
  if (!status) status = tg_params_check(out_params, diag);
  if (status) tg_diag_prefix(diag, "%s", name_or_file);
  return status;
}
