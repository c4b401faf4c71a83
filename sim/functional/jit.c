#include "sim/functional/jit.h"

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tg_jit {
  LLVMOrcLLJITRef lljit;
};

void tg_text_add(tg_text *t, const char *format, ...) {
  for (;;) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->text ? t->text + t->length : NULL, t->capacity - t->length, format, args);
    va_end(args);
    if (t->length + (size_t)n < t->capacity) {
      t->length += (size_t)n;
      return;
    }
    t->capacity = 2 * t->capacity + (size_t)n + 4096;
    t->text = realloc(t->text, t->capacity);
    if (!t->text) tg_die("out of memory for generated code");
  }
}

static tg_status failed(LLVMErrorRef error, tg_diag *diag) {
  if (!error) return TG_OK;
  char *message = LLVMGetErrorMessage(error);
  tg_fail(diag, TG_FAULT, "LLVM: %s", message);
  LLVMDisposeErrorMessage(message);
  return TG_FAULT;
}

tg_status tg_jit_create(tg_jit **out_jit, tg_diag *diag) {
  *out_jit = NULL;
  if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter())
    return tg_fail(diag, TG_FAULT, "LLVM has no code generator for this host");
  LLVMOrcJITTargetMachineBuilderRef host;
  tg_status status = failed(LLVMOrcJITTargetMachineBuilderDetectHost(&host), diag);
  if (status) return status;
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, host);
  LLVMOrcLLJITRef lljit;
  status = failed(LLVMOrcCreateLLJIT(&lljit, builder), diag);
  if (status) return status;
  LLVMOrcDefinitionGeneratorRef process; /* fmaf and the like on hosts without the instruction */
  status = failed(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                      &process, LLVMOrcLLJITGetGlobalPrefix(lljit), NULL, NULL),
                  diag);
  if (status) {
    failed(LLVMOrcDisposeLLJIT(lljit), NULL);
    return status;
  }
  LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(lljit), process);
  *out_jit = calloc(1, sizeof **out_jit);
  if (!*out_jit) tg_die("out of memory");
  (*out_jit)->lljit = lljit;
  return TG_OK;
}

void tg_jit_destroy(tg_jit *jit) {
  if (!jit) return;
  failed(LLVMOrcDisposeLLJIT(jit->lljit), NULL);
  free(jit);
}

tg_status tg_jit_add(tg_jit *jit, const tg_text *module, tg_diag *diag) {
  LLVMOrcThreadSafeContextRef shared = LLVMOrcCreateNewThreadSafeContext();
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(module->text, module->length, "kernels");
  LLVMModuleRef parsed;
  char *message = NULL;
  if (LLVMParseIRInContext(LLVMOrcThreadSafeContextGetContext(shared), buffer, &parsed, &message)) {
    tg_fail(diag, TG_FAULT, "LLVM: %s", message);
    LLVMDisposeMessage(message);
    LLVMOrcDisposeThreadSafeContext(shared);
    return TG_FAULT;
  }
  LLVMOrcThreadSafeModuleRef owned = LLVMOrcCreateNewThreadSafeModule(parsed, shared);
  LLVMOrcDisposeThreadSafeContext(shared); /* the module holds it */
  return failed(LLVMOrcLLJITAddLLVMIRModule(jit->lljit, LLVMOrcLLJITGetMainJITDylib(jit->lljit), owned),
                diag);
}

tg_status tg_jit_lookup(tg_jit *jit, const char *name, void **out_function, tg_diag *diag) {
  LLVMOrcExecutorAddress address = 0;
  tg_status status = failed(LLVMOrcLLJITLookup(jit->lljit, &address, name), diag);
  *out_function = (void *)(uintptr_t)address;
  return status;
}

void tg_jit_host_vectors(unsigned *out_lanes, unsigned *out_registers) {
  *out_lanes = 4;
  *out_registers = 16;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    *out_lanes = 16;
    *out_registers = 32;
  } else if (__builtin_cpu_supports("avx2"))
    *out_lanes = 8;
#elif defined(__aarch64__)
  *out_registers = 32;
#endif
}
