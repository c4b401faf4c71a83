/* Address ranges of an execution. */
#include "sim/functional/exec.h"

tg_status tg_exec_accesses(const tg_machine_state *state, uint32_t endpoint, tg_unit unit,
                           const tg_execution *x, tg_accesses *out_accesses, tg_diag *diag) {
  const tg_params *m = &state->params;
  const tg_tile_program *tile = endpoint < tg_tiles(m) ? &state->section->tiles[endpoint] : NULL;
  tg_instr_accesses(m, tile, unit, x->in, out_accesses);
  return tg_accesses_check(m, out_accesses, x, diag);
}

tg_status tg_exec_check(const tg_machine_state *state, uint32_t endpoint, tg_unit unit, const tg_execution *x,
                        tg_diag *diag) {
  tg_accesses accesses;
  return tg_exec_accesses(state, endpoint, unit, x, &accesses, diag);
}
