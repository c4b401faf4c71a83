/* How far a chain of multiply-adds is in its K tiles, at whose ends a GEMM rounds (docs/machine.md, section 4): the one
 * definition for engines, checks and mapper. A stationary block within which K tiles end is multiplied once for each of
 * them, and for what is left. */
#ifndef TEGULA_MACHINE_CHAIN_H
#define TEGULA_MACHINE_CHAIN_H

#include <stdint.h>

typedef struct tg_chain {
  uint32_t k;    /* of the K tile that has begun */
  uint32_t tile; /* K tiles before it */
} tg_chain;

/* k until the K tile ends, at least 1; `length`: of K tiles. */
static inline uint32_t tg_chain_room(tg_chain at, uint32_t length) {
  return at.k < length ? length - at.k : 1;
}

/* The same `k` further. */
static inline tg_chain tg_chain_after(tg_chain at, uint32_t length, uint32_t k) {
  uint32_t room = tg_chain_room(at, length);
  if (k < room) return (tg_chain){.k = at.k + k, .tile = at.tile};
  return (tg_chain){.k = (k - room) % length, .tile = at.tile + 1 + (k - room) / length};
}

/* Of the next `k`, in blocks of `side`: ends of K tiles within a block, behind which more of its k follow. */
static inline uint32_t tg_chain_cuts(tg_chain at, uint32_t length, uint32_t k, uint32_t side) {
  uint32_t cuts = 0, end = tg_chain_room(at, length);
  if (end % side == 0 && length % side == 0) return 0;
  for (; end < k; end += length) {
    cuts += end % side != 0;
    if (length > k - end) break; /* which the sum may not hold */
  }
  return cuts;
}

#endif
