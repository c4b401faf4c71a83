#include "sim/machine/params.h"
#include "frontend/base/input_file.h"
#include "sim/machine/spec.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
      tg_dram_device_load(drams[p], NULL, &params->dram, NULL);
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

/* ---- bandwidth ---- */

static const char bandwidth_key[] = "dram_bandwidth";

static tg_status read_bandwidth(const char *text, double *out_rate, tg_diag *diag) {
  if (tg_dram_rate_read(text, out_rate)) return TG_OK;
  return tg_fail(diag, TG_INVALID, "parameter %s: \"%.40s\" is no rate, as 100GB/s", bandwidth_key, text);
}

/* Bytes a second that all ports carry. */
static double ports_peak(const tg_params *params) {
  return 1e6 * params->clock_mhz * tg_agcus(params) * params->port_bytes;
}

double tg_peak_dram_bytes(const tg_params *params) {
  double ports = (double)tg_agcus(params) * params->port_bytes;
  if (tg_dram_is_simple(&params->dram)) return ports;
  double device = (double)tg_dram_peak(&params->dram) / (1e6 * params->clock_mhz);
  return device < ports ? device : ports;
}

static tg_status set_bandwidth(tg_params *params, double rate, bool may_widen, tg_diag *diag) {
  enum { MOST_PORT_BYTES = 64 };
  tg_params wide = *params;
  bool simple = tg_dram_is_simple(&params->dram);
  if (simple && may_widen) wide.port_bytes = 1;
  while (may_widen && wide.port_bytes < MOST_PORT_BYTES && ports_peak(&wide) < 0.9999 * rate)
    wide.port_bytes *= 2;
  if (may_widen && ports_peak(&wide) < 0.9999 * rate)
    return tg_fail(diag, TG_INVALID,
                   "parameter %s: %u ports of %d bytes a cycle carry %.4g GB/s at %u MHz, not %.4g",
                   bandwidth_key, tg_agcus(params), MOST_PORT_BYTES, ports_peak(&wide) / 1e9,
                   params->clock_mhz, rate / 1e9);
  if (simple && fabs(ports_peak(&wide) / rate - 1) > 1e-4)
    return tg_fail(
        diag, TG_INVALID,
        "parameter %s: ports of %u bytes a cycle are %.4g GB/s of the memory \"simple\": another device, "
        "as --dram lpddr5-6400, gives any",
        bandwidth_key, wide.port_bytes, ports_peak(&wide) / 1e9);
  params->port_bytes = wide.port_bytes;
  return simple ? TG_OK : tg_dram_device_scale(&params->dram, rate, diag);
}

/* The value of an assignment to `key`; NULL: it is to another. */
static const char *value_for(const char *assignment, const char *key) {
  size_t n = strlen(key);
  return !strncmp(assignment, key, n) && assignment[n] == '=' ? assignment + n + 1 : NULL;
}

tg_status tg_params_check_setting(const char *assignment, tg_diag *diag) {
  const char *bandwidth = value_for(assignment, bandwidth_key);
  double rate;
  tg_params scratch = {0};
  return bandwidth ? read_bandwidth(bandwidth, &rate, diag) : tg_params_set(&scratch, assignment, diag);
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

/* ---- arrays as they are asked for ---- */

/* What one source says of the memory and of the ports to it. */
typedef struct said {
  double bandwidth; /* 0: nothing */
  bool device_too;  /* that of the device itself, beside it */
  bool dram, ports;
} said;

typedef struct builder {
  tg_params *params;
  const char *path;  /* of the file */
  said first, later; /* by the file, and by what comes after it */
  bool based;
  int given; /* parameters of the file */
} builder;

static tg_status load_dram(const char *spec, const char *beside, builder *b, said *by, tg_diag *diag) {
  by->dram = true;
  by->device_too = strstr(spec, ",bandwidth=") != NULL;
  return tg_dram_device_load(spec, beside, &b->params->dram, diag);
}

static tg_status check_said(const said *s, tg_diag *diag) {
  if (s->bandwidth == 0 || !s->device_too) return TG_OK;
  return tg_fail(diag, TG_INVALID, "parameter %s: dram has a bandwidth, too: give one of the two",
                 bandwidth_key);
}

static tg_status take_line(void *user, const char *key, const char *text, bool first, tg_diag *diag) {
  builder *b = user;
  if (!strcmp(key, "dram")) return load_dram(text, b->path, b, &b->first, diag);
  if (!strcmp(key, "energy")) return tg_energy_load(text, b->path, &b->params->energy, diag);
  if (!strcmp(key, bandwidth_key)) return read_bandwidth(text, &b->first.bandwidth, diag);
  b->first.ports |= !strcmp(key, "port_bytes");
  b->given++;
  if (strcmp(key, "base") != 0) return set(b->params, key, text, diag);
  b->based = true;
  if (first && load_preset(text, b->params)) return TG_OK;
  return tg_fail(diag, TG_INVALID, "base: wants one of %s, and to be the first line", list + 2);
}

static tg_status load_file(builder *b, tg_diag *diag) {
  tg_params *params = b->params;
  FILE *file;
  tg_diag why = {""};
  if (tg_input_open(b->path, &file, NULL, &why))
    return tg_fail(diag, TG_INVALID, "%s; the arrays there are: %s", why.message, list + 2);
  fclose(file);
  load_preset(names[0], params);
  tg_status status = tg_spec_read(b->path, "parameter", take_line, b, diag);
  const char *stem = strrchr(b->path, '/') ? strrchr(b->path, '/') + 1 : b->path;
  snprintf(params->name, sizeof params->name, "%.*s", (int)strcspn(stem, "."), stem);
  if (!status && !b->based && b->given < PARAMS)
    status = tg_fail(diag, TG_INVALID,
                     "names no base (`base: %s`, of %s, as the first line) and not all parameters", names[0],
                     list + 2);
  if (!status) status = check_said(&b->first, diag);
  if (!status) status = tg_params_check(params, diag);
  if (status) tg_diag_prefix(diag, "%s", b->path);
  return status;
}

static tg_status take_settings(builder *b, const tg_array_request *request, tg_diag *diag) {
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < request->setting_count; i++) {
    const char *bandwidth = value_for(request->settings[i], bandwidth_key);
    b->later.ports |= value_for(request->settings[i], "port_bytes") != NULL;
    status = bandwidth ? read_bandwidth(bandwidth, &b->later.bandwidth, diag)
                       : tg_params_set(b->params, request->settings[i], diag);
  }
  if (!status && request->dram) status = load_dram(request->dram, NULL, b, &b->later, diag);
  if (!status) status = check_said(&b->later, diag);
  return status ? status : tg_params_check(b->params, diag);
}

/* Of two rates the later holds; the file's not where a later memory, or ports that are the memory, say another. */
static tg_status settle_bandwidth(builder *b, tg_diag *dropped, tg_diag *diag) {
  tg_params *params = b->params;
  const uint32_t ports = params->port_bytes;
  const bool own = b->later.bandwidth > 0;
  const double rate = own ? b->later.bandwidth : b->first.bandwidth;
  if (rate == 0) return TG_OK;
  if (!own && (b->later.dram || (b->later.ports && tg_dram_is_simple(&params->dram)))) {
    tg_fail(dropped, TG_OK, "%s: %s: %.4g GB/s is dropped: %s is given after it", b->path, bandwidth_key,
            rate / 1e9, b->later.dram ? "another memory" : "port_bytes");
    return TG_OK;
  }
  tg_status status = set_bandwidth(params, rate, !b->later.ports && (own || !b->first.ports), diag);
  if (!status) status = tg_params_check(params, diag);
  if (status && !own) tg_diag_prefix(diag, "%s", b->path);
  if (!status && own && b->first.ports && params->port_bytes != ports)
    tg_fail(dropped, TG_OK, "%s: port_bytes: %u is dropped: %s=%.4gGB/s takes %u", b->path, ports,
            bandwidth_key, rate / 1e9, params->port_bytes);
  return status;
}

tg_status tg_params_build(const tg_array_request *request, tg_params *out_params, tg_diag *out_dropped,
                          tg_diag *diag) {
  builder b = {.params = out_params, .path = request->arch};
  if (out_dropped) *out_dropped = (tg_diag){""};
  tg_status status = load_preset(request->arch, out_params) ? TG_OK : load_file(&b, diag);
  if (!status) status = take_settings(&b, request, diag);
  return status ? status : settle_bandwidth(&b, out_dropped, diag);
}

tg_status tg_params_load(const char *name_or_file, tg_params *out_params, tg_diag *diag) {
  return tg_params_build(&(tg_array_request){.arch = name_or_file}, out_params, NULL, diag);
}
