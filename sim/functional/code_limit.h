/* The size of the folder that keeps machine code (code_store.h). Processes side by side may look after it at once, and be
 * killed at any point: a file is there as a whole or not at all, and who misses one compiles it. */
#ifndef TEGULA_FUNCTIONAL_CODE_LIMIT_H
#define TEGULA_FUNCTIONAL_CODE_LIMIT_H

#include "frontend/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The name of a file of ours: what it was made on, what it was made from. */
#define TG_CODE_FILE "%016llx-%016llx.o"

/* Bytes that its files may have together, of the environment variable TEGULA_CODE_CACHE_SIZE: a number of bytes, of K, M or G
 * (1024 ..) behind it, 0 for no limit; without it 1G. TG_INVALID: it is none, and *out_bytes 0. */
tg_status tg_code_limit(uint64_t *out_bytes, tg_diag *diag);

/* Whether who adds a file of so many bytes looks after the folder: about one file in sixteen, and each of more than a 64th of
 * the limit, so that it is exceeded by little and not for long. */
bool tg_code_looks_after(uint64_t hash, uint64_t bytes, uint64_t limit);
/* Removes what was used longest ago until files of ours are a sixteenth below the limit, if they exceed it; and what
 * killed processes left an hour ago. Other files are left alone. */
void tg_code_trim(const char *folder, uint64_t limit);

#endif
