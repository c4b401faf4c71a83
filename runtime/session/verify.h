/* Do the engines agree, in every bit of memory and in every instruction's start and end? */
#ifndef TEGULA_RUNTIME_SESSION_VERIFY_H
#define TEGULA_RUNTIME_SESSION_VERIFY_H

#include "runtime/session/session.h"

#include <jansson.h>

typedef struct tg_verify_options {
  const char *engines; /* names with commas; NULL: functional,systemc,rtl; "available": those of them that can
                          run it */
  int threads;
  uint64_t max_cycles;
  bool (*progress)(void *user, const char *engine); /* before each; false ends with TG_CANCELLED; or NULL */
  void *user;
} tg_verify_options;

/* TG_OK: all equal. TG_MISMATCH: `diag` names the first difference. In both cases *out_result is a new
 * reference to what `tegula verify --json` prints; its "not_compared" names the engines that took no part. Otherwise (an engine cannot run this program, a fault) it
 * is NULL. */
tg_status tg_verify(tg_session *session, const tg_verify_options *options, json_t **out_result,
                    tg_diag *diag);

#endif
