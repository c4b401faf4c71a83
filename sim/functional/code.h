/* Machine code of kernels, compiled once: kernels of equal text share it, in all programs that a process runs; and, where the environment
 * variable TEGULA_CODE_CACHE names a folder, in all processes that use it (code_store.h). Any thread may call these. */
#ifndef TEGULA_FUNCTIONAL_CODE_H
#define TEGULA_FUNCTIONAL_CODE_H

#include "sim/functional/jit.h"

typedef struct tg_code tg_code;

/* The code of the function @kernel in the module `text`, which is compiled if it is new. Every code that was asked for is released once.
 * TG_FAULT, and NULL, as tg_jit_compile. */
tg_status tg_code_of(const tg_text *text, tg_code **out_code, tg_diag *diag);
/* Where the function begins. It stays there until the code is released. */
void *tg_code_address(const tg_code *code);
/* NULL is allowed. Code that nobody holds is kept for the next who asks, up to some megabytes of text. */
void tg_code_release(tg_code *code);

/* Codes that are held together. Zeroed it is empty. */
typedef struct tg_codes {
  tg_code **held;
  size_t count, capacity;
} tg_codes;
/* The address of the code of `text`, which is empty after that, its memory kept for the next. TG_FAULT as above. */
tg_status tg_codes_add(tg_codes *codes, tg_text *text, void **out_address, tg_diag *diag);
void tg_codes_release(tg_codes *codes);

#endif
