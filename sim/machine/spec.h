/* What names an entry of a table or a file, with changes: memory devices, prices; and the files of them and of arrays. */
#ifndef TEGULA_MACHINE_SPEC_H
#define TEGULA_MACHINE_SPEC_H

#include "frontend/base/status.h"

#include <stdbool.h>

/* A line of a file, `key: value`; `first`: of the file. */
typedef tg_status tg_spec_line(void *user, const char *key, const char *value, bool first, tg_diag *diag);

/* Reads a file of `key: value` lines, a flat mapping of YAML, in order. `item` is what keys name, as "parameter".
 * TG_INVALID names the line, but not the path. */
tg_status tg_spec_read(const char *path, const char *item, tg_spec_line *line, void *user, tg_diag *diag);

/* A kind of value that tables have entries of. */
typedef struct tg_spec_kind {
  const char *what, *entry, *item;             /* as "dram", "device", "parameter": for messages */
  const char *const *names;                    /* of the entries; ended by NULL */
  bool (*load)(const char *name, void *value); /* false: there is no such entry */
  tg_status (*set)(void *value, const char *key, const char *text, tg_diag *diag);
  tg_status (*check)(const void *value, tg_diag *diag);
  bool based; /* whether a file has to begin with `base: NAME`; else the value is as it was */
} tg_spec_kind;

/* `spec` is NAME or FILE.yaml, and after that changes: ",key=value" each. A relative path begins at the folder of the
 * file `beside`, which names the spec; NULL: at the current one. TG_INVALID names file, line and key. */
tg_status tg_spec_load(const tg_spec_kind *kind, const char *spec, const char *beside, void *value,
                       tg_diag *diag);

#endif
