/* Small machine programs in text form, run by one engine, and what happened as text. */
#ifndef TEGULA_TESTS_SIM_SUPPORT_H
#define TEGULA_TESTS_SIM_SUPPORT_H

#include "sim/machine/engine.h"
#include "tests/harness.h"

/* Parses and checks; fails the test and returns NULL if that does not succeed. */
tg_program *tg_test_program(const char *text);

/* Where config_cycles is 0, as presets have it, it becomes what makes the first section's configuration 32 cycles and 16
 * for each instruction of its longest queue: what else its words are is no matter of cases that do not look at them. */
void tg_test_settle(tg_program *program);

/* Runs on zeroed memory without values, and prints one line an instruction executed, in the order of
 * tg_run_result.events: "tile 0 mx 0: 48-75\n", "agcu 1 context 2 0: 50-61\n" (number, pc: start-end), then
 * "cycles N\n". With a fault: its message. The program is settled before. The caller frees the text. */
char *tg_test_trace(const tg_engine *engine, const char *text, const tg_run_options *options);

#endif
