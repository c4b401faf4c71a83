/* The channels of a product's section: their banks, semaphores and credits. */
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"

#include <string.h>

static void plan_rooms(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                       tg_channel_plan plans[TG_GEMM_ROLES]) {
  int operands = g->epilogue_operand_count;
  bool makes_a = g->prologue.result && !g->prologue.of_b; /* then its vectors lie beside the operands */
  plans[TG_ROLE_A].room = (tg_room){tg_gemm_a_rows(m, g, t), tg_gemm_a_blocks(t)};
  if (g->prologue.result) {
    plans[TG_ROLE_PROLOGUE_INPUTS].room = (tg_room){tg_prologue_input_rows(m, g, t), 2};
    plans[TG_ROLE_SCALARS].room = (tg_room){tg_gemm_scalar_rows(m, g, t), 2};
    plans[TG_ROLE_PROLOGUE_OUTPUT].room = (tg_room){tg_prologue_output_rows(m, g, t), 2};
    plans[TG_ROLE_PROLOGUE_VECTORS].room = (tg_room){tg_gemm_prologue_once(m, g, t), 1};
  }
  if (g->keeps != TG_KEEPS_B) plans[TG_ROLE_B].room = (tg_room){tg_gemm_b_rows(m, g, t), tg_gemm_b_blocks(t)};
  plans[TG_ROLE_OUT].room = (tg_room){tg_gemm_out_rows(m, g, t), t->one_out ? 1 : 2};
  plans[TG_ROLE_COLUMN_SUMS].room = (tg_room){tg_gemm_column_sums_apart(m, g, t), 1};
  plans[TG_ROLE_RUNNING].room = (tg_room){tg_gemm_running_rows(m, g, t), 2};
  plans[TG_ROLE_RECEIVED].room = (tg_room){tg_gemm_received_rows(m, g, t), t->ring ? 1 : 2};
  plans[TG_ROLE_SENT].room = (tg_room){tg_gemm_sent_rows(m, g, t), 1};
  plans[TG_ROLE_WHOLE].room = (tg_room){2 * tg_gemm_whole_rows(m, g, t), 1};
  if (!makes_a)
    plans[TG_ROLE_OPERANDS_ONCE].room = (tg_room){tg_epilogue_operands_before(m, g, t, true, operands),
                                                  tg_gemm_has_resident_vectors(g, t) ? 1 : 2};
  plans[TG_ROLE_OPERANDS].room =
      (tg_room){tg_epilogue_operands_before(m, g, t, false, operands) + tg_gemm_pool_marks(g, t), 2};
  plans[TG_ROLE_SUMS].room = (tg_room){tg_gemm_sum_rows(m, g, t), 2};
  plans[TG_ROLE_SPARE].room = (tg_room){(uint64_t)tg_gemm_spare(m, g, t) * tg_bank_rows(m), 1};
  plans[TG_ROLE_ROUNDED].room = (tg_room){tg_gemm_rounded_rows(m, g, t), 1};
}

/* From AGCUs of both kinds, each of which has credits for so many buffers of each tile. */
static void plan_load(tg_channel_plan *plan, uint32_t buffers) {
  plan->full = 1;
  plan->west = plan->north = true;
  plan->credits = (uint8_t)buffers;
}

/* From one unit of a tile to another one. */
static void plan_between(tg_channel_plan *plan, uint32_t buffers) {
  plan->full = plan->free = 1;
  plan->initial = (uint8_t)buffers;
}

/* From tx to the memory of the AGCU that stores it, which asks for `buffers`. `arrives`: it has semaphores
 * there; else it arrives with another one. */
static void plan_away(tg_channel_plan *plan, uint32_t buffers, bool arrives) {
  plan->free = 1;
  plan->initial = (uint8_t)buffers;
  plan->west = plan->north = arrives;
}

static void plan_prologue(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                          tg_channel_plan plans[TG_GEMM_ROLES]) {
  plan_between(&plans[TG_ROLE_A], 2); /* for what the prologue makes of its input */
  plans[TG_ROLE_PROLOGUE_INPUTS].full = 1;
  plans[TG_ROLE_PROLOGUE_VECTORS].full = 1;
  plans[TG_ROLE_PROLOGUE_VECTORS].bases = (uint8_t)g->prologue.vector_count;
  plan_between(&plans[TG_ROLE_PROLOGUE_OUTPUT], 2);
  plan_away(&plans[TG_ROLE_PROLOGUE_AWAY], 2, true);
  plans[TG_ROLE_PROLOGUE_AWAY].bases = g->prologue.stored;
  if (!t->producers) return;
  plans[TG_ROLE_B].full = (uint16_t)t->producers;
  plan_between(&plans[TG_ROLE_MADE], t->made);
  plans[TG_ROLE_MADE_AROUND] =
      (tg_channel_plan){.free = (uint16_t)(m->rows + 1), .initial = (uint8_t)t->made, .by_position = true};
  plan_load(&plans[TG_ROLE_PROLOGUE_INPUTS], 2);
  plans[TG_ROLE_PROLOGUE_INPUTS].bases = (uint8_t)g->prologue.input_count; /* scalars are among them */
  if (!tg_gemm_prologue_scalars(g)) return;
  plan_load(&plans[TG_ROLE_SCALARS], 2);
  plans[TG_ROLE_SCALARS].north = false;
}

/* Of a group of members; a ring's members ask each other for room. */
static void plan_partials(const tg_gemm_tiling *t, tg_channel_plan plans[TG_GEMM_ROLES]) {
  plans[TG_ROLE_RECEIVED].full = 1;
  plans[TG_ROLE_SUMS].full = 1;
  plan_between(&plans[TG_ROLE_SENT], 1);
  if (!t->ring) return;
  plan_between(&plans[TG_ROLE_RECEIVED], 1);
  plan_between(&plans[TG_ROLE_WHOLE], 1);
  plans[TG_ROLE_WHOLE].free = (uint16_t)(t->members - 1);
}

static void plan_ends(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                      tg_channel_plan plans[TG_GEMM_ROLES]) {
  plan_load(&plans[TG_ROLE_A], tg_gemm_a_credits(g, t));
  if (!t->kept) plan_load(&plans[TG_ROLE_B], tg_gemm_b_blocks(t));
  plan_between(&plans[TG_ROLE_ACCUMULATOR], 2);
  plan_load(&plans[TG_ROLE_OPERANDS_ONCE], 2);
  plans[TG_ROLE_OPERANDS_ONCE].west = false;
  plan_load(&plans[TG_ROLE_OPERANDS], 2);
  plans[TG_ROLE_A].bases = 1;
  plans[TG_ROLE_B].bases = !t->producers && !t->kept;
  plans[TG_ROLE_OPERANDS].bases =
      (uint8_t)g->epilogue_operand_count; /* those that are loaded once are among them */
  plans[TG_ROLE_OPERANDS].bases += tg_gemm_pool_marks(g, t) > 0;
  if (tg_gemm_a_both_ways(m, g, t)) plans[TG_ROLE_A_NORTH].full = 1;
  if (g->prologue.result) plan_prologue(m, g, t, plans);
  if (t->members > 1) plan_partials(t, plans);
  plan_between(&plans[TG_ROLE_OUT], plans[TG_ROLE_OUT].room.copies);
  bool apart = g->prologue.result && g->column_sums.count; /* column sums have a buffer of their own */
  if (apart) plans[TG_ROLE_COLUMN_SUMS].free = plans[TG_ROLE_COLUMN_SUMS].initial = 1;
  for (int k = 0; k < g->outs + g->column_sums.count; k++)
    plan_away(&plans[TG_ROLE_AWAY + k], apart && k ? 1 : 2, k == 0 || k == g->outs);
  for (int k = 0; k < g->outs + g->column_sums.count; k++) plans[TG_ROLE_AWAY + k].bases = 1;
}

/* What it has for A and B, were it alone. */
static void plan_second(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                        tg_channel_plan plans[TG_GEMM_ROLES]) {
  const tg_gemm_tiling own = tg_gemm_second_tiling(t);
  tg_channel_plan alone[TG_GEMM_ROLES];
  tg_gemm_plan_channels(m, g->second, &own, alone);
  plans[TG_ROLE_SECOND_A] = alone[TG_ROLE_A];
  plans[TG_ROLE_SECOND_B] = alone[TG_ROLE_B];
  plans[TG_ROLE_SECOND_A_NORTH] = alone[TG_ROLE_A_NORTH];
}

void tg_gemm_plan_channels(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                           tg_channel_plan plans[TG_GEMM_ROLES]) {
  memset(plans, 0, TG_GEMM_ROLES * sizeof *plans);
  plan_rooms(m, g, t, plans);
  plan_ends(m, g, t, plans);
  if (g->second) plan_second(m, g, t, plans);
}

/* The order of their numbers. */
static const tg_channel_end ends[] = {
    {TG_ROLE_A, TG_END_FULL},
    {TG_ROLE_B, TG_END_FULL},
    {TG_ROLE_MADE, TG_END_FULL | TG_END_FREE},
    {TG_ROLE_MADE_AROUND, TG_END_FREE},
    {TG_ROLE_PROLOGUE_INPUTS, TG_END_AGCU},
    {TG_ROLE_SCALARS, TG_END_FULL | TG_END_AGCU},
    {TG_ROLE_ACCUMULATOR, TG_END_FULL | TG_END_FREE},
    {TG_ROLE_OPERANDS_ONCE, TG_END_FULL},
    {TG_ROLE_OPERANDS, TG_END_FULL},
    {TG_ROLE_A, TG_END_AGCU},
    {TG_ROLE_B, TG_END_AGCU},
    {TG_ROLE_OPERANDS_ONCE, TG_END_AGCU},
    {TG_ROLE_OPERANDS, TG_END_AGCU},
    {TG_ROLE_A_NORTH, TG_END_FULL},
    {TG_ROLE_PROLOGUE_INPUTS, TG_END_FULL},
    {TG_ROLE_A, TG_END_FREE},
    {TG_ROLE_PROLOGUE_VECTORS, TG_END_FULL},
    {TG_ROLE_PROLOGUE_OUTPUT, TG_END_FULL | TG_END_FREE},
    {TG_ROLE_PROLOGUE_AWAY, TG_END_FREE | TG_END_AGCU},
    {TG_ROLE_RECEIVED, TG_END_FULL},
    {TG_ROLE_SUMS, TG_END_FULL},
    {TG_ROLE_SENT, TG_END_FULL | TG_END_FREE},
    {TG_ROLE_RECEIVED, TG_END_FREE},
    {TG_ROLE_WHOLE, TG_END_FULL | TG_END_FREE},
    {TG_ROLE_OUT, TG_END_FULL | TG_END_FREE},
    {TG_ROLE_AWAY, TG_END_FREE},
    {TG_ROLE_COLUMN_SUMS, TG_END_FREE},
    {TG_ROLE_SECOND_A, TG_END_FULL | TG_END_AGCU},
    {TG_ROLE_SECOND_B, TG_END_FULL | TG_END_AGCU},
    {TG_ROLE_SECOND_A_NORTH, TG_END_FULL},
};

void tg_gemm_open_channels(tg_build *b, const tg_channel_plan plans[TG_GEMM_ROLES],
                           tg_channel channels[TG_GEMM_ROLES]) {
  tg_channels_open(b, plans, ends, (int)(sizeof ends / sizeof *ends), channels);
  for (int away = TG_ROLE_AWAY + 1; away < TG_GEMM_ROLES; away++)
    tg_channels_open(b, plans, &(tg_channel_end){(uint8_t)away, TG_END_FREE}, 1, channels);
  for (int away = TG_ROLE_AWAY; away < TG_GEMM_ROLES; away++)
    tg_channels_open(b, plans, &(tg_channel_end){(uint8_t)away, TG_END_AGCU}, 1, channels);
}
