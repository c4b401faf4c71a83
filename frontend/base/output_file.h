/* Output files that are never seen half written: written beside, stored, then renamed. Links stay, what they
 * lead to is written; a file that was there keeps its mode. "-", /dev/stdout, /dev/stderr and /dev/fd/N are
 * the process's own descriptors. */
#ifndef TEGULA_BASE_OUTPUT_FILE_H
#define TEGULA_BASE_OUTPUT_FILE_H

#include "frontend/base/status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_output_file {
  FILE *stream;
  char *path;   /* as it was given */
  char *target; /* where links lead; NULL of a descriptor */
  char *beside; /* NULL when `path` is a device, pipe or descriptor, which is written as it is */
} tg_output_file;

/* Opens for writing. Every open file is ended by exactly one call of commit or abandon. */
tg_status tg_output_open(const char *path, tg_output_file *out_file, tg_diag *diag);
/* Would it open? Nothing is left behind; devices and pipes are not asked. */
tg_status tg_output_check(const char *path, tg_diag *diag);
/* Does the path name standard output, as "-" does? */
bool tg_output_is_standard(const char *path);
/* From now on files whose path names standard output go there alone: what is printed to stdout goes to standard error. */
tg_status tg_output_keep_apart(tg_diag *diag);
/* TG_INVALID when anything could not be written; `path` is then as it was. */
tg_status tg_output_commit(tg_output_file *file, tg_diag *diag);
void tg_output_abandon(tg_output_file *file);
/* A file that another writer has begun, by a path that lives until it is forgotten. */
void tg_output_remember(char *path);
void tg_output_forget(char *path); /* NULL is allowed */
/* Removes what is written beside files that are still open, and what is remembered: for handlers of signals and of exit. */
void tg_output_remove_unfinished(void);

#ifdef __cplusplus
}
#endif
#endif
