/* Regular expressions of users, POSIX extended. */
#ifndef TEGULA_BASE_PATTERN_H
#define TEGULA_BASE_PATTERN_H

#include "frontend/base/status.h"

#include <regex.h>

/* Compiles; the caller frees `out_regex` with regfree(). TG_INVALID: `what` ("--trained") with the reason: it
 * is no expression, or deeper, longer or of more repetitions than the compiler of expressions stands. */
tg_status tg_pattern_compile(const char *what, const char *text, regex_t *out_regex, tg_diag *diag);

#endif
