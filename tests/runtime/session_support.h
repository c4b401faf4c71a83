/* Sessions on models of the zoo, for the tests of the public interface. */
#ifndef TEGULA_TESTS_RUNTIME_SESSION_SUPPORT_H
#define TEGULA_TESTS_RUNTIME_SESSION_SUPPORT_H

#include "runtime/tegula.h"
#include "runtime/zoo.h"

static const tg_compile_options tiny = {.arch = "tiny", .seed = 1};

/* The path of a model in the tests' folder, on the arena. */
const char *zoo_file(tg_arena *arena, const char *name, const tg_zoo_options *options);
/* A compiled product of 9 x 5 by 5 x 7, which the caller closes. */
tg_session *small_gemm(tg_arena *arena);

#endif
