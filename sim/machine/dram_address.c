#include "sim/machine/dram_address.h"

#include <string.h>

/* The address bits above the channel's, folded to as many as that has: rows of a matrix, so many bytes apart, are in
 * channels of their own then, whatever the number of bytes. */
static uint32_t folded(const tg_dram_device *d, const tg_map_token *token, uint32_t tokens,
                       uint64_t address) {
  uint32_t bits = (uint32_t)__builtin_ctz(d->channels), top = 63, number = 0;
  for (uint32_t t = 0; t < tokens; t++)
    if (token[t].kind == TG_MAP_CHANNEL && token[t].bits) top = token[t].lsb + token[t].bits;
  if (!bits) return 0;
  for (uint64_t above = address % tg_dram_capacity(d) >> top; above; above >>= bits)
    number ^= (uint32_t)above & (d->channels - 1);
  return number;
}

/* By the definition: what the tokens of the map take from an address, hashed. */
static tg_dram_place locate(const tg_dram_device *d, const tg_map_token *token, uint32_t tokens,
                            uint64_t address) {
  uint32_t number[TG_MAP_KINDS] = {0};
  for (uint32_t t = 0; t < tokens; t++) {
    tg_map_token k = token[t];
    number[k.kind] |= (uint32_t)(address >> k.lsb & ((1ull << k.bits) - 1)) << k.from;
  }
  uint32_t row = number[TG_MAP_ROW], bank = number[TG_MAP_BANK], group = number[TG_MAP_GROUP],
           channel = number[TG_MAP_CHANNEL];
  if (d->hash != TG_HASH_NONE) {
    bank ^= row & (d->banks - 1);
    group ^= row / d->banks & (d->groups - 1);
  }
  if (d->hash == TG_HASH_ALL) channel ^= folded(d, token, tokens, address);
  return row | (uint64_t)(group * d->banks + bank) << 32 | (uint64_t)channel << 48;
}

void tg_dram_address_map_init(tg_dram_address_map *map, const tg_dram_device *device) {
  tg_map_token token[TG_MAP_TOKENS] = {{0}};
  uint32_t tokens = tg_dram_map(device, token), access = tg_dram_access_bytes(device);
  memset(map, 0, sizeof *map);
  for (uint32_t i = 0; i < TG_ATOM_BYTES / access; i++)
    map->access[i] = locate(device, token, tokens, (uint64_t)i * access);
  for (uint32_t byte = 0; byte < 8; byte++) {
    tg_dram_place *table = map->table[byte];
    for (uint32_t v = 1; v < 256; v++) {
      uint32_t low = v & -v, bit = 8 * byte + (uint32_t)__builtin_ctz(v);
      tg_dram_place own = bit < 58 ? locate(device, token, tokens, (uint64_t)TG_ATOM_BYTES << bit) : 0;
      table[v] = table[v ^ low] ^ own;
      if (table[v]) map->bytes = byte + 1;
    }
  }
}
