/* Memory devices, from dram_device.def: organisation, times and controller of what is behind the DRAM ports
 * (docs/machine.md, section 8; docs/dram.md). */
#ifndef TEGULA_MACHINE_DRAM_DEVICE_H
#define TEGULA_MACHINE_DRAM_DEVICE_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A port asks for so many bytes together, wherever they begin (docs/machine.md, section 8). */
enum { TG_ATOM_BYTES = 64 };

typedef enum tg_dram_page { TG_PAGE_OPEN, TG_PAGE_CLOSED } tg_dram_page;
typedef enum tg_dram_order { TG_ORDER_FR_FCFS, TG_ORDER_IN_ORDER } tg_dram_order;
typedef enum tg_dram_hash { TG_HASH_NONE, TG_HASH_BANKS, TG_HASH_ALL } tg_dram_hash;

/* A device as a value; equal devices are equal bytes. A zeroed one is `simple`. */
typedef struct tg_dram_device {
  char name[32]; /* the row of the table that it began with */
  char map[32];  /* letters of address bits from the lowest above an access on, see tg_dram_device_check */
#define DRAM_FIELD(name, devices, lowest, highest, power_of_two, doc) uint32_t name;
#define DRAM_WORD(name, value, choices, doc)                          uint32_t name;
#include "sim/machine/dram_device.def"
} tg_dram_device;

/* `spec` is NAME or FILE.yaml, and after that changes: ",key=value" each, also ",bandwidth=100GB/s". A file holds `key: value` lines, the
 * first of them `base: NAME`. The result is checked. A relative path begins at the folder of the file `beside`, or, if that
 * is NULL, at the current one. TG_INVALID names file and key. */
tg_status tg_dram_device_load(const char *spec, const char *beside, tg_dram_device *out_device,
                              tg_diag *diag);
/* A rate as "100GB/s", "1.5 TB/s" or "800 MiB/s", above 0. False: it is none. */
bool tg_dram_rate_read(const char *text, double *out_bytes_a_second);
/* Makes the peak of a device this one, to the precision of a whole `rate`: with the power of two of its channels that
 * leaves `rate` closest to the device's own. Times that are clocks of the interface (tCCD_S, tCCD_L, tRTW) go with `rate`;
 * those of the array of cells and of the controller stay. TG_INVALID: no device has so much, or so little. */
tg_status tg_dram_device_scale(tg_dram_device *device, double bytes_a_second, tg_diag *diag);
/* Ranges and relations. The map: each letter (c column, h channel, g group, b bank, r row) takes as many bits as
 * the number behind it says, without one all that its kind has left; all bits of all kinds are to be taken. */
tg_status tg_dram_device_check(const tg_dram_device *device, tg_diag *diag);
/* TG_INVALID with both numbers if a program's bytes do not fit. */
tg_status tg_dram_device_fits(const tg_dram_device *device, uint64_t bytes, tg_diag *diag);
bool tg_dram_device_equal(const tg_dram_device *a, const tg_dram_device *b);
/* A spec that loads it again, without files; on the arena. */
const char *tg_dram_device_print(const tg_dram_device *device, tg_arena *arena);
/* "simple, ddr4-3200, ...": for messages and pages. */
const char *const *tg_dram_device_names(void); /* ended by NULL */

/* Today's ports: a fixed latency, no device behind them. */
static inline bool tg_dram_is_simple(const tg_dram_device *d) { return d->channels == 0; }
static inline uint32_t tg_dram_access_bytes(const tg_dram_device *d) { return d->width * d->burst / 8; }
/* Picoseconds of an access on the data bus; and those that the bus is idle from the last read before writes to the first one
 * behind them. */
static inline double tg_dram_burst(const tg_dram_device *d) { return 1e6 * d->burst / (double)d->rate; }
static inline double tg_dram_turns(const tg_dram_device *d) {
  return d->tCL + 2 * tg_dram_burst(d) + d->tRTW + d->tWTR_S;
}
/* Those of opening a row in place of another one. */
static inline uint32_t tg_dram_activate(const tg_dram_device *d) { return d->tRP + d->tRCD; }
/* Accesses that are written at a time, though reads wait. */
static inline uint32_t tg_dram_batch(const tg_dram_device *d) { return d->write_high - d->write_low; }
/* Bytes a second of all data buses, and bytes of the device; 0 for `simple`. */
static inline uint64_t tg_dram_peak(const tg_dram_device *d) {
  return (uint64_t)d->channels * d->width / 8 * d->rate * 1000000;
}
static inline uint64_t tg_dram_capacity(const tg_dram_device *d) {
  return (uint64_t)d->channels * d->groups * d->banks * d->rows * d->row_bytes;
}

/* What a device did, as far as it was decided (docs/machine.md, section 8). */
typedef struct tg_dram_counts {
  uint64_t read, written; /* bytes on the data buses */
  uint64_t hits, misses,
      conflicts; /* accesses that found their row open, their bank without an open row, or another row open */
  uint64_t turnarounds; /* changes between reading and writing on a data bus */
  uint64_t refreshes;   /* of all banks of a channel, or, with tRFCpb, of one */
  uint64_t forwarded;   /* atoms that were read from a write queue */
  uint64_t joined;      /* atoms that were read with another port's */
  uint64_t merged;      /* atoms that were written into one that waited */
} tg_dram_counts;

/* *sum += more, field by field. */
void tg_dram_add(tg_dram_counts *sum, tg_dram_counts more);
/* now - before, field by field. */
tg_dram_counts tg_dram_since(tg_dram_counts now, tg_dram_counts before);

/* A token of the map: `bits` bits of a kind's number, from its bit `from` on, are address bits `lsb` and up. */
typedef enum tg_map_kind {
  TG_MAP_COLUMN,
  TG_MAP_CHANNEL,
  TG_MAP_GROUP,
  TG_MAP_BANK,
  TG_MAP_ROW,
  TG_MAP_KINDS
} tg_map_kind;
typedef struct tg_map_token {
  uint8_t kind, lsb, bits, from;
} tg_map_token;
enum { TG_MAP_TOKENS = 31 };
/* The map of a checked device: tokens, and how many. Column numbers count accesses. */
uint32_t tg_dram_map(const tg_dram_device *device, tg_map_token out_tokens[TG_MAP_TOKENS]);

#ifdef __cplusplus
}
#endif
#endif
