#include "sim/machine/walk.h"
#include "frontend/base/math.h"

#include <string.h>

uint32_t tg_convert_memory_bytes(int64_t convert) {
  return convert == TG_CVT_16 || convert == TG_CVT_BF16_FP32 || convert == TG_CVT_FP16_FP32 ? 2 : 4;
}

uint32_t tg_convert_chip_bytes(int64_t convert) {
  return convert == TG_CVT_16 || convert == TG_CVT_FP32_BF16 || convert == TG_CVT_FP32_FP16 ? 2 : 4;
}

uint32_t tg_agcu_flits(const tg_params *params, const tg_agcu_instr *in) {
  uint32_t elements = tg_flit_bytes(params) / tg_convert_chip_bytes(in->convert);
  return (uint32_t)in->rows * (tg_div_up(in->take, elements));
}

/* Digits of a linear index; the outermost takes what is left. */
static void digits(uint32_t linear, const int64_t radix[3], uint32_t out[3]) {
  out[2] = linear % (uint32_t)radix[2];
  linear /= (uint32_t)radix[2];
  out[1] = linear % (uint32_t)radix[1];
  out[0] = linear / (uint32_t)radix[1];
}

static uint32_t advance(const int64_t first, const int64_t delta[TG_LEVELS],
                        const uint32_t index[TG_LEVELS]) {
  uint32_t linear = (uint32_t)first;
  for (int l = 0; l < TG_LEVELS; l++) linear += index[l] * (uint32_t)delta[l];
  return linear;
}

/* What `count` digits from `first` on come to. */
static tg_walk_place place_of(const tg_walk *walk, int first, int count) {
  const tg_agcu_instr *in = walk->in;
  tg_walk_place sum = {0};
  for (int d = first; d < first + count; d++) {
    sum.address += (uint64_t)walk->digit[d] * (uint64_t)in->stride[d];
    sum.x += (int64_t)walk->digit[d] * in->x_inc[d];
    sum.y += (int64_t)walk->digit[d] * in->y_inc[d];
  }
  return sum;
}

/* One up in the digit. */
static void move(tg_walk_place *place, const tg_agcu_instr *in, int digit) {
  place->address += (uint64_t)in->stride[digit];
  place->x += in->x_inc[digit];
  place->y += in->y_inc[digit];
}

/* Where the row begins, with the base and the origin. */
static tg_walk_place place_of_row(const tg_walk *walk) {
  tg_walk_place sum = place_of(walk, 0, 3);
  sum.address += (uint64_t)walk->base;
  sum.x += walk->in->x_org;
  sum.y += walk->in->y_org;
  return sum;
}

/* Bytes of the element where the walk stands. */
static uint64_t address_of(const tg_walk *walk) {
  return walk->row.address + walk->run.address + (uint64_t)walk->digit[5] * (uint64_t)walk->in->stride[5];
}

void tg_walk_begin(tg_walk *walk, const tg_params *params, const tg_agcu_instr *in,
                   const uint32_t index[TG_LEVELS], uint64_t base_address) {
  *walk = (tg_walk){.in = in};
  walk->memory_bytes = tg_convert_memory_bytes(in->convert);
  walk->chip_bytes = tg_convert_chip_bytes(in->convert);
  walk->flit_elements = tg_flit_bytes(params) / walk->chip_bytes;
  walk->flit_shift = (uint32_t)__builtin_ctz(walk->flit_elements);
  walk->row_flits = tg_div_up(in->take, walk->flit_elements);
  walk->flits = tg_agcu_flits(params, in);
  walk->single = in->stride[5] != (int64_t)walk->memory_bytes || (in->x_inc[5] != 0 && in->x_inc[5] != 1) ||
                 in->y_inc[5] != 0;
  walk->base = (int64_t)base_address + in->offset;
  for (int l = 0; l < TG_LEVELS; l++) walk->base += (int64_t)index[l] * in->offset_delta[l];
  walk->m_first = advance(in->m_first, in->m_delta, index);
  digits(walk->m_first, in->m_radix, walk->digit);
  walk->k_first = advance(in->k_first, in->k_delta, index);
  digits(walk->k_first, in->k_radix, walk->k_start);
  memcpy(walk->digit + 3, walk->k_start, sizeof walk->k_start);
  walk->row = place_of_row(walk);
  walk->run = walk->k_begin = place_of(walk, 3, 2);
}

void tg_walk_steps(const tg_agcu_instr *in, uint32_t out_digits[TG_WALK_STEPS][3]) {
  for (int w = 0; w < 2; w++) {
    const int64_t *radix = w ? in->k_radix : in->m_radix, *delta = w ? in->k_delta : in->m_delta;
    uint32_t(*out)[3] = out_digits + w * (1 + TG_LEVELS);
    digits((uint32_t)(w ? in->k_first : in->m_first), radix, out[0]);
    for (int l = 0; l < TG_LEVELS; l++) digits((uint32_t)delta[l], radix, out[1 + l]);
  }
}

int64_t tg_index_row(uint32_t word, int64_t size) {
  int32_t exponent = (int32_t)(word >> 23 & 255) - 127;
  if (exponent > 24) return -1; /* NaN and infinities, too */
  int64_t magnitude = exponent < 0 ? 0 : (int64_t)(((word & 0x7FFFFF) | 0x800000) << 1) >> (24 - exponent);
  int64_t row = word >> 31 && magnitude ? size - magnitude : magnitude;
  return row >= 0 && row < size ? row : -1;
}

uint32_t tg_index_cycles(const tg_params *params, const tg_agcu_instr *in, uint32_t address, uint32_t first,
                         uint32_t flits) {
  if (!in->index_size) return 0;
  uint32_t row_flits = tg_agcu_flits(params, in) / (uint32_t)in->rows;
  uint32_t low = address + first / row_flits, high = address + (first + flits - 1) / row_flits;
  return high / params->p - low / params->p + 1 + TG_INDEX_LEAD;
}

/* Of the row where the walk stands; -1: there is none. */
static int64_t chosen_row(const tg_walk *walk) {
  uint32_t word;
  if (!walk->indices) return tg_index_nominal(walk->m_first + walk->rows, walk->in->index_size);
  memcpy(&word, walk->indices + (size_t)walk->rows * sizeof word, sizeof word);
  return tg_index_row(word, walk->in->index_size);
}

static void next_row(tg_walk *walk) {
  const tg_agcu_instr *in = walk->in;
  walk->rows++;
  walk->taken = 0;
  if (in->index_size) walk->has_atom = false; /* rows may be anywhere, and time does not depend on where */
  memcpy(walk->digit + 3, walk->k_start, sizeof walk->k_start);
  walk->run = walk->k_begin;
  move(&walk->row, in, 2);
  if (++walk->digit[2] < in->m_radix[2]) return;
  walk->digit[2] = 0;
  if (++walk->digit[1] >= in->m_radix[1]) {
    walk->digit[1] = 0;
    walk->digit[0]++;
  }
  walk->row = place_of_row(walk);
}

static void next_run(tg_walk *walk) {
  const tg_agcu_instr *in = walk->in;
  walk->digit[5] = 0;
  move(&walk->run, in, 4);
  if (++walk->digit[4] < in->k_radix[1]) return;
  walk->digit[4] = 0;
  walk->digit[3]++;
  walk->run = place_of(walk, 3, 2);
}

/* Address and bounds of the span of `length` elements where the walk stands. */
static tg_span locate(const tg_walk *walk, uint32_t length) {
  const tg_agcu_instr *in = walk->in;
  uint64_t sum = address_of(walk);
  int64_t x = walk->row.x + walk->run.x + (int64_t)walk->digit[5] * in->x_inc[5],
          y = walk->row.y + walk->run.y + (int64_t)walk->digit[5] * in->y_inc[5];
  int64_t low = 0, high = length;
  if (in->x_inc[5] == 1 && !walk->single) {
    if (x < 0) low = -x;
    if (high > in->x_size - x) high = in->x_size - x;
  } else if (x < 0 || x >= in->x_size)
    high = 0;
  if (in->index_size) {
    int64_t row = chosen_row(walk);
    if (row < 0) high = 0;
    sum += (uint64_t)row * (uint64_t)in->index_stride;
  }
  if (y < 0 || y >= in->y_size || walk->digit[0] >= in->m_radix[0] || walk->digit[3] >= in->k_radix[0])
    high = 0;
  if (high < low) high = low;
  if (low > (int64_t)length) low = high = 0;
  return (tg_span){.address = (int64_t)(sum + (uint64_t)low * walk->memory_bytes),
                   .flit = walk->flit,
                   .lane = walk->lane,
                   .length = length,
                   .valid_first = (uint32_t)low,
                   .valid_count = (uint32_t)(high - low)};
}

/* Atoms that the span of `length` elements where the walk stands costs: what lies in the atom that the port has is there, and
 * behind it, or from the span's begin on, atoms follow each other. */
static uint32_t span_atoms(tg_walk *walk, uint32_t length) {
  uint64_t address = address_of(walk), left = walk->atom_end - address;
  uint32_t bytes = length * walk->memory_bytes;
  if (!walk->has_atom || left > TG_ATOM_BYTES) left = 0;
  if (bytes <= left) return 0;
  uint32_t atoms = tg_div_up(bytes - (uint32_t)left, TG_ATOM_BYTES);
  walk->atom_end = address + left + (uint64_t)atoms * TG_ATOM_BYTES;
  walk->has_atom = true;
  return atoms;
}

static void pass(tg_walk *walk, uint32_t length) {
  walk->taken += length;
  walk->digit[5] += length;
  walk->flit += (walk->lane + length) >> walk->flit_shift;
  walk->lane = (walk->lane + length) & (walk->flit_elements - 1);
  if (walk->digit[5] == walk->in->k_radix[2]) next_run(walk);
  if (walk->taken < walk->in->take) return;
  if (walk->lane) walk->flit++;
  walk->lane = 0;
  next_row(walk);
}

uint32_t tg_walk_burst(tg_walk *walk, uint32_t flits, tg_spans *out_spans, uint32_t *out_atoms) {
  const tg_agcu_instr *in = walk->in;
  uint32_t pieces = 0, atoms = 0, last = tg_min(walk->flit + flits, walk->flits),
           run = (uint32_t)in->k_radix[2];
  if (out_spans) out_spans->count = 0;
  walk->has_atom = false;
  while (walk->flit < last) {
    uint32_t room = (last - walk->flit) * walk->flit_elements - walk->lane;
    uint32_t length = tg_min(tg_min(run - walk->digit[5], (uint32_t)in->take - walk->taken), room);
    if (walk->single) length = 1;
    if (out_spans) out_spans->span[out_spans->count++] = locate(walk, length);
    pieces += ((walk->lane + length - 1) >> walk->flit_shift) + 1;
    atoms += span_atoms(walk, length);
    pass(walk, length);
  }
  *out_atoms = atoms;
  return pieces;
}

/* Smallest and largest digit of each place while a linear index goes from `first` on, `count` steps. Digits
 * of the outermost place that its radix excludes are out of bounds. */
static void digit_ranges(uint32_t first, uint32_t count, const int64_t radix[3], uint32_t low[3],
                         uint32_t high[3]) {
  uint32_t last = first + count - 1;
  if (last < first) { /* it wraps around, and so may the outermost digit: anything */
    for (int d = 0; d < 3; d++) low[d] = 0, high[d] = (uint32_t)radix[d] - 1;
    return;
  }
  digits(first, radix, low);
  digits(last, radix, high);
  bool carried = high[0] != low[0];
  if (high[0] >= radix[0]) high[0] = (uint32_t)radix[0] - 1;
  for (int d = 1; d < 3; d++) {
    bool carries = carried || high[d] != low[d];
    if (carried) low[d] = 0, high[d] = (uint32_t)radix[d] - 1;
    carried = carries;
  }
}

void tg_walk_reach(const tg_walk *walk, int64_t *out_low, int64_t *out_high) {
  const tg_agcu_instr *in = walk->in;
  uint32_t low[6], high[6], row = walk->digit[0];
  row = (row * (uint32_t)in->m_radix[1] + walk->digit[1]) * (uint32_t)in->m_radix[2] + walk->digit[2];
  digit_ranges(row, (uint32_t)in->rows, in->m_radix, low, high);
  digit_ranges(walk->k_first, (uint32_t)in->take, in->k_radix, low + 3, high + 3);
  *out_low = walk->base;
  *out_high = walk->base + walk->memory_bytes;
  for (int d = 0; d < 6; d++) {
    if (high[d] < low[d]) { /* nothing of it is in bounds */
      *out_high = *out_low;
      return;
    }
    int64_t a = low[d] * in->stride[d], b = high[d] * in->stride[d]; /* of 24 and 40 bits */
    if (__builtin_add_overflow(*out_low, a < b ? a : b, out_low) ||
        __builtin_add_overflow(*out_high, a < b ? b : a, out_high) || *out_low < INT64_MIN / 2 ||
        *out_high > INT64_MAX / 2) { /* no memory is that large; callers may add a base */
      *out_low = INT64_MIN / 2;
      *out_high = INT64_MAX / 2;
      return;
    }
  }
  int64_t last = in->index_size ? (in->index_size - 1) * in->index_stride : 0;
  int64_t *end = last < 0 ? out_low : out_high;
  if (__builtin_add_overflow(*end, last, end) || *end < INT64_MIN / 2 || *end > INT64_MAX / 2) {
    *out_low = INT64_MIN / 2;
    *out_high = INT64_MAX / 2;
  }
}
