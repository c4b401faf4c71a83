/* Ownership of banks and accumulator halves (docs/machine.md, section 3). A window is checked against the
 * others as soon as it is known, which is before it begins; the fault belongs to the first cycle that two of
 * them share. */
#include "sim/systemc/chip.h"

#include <stdlib.h>

static void conflict(tg_chip *chip, uint32_t tile, uint32_t bank, uint32_t a, uint32_t b, uint64_t cycle) {
  char name[40];
  bool half = bank >= chip->m->banks;
  tg_chip_fault(chip, cycle, "%s: %s and %s own %s %u at once", tg_endpoint_name(chip, tile, name),
                tg_bank_port_name(a < b ? a : b), tg_bank_port_name(a < b ? b : a),
                half ? "accumulator half" : "bank", half ? bank - chip->m->banks : bank);
}

void tg_bank_own(tg_chip *chip, uint32_t tile, uint32_t bank, tg_bank_port port, uint64_t first,
                 uint64_t last) {
  tg_bank *b = &chip->bank[tile * chip->banks + bank];
  uint32_t kept = 0;
  bool merged = false;
  for (uint32_t i = 0; i < b->count; i++) {
    tg_window *w = &b->windows[i];
    if (w->last < chip->now) continue;
    if (w->port == (uint32_t)port) {
      if (!merged && first <= w->last + 1 && w->first <= last + 1) {
        if (w->first > first) w->first = first;
        if (w->last < last) w->last = last;
        merged = true;
      }
    } else if (first <= w->last && w->first <= last)
      conflict(chip, tile, bank, w->port, port, first > w->first ? first : w->first);
    b->windows[kept++] = *w;
  }
  b->count = kept;
  if (merged) return;
  if (kept == b->capacity) {
    b->capacity = b->capacity ? b->capacity * 2 : 8;
    b->windows = realloc(b->windows, b->capacity * sizeof *b->windows);
    if (!b->windows) tg_die("out of memory");
  }
  b->windows[b->count++] = (tg_window){first, last, port};
}

void tg_bank_own_rows(tg_chip *chip, uint32_t tile, tg_bank_port port, const tg_transfer *p, uint32_t first,
                      uint32_t flits, uint64_t cycle) {
  uint32_t bank_rows = tg_bank_rows(chip->m), f = first, end = first + flits;
  uint32_t bank = UINT32_MAX, since = first; /* flits since..f-1 lie in `bank` */
  while (f < end) {
    uint32_t inside = f % p->inner, run = p->inner - inside < end - f ? p->inner - inside : end - f;
    uint16_t row = (uint16_t)(p->row + (f / p->inner) * (uint32_t)p->stride + inside);
    uint32_t to = row / bank_rows, left = bank_rows - row % bank_rows;
    if (to != bank) {
      if (bank != UINT32_MAX)
        tg_bank_own(chip, tile, bank, port, cycle + (since - first), cycle + (f - first) - 1);
      bank = to;
      since = f;
    }
    f += run < left ? run : left;
  }
  if (bank != UINT32_MAX) tg_bank_own(chip, tile, bank, port, cycle + (since - first), cycle + flits - 1);
}

void tg_bank_own_span(tg_chip *chip, uint32_t tile, tg_bank_port port, int64_t row, int64_t count,
                      uint64_t first, uint64_t last) {
  uint32_t bank = (uint32_t)row / tg_bank_rows(chip->m);
  for (int64_t i = 0; i < count && bank + i < chip->m->banks; i++)
    tg_bank_own(chip, tile, bank + (uint32_t)i, port, first, last);
}
