#include "sim/systemc/cost.h"

#include <stdlib.h>
#include <string.h>

typedef struct tg_cost_entry {
  const tg_agcu_instr *in; /* NULL: free */
  uint32_t start;
  tg_row_cost *row;
} tg_cost_entry;

/* Starts that cost the same: within a run only the place in a 64-byte atom counts. */
static uint32_t canonical_start(const tg_agcu_instr *in, uint32_t k_start) {
  uint32_t run = (uint32_t)in->k_radix[2], start = k_start % run,
           atom = 64 / tg_convert_memory_bytes(in->convert);
  return (uint64_t)start + (uint64_t)in->take <= run ? start % atom : start;
}

static tg_row_cost *sum_row(tg_arena *arena, const tg_params *params, const tg_agcu_instr *in,
                            uint32_t start) {
  tg_agcu_instr one = *in; /* one row, from that start in the run */
  one.rows = 1;
  one.k_first = start;
  tg_walk walk;
  tg_walk_begin(&walk, params, &one, (uint32_t[TG_LEVELS]){0}, 0);
  tg_row_cost *row = TG_NEW(arena, tg_row_cost);
  row->flits = walk.flits;
  row->before = TG_NEW_ARRAY(arena, tg_cost, walk.flits + 1);
  row->first = TG_NEW_ARRAY(arena, uint8_t, walk.flits);
  for (uint32_t f = 0; f < row->flits; f++) {
    row->first[f] = f > 0 && !walk.single && walk.digit[5] * walk.memory_bytes % 64 != 0;
    uint32_t atoms, pieces = tg_walk_burst(&walk, 1, NULL, &atoms);
    row->before[f + 1].pieces = row->before[f].pieces + pieces;
    row->before[f + 1].atoms = row->before[f].atoms + atoms - row->first[f];
  }
  return row;
}

static uint32_t place(const tg_cost_cache *cache, const tg_agcu_instr *in, uint32_t start) {
  uint64_t hash = ((uint64_t)(uintptr_t)in >> 4 ^ (uint64_t)start << 32) * 0x9E3779B97F4A7C15u;
  uint32_t at = (uint32_t)(hash >> 32) & (cache->capacity - 1);
  while (cache->entries[at].in && (cache->entries[at].in != in || cache->entries[at].start != start))
    at = (at + 1) & (cache->capacity - 1);
  return at;
}

static void enlarge(tg_cost_cache *cache) {
  tg_cost_cache larger = {.capacity = cache->capacity ? cache->capacity * 2 : 64, .count = cache->count};
  larger.entries = calloc(larger.capacity, sizeof *larger.entries);
  if (!larger.entries) tg_die("out of memory");
  for (uint32_t i = 0; i < cache->capacity; i++)
    if (cache->entries[i].in)
      larger.entries[place(&larger, cache->entries[i].in, cache->entries[i].start)] = cache->entries[i];
  free(cache->entries);
  cache->entries = larger.entries;
  cache->capacity = larger.capacity;
}

const tg_row_cost *tg_cost_of_row(tg_cost_cache *cache, const tg_params *params, const tg_agcu_instr *in,
                                  uint32_t k_start) {
  uint32_t start = canonical_start(in, k_start);
  if (cache->count * 2 >= cache->capacity) enlarge(cache);
  tg_cost_entry *entry = &cache->entries[place(cache, in, start)];
  if (!entry->in) {
    *entry = (tg_cost_entry){in, start, sum_row(&cache->arena, params, in, start)};
    cache->count++;
  }
  return entry->row;
}

static tg_cost before(const tg_row_cost *row, uint32_t flit) {
  uint32_t rows = flit / row->flits, rest = flit % row->flits;
  tg_cost all = row->before[row->flits], part = row->before[rest];
  return (tg_cost){rows * all.pieces + part.pieces, rows * all.atoms + part.atoms};
}

tg_cost tg_cost_of_burst(const tg_row_cost *row, uint32_t first, uint32_t flits) {
  tg_cost low = before(row, first), high = before(row, first + flits); /* modulo 2^32 */
  return (tg_cost){high.pieces - low.pieces, high.atoms - low.atoms + row->first[first % row->flits]};
}

void tg_cost_cache_release(tg_cost_cache *cache) {
  free(cache->entries);
  tg_arena_release(&cache->arena);
  *cache = (tg_cost_cache){0};
}
