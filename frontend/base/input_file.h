/* Input files of users: regular ones, since others may block or never end. */
#ifndef TEGULA_BASE_INPUT_FILE_H
#define TEGULA_BASE_INPUT_FILE_H

#include "frontend/base/status.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a regular file, or /dev/null, for reading, without waiting; the caller closes it. `out_size`: its
 * bytes, or NULL. TG_INVALID: it cannot be read, or is something else, which the line says with its path. */
tg_status tg_input_open(const char *path, FILE **out_file, uint64_t *out_size, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
