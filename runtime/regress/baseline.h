/* The stored baseline of a suite: what each case measured when it was last accepted. A text file for review:
 * cases in the order of their ids, a section a line. A path that ends in / or is a folder has a file a case, which two
 * branches can change without a conflict. */
#ifndef TEGULA_RUNTIME_REGRESS_BASELINE_H
#define TEGULA_RUNTIME_REGRESS_BASELINE_H

#include "runtime/regress/result.h"

typedef struct tg_baseline {
  json_t *cases; /* id -> entry; empty when there is no file */
  bool exists;
} tg_baseline;

/* TG_INVALID: the file, or one of the folder, is there and is no baseline. */
tg_status tg_baseline_read(const char *path, tg_baseline *out_baseline, tg_diag *diag);
void tg_baseline_release(tg_baseline *baseline);
const json_t *tg_baseline_entry(const tg_baseline *baseline, const char *id); /* NULL: none */

/* Entry of a run (tg_result.run). A new reference. */
json_t *tg_baseline_entry_of(const json_t *run);
/* `cases`: all entries; of a folder, files of cases that are not among them go. */
tg_status tg_baseline_write(const char *path, const tg_suite *suite, json_t *cases, tg_diag *diag);

#endif
