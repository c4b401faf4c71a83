/* Address ranges of an execution. */
#include "sim/functional/exec.h"
#include "sim/machine/access.h"

tg_status tg_exec_check(const tg_machine_state *state, uint32_t endpoint, tg_unit unit, const tg_execution *x,
                        tg_diag *diag) {
  const tg_params *m = &state->params;
  const tg_tile_program *tile = endpoint < tg_tiles(m) ? &state->section->tiles[endpoint] : NULL;
  tg_accesses accesses;
  tg_instr_accesses(m, tile, unit, x->in, &accesses);
  return tg_accesses_check(m, &accesses, x, diag);
}
