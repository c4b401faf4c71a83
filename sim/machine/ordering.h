/* Proof, without running time or values, that semaphores order every two conflicting accesses of a
 * section. */
#ifndef TEGULA_MACHINE_ORDERING_H
#define TEGULA_MACHINE_ORDERING_H

#include "sim/machine/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks every section of a program that tg_program_check accepts. TG_OK: in no timing can a section
 * deadlock, leave a message unawaited, touch a row out of range, have two units at one scratchpad bank,
 * accumulator half or row of a store memory at once, have a STORE and another context's LOAD or STORE at one
 * byte of device memory at once, for any base table that the section is invoked with, or begin a GEMM whose
 * accumulator rows overlap in part those of the one in flight. TG_MISMATCH: one line naming section,
 * endpoint, bank (or byte and tensor) and the two units with pc and loop indices (or the semaphore).
 * TG_INVALID: the section is too long to be proved.
 *
 * Conservative: two units conflict at a bank even if both read it, or if their flits come by the same lane;
 * of several posters to one semaphore a waiter knows only what the totals of the section leave, so give each
 * its own. Counts above 255 from several posters are found in one order of execution only. */
tg_status tg_check_ordering(const tg_program *program, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
