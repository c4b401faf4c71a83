/* Bounds and limits of cases (bounds.def): reading them from a suite, laying them over each other. */
#ifndef TEGULA_RUNTIME_REGRESS_BOUNDS_H
#define TEGULA_RUNTIME_REGRESS_BOUNDS_H

#include "runtime/regress/yaml.h"

typedef enum tg_bound_id {
#define BOUND(name, kind, place) TG_BOUND_##name,
#include "runtime/regress/bounds.def"
#undef BOUND
  TG_BOUND_COUNT
} tg_bound_id;

typedef enum tg_tolerance { TG_TOLERANCE_CYCLES, TG_TOLERANCE_SHARE, TG_TOLERANCE_ANY } tg_tolerance;

typedef struct tg_bound {
  bool given;
  /* CEILING, FLOOR, SHARE, SECONDS, TIMES, STEPS; TOLERANCE: cycles, or a share of the baseline's */
  double real;
  uint64_t bytes;         /* BYTES */
  tg_tolerance tolerance; /* TOLERANCE */
  const char *
      text; /* as in the suite, for messages; ENGINES: names with commas, "" for none, "available"; REASON: "" for none */
  const char **files; /* FILES: "NAME=FILE"; TAGS: words */
  size_t file_count;
} tg_bound;

typedef struct tg_bounds {
  tg_bound of[TG_BOUND_COUNT];
} tg_bounds;

const char *tg_bound_name(tg_bound_id id);

/* A size, as 4096, 64M or 1.5GiB, below 2^62. False: it is none. */
bool tg_bytes_read(const char *text, uint64_t *out_bytes);

/* The mapping under `bounds`. */
tg_status tg_bounds_read(tg_yaml *yaml, yaml_node_t *node, tg_bounds *bounds);
/* A key beside `bounds`: *out_known says whether it is one of ours. */
tg_status tg_limit_read(tg_yaml *yaml, const char *key, yaml_node_t *value, tg_bounds *bounds,
                        bool *out_known);
/* What `over` gives replaces what `base` has; tags are added. */
void tg_bounds_lay_over(tg_arena *arena, tg_bounds *base, const tg_bounds *over);
bool tg_bounds_have_tag(const tg_bounds *bounds, const char *tag);

#endif
