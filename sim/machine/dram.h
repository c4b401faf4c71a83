/* The memory behind the AGCUs: one flat byte space, the same object for every engine. */
#ifndef TEGULA_MACHINE_DRAM_H
#define TEGULA_MACHINE_DRAM_H

#include "sim/machine/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_dram {
  uint8_t *bytes;
  uint64_t size;
  uint64_t read, written; /* bytes of atoms moved, for the report */
} tg_dram;

/* Memory for a program with its constants loaded and the rest zero. */
tg_status tg_dram_create(const tg_program *program, tg_dram **out_dram, tg_diag *diag);
void tg_dram_destroy(tg_dram *dram);

#ifdef __cplusplus
}
#endif
#endif
