#include "runtime/fp/natural.h"

#include <assert.h>
#include <string.h>

static void trim(tg_natural *n) {
  while (n->count && !n->word[n->count - 1]) n->count--;
}

static void push(tg_natural *n, uint32_t word) {
  assert(n->count < TG_NATURAL_WORDS);
  n->word[n->count++] = word;
}

void tg_natural_set(tg_natural *n, uint64_t value) {
  n->count = 2;
  n->word[0] = (uint32_t)value;
  n->word[1] = (uint32_t)(value >> 32);
  trim(n);
}

int tg_natural_bits(const tg_natural *n) {
  return n->count ? 32 * n->count - __builtin_clz(n->word[n->count - 1]) : 0;
}

uint64_t tg_natural_low(const tg_natural *n) {
  return (n->count > 0 ? n->word[0] : 0) | (n->count > 1 ? (uint64_t)n->word[1] << 32 : 0);
}

int tg_natural_compare(const tg_natural *a, const tg_natural *b) {
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  for (int i = a->count; i-- > 0;)
    if (a->word[i] != b->word[i]) return a->word[i] < b->word[i] ? -1 : 1;
  return 0;
}

void tg_natural_add(tg_natural *n, const tg_natural *b) {
  uint64_t carry = 0;
  while (n->count < b->count) push(n, 0);
  for (int i = 0; i < n->count; i++) {
    carry += (uint64_t)n->word[i] + (i < b->count ? b->word[i] : 0);
    n->word[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) push(n, (uint32_t)carry);
}

void tg_natural_subtract(tg_natural *n, const tg_natural *b) {
  int64_t borrow = 0;
  for (int i = 0; i < n->count; i++) {
    borrow += (int64_t)n->word[i] - (i < b->count ? b->word[i] : 0);
    n->word[i] = (uint32_t)borrow;
    borrow = borrow < 0 ? -1 : 0;
  }
  assert(!borrow);
  trim(n);
}

void tg_natural_scale(tg_natural *n, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  for (int i = 0; i < n->count; i++) {
    carry += (uint64_t)n->word[i] * factor;
    n->word[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) push(n, (uint32_t)carry);
  trim(n);
}

uint32_t tg_natural_divide(tg_natural *n, uint32_t divisor) {
  uint64_t rest = 0;
  for (int i = n->count; i-- > 0;) {
    rest = rest << 32 | n->word[i];
    n->word[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
  trim(n);
  return (uint32_t)rest;
}

void tg_natural_multiply(tg_natural *out, const tg_natural *a, const tg_natural *b) {
  out->count = a->count + b->count;
  assert(out->count <= TG_NATURAL_WORDS);
  memset(out->word, 0, (size_t)out->count * sizeof *out->word);
  for (int i = 0; i < a->count; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < b->count; j++) {
      carry += out->word[i + j] + (uint64_t)a->word[i] * b->word[j];
      out->word[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    out->word[i + b->count] = (uint32_t)carry;
  }
  trim(out);
}

void tg_natural_shift_left(tg_natural *n, int bits) {
  if (!n->count) return;
  int words = bits / 32;
  if (bits % 32) tg_natural_scale(n, 1u << bits % 32, 0);
  assert(n->count + words <= TG_NATURAL_WORDS);
  memmove(n->word + words, n->word, (size_t)n->count * sizeof *n->word);
  memset(n->word, 0, (size_t)words * sizeof *n->word);
  n->count += words;
}

bool tg_natural_shift_right(tg_natural *n, int bits) {
  int words = bits / 32 < n->count ? bits / 32 : n->count;
  bool lost = false;
  for (int i = 0; i < words; i++) lost = lost || n->word[i];
  n->count -= words;
  memmove(n->word, n->word + words, (size_t)n->count * sizeof *n->word);
  if (bits % 32 && n->count) lost = tg_natural_divide(n, 1u << bits % 32) || lost;
  return lost;
}

/* Bit by bit: the largest root whose square is not above n. */
bool tg_natural_square_root(tg_natural *n) {
  tg_natural root = {0}, trial, square;
  for (int bit = (tg_natural_bits(n) + 1) / 2; bit-- > 0;) {
    tg_natural_set(&trial, 1);
    tg_natural_shift_left(&trial, bit);
    tg_natural_add(&trial, &root);
    tg_natural_multiply(&square, &trial, &trial);
    if (tg_natural_compare(&square, n) <= 0) root = trial;
  }
  tg_natural_multiply(&square, &root, &root);
  bool rest = tg_natural_compare(&square, n) != 0;
  *n = root;
  return rest;
}
