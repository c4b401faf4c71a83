/* How long the units of each kind are occupied by a section: what bounds it. */
#ifndef TEGULA_RUNTIME_REPORT_OCCUPANCY_H
#define TEGULA_RUNTIME_REPORT_OCCUPANCY_H

#include "sim/machine/program.h"

#include <jansson.h>

/* Cycles of the busiest unit of each kind in one invocation: matrix units streaming blocks, vector units
 * issuing words, DRAM ports moving atoms, lane segments moving flits. An AGCU instruction counts as its first
 * execution does. */
typedef struct tg_occupancy {
  uint64_t mx, vx, dram, lane;
} tg_occupancy;

/* Flits over each segment of each lane, by direction (TG_DIR_x). Lanes along rows are numbered by row, those along columns by
 * column; segment s of one lies between its places s and s + 1, of which 0 is the AGCU. */
enum { TG_LANE_DIRECTIONS = 4, TG_MOST_LANES = 16, TG_MOST_SEGMENTS = 17 };
typedef struct tg_lane_flits {
  uint64_t flits[TG_LANE_DIRECTIONS][TG_MOST_LANES][TG_MOST_SEGMENTS];
} tg_lane_flits;

/* `lanes`: what one invocation moves is written there; or NULL. */
tg_occupancy tg_section_occupancy(const tg_program *program, uint32_t section, tg_lane_flits *lanes);
/* "mx", "vx", "dram" or "lane": the largest. */
const char *tg_occupancy_bound(const tg_occupancy *occupancy);

/* {"east": [lane: [segment: flits]], "west", "north", "south"} of the whole program, each invocation counted. A new
 * reference. */
json_t *tg_report_lanes(const tg_program *program);

#endif
