/* Sums over a row, and their kind, that do not depend on P: 32 partial sums, element i into partial i mod 32,
 * then one fixed tree (docs/numerics.md). They live in 32/2P registers, of which the oldest takes the next
 * vector. */
#ifndef TEGULA_MAPPER_MICROCODE_ROW_SUMS_H
#define TEGULA_MAPPER_MICROCODE_ROW_SUMS_H

#include "mapper/microcode/microcode.h"

enum { TG_ROW_PARTIALS = 32 };

/* All partials to what changes no result: +0 of a sum. */
void tg_row_begin(tg_mc *mc, const tg_mc_ref *partial, int registers, tg_mc_ref identity);
/* The result, in every lane: partials 16, 8, 4, 2, 1 apart are combined by `alu`. Uses `partial` up. */
tg_mc_ref tg_row_end(tg_mc *mc, tg_alu alu, tg_mc_ref *partial, int registers, int lanes);

/* A row's sums, or their kind, while its vectors pass, `unroll` of them an iteration: where that is one for
 * each register of partial sums, each takes its own; else the oldest takes what comes. */
typedef struct tg_row_sums {
  tg_mc *mc;
  tg_alu alu; /* that combines partial sums */
  tg_mc_ref partial[TG_ROW_PARTIALS];
  int registers, unroll;
  bool ragged; /* the last vectors are not full */
} tg_row_sums;

/* Registers for the partial sums, which begin with what changes nothing. */
void tg_row_sums_begin(tg_row_sums *s, tg_mc_ref identity);
/* `alu` of a, b and c becomes the partial sums of vector u of the iteration. */
void tg_row_sums_add(tg_row_sums *s, int u, tg_alu alu, tg_mc_ref a, tg_mc_ref b, tg_mc_ref c);
tg_mc_ref tg_row_sums_end(const tg_row_sums *s, int lanes);

#endif
