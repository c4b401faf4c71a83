/* What a program, or a section of it, needs at least: the speed of light that cycles are held against. */
#ifndef TEGULA_RUNTIME_REPORT_ROOFLINE_H
#define TEGULA_RUNTIME_REPORT_ROOFLINE_H

#include "sim/machine/program.h"

/* Cycles are at least those of the matrix units at the peaks of the formats, and those of all DRAM ports at
 * their rate. */
typedef struct tg_bound {
  double mx_cycles;          /* useful multiply-adds of each format over its peak, added */
  uint64_t compulsory_bytes; /* that any way of computing the same moves to or from DRAM */
  uint64_t cycles;           /* the larger of both, rounded up */
} tg_bound;

/* Of a run: compulsory are constants, as they are stored, and inputs once, outputs once, and what stays on
 * the device from run to run once each way; of a tensor that is read by index alone as many bytes as are chosen, at most
 * all. */
tg_bound tg_program_bound(const tg_program *program);

/* Of each invocation: compulsory is what its section reads, each byte once, and what it writes. Where loads
 * skip parts of a tensor that others cover, it is at most that. `out_bounds`: program->invocation_count of
 * them. */
void tg_invocation_bounds(const tg_program *program, tg_bound *out_bounds);

#endif
