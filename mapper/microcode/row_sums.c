#include "mapper/microcode/row_sums.h"

void tg_row_begin(tg_mc *mc, const tg_mc_ref *partial, int registers, tg_mc_ref zero) {
  for (int i = 0; i < registers; i++) tg_mc_assign(mc, partial[i], TG_ALU_mov, zero, TG_MC_NONE, TG_MC_NONE);
}

/* `sum` is what partial[0] becomes with the vector at hand; it is the youngest then. */
static void row_next(tg_mc *mc, const tg_mc_ref *partial, int registers, tg_mc_ref sum) {
  for (int i = 0; i + 1 < registers; i++)
    tg_mc_assign(mc, partial[i], TG_ALU_mov, partial[i + 1], TG_MC_NONE, TG_MC_NONE);
  tg_mc_assign(mc, partial[registers - 1], TG_ALU_mov, sum, TG_MC_NONE, TG_MC_NONE);
}

tg_mc_ref tg_row_end(tg_mc *mc, tg_alu alu, tg_mc_ref *partial, int registers, int lanes) {
  for (int apart = registers / 2; apart >= 1; apart /= 2)
    for (int i = 0; i < apart; i++)
      partial[i] = tg_mc_alu(mc, alu, partial[i], partial[i + apart], TG_MC_NONE);
  tg_mc_ref sum = partial[0];
  for (int apart = lanes / 2; apart >= 1; apart /= 2)
    sum = tg_mc_alu(mc, alu, sum, tg_mc_alu_imm(mc, TG_ALU_rot, sum, TG_MC_NONE, apart), TG_MC_NONE);
  return sum;
}

void tg_row_sums_begin(tg_row_sums *s, tg_mc_ref identity) {
  for (int i = 0; i < s->registers; i++) s->partial[i] = tg_mc_new(s->mc);
  tg_row_begin(s->mc, s->partial, s->registers, identity);
}

void tg_row_sums_add(tg_row_sums *s, int u, tg_alu alu, tg_mc_ref a, tg_mc_ref b, tg_mc_ref c) {
  tg_mc *mc = s->mc;
  bool own = s->unroll == s->registers;
  if (own && !s->ragged) {
    tg_mc_assign(mc, s->partial[u], alu, a, b, c);
    return;
  }
  tg_mc_ref next = tg_mc_alu(mc, alu, a, b, c);
  if (s->ragged) next = tg_mc_alu_imm(mc, TG_ALU_tail, next, s->partial[u], u);
  if (own)
    tg_mc_assign(mc, s->partial[u], TG_ALU_mov, next, TG_MC_NONE, TG_MC_NONE);
  else
    row_next(mc, s->partial, s->registers, next);
}

tg_mc_ref tg_row_sums_end(const tg_row_sums *s, int lanes) {
  tg_mc_ref tree[TG_ROW_PARTIALS];
  for (int i = 0; i < s->registers; i++) tree[i] = s->partial[i];
  return tg_row_end(s->mc, s->alu, tree, s->registers, lanes);
}
