/* LLVM: text of a module in, machine code out. The text is explicit vector IR, so that no optimisation
 * pipeline is needed. */
#ifndef TEGULA_FUNCTIONAL_JIT_H
#define TEGULA_FUNCTIONAL_JIT_H

#include "frontend/base/status.h"

/* Text under construction. Zeroed it is empty; release with free(text). */
typedef struct tg_text {
  char *text;
  size_t length, capacity;
} tg_text;
void tg_text_add(tg_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct tg_jit tg_jit;
/* Code for the host's processor. TG_FAULT if LLVM cannot run here. */
tg_status tg_jit_create(tg_jit **out_jit, tg_diag *diag);
void tg_jit_destroy(tg_jit *jit); /* NULL is allowed; functions die with it */
/* Compiles a module; its functions can be looked up then. */
tg_status tg_jit_add(tg_jit *jit, const tg_text *module, tg_diag *diag);
tg_status tg_jit_lookup(tg_jit *jit, const char *name, void **out_function, tg_diag *diag);

/* FP32 lanes of the widest vector registers of the host, and how many registers there are. */
void tg_jit_host_vectors(unsigned *out_lanes, unsigned *out_registers);

#endif
