/* What defines a case, in 128 bits: a finished result is used again only while none of it changed. */
#ifndef TEGULA_RUNTIME_REGRESS_FINGERPRINT_H
#define TEGULA_RUNTIME_REGRESS_FINGERPRINT_H

#include "runtime/regress/suite.h"

typedef struct tg_fingerprints {
  tg_arena arena; /* of the names and sums of files seen */
  struct tg_file_sum *files;
  size_t count, capacity;
} tg_fingerprints;

/* 32 hexadecimal digits, on the suite's arena: of the command that runs the case (its bytes), its arguments,
 * its limits, its model with external data, and every file that its flags name. Nothing but regular files is
 * opened. */
const char *tg_case_fingerprint(tg_fingerprints *sums, tg_suite *suite, const tg_case *c,
                                const char *command);
void tg_fingerprints_release(tg_fingerprints *sums);

#endif
