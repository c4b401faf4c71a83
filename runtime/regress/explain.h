/* Two runs of a case beside each other, by section and unit: where did the cycles go? */
#ifndef TEGULA_RUNTIME_REGRESS_EXPLAIN_H
#define TEGULA_RUNTIME_REGRESS_EXPLAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A run to compare: a baseline's entry, a result's run, or a trace's summary. */
typedef struct tg_side {
  const char *name; /* "baseline", "now", a file */
  const json_t *cycles, *sections;
} tg_side;

/* {"before": {"name", "cycles"}, "now": .., "text", "sections": [{"name", "before", "now", "bound_before",
 * "bound_now", "causes": [{"unit", "cause", "before", "now"}]}]}, sections that moved most first. `all`: also
 * those that did not move. A new reference. */
json_t *tg_explain(const tg_side *before, const tg_side *now, bool all);
void tg_explain_print(const json_t *explanation, FILE *out);

#endif
