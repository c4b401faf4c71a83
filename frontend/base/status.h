/* Status codes and diagnostics, shared by every layer.
 *
 * A function that can fail on a user's input returns tg_status and leaves one line in the caller's tg_diag.
 * The codes are the exit statuses of the command. Failures of our own invariants are asserts, not
 * statuses. */
#ifndef TEGULA_BASE_STATUS_H
#define TEGULA_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_status {
  TG_OK = 0,       /* done */
  TG_MISMATCH = 1, /* a comparison or a regression failed */
  TG_INVALID = 2,  /* bad usage or bad input */
  TG_FAULT = 3,    /* the simulated machine faulted */
  TG_CANCELLED = 4 /* the caller's own callback ended it; of no command */
} tg_status;

/* The first error of an operation: one line, no trailing newline, control characters escaped. */
typedef struct tg_diag {
  char message[1024];
} tg_diag;

/* Formats a message into `diag` (which may be NULL) unless it holds one already; returns `status`. */
tg_status tg_fail(tg_diag *diag, tg_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the message of `diag`, to add the file, node or tensor known by a caller. */
void tg_diag_prefix(tg_diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts text behind it, as far as there is room: what a caller knows of the cause. */
void tg_diag_suffix(tg_diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For memory that the host will not give: ends the guarded call that runs (guard.h), or, where there is none, prints one
 * line to stderr and ends the process with status 2. */
#ifdef __cplusplus
[[noreturn]]
#else
_Noreturn
#endif
void tg_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What tg_die does before it ends the process; the handlers of exit() are not called. NULL: nothing. */
void tg_before_death(void (*clean_up)(void));

#ifdef __cplusplus
}
#endif
#endif
