/* Ports that walk addresses, for tests and measurements of sim/dram. */
#ifndef TEGULA_TESTS_DRAM_TRAFFIC_H
#define TEGULA_TESTS_DRAM_TRAFFIC_H

#include "sim/dram/controller.h"

/* Every port sends atoms as fast as its bytes a cycle and the memory let it. */
typedef struct traffic {
  enum { TRAFFIC_SEQUENTIAL, TRAFFIC_STRIDED, TRAFFIC_RANDOM } kind;
  uint32_t atoms;  /* of each port */
  uint32_t writes; /* of 100 atoms */
  uint64_t stride; /* TRAFFIC_STRIDED: bytes */
  uint32_t seed;
  uint32_t poll; /* ask for the state of every so many cycles, too: changes nothing */
} traffic;

typedef struct traffic_result {
  uint64_t cycles; /* until everything is read and written */
  uint64_t sum;    /* of all arrivals, port by port: equal runs have equal ones */
  tg_dram_counts counts;
} traffic_result;

/* `command` may be NULL. */
traffic_result traffic_run(const tg_params *params, const traffic *traffic,
                           void (*command)(void *user, const tg_dram_event *event), void *user);
/* Bytes moved over what all data buses could have moved in that time. */
double traffic_share(const tg_params *params, const traffic_result *result);

#endif
