/* Why units wait, followed to its end: who waits on a semaphore waits for its poster, which may wait itself. */
#ifndef TEGULA_RUNTIME_REPORT_STALLS_H
#define TEGULA_RUNTIME_REPORT_STALLS_H

#include <jansson.h>

/* Of `units` as tg_profile_section has them: {"chain": ["mx", "tx", "agcu", "port"], "text": "mx waits for tx, ...",
 * "share": of the stalled cycles of the first unit, those that wait for the second}. It begins at the kind of units that
 * computes (mx, or vx where mx has no work), goes on with the largest cause of each that is not one of those before it, and
 * ends with a cause that is no unit, or a unit that is busy for longer than it waits for others. Null: nothing waits. A new
 * reference. */
json_t *tg_first_cause(const json_t *units);

/* Adds the counts of a section's units to those of a run. */
void tg_add_units(json_t *sum, const json_t *units);

#endif
