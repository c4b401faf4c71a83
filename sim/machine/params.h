/* Parameters of a machine, from params.def: presets, YAML files, single overrides. */
#ifndef TEGULA_MACHINE_PARAMS_H
#define TEGULA_MACHINE_PARAMS_H

#include "sim/machine/dram_device.h"
#include "sim/machine/energy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_params {
  char name[64]; /* preset or file stem, for reports */
#define PARAM(name, presets, lowest, highest, power_of_two, doc) uint32_t name;
#include "sim/machine/params.def"
#undef PARAM
  tg_dram_device dram; /* the memory behind the ports; no part of the array that RTL is built of */
  tg_energy energy;    /* what actions cost; no part of programs and their files */
} tg_params;

/* The presets, of arrays.def; ended by NULL. */
const char *const *tg_params_names(void);

/* An array as it is asked for: a preset or a YAML file, and what is said after it. */
typedef struct tg_array_request {
  const char
      *arch; /* a preset's name, or a file of `parameter: value` lines, with an optional `base: PRESET`, and
                                  optional `dram: DEVICE` (a spec of dram_device.h), `dram_bandwidth: RATE` and
                                  `energy: PRICES` (of energy.h) */
  const char *const *settings; /* "key=value" each, in this order but for dram_bandwidth, which is last */
  size_t setting_count;
  const char *dram; /* another device; NULL: the array's */
} tg_array_request;

/* dram_bandwidth=100GB/s makes that the peak of the memory behind the ports (tg_dram_device_scale), and ports that carry less
 * as wide as they need be, unless port_bytes is given beside it; of the device `simple`, whose rate is that of the ports, it is
 * their width. It is applied once, to the array as all else leaves it: a rate that is given after the file's wins over it and
 * over the file's ports, and a memory that is given after it over the file's rate. What of a file is dropped that way is
 * one line of `out_dropped`, which is "" else. The result is checked. */
tg_status tg_params_build(const tg_array_request *request, tg_params *out_params, tg_diag *out_dropped,
                          tg_diag *diag);
/* A preset or a file alone. */
tg_status tg_params_load(const char *name_or_file, tg_params *out_params, tg_diag *diag);
/* Is it "key=value" of a parameter of arrays, or of dram_bandwidth, in its range? */
tg_status tg_params_check_setting(const char *assignment, tg_diag *diag);
/* Applies one "key=value". Ranges are checked; call tg_params_check after the last one. */
tg_status tg_params_set(tg_params *params, const char *assignment, tg_diag *diag);
/* Ranges and relations between parameters. */
tg_status tg_params_check(const tg_params *params, tg_diag *diag);
bool tg_params_equal(const tg_params *a, const tg_params *b); /* all but the name, the memory and prices */

/* Derived sizes (docs/machine.md, section 1). */
static inline uint32_t tg_flit_bytes(const tg_params *m) { return 4 * m->p; }
static inline uint32_t tg_bank_rows(const tg_params *m) { return m->bank_bytes / tg_flit_bytes(m); }
static inline uint32_t tg_pad_rows(const tg_params *m) { return m->banks * tg_bank_rows(m); }
static inline uint32_t tg_acc_rows(const tg_params *m) { return m->acc_bytes / (8 * m->p); } /* of one half */
static inline uint32_t tg_lanes(const tg_params *m) { return 2 * m->p; }
static inline uint32_t tg_store_rows(const tg_params *m) { return m->agcu_buffers * m->burst_flits; }
static inline uint32_t tg_atom_cycles(const tg_params *m) { return TG_ATOM_BYTES / m->port_bytes; }
static inline uint32_t tg_tiles(const tg_params *m) { return m->rows * m->cols; }
/* Hops from the section control, at the north-west corner, to the farthest tile. */
static inline uint32_t tg_control_distance(const tg_params *m) { return m->rows + m->cols; }
/* Bytes that all DRAM ports move in a cycle, or the data buses of the device behind them if these move fewer. */
double tg_peak_dram_bytes(const tg_params *params);
static inline uint32_t tg_agcus(const tg_params *m) { return m->rows + m->cols; }

#ifdef __cplusplus
}
#endif
#endif
