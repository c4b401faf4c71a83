/* Prices of actions (energy.def) and what runs cost by them (docs/energy.md). They change no value and no cycle. */
#ifndef TEGULA_MACHINE_ENERGY_H
#define TEGULA_MACHINE_ENERGY_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table as a value. Energies in pJ, `hop` in mm, `leakage` in uW, `dram_background` in mW; those of the memory device
 * are negative where they are the device's own. */
typedef struct tg_energy {
  uint32_t node; /* nm */
  uint32_t unused;
#define ENERGY(name, value, from, unit, doc) double name;
#include "sim/machine/energy.def"
#undef ENERGY
#define DRAM_ENERGY(name, simple, ddr4, lpddr5, gddr6, hbm2e, hbm3, unit, doc) double name;
#include "sim/machine/energy.def"
#undef DRAM_ENERGY
} tg_energy;

/* The table at 45 nm, that of most sources. */
void tg_energy_default(tg_energy *out_energy);
/* `spec` is NODE ("45nm", "7nm" ...) or FILE.yaml, and after that changes: ",key=value" each. A file holds `key: value`
 * lines; `base: NODE`, if it is there, comes first. What is changed is not scaled. A relative path begins at the folder of
 * the file `beside`, or, if that is NULL, at the current one. TG_INVALID names file and key. */
tg_status tg_energy_load(const char *spec, const char *beside, tg_energy *out_energy, tg_diag *diag);
tg_status tg_energy_check(const tg_energy *energy, tg_diag *diag);
bool tg_energy_equal(const tg_energy *a, const tg_energy *b);
/* A spec that loads it again, without files; on the arena. */
const char *tg_energy_print(const tg_energy *energy, tg_arena *arena);
/* Energy at a node over that at another one. Both are nodes of the table. */
double tg_energy_scale(uint32_t from, uint32_t to);

#ifdef __cplusplus
}
#endif
#endif
