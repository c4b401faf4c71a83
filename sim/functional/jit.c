#include "sim/functional/jit.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What code is made with; its text and the host aside, nothing else decides. */
static const LLVMCodeGenOptLevel level = LLVMCodeGenLevelDefault;
static const LLVMRelocMode relocation = LLVMRelocPIC;
static const LLVMCodeModel model = LLVMCodeModelSmall;

static void initialise(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
}

/* The host's target; NULL if LLVM has none. */
static LLVMTargetRef host_target(const char *triple) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialise);
  char *message = NULL;
  LLVMTargetRef target = NULL;
  if (LLVMGetTargetFromTriple(triple, &target, &message)) LLVMDisposeMessage(message);
  return target;
}

/* NULL: none, as `diag` says. */
static LLVMTargetMachineRef host_machine(tg_diag *diag) {
  errno = 0;
  char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName(),
       *features = LLVMGetHostCPUFeatures();
  LLVMTargetRef target = host_target(triple);
  LLVMTargetMachineRef machine =
      target ? LLVMCreateTargetMachine(target, triple, cpu, features, level, relocation, model) : NULL;
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(cpu);
  if (!machine && errno == ENOMEM) tg_die("out of memory for a code generator");
  if (!machine) tg_fail(diag, TG_FAULT, "LLVM has no code generator for this host");
  LLVMDisposeMessage(features);
  return machine;
}

char *tg_jit_host(void) {
  char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures(), *host = NULL;
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  if (asprintf(&host, "%u.%u.%u %d %d %d %s %s", major, minor, patch, (int)level, (int)relocation, (int)model,
               cpu, features) < 0)
    host = NULL;
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  return host;
}

static tg_status emit(LLVMTargetMachineRef machine, LLVMModuleRef module, tg_object *out_object,
                      tg_diag *diag) {
  char *message = NULL;
  LLVMMemoryBufferRef object;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object)) {
    tg_fail(diag, TG_FAULT, "LLVM: %s", message);
    LLVMDisposeMessage(message);
    return TG_FAULT;
  }
  out_object->size = LLVMGetBufferSize(object);
  out_object->bytes = malloc(out_object->size);
  if (!out_object->bytes) tg_die("out of memory for generated code");
  memcpy(out_object->bytes, LLVMGetBufferStart(object), out_object->size);
  LLVMDisposeMemoryBuffer(object);
  return TG_OK;
}

tg_status tg_jit_compile(const tg_text *text, const char *symbol, tg_object *out_object, tg_diag *diag) {
  *out_object = (tg_object){0};
  LLVMTargetMachineRef machine = host_machine(diag);
  if (!machine) return TG_FAULT;
  LLVMContextRef context = LLVMContextCreate();
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text->text, text->length, "kernel");
  LLVMModuleRef module = NULL;
  char *message = NULL;
  tg_status status = TG_OK;
  if (LLVMParseIRInContext(context, buffer, &module, &message)) {
    status = tg_fail(diag, TG_FAULT, "LLVM: %s", message);
    LLVMDisposeMessage(message);
  } else {
    LLVMSetValueName2(LLVMGetNamedFunction(module, TG_KERNEL), symbol, strlen(symbol));
    status = emit(machine, module, out_object, diag);
    LLVMDisposeModule(module);
  }
  LLVMContextDispose(context);
  LLVMDisposeTargetMachine(machine);
  return status;
}

/* One for the process, made when the first object is linked. */
static LLVMOrcLLJITRef linker;

static tg_status make_linker(tg_diag *diag) {
  LLVMTargetMachineRef machine = host_machine(diag);
  if (!machine) return TG_FAULT;
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
      builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine));
  LLVMOrcLLJITRef lljit;
  tg_status status = failed(LLVMOrcCreateLLJIT(&lljit, builder), diag);
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
  linker = lljit;
  return TG_OK;
}

tg_status tg_jit_link(const tg_object *object, const char *symbol, tg_linked *out_linked, tg_diag *diag) {
  tg_status status = linker ? TG_OK : make_linker(diag);
  if (status) return status;
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object->bytes, object->size, symbol);
  LLVMOrcResourceTrackerRef memory =
      LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(linker));
  status = failed(LLVMOrcLLJITAddObjectFileWithRT(linker, memory, buffer), diag);
  LLVMOrcExecutorAddress address = 0;
  if (!status) status = failed(LLVMOrcLLJITLookup(linker, &address, symbol), diag);
  *out_linked = (tg_linked){.address = (void *)(uintptr_t)address, .memory = memory};
  if (status) tg_jit_unlink(out_linked);
  return status;
}

void tg_jit_unlink(tg_linked *linked) {
  failed(LLVMOrcResourceTrackerRemove(linked->memory), NULL);
  LLVMOrcReleaseResourceTracker(linked->memory);
  *linked = (tg_linked){0};
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
