/* Arrows from the instruction whose post a unit waited for to the instruction that waited. A semaphore's last two posts are
 * kept: the end of a GEMM is told when it issues, before the one that its reader waits for may have ended. */
#ifndef TEGULA_RUNTIME_TRACE_ARROWS_H
#define TEGULA_RUNTIME_TRACE_ARROWS_H

#include "runtime/trace/writer.h"
#include "sim/machine/observer.h"
#include "sim/machine/program.h"

typedef struct tg_arrows tg_arrows;

typedef struct tg_arrow {
  uint64_t number, cycle; /* from 1 on; of its begin */
  tg_track from;
} tg_arrow;

tg_arrows *tg_arrows_create(const tg_params *params);
void tg_arrows_destroy(tg_arrows *arrows);
/* A section begins: earlier posts are forgotten. */
void tg_arrows_begin(tg_arrows *arrows);
/* An execution of `in`, drawn at `at`, posts. `x` may be NULL: then each post counts, those of the last loop as well. */
void tg_arrows_post(tg_arrows *arrows, const tg_event *event, const tg_instr *in, const tg_execution *x,
                    tg_track at);
/* A unit waited for a semaphore. */
void tg_arrows_wait(tg_arrows *arrows, const tg_stall *stall);
/* The arrow that ends at this instruction; *out, of zeros before; false: it has waited for nobody
 * whose post is known. */
bool tg_arrows_end(tg_arrows *arrows, const tg_event *event, tg_arrow *out);

#endif
