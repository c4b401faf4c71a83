/* Who increments a semaphore: what a unit that waits for it really waits for. */
#ifndef TEGULA_RUNTIME_TRACE_POSTERS_H
#define TEGULA_RUNTIME_TRACE_POSTERS_H

#include "sim/machine/program.h"
#include "sim/machine/sequencer.h"

typedef struct tg_poster {
  uint8_t units;     /* bits of tg_unit; 0: nobody posts it */
  uint16_t endpoint; /* of the first poster found */
  bool several;      /* instructions at more than one endpoint post it */
} tg_poster;

/* Fills posters[endpoint * params.semaphores + semaphore] for a section; endpoints are tiles, then AGCUs. */
void tg_posters_find(const tg_program *program, const tg_section *section, tg_poster *posters);
size_t tg_posters_count(const tg_params *params);

/* Calls `visit` for each semaphore that an execution of `instr` increments; `x`: the execution, or NULL for all that any one
 * does. */
typedef void tg_post_visit(void *user, uint32_t endpoint, uint32_t semaphore);
void tg_visit_posts(const tg_params *params, tg_unit unit, uint32_t endpoint, const tg_instr *instr,
                    const tg_execution *x, tg_post_visit *visit, void *user);

/* "mx", "agcu", ...: the one kind of units in `units`; "several", or "nobody". */
const char *tg_poster_kind(uint8_t units);
/* "tile 0,1" or "agcu west 0". */
const char *tg_endpoint_text(const tg_params *params, uint32_t endpoint, char out[40]);

#endif
