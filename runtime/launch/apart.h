/* Tasks one after the other in another process, which ends where the host's memory does and takes nothing along. It is
 * forked when there is something to do, goes on from task to task with what it has made so far, and a new one takes its
 * place after its end. The caller must not have started threads. */
#ifndef TEGULA_RUNTIME_LAUNCH_APART_H
#define TEGULA_RUNTIME_LAUNCH_APART_H

#include "frontend/base/status.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct tg_apart {
  /* There: the answer to a task, which becomes the caller's. Guards hold (frontend/base/guard.h). */
  json_t *(*work)(void *user, const json_t *task);
  void *user;
  pid_t process; /* 0: none runs */
  FILE *line;    /* to it, and back */
} tg_apart;

/* Gives it a task. *out_answer: what it says, which the caller owns; NULL: it ended for want of memory, by itself or
 * because the host ended it, as `out_lost` says. TG_INVALID: it cannot be started, or ended in another way. */
tg_status tg_apart_ask(tg_apart *apart, const json_t *task, json_t **out_answer, char out_lost[100],
                       tg_diag *diag);
/* Ends it. */
void tg_apart_end(tg_apart *apart);

#endif
