/* The functional engine: values without time. tg_engine_functional (engine.h) runs native kernels; this one
 * runs the plain C reference, as the arbiter. */
#ifndef TEGULA_FUNCTIONAL_FUNCTIONAL_H
#define TEGULA_FUNCTIONAL_FUNCTIONAL_H

#include "sim/machine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const tg_engine tg_engine_reference;

#ifdef __cplusplus
}
#endif
#endif
