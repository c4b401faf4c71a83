/* What became of a case, and the folder in which finished ones are kept. */
#ifndef TEGULA_RUNTIME_REGRESS_RESULT_H
#define TEGULA_RUNTIME_REGRESS_RESULT_H

#include "runtime/regress/suite.h"

#include <jansson.h>

typedef enum tg_outcome {
  TG_RAN,         /* to its end; bounds decide */
  TG_FAULTED,     /* the simulated machine faulted */
  TG_REFUSED,     /* bad input or flags: exit status 2 */
  TG_CRASHED,     /* a signal, or an exit status that is none of ours */
  TG_TIMED_OUT,   /* over its time limit */
  TG_OUT_OF_ROOM, /* over its memory limit */
  TG_KILLED,      /* by somebody else: not kept */
  TG_OUTCOMES
} tg_outcome;
const char *tg_outcome_name(tg_outcome outcome);

typedef struct tg_result {
  bool finished;
  tg_outcome outcome;
  const char *detail; /* one line; "" for TG_RAN */
  const char *log;    /* commands and what they wrote to stderr */
  json_t *run;        /* of `tegula run --json`: what bounds and reports use; NULL: it did not get there */
  json_t *verify;     /* of `tegula verify --json`, or NULL */
  int retries;        /* how often it hung before */
  double seconds;     /* host time; 0: of an earlier run */
} tg_result;

void tg_result_release(tg_result *result);

typedef struct tg_results {
  const char *folder; /* absolute */
  int lock;
} tg_results;

/* Makes the folder, takes it for this process (TG_INVALID: another one works there) and removes what a killed
 * one left half done. */
tg_status tg_results_open(tg_arena *arena, const char *folder, tg_results *out_results, tg_diag *diag);
void tg_results_close(tg_results *results);
/* "FOLDER/cases/ID-HASH.ending": a file of a case. */
const char *tg_results_file(const tg_results *results, tg_arena *arena, const char *id, const char *ending);

/* Whole or not at all. Results that are not kept (TG_KILLED) are not written. */
tg_status tg_result_write(const tg_results *results, tg_arena *arena, const char *id, const char *fingerprint,
                          const tg_result *result, tg_diag *diag);
/* A kept result of the same fingerprint; false: there is none. */
bool tg_result_read(const tg_results *results, tg_arena *arena, const char *id, const char *fingerprint,
                    tg_result *out_result);

#endif
