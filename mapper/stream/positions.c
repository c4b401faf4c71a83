/* Positions of a window as rows of one LOAD, not as a LOAD each: of few bytes each, those would wait for an instruction, and
 * for one of the AGCU's buffers, a position. */
#include "mapper/stream/emission.h"

enum { M2, M1, M0, K2, K1, RUN, DIGITS }; /* digits of a walk, outermost first */
enum { MOST_ROWS = 65535, MOST_RADIX = (1 << 24) - 1, MOST_Y = 32767 };

typedef struct digit {
  int64_t radix, stride, x, y;
} digit;

static int64_t *radix_of(tg_agcu_instr *load, int d) {
  return d < K2 ? &load->m_radix[d] : &load->k_radix[d - K2];
}

static digit take_digit(tg_agcu_instr *load, int d) {
  return (digit){*radix_of(load, d), load->stride[d], load->x_inc[d], load->y_inc[d]};
}

static void put_digit(tg_agcu_instr *load, int d, digit x) {
  *radix_of(load, d) = x.radix;
  load->stride[d] = x.stride;
  load->x_inc[d] = x.x;
  load->y_inc[d] = x.y;
}

/* The digits of rows, without those of one row, and with neighbours that are one digit joined; returns their number. */
static int rows_of(tg_agcu_instr *load, digit out[K2]) {
  int count = 0;
  for (int d = M2; d < K2; d++) {
    digit x = take_digit(load, d), *outer = &out[count ? count - 1 : 0];
    if (x.radix == 1) continue;
    if (count && outer->stride == x.radix * x.stride && outer->x == x.radix * x.x &&
        outer->y == x.radix * x.y)
      *outer = (digit){outer->radix * x.radix, x.stride, x.x, x.y};
    else
      out[count++] = x;
  }
  return count;
}

/* Several rows a chunk: they are a digit below positions, and chunks one of the K walk. Rows behind the last one are
 * invalid by y, which must do so already if it has another use. */
static bool cut_chunks(const tg_agcu_instr *load, digit *row, digit *chunk, uint32_t rows,
                       int64_t *out_y_size) {
  bool bounded = row->y != 0, free = load->y_size == 1;
  for (int d = 0; d < DIGITS; d++) free &= !load->y_inc[d];
  if (bounded ? load->y_org || row->radix * row->y < load->y_size : !free || load->y_org) return false;
  *out_y_size = bounded ? load->y_size : row->radix;
  if (!bounded) row->y = 1;
  *chunk = (digit){(row->radix + rows - 1) / rows, rows * row->stride, rows * row->x, rows * row->y};
  row->radix = rows;
  return chunk->y <= MOST_Y;
}

bool tg_stream_join_positions(tg_agcu_instr *load, uint32_t rows, uint32_t positions) {
  static const digit none = {.radix = 1};
  digit of[K2], outer = none, inner = none, row = none;
  int count = rows_of(load, of);
  int64_t y_size = load->y_size, run = load->k_radix[2];
  bool one_by_one = (uint64_t)load->k_radix[0] * (uint64_t)load->k_radix[1] != positions;
  if (one_by_one || (uint64_t)rows * positions > MOST_ROWS || load->k_first) return false;
  if (rows == 1) {
    if (count > 2) return false;
    if (count > 0) inner = of[count - 1];
    if (count > 1) outer = of[0];
  } else {
    if (count != 1) return false;
    row = of[0];
    if (!cut_chunks(load, &row, &outer, rows, &y_size)) return false;
  }
  if (inner.radix > MOST_RADIX || outer.radix > MOST_RADIX ||
      inner.radix * outer.radix * run >= INT64_C(1) << 31)
    return false;
  put_digit(load, M2, take_digit(load, K2));
  put_digit(load, M1, take_digit(load, K1));
  put_digit(load, M0, row);
  put_digit(load, K2, outer);
  put_digit(load, K1, inner);
  load->y_size = y_size;
  load->rows = (int64_t)rows * positions;
  load->k_first = load->m_first / rows * run;
  load->m_first = 0;
  for (int l = 0; l < TG_LEVELS; l++) {
    load->k_delta[l] += load->m_delta[l] / rows * run;
    load->m_delta[l] = 0;
  }
  return true;
}
