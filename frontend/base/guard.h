/* Where tg_die ends: without a guard the process, within one the guarded call, whose caller gets TG_INVALID and the
 * line. The library's functions are guarded, so that memory that the host will not give is a status to its program.
 *
 *   tg_status tg_session_save(...) { TG_GUARDED(diag, save(session, path, diag)); }
 *
 * What the call had allocated for itself is lost then; what it was given stays whole, since memory is asked for before
 * it is changed. A guard holds for the thread that entered it, and guards nest. */
#ifndef TEGULA_BASE_GUARD_H
#define TEGULA_BASE_GUARD_H

#include "frontend/base/status.h"

#include <locale.h>
#include <setjmp.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_guard {
  jmp_buf place;
  struct tg_guard *outer;
  locale_t locale; /* of the thread when it was entered, which it gets back */
  tg_diag died;
} tg_guard;

void tg_guard_enter(tg_guard *guard);
void tg_guard_leave(tg_guard *guard);
/* After setjmp(guard->place) has returned a second time: the guard is left, and `diag` says why. TG_INVALID. */
tg_status tg_guard_caught(tg_guard *guard, tg_diag *diag);

/* Whether guards hold from now on, as they do at first. Where not, tg_die ends the process: for the command, whose process
 * it is. */
void tg_guards_hold(bool hold);

/* The rest of a function that returns tg_status. */
#define TG_GUARDED(diag, call)                                                                               \
  tg_guard guard_;                                                                                           \
  tg_guard_enter(&guard_);                                                                                   \
  if (setjmp(guard_.place)) return tg_guard_caught(&guard_, diag);                                           \
  tg_status guarded_ = (call);                                                                               \
  tg_guard_leave(&guard_);                                                                                   \
  return guarded_

#ifdef __cplusplus
}
#endif
#endif
