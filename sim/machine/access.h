/* What memory an execution touches: rows of the scratchpad, the accumulator, the store memory, and of its
 * destinations (docs/machine.md, sections 3 to 7). */
#ifndef TEGULA_MACHINE_ACCESS_H
#define TEGULA_MACHINE_ACCESS_H

#include "sim/machine/sequencer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_memory {
  TG_MEM_PAD,
  TG_MEM_ACC,
  TG_MEM_STORE,   /* of the own AGCU */
  TG_MEM_INDEX,   /* of the own AGCU: words of 32 bits in place of rows */
  TG_MEM_ARRIVAL, /* in every destination of dst_mask: store memory at position 0, else the scratchpad */
} tg_memory;

/* Rows of one operand relative to its address: the same for every execution of an instruction. Of indices, words. */
typedef struct tg_access {
  tg_memory memory;
  uint8_t operand;       /* place in tg_execution.address */
  int64_t low, high;     /* exact smallest and largest row */
  uint32_t destinations; /* ARRIVAL: dst_mask */
  const char *name;      /* "operand a" */
} tg_access;

typedef struct tg_accesses {
  uint32_t count;
  tg_access access[TG_OPERANDS];
} tg_accesses;

/* Streams that no word uses, and those of no rows, have no access. `tile` is needed for a VOP (microcode). */
void tg_instr_accesses(const tg_params *params, const tg_tile_program *tile, tg_unit unit,
                       const tg_instr *instr, tg_accesses *out);

/* Whether this execution's rows lie in their memories; TG_FAULT names the operand and the row. */
tg_status tg_accesses_check(const tg_params *params, const tg_accesses *accesses,
                            const tg_execution *execution, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
