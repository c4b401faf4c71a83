/* The layout of a tile's scratchpad: every buffer, in the order of banks. */
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"

#include <string.h>

void tg_gemm_lay_out(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                     tg_room rooms[TG_GEMM_ROLES]) {
  int operands = g->epilogue_operand_count;
  bool makes_a = g->prologue.result && !g->prologue.of_b; /* then its vectors lie beside the operands */
  memset(rooms, 0, TG_GEMM_ROLES * sizeof *rooms);
  rooms[TG_ROLE_A] = (tg_room){tg_gemm_a_rows(m, g, t), tg_gemm_a_blocks(t)};
  if (g->prologue.result) {
    rooms[TG_ROLE_PROLOGUE_INPUTS] = (tg_room){tg_prologue_input_rows(m, g, t), 2};
    rooms[TG_ROLE_SCALARS] = (tg_room){tg_gemm_scalar_rows(m, g, t), 2};
    rooms[TG_ROLE_PROLOGUE_OUTPUT] = (tg_room){tg_prologue_output_rows(m, g, t), 2};
    rooms[TG_ROLE_PROLOGUE_VECTORS] = (tg_room){tg_gemm_prologue_once(m, g, t), 1};
  }
  rooms[TG_ROLE_B] = (tg_room){tg_gemm_b_rows(m, g, t), tg_gemm_b_blocks(t)};
  rooms[TG_ROLE_OUT] = (tg_room){tg_gemm_out_rows(m, g, t), t->one_out ? 1 : 2};
  rooms[TG_ROLE_COLUMN_SUMS] = (tg_room){tg_gemm_column_sums_apart(m, g, t), 1};
  rooms[TG_ROLE_RUNNING] = (tg_room){tg_gemm_running_rows(m, g, t), 2};
  rooms[TG_ROLE_RECEIVED] = (tg_room){tg_gemm_received_rows(m, g, t), t->ring ? 1 : 2};
  rooms[TG_ROLE_SENT] = (tg_room){tg_gemm_sent_rows(m, g, t), 1};
  rooms[TG_ROLE_WHOLE] = (tg_room){2 * tg_gemm_whole_rows(m, g, t), 1};
  if (!makes_a)
    rooms[TG_ROLE_OPERANDS_ONCE] = (tg_room){tg_epilogue_operands_before(m, g, t, true, operands),
                                             tg_gemm_has_resident_vectors(g, t) ? 1 : 2};
  rooms[TG_ROLE_OPERANDS] = (tg_room){tg_epilogue_operands_before(m, g, t, false, operands), 2};
  rooms[TG_ROLE_SUMS] = (tg_room){tg_gemm_sum_rows(m, g, t), 2};
  rooms[TG_ROLE_SPARE] = (tg_room){(uint64_t)tg_gemm_spare(m, g, t) * tg_bank_rows(m), 1};
  rooms[TG_ROLE_ROUNDED] = (tg_room){tg_gemm_rounded_rows(m, g, t), 1};
}
