/* What holds of every program that was accepted, whichever way it came. */
#ifndef TEGULA_TESTS_FUZZ_PROGRAM_CHECKS_H
#define TEGULA_TESTS_FUZZ_PROGRAM_CHECKS_H

#include "sim/machine/program.h"
#include "tests/fuzz/fuzz.h"

/* Prints and parses it, asks for the proof of ordering, and runs it where that is soon done. */
void check_program(const tg_program *program);

#endif
