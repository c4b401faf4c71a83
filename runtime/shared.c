/* The shared library is made of the static ones; a library needs one source of its own. */
#include "runtime/tegula.h"
