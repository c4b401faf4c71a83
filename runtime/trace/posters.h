/* Who increments a semaphore: what a unit that waits for it really waits for. */
#ifndef TEGULA_RUNTIME_TRACE_POSTERS_H
#define TEGULA_RUNTIME_TRACE_POSTERS_H

#include "sim/machine/program.h"

typedef struct tg_poster {
  uint8_t units;     /* bits of tg_unit; 0: nobody posts it */
  uint16_t endpoint; /* of the first poster found */
  bool several;      /* instructions at more than one endpoint post it */
} tg_poster;

/* Fills posters[endpoint * params.semaphores + semaphore] for a section; endpoints are tiles, then AGCUs. */
void tg_posters_find(const tg_program *program, const tg_section *section, tg_poster *posters);
size_t tg_posters_count(const tg_params *params);

/* "mx", "agcu", ...: the one kind of units in `units`; "several", or "nobody". */
const char *tg_poster_kind(uint8_t units);
/* "tile 0,1" or "agcu west 0". */
const char *tg_endpoint_text(const tg_params *params, uint32_t endpoint, char out[40]);

#endif
