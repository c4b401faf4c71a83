/* The stages of attention by blocks, and how long each takes for a block of rows and a block of keys. */
#include "frontend/base/math.h"
#include "mapper/attention/blocked.h"
#include "mapper/attention/parts.h"
#include "mapper/gemm/layout.h"

double tg_blocked_out_cycles(const tg_params *m, const tg_blocked *a) {
  return tg_attention_port_cycles(m, &a->out, a->grid.rows, a->out.columns);
}

double tg_blocked_operands_cycles(const tg_params *m, const tg_blocked *a) {
  double cycles = 0;
  for (int x = 0; x < a->operand_count; x++)
    cycles += tg_attention_port_cycles(m, &a->operand[x], a->operand[x].rows == 1 ? 1 : a->grid.rows,
                                       tg_blocked_operand_take(a, x));
  return cycles;
}

typedef struct list {
  const tg_params *m;
  const tg_blocked *a;
  tg_stages *out;
} list;

/* A block of keys or values, which lie by keys, or across. */
static double block_cycles(const list *s, const tg_matrices *x, bool by_keys) {
  return by_keys ? tg_attention_port_cycles(s->m, x, s->a->block, x->columns)
                 : tg_attention_port_cycles(s->m, x, (double)x->rows, s->a->block);
}

/* LOADs that fill buffers of a channel, of which those of a tile come together. */
static void add_load(const list *s, tg_seat side, tg_blocked_stage kind, tg_blocked_role fills,
                     uint8_t context, uint8_t nest, bool innermost, uint32_t slots, double cycles) {
  tg_stage load = {.kind = (uint8_t)kind,
                   .seat = (uint8_t)side,
                   .context = context,
                   .rate = innermost ? TG_RATE_STEP : TG_RATE_PASS,
                   .nest = nest,
                   .slots = slots,
                   .cycles = cycles};
  tg_stage_join(
      &load, (tg_join){.channel = (uint8_t)fills, .fills = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS});
  tg_stages_add(s->out, &load);
}

static void add_loads(const list *s, tg_seat side) {
  const tg_params *m = s->m;
  const tg_blocked *a = s->a;
  bool multiplies = tg_blocked_multiplies(a);
  uint32_t longest = (uint32_t)tg_max(m->rows, m->cols);
  tg_attention_loads tiles = tg_attention_loads_of(m, &a->grid, side);
  if (multiplies) {
    add_load(s, side, TG_BLOCKED_LOAD_QUERIES, TG_BLOCKED_QUERIES, TG_CTX_LOAD, TG_BLOCKED_NEST_KEYS, false,
             longest, tiles.own * tg_attention_port_cycles(m, &a->q, a->grid.rows, a->q.columns) / a->blocks);
    add_load(s, side, TG_BLOCKED_LOAD_KEYS, TG_BLOCKED_KEYS, TG_CTX_LOAD, TG_BLOCKED_NEST_KEYS, true, longest,
             tiles.shared * block_cycles(s, &a->k, a->scores.b_transposed));
  }
  add_load(s, side, TG_BLOCKED_LOAD_VALUES, TG_BLOCKED_VALUES, TG_CTX_AUX, TG_BLOCKED_NEST_VALUES, true,
           longest, tiles.shared * block_cycles(s, &a->v, !a->context.b_transposed));
  if (a->operand_count)
    add_load(s, side, TG_BLOCKED_LOAD_OPERANDS, TG_BLOCKED_OPERANDS_ALL, tg_blocked_operands_context(a),
             TG_BLOCKED_NEST_OPERANDS, true, longest * (uint32_t)a->operand_count,
             tiles.own * tg_blocked_operands_cycles(m, a));
  tg_stage results =
      tg_attention_results_stage(m, side, TG_BLOCKED_STORE, tg_blocked_out_cycles(m, a) / a->blocks);
  tg_stages_add(s->out, &results);
}

static void add_units(const list *s) {
  enum { PRODUCTS = 24, VOPS = 26 }; /* instructions at most */
  const tg_params *m = s->m;
  const tg_blocked *a = s->a;
  const int *w = a->words;
  tg_gemm_tiling first = tg_blocked_scores(a), second = tg_blocked_context(m, a);
  double each = (double)a->block / tg_lanes(m) / a->unroll,
         groups = (double)tg_blocked_width(m, a) / tg_lanes(m);
  double scores = tg_blocked_multiplies(a) ? tg_attention_gemm_cycles(m, &a->scores, &first) : 0;
  tg_stage multiply = {.kind = TG_BLOCKED_MULTIPLY,
                       .seat = TG_UNIT_MX,
                       .nest = TG_NEST_OWN,
                       .slots = PRODUCTS,
                       .cycles = a->chunks * (scores + tg_attention_gemm_cycles(m, &a->context, &second))};
  tg_stage compute = {
      .kind = TG_BLOCKED_COMPUTE,
      .seat = TG_UNIT_VX,
      .nest = TG_NEST_OWN,
      .slots = VOPS,
      .cycles = tg_attention_vop_cycles(m, (double)a->grid.rows / a->together,
                                        w[0] + each * w[1] + w[2] + each * w[3] + w[4]) +
                tg_attention_vop_cycles(m, a->grid.rows,
                                        w[TG_BLOCKED_ADD] + groups / a->added * w[TG_BLOCKED_ADD + 1])};
  tg_stages_add(s->out, &multiply);
  tg_stages_add(s->out, &compute);
  tg_stage sends = {.kind = TG_BLOCKED_STORE, .seat = TG_UNIT_TX, .nest = TG_NEST_OWN, .slots = 1};
  tg_stages_add(s->out, &sends);
}

void tg_blocked_list_stages(const tg_params *m, const tg_blocked *a, tg_stages *out) {
  list s = {m, a, out};
  out->count = 0;
  add_loads(&s, TG_SIDE_WEST);
  add_loads(&s, TG_SIDE_NORTH);
  add_units(&s);
}
