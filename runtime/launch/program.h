/* Other people's programs: what they print. */
#ifndef TEGULA_RUNTIME_LAUNCH_PROGRAM_H
#define TEGULA_RUNTIME_LAUNCH_PROGRAM_H

#include "frontend/base/status.h"
#include "runtime/words.h"

/* Runs `words`, the first found in PATH, without input, and waits. *out_text: what it printed, on the arena.
 * TG_INVALID "PROGRAM: ...": it cannot be run, or ended with another status than 0; then the last line that it wrote to
 * stderr is said. */
tg_status tg_program_output(tg_arena *arena, const tg_words *words, const char **out_text, tg_diag *diag);

#endif
