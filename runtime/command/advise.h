/* What would make a run faster, tried out. */
#ifndef TEGULA_RUNTIME_COMMAND_ADVISE_H
#define TEGULA_RUNTIME_COMMAND_ADVISE_H

#include "runtime/command/command.h"

/* Compiles the operand again with one thing changed at a time (advice.def), runs its cycles, and returns the changes that
 * gain most, at most three of 1 % and more: [{"change", "gain", "cycles", "sections": [{"name", "cycles", "then"}],
 * "text"}]. gain: in throughput. `base` has run with cycles. A new reference. */
json_t *tg_advise(tg_context *context, const tg_session *base);

#endif
