/* How long the units of each kind are occupied by a section: what bounds it. */
#ifndef TEGULA_RUNTIME_REPORT_OCCUPANCY_H
#define TEGULA_RUNTIME_REPORT_OCCUPANCY_H

#include "sim/machine/program.h"

/* Cycles of the busiest unit of each kind in one invocation: matrix units streaming blocks, vector units
 * issuing words, DRAM ports moving atoms, lane segments moving flits. An AGCU instruction counts as its first
 * execution does. */
typedef struct tg_occupancy {
  uint64_t mx, vx, dram, lane;
} tg_occupancy;

tg_occupancy tg_section_occupancy(const tg_program *program, uint32_t section);
/* "mx", "vx", "dram" or "lane": the largest. */
const char *tg_occupancy_bound(const tg_occupancy *occupancy);

#endif
