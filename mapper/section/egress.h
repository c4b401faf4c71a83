/* The way of results out of a section: SENDs of what a tile computed to an AGCU, and its STOREs. */
#ifndef TEGULA_MAPPER_SECTION_EGRESS_H
#define TEGULA_MAPPER_SECTION_EGRESS_H

#include "mapper/section/stage.h"

/* One result of a tile on its way out: `drain_tiles` drain tiles of `flits` flits for each iteration of the outer loops, in a
 * buffer of them twice over. */
typedef struct tg_store_port {
  const tg_channel *from; /* from the unit that computes it, */
  const tg_channel *away; /* to the memory of the AGCU that stores it, whose credits are the tile's */
  bool shares;       /* another store port, before this one, has waited for the buffer, which they share */
  bool keeps;        /* another one, behind it, gives it back */
  uint32_t loops[3]; /* of the SEND; level 2 walks the drain tiles of a buffer if they are several */
  uint32_t flits;    /* of a drain tile, as it is sent */
  uint32_t inner, stride; /* of it, so many flits lie next to each other, such runs so far apart; 0: all do */
  uint32_t drain_tiles;   /* of a buffer: 1, or the count of level 2 */
  tg_buffer buffer;
} tg_store_port;
/* Ports of which the first `often` leave with each drain tile, the others with the last one of `every`. */
typedef struct tg_egress_plan {
  const tg_store_port *ports;
  int count, often;
  uint32_t every;
  /* Drain tiles whose SENDs are instructions of their own; a multiple of `every`. 0: the one store port that
   * leaves often has a loop of its own for its drain tiles, behind which the others leave */
  uint32_t steps;
  bool together; /* steps 0: of each tile one context stores them all, of every other tile of an AGCU that for
                    loads of its own, which there are none of; they leave before those, and an AGCU
                    has room for one each */
  tg_egress seldom; /* by which AGCUs those leave that do so seldom: of no AGCU more tiles' than
                      tg_egress_share counts */
} tg_egress_plan;
/* Sets the walk of the STORE of port number `port` of tile (r, col). */
typedef void tg_store_fill(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store);

/* The instructions of a stage of them: SENDs of a tile, if it has any, or STOREs in a context of an AGCU, with their
 * loops. */
void tg_egress_emit(const tg_build *b, const tg_egress_plan *plan, const tg_stage *stage, tg_queue *queue,
                    tg_turn at, tg_store_fill *fill, const void *user);

#endif
