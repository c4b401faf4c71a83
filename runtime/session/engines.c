#include "runtime/session/engines.h"

#include <string.h>

static const tg_engine *const engines[] = {
#ifdef TEGULA_HAS_FUNCTIONAL
    &tg_engine_functional,
#endif
#ifdef TEGULA_HAS_SYSTEMC
    &tg_engine_systemc,
#endif
#ifdef TEGULA_HAS_RTL
    &tg_engine_rtl,
#endif
    NULL,
};

tg_status tg_engine_find(const char *name, const tg_engine **out_engine, tg_diag *diag) {
  for (int i = 0; engines[i]; i++)
    if (!strcmp(engines[i]->name, name)) {
      *out_engine = engines[i];
      return TG_OK;
    }
  return tg_fail(diag, TG_INVALID, "engine \"%s\": this build has no such engine", name);
}
