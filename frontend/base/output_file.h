/* Output files that are never seen half written: written beside, then renamed. */
#ifndef TEGULA_BASE_OUTPUT_FILE_H
#define TEGULA_BASE_OUTPUT_FILE_H

#include "frontend/base/status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_output_file {
  FILE *stream;
  char *path, *beside; /* beside is NULL when `path` is a device or pipe, which is written as it is */
} tg_output_file;

/* Opens for writing. Every open file is ended by exactly one call of commit or abandon. */
tg_status tg_output_open(const char *path, tg_output_file *out_file, tg_diag *diag);
/* Would it open? Nothing is left behind; devices and pipes are not asked. */
tg_status tg_output_check(const char *path, tg_diag *diag);
/* TG_INVALID when anything could not be written; `path` is then as it was. */
tg_status tg_output_commit(tg_output_file *file, tg_diag *diag);
void tg_output_abandon(tg_output_file *file);

#ifdef __cplusplus
}
#endif
#endif
