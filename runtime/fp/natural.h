/* Natural numbers of bounded size, as much arithmetic as exact floating-point results need. */
#ifndef TEGULA_RUNTIME_FP_NATURAL_H
#define TEGULA_RUNTIME_FP_NATURAL_H

#include <stdbool.h>
#include <stdint.h>

enum { TG_NATURAL_WORDS = 512 }; /* callers keep numbers below 2^(32 * 512) */

typedef struct tg_natural {
  int count; /* words in use; the highest is not 0 */
  uint32_t word[TG_NATURAL_WORDS];
} tg_natural;

void tg_natural_set(tg_natural *n, uint64_t value);
int tg_natural_bits(const tg_natural *n); /* length in bits, 0 for 0 */
uint64_t tg_natural_low(const tg_natural *n);
int tg_natural_compare(const tg_natural *a, const tg_natural *b);

void tg_natural_add(tg_natural *n, const tg_natural *b);
void tg_natural_subtract(tg_natural *n, const tg_natural *b); /* n >= b */
void tg_natural_scale(tg_natural *n, uint32_t factor, uint32_t addend);
uint32_t tg_natural_divide(tg_natural *n, uint32_t divisor); /* returns the remainder */
void tg_natural_multiply(tg_natural *out, const tg_natural *a, const tg_natural *b); /* out is neither */
void tg_natural_shift_left(tg_natural *n, int bits);
bool tg_natural_shift_right(tg_natural *n, int bits); /* true if a set bit was lost */
bool tg_natural_square_root(tg_natural *n);           /* the floor; true if there was a rest */

#endif
