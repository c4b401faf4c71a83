/* LLVM: text of a kernel in, object code and then its address out. The text is explicit vector IR, so that no optimisation
 * pipeline is needed. What may be called by several threads at once says so. */
#ifndef TEGULA_FUNCTIONAL_JIT_H
#define TEGULA_FUNCTIONAL_JIT_H

#include "frontend/base/status.h"

/* Text under construction. Zeroed it is empty; release with free(text). */
typedef struct tg_text {
  char *text;
  size_t length, capacity;
} tg_text;
void tg_text_add(tg_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a kernel is named in its text. */
#define TG_KERNEL "kernel"

/* Bytes of an object file, to be released with free(bytes). */
typedef struct tg_object {
  void *bytes;
  size_t size;
} tg_object;
/* Object code of the module `text`, whose function @kernel gets the name `symbol`, for the host's processor; in any thread.
 * TG_FAULT if LLVM cannot run here or finds fault with the text. */
tg_status tg_jit_compile(const tg_text *text, const char *symbol, tg_object *out_object, tg_diag *diag);

/* An object in the process's memory. */
typedef struct tg_linked {
  void *address; /* of the symbol */
  void *memory;  /* LLVM's resource tracker */
} tg_linked;
/* Symbols differ between objects. One thread at a time links or unlinks. */
tg_status tg_jit_link(const tg_object *object, const char *symbol, tg_linked *out_linked, tg_diag *diag);
void tg_jit_unlink(tg_linked *linked);

/* What machine code depends on beside its text: LLVM's version and settings, the host's processor and its features; in
 * any thread. NULL where memory ends. Release with free. */
char *tg_jit_host(void);

/* FP32 lanes of the widest vector registers of the host, and how many registers there are. */
void tg_jit_host_vectors(unsigned *out_lanes, unsigned *out_registers);

#endif
