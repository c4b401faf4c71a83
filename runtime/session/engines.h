/* The engines of this build, by name. */
#ifndef TEGULA_RUNTIME_SESSION_ENGINES_H
#define TEGULA_RUNTIME_SESSION_ENGINES_H

#include "sim/machine/engine.h"

/* TG_INVALID: there is none of that name in this build. */
tg_status tg_engine_find(const char *name, const tg_engine **out_engine, tg_diag *diag);

#endif
