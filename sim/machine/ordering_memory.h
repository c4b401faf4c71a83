/* State of the proof that accesses of device memory are ordered: regions that units share (ordering_regions.c), and who
 * accessed their granules last (ordering_memory.c). */
#ifndef TEGULA_MACHINE_ORDERING_MEMORY_H
#define TEGULA_MACHINE_ORDERING_MEMORY_H

#include "sim/machine/ordering_state.h"
#include "sim/machine/walk.h"

/* An access, as a granule's last STORE, or in a list of LOADs. */
typedef struct visit {
  uint32_t unit, ordinal, index[TG_LEVELS];
  uint32_t next; /* LOADs: of the list; 0: none */
  uint16_t pc;
} visit;

typedef struct region {
  tg_reach bytes;
  int64_t fold;               /* bytes after which granules repeat; 0: never */
  uint32_t *writer, *readers; /* of each granule: a visit; 0: none */
  size_t shadow_bytes;        /* of each of the two */
} region;

typedef struct tg_order_memory {
  region *regions;              /* ascending */
  uint32_t region_count, shift; /* a granule is 1 << shift bytes */
  visit *visits;                /* from 1 on */
  size_t visit_count, visit_capacity;
  uint64_t granules;
  tg_spans spans; /* of a burst */
} tg_order_memory;

static inline bool overlap(tg_reach a, tg_reach b) {
  return a.low < b.high && b.low < a.high && a.low < a.high && b.low < b.high;
}

static inline bool is_store(const tg_agcu_instr *in) { return in->op == TG_OP_agcu_store; }

#endif
