#include "sim/machine/dram_device.h"
#include "frontend/base/text_stream.h"
#include "sim/machine/spec.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAM_DEVICE(name, map) name,
static const char *const names[] = {"simple",
#include "sim/machine/dram_device.def"
                                    NULL};
#define DRAM_DEVICE(name, map) map,
static const char *const maps[] = {
#include "sim/machine/dram_device.def"
};
enum { DEVICES = sizeof maps / sizeof *maps };

typedef struct field {
  const char *name;
  uint32_t value[DEVICES], lowest, highest; /* of each device; of words that of all is the first */
  bool power_of_two;
  const char *choices; /* "a|b": by their numbers; NULL: a number */
  size_t offset;
} field;

static const field fields[] = {
#define VALUES(...) __VA_ARGS__
#define DRAM_FIELD(name, devices, lowest, highest, power_of_two, doc)                                        \
  {#name, {VALUES devices}, lowest, highest, power_of_two, NULL, offsetof(tg_dram_device, name)},
#define DRAM_WORD(name, value, choices, doc)                                                                 \
  {#name, {value}, 0, 2, false, choices, offsetof(tg_dram_device, name)},
#include "sim/machine/dram_device.def"
};
enum { FIELDS = sizeof fields / sizeof *fields };

const char *const *tg_dram_device_names(void) { return names; }

static uint32_t *slot(tg_dram_device *device, int i) {
  return (uint32_t *)(void *)((char *)device + fields[i].offset);
}
static uint32_t value(const tg_dram_device *device, int i) {
  return *(const uint32_t *)(const void *)((const char *)device + fields[i].offset);
}

static bool load_row(const char *name, tg_dram_device *device) {
  *device = (tg_dram_device){0};
  for (int d = 0; names[d]; d++) {
    if (strcmp(name, names[d])) continue;
    snprintf(device->name, sizeof device->name, "%s", name);
    if (d == 0) return true;
    snprintf(device->map, sizeof device->map, "%s", maps[d - 1]);
    for (int i = 0; i < FIELDS; i++) *slot(device, i) = fields[i].value[fields[i].choices ? 0 : d - 1];
    return true;
  }
  return false;
}

/* ---- words ---- */

/* The number of a word in "a|b|c", or -1. */
static int find_word(const char *choices, const char *word) {
  size_t length = strlen(word);
  for (int n = 0; choices; n++) {
    const char *bar = strchr(choices, '|');
    size_t size = bar ? (size_t)(bar - choices) : strlen(choices);
    if (size == length && !strncmp(choices, word, size)) return n;
    choices = bar ? bar + 1 : NULL;
  }
  return -1;
}

static void print_word(FILE *out, const char *choices, uint32_t number) {
  for (; number && strchr(choices, '|'); number--) choices = strchr(choices, '|') + 1;
  fprintf(out, "%.*s", (int)strcspn(choices, "|"), choices);
}

/* ---- bandwidth ---- */

bool tg_dram_rate_read(const char *text, double *out_bytes_a_second) {
  static const struct {
    const char *name;
    double bytes;
  } units[] = {{"kB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12},
               {"KiB/s", 0x1p10}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30}, {"TiB/s", 0x1p40}};
  size_t digits = strspn(text, "0123456789.");
  char *end;
  double number = strtod(text, &end);
  if (!digits || end != text + digits || !(number > 0)) return false;
  end += strspn(end, " ");
  for (size_t u = 0; u < sizeof units / sizeof *units; u++)
    if (!strcmp(end, units[u].name)) return *out_bytes_a_second = number * units[u].bytes, true;
  return false;
}

/* What is too long for a number is refused as what is too long for the field. */
static uint32_t scaled(uint32_t picoseconds, double factor) {
  return (uint32_t)fmin(ceil(picoseconds * factor), UINT32_MAX);
}

tg_status tg_dram_device_scale(tg_dram_device *d, double bytes_a_second, tg_diag *diag) {
  enum { MOST_CHANNELS = 256, LEAST_RATE = 100, MOST_RATE = 100000 };
  double bus = d->width / 8 * 1e6,
         channel = bus * d->rate; /* bytes a second of a channel, at a rate of 1 and its own */
  double channels = exp2(round(log2(bytes_a_second / channel)));
  channels = channels < 1 ? 1 : channels > MOST_CHANNELS ? MOST_CHANNELS : channels;
  double rate = round(bytes_a_second / channels / bus), slower = d->rate / rate;
  if (!(rate >= LEAST_RATE && rate <= MOST_RATE))
    return tg_fail(diag, TG_INVALID, "dram: %.4g GB/s is more or less than %s gives with any channels",
                   bytes_a_second / 1e9, d->name);
  d->channels = (uint32_t)channels;
  d->rate = (uint32_t)rate;
  d->tCCD_S = scaled(d->tCCD_S, slower);
  d->tCCD_L = scaled(d->tCCD_L, slower);
  d->tRTW = scaled(d->tRTW, slower);
  return TG_OK;
}

static tg_status set(tg_dram_device *device, const char *key, const char *text, tg_diag *diag) {
  if (tg_dram_is_simple(device))
    return tg_fail(diag, TG_INVALID, "dram %s: the device simple has no parameters", key);
  if (!strcmp(key, "bandwidth")) {
    double bytes_a_second;
    if (tg_dram_rate_read(text, &bytes_a_second)) return tg_dram_device_scale(device, bytes_a_second, diag);
    return tg_fail(diag, TG_INVALID, "dram bandwidth: \"%.40s\" is no rate, as 100GB/s", text);
  }
  if (!strcmp(key, "map")) {
    if (strlen(text) >= sizeof device->map)
      return tg_fail(diag, TG_INVALID, "dram map: more than %zu letters", sizeof device->map - 1);
    memset(device->map, 0, sizeof device->map);
    memcpy(device->map, text, strlen(text));
    return TG_OK;
  }
  for (int i = 0; i < FIELDS; i++) {
    if (strcmp(key, fields[i].name)) continue;
    if (fields[i].choices) {
      int word = find_word(fields[i].choices, text);
      if (word < 0)
        return tg_fail(diag, TG_INVALID, "dram %s: \"%.40s\" is none of %s", key, text, fields[i].choices);
      *slot(device, i) = (uint32_t)word;
      return TG_OK;
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *end || errno || *text < '0' || *text > '9')
      return tg_fail(diag, TG_INVALID, "dram %s: \"%.40s\" is not a whole number", key, text);
    if (number < fields[i].lowest || number > fields[i].highest)
      return tg_fail(diag, TG_INVALID, "dram %s: %llu is not in %u..%u", key, number, fields[i].lowest,
                     fields[i].highest);
    *slot(device, i) = (uint32_t)number;
    return TG_OK;
  }
  return tg_fail(diag, TG_INVALID, "dram: there is no parameter \"%.40s\"", key);
}

/* ---- the map ---- */

static uint32_t log2_of(uint32_t power) { return (uint32_t)__builtin_ctz(power); }

static void kind_bits(const tg_dram_device *d, uint32_t out_bits[TG_MAP_KINDS]) {
  out_bits[TG_MAP_COLUMN] = log2_of(d->row_bytes / tg_dram_access_bytes(d));
  out_bits[TG_MAP_CHANNEL] = log2_of(d->channels);
  out_bits[TG_MAP_GROUP] = log2_of(d->groups);
  out_bits[TG_MAP_BANK] = log2_of(d->banks);
  out_bits[TG_MAP_ROW] = log2_of(d->rows);
}

/* Tokens of the map, or what is wrong with it. */
static const char *parse_map(const tg_dram_device *d, tg_map_token *out_tokens, uint32_t *out_count) {
  static const char letters[TG_MAP_KINDS] = {'c', 'h', 'g', 'b', 'r'};
  uint32_t left[TG_MAP_KINDS], taken[TG_MAP_KINDS] = {0}, lsb = log2_of(tg_dram_access_bytes(d)), count = 0;
  kind_bits(d, left);
  for (const char *at = d->map; *at;) {
    const char *letter = memchr(letters, *at, sizeof letters);
    if (!letter) return "has a letter that is none of c, h, g, b, r";
    size_t kind = (size_t)(letter - letters);
    uint32_t bits = left[kind];
    if (*++at >= '0' && *at <= '9') {
      bits = 0;
      for (; *at >= '0' && *at <= '9' && bits < 100; at++) bits = 10 * bits + (uint32_t)(*at - '0');
    }
    if (bits > left[kind]) return "takes more bits of a kind than it has";
    if (kind == TG_MAP_CHANNEL && bits && lsb < 6) return "changes the channel within an atom of 64 bytes";
    out_tokens[count++] = (tg_map_token){(uint8_t)kind, (uint8_t)lsb, (uint8_t)bits, (uint8_t)taken[kind]};
    left[kind] -= bits;
    taken[kind] += bits;
    lsb += bits;
  }
  for (int k = 0; k < TG_MAP_KINDS; k++)
    if (left[k]) return "leaves out bits of a kind";
  *out_count = count;
  return NULL;
}

uint32_t tg_dram_map(const tg_dram_device *device, tg_map_token out_tokens[TG_MAP_TOKENS]) {
  uint32_t count = 0;
  const char *wrong = parse_map(device, out_tokens, &count);
  if (wrong) tg_die("dram map: %s", wrong);
  return count;
}

/* ---- checks ---- */

static tg_status check_ranges(const tg_dram_device *d, tg_diag *diag) {
  for (int i = 0; i < FIELDS; i++) {
    uint32_t v = value(d, i), highest = fields[i].highest;
    if (fields[i].choices) {
      highest = 0;
      for (const char *bar = fields[i].choices; (bar = strchr(bar, '|')); bar++) highest++;
    }
    if (v < fields[i].lowest || v > highest)
      return tg_fail(diag, TG_INVALID, "dram %s: %u is not in %u..%u", fields[i].name, v, fields[i].lowest,
                     highest);
    if (fields[i].power_of_two && (v & (v - 1)))
      return tg_fail(diag, TG_INVALID, "dram %s: %u is not a power of two", fields[i].name, v);
  }
  return TG_OK;
}

tg_status tg_dram_device_check(const tg_dram_device *d, tg_diag *diag) {
  if (!memchr(d->name, 0, sizeof d->name) || !memchr(d->map, 0, sizeof d->map))
    return tg_fail(diag, TG_INVALID, "dram: a name or map has no end");
  tg_dram_device row;
  if (!load_row(d->name, &row)) return tg_fail(diag, TG_INVALID, "dram: there is no device \"%s\"", d->name);
  if (tg_dram_is_simple(&row)) {
    if (tg_dram_device_equal(d, &row)) return TG_OK;
    return tg_fail(diag, TG_INVALID, "dram: the device simple has no parameters");
  }
  tg_status status = check_ranges(d, diag);
  if (status) return status;
  uint32_t access = tg_dram_access_bytes(d), count;
  if (access != 16 && access != 32 && access != 64)
    return tg_fail(diag, TG_INVALID, "dram burst: an access of %u bytes is none of 16, 32, 64", access);
  if (d->tREFI < 2 * (d->tRFC + d->tRC))
    return tg_fail(diag, TG_INVALID, "dram tREFI: less than twice tRFC + tRC");
  if (d->tRFCpb && d->tREFI / (d->groups * d->banks) < d->tRFCpb + d->tRC)
    return tg_fail(diag, TG_INVALID, "dram tRFCpb: with tRC more than tREFI over the banks of a channel");
  if (d->write_queue < 64 / access || d->read_queue < 64 / access)
    return tg_fail(diag, TG_INVALID, "dram %s: no room for the accesses of an atom",
                   d->write_queue < 64 / access ? "write_queue" : "read_queue");
  if (d->write_high > d->write_queue - 64 / access + 1)
    return tg_fail(diag, TG_INVALID, "dram write_high: the queue of %u is full before", d->write_queue);
  if (d->write_low >= d->write_high) return tg_fail(diag, TG_INVALID, "dram write_low: not below write_high");
  tg_map_token tokens[TG_MAP_TOKENS];
  const char *wrong = parse_map(d, tokens, &count);
  return wrong ? tg_fail(diag, TG_INVALID, "dram map: \"%s\" %s", d->map, wrong) : TG_OK;
}

tg_status tg_dram_device_fits(const tg_dram_device *d, uint64_t bytes, tg_diag *diag) {
  if (tg_dram_is_simple(d) || bytes <= tg_dram_capacity(d)) return TG_OK;
  return tg_fail(diag, TG_INVALID, "the program needs %llu bytes of memory, dram %s has %llu",
                 (unsigned long long)bytes, d->name, (unsigned long long)tg_dram_capacity(d));
}

bool tg_dram_device_equal(const tg_dram_device *a, const tg_dram_device *b) {
  for (int i = 0; i < FIELDS; i++)
    if (value(a, i) != value(b, i)) return false;
  return !strcmp(a->name, b->name) && !strcmp(a->map, b->map);
}

void tg_dram_add(tg_dram_counts *sum, tg_dram_counts more) {
  sum->read += more.read;
  sum->written += more.written;
  sum->hits += more.hits;
  sum->misses += more.misses;
  sum->conflicts += more.conflicts;
  sum->turnarounds += more.turnarounds;
  sum->refreshes += more.refreshes;
  sum->forwarded += more.forwarded;
  sum->joined += more.joined;
  sum->merged += more.merged;
}

tg_dram_counts tg_dram_since(tg_dram_counts now, tg_dram_counts before) {
  return (tg_dram_counts){.read = now.read - before.read,
                          .written = now.written - before.written,
                          .hits = now.hits - before.hits,
                          .misses = now.misses - before.misses,
                          .conflicts = now.conflicts - before.conflicts,
                          .turnarounds = now.turnarounds - before.turnarounds,
                          .refreshes = now.refreshes - before.refreshes,
                          .forwarded = now.forwarded - before.forwarded,
                          .joined = now.joined - before.joined,
                          .merged = now.merged - before.merged};
}

/* ---- specs ---- */

static bool load_entry(const char *name, void *device) { return load_row(name, device); }
static tg_status set_key(void *device, const char *key, const char *text, tg_diag *diag) {
  return set(device, key, text, diag);
}
static tg_status check(const void *device, tg_diag *diag) { return tg_dram_device_check(device, diag); }

tg_status tg_dram_device_load(const char *spec, const char *beside, tg_dram_device *out_device,
                              tg_diag *diag) {
  static const tg_spec_kind kind = {"dram", "device", "parameter", names, load_entry, set_key, check, true};
  return tg_spec_load(&kind, spec, beside, out_device, diag);
}

const char *tg_dram_device_print(const tg_dram_device *device, tg_arena *arena) {
  tg_dram_device row;
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  load_row(device->name, &row);
  fputs(device->name, out);
  if (strcmp(device->map, row.map)) fprintf(out, ",map=%s", device->map);
  for (int i = 0; i < FIELDS; i++) {
    if (value(device, i) == value(&row, i)) continue;
    fprintf(out, ",%s=", fields[i].name);
    if (fields[i].choices)
      print_word(out, fields[i].choices, value(device, i));
    else
      fprintf(out, "%u", value(device, i));
  }
  return tg_text_end_on(&text, arena);
}
