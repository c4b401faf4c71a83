/* Counters of a trace: how many tiles' units are busy, bytes of DRAM and flits of lanes a cycle, in steps of equal length, of
 * which there are at most a fixed number: a longer run has longer steps, so memory does not grow with it. */
#ifndef TEGULA_RUNTIME_TRACE_RATES_H
#define TEGULA_RUNTIME_TRACE_RATES_H

#include "runtime/trace/writer.h"
#include "sim/machine/observer.h"
#include "sim/machine/params.h"

typedef struct tg_rates tg_rates;

tg_rates *tg_rates_create(const tg_params *params);
void tg_rates_destroy(tg_rates *rates);
/* A cycle in which instructions of one unit overlap counts once. */
void tg_rates_instruction(tg_rates *rates, const tg_event *event);
void tg_rates_burst(tg_rates *rates, const tg_burst *burst);
/* As counters of process `pid`, for the steps that overlap cycles begin..end; a 0 at `end` closes each. Those to which nothing
 * was added are left out. */
void tg_rates_write(const tg_rates *rates, const tg_trace_format *format, tg_trace_writer *to, uint32_t pid,
                    uint64_t begin, uint64_t end);

#endif
