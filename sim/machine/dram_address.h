/* Where an address is in a device: channel, bank, row. Each bit of them is an XOR of address bits (docs/machine.md, section
 * 8), so a place is the XOR of what the bytes of an atom's number contribute, from tables. */
#ifndef TEGULA_MACHINE_DRAM_ADDRESS_H
#define TEGULA_MACHINE_DRAM_ADDRESS_H

#include "sim/machine/dram_device.h"

enum { TG_DRAM_ATOM_ACCESSES = 4 }; /* of an atom, at most */

/* Row, bank and channel side by side; XOR works on all of them at once. */
typedef uint64_t tg_dram_place;
static inline uint32_t tg_dram_place_row(tg_dram_place p) { return (uint32_t)p; }
static inline uint32_t tg_dram_place_bank(tg_dram_place p) {
  return (uint32_t)(p >> 32) & 0xFFFF;
} /* group * banks + bank */
static inline uint32_t tg_dram_place_channel(tg_dram_place p) { return (uint32_t)(p >> 48); }

typedef struct tg_dram_address_map {
  uint32_t bytes;              /* of an atom's number that count; the others lie above the capacity */
  tg_dram_place table[8][256]; /* what each of them contributes */
  tg_dram_place access[TG_DRAM_ATOM_ACCESSES]; /* what an access within its atom does */
} tg_dram_address_map;

/* Of a checked device that is not `simple`. */
void tg_dram_address_map_init(tg_dram_address_map *map, const tg_dram_device *device);

/* Of the first access of an atom; of the i-th one: XORed with map->access[i]. */
static inline tg_dram_place tg_dram_place_of(const tg_dram_address_map *map, uint64_t atom) {
  tg_dram_place place = 0;
  for (uint32_t i = 0; i < map->bytes; i++) place ^= map->table[i][atom >> (8 * i) & 0xFF];
  return place;
}

#endif
