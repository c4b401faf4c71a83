/* Random GEMM and VOP instructions for comparisons of kernels: programs of one section whose tile 0 holds
 * them. */
#ifndef TEGULA_TESTS_SIM_KERNEL_CASES_H
#define TEGULA_TESTS_SIM_KERNEL_CASES_H

#include "sim/functional/exec.h"

typedef struct kernel_random {
  uint64_t state;
} kernel_random;
uint32_t kernel_random_bits(kernel_random *r);
uint32_t kernel_random_below(kernel_random *r, uint32_t bound);

/* A machine with PEs of P x P and room for the cases; an empty program with one section and one
 * invocation. */
tg_program *kernel_program(uint32_t p);
/* Adds an instruction whose addresses are in range. `style` bits ask for features. */
enum { KERNEL_SR = 1, KERNEL_TRANSPOSED = 2 };
void kernel_add_gemm(tg_program *program, kernel_random *r, int format, unsigned style);
void kernel_add_vop(tg_program *program, kernel_random *r);
/* Fills scratchpad and accumulators of tile 0: any bits, or ordinary numbers of the format. */
void kernel_fill(tg_machine_state *state, kernel_random *r, int format, bool any_bits);

#endif
