/* A regression suite: models x flag sets x engines, with bounds (docs/regression-suites.md). */
#ifndef TEGULA_RUNTIME_REGRESS_SUITE_H
#define TEGULA_RUNTIME_REGRESS_SUITE_H

#include "runtime/regress/bounds.h"
#include "runtime/words.h"

/* What stands in a command for the file of the model, which for models of the zoo is written first. */
#define TG_CASE_MODEL "{model}"
/* ... and for the program of a training step, which `train` writes for `verify`. */
#define TG_CASE_PROGRAM "{program}"
/* What stands for an engine in cases that `tegula train` runs. */
#define TG_ENGINE_TRAINING "training"

typedef struct tg_suite_model {
  const char *name;
  const char *file;  /* as in the suite; NULL: of the zoo */
  const char *zoo;   /* or NULL */
  tg_words sizes;    /* options of `tegula zoo` */
  tg_words inputs;   /* NAME=FILE.npy */
  tg_words flags;    /* names of flag sets; none: all */
  tg_words engines;  /* none: those of the suite */
  tg_words training; /* options of `tegula train` */
  tg_bounds bounds;
  size_t line;
} tg_suite_model;

typedef struct tg_flag_set {
  const char *name;
  tg_words flags; /* options of `tegula run` */
  tg_bounds bounds;
  size_t line;
} tg_flag_set;

/* Alternatives, of which a case takes one. */
typedef struct tg_flag_axis {
  tg_flag_set *sets;
  size_t count, capacity;
} tg_flag_axis;

typedef struct tg_override {
  tg_words patterns;
  tg_bounds bounds;
  size_t line;
} tg_override;

/* One model with one flag set of each axis on one engine. */
typedef struct tg_case {
  const char *id; /* "model/flags/engine" */
  const tg_suite_model *model;
  const char *flags; /* names of its flag sets joined by '+' */
  const char *engine;
  tg_bounds bounds;
  bool trains;               /* run is a `train` */
  tg_words zoo, run, verify; /* commands without "tegula"; zoo and verify may have no words */
  tg_words files;            /* read by them beside the model, as in the suite */
} tg_case;

typedef struct tg_suite {
  tg_arena arena;
  const char *path, *folder; /* folder: absolute; the commands run there */
  const char *name, *baseline;
  uint64_t seed;
  tg_bounds bounds;
  tg_suite_model *models;
  size_t model_count, model_capacity;
  tg_flag_axis *axes;
  size_t axis_count, axis_capacity;
  tg_words engines, training, exclude;
  size_t exclude_line, training_line;
  tg_override *overrides;
  size_t override_count, override_capacity;
  tg_case *cases; /* in the order of the suite: models, flags, engines */
  size_t case_count, case_capacity;
} tg_suite;

/* Reads and expands a suite. `seed`: replaces the suite's unless it is NULL. TG_INVALID "FILE:LINE: ...",
 * also for flags that `tegula run` would refuse and for model files that are not there. */
tg_status tg_suite_load(const char *path, const uint64_t *seed, tg_suite *out_suite, tg_diag *diag);
void tg_suite_release(tg_suite *suite);

/* suite.c's part: reading; expand.c's: the cases; commands.c's: what runs them. */
tg_status tg_suite_read(tg_yaml *yaml, tg_suite *suite);
tg_status tg_suite_expand(tg_suite *suite, tg_diag *diag);
/* `flags`: those of its flag sets, which stand in `line`. */
tg_status tg_case_make_commands(tg_suite *suite, tg_case *c, const tg_words *flags, size_t line,
                                tg_diag *diag);
/* `path` of the suite, as this process reaches it. */
const char *tg_suite_reach(tg_suite *suite, const char *path);
/* TG_INVALID "FILE:LINE: text". */
tg_status tg_suite_fail(const tg_suite *suite, size_t line, tg_diag *diag, const char *text);

#endif
