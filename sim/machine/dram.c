#include "sim/machine/dram.h"

#include "sim/machine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Anonymous pages are zero and cost nothing until they are touched, so large address spaces are cheap. */
tg_status tg_dram_create(const tg_program *program, tg_dram **out_dram, tg_diag *diag) {
  size_t size = program->dram_bytes ? program->dram_bytes : 64;
  void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED)
    return tg_fail(diag, TG_INVALID, "the device memory of %llu bytes does not fit on this host",
                   (unsigned long long)size);
  tg_dram *dram = calloc(1, sizeof *dram);
  if (!dram) tg_die("out of memory");
  dram->bytes = bytes;
  dram->size = size;
  for (uint32_t t = 0; t < program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &program->tensors[t];
    if (tensor->data) memcpy(dram->bytes + tensor->address, tensor->data, tensor->bytes);
  }
  *out_dram = dram;
  return TG_OK;
}

void tg_dram_destroy(tg_dram *dram) {
  if (!dram) return;
  munmap(dram->bytes, dram->size);
  free(dram);
}

void tg_run_result_release(tg_run_result *result) {
  free(result->sections);
  free(result->events);
  *result = (tg_run_result){0};
}
