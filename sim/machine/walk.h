/* The walk of an AGCU LOAD or STORE: which DRAM elements each flit holds, and what they cost
 * (docs/machine.md, section 7). */
#ifndef TEGULA_MACHINE_WALK_H
#define TEGULA_MACHINE_WALK_H

#include "sim/machine/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A context's LOAD or STORE issues so many cycles behind the issue of the instruction before it, or later: nine products of its walk's
 * start are made from the next cycle on, one a cycle. */
enum { TG_WALK_LEAD = 10 };

/* Elements next to each other in DRAM and, flit after flit, on the chip. */
typedef struct tg_span {
  int64_t address;                   /* of the first valid element; meaningless if valid_count is 0 */
  uint32_t flit, lane;               /* flit of the instruction, and its element, where the span begins */
  uint32_t length;                   /* elements */
  uint32_t valid_first, valid_count; /* elements [valid_first, valid_first + valid_count) are in bounds */
} tg_span;

typedef struct tg_spans {
  uint32_t count;
  tg_span *span; /* room for as many as a burst has elements */
} tg_spans;

/* Rows of a table by index (docs/machine.md, section 7). */
enum { TG_MOST_INDEXED_ROWS = 1 << 24 }; /* of a table: FP32 numbers these */

/* What digits come to: bytes, which wrap around (of elements out of bounds they may be anything), and coordinates. */
typedef struct tg_walk_place {
  uint64_t address;
  int64_t x, y;
} tg_walk_place;

typedef struct tg_walk {
  const tg_agcu_instr *in;
  const uint8_t
      *indices; /* FP32 words, of the execution's first row on; NULL: those that time is counted with */
  uint32_t memory_bytes, chip_bytes;  /* of an element in DRAM and in a flit */
  uint32_t flit_elements, flit_shift; /* a power of two, and which */
  uint32_t row_flits, flits;          /* flits of a row, of the instruction */
  bool single;                        /* one element a piece */
  int64_t base;                       /* address with every digit 0 */
  uint32_t m_first, k_first;          /* linear starts of the row walk and of the K walk */
  uint32_t k_start[3];                /* its digits */
  /* where it stands */
  uint32_t rows, taken, flit; /* `rows`: that are through */
  uint32_t digit[6];          /* m2 m1 m0 k2 k1 e; the last is the element of the run */
  uint32_t lane;
  tg_walk_place row, run; /* what the digits come to: of m2 m1 m0, with the base; of k2 k1 */
  tg_walk_place k_begin;  /* what `run` is where a row begins */
  bool has_atom;          /* the port has an atom, which an earlier piece of the row's or the burst's */
  uint64_t atom_end;      /* asked for, up to this address */
} tg_walk;

/* `index`: loop indices of this execution; `base_address`: the entry of the base table. The instruction was
 * checked. */
void tg_walk_begin(tg_walk *walk, const tg_params *params, const tg_agcu_instr *in,
                   const uint32_t index[TG_LEVELS], uint64_t base_address);

/* Digits, outermost first, as the configuration of the hardware holds them: of the start of the row walk, then of its step per
 * loop level; the same of the K walk. */
enum {
  TG_WALK_STEPS = 2 * (1 + TG_LEVELS),
  TG_WALK_OUTER_BITS =
      32, /* of the outermost digit of a step, which is left over; the others are below radices */
  TG_WALK_INNER_BITS = 24,
};
void tg_walk_steps(const tg_agcu_instr *in, uint32_t out_digits[TG_WALK_STEPS][3]);

/* Bits of a row of a unit's queue: the fields of an instruction, and behind those of an AGCU the steps of its walks. */
static inline unsigned tg_queue_bits(tg_unit unit) {
  return tg_unit_bits(unit) +
         (unit == TG_AGCU ? TG_WALK_STEPS * (TG_WALK_OUTER_BITS + 2 * TG_WALK_INNER_BITS) : 0);
}

/* The next `flits` flits (fewer at the end), one burst. Returns its pieces, a span's part of a flit being
 * one;
 * `*out_atoms` is what they cost. `out_spans` may be NULL. */
uint32_t tg_walk_burst(tg_walk *walk, uint32_t flits, tg_spans *out_spans, uint32_t *out_atoms);

/* The row of a table of `size` rows that an FP32 word chooses, one below 0 counted from its end; -1: none. */
int64_t tg_index_row(uint32_t word, int64_t size);
/* The row that time is counted with where a memory device is behind the ports: spread over the table, whatever the
 * indices are. `position`: the row walk's linear index. */
static inline int64_t tg_index_nominal(uint32_t position, int64_t size) {
  return (int64_t)((uint64_t)(position * 0x9E3779B1u) * (uint64_t)size >> 32);
}
/* Cycles of the port before the first piece of a burst, to fetch its indices: 0 where there are none, else TG_INDEX_LEAD more than
 * the rows of the store memory that are read. `address`: of the index operand; the burst has `flits` flits from flit `first` of the
 * instruction on. */
enum { TG_INDEX_LEAD = 2 };
uint32_t tg_index_cycles(const tg_params *params, const tg_agcu_instr *in, uint32_t address, uint32_t first,
                         uint32_t flits);

/* Device memory from byte *out_low on and below *out_high holds every element in bounds of the whole
 * instruction, whatever its indices, and perhaps others. Of a walk that has just begun. */
void tg_walk_reach(const tg_walk *walk, int64_t *out_low, int64_t *out_high);

/* Port cycles of a burst. */
static inline uint32_t tg_burst_cycles(const tg_params *params, uint32_t pieces, uint32_t atoms) {
  uint32_t cycles = atoms * tg_atom_cycles(params);
  return cycles > pieces ? cycles : pieces;
}

/* Flits of an execution: rows * ceil(take / elements of a flit). The same for every execution of an
 * instruction. */
uint32_t tg_agcu_flits(const tg_params *params, const tg_agcu_instr *in);
uint32_t tg_convert_memory_bytes(int64_t convert); /* element size in DRAM */
uint32_t tg_convert_chip_bytes(int64_t convert);   /* element size in flits */

#ifdef __cplusplus
}
#endif
#endif
