/* Contents of scratchpads from section to section: what one keeps and reads, an earlier one has written. */
#include "sim/machine/ordering_state.h"

#include <stdlib.h>

/* Of the banks of a tile, those that hold what a section before has left, while all since then have kept them. */
static tg_status check_invocation(const tg_program *program, uint32_t number, const tg_bank_use *use,
                                  uint32_t *held, tg_diag *diag) {
  const tg_invocation *invocation = &program->invocations[number];
  const tg_section *section = &program->sections[invocation->section];
  uint32_t tiles = tg_tiles(&program->params);
  for (uint32_t t = 0; t < tiles; t++) {
    const tg_bank_use *of = &use[(size_t)invocation->section * tiles + t];
    uint32_t missing = of->read & section->kept & ~held[t];
    if (missing) {
      tg_fail(diag, TG_MISMATCH,
              "tile %u, bank %d: the section reads what it keeps, but no section before it has left anything "
              "there",
              t, __builtin_ctz(missing));
      tg_diag_prefix(diag, "invocation %u \"%s\"", number, invocation->name);
      return TG_MISMATCH;
    }
    held[t] = (held[t] & section->kept) | of->written;
  }
  return TG_OK;
}

tg_status tg_order_kept(const tg_program *program, const tg_bank_use *use, tg_diag *diag) {
  uint32_t *held = calloc(tg_tiles(&program->params), sizeof *held);
  if (!held) return tg_fail(diag, TG_INVALID, "out of memory");
  tg_status status = TG_OK;
  for (uint32_t i = 0; i < program->invocation_count && !status; i++)
    status = check_invocation(program, i, use, held, diag);
  free(held);
  return status;
}
