/* Sums over a row, and their kind, that do not depend on P: 32 partial sums, element i into partial i mod 32,
 * then one fixed tree (docs/numerics.md). They live in 32/2P registers, of which the oldest takes the next
 * vector. */
#ifndef TEGULA_MAPPER_ROWS_H
#define TEGULA_MAPPER_ROWS_H

#include "mapper/microcode.h"

enum { TG_ROW_PARTIALS = 32 };

/* All partials to what changes no result: +0 of a sum. */
void tg_row_begin(tg_mc *mc, const tg_mc_ref *partial, int registers, tg_mc_ref identity);
/* `next` is what partial[0] becomes with the vector at hand; it is the youngest then. */
void tg_row_next(tg_mc *mc, const tg_mc_ref *partial, int registers, tg_mc_ref next);
/* The result, in every lane: partials 16, 8, 4, 2, 1 apart are combined by `alu`. Uses `partial` up. */
tg_mc_ref tg_row_end(tg_mc *mc, tg_alu alu, tg_mc_ref *partial, int registers, int lanes);

#endif
