#include "runtime/tegula.h"

const char *tg_version(void) { return TEGULA_VERSION; }
