/* What the tests of the command share. */
#ifndef TEGULA_TESTS_RUNTIME_COMMAND_SUPPORT_H
#define TEGULA_TESTS_RUNTIME_COMMAND_SUPPORT_H

#include "tests/command.h"

#include <jansson.h>
#include <stdbool.h>

/* Files in the tests' folder whose names begin with no point; whether one of a name is there. */
int files_here(void);
bool made(const char *name);
/* Makes gemm.onnx, gemm.tgb (for tiny) and mlp.onnx, unless they are there. */
void small_models(void);
/* The cycles of a report that a command printed as JSON. */
long long cycles_of(const outcome *o);
/* A number of an object. */
double field(const json_t *object, const char *name);
/* The row of a sweep under a policy and an accumulation, or NULL. */
const json_t *row_of(const json_t *rows, const char *policy, const char *accumulation);

#endif
