/* Object code between processes: files in the folder that the environment variable TEGULA_CODE_CACHE names, one a kernel and kind of host.
 * A file holds what it was made from, which is compared, and a hash, so what is damaged or was made elsewhere is not used. Whoever may write
 * there decides what code runs here: the folder belongs to the user alone. Without the variable, or where nothing can be read or written,
 * kernels are compiled as ever. TEGULA_CODE_CACHE_SIZE bounds it (code_limit.h). Any thread may call these. */
#ifndef TEGULA_FUNCTIONAL_CODE_STORE_H
#define TEGULA_FUNCTIONAL_CODE_STORE_H

#include "sim/functional/jit.h"

#include <stdbool.h>
#include <stdint.h>

/* The object of the kernel `text`, whose tg_hash is `hash`, to be released with free(bytes). False, and no bytes, if there is none. */
bool tg_code_load(const tg_text *text, uint64_t hash, tg_object *out_object);
/* TG_INVALID: TEGULA_CODE_CACHE_SIZE is no size. */
tg_status tg_code_store_check(tg_diag *diag);
/* Stores it, whole or not at all: not where it alone exceeds the folder's size. */
void tg_code_keep(const tg_text *text, uint64_t hash, const tg_object *object);

#endif
